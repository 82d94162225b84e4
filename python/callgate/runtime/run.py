"""One call on its way through the executor: how long it may take, what it brought, whether it is tried again.

It waits for nothing and starts nothing: `execute` and `execute_async` do, each in its own way.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from callgate._core import UnknownCallError

from .active import ACTIVE
from .backoff import Backoff
from .call import Call, CallResult
from .errors import CallTimeout
from .missing import MISSING
from .retry_after import retry_after
from .workers import Came

if TYPE_CHECKING:
    from callgate._core import Assessment, Note, Verdict, Verification

    from .late import Late
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
    """A call from its first verdict to its end. `is_open` as long as there is something to run.

    Where it is not known whether an effect took place, the declared call that finds out is a run of its own in between:
    `at_work` is the one whose function is to be run.
    """

    def __init__(self, task: Task, call: Call, verdict: Verdict, functions: Mapping[str, Call] | None = None) -> None:
        self.task = task
        self.functions = task.gate.functions if functions is None else functions
        self.call = call
        self.verdict = verdict
        self.attempts = 0
        self.is_open = False
        #: set by who starts it: from then on the call may have happened
        self.has_started = False
        #: set by who starts it in a thread, which goes on when it is given up
        self.late: Late | None = None
        self._out = False
        self._left: dict[str, float] = {}
        self._deadlines: dict[str, float] = {}
        self._pause: float | None = None
        self._assessment: Assessment | None = None
        self._result: Any = MISSING
        self._error: BaseException | None = None
        self._from_cache = False
        self._retry_after: float | None = None
        self._denied = False
        self._notes: list[Note] = []
        self._check: Run | None = None
        self._wanted: Verification | None = None
        self._in_doubt = False
        #: seconds to wait before `again`, where something has to be found out first
        self.opening: float | None = None
        self._verified: str | None = None
        self._take(verdict)
        if verdict.action == "ask":
            self.opening = self._doubt(verdict.verify)
            self.is_open = self.opening is not None

    @property
    def at_work(self) -> Run:
        """The run whose function is to be run next: this one, or the one that finds out what became of it."""
        return self if self._check is None else self._check

    @property
    def is_asked(self) -> bool:
        """Whether a person has to decide first, and somebody can ask one."""
        asked = self.verdict.action == "ask" and not self._denied and self.opening is None
        return asked and self.call.approve is not None

    def decide(self, approved: bool) -> None:
        """Take what a person decided."""
        if approved:
            self._take(self.task.approve(self.verdict.call_id))
            self.task.approved.drop(self.verdict.call_id)
        else:
            self._denied = True
            self._notes += self.task.deny(self.verdict.call_id)

    def limit(self) -> Limit | None:
        """The shortest time that the next attempt has; None for as long as it likes."""
        verdict = self.verdict
        limits = [] if verdict.timeout is None else [Limit(verdict.timeout, "tool")]
        if "server" in self._left:
            limits.append(Limit(self._left["server"], "server"))
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
            Seconds to wait before `again`; None where the call is over.
        """
        if self._check is not None:
            pause = self._check.ended(came)
            return self._checked() if pause is None else pause
        self.attempts += 1
        self._out = self.has_started = False
        self._result, self._error = came.result if came.error is None else MISSING, came.error
        late, self.late = self.late, None
        assessment = self._observe(came.error, self._result, late if came.given_up else None)
        self._assessment, self._retry_after = assessment, None
        self._notes += assessment.notes
        if assessment.from_cache:
            self._result, self._from_cache = assessment.result, True
        pause = None
        if assessment.next == "retry":
            pause = self._pause = self._next_pause(came, assessment)
        elif assessment.next == "verify" and assessment.error_class == "ambiguous":  # else it is about another call
            pause = self._doubt(assessment.verify)
        self.is_open = pause is not None
        return pause

    def again(self) -> bool:
        """After the pause: admit what comes next, and say whether there is something to run."""
        self.opening = None
        if self._check is not None:
            if self._check.again():
                return True
            self._checked()
        elif self._wanted is not None:
            wanted, self._wanted = self._wanted, None
            call = self.functions[wanted.tool].with_arguments(wanted.arguments)
            # nobody asked the model for it: it takes no step
            verdict = self.task.admit(call.name, call.arguments, again=True)
            check = Run(self.task, call, verdict)
            check._deadlines.update(self._deadlines)
            if check.is_open:
                self._check = check
                return True
        return self._anew()

    def interrupted(self) -> None:
        """Nobody waits for it any more: what runs may have happened, what does not run is given back."""
        self.is_open = False
        if self._check is not None:
            self._check.interrupted()
        if not self._out:
            return
        self._out = False
        late, self.late = self.late, None
        with suppress(UnknownCallError):  # a coroutine that was closed may leave a thread that tells of it right now
            if self.has_started:
                self._observe(_INTERRUPTED, MISSING, late)
            else:
                self.task.abandon(self.verdict.call_id)

    def _observe(self, error: Any, result: Any, late: Late | None) -> Assessment:
        """Tell the task of an attempt; one that goes on in its thread tells what it brings after all."""
        if late is not None:
            self.task._follow(self.verdict.call_id, late.name)
        assessment = self.task.observe(self.verdict.call_id, result=result, error=error)
        if late is not None:
            late.follow(self.task)
        return assessment

    def timed_out(self, layer: str, limit: Limit | None) -> CallTimeout:
        """What an attempt fails with that gave no answer in time, or whose server gave none to another call."""
        if layer == "server":
            seconds = self._left.get("server", 0.0)
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
            self._verified,
        )

    def _take(self, verdict: Verdict) -> None:
        """Go on by a verdict: run, or be over."""
        self.verdict = verdict
        self._notes += verdict.notes
        self._out = self.is_open = verdict.allowed
        if verdict.allowed:
            left = self._left = verdict.time_left
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

    def _anew(self) -> bool:
        """Admit the next attempt, and say whether it may run."""
        call, in_doubt, self._in_doubt = self.call, self._in_doubt, False
        # an id that a person is asked about is taken until somebody answers
        call_id = None if self.verdict.action == "ask" else self.verdict.call_id
        verdict = self.task.admit(call.name, call.arguments, call_id=call_id, hints=call.hints, again=True)
        if in_doubt and verdict.allowed:
            # it did not happen: made now, or once more where the tool is tried again at all
            once_more = not self.attempts or (verdict.backoff is not None and self._verified is None)
            self._verified = "absent"
            self._take(verdict)
            if not once_more:
                self.task.abandon(verdict.call_id)
                self._out = self.is_open = False
            return self.is_open
        if in_doubt and verdict.action == "reuse":
            self._verified = "landed"
        self._take(verdict)
        return self.is_open

    def _doubt(self, wanted: Verification | None) -> float | None:
        """How long to wait before asking what became of it; None where nobody can ask, or it would take too long."""
        if wanted is None or wanted.tool not in self.functions or not self._fits(wanted.after):
            return None
        self._wanted, self._in_doubt = wanted, True
        return wanted.after

    def _checked(self) -> float:
        """The call that finds out is over: ask once more, or look what the task makes of it now."""
        check, self._check = self._check, None
        told = None if check is None else check._assessment
        again = self._doubt(told.verify) if told is not None and told.next == "verify" else None
        return 0.0 if again is None else again

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
        if not self._fits(pause):
            self._retry_after = pause
            return None
        return pause

    def _fits(self, pause: float) -> bool:
        """Whether a pause ends before the step, the task and the workflow do."""
        if not self._deadlines:
            return True
        now = self.task.gate.clock.monotonic()
        return all(now + pause < end for end in self._deadlines.values())
