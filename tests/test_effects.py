"""Effects: each happens once, what nobody knows of is never done again blindly, and a key is made by the engine."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from callgate import Gate, Task, Verdict, canonical_json
from callgate._core import TaskClaims, TaskState
from effects import ORDER, TOOLS, effects_gate

LOST: dict[str, Any] = {"error": {"type": "timeout"}}
DOWN: dict[str, Any] = {"error": {"type": "http", "status": 503}}
WRONG: dict[str, Any] = {"error": {"type": "http", "status": 400}}


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    return effects_gate(tmp_path)


def order(task: Task, ref: str = "r1", **more: Any) -> Verdict:
    return task.admit("create_order", {"ref": ref, **more})


def seen(verdict: Verdict) -> tuple[str, tuple[str, ...], str | None]:
    return verdict.action, verdict.reasons, verdict.code


IN_FLIGHT = ("refuse", ("effect_in_flight",), "EFFECT_IN_FLIGHT")
ALREADY = ("reuse", ("duplicate_effect",), "ALREADY_CREATED")
ASKED = ("ask", ("ambiguous_effect",), "AMBIGUOUS_EFFECT")
DUPLICATE = ("refuse", ("duplicate_effect",), "DUPLICATE_TOOL_CALL_BLOCKED")


def test_an_effect_that_is_under_way_is_refused_and_afterwards_answered_with_what_it_brought(gate: Gate) -> None:
    task = gate.task("t")
    first = order(task)
    assert seen(order(task, trace="b")) == IN_FLIGHT
    task.observe(first.call_id, result={"id": 7})
    again = order(task)
    assert seen(again) == ALREADY
    assert (again.result, again.result_age) == ({"id": 7}, 0.0)
    reply = json.loads(again.reply or "")
    assert (reply["success"], reply["code"], reply["data"]["result"]) == (True, "ALREADY_CREATED", {"id": 7})


def test_two_that_mean_the_same_in_one_batch_run_once(gate: Gate) -> None:
    task = gate.task("t")
    calls = [{"tool": "create_order", "arguments": {"ref": "r1", "trace": trace}} for trace in ("a", "b")]
    assert [seen(verdict) for verdict in task.admit_all(calls)] == [("allow", (), None), IN_FLIGHT]


def test_equal_calls_of_one_batch_are_answered_together(gate: Gate) -> None:
    task = gate.task("t")
    first, second = task.admit_all([{"tool": "mail", "arguments": {"to": "anna"}}] * 2)
    assert (first.allowed, second.reuse_of, second.reasons) == (True, first.call_id, ("duplicate_in_batch",))


def test_two_agents_do_it_once(gate: Gate) -> None:
    root = gate.task("t")
    child = root.child("worker")
    first = root.admit("mail", {"to": "anna"})
    assert seen(child.admit("mail", {"to": "anna"})) == IN_FLIGHT
    root.observe(first.call_id, result="sent")
    assert seen(child.admit("mail", {"to": "anna"})) == DUPLICATE


@pytest.mark.parametrize("tool", ["mail", "create_order"])
def test_of_twenty_threads_one_runs_it(gate: Gate, tool: str) -> None:
    task = gate.task("t")
    agents = [task.child(f"agent-{number}") for number in range(20)]
    start, verdicts = threading.Barrier(20), list[Verdict]()

    def run(agent: Task) -> None:
        start.wait()
        verdicts.append(agent.admit(tool, {"ref": "r1"}))

    threads = [threading.Thread(target=run, args=(agent,)) for agent in agents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(verdict.action for verdict in verdicts) == ["allow", *["refuse"] * 19]
    assert {verdict.reasons for verdict in verdicts} == {(), ("effect_in_flight",)}


def test_a_key_with_other_arguments_is_a_conflict_whatever_became_of_the_first(gate: Gate) -> None:
    task = gate.task("t")
    first = order(task, amount=1)
    conflict = ("refuse", ("idempotency_conflict",), "IDEMPOTENCY_CONFLICT")
    assert seen(order(task, amount=2)) == conflict
    task.observe(first.call_id, result={"id": 7})
    assert seen(order(task, amount=2)) == conflict


def test_an_effect_that_nobody_knows_of_asks_for_its_target_and_for_no_other(gate: Gate) -> None:
    task = gate.task("t")
    task.observe(order(task).call_id, **LOST)
    assert seen(order(task)) == ASKED
    assert order(task, "r2").allowed


def test_without_a_target_every_call_of_the_tool_asks(gate: Gate) -> None:
    task = gate.task("t")
    task.observe(task.admit("mail", {"to": "anna"}).call_id, **LOST)
    assert seen(task.admit("mail", {"to": "otto"})) == ASKED


@pytest.mark.parametrize("kind", ["timeout", "cancelled", "connection_lost"])
def test_what_may_have_happened_is_ambiguous(gate: Gate, kind: str) -> None:
    task = gate.task("t")
    assessment = task.observe(task.admit("mail", {"to": "anna"}).call_id, error={"type": kind})
    assert (assessment.error_class, assessment.next) == ("ambiguous", "continue")
    read = task.admit("get_order", {"ref": "r1"})
    assert task.observe(read.call_id, error={"type": kind}).error_class == "transient"


@pytest.mark.parametrize("outcome", [DOWN, WRONG])
def test_a_failure_that_says_that_nothing_happened_frees_the_effect(gate: Gate, outcome: dict[str, Any]) -> None:
    task = gate.task("t")
    for tool in ("mail", "create_order"):
        task.observe(task.admit(tool, {"ref": "r1"}).call_id, **outcome)
        assert task.admit(tool, {"ref": "r1"}).allowed


def test_a_call_that_never_ran_frees_the_effect(gate: Gate) -> None:
    task = gate.task("t")
    task.abandon(order(task).call_id)
    assert order(task).allowed


def test_an_approved_call_runs_in_spite_of_the_doubt_and_its_success_ends_it(gate: Gate) -> None:
    task = gate.task("t")
    task.observe(task.admit("mail", {"to": "anna"}).call_id, **LOST)
    asked = task.admit("mail", {"to": "anna"})
    approved = task.approve(asked.call_id, by="ada")
    assert approved.allowed
    task.observe(approved.call_id, result="sent")
    assert seen(task.admit("mail", {"to": "anna"})) == DUPLICATE
    assert task.admit("mail", {"to": "otto"}).allowed


def test_an_approved_call_that_fails_leaves_the_doubt(gate: Gate) -> None:
    task = gate.task("t")
    task.observe(task.admit("mail", {"to": "anna"}).call_id, **LOST)
    approved = task.approve(task.admit("mail", {"to": "anna"}).call_id)
    task.observe(approved.call_id, **WRONG)
    assert seen(task.admit("mail", {"to": "anna"})) == ASKED


def asking(room: Path) -> Gate:
    """A gate whose rule asks about each order."""
    ask = {"id": "desk", "phase": "admit", "tools": ["create_order"], "when": "true", "action": "ask"}
    return effects_gate(room, rules=[ask])


def test_only_an_approval_of_that_target_raises_the_confirmation(tmp_path: Path) -> None:
    task = asking(tmp_path).task("t")
    for ref in ("r1", "r2"):
        task.observe(task.approve(order(task, ref).call_id).call_id, result={"id": 1})
    first, second = order(task), order(task, "r2")
    approved = task.approve(first.call_id)
    assert approved.allowed
    assert approved.idempotency_key != first.idempotency_key
    assert order(task, "r2").idempotency_key == second.idempotency_key


def test_of_two_questions_about_one_order_that_are_both_answered_with_yes_one_runs(tmp_path: Path) -> None:
    task = asking(tmp_path).task("t")
    first, second = order(task), order(task, trace="b")
    approved = task.approve(first.call_id)
    assert approved.allowed
    assert seen(task.approve(second.call_id)) == IN_FLIGHT
    task.observe(approved.call_id, result={"id": 7})


def test_a_yes_to_what_may_have_happened_goes_out_under_the_same_key(gate: Gate) -> None:
    task = gate.task("t")
    task.observe(order(task).call_id, **LOST)
    asked = order(task)
    assert seen(asked) == ASKED
    approved = task.approve(asked.call_id)
    assert (approved.allowed, approved.idempotency_key) == (True, asked.idempotency_key)
    task.observe(approved.call_id, result={"id": 1})
    assert seen(order(task)) == ALREADY


def test_a_keyed_write_is_done_once_and_one_without_a_key_as_often_as_it_is_asked_for(tmp_path: Path) -> None:
    keyed = {"effect": "write", "idempotency": {"key": "args.path"}}
    gate = effects_gate(tmp_path, {**TOOLS, "put": keyed})
    task = gate.task("t")
    task.observe(task.admit("put", {"path": "a"}).call_id, result="one")
    assert seen(task.admit("put", {"path": "a"})) == ALREADY
    for text in ("one", "two"):
        task.observe(task.admit("save", {"path": "a", "text": text}).call_id, result="saved")
    assert task.admit("save", {"path": "a", "text": "one"}).allowed


def test_idempotent_calls_without_a_key_do_not_stand_in_each_others_way(tmp_path: Path) -> None:
    gate = effects_gate(tmp_path, {"mail": {"effect": "external", "idempotent": True}})
    task = gate.task("t")
    assert task.admit("mail", {"to": "anna"}).allowed
    assert task.admit("mail", {"to": "anna"}).allowed


def test_the_key_goes_into_the_argument_that_takes_it_and_what_the_model_wrote_there_counts_for_nothing(
    gate: Gate,
) -> None:
    task = gate.task("t")
    honest = order(task)
    forged = gate.task("t").admit("create_order", {"ref": "r1", "key": "mine"})
    assert honest.idempotency_key is not None
    assert honest.arguments == forged.arguments == {"ref": "r1", "key": honest.idempotency_key}
    assert honest.fingerprint == forged.fingerprint
    assert forged.idempotency_key == honest.idempotency_key


def test_the_key_is_the_digest_of_the_canonical_text_of_its_parts(gate: Gate) -> None:
    import hashlib

    text = canonical_json(["t", "create_order", "r1", "1"])
    assert order(gate.task("t")).idempotency_key == hashlib.sha256(text.encode()).hexdigest()


def test_a_schema_that_demands_the_key_is_met_by_the_engine(tmp_path: Path) -> None:
    parameters = {"type": "object", "required": ["ref", "key"], "additionalProperties": False}
    parameters["properties"] = {"ref": {"type": "string"}, "key": {"type": "string", "minLength": 8}}
    gate = effects_gate(
        tmp_path, {"create_order": {**ORDER, "parameters": parameters}, "get_order": {"effect": "read"}}
    )
    assert order(gate.task("t")).allowed


@pytest.mark.parametrize("key", ["args.order", "args.ref.part", "args.nothing"])
def test_a_key_that_cannot_be_made_refuses_the_call(tmp_path: Path, key: str) -> None:
    gate = effects_gate(tmp_path, {"pay": {"effect": "external", "idempotency": {"key": key}}})
    verdict = gate.task("t").admit("pay", {"ref": "r1", "nothing": None})
    assert seen(verdict) == ("refuse", ("policy_error",), "POLICY_ERROR")
    assert key in verdict.findings[0].message


def test_a_key_that_runs_out_of_fuel_refuses_the_call(tmp_path: Path) -> None:
    key = "[args.l.map(a, args.l.map(b, a + b))]"
    gate = effects_gate(tmp_path, {"pay": {"effect": "external", "idempotency": {"key": key}}})
    assert gate.task("t").admit("pay", {"l": list(range(1000))}).reasons == ("policy_error",)


def test_arguments_that_do_not_fit_are_told_as_such_and_not_as_a_missing_key(gate: Gate) -> None:
    assert gate.task("t").admit("create_order", {}).reasons == ("invalid_arguments",)


@pytest.mark.parametrize("mode", ["warn", "audit"])
def test_in_modes_that_only_tell_every_call_runs_and_says_what_would_have_been(tmp_path: Path, mode: str) -> None:
    gate = effects_gate(tmp_path, mode=mode)
    task = gate.task("t")
    first = order(task)
    during = order(task, trace="b")
    task.observe(first.call_id, result={"id": 7})
    after = order(task)
    assert [(each.action, each.would, each.reasons) for each in (first, during, after)] == [
        ("allow", None, ()),
        ("allow", "refuse", ("effect_in_flight",)),
        ("allow", "reuse", ("duplicate_effect",)),
    ]
    assert after.result is None


def test_in_audit_an_effect_is_still_known_to_be_lost(tmp_path: Path) -> None:
    task = effects_gate(tmp_path, mode="audit").task("t")
    task.observe(task.admit("mail", {"to": "anna"}).call_id, **LOST)
    assert task.admit("mail", {"to": "otto"}).would == "ask"


def test_a_snapshot_takes_the_ledger_along_into_another_gate(gate: Gate, tmp_path: Path) -> None:
    task = gate.task("t")
    task.observe(order(task).call_id, result={"id": 7})
    task.observe(order(task, "r2").call_id, **LOST)
    order(task, "r3")
    resumed = effects_gate(tmp_path / "other").resume(task.snapshot())
    assert [seen(order(resumed, ref)) for ref in ("r1", "r2", "r3")] == [ALREADY, ASKED, ASKED]
    assert order(resumed, "r1").result == {"id": 7}
    assert order(resumed, "r4").allowed


def test_what_was_out_at_a_snapshot_is_in_doubt_in_the_same_gate_too(gate: Gate) -> None:
    task = gate.task("t")
    task.admit("mail", {"to": "anna"})
    resumed = gate.resume(task.snapshot())
    assert seen(resumed.admit("mail", {"to": "otto"})) == ASKED


def test_two_tasks_of_one_name_have_nothing_to_do_with_each_other_where_no_store_joins_them(gate: Gate) -> None:
    one, other = gate.task("t"), gate.task("t")
    one.observe(one.admit("mail", {"to": "anna"}).call_id, result="sent")
    assert other.admit("mail", {"to": "anna"}).allowed


def test_a_declared_key_holds_across_the_tasks_of_a_gate(gate: Gate) -> None:
    one, other = gate.task("t"), gate.task("t")
    one.observe(order(one).call_id, result={"id": 7})
    assert seen(order(other)) == ALREADY


def test_a_key_is_forgotten_after_its_time(tmp_path: Path) -> None:
    pay = {"effect": "external", "idempotency": {"key": "args.ref", "retain": "1h"}}
    gate = effects_gate(tmp_path, {"pay": pay})
    task = gate.task("t")
    task.observe(task.admit("pay", {"ref": "r1"}).call_id, result="paid")
    gate.clock.advance(3599.0)  # type: ignore[attr-defined]
    assert seen(task.admit("pay", {"ref": "r1"})) == ALREADY
    gate.clock.advance(2.0)  # type: ignore[attr-defined]
    assert task.admit("pay", {"ref": "r1"}).allowed


def test_a_call_whose_owner_was_silent_for_too_long_is_in_doubt_until_it_comes_back(tmp_path: Path) -> None:
    gate = effects_gate(tmp_path, {"mail": {"effect": "external", "timeout": "10s"}})
    task = gate.task("t")
    slow = task.admit("mail", {"to": "anna"})
    gate.clock.advance(39.0)  # type: ignore[attr-defined]
    assert seen(task.admit("mail", {"to": "anna"})) == IN_FLIGHT
    gate.clock.advance(2.0)  # type: ignore[attr-defined]
    assert seen(task.admit("mail", {"to": "anna"})) == ASKED
    task.observe(slow.call_id, result="sent")
    assert seen(task.admit("mail", {"to": "anna"})) == DUPLICATE


def test_who_may_send_again_under_the_same_key_may_do_so_after_a_time_out(tmp_path: Path) -> None:
    pay = {
        "effect": "external",
        "idempotent": True,
        "idempotency": {"key": "args.ref", "pass_as": "key"},
        "retry": {"classes": ["transient"], "max": 2},
    }
    task = effects_gate(tmp_path, {"pay": pay}).task("t")
    first = task.admit("pay", {"ref": "r1"})
    lost = task.observe(first.call_id, **LOST)
    assert (lost.error_class, lost.next) == ("transient", "retry")
    again = task.admit("pay", {"ref": "r1"})
    assert (again.allowed, again.idempotency_key) == (True, first.idempotency_key)
    task.observe(again.call_id, **LOST)
    assert seen(task.admit("pay", {"ref": "r2"})) == ASKED
    assert task.admit("pay", {"ref": "r1"}).allowed


def test_what_may_have_happened_is_never_retried_by_itself(tmp_path: Path) -> None:
    pay = {"effect": "external", "retry": {"classes": ["ambiguous", "transient"], "max": 2}}
    task = effects_gate(tmp_path, {"pay": pay}).task("t")
    assert task.observe(task.admit("pay", {"ref": "r1"}).call_id, **LOST).next == "continue"


def test_a_model_that_sends_it_again_and_again_is_stopped(gate: Gate) -> None:
    task = gate.task("t")
    task.observe(order(task).call_id, result={"id": 7})
    assert [order(task).action for _ in range(3)] == ["reuse", "reuse", "stop"]


def test_a_second_effect_is_counted_where_the_policy_allows_more_than_one(tmp_path: Path) -> None:
    task = effects_gate(tmp_path, detectors={"repeated_effect": {"refuse_after": 2}}).task("t")
    for _ in range(2):
        task.observe(task.admit("mail", {"to": "anna"}).call_id, result="sent")
    refused = task.admit("mail", {"to": "anna"})
    assert (seen(refused), refused.findings[0].evidence) == (DUPLICATE, {"count": 2, "threshold": 2})


@pytest.mark.parametrize(
    ("tool", "claims"), [("get_order", 0), ("undeclared", 0), ("save", 1), ("mail", 1), ("create_order", 1)]
)
def test_only_what_changes_something_claims_anything(gate: Gate, tool: str, claims: int) -> None:
    state = TaskState(gate.policy, "t", bytes(16), 0.0)
    arguments = {"ref": "r1"}
    assert len(TaskClaims(state).prepare("root", [(tool, arguments, None, None)], 0.0)) == claims
