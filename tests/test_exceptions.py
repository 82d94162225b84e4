"""Exceptions: what they lift, of whom, until when; what they never lift; and that reports tell of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bound_folder import NOW, REPEAT, actions, binding, errors, exception, gate, policy, repeat
from callgate import Gate, PolicyError
from callgate.testing import FakeClock

ASK = {"id": "pay-asks", "tools": ["pay"], "when": "true", "action": "ask"}
STOP_SOON = {"stop_after_refusals": 1}


def test_only_the_named_finding_is_lifted(tmp_path: Path) -> None:
    policy(tmp_path, detectors={**REPEAT, "frequency": {"refuse_after": 6}}, rules=[ASK])
    exception(tmp_path, "polls", ["exact_repeat"])
    task = gate(tmp_path).task("t")
    verdicts = repeat(task, 7)
    assert actions(verdicts) == "aaaaaar"
    assert verdicts[6].reasons == ("frequency",)
    assert [verdict.lifted for verdict in verdicts] == [()] * 3 + [(("polls", "exact_repeat"),)] * 4
    assert task.admit("pay", {}).action == "ask"


def test_a_rule_is_lifted_by_its_id(tmp_path: Path) -> None:
    policy(tmp_path, rules=[ASK, {**ASK, "id": "other", "action": "note"}])
    exception(tmp_path, "x", ["rule:pay-asks"])
    verdict = gate(tmp_path).task("t").admit("pay", {})
    assert (verdict.action, verdict.reasons, verdict.lifted) == ("allow", ("rule:other",), (("x", "rule:pay-asks"),))


def test_what_is_lifted_counts_for_no_stop(tmp_path: Path) -> None:
    policy(tmp_path, detectors=REPEAT, ladder=STOP_SOON)
    exception(tmp_path, "polls", ["exact_repeat"], expires="2027-01-15T08:01:00Z")
    task = gate(tmp_path).task("t")
    for at in range(59):
        verdict = task.admit("look", {}, now=float(at))
        task.observe(verdict.call_id, result=1, now=float(at))
    assert verdict.lifted == (("polls", "exact_repeat"),)
    # the exception ends after a minute: the first refusal is a refusal, and only the next one a stop
    assert [task.admit("look", {}, now=60.0 + n).action for n in range(2)] == ["refuse", "stop"]


@pytest.mark.parametrize("lifted", [True, False])
def test_notes_and_exits_of_the_named_reason_are_lifted_too(tmp_path: Path, lifted: bool) -> None:
    policy(tmp_path, detectors={"no_gain": {"towards": "task", "note_after": 2, "exit_after": 3}})
    if lifted:
        exception(tmp_path, "x", ["no_gain"])
    task = gate(tmp_path).task("t")
    told: list[str] = []
    for n in range(4):  # the first one brings a record, the others what is known
        verdict = task.admit("look", {"n": n})
        told += [note.reason for note in task.observe(verdict.call_id, result=1).notes]
    tally = task.report()["lifted"]
    if lifted:
        # the notes of the third and the fourth call, and the end of the task
        assert (told, task.stop, tally) == ([], None, {"x": {"no_gain": 3}})
    else:
        assert task.stop is not None
        assert (told, task.stop.reason, tally) == (["no_gain", "no_gain"], "no_gain", {})


def test_an_expired_exception_is_absent_at_the_time_of_the_decision(tmp_path: Path) -> None:
    policy(tmp_path, rules=[ASK])
    exception(tmp_path, "x", ["rule:pay-asks"], expires="2027-01-15T09:00:00Z")
    task = gate(tmp_path).task("t")
    assert task.admit("pay", {"n": 1}, now=3599.0).action == "allow"
    assert task.admit("pay", {"n": 2}, now=3600.0).action == "ask"


def test_a_day_counts_to_its_end_in_utc(tmp_path: Path) -> None:
    policy(tmp_path, rules=[ASK])
    exception(tmp_path, "x", ["rule:pay-asks"], expires="2027-01-15")
    task = gate(tmp_path).task("t")
    # the task began at 08:00: sixteen hours are left of the day
    assert task.admit("pay", {"n": 1}, now=16 * 3600.0 - 1.0).action == "allow"
    assert task.admit("pay", {"n": 2}, now=16 * 3600.0).action == "ask"


def test_the_wall_clock_of_the_task_s_beginning_counts_and_not_its_later_jumps(tmp_path: Path) -> None:
    policy(tmp_path, rules=[ASK])
    exception(tmp_path, "x", ["rule:pay-asks"], expires="2027-01-15T09:00:00Z")
    clock = FakeClock(wall=NOW)
    task = Gate.load(tmp_path, clock=clock).task("t")
    clock.jump_wall(-7200.0)
    clock.advance(3600.0)
    assert task.admit("pay", {}).action == "ask"


@pytest.mark.parametrize(
    ("match", "lifted"),
    [
        ({"tools": ["pay"]}, True),
        ({"tools": ["put"]}, False),
        ({"agents": ["root"]}, True),
        ({"agents": ["worker"]}, False),
        ({"tenants": ["acme"]}, True),
        ({"tenants": ["zeta"]}, False),
        ({"labels": {"env": "dev"}}, True),
        ({"labels": {"env": "prod"}}, False),
        ({"tools": ["pay"], "tenants": ["zeta"]}, False),
    ],
)
def test_match_narrows_it_to_calls_agents_tenants_and_labels(
    tmp_path: Path, match: dict[str, Any], lifted: bool
) -> None:
    policy(tmp_path, rules=[ASK])
    exception(tmp_path, "x", ["rule:pay-asks"], match=match)
    verdict = gate(tmp_path).task("t", tenant="acme", labels={"env": "dev"}).admit("pay", {})
    assert verdict.allowed is lifted


@pytest.mark.parametrize(
    "reason",
    [
        "budget_tool_calls", "budget_time", "budget_depth", "duplicate_effect", "effect_in_flight", "ambiguous_effect",
        "idempotency_conflict", "denied", "policy_error", "stopped", "bad_call_id", "unbound", "timeout",
    ],
)  # fmt: skip
def test_hard_limits_effects_denials_and_errors_are_never_lifted(tmp_path: Path, reason: str) -> None:
    policy(tmp_path)
    exception(tmp_path, "x", [reason])
    with pytest.raises(PolicyError) as caught:
        gate(tmp_path)
    assert [diagnostic.code for diagnostic in errors(caught.value)] == ["CG417"]


def test_an_unknown_rule_is_an_error_with_the_nearest_id(tmp_path: Path) -> None:
    policy(tmp_path, rules=[ASK])
    exception(tmp_path, "x", ["exact_repeat", "rule:pay-ask"])
    with pytest.raises(PolicyError) as caught:
        gate(tmp_path)
    (found,) = errors(caught.value)
    assert (found.code, found.pointer) == ("CG722", "/spec/lifts/1")
    assert (found.message, found.hint) == ("the policy `p` has no rule `pay-ask`", "did you mean `pay-asks`?")


def test_an_unknown_policy_and_an_unknown_reason_are_errors_with_the_nearest_name(tmp_path: Path) -> None:
    policy(tmp_path, "procurement", rules=[ASK])
    exception(tmp_path, "x", ["exact_repaet"], policy="procuremnt")
    with pytest.raises(PolicyError) as caught:
        gate(tmp_path)
    assert sorted((found.code, found.hint) for found in errors(caught.value)) == [
        ("CG211", "did you mean `exact_repeat`?"), ("CG704", "did you mean `procurement`?"),
    ]  # fmt: skip


def test_it_lifts_the_finding_of_its_own_policy_alone(tmp_path: Path) -> None:
    policy(tmp_path, "a", detectors=REPEAT)
    policy(tmp_path, "b", detectors={"exact_repeat": {"note_after": 5, "refuse_after": 5}})
    binding(tmp_path, "a", "a")
    binding(tmp_path, "b", "b")
    exception(tmp_path, "x", ["exact_repeat"], policy="a")
    verdicts = repeat(gate(tmp_path).task("t"), 6)
    assert actions(verdicts) == "aaaaar"
    assert verdicts[5].lifted == (("x", "exact_repeat"),)


def test_the_digest_says_that_something_is_lifted(tmp_path: Path) -> None:
    policy(tmp_path)
    before = gate(tmp_path).policy.digest
    exception(tmp_path, "x", ["exact_repeat"])
    lifted = gate(tmp_path).policy
    assert lifted.digest != before
    assert lifted.exceptions == [("x", "p", 1_801_440_000.0)]  # 2027-02-01T00:00:00Z
    exception(tmp_path, "x", ["cycle"])
    assert gate(tmp_path).policy.digest != lifted.digest


def test_a_task_tallies_what_was_lifted_and_a_snapshot_keeps_the_tally(tmp_path: Path) -> None:
    policy(tmp_path, rules=[ASK])
    exception(tmp_path, "x", ["rule:pay-asks"])
    task = gate(tmp_path).task("t")
    for n in range(3):
        task.admit("pay", {"n": n})
    assert task.report()["lifted"] == {"x": {"rule:pay-asks": 3}}
    assert gate(tmp_path).resume(task.snapshot()).report()["lifted"] == {"x": {"rule:pay-asks": 3}}


@pytest.mark.parametrize("wall", [float("-inf"), float("inf"), float("nan")])
def test_where_the_wall_clock_says_no_time_no_exception_stands(tmp_path: Path, wall: float) -> None:
    policy(tmp_path, rules=[ASK])
    exception(tmp_path, "x", ["rule:pay-asks"])
    task = Gate.load(tmp_path, clock=FakeClock(wall=wall)).task("t")
    assert task.admit("pay", {"n": 1}).action == "ask"
