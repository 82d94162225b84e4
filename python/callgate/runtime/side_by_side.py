"""Running the calls of one turn side by side: results in the order of the calls, and a failure stops no other call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from callgate._core import Verdict
from callgate.policy.diagnostics import did_you_mean

from .call import Call, answered
from .execute import drive, is_coroutine_function, of_arguments
from .run import Run
from .turn import Turn

Tools = Mapping[str, Callable[..., Any]]
Approve = Callable[[Verdict], bool]

THREADS: Final = 8
"""Calls of one turn that run at once unless the host says otherwise."""


def run_turn(turn: Turn, tools: Tools, *, approve: Approve | None = None, threads: int = THREADS) -> None:
    """Run the calls of a turn that were let through, and answer them.

    The executor makes them: each within its time, in a thread of its own where one applies, within the context
    (`contextvars`) of the caller, and tried again where its tool declares `retry`. What a tool raises is the outcome of
    its call alone. An interruption of the caller (`KeyboardInterrupt`) is raised again once calls that did not start
    were given back; those that run are told to the task as cancelled.

    Args:
        turn: a turn with open calls.
        tools: functions by the names of the tools; called with the verdict's arguments by name. A function
            that the task's gate guards stands for the one inside.
        approve: asked for each call on which a person has to decide; without it such calls stay asked.
        threads: how many run at once.
    """
    _decide(turn, approve)
    runs = runs_of(turn, tools)
    try:
        drive(runs, at_once=threads)
    finally:
        end(turn, runs)


def refuse_coroutines(tools: Tools) -> None:
    """Coroutine functions cannot be run without an event loop.

    Raises:
        TypeError: one of the tools is one.
    """
    for name, tool in tools.items():
        if is_coroutine_function(tool):
            raise TypeError(f"the tool `{name}` is a coroutine function: use `take_turn_async`")


def _decide(turn: Turn, approve: Approve | None) -> None:
    if approve is None:
        return
    try:
        while turn.asked:  # approved, a call may be asked about anew, for what came up since
            for verdict in turn.asked:
                turn.decide(verdict.call_id, answered(approve(verdict)))
    except BaseException:
        turn.abandon()
        raise


def runs_of(turn: Turn, tools: Tools) -> list[Run]:
    """The calls that were let through, on their way; one of a tool that is not there is answered at once."""
    functions = {name: replace(of_arguments(turn.task.gate, tool, {}), tool=name) for name, tool in tools.items()}
    runs = []
    for call in turn.open:
        verdict = turn.verdict(call.id)
        known: Call | None = functions.get(verdict.tool)
        if known is None:
            turn.answer(call.id, error=_unknown(verdict.tool, tools))
        else:
            made = replace(known, arguments=verdict.arguments, call_id=call.id, approve=None)
            runs.append(Run(turn.task, made, verdict, functions))
    return runs


def end(turn: Turn, runs: Sequence[Run]) -> None:
    """Answer what was run; what nobody waits for any more is told to the task as cancelled, or given back."""
    for run in runs:
        run.interrupted()
        turn.take(run.end())


def _unknown(name: str, tools: Tools) -> dict[str, str]:
    hint = did_you_mean(name, tools) or "there are " + ", ".join(f"`{known}`" for known in sorted(tools))
    return {"type": "unknown_tool", "message": f"there is no tool `{name}`: {hint}"}
