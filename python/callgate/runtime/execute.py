"""Running calls with threads: side by side, each within its time, tried again after its pause; results in order."""

from __future__ import annotations

import inspect
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from .call import Call, CallResult, answered
from .late import Late
from .run import Limit, Run
from .servers import Leave
from .workers import WORKERS, Came

if TYPE_CHECKING:
    from callgate._core import Verdict

    from .gate import Gate
    from .task import Task

_FOR_EVER: Final = float("inf")


class Guarded(NamedTuple):
    """What a guarded function (`Gate.tool`) carries: its gate, and the call without arguments of the one inside."""

    gate: Gate
    call: Call


def call_all(task: Task, calls: Sequence[Call]) -> list[CallResult]:
    """Judge calls as one batch, run those that are let through, and give what came of each, in their order."""
    for call in calls:
        if is_coroutine_function(call.function):
            raise TypeError(f"the tool `{call.name}` is a coroutine function: use `acall` or `acall_all`")
    runs = admitted(task, calls)
    try:
        for run in runs:
            _ask(run)
        drive([run for run in runs if run.is_open])
    finally:
        for run in runs:
            run.interrupted()
    return ends(task, runs)


def admitted(task: Task, calls: Sequence[Call]) -> list[Run]:
    """The calls with their first verdicts; one that a person said yes to has its own already."""
    found: list[Verdict | None] = []
    try:
        for call in calls:
            found.append(task.approved.take(call))  # what was taken goes back if the next one raises
        new = [call for call, verdict in zip(calls, found, strict=True) if verdict is None]
        verdicts = iter(_judged(task, new))
    except BaseException:
        for verdict in found:
            if verdict is not None:
                task.approved.keep(verdict)
        raise
    return [
        Run(task, call, next(verdicts) if verdict is None else verdict)
        for call, verdict in zip(calls, found, strict=True)
    ]


def _judged(task: Task, calls: Sequence[Call]) -> list[Verdict]:
    if len(calls) == 1:
        [call] = calls
        return [task.admit(call.name, call.arguments, call_id=call.call_id, hints=call.hints)]
    asked = [
        {"tool": call.name, "arguments": call.arguments, "call_id": call.call_id, "hints": call.hints} for call in calls
    ]
    return task.admit_all(asked) if asked else []


def ends(task: Task, runs: Sequence[Run]) -> list[CallResult]:
    """What came of them; an equal call of the same turn has the end of the one that was run for both."""
    found = [run.end() for run in runs]
    for end in found:
        if end.verdict.reuse_of is None:
            task.answers.keep(end)
    return [_with_answer(task, end) for end in found]


def _with_answer(task: Task, end: CallResult) -> CallResult:
    other = None if end.verdict.reuse_of is None else task.answers.of(end.verdict.reuse_of)
    if other is None:
        return end
    return replace(other, verdict=end.verdict, attempts=0, from_cache=True, notes=end.notes)


def of_arguments(gate: Gate, function: Any, arguments: Mapping[str, Any]) -> Call:
    """A call of a function, or one that is made already.

    A function that the gate guards stands for the one inside: its call is judged here, and must not be judged again on
    its way in. What the call leaves open is as it was guarded. One that another gate guards is judged by both.
    """
    if isinstance(function, Call):
        if arguments:
            raise TypeError("a `Call` has its arguments already: give them to it")
        call = function
    elif callable(function):
        call = Call(function, arguments)
    else:
        raise TypeError(f"a tool has to be a function, found `{type(function).__name__}`")
    inside = guarded_by(gate, call.function)
    if inside is None:
        return call
    return replace(
        call,
        function=inside.function,
        tool=inside.name if call.tool is None else call.tool,
        approve=inside.approve if call.approve is None else call.approve,
        threaded=inside.threaded and call.threaded,
    )


def guarded_by(gate: Gate, function: Any) -> Call | None:
    """The call, without arguments, of the function inside one that a gate guards; None where it guards it not."""
    guarded = getattr(function, "guarded", None)
    return guarded.call if isinstance(guarded, Guarded) and guarded.gate is gate else None


def is_coroutine_function(function: Any) -> bool:
    """Whether calling it gives something to await."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def drive(runs: Sequence[Run], *, at_once: int | None = None) -> None:
    """Run calls until all are over, so many at once.

    A single one runs in the caller's thread where no time applies to it.
    """
    if len(runs) == 1 and (not runs[0].call.threaded or runs[0].limit() is None):
        _in_place(runs[0])
    elif runs:
        _Threads().drive(runs, at_once)


def _in_place(run: Run) -> None:
    """In the caller's thread: nothing can end the waiting, and nothing has to."""
    if run.opening is not None:
        _sleep(run, run.opening)
        _again(run)
    while run.is_open:
        at_work = run.at_work
        if at_work.call.threaded and at_work.limit() is not None:
            _Threads().drive([run], None)  # the call that finds out has a time of its own
            return
        at_work.has_started = True
        try:
            came = Came(at_work.invoke())
        except Exception as error:
            came = Came(error=error)
        pause = run.ended(came)
        if pause is None:
            return
        _sleep(run, pause)
        _again(run)


