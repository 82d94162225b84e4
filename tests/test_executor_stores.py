"""The executor over a store: coroutines go on while the store is asked, and a cancellation leaves nothing out."""

import asyncio
import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from callgate import Call, Gate
from callgate.adapters import anthropic, openai
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


class SlowSettling(SlowStore):
    """Judges at once, and takes in what came of a call once it is let go."""

    def commit(self, claim: str, now: float) -> str:
        return MemoryStore.commit(self, claim, now)

    def settle(self, settlement: str, now: float) -> bool:
        if "effect" in settlement and json.loads(settlement)["effect"]:
            self.asked.set()
            assert self.go.wait(30)
        return super().settle(settlement, now)


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


CALL = {"type": "tool_use", "id": "t1", "name": "pay", "input": {"ref": "r1"}}
RESPONSE = {"role": "assistant", "content": [CALL], "stop_reason": "tool_use", "usage": {"input_tokens": 5}}
CHAT_CALL = {"id": "t1", "type": "function", "function": {"name": "pay", "arguments": '{"ref": "r1"}'}}
CHAT = {"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": [CHAT_CALL]}}]}


async def while_the_loop_goes_on(way: Any, store: SlowStore) -> Any:
    """What comes of it, where the store answers only once the loop has gone on while it was asked."""
    ends = asyncio.ensure_future(way)
    while not store.asked.is_set():
        await asyncio.sleep(0.001)
    store.go.set()  # nobody could, if the loop stood still
    return await ends


@pytest.mark.parametrize(("adapter", "response"), [(anthropic, RESPONSE), (openai, CHAT)])
def test_the_loop_goes_on_while_a_turn_is_judged(loaded: Gate, store: SlowStore, adapter: Any, response: Any) -> None:
    way = adapter.take_turn_async(loaded.task("t"), response, {"pay": pay})
    turn = asyncio.run(while_the_loop_goes_on(way, store))
    assert [verdict.action for verdict in turn.verdicts] == ["allow"]
    assert "paid" in str(turn.messages[-1])


@pytest.mark.parametrize(("adapter", "response"), [(anthropic, RESPONSE), (openai, CHAT)])
def test_a_turn_is_opened_without_stopping_the_loop(
    loaded: Gate, store: SlowStore, adapter: Any, response: Any
) -> None:
    turn = asyncio.run(while_the_loop_goes_on(adapter.open_turn_async(loaded.task("t"), response), store))
    assert [call.id for call in turn.open] == ["t1"]


@pytest.mark.parametrize("tools", [{"pay": pay}, {}])
def test_the_loop_goes_on_while_what_came_of_a_turn_is_told(tmp_path: Path, tools: Any) -> None:
    store = SlowSettling()
    task = gate(tmp_path, PAY, store=store, pauses=noted([])).task("t")
    response = {key: value for key, value in RESPONSE.items() if key != "usage"}
    turn = asyncio.run(while_the_loop_goes_on(anthropic.take_turn_async(task, response, tools), store))
    assert turn.messages


@pytest.mark.parametrize("asynchronous", [False, True])
def test_the_loop_goes_on_while_a_yes_is_taken(tmp_path: Path, asynchronous: bool) -> None:
    rule = "  rules: [{id: ask, tools: [pay], when: 'true', action: ask}]\n"
    store = SlowStore()
    task = gate(tmp_path, PAY, rule, store=store, pauses=noted([])).task("t")

    def yes(verdict: Any) -> bool:
        store.go.clear()
        store.asked.clear()
        return True

    async def later(verdict: Any) -> bool:
        return yes(verdict)

    async def turn() -> Any:
        store.go.set()
        ends = asyncio.ensure_future(
            anthropic.take_turn_async(task, RESPONSE, {"pay": pay}, approve=later if asynchronous else yes)
        )
        while store.go.is_set():  # judged, and asked about
            await asyncio.sleep(0.001)
        return await while_the_loop_goes_on(ends, store)

    assert "paid" in str(asyncio.run(turn()).messages[-1])


def test_a_turn_that_is_cancelled_while_it_is_judged_gives_back_what_it_got(loaded: Gate, store: SlowStore) -> None:
    task = loaded.task("t")

    async def turn() -> None:
        way = asyncio.ensure_future(anthropic.take_turn_async(task, RESPONSE, {"pay": pay}))
        while not store.asked.is_set():
            await asyncio.sleep(0.001)
        way.cancel()
        await asyncio.sleep(0)
        store.go.set()
        with pytest.raises(asyncio.CancelledError):
            await way

    asyncio.run(turn())
    assert len(store.released) == 1
    assert task.admit("pay", {"ref": "r1"}).allowed


def test_the_loop_goes_on_while_a_cancelled_call_is_told(tmp_path: Path) -> None:
    store = SlowSettling()
    task = gate(tmp_path, PAY, store=store, pauses=noted([])).task("t")

    async def turn() -> None:
        began = asyncio.Event()

        async def hang(ref: str) -> None:
            began.set()
            await asyncio.Event().wait()

        way = asyncio.ensure_future(task.acall(Call(hang, {"ref": "r1"}, tool="pay")))
        await began.wait()
        way.cancel()
        with pytest.raises(asyncio.CancelledError):
            await while_the_loop_goes_on(way, store)

    asyncio.run(turn())
    assert [entry.state for entry in store.entries(time.time())] == ["unknown"]


def test_a_coroutine_that_is_closed_tells_at_once(loaded: Gate, store: SlowStore) -> None:
    """Closing it may not wait for a thread; nothing is left out all the same."""
    store.go.set()
    task = loaded.task("t")

    class Hangs:
        def __await__(self) -> Any:
            yield

    async def hang(ref: str) -> None:
        await Hangs()

    async def turn() -> None:
        way = task.acall(Call(hang, {"ref": "r1"}, tool="pay"))
        steps = way.__await__()
        future = next(steps)
        while future is not None:  # what the thread is asked; then the tool hangs
            await asyncio.wait([future])
            future = steps.send(None)
        steps.close()

    asyncio.run(turn())
    assert [entry.state for entry in store.entries(time.time())] == ["unknown"]
