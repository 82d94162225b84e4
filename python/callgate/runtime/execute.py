"""Running calls with threads: side by side, each within its time, tried again after its pause; results in order."""

from __future__ import annotations

import inspect
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from .call import Call, CallResult
from .run import Limit, Run
from .servers import Leave
from .workers import WORKERS, Came

if TYPE_CHECKING:
    from .task import Task

_FOR_EVER: Final = float("inf")


def call_all(task: Task, calls: Sequence[Call]) -> list[CallResult]:
    """Judge calls as one batch, run those that are let through, and give what came of each, in their order."""
    for call in calls:
        if is_coroutine_function(call.function):
            raise TypeError(f"the tool `{call.name}` is a coroutine function: use `acall` or `acall_all`")
    runs = admitted(task, calls)
    try:
        for run in runs:
            while run.is_asked and run.call.approve is not None:
                run.decide(bool(run.call.approve(run.verdict)))
        _drive([run for run in runs if run.is_open])
    finally:
        for run in runs:
            run.interrupted()
    return ends(task, runs)


def admitted(task: Task, calls: Sequence[Call]) -> list[Run]:
    """The calls with their first verdicts."""
    asked = [
        {"tool": call.name, "arguments": call.arguments, "call_id": call.call_id, "hints": call.hints} for call in calls
    ]
    if len(asked) == 1:
        [call] = calls
        return [Run(task, call, task.admit(call.name, call.arguments, call_id=call.call_id, hints=call.hints))]
    return [Run(task, call, verdict) for call, verdict in zip(calls, task.admit_all(asked), strict=True)]


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


def of_arguments(function: Any, arguments: Mapping[str, Any]) -> Call:
    """A call of a function, of a guarded function, or one that is made already."""
    if isinstance(function, Call):
        if arguments:
            raise TypeError("a `Call` has its arguments already: give them to it")
        return function
    guarded: Call | None = getattr(function, "guarded", None)
    if isinstance(guarded, Call):
        return Call(guarded.function, arguments, guarded.tool, None, None, guarded.approve, guarded.threaded)
    if not callable(function):
        raise TypeError(f"a tool has to be a function, found `{type(function).__name__}`")
    return Call(function, arguments)


def is_coroutine_function(function: Any) -> bool:
    """Whether calling it gives something to await."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def _drive(runs: Sequence[Run]) -> None:
    if len(runs) == 1 and (not runs[0].call.threaded or runs[0].limit() is None):
        _in_place(runs[0])
    elif runs:
        _Threads().drive(runs)


def _in_place(run: Run) -> None:
    """In the caller's thread: nothing can end the waiting, and nothing has to."""
    while run.is_open:
        run.has_started = True
        try:
            came = Came(run.invoke())
        except Exception as error:
            came = Came(error=error)
        pause = run.ended(came)
        if pause is None:
            return
        (run.task.gate.pauses.sleep or time.sleep)(pause)
        run.again()


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

    def drive(self, runs: Sequence[Run]) -> None:
        """Run them until all are over.

        What a function raises is the outcome of its call alone. An interruption of the caller, or one that a function
        raises in its place, ends the waiting for all.
        """
        try:
            for run in runs:
                self._start(run)
            while self._waiting:
                self._step()
        finally:
            for waiting in self._waiting.values():
                if waiting.leave is not None:
                    waiting.leave()

    def _start(self, run: Run) -> None:
        key, limit = object(), run.limit()
        run.has_started = True
        if run.call.threaded:
            give_up = partial(self._events.put, (key, None))
            leave = run.task.gate.servers.enter(run.verdict.server, give_up)
            until = _FOR_EVER if limit is None else time.monotonic() + limit.seconds
            self._waiting[key] = _Waiting(run, until, limit, leave)
            WORKERS.start(run.invoke, lambda came: self._events.put((key, came)))
            return
        try:
            came = Came(run.invoke())
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
            return  # it was given up: what it brought is dropped
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
        if waiting.run.again():
            self._start(waiting.run)

    def _give_up(self, key: object, layer: str) -> None:
        waiting = self._waiting.pop(key)
        run, verdict = waiting.run, waiting.run.verdict
        if waiting.leave is not None:
            waiting.leave()
        if layer == "server" and waiting.limit is not None and waiting.limit.layer == "server" and verdict.server:
            run.task.gate.servers.silent(verdict.server)
        self._ended(run, Came(error=run.timed_out(layer, waiting.limit)))

    def _ended(self, run: Run, came: Came) -> None:
        pause = run.ended(came)
        if pause is None:
            return
        sleep = run.task.gate.pauses.sleep
        if sleep is not None:
            sleep(pause)
            pause = 0.0
        self._waiting[object()] = _Waiting(run, time.monotonic() + pause, None, None)
