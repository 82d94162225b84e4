"""The calls of a turn are made by the executor: within their time, tried again, so many at once."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from callgate import Gate
from callgate.adapters import anthropic
from executor_gates import Flaky, Waits, gate, noted

TOOLS = "    look: {effect: read, retry: {max: 2, backoff: {jitter: none}}}\n    waits: {effect: read, timeout: 50ms}\n"

Take = Callable[..., Any]


def uses(*wanted: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    blocks = [
        {"type": "tool_use", "id": f"t{at}", "name": name, "input": given} for at, (name, given) in enumerate(wanted)
    ]
    return {"role": "assistant", "content": blocks, "stop_reason": "tool_use"}


def contents(turn: Any) -> list[Any]:
    return [block["content"] for block in turn.messages[1]["content"]]


def take_async(*given: Any, **more: Any) -> Any:
    return asyncio.run(anthropic.take_turn_async(*given, **more))


@pytest.fixture
def waits() -> Iterator[Waits]:
    tool = Waits()
    yield tool
    tool.go.set()


@pytest.fixture
def waited() -> list[float]:
    return []


@pytest.fixture
def loaded(tmp_path: Path, waited: list[float]) -> Gate:
    return gate(tmp_path, TOOLS, pauses=noted(waited))


@pytest.mark.parametrize("take", [anthropic.take_turn, take_async])
def test_a_tool_that_hangs_is_given_up_and_its_siblings_are_answered(loaded: Gate, waits: Waits, take: Take) -> None:
    turn = take(loaded.task("t"), uses(("waits", {}), ("look", {"q": 1})), {"waits": waits, "look": lambda q: "seen"})
    assert contents(turn) == [
        "Error: CallTimeout: `waits` gave no answer: none came within 0.05 s (its `timeout`, else `time.tool`)",
        "seen",
    ]


@pytest.mark.parametrize("take", [anthropic.take_turn, take_async])
def test_a_failure_that_may_pass_is_tried_again(loaded: Gate, waited: list[float], take: Take) -> None:
    task = loaded.task("t")
    turn = take(task, uses(("look", {"q": 1}), ("look", {"q": 2})), {"look": Flaky(ConnectionRefusedError("no"))})
    assert (contents(turn), waited) == (["done", "done"], [1.0])
    assert {name: task.spent[name] for name in ("steps", "tool_calls", "retries")} == {
        "steps": 1.0,
        "tool_calls": 3.0,
        "retries": 1.0,
    }


def test_what_does_not_pass_is_told_with_its_last_failure(loaded: Gate) -> None:
    flaky = Flaky(*[ConnectionRefusedError(f"no {at}") for at in range(9)])
    turn = anthropic.take_turn(loaded.task("t"), uses(("look", {"q": 1})), {"look": flaky})
    assert (contents(turn), len(flaky.asked)) == (["Error: ConnectionRefusedError: no 2"], 3)


def test_no_more_run_at_once_than_the_host_says(loaded: Gate) -> None:
    lock, running, most = threading.Lock(), 0, 0
    pair = threading.Barrier(2)

    def look(q: int) -> int:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        pair.wait(30)  # two at a time, or nobody goes on
        with lock:
            running -= 1
        return q

    turn = anthropic.take_turn(
        loaded.task("t"), uses(*(("look", {"q": at}) for at in range(6))), {"look": look}, threads=2
    )
    assert (contents(turn), most) == (["0", "1", "2", "3", "4", "5"], 2)


def test_a_guarded_function_is_judged_once(loaded: Gate) -> None:
    @loaded.tool
    def look(q: int) -> int:
        return q

    task = loaded.task("t")
    turn = anthropic.take_turn(task, uses(("look", {"q": 1})), {"look": look})
    assert (contents(turn), task.spent["tool_calls"]) == (["1"], 1.0)


def test_a_guarded_coroutine_function_is_refused_where_nobody_awaits_it(loaded: Gate) -> None:
    @loaded.tool
    async def look(q: int) -> int:
        return q

    with pytest.raises(TypeError, match="the tool `look` is a coroutine function"):
        anthropic.take_turn(loaded.task("t"), uses(("look", {"q": 1})), {"look": look})
    turn = take_async(loaded.task("t"), uses(("look", {"q": 1})), {"look": look})
    assert contents(turn) == ["1"]
