"""A call for the executor to make, and what came of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .errors import Refused
from .missing import MISSING

if TYPE_CHECKING:
    from callgate._core import Assessment, Note, Verdict

Approve = Callable[["Verdict"], Any]
"""Asks a person about a call: gets the verdict, returns whether it may run; with `acall` it may be awaitable."""


def answered(answer: object) -> bool:
    """What a person was understood to say.

    Raises:
        TypeError: it is neither yes nor no. A coroutine that nobody awaits must not be taken for a yes.
    """
    if isinstance(answer, bool):
        return answer
    if isinstance(answer, Coroutine):
        answer.close()
    raise TypeError(f"`approve` has to return True or False, found `{type(answer).__name__}`")


def denied_reply(verdict: Verdict, words: str) -> str:
    """What the model reads for a call that a person said no to."""
    body: dict[str, Any] = json.loads(verdict.reply) if verdict.reply else {}
    message = words or f"A person said no to this call of `{verdict.tool}`. Do not ask for it again; take another way."
    return json.dumps({**body, "success": False, "message": message}, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Call:
    """A call to make: a function, and what it is called with.

    Attributes:
        function: the tool; called with the judged arguments by name.
        arguments: what the model wants to call it with.
        tool: the tool's name in policies; the function's own name where it is left out.
        call_id: the model's id for the call.
        hints: what the host computed for the policy's `hints`.
        approve: asked where a person has to decide; without it such a call comes back as asked.
        threaded: whether a plain function may run in a thread of its own, so that a time-out can end the waiting. False
            runs it in the caller's: for what is bound to its thread, and then no time-out holds.

    Example:
        >>> def add(a, b):
        ...     return a + b
        >>> Call(add, {"a": 1, "b": 2}).name
        'add'
    """

    function: Callable[..., Any]
    arguments: Mapping[str, Any] = field(default_factory=dict)
    tool: str | None = None
    call_id: str | None = None
    hints: Mapping[str, Any] | None = None
    approve: Approve | None = None
    threaded: bool = True

    @property
    def name(self) -> str:
        """The tool's name.

        Raises:
            TypeError: the function has none, and none is given.
        """
        if self.tool is not None:
            return self.tool
        name = getattr(self.function, "__name__", None)
        if not isinstance(name, str) or not name.isidentifier():
            raise TypeError(f'{self.function!r} has no name that a policy could know: write `Call(..., tool="name")`')
        return name

    def with_arguments(self, arguments: Mapping[str, Any]) -> Call:
        """The same call with other arguments, and without what belongs to one call alone."""
        return Call(self.function, arguments, self.tool, None, None, self.approve, self.threaded)


@dataclass(frozen=True, slots=True)
class CallResult:
    """What came of a call. Nothing is raised for refusals and failures; `value` does.

    Attributes:
        verdict: on its last attempt; where a further attempt was refused, that refusal.
        assessment: of its last attempt that ran; None where none did.
        result: what the tool returned, or the earlier result that stands in for it; `MISSING` where there is none.
        error: what the last attempt raised, if it raised. A time-out of the executor is a `CallTimeout`.
        attempts: how often the tool was run.
        from_cache: the result is an earlier one: the tool did not run for it, or failed.
        notes: for the model, beside the result.
        retry_after: where a further attempt would help and none was made, or the call was refused for a while: seconds.
        denied: a person said no.
        verified: `landed` or `absent`, where it was not known whether it happened and the declared call found out.
    """

    verdict: Verdict
    assessment: Assessment | None = None
    result: Any = MISSING
    error: BaseException | None = None
    attempts: int = 0
    from_cache: bool = False
    notes: tuple[Note, ...] = ()
    retry_after: float | None = None
    denied: bool = False
    verified: str | None = None

    @property
    def tool(self) -> str:
        """The tool's name."""
        return self.verdict.tool

    @property
    def call_id(self) -> str:
        """The id under which it was judged."""
        return self.verdict.call_id

    @property
    def ok(self) -> bool:
        """Whether there is a result, and nothing says that it is a failure."""
        if self.result is MISSING:
            return False
        return self.from_cache or self.assessment is None or self.assessment.grade != "failed"

    @property
    def refused(self) -> bool:
        """Whether the policy kept the tool from running, or from another attempt: refused, stopped, or still asked."""
        return self.result is MISSING and self.verdict.action in ("refuse", "stop", "ask")

    @property
    def reply(self) -> str | None:
        """What the model gets to read instead of a result; None where there is one."""
        if self.result is not MISSING:
            return None
        if self.denied:
            return denied_reply(self.verdict, " ".join(note.message for note in self.notes if note.reason == "denied"))
        if self.assessment is not None:
            return json.dumps(self.assessment.envelope, ensure_ascii=False)
        return self.verdict.reply

    def value(self) -> Any:
        """The result, as a call of the function would give it.

        Raises:
            Refused: the policy did not let it run.
            BaseException: what the tool raised, as it raised it.
        """
        if self.result is not MISSING:
            return self.result
        if self.error is not None:
            raise self.error
        raise Refused(self.verdict)
