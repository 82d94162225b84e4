"""Verifying: what became of an effect in doubt is found out by the declared call, not by doing it again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from callgate import Assessment, Gate, Task, Verdict
from effects import ABSENT, FOUND, ORDER, PENDING, effects_gate


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    return effects_gate(tmp_path)


def lost(task: Task, ref: str = "r1") -> Assessment:
    """An order that timed out."""
    return task.observe(task.admit("create_order", {"ref": ref}).call_id, error={"type": "timeout"})


def checked(gate: Gate, task: Task, result: Any, *, after: float = 30.0, ref: str = "r1") -> Assessment:
    """The verifying call, so many seconds later."""
    gate.clock.advance(after)  # type: ignore[attr-defined]
    verdict = task.admit("get_order", {"ref": ref})
    assert verdict.allowed, verdict
    return task.observe(verdict.call_id, result=result)


def order(task: Task, ref: str = "r1") -> Verdict:
    return task.admit("create_order", {"ref": ref})


def test_a_lost_effect_names_the_call_that_finds_out(gate: Gate) -> None:
    assessment = lost(gate.task("t"))
    assert (assessment.next, assessment.error_class) == ("verify", "ambiguous")
    assert assessment.verify is not None
    assert (assessment.verify.tool, assessment.verify.arguments, assessment.verify.after) == (
        "get_order",
        {"ref": "r1"},
        30.0,
    )


def test_whoever_tries_again_is_told_of_that_call_too(gate: Gate) -> None:
    task = gate.task("t")
    lost(task)
    gate.clock.advance(10.0)  # type: ignore[attr-defined]
    verdict = order(task)
    assert (verdict.action, verdict.reasons) == ("ask", ("ambiguous_effect",))
    assert verdict.verify is not None and verdict.verify.after == 20.0
    reply = json.loads(verdict.reply or "")
    assert reply["data"]["verify"] == {"tool": "get_order", "arguments": {"ref": "r1"}, "after": 20.0}
    assert reply["message"].endswith("`get_order` can tell what became of it. A person has to decide.")


@pytest.mark.parametrize(("age", "action"), [(5.0, "allow"), (10.0, "allow"), (10.5, "ask"), (3600.0, "ask")])
def test_an_absence_that_a_cache_tells_is_as_old_as_the_cache_says(gate: Gate, age: float, action: str) -> None:
    task = gate.task("t")
    lost(task)
    gate.clock.advance(40.0)  # type: ignore[attr-defined]
    looked = task.admit("get_order", {"ref": "r1"})
    task.observe(looked.call_id, result=ABSENT, cached=age)
    assert order(task).action == action


@pytest.mark.parametrize(("length", "kept"), [(65_000, True), (66_000, False)])
def test_what_was_found_is_kept_up_to_the_same_length_as_a_result(gate: Gate, length: int, kept: bool) -> None:
    task = gate.task("t")
    lost(task)
    found = {**FOUND, "text": "x" * length}
    checked(gate, task, found)
    again = order(task)
    assert (again.action, again.code, again.result) == ("reuse", "ALREADY_CREATED", found if kept else None)


def test_what_landed_is_answered_with_what_was_found(gate: Gate) -> None:
    task = gate.task("t")
    lost(task)
    assert checked(gate, task, FOUND).next == "continue"
    verdict = order(task)
    assert (verdict.action, verdict.code, verdict.result) == ("reuse", "ALREADY_CREATED", FOUND)


def test_what_is_absent_may_be_done(gate: Gate) -> None:
    task = gate.task("t")
    lost(task)
    checked(gate, task, ABSENT)
    assert order(task).allowed


def test_it_is_believed_to_have_landed_at_once_but_to_be_absent_only_after_its_time(gate: Gate) -> None:
    task = gate.task("t")
    lost(task)
    early = checked(gate, task, ABSENT, after=10.0)
    assert (early.next, early.verify is not None and early.verify.after) == ("verify", 20.0)
    assert order(task).action == "ask"
    checked(gate, task, FOUND, after=1.0)
    assert order(task).code == "ALREADY_CREATED"


def test_a_call_that_was_sent_too_early_counts_as_too_early_however_late_it_comes_back(gate: Gate) -> None:
    task = gate.task("t")
    lost(task)
    verdict = task.admit("get_order", {"ref": "r1"})
    gate.clock.advance(60.0)  # type: ignore[attr-defined]
    task.observe(verdict.call_id, result=ABSENT)
    assert order(task).action == "ask"


def test_after_its_attempts_it_is_a_persons_turn(gate: Gate) -> None:
    task = gate.task("t")
    lost(task)
    assert checked(gate, task, PENDING).next == "verify"
    assert checked(gate, task, PENDING).next == "continue"
    verdict = order(task)
    assert (verdict.action, verdict.verify, verdict.findings[0].evidence["checked"]) == ("ask", None, 2)


def test_a_late_answer_ends_the_doubt_even_then(gate: Gate) -> None:
    task = gate.task("t")
    lost(task)
    for _ in range(2):
        checked(gate, task, PENDING)
    checked(gate, task, FOUND)
    assert order(task).code == "ALREADY_CREATED"


def test_another_order_looked_up_says_nothing(gate: Gate) -> None:
    task = gate.task("t")
    lost(task)
    checked(gate, task, ABSENT, ref="r2")
    assert order(task).action == "ask"


def test_a_look_up_that_fails_says_nothing_and_one_that_may_pass_is_no_attempt(gate: Gate) -> None:
    task = gate.task("t")
    lost(task)
    gate.clock.advance(30.0)  # type: ignore[attr-defined]
    for error in ({"type": "timeout"}, {"type": "http", "status": 404}):
        verdict = task.admit("get_order", {"ref": "r1"})
        task.observe(verdict.call_id, error=error)
    assert order(task).findings[0].evidence["checked"] == 1


def test_a_condition_that_errs_says_nothing(tmp_path: Path) -> None:
    gate = effects_gate(tmp_path)
    task = gate.task("t")
    lost(task)
    checked(gate, task, "no map at all")
    assert order(task).findings[0].evidence["checked"] == 1


def test_a_second_doubt_about_the_same_call_is_a_doubt_of_its_own(gate: Gate) -> None:
    task = gate.task("t")
    lost(task)
    checked(gate, task, ABSENT)
    assert lost(task).next == "verify"
    checked(gate, task, FOUND)
    assert order(task).code == "ALREADY_CREATED"


def test_a_resumed_task_can_verify_what_its_last_life_began(gate: Gate, tmp_path: Path) -> None:
    task = gate.task("t")
    task.admit("create_order", {"ref": "r1"})
    other = effects_gate(tmp_path / "other")
    resumed = other.resume(task.snapshot())
    verdict = order(resumed)
    assert (verdict.action, verdict.verify is not None and verdict.verify.arguments) == ("ask", {"ref": "r1"})
    checked(other, resumed, FOUND)
    assert order(resumed).code == "ALREADY_CREATED"


def test_another_agent_may_find_out(gate: Gate) -> None:
    task = gate.task("t")
    lost(task)
    checked(gate, task.child("clerk"), FOUND)
    assert order(task).code == "ALREADY_CREATED"


def test_a_person_may_say_what_became_of_it(gate: Gate) -> None:
    task = gate.task("t")
    for ref in ("r1", "r2"):
        lost(task, ref)
    keys = [order(task, ref).findings[0].evidence["key"] for ref in ("r1", "r2")]
    task.resolve(keys[0], landed=True, by="ada")
    task.resolve(keys[1], landed=False, by="ada")
    assert [order(task, ref).action for ref in ("r1", "r2")] == ["reuse", "allow"]


def test_a_yes_that_comes_after_the_answer_does_not_do_it_twice(tmp_path: Path) -> None:
    key = {"key": "[task.id, args.ref]", "pass_as": "key"}
    tools = {"create_order": {**ORDER, "idempotency": key}, "get_order": {"effect": "read"}}
    gate = effects_gate(tmp_path, tools)
    task = gate.task("t")
    lost(task)
    asked = order(task)
    checked(gate, task, FOUND)
    assert task.approve(asked.call_id).code == "ALREADY_CREATED"


def test_a_tool_without_verify_proposes_nothing(gate: Gate) -> None:
    task = gate.task("t")
    assessment = task.observe(task.admit("mail", {"to": "anna"}).call_id, error={"type": "timeout"})
    assert (assessment.next, assessment.verify) == ("continue", None)
    assert task.admit("mail", {"to": "anna"}).verify is None