def _ask(run: Run) -> None:
    """Have a person decide, as long as there is something to decide and somebody to ask one."""
    while run.is_asked and run.call.approve is not None:
        run.decide(answered(run.call.approve(run.verdict)))


def _again(run: Run) -> None:
    """Admit what comes next; a person may have to decide about it anew."""
    if not run.again():
        _ask(run)


def _sleep(run: Run, pause: float) -> None:
    if pause > 0.0:
        (run.task.gate.pauses.sleep or time.sleep)(pause)


class _Waiting(NamedTuple):
    """What a run waits for: the end of an attempt, or of a pause, where there is no limit."""

    run: Run
    until: float
    limit: Limit | None
    leave: Leave | None


class _Threads:
    """One thread a running call, and the caller, who waits for all of them."""

    def __init__(self) -> None:
        # of each attempt what it brought; None: its server fell silent. Late ones find nobody who waits.
        self._events: SimpleQueue[tuple[object, Came | None]] = SimpleQueue()
        self._waiting: dict[object, _Waiting] = {}

    def drive(self, runs: Sequence[Run], at_once: int | None) -> None:
        """Run them until all are over.

        What a function raises is the outcome of its call alone. An interruption of the caller, or one that a function
        raises in its place, ends the waiting for all.
        """
        try:
            left = deque(runs)
            while left or self._waiting:
                while left and (at_once is None or len(self._waiting) < at_once):
                    run = left.popleft()
                    if run.opening is None:
                        self._start(run)
                    else:
                        self._wait(run, run.opening)
                if self._waiting:
                    self._step()
        finally:
            for waiting in self._waiting.values():
                if waiting.leave is not None:
                    waiting.leave()

    def _start(self, run: Run) -> None:
        at_work = run.at_work
        key, limit = object(), at_work.limit()
        at_work.has_started = True
        if at_work.call.threaded:
            give_up = partial(self._events.put, (key, None))
            leave = run.task.gate.servers.enter(at_work.verdict.server, give_up)
            until = _FOR_EVER if limit is None else time.monotonic() + limit.seconds
            self._waiting[key] = _Waiting(run, until, limit, leave)
            late = at_work.late = Late()

            def ended(came: Came) -> None:
                self._events.put((key, came))
                late.came(came)

            WORKERS.start(at_work.invoke, ended)
            return
        try:
            came = Came(at_work.invoke())
        except Exception as error:
            came = Came(error=error)
        self._ended(run, came)

    def _step(self) -> None:
        until = min(waiting.until for waiting in self._waiting.values())
        try:
            wait = None if until == _FOR_EVER else max(0.0, until - time.monotonic())
            key, came = self._events.get(timeout=wait)
        except Empty:
            now = time.monotonic()
            for key in [key for key, waiting in self._waiting.items() if waiting.until <= now]:
                if key in self._waiting:
                    self._due(key)
            return
        if key not in self._waiting:
            return  # it was given up
        if came is None:
            self._give_up(key, "server")
            return
        waiting = self._waiting.pop(key)
        if waiting.leave is not None:
            waiting.leave()
        if came.error is not None and not isinstance(came.error, Exception):
            raise came.error  # an interruption: the caller's, wherever it came about
        self._ended(waiting.run, came)

    def _due(self, key: object) -> None:
        waiting = self._waiting[key]
        if waiting.leave is not None and waiting.limit is not None:
            self._give_up(key, waiting.limit.layer)
            return
        del self._waiting[key]
        _again(waiting.run)
        if waiting.run.is_open:
            self._start(waiting.run)

    def _give_up(self, key: object, layer: str) -> None:
        waiting = self._waiting.pop(key)
        run, at_work = waiting.run, waiting.run.at_work
        server = at_work.verdict.server
        if waiting.leave is not None:
            waiting.leave()
        if layer == "server" and waiting.limit is not None and waiting.limit.layer == "server" and server is not None:
            run.task.gate.servers.silent(server)
        self._ended(run, Came(error=at_work.timed_out(layer, waiting.limit), given_up=True))

    def _ended(self, run: Run, came: Came) -> None:
        pause = run.ended(came)
        if pause is not None:
            self._wait(run, pause)

    def _wait(self, run: Run, pause: float) -> None:
        sleep = run.task.gate.pauses.sleep
        if sleep is not None and pause > 0.0:
            sleep(pause)
            pause = 0.0
        self._waiting[object()] = _Waiting(run, time.monotonic() + pause, None, None)
