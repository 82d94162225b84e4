"""Making a message list shorter without tearing anything apart: whole turns go, a summary comes in their place."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

from callgate.counted import times
from callgate.tokens import estimate_tokens

from .pairing import turns_of
from .parts import Message, plain_messages
from .repair import repair
from .shape import Shape, shape_for

FAILURES: Final = 3
"""Failed compactions in a row after which a fuse opens."""
MESSAGE_TOKENS: Final = 4
"""What a message takes beside its content, in the default estimate."""
FILE_TOKENS: Final = 1_600
"""What a picture or file in base64 takes, in the default estimate."""
_SHORTEST_FILE: Final = 1_000
_FILE_KEYS: Final = frozenset(("data", "url", "image_url", "file_data"))
_HEAD: Final = "Earlier messages of this conversation were taken out to save room."

Count = Callable[[Sequence[Message]], int]
Summarise = Callable[[Sequence[Message], int], str]
SummariseAsync = Callable[[Sequence[Message], int], Awaitable[str]]


class CompactionError(RuntimeError):
    """A list that could not be brought below the limit; the text says why. The list itself is as it was."""


class FuseOpen(CompactionError):
    """Compaction failed too often in a row and is not tried any more: end the task, or begin a new conversation."""


class Fuse:
    """Counts the failed compactions of a conversation in a row. After `most` it is open until `close` is called.

    Example:
        >>> fuse = Fuse(most=1)
        >>> try:
        ...     compact([{"role": "user", "content": "x" * 4000}], limit=10, fuse=fuse)
        ... except CompactionError as error:
        ...     print(error)
        what has to stay takes 1011 tokens, and the limit is 10
        >>> fuse.open
        True
    """

    def __init__(self, most: int = FAILURES) -> None:
        if most < 1:
            raise ValueError("a fuse opens after at least one failure")
        self.most = most
        self.failures = 0

    @property
    def open(self) -> bool:
        """Whether compaction is given up."""
        return self.failures >= self.most

    def close(self) -> None:
        """Begin to count anew."""
        self.failures = 0


class Compacted(NamedTuple):
    """A list within its limit.

    `dropped` are the messages that went out, in order and whole turns; `tokens` and `before` what the list takes now
    and took before, by the counting that was used.
    """

    messages: list[Message]
    dropped: list[Message]
    tokens: int
    before: int


def compact(
    messages: Iterable[Any],
    *,
    limit: int,
    count_tokens: Count | None = None,
    summarise: Summarise | None = None,
    summary: str | None = None,
    keep_turns: int = 3,
    shape: str | None = None,
    fuse: Fuse | None = None,
) -> Compacted:
    """Bring a message list below a limit of tokens.

    The list is repaired first. If it is too long then, the oldest turns go out, each with all its results, and a
    message with the summaries comes in their place. Messages of the system stay, and so does the first thing that the
    user said, as long as there is room for it; of the last turns at least one stays.

    Args:
        messages: as `inspect` takes them. They are not changed.
        limit: tokens that the list may take. The prompt of the system counts where it is a message of the list;
            Anthropic's `system` and the definitions of tools stand beside the list: take them off the limit.
        count_tokens: counts the tokens of a list; a quarter of the bytes of its JSON, and four a message, otherwise.
        summarise: makes a text of the messages that go out, in at most the given number of tokens. The host's model.
        summary: what is known of the task whatever was said (`task.summary()`); it stands before the other one.
        keep_turns: how many of the last turns shall stay if they fit.
        shape: as `inspect` takes it.
        fuse: counts failures over the compactions of a conversation.

    Returns:
        The list, within the limit.

    Raises:
        CompactionError: it cannot be brought below the limit, or `summarise` failed. The cause is chained.
        FuseOpen: it failed too often in a row; `summarise` is not called any more.
        MessageError: this is no list of messages.

    Example:
        >>> said = [{"role": "user", "content": f"{n}: " + "word " * 40} for n in range(10)]
        >>> done = compact(said, limit=250, summary="Ten things were said.")
        >>> len(done.messages), len(done.dropped), done.tokens <= 250 < done.before
        (4, 7, True)
    """
    plan = _planned(messages, limit, count_tokens, summary, keep_turns, shape, fuse)
    text = ""
    if plan.cut and summarise is not None:
        try:
            text = summarise(plan.dropped, plan.room)
        except Exception as error:
            raise plan.failed(f"the summary could not be made: {error}") from error
    return plan.done(text)


async def compact_async(
    messages: Iterable[Any],
    *,
    limit: int,
    count_tokens: Count | None = None,
    summarise: SummariseAsync | None = None,
    summary: str | None = None,
    keep_turns: int = 3,
    shape: str | None = None,
    fuse: Fuse | None = None,
) -> Compacted:
    """`compact` with a `summarise` that is awaited."""
    plan = _planned(messages, limit, count_tokens, summary, keep_turns, shape, fuse)
    text = ""
    if plan.cut and summarise is not None:
        try:
            text = await summarise(plan.dropped, plan.room)
        except Exception as error:
            raise plan.failed(f"the summary could not be made: {error}") from error
    return plan.done(text)


def estimated(messages: Sequence[Message]) -> int:
    """The default count: a quarter of the UTF-8 bytes of each message's JSON, and four tokens a message.

    Pictures and files that are written out in base64 count as 1,600 tokens each, which is what a picture of a megapixel
    takes; by their bytes they would count a hundred times as much.

    >>> estimated([{"role": "user", "content": "hello"}])
    13
    """
    return sum(_estimate(dict(message)) + MESSAGE_TOKENS for message in messages)


def _estimate(message: dict[str, Any]) -> int:
    files: list[str] = []
    lean = _without_files(message, files)
    return estimate_tokens(lean) + FILE_TOKENS * len(files)


def _without_files(value: Any, files: list[str], key: str = "") -> Any:
    """A value without what is written out in base64 in it, which is added to `files`."""
    if isinstance(value, dict):
        return {name: _without_files(inner, files, str(name)) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_files(inner, files, key) for inner in value]
    if (
        isinstance(value, str)
        and len(value) > _SHORTEST_FILE
        and key in _FILE_KEYS
        and " " not in value[:_SHORTEST_FILE]
    ):
        files.append(key)
        return ""
    return value


class _Unit(NamedTuple):
    """Messages that go or stay together: a turn with its results, or a single message."""

    messages: list[Message]
    stays: bool


class _Plan:
    """What goes and what stays, found out before anybody is asked for a summary."""

    def __init__(
        self, units: list[_Unit], shape: Shape, limit: int, count: Count, summary: str | None, keep: int, fuse: Fuse
    ) -> None:
        self.shape, self.limit, self.count, self.summary, self.fuse = shape, limit, count, summary, fuse
        self.units = units
        self.before = count(_flat(units))
        self.cut = self.before > limit
        self.kept = set(range(len(units)))
        self.room = 0
        if self.cut:
            self._choose(keep)
        self.dropped = [message for at, unit in enumerate(units) if at not in self.kept for message in unit.messages]

    def _choose(self, keep: int) -> None:
        """Keep the system's messages and the last turns; then the first request and older turns while there is room."""
        sizes = [self.count(unit.messages) for unit in self.units]
        system = [at for at, unit in enumerate(self.units) if unit.stays]
        others = [at for at, unit in enumerate(self.units) if not unit.stays]
        taken = self.count([self._mark("")]) + sum(sizes[at] for at in system)
        last = others[-1:]
        for at in reversed(others[-max(keep, 1) : -1]):
            if taken + sum(sizes[each] for each in last) + sizes[at] > self.limit:
                break
            last.insert(0, at)
        taken += sum(sizes[at] for at in last)
        # a quarter is left free: for the summary of what goes, and so that the next turn needs no compaction again
        most = self.limit - self.limit // 4
        request = next((at for at in others if self.shape.speaker(self.units[at].messages[0]) == "user"), None)
        more = [request] if request is not None else []
        older = []
        for at in [*more, *(at for at in reversed(others) if at != request)]:
            if at in last:
                continue
            if taken + sizes[at] <= most:
                taken += sizes[at]
                older.append(at)
            elif at != request:
                break
        self.kept = {*system, *older, *last}
        self._fit([*reversed(older), *last[:-1]])
        self.room = max(0, self.limit - self.count(self._built("")) - MESSAGE_TOKENS) * 9 // 10

    def _fit(self, optional: list[int]) -> None:
        """Let more go while the whole is too long: a list may take more than its parts."""
        while (tokens := self.count(self._built(""))) > self.limit:
            if not optional:
                raise self.failed(f"what has to stay takes {tokens} tokens, and the limit is {self.limit}")
            self.kept.discard(optional.pop(0))

    def _mark(self, text: str) -> Message:
        """The message that stands for what went out."""
        return self.shape.said("user", "\n\n".join(part for part in (_HEAD, self.summary, text) if part))

    def _built(self, text: str) -> list[Message]:
        """The list that is left, the summaries where the first message went out."""
        out: list[Message] = []
        marked = False
        for at, unit in enumerate(self.units):
            if at in self.kept:
                out += unit.messages
            elif not marked:
                marked = True
                out.append(self._mark(text))
        return out

    def done(self, text: str) -> Compacted:
        messages = self._built(text)
        tokens = self.count(messages)
        if tokens > self.limit:
            raise self.failed(f"the summary is too long: the list takes {tokens} tokens, and the limit is {self.limit}")
        self.fuse.close()
        return Compacted(messages, self.dropped, tokens, self.before)

    def failed(self, why: str) -> CompactionError:
        self.fuse.failures += 1
        return CompactionError(why)


