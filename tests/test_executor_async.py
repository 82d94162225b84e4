"""`task.acall` and `task.acall_all`: the same with asyncio, and what happens when somebody stops waiting."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from callgate import Call, CallTimeout, Task
from executor_gates import Flaky, Waits, gate, noted

READ = "    look: {effect: read}\n    flaky: {effect: read, retry: {max: 3, backoff: {jitter: none}}}\n"
FOREIGN = "    pay: {effect: external}\n"


async def look(q: Any) -> dict[str, Any]:
    await asyncio.sleep(0)
    return {"hits": [q]}


def failing(*errors: BaseException) -> Any:
    """A coroutine function that raises these, one after the other, and then answers."""
    left = list(errors)

    async def flaky(**_: Any) -> str:
        await asyncio.sleep(0)
        if left:
            raise left.pop(0)
        return "done"

    return flaky


@pytest.fixture
def task(tmp_path: Path) -> Task:
    return gate(tmp_path, READ + FOREIGN).task("t")


def test_a_coroutine_is_judged_run_and_told(task: Task) -> None:
    result = asyncio.run(task.acall(look, q="a"))
    assert (result.value(), result.attempts, task.spent["tool_calls"]) == ({"hits": ["a"]}, 1, 1.0)


def test_a_plain_function_runs_in_a_thread(task: Task) -> None:
    import threading

    async def both() -> Any:
        return await task.acall(Call(threading.get_ident, tool="look")), threading.get_ident()

    result, own = asyncio.run(both())
    assert result.value() != own


def test_a_failed_one_is_tried_again(tmp_path: Path) -> None:
    waited: list[float] = []
    task = gate(tmp_path, READ, pauses=noted(waited)).task("t")
    result = asyncio.run(task.acall(failing(ConnectionRefusedError(), TimeoutError())))
    assert (result.value(), result.attempts, waited) == ("done", 3, [1.0, 2.0])


def test_results_come_in_the_order_of_the_calls_and_a_failure_stops_no_sibling(task: Task) -> None:
    async def turn() -> list[Any]:
        events = [asyncio.Event() for _ in range(3)]

        async def in_turn(q: int) -> int:
            if q < 2:
                await events[q + 1].wait()
            events[q].set()
            if q == 1:
                raise ValueError("no")
            return q

        return await task.acall_all([Call(in_turn, {"q": q}, tool="look") for q in range(3)])

    results = asyncio.run(turn())
    assert [result.ok for result in results] == [True, False, True]
    assert [results[0].value(), results[2].value()] == [0, 2]


def test_equal_calls_of_a_turn_are_made_once(task: Task) -> None:
    ran: list[Any] = []

    async def once(q: int) -> int:
        ran.append(q)
        return q

    async def turn() -> list[Any]:
        return await task.acall_all([Call(once, {"q": 1}, tool="look", call_id=i) for i in ("a", "b")])

    results = asyncio.run(turn())
    assert ([each.value() for each in results], [each.from_cache for each in results], ran) == (
        [1, 1],
        [False, True],
        [1],
    )


def test_a_coroutine_that_gives_no_answer_in_time_is_cancelled(tmp_path: Path) -> None:
    task = gate(tmp_path, "    look: {effect: write, timeout: 50ms}\n").task("t")
    cancelled: list[bool] = []

    async def hang() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    result = asyncio.run(task.acall(Call(hang, tool="look")))
    assert isinstance(result.error, CallTimeout) and cancelled == [True]
    assert result.assessment is not None and result.assessment.error_class == "ambiguous"


def test_a_time_out_of_the_tools_own_is_a_failure_as_any_other(tmp_path: Path) -> None:
    task = gate(tmp_path, "    look: {effect: read, timeout: 10m}\n").task("t")
    result = asyncio.run(task.acall(Call(failing(TimeoutError("mine")), tool="look")))
    assert (type(result.error), str(result.error)) == (TimeoutError, "mine")


@pytest.mark.parametrize("timeout", ["", ", timeout: 10m"])
@pytest.mark.parametrize("plain", [False, True])
def test_a_cancelled_call_is_told_as_cancelled_and_the_cancellation_goes_on(
    tmp_path: Path, timeout: str, plain: bool
) -> None:
    task = gate(tmp_path, f"    pay: {{effect: external{timeout}}}\n").task("t")
    waits = Waits()

    async def hang() -> None:
        waits.began.set()
        await asyncio.Event().wait()

    async def turn() -> None:
        way = asyncio.ensure_future(task.acall(Call(waits if plain else hang, tool="pay")))
        while not waits.began.is_set():
            await asyncio.sleep(0.001)
        way.cancel()
        with pytest.raises(asyncio.CancelledError):
            await way

    asyncio.run(turn())
    waits.go.set()
    [call] = task.report()["calls"]
    assert (call["error"]["type"], call["error"]["class"]) == ("cancelled", "ambiguous")


def test_a_cancelled_turn_tells_of_all_of_its_calls(tmp_path: Path) -> None:
    task = gate(tmp_path, READ + FOREIGN).task("t")
    began: list[int] = []

    async def hang(q: int) -> None:
        began.append(q)
        await asyncio.Event().wait()

    async def turn() -> None:
        calls = [Call(hang, {"q": 1}, tool="pay"), Call(hang, {"q": 2}, tool="look"), Call(look, {"q": 3})]
        way = asyncio.ensure_future(task.acall_all(calls))
        while len(began) < 2:
            await asyncio.sleep(0)
        for _ in range(10):  # the third one ends meanwhile
            await asyncio.sleep(0)
        way.cancel()
        with pytest.raises(asyncio.CancelledError):
            await way

    asyncio.run(turn())
    told = [(call["error"] or {}).get("class") for call in task.report()["calls"]]
    assert told == ["ambiguous", "transient", None]
    for call_id in ("call-1", "call-2", "call-3"):
        with pytest.raises(LookupError, match="is out"):
            task.abandon(call_id)


def test_a_coroutine_that_is_closed_leaves_nothing_out(task: Task) -> None:
    """Python closes a coroutine that nobody awaits any more with `GeneratorExit`."""

    class Forever:
        def __await__(self) -> Any:
            yield

    async def hang() -> None:
        await Forever()

    way = task.acall(Call(hang, tool="pay"))

    async def begin() -> None:
        # the first step by hand, within a loop, and then no further one
        way.send(None)
        way.close()

    asyncio.run(begin())
    [call] = task.report()["calls"]
    assert call["error"]["type"] == "cancelled"


def test_a_task_group_cancels_as_any_other_caller(tmp_path: Path) -> None:
    task = gate(tmp_path, READ + FOREIGN).task("t")
    began = asyncio.Event()

    async def hang() -> None:
        began.set()
        await asyncio.Event().wait()

    async def fail() -> None:
        await began.wait()
        raise ValueError("another one fails")

    async def turn() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(task.acall(Call(hang, tool="pay")))
            group.create_task(fail())

    with pytest.raises(ExceptionGroup):
        asyncio.run(turn())
    [call] = task.report()["calls"]
    assert call["error"]["type"] == "cancelled"


@pytest.mark.parametrize("is_async", [True, False])
def test_whoever_is_named_is_asked_awaited_or_not(tmp_path: Path, is_async: bool) -> None:
    rule = '  rules: [{id: big, phase: admit, when: "args.q == \\"big\\"", action: ask}]\n'
    task = gate(tmp_path, READ, rule).task("t")

    async def later(verdict: Any) -> bool:
        await asyncio.sleep(0)
        return True

    approve: Any = later if is_async else lambda verdict: True
    assert asyncio.run(task.acall(Call(look, {"q": "big"}, approve=approve))).ok


def test_fifty_coroutines_share_one_budget(tmp_path: Path) -> None:
    task = gate(tmp_path, READ, "  budgets: {tool_calls: 20}\n").task("t")
    ran: list[Any] = []

    async def once(q: int) -> dict[str, int]:
        await asyncio.sleep(0)
        ran.append(q)
        return {"found": q}  # another result each time, or the guard would take it for going round

    async def all_of_them() -> list[Any]:
        return await asyncio.gather(*(task.acall(Call(once, {"q": q}, tool="look")) for q in range(50)))

    results = asyncio.run(all_of_them())
    assert (len(ran), sum(result.refused for result in results)) == (20, 30)


def test_plain_tools_of_one_turn_run_side_by_side(task: Task) -> None:
    import threading

    meeting = threading.Barrier(3)
    calls = [Call(lambda q: meeting.wait(30) >= 0, {"q": q}, tool="look") for q in range(3)]
    results = asyncio.run(task.acall_all(calls))
    assert [result.value() for result in results] == [True] * 3


def test_an_asker_that_is_cancelled_leaves_nothing_out(tmp_path: Path) -> None:
    rule = '  rules: [{id: big, phase: admit, when: "args.q == \\"big\\"", action: ask}]\n'
    task = gate(tmp_path, READ, rule).task("t")

    async def never(verdict: Any) -> bool:
        raise asyncio.CancelledError

    async def turn() -> None:
        await task.acall_all([Call(look, {"q": "small"}), Call(look, {"q": "big"}, approve=never)])  # type: ignore[arg-type]

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(turn())
    assert task.spent["tool_calls"] == 0.0


def test_a_flaky_plain_function_is_tried_again(tmp_path: Path) -> None:
    task = gate(tmp_path, READ, pauses=noted([])).task("t")
    assert asyncio.run(task.acall(Flaky(ConnectionRefusedError("no")))).attempts == 2
