"""The executor over a store: coroutines go on while the store is asked, and a cancellation leaves nothing out."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from callgate import Gate
from callgate.stores.memory import MemoryStore
from executor_gates import gate, noted

PAY = "    pay: {effect: external, idempotency: {key: '[\"pay\", args.ref]'}}\n"


class SlowStore(MemoryStore):
    """A store that answers once it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.go = threading.Event()
        self.asked = threading.Event()
        self.released: list[str] = []

    def commit(self, claim: str, now: float) -> str:
        self.asked.set()
        assert self.go.wait(30)
        return super().commit(claim, now)

    def release(self, claim_id: str, task: str, now: float) -> bool:
        self.released.append(claim_id)
        return super().release(claim_id, task, now)


@pytest.fixture
def store() -> Any:
    slow = SlowStore()
    yield slow
    slow.go.set()


@pytest.fixture
def loaded(tmp_path: Path, store: SlowStore) -> Gate:
    return gate(tmp_path, PAY, store=store, pauses=noted([]))


async def pay(ref: str) -> dict[str, str]:
    return {"paid": ref}


def test_the_event_loop_goes_on_while_the_store_is_asked(loaded: Gate, store: SlowStore) -> None:
    async def turn() -> Any:
        way = asyncio.ensure_future(loaded.task("t").acall(pay, ref="r1"))
        while not store.asked.is_set():
            await asyncio.sleep(0.001)
        store.go.set()  # nobody could, if the loop stood still
        return await way

    assert asyncio.run(turn()).value() == {"paid": "r1"}


def test_a_call_that_is_cancelled_while_the_store_is_asked_gives_back_what_it_got(
    loaded: Gate, store: SlowStore
) -> None:
    task = loaded.task("t")

    async def turn() -> None:
        way = asyncio.ensure_future(task.acall(pay, ref="r1"))
        while not store.asked.is_set():
            await asyncio.sleep(0.001)
        way.cancel()
        await asyncio.sleep(0)
        store.go.set()
        with pytest.raises(asyncio.CancelledError):
            await way

    asyncio.run(turn())
    assert len(store.released) == 1
    assert asyncio.run(task.acall(pay, ref="r1")).value() == {"paid": "r1"}


def test_many_coroutines_on_one_store_and_one_key_run_the_tool_once(loaded: Gate, store: SlowStore) -> None:
    store.go.set()
    ran: list[str] = []

    async def pay(ref: str) -> dict[str, str]:
        ran.append(ref)
        await asyncio.sleep(0.01)
        return {"paid": ref}

    async def turn() -> Any:
        return await asyncio.gather(*(loaded.task(f"t{at}").acall(pay, ref="r1") for at in range(50)))

    results = asyncio.run(turn())
    assert (len(ran), sum(result.attempts for result in results)) == (1, 1)
    assert {result.verdict.code for result in results if not result.attempts} <= {"EFFECT_IN_FLIGHT", "ALREADY_CREATED"}
