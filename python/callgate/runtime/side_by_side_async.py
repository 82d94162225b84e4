"""Running the calls of one turn in an event loop: what asks the store is done in threads, so that the loop goes on."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from functools import partial

from callgate._core import Verdict

from .call import answered
from .execute_async import drive
from .off_loop import clean_up, off_loop
from .run import Run
from .side_by_side import Tools, end, runs_of
from .task import Task
from .turn import Turn

ApproveAsync = Callable[[Verdict], bool | Awaitable[bool]]


async def opened(task: Task, open_turn: Callable[[], Turn]) -> Turn:
    """Judge the calls of a response. Cancelled, it gives back what was let through by then.

    Args:
        task: the task that the loop works on.
        open_turn: judges them.
    """
    turns: list[Turn] = []
    try:
        await off_loop(task.gate, lambda: turns.append(open_turn()))
    except BaseException as error:
        for turn in turns:
            await clean_up(task.gate, error, turn.abandon)
        raise
    return turns[0]


async def run_turn_async(turn: Turn, tools: Tools, *, approve: ApproveAsync | None = None) -> None:
    """`run_turn` for coroutine functions, all at once; plain functions run in threads.

    Cancelled, it cancels the calls that run and tells them to the task as cancelled.
    """
    gate = turn.task.gate
    runs: list[Run] = []
    try:
        await _decide(turn, approve)
        await off_loop(gate, lambda: runs.extend(runs_of(turn, tools)))
    except BaseException as error:
        await clean_up(gate, error, turn.abandon)
        raise
    try:
        await drive(runs)
    except BaseException as error:
        await clean_up(gate, error, partial(end, turn, runs))
        raise
    end(turn, runs)


async def _decide(turn: Turn, approve: ApproveAsync | None) -> None:
    while approve is not None and turn.asked:  # approved, a call may be asked about anew, for what came up since
        for verdict in turn.asked:
            said = approve(verdict)
            approved = answered(await said if inspect.isawaitable(said) else said)
            await off_loop(turn.task.gate, partial(turn.decide, verdict.call_id, approved))
