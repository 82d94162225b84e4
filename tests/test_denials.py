"""Denials under a rule: the call stays on record, the rule's incident leads to a stop, and an approval closes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bound_folder import gate, policy
from callgate import Task

ASKS = {"id": "pay-asks", "tools": ["pay"], "when": "args.amount > 10", "action": "ask"}
DENIED = {"denied": {"note_after": 1, "refuse_after": 1}}
LADDER = {"stop_after_refusals": 2}


@pytest.fixture
def task(tmp_path: Path) -> Task:
    policy(tmp_path, rules=[ASKS], detectors=DENIED, ladder=LADDER)
    return gate(tmp_path).task("t")


def asked(task: Task, amount: int) -> str:
    verdict = task.admit("pay", {"amount": amount})
    assert (verdict.action, verdict.reasons) == ("ask", ("rule:pay-asks",)), verdict
    return verdict.call_id


def deny(task: Task, amount: int) -> list[str]:
    return [note.reason for note in task.deny(asked(task, amount))]


def tried(task: Task, amount: int) -> tuple[str, tuple[str, ...]]:
    verdict = task.admit("pay", {"amount": amount})
    return verdict.action, verdict.reasons


def test_a_denied_call_is_noted_at_once_and_refused_without_asking(task: Task) -> None:
    assert deny(task, 100) == ["denied"]
    assert tried(task, 100) == ("refuse", ("denied", "rule:pay-asks"))


def test_another_call_under_the_rule_is_still_asked(task: Task) -> None:
    deny(task, 100)
    asked(task, 200)


def test_the_first_denial_opens_later_ones_count_and_past_the_ladder_the_rule_stops(task: Task) -> None:
    for amount in (100, 200, 300):  # the first opens, two count
        deny(task, amount)
    assert tried(task, 400) == ("stop", ("rule:pay-asks",))
    assert task.stop is not None and task.stop.reason == "rule:pay-asks"


def test_one_denial_less_is_asked_once_more(task: Task) -> None:
    for amount in (100, 200):
        deny(task, amount)
    asked(task, 300)


def test_a_refusal_of_what_was_denied_under_the_rule_counts_for_it(task: Task) -> None:
    deny(task, 100)
    assert [tried(task, 100)[0] for _ in range(2)] == ["refuse", "refuse"]
    assert tried(task, 200) == ("stop", ("rule:pay-asks",))


def test_a_call_on_which_the_rule_does_not_ask_is_not_stopped_by_it(task: Task) -> None:
    for amount in (100, 200, 300):
        deny(task, amount)
    assert tried(task, 5) == ("allow", ())


def test_an_approval_under_the_rule_closes_its_incident(task: Task) -> None:
    for amount in (100, 200):
        deny(task, amount)
    pending = [asked(task, amount) for amount in (300, 400)]
    task.deny(pending[0])  # two count now
    assert task.approve(pending[1]).allowed
    deny(task, 500)  # opens anew
    deny(task, 600)
    asked(task, 700)


def test_three_calls_in_a_row_that_bring_gain_close_it_too(task: Task) -> None:
    for amount in (100, 200, 300):
        deny(task, amount)
    for n in range(3):
        verdict = task.admit("look", {"n": n})
        task.observe(verdict.call_id, result={"new": n})
    asked(task, 400)


def test_a_refusal_beside_a_call_that_brings_gain_does_not_count(task: Task) -> None:
    deny(task, 100)
    for n in range(3):
        verdicts = task.admit_all(
            [{"tool": "pay", "arguments": {"amount": 100}}, {"tool": "look", "arguments": {"n": n}}]
        )
        assert [verdict.action for verdict in verdicts] == ["refuse", "allow"]
        task.observe(verdicts[1].call_id, result={"new": n})
        last = task.admit("put", {"n": n})  # no gain in between, so the incident stays open
        task.observe(last.call_id, error="no")
    asked(task, 200)


def test_a_tool_that_says_denied_puts_the_call_on_record_without_the_rule(task: Task) -> None:
    for amount in (1, 2, 3, 4):
        verdict = task.admit("pay", {"amount": amount})
        task.observe(verdict.call_id, error={"type": "denied"})
        assert tried(task, amount) == ("refuse", ("denied",))
    asked(task, 100)


def test_rules_count_apart(tmp_path: Path) -> None:
    other = {"id": "large", "tools": ["pay"], "when": "args.amount > 1000", "action": "ask"}
    policy(tmp_path, rules=[ASKS, other], detectors=DENIED, ladder={"stop_after_refusals": 1})
    task = gate(tmp_path).task("t")
    for amount in (20, 30):
        task.deny(task.admit("pay", {"amount": amount}).call_id)
    verdict = task.admit("pay", {"amount": 2000})
    assert [(finding.reason, finding.action) for finding in verdict.findings] == [
        ("rule:pay-asks", "stop"), ("rule:large", "ask"),
    ]  # fmt: skip


def test_a_snapshot_keeps_what_was_denied_under_a_rule(tmp_path: Path) -> None:
    policy(tmp_path, rules=[ASKS], detectors=DENIED, ladder=LADDER)
    first: Any = gate(tmp_path)
    task = first.task("t")
    for amount in (100, 200):
        task.deny(task.admit("pay", {"amount": amount}).call_id)
    resumed = gate(tmp_path).resume(task.snapshot())
    assert resumed.admit("pay", {"amount": 100}).action == "refuse"
    assert resumed.admit("pay", {"amount": 300}).action == "stop"


def test_where_no_ladder_is_written_a_rule_asks_for_ever(tmp_path: Path) -> None:
    policy(tmp_path, rules=[ASKS], detectors=DENIED)
    task = gate(tmp_path).task("t")
    for amount in range(20, 40):
        deny(task, amount)
