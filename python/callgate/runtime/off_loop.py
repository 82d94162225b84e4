"""What may wait for a store is done in a thread, so that the event loop goes on meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from .gate import Gate
    from .late import Late
from .workers import WORKERS, Came

T = TypeVar("T")


async def off_loop(gate: Gate, function: Callable[[], T]) -> T:
    """Do something that asks the gate's store; at once, where there is none.

    A cancellation goes on only when it is done: what was taken or told by then has to be known to whoever cleans up.
    """
    if gate.store is None:
        return function()
    ended = await in_a_thread(function, to_its_end=True)
    if ended.error is not None:
        raise ended.error
    return ended.result  # type: ignore[no-any-return]


async def clean_up(gate: Gate, after: BaseException, function: Callable[[], None]) -> None:
    """`off_loop` for cleaning up after an interruption; at once where the coroutine is closed: it may not wait."""
    if isinstance(after, GeneratorExit):
        function()
    else:
        await off_loop(gate, function)


async def in_a_thread(function: Callable[[], object], *, to_its_end: bool = False, late: Late | None = None) -> Came:
    """Run a function in a thread, and give what it brought.

    Args:
        function: what to run.
        to_its_end: let a cancellation wait until it has ended; else it goes on in its thread.
        late: told how it ended, for those who were cancelled meanwhile.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Came] = loop.create_future()

    def told(came: Came) -> None:
        if not future.done():
            future.set_result(came)

    def ended(came: Came) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(told, came)
        if late is not None:
            late.came(came)

    WORKERS.start(function, ended)
    if not to_its_end:
        return await future
    cancelled: asyncio.CancelledError | None = None
    while not future.done():
        try:
            await asyncio.wait([future])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
    return future.result()
