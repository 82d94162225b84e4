"""Fifty callers of one effect at once: the tool runs once. Twenty callers after a breaker's time: one gets through."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from callgate import Call, CallResult, Gate
from callgate.testing import FakeClock
from executor_gates import gate

CALLERS = 50
# one key for all tasks of the gate
PAY = """\
    pay:
      effect: external
      parameters: {type: object, required: [ref], properties: {ref: {type: string}}}
      idempotency: {key: '["pay", args.ref]', pass_as: key}
"""


def at_once(work: Callable[[int], Any], callers: int) -> list[Any]:
    """Run the same in so many threads that start together."""
    go = threading.Barrier(callers)
    found: list[Any] = [None] * callers

    def caller(at: int) -> None:
        go.wait(60)
        found[at] = work(at)

    threads = [threading.Thread(target=caller, args=(at,)) for at in range(callers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def told(results: list[CallResult]) -> tuple[int, set[str | None]]:
    """How many ran, and what the others were told."""
    return sum(result.attempts for result in results), {
        result.verdict.code for result in results if not result.attempts
    }


@pytest.mark.parametrize("own_tasks", [False, True])
def test_fifty_threads_on_one_key_run_the_tool_once(tmp_path: Path, own_tasks: bool) -> None:
    loaded = gate(tmp_path, PAY)
    ran: list[str] = []

    def pay(ref: str, key: str) -> dict[str, str]:
        ran.append(key)
        return {"paid": ref}

    shared = loaded.task("shared")
    results = at_once(lambda at: (loaded.task(f"t{at}") if own_tasks else shared).call(pay, ref="r1"), CALLERS)
    assert len(ran) == 1
    count, codes = told(results)
    assert count == 1
    # one task that is told three times that it is under way goes round in circles
    assert codes <= {"EFFECT_IN_FLIGHT", "ALREADY_CREATED"} | (set() if own_tasks else {"STOPPED_NO_PROGRESS"})
    assert loaded.task("later").call(pay, ref="r1").verdict.code == "ALREADY_CREATED"


@pytest.mark.parametrize("own_tasks", [False, True])
def test_fifty_coroutines_on_one_key_run_the_tool_once(tmp_path: Path, own_tasks: bool) -> None:
    loaded = gate(tmp_path, PAY)
    ran: list[str] = []

    async def pay(ref: str, key: str) -> dict[str, str]:
        ran.append(key)
        await asyncio.sleep(0.01)
        return {"paid": ref}

    shared = loaded.task("shared")

    async def all_of_them() -> list[CallResult]:
        tasks = [loaded.task(f"t{at}") if own_tasks else shared for at in range(CALLERS)]
        return await asyncio.gather(*(task.acall(pay, ref="r1") for task in tasks))

    count, codes = told(asyncio.run(all_of_them()))
    assert (len(ran), count) == (1, 1)
    assert codes == {"EFFECT_IN_FLIGHT"}


def test_in_one_turn_all_get_the_answer_of_the_one(tmp_path: Path) -> None:
    loaded = gate(tmp_path, PAY)
    ran: list[str] = []

    def pay(ref: str, key: str) -> dict[str, str]:
        ran.append(key)
        return {"paid": ref}

    results = loaded.task("t").call_all([Call(pay, {"ref": "r1"}) for _ in range(CALLERS)])
    assert (len(ran), [result.value() for result in results]) == (1, [{"paid": "r1"}] * CALLERS)


class TestBreaker:
    TOOLS = "    look: {effect: read, breaker: {failures: 3, open_for: 30s, probes: 1}}\n"

    def opened(self, folder: Path, asked: list[int]) -> tuple[Gate, FakeClock]:
        """A gate whose breaker has opened, half a minute ago."""
        clock = FakeClock()
        loaded = gate(folder, self.TOOLS, clock=clock)

        def look(at: int) -> None:
            raise ConnectionRefusedError("nobody there")

        for at in range(3):
            loaded.task("t").call(look, at=at)
        refused = loaded.task("t").call(look, at=3)
        assert (refused.verdict.reasons, refused.retry_after) == (("breaker_open",), 30.0)
        clock.advance(30.0)
        return loaded, clock

    def test_of_twenty_threads_one_reaches_the_backend(self, tmp_path: Path) -> None:
        asked: list[int] = []
        loaded, _ = self.opened(tmp_path, asked)
        inside, go = threading.Event(), threading.Event()

        def look(at: int) -> str:
            asked.append(at)
            inside.set()
            assert go.wait(60)
            return "back again"

        found: list[CallResult] = []

        def caller(at: int) -> None:
            result = loaded.task(f"t{at}").call(Call(look, {"at": at}))
            found.append(result)
            if len(found) == 19:  # all the others were told before the one comes back
                go.set()

        at_once(caller, 20)
        assert inside.is_set() and len(asked) == 1
        assert sorted(result.verdict.action for result in found) == ["allow"] + ["refuse"] * 19
        assert loaded.task("later").call(look, at=99).ok

    def test_of_twenty_coroutines_one_reaches_the_backend(self, tmp_path: Path) -> None:
        asked: list[int] = []
        loaded, _ = self.opened(tmp_path, asked)

        async def look(at: int) -> str:
            asked.append(at)
            await asyncio.sleep(0.01)
            return "back again"

        async def all_of_them() -> list[CallResult]:
            return await asyncio.gather(*(loaded.task(f"t{at}").acall(look, at=at) for at in range(20)))

        results = asyncio.run(all_of_them())
        assert (len(asked), sum(result.ok for result in results)) == (1, 1)
