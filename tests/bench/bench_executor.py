"""The executor: a call made by it, against judging and telling by hand around the same function.

Both sides run the calls of the engine's workload; what the row is above 1 is what the executor adds. A call in a thread
is wall time, since two threads take part; the other rows are the processor time of the thread.
"""

import asyncio
import tempfile
from collections.abc import Callable
from pathlib import Path

from callgate import Call, Gate

from .row import Row, on_thread, paired
from .workload import Step, steps, write_policy

REPEATS = 31


def by_hand(gate: Gate, made: list[Step]) -> Callable[[], int]:
    """Judge, run and tell."""

    def run() -> int:
        task, ran = gate.task("bench"), 0
        for step in made:
            function = tool_of(step)
            verdict = task.admit(step.tool, step.arguments)
            if verdict.allowed:
                task.observe(verdict.call_id, result=function(**verdict.arguments))
                ran += 1
        return ran

    return run


def by_executor(gate: Gate, made: list[Step], *, threaded: bool) -> Callable[[], int]:
    """The same through `task.call`."""

    def run() -> int:
        task, ran = gate.task("bench"), 0
        for step in made:
            ran += task.call(Call(tool_of(step), step.arguments, step.tool, threaded=threaded)).ok
        return ran

    return run


def by_coroutines(gate: Gate, made: list[Step]) -> Callable[[], int]:
    """The same through `task.acall`, with a coroutine function."""

    async def run() -> int:
        task, ran = gate.task("bench"), 0
        for step in made:
            function = tool_of(step)

            async def tool(function: Callable[..., object] = function, **arguments: object) -> object:
                return function(**arguments)

            ran += (await task.acall(Call(tool, step.arguments, step.tool))).ok
        return ran

    return lambda: asyncio.run(run())


def tool_of(step: Step) -> Callable[..., object]:
    """A tool that has its answer ready."""
    result = step.result
    return lambda **_: result


def rows() -> list[Row]:
    """Measure."""
    made = steps()
    with tempfile.TemporaryDirectory() as folder:
        gate = Gate.load(write_policy(Path(folder)))
    hand = by_hand(gate, made)
    baseline = "admit + observe by hand"
    ways = [
        ("task.call, in the caller's thread", by_executor(gate, made, threaded=False), on_thread),
        ("task.call, in a thread of its own, wall time", by_executor(gate, made, threaded=True), paired),
        ("task.acall of a coroutine function", by_coroutines(gate, made), on_thread),
    ]
    table = []
    for what, run, timing in ways:
        assert run() == hand() == len(made), f"{what} does not run the whole workload"
        table.append(timing(run, hand, REPEATS).row(what, baseline, None, len(made)))
    return table
