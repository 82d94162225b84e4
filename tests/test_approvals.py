"""Approvals: a person's yes covers what the person was told, and no effect is done again blindly."""

from __future__ import annotations

from pathlib import Path

import pytest

from bound_folder import gate, policy
from callgate import Gate, Task, UnknownCallError
from callgate.adapters.anthropic import take_turn

RULE = {"id": "pay-asks", "tools": ["pay"], "when": "args.amount > 10", "action": "ask"}
LATER = {"id": "late", "tools": ["pay"], "when": "budget.tool_calls.used > 0.0", "action": "ask"}


@pytest.fixture
def payments(tmp_path: Path) -> Gate:
    policy(tmp_path, rules=[RULE], detectors={"denied": {"refuse_after": 1}})
    return gate(tmp_path)


def ask(task: Task, amount: int, call_id: str) -> None:
    verdict = task.admit("pay", {"amount": amount}, call_id=call_id)
    assert (verdict.action, verdict.reasons) == ("ask", ("rule:pay-asks",)), verdict


def lose(task: Task) -> None:
    """A payment of which nobody knows whether it happened."""
    verdict = task.admit("pay", {"amount": 1})
    assert verdict.allowed, verdict
    task.observe(verdict.call_id, error={"type": "timeout"})


def test_a_yes_given_before_an_effect_was_lost_does_not_cover_it(payments: Gate) -> None:
    task = payments.task("t")
    ask(task, 100, "c")
    lose(task)
    again = task.approve("c")
    assert (again.action, again.reasons, again.code) == ("ask", ("ambiguous_effect",), "AMBIGUOUS_EFFECT")


def test_a_second_yes_covers_both(payments: Gate) -> None:
    task = payments.task("t")
    ask(task, 100, "c")
    lose(task)
    task.approve("c")
    verdict = task.approve("c")
    assert (verdict.action, verdict.reasons) == ("allow", ())
    assert task.observe("c", result={"paid": True}).grade == "sufficient"


def test_a_no_to_the_second_question_is_a_denial(payments: Gate) -> None:
    task = payments.task("t")
    ask(task, 100, "c")
    lose(task)
    task.approve("c")
    task.deny("c")
    assert "denied" in task.admit("pay", {"amount": 100}).reasons
    with pytest.raises(UnknownCallError):
        task.approve("c")


def test_a_yes_covers_all_that_asked_at_once(payments: Gate) -> None:
    task = payments.task("t")
    lose(task)
    asked = task.admit("pay", {"amount": 100}, call_id="c")
    assert asked.reasons == ("ambiguous_effect", "rule:pay-asks")
    assert task.approve("c").action == "allow"


def test_a_rule_that_asks_only_since_then_asks_anew(tmp_path: Path) -> None:
    policy(tmp_path, rules=[RULE, LATER])
    task = gate(tmp_path).task("t")
    ask(task, 100, "c")
    assert task.admit("look", {}).allowed
    again = task.approve("c")
    assert (again.action, again.reasons) == ("ask", ("rule:late",))
    assert task.approve("c").action == "allow"


def test_in_a_loop_the_person_is_asked_until_all_is_told(payments: Gate) -> None:
    task = payments.task("t")
    told = []

    def person(verdict: object) -> bool:
        told.append(verdict.reasons)  # type: ignore[attr-defined]
        if len(told) == 1:  # while the person thinks, another agent's payment is lost
            lose(task)
        return True

    use = {"type": "tool_use", "id": "c", "name": "pay", "input": {"amount": 100}}
    turn = take_turn(
        task, {"role": "assistant", "content": [use]}, {"pay": lambda amount: {"paid": amount}}, approve=person
    )
    assert told == [("rule:pay-asks",), ("ambiguous_effect",)]
    assert turn.verdict("c").allowed


@pytest.mark.parametrize(
    ("tool", "expected"),
    [("pay", ("ask", ("ambiguous_effect",))), ("put", ("ask", ("ambiguous_effect",))), ("look", ("allow", ()))],
)
def test_an_effect_that_was_out_at_the_snapshot_is_not_done_again_blindly(
    payments: Gate, tool: str, expected: tuple[str, tuple[str, ...]]
) -> None:
    task = payments.task("t")
    assert task.admit(tool, {"amount": 1}).allowed
    resumed = payments.resume(task.snapshot()).admit(tool, {"amount": 1})
    assert (resumed.action, resumed.reasons) == expected


def test_the_snapshot_takes_nothing_from_the_task_that_goes_on(payments: Gate) -> None:
    task = payments.task("t")
    verdict = task.admit("pay", {"amount": 1})
    task.snapshot()
    task.observe(verdict.call_id, result={"paid": True})
    assert task.admit("pay", {"amount": 2}).action == "allow"


def test_an_effect_that_ended_before_the_snapshot_is_known(payments: Gate) -> None:
    task = payments.task("t")
    task.observe(task.admit("pay", {"amount": 1}).call_id, result={"paid": True})
    assert payments.resume(task.snapshot()).admit("pay", {"amount": 2}).action == "allow"
