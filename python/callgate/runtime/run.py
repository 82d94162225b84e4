"""One call on its way through the executor: how long it may take, what it brought, whether it is tried again.

It waits for nothing and starts nothing: `execute` and `execute_async` do, each in its own way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from .active import ACTIVE
from .backoff import Backoff
from .call import Call, CallResult
from .errors import CallTimeout
from .missing import MISSING
from .retry_after import retry_after
from .workers import Came

if TYPE_CHECKING:
    from callgate._core import Assessment, Note, Verdict

    from .task import Task

# A rule of `observe` may ask for another attempt of a tool that declares no `retry`: so many at most.
_UNDECLARED: Final = 3
_INTERRUPTED: Final = {"type": "cancelled", "message": "the caller was interrupted"}
_LAYERS: Final = ("step", "task", "workflow")


class Limit(NamedTuple):
    """How long an attempt may take, and whose time that is."""

    seconds: float
    layer: str


class Run:
    """A call from its first verdict to its end. `is_open` as long as there is something to run."""

    def __init__(self, task: Task, call: Call, verdict: Verdict) -> None:
        self.task = task
        self.call = call
        self.verdict = verdict
        self.attempts = 0
        self.is_open = False
        self._out = False
        #: set by who starts it: from then on the call may have happened
        self.has_started = False
        self._deadlines: dict[str, float] = {}
        self._pause: float | None = None
        self._assessment: Assessment | None = None
        self._result: Any = MISSING
        self._error: BaseException | None = None
        self._from_cache = False
        self._retry_after: float | None = None
        self._denied = False
        self._notes: list[Note] = []
        self._take(verdict)

    @property
    def is_asked(self) -> bool:
        """Whether a person has to decide first, and somebody can ask one."""
        return self.verdict.action == "ask" and not self._denied and self.call.approve is not None

    def decide(self, approved: bool) -> None:
        """Take what a person decided."""
        if approved:
            self._take(self.task.approve(self.verdict.call_id))
        else:
            self._denied = True
            self._notes += self.task.deny(self.verdict.call_id)

    def limit(self) -> Limit | None:
        """The shortest time that the next attempt has; None for as long as it likes."""
        verdict = self.verdict
        limits = [] if verdict.timeout is None else [Limit(verdict.timeout, "tool")]
        left = verdict.time_left
        if "server" in left:
            limits.append(Limit(left["server"], "server"))
        if self._deadlines:
            now = self.task.gate.clock.monotonic()
            limits += [Limit(max(0.0, end - now), layer) for layer, end in self._deadlines.items()]
        return min(limits, key=lambda limit: limit.seconds) if limits else None

    def invoke(self) -> Any:
        """Run the function with the judged arguments, with the task active."""
        token = ACTIVE.set((*ACTIVE.get(), self.task))
        try:
            return self.call.function(**self.verdict.arguments)
        finally:
            ACTIVE.reset(token)

    async def invoke_async(self) -> Any:
        """The same for a coroutine function."""
        token = ACTIVE.set((*ACTIVE.get(), self.task))
        try:
            return await self.call.function(**self.verdict.arguments)
        finally:
            ACTIVE.reset(token)

    def ended(self, came: Came) -> float | None:
        """Tell the task what an attempt brought.

        Returns:
            Seconds to wait before the next attempt; None where the call is over.
        """
        self.attempts += 1
        self._out = self.has_started = False
        self._result, self._error = came.result if came.error is None else MISSING, came.error
        assessment = self.task.observe(self.verdict.call_id, result=self._result, error=came.error)
        self._assessment, self._retry_after = assessment, None
        self._notes += assessment.notes
        if assessment.from_cache:
            self._result, self._from_cache = assessment.result, True
        pause = self._next_pause(came, assessment) if assessment.next == "retry" else None
        self.is_open = pause is not None
        self._pause = pause
        return pause

    def again(self) -> bool:
        """Admit the next attempt, and say whether it may run."""
        call = self.call
        verdict = self.task.admit(call.name, call.arguments, call_id=self.verdict.call_id, hints=call.hints, again=True)
        self._take(verdict)
        return self.is_open

    def interrupted(self) -> None:
        """Nobody waits for it any more: what runs may have happened, what does not run is given back."""
        self.is_open = False
        if not self._out:
            return
        self._out = False
        if self.has_started:
            self.task.observe(self.verdict.call_id, error=_INTERRUPTED)
        else:
            self.task.abandon(self.verdict.call_id)

    def timed_out(self, layer: str, limit: Limit | None) -> CallTimeout:
        """What an attempt fails with that gave no answer in time, or whose server gave none to another call."""
        if layer == "server":
            seconds = self.verdict.time_left.get("server", 0.0)
            return CallTimeout(self.call.name, layer, seconds, server=self.verdict.server)
        return CallTimeout(self.call.name, layer, 0.0 if limit is None else limit.seconds)

    def end(self) -> CallResult:
        """What came of it."""
        return CallResult(
            self.verdict,
            self._assessment,
            self._result,
            self._error,
            self.attempts,
            self._from_cache,
            tuple(self._notes),
            self._retry_after,
            self._denied,
        )

    def _take(self, verdict: Verdict) -> None:
        """Go on by a verdict: run, or be over."""
        self.verdict = verdict
        self._notes += verdict.notes
        self._out = self.is_open = verdict.allowed
        if verdict.allowed:
            left = verdict.time_left
            if left:
                now = self.task.gate.clock.monotonic()
                for layer in _LAYERS:
                    if layer in left:
                        end = now + left[layer]
                        self._deadlines[layer] = min(end, self._deadlines.get(layer, end))
            return
        if verdict.retry_after is not None:
            self._retry_after = verdict.retry_after
        if verdict.action == "reuse" and verdict.reuse_of is None:
            self._result, self._from_cache, self._error = verdict.result, True, None

    def _next_pause(self, came: Came, assessment: Assessment) -> float | None:
        """How long to wait, spread by chance and at least as long as the server asks; None where it does not fit."""
        gate = self.task.gate
        declared = self.verdict.backoff
        backoff = None if declared is None else Backoff(*declared)
        pause = assessment.retry_after or 0.0
        if backoff is not None:
            pause = backoff.pause(pause, self._pause, gate.pauses.random)
        elif self.attempts > _UNDECLARED:
            return None
        told = came.error if came.error is not None else came.result
        asked = retry_after(told, gate.clock.wall())
        if asked is not None and asked > pause:
            pause = asked
            if backoff is not None and asked > backoff.longest:
                self._retry_after = pause
                return None
        now = gate.clock.monotonic()
        if any(now + pause >= end for end in self._deadlines.values()):
            self._retry_after = pause
            return None
        return pause
