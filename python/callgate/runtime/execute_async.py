"""Running calls with asyncio: side by side, each within its time, tried again after its pause; results in order."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .call import Call, CallResult
from .execute import admitted, ends, is_coroutine_function
from .run import Run
from .workers import WORKERS, Came

if TYPE_CHECKING:
    from .task import Task


async def call_all(task: Task, calls: Sequence[Call]) -> list[CallResult]:
    """Judge calls as one batch, run those that are let through, and give what came of each, in their order.

    Coroutine functions run in this event loop, plain ones in threads. Cancelled, it cancels what runs, tells the task
    of it, and gives back what did not start.
    """
    runs = admitted(task, calls)
    try:
        for run in runs:
            while run.is_asked and run.call.approve is not None:
                answer: Any = run.call.approve(run.verdict)
                run.decide(bool(await answer if inspect.isawaitable(answer) else answer))
        await _drive([run for run in runs if run.is_open])
    finally:
        for run in runs:
            run.interrupted()
    return ends(task, runs)


async def _drive(runs: Sequence[Run]) -> None:
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
    pauses = run.task.gate.pauses
    while run.is_open:
        pause = run.ended(await _attempt(run))
        if pause is None:
            return
        await (pauses.sleep_async or asyncio.sleep)(pause)
        run.again()


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
        return Came(error=run.timed_out(layer, limit))
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
    return await _in_a_thread(run)


async def _in_a_thread(run: Run) -> Came:
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Came] = loop.create_future()

    def told(came: Came) -> None:
        if not future.done():
            future.set_result(came)

    def ended(came: Came) -> None:
        try:
            loop.call_soon_threadsafe(told, came)
        except RuntimeError:  # the loop is closed: nobody waits any more
            return

    WORKERS.start(run.invoke, ended)
    came = await future
    if came.error is not None and not isinstance(came.error, Exception):
        raise came.error
    return came
