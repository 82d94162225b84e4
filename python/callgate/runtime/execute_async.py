"""Running calls with asyncio: side by side, each within its time, tried again after its pause; results in order."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from .call import Call, CallResult, answered
from .execute import admitted, ends, is_coroutine_function
from .late import Late
from .off_loop import clean_up, in_a_thread, off_loop
from .run import Run
from .workers import Came

if TYPE_CHECKING:
    from .task import Task


async def call_all(task: Task, calls: Sequence[Call]) -> list[CallResult]:
    """Judge calls as one batch, run those that are let through, and give what came of each, in their order.

    Coroutine functions run in this event loop, plain ones in threads. Cancelled, it cancels what runs, tells the task
    of it, and gives back what did not start. What asks a store is done in threads too.
    """
    runs: list[Run] = []
    try:
        await off_loop(task.gate, lambda: runs.extend(admitted(task, calls)))
        for run in runs:
            await _ask(run)
        await drive([run for run in runs if run.is_open])
    except BaseException as error:
        await clean_up(task.gate, error, partial(_interrupt, runs))
        raise
    return ends(task, runs)


def _interrupt(runs: Sequence[Run]) -> None:
    for run in runs:
        run.interrupted()


async def drive(runs: Sequence[Run]) -> None:
    """Run calls until all are over, all at once."""
    if not runs:
        return
    if len(runs) == 1:
        await _to_its_end(runs[0])
        return
    ways = [asyncio.ensure_future(_to_its_end(run)) for run in runs]
    try:
        await asyncio.gather(*ways)
    except asyncio.CancelledError:
        for way in ways:
            way.cancel()
        await asyncio.wait(ways)
        raise
    except BaseException:
        for way in ways:
            way.cancel()
        raise


async def _to_its_end(run: Run) -> None:
    if run.opening is not None:
        await _sleep(run, run.opening)
        await _again(run)
    while run.is_open:
        came = await _attempt(run.at_work)
        pause = await off_loop(run.task.gate, partial(run.ended, came))
        if pause is None:
            return
        await _sleep(run, pause)
        await _again(run)


async def _ask(run: Run) -> None:
    while run.is_asked and run.call.approve is not None:
        answer: Any = run.call.approve(run.verdict)
        approved = answered(await answer if inspect.isawaitable(answer) else answer)
        await off_loop(run.task.gate, partial(run.decide, approved))


async def _again(run: Run) -> None:
    if not await off_loop(run.task.gate, run.again):
        await _ask(run)


async def _sleep(run: Run, pause: float) -> None:
    if pause > 0.0:
        await (run.task.gate.pauses.sleep_async or asyncio.sleep)(pause)


async def _attempt(run: Run) -> Came:
    """One attempt, within its time. What interrupts the caller goes on; the run is told by who catches it last."""
    limit = run.limit()
    run.has_started = True
    if limit is None:
        return await _came(run)
    loop = asyncio.get_running_loop()
    silent = False
    try:
        async with asyncio.timeout(limit.seconds) as within:

            def fall_silent() -> None:
                nonlocal silent
                if not within.expired():
                    silent = True
                    within.reschedule(loop.time())

            def give_up() -> None:
                loop.call_soon_threadsafe(fall_silent)

            leave = run.task.gate.servers.enter(run.verdict.server, give_up)
            try:
                came = await _came(run)
            finally:
                leave()
    except TimeoutError:
        layer = "server" if silent else limit.layer
        if layer == "server" and not silent and run.verdict.server is not None:
            run.task.gate.servers.silent(run.verdict.server)
        return Came(error=run.timed_out(layer, limit), given_up=True)
    return came


async def _came(run: Run) -> Came:
    """What the function brings. Its own time-outs are failures as any other."""
    try:
        if is_coroutine_function(run.call.function):
            return Came(await run.invoke_async())
        if not run.call.threaded:
            return Came(run.invoke())
    except Exception as error:
        return Came(error=error)
    run.late = Late()
    came = await in_a_thread(run.invoke, late=run.late)
    if came.error is not None and not isinstance(came.error, Exception):
        raise came.error
    return came