def _planned(
    messages: Iterable[Any],
    limit: int,
    count: Count | None,
    summary: str | None,
    keep: int,
    shape: str | None,
    fuse: Fuse | None,
) -> _Plan:
    fuse = Fuse() if fuse is None else fuse
    if fuse.open:
        often = times(fuse.failures) + (" in a row" if fuse.failures > 1 else "")
        raise FuseOpen(f"compaction failed {often}: end the task or begin a new conversation")
    plain = plain_messages(messages)
    using = shape_for(plain, shape)
    whole = repair(plain, shape=using.name)
    return _Plan(_units(whole, using), using, limit, count or estimated, summary, keep, fuse)


def _units(messages: Sequence[Message], shape: Shape) -> list[_Unit]:
    """A repaired list as what goes or stays together: what follows a turn belongs to it as long as it has results."""
    turns = {turn.begin: turn for turn in turns_of(messages, shape)}
    units: list[_Unit] = []
    at = 0
    while at < len(messages):
        turn = turns.get(at)
        speaker = shape.speaker(messages[at])
        end = at + 1
        if turn is not None:
            end = turn.end
            while end < len(messages) and shape.answers(end, messages[end]):
                end += 1
        elif speaker == "model":
            # OpenAI's responses want a thought and what came of it together, calls or not
            while shape.merges and end < len(messages) and shape.speaker(messages[end]) == "model":
                end += 1
        units.append(_Unit(list(messages[at:end]), speaker == "system"))
        at = end
    return units


def _flat(units: Sequence[_Unit]) -> list[Message]:
    return [message for unit in units for message in unit.messages]
