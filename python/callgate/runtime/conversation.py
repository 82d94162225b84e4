"""The conversation of a task, kept fit to be sent: every call with its result, and within a limit of tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from callgate.messages.compact import (
    FAILURES,
    Compacted,
    Count,
    Fuse,
    Summarise,
    SummariseAsync,
    compact,
    compact_async,
)
from callgate.messages.parts import Message

from .task import Task


class Conversation:
    """Mends and compacts the message list of a task before each request, and tells the task when it was compacted.

    Args:
        task: the task that the conversation belongs to.
        limit: tokens that the list may take, see `callgate.messages.compact`.
        count_tokens: counts the tokens of a list; an estimate otherwise.
        summarise: makes a text of the messages that go out, in at most the given number of tokens; a coroutine function
            for `ready_async`.
        summary: gives what is known of the task, to be kept whatever goes out.
        keep_turns: how many of the last turns shall stay if they fit.
        shape: the provider's shape; told by the list otherwise.
        failures: failed compactions in a row after which it is given up.

    Example:
        >>> from callgate import Gate
        >>> task = Gate.load("default").task("order-4711")
        >>> conversation = Conversation(task, limit=100, summary=lambda: "Order 4711 was shipped.")
        >>> said = [{"role": "user", "content": "Where is it? " * 9} for _ in range(9)]
        >>> len(conversation.ready(said)) < 9, conversation.compacted
        (True, 1)
    """

    def __init__(
        self,
        task: Task,
        *,
        limit: int,
        count_tokens: Count | None = None,
        summarise: Summarise | SummariseAsync | None = None,
        summary: Callable[[], str] | None = None,
        keep_turns: int = 3,
        shape: str | None = None,
        failures: int = FAILURES,
    ) -> None:
        self.task = task
        self.fuse = Fuse(failures)
        self.compacted = 0
        self._summarise = summarise
        self._summary = summary
        self._how: dict[str, Any] = {
            "limit": limit,
            "count_tokens": count_tokens,
            "keep_turns": keep_turns,
            "shape": shape,
            "fuse": self.fuse,
        }

    def ready(self, messages: Iterable[Any]) -> list[Message]:
        """The list to send and to go on with.

        Returns:
            The list, mended; where it took more than the limit, compacted.

        Raises:
            CompactionError: it could not be brought below the limit; the list is as it was.
            FuseOpen: that has failed too often in a row.
            MessageError: this is no list of messages.
        """
        done = compact(messages, summarise=self._summarise, summary=self._known(), **self._how)  # type: ignore[arg-type]
        return self._take(done)

    async def ready_async(self, messages: Iterable[Any]) -> list[Message]:
        """`ready` with a `summarise` that is awaited."""
        summarise: Any = self._summarise
        return self._take(await compact_async(messages, summarise=summarise, summary=self._known(), **self._how))

    def _known(self) -> str | None:
        return None if self._summary is None else self._summary()

    def _take(self, done: Compacted) -> list[Message]:
        if done.dropped:
            self.compacted += 1
            self.task.compaction()
        return done.messages
