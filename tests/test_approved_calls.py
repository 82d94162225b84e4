"""A call that a person said yes to is run by the executor under its id, once, and without being judged again."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from callgate import Call, CallResult, Gate, Task, UnknownCallError
from callgate.stores import MemoryStore
from executor_gates import Flaky, gate, noted

TOOLS = (
    "    pay:\n      effect: external\n      idempotency: {key: '[\"pay\", args.ref]', pass_as: idempotency_key}\n"
    "      retry: {classes: [transient], max: 2}\n"
    "    look: {effect: read}\n"
)
LARGE = "  rules: [{id: large, phase: admit, tools: [pay], when: 'args.amount > 1000', action: ask}]\n"
ORDER = {"ref": "r1", "amount": 5000}


def call(task: Task, made: Call) -> CallResult:
    return task.call(made)


def acall(task: Task, made: Call) -> CallResult:
    return asyncio.run(task.acall(made))


Make = Callable[[Task, Call], CallResult]


@pytest.fixture(params=["own", "store"])
def loaded(request: pytest.FixtureRequest, tmp_path: Path) -> Gate:
    store = MemoryStore() if request.param == "store" else None
    return gate(tmp_path, TOOLS, LARGE, store=store, pauses=noted([]))


@pytest.fixture
def task(loaded: Gate) -> Task:
    return loaded.task("t")


def asked(task: Task, tool: Any) -> str:
    result = task.call(Call(tool, ORDER, tool="pay"))
    assert (result.verdict.action, result.attempts) == ("ask", 0)
    return result.call_id


@pytest.mark.parametrize("make", [call, acall])
def test_it_runs_with_the_arguments_that_were_approved(task: Task, make: Make) -> None:
    tool = Flaky()
    verdict = task.approve(asked(task, tool))
    result = make(task, Call(tool, ORDER, tool="pay", call_id=verdict.call_id))
    assert (result.value(), result.attempts, result.verdict) == ("done", 1, verdict)
    assert tool.asked == [{**ORDER, "idempotency_key": verdict.idempotency_key}]
    assert (task.spent["tool_calls"], task.report()["counters"]["out"]) == (1.0, 0)


def test_the_arguments_of_the_verdict_may_be_given_and_a_made_up_key_counts_for_nothing(task: Task) -> None:
    tool = Flaky()
    verdict = task.approve(asked(task, tool))
    made_up = {**verdict.arguments, "idempotency_key": "made up"}
    assert task.call(Call(tool, made_up, tool="pay", call_id=verdict.call_id)).ok
    assert tool.asked == [verdict.arguments]


def test_a_guarded_function_runs_as_well(loaded: Gate) -> None:
    @loaded.tool
    def pay(ref: str, amount: int, idempotency_key: str) -> str:
        return ref

    task = loaded.task("t")
    verdict = task.approve(asked(task, pay))
    assert task.call(Call(pay, verdict.arguments, call_id=verdict.call_id)).value() == "r1"


@pytest.mark.parametrize("make", [call, acall])
def test_it_runs_once(task: Task, make: Make) -> None:
    tool = Flaky()
    made = Call(tool, ORDER, tool="pay", call_id=task.approve(asked(task, tool)).call_id)
    assert make(task, made).ok
    again = make(task, made)
    assert (again.attempts, len(tool.asked)) == (0, 1)


@pytest.mark.parametrize(
    ("tool_name", "arguments"),
    [("pay", {"ref": "r1", "amount": 9000}), ("pay", {"ref": "r1"}), ("pay", {}), ("look", ORDER)],
)
def test_nothing_else_runs_under_its_id(task: Task, tool_name: str, arguments: dict[str, Any]) -> None:
    tool = Flaky()
    call_id = task.approve(asked(task, tool)).call_id
    other = task.call(Call(tool, arguments, tool=tool_name, call_id=call_id))
    assert (other.refused, other.attempts, "bad_call_id" in other.verdict.reasons) == (True, 0, True)
    assert task.call(Call(tool, ORDER, tool="pay", call_id=call_id)).ok  # it waits all the same
    assert len(tool.asked) == 1


def test_what_was_given_back_or_told_by_the_host_does_not_run(task: Task) -> None:
    tool = Flaky()
    for end in (task.abandon, lambda call_id: task.observe(call_id, error="no such account")):
        call_id = task.approve(asked(task, tool)).call_id
        end(call_id)
        assert task.call(Call(tool, ORDER, tool="pay", call_id=call_id)).attempts == 0
    assert tool.asked == []


def test_what_is_asked_about_and_denied_does_not_run(task: Task) -> None:
    tool = Flaky()
    call_id = asked(task, tool)
    task.deny(call_id)
    assert task.call(Call(tool, ORDER, tool="pay", call_id=call_id)).refused
    with pytest.raises(UnknownCallError):
        task.approve(call_id)
    assert tool.asked == []


def test_it_stands_beside_other_calls_of_a_turn(task: Task) -> None:
    tool, look = Flaky(answer="paid"), Flaky(answer="seen")
    made = Call(tool, ORDER, tool="pay", call_id=task.approve(asked(task, tool)).call_id)
    reads = [Call(look, {"q": number}, tool="look") for number in (1, 2)]
    results = task.call_all([reads[0], made, reads[1]])
    assert [result.value() for result in results] == ["seen", "paid", "seen"]


def test_a_further_attempt_is_asked_about_anew(task: Task) -> None:
    tool = Flaky(ConnectionRefusedError("nobody listens"))
    verdict = task.approve(asked(task, tool))
    result = task.call(Call(tool, ORDER, tool="pay", call_id=verdict.call_id))
    assert (result.verdict.action, result.attempts) == ("ask", 1)
    again = task.approve(result.verdict.call_id)
    assert task.call(Call(tool, ORDER, tool="pay", call_id=again.call_id)).value() == "done"
    assert len(tool.asked) == 2


def test_a_batch_that_cannot_be_judged_leaves_it_waiting(task: Task) -> None:
    tool = Flaky()
    made = Call(tool, ORDER, tool="pay", call_id=task.approve(asked(task, tool)).call_id)
    broken: Any = Call(tool, {}, tool="look", call_id=7)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        task.call_all([made, broken])
    assert task.call(made).ok


def test_a_batch_with_an_unreadable_call_leaves_it_waiting_too(task: Task) -> None:
    tool = Flaky()
    made = Call(tool, ORDER, tool="pay", call_id=task.approve(asked(task, tool)).call_id)
    unreadable: Any = Call(tool, [1], tool="pay", call_id=made.call_id)  # type: ignore[arg-type]
    assert task.call(unreadable).refused
    assert task.call(made).ok
