"""Running the calls of one turn side by side: results in the order of the calls, and a failure stops no other call."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any, Final

from callgate._core import Verdict
from callgate.policy.diagnostics import did_you_mean

from .turn import Turn

Tools = Mapping[str, Callable[..., Any]]
Approve = Callable[[Verdict], bool]

THREADS: Final = 8
"""Calls of one turn that run at once unless the host says otherwise."""
_INTERRUPTED: Final = {"type": "cancelled", "message": "the turn was interrupted"}


def run_turn(turn: Turn, tools: Tools, *, approve: Approve | None = None, threads: int = THREADS) -> None:
    """Run the calls of a turn that were let through, and answer them.

    Each runs in a thread of its own, within the context (`contextvars`) of the caller; a single one in the caller's
    thread. What a tool raises is the outcome of its call alone. An interruption of the caller (`KeyboardInterrupt`) is
    raised again once calls that did not start were given back; those that run are told to the task as cancelled.

    Args:
        turn: a turn with open calls.
        tools: functions by the names of the tools; called with the verdict's arguments by name.
        approve: asked for each call on which a person has to decide; without it such calls stay asked.
        threads: how many run at once.
    """
    _decide(turn, approve)
    calls = turn.open
    if len(calls) == 1:
        try:
            came = _run_one(turn, tools, calls[0].id)
        except BaseException:
            turn.answer(calls[0].id, error=_INTERRUPTED)
            raise
        _answer(turn, calls[0].id, came)
        return
    if not calls:
        return
    with ThreadPoolExecutor(min(threads, len(calls)), thread_name_prefix="callgate") as pool:
        running: dict[Future[_Came], str] = {}
        for call in calls:
            context = contextvars.copy_context()
            running[pool.submit(context.run, _run_one, turn, tools, call.id)] = call.id
        waiting = set(running)
        try:
            while waiting:
                ended, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for future in ended:
                    _answer(turn, running[future], future.result())
        except BaseException:
            left = {call.id for call in turn.open}
            for future in [future for future, call_id in running.items() if call_id in left]:
                if future.cancel():
                    turn.task.abandon(running[future])
                else:
                    turn.answer(running[future], error=_INTERRUPTED)
            raise


def refuse_coroutines(tools: Tools) -> None:
    """Coroutine functions cannot be run without an event loop.

    Raises:
        TypeError: one of the tools is one.
    """
    for name, tool in tools.items():
        if inspect.iscoroutinefunction(tool):
            raise TypeError(f"the tool `{name}` is a coroutine function: use `take_turn_async`")


async def run_turn_async(turn: Turn, tools: Tools, *, approve: Approve | None = None) -> None:
    """`run_turn` for coroutine functions, all at once; plain functions run in threads.

    Cancelled, it cancels the calls that run and tells them to the task as cancelled.
    """
    _decide(turn, approve)
    try:
        await asyncio.gather(*(_run_one_async(turn, tools, call.id) for call in turn.open))
    finally:
        for call in turn.open:
            turn.answer(call.id, error=_INTERRUPTED)


class _Came:
    """What a call brought: a result, or what it raised."""

    def __init__(self, result: Any = None, error: Any = None) -> None:
        self.result = result
        self.error = error


def _decide(turn: Turn, approve: Approve | None) -> None:
    if approve is None:
        return
    try:
        while turn.asked:  # approved, a call may be asked about anew, for what came up since
            for verdict in turn.asked:
                turn.decide(verdict.call_id, approve(verdict))
    except BaseException:
        for call in turn.open:  # none of them has run
            turn.task.abandon(call.id)
        raise


def _answer(turn: Turn, call_id: str, came: _Came) -> None:
    if came.error is not None:
        turn.answer(call_id, error=came.error)
    else:
        turn.answer(call_id, result=came.result)


def _run_one(turn: Turn, tools: Tools, call_id: str) -> _Came:
    verdict = turn.verdict(call_id)
    tool = tools.get(verdict.tool)
    if tool is None:
        return _Came(error=_unknown(verdict.tool, tools))
    try:
        return _Came(tool(**verdict.arguments))
    except Exception as error:
        return _Came(error=error)


async def _run_one_async(turn: Turn, tools: Tools, call_id: str) -> None:
    """Run a call and answer it at once, so that the task knows when it ended."""
    verdict = turn.verdict(call_id)
    tool = tools.get(verdict.tool)
    if not inspect.iscoroutinefunction(tool):
        _answer(turn, call_id, await asyncio.to_thread(_run_one, turn, tools, call_id))
        return
    try:
        came = _Came(await tool(**verdict.arguments))
    except Exception as error:
        came = _Came(error=error)
    _answer(turn, call_id, came)


def _unknown(name: str, tools: Tools) -> dict[str, str]:
    hint = did_you_mean(name, tools) or "there are " + ", ".join(f"`{known}`" for known in sorted(tools))
    return {"type": "unknown_tool", "message": f"there is no tool `{name}`: {hint}"}
