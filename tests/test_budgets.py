"""Budgets through the public surface: what runs out is refused, what never ran comes back, nothing before that."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from callgate import Gate, PolicyError, SpawnError, Task

TOOLS = {
    "look": {"effect": "read", "groups": ["search"]},
    "find": {"effect": "read", "groups": ["search"]},
    "put": {"effect": "write"},
    "report": {"effect": "control"},
}


@pytest.fixture
def gate_of(tmp_path: Path) -> Any:
    def make(**spec: Any) -> Gate:
        head = {"apiVersion": "callgate/v1"}
        budgets = {"steps": 1000, "tokens": 10**9} | spec.pop("budgets", {})
        policy = {**head, "kind": "GuardPolicy", "metadata": {"name": "p"}}
        body = {"budgets": budgets, "time": {"task": "24h"} | spec.pop("time", {}), **spec}
        (tmp_path / "p.yaml").write_text(json.dumps({**policy, "spec": body}))
        tools = {**head, "kind": "ToolManifest", "metadata": {"name": "t"}, "spec": {"tools": TOOLS}}
        (tmp_path / "t.yaml").write_text(json.dumps(tools))
        return Gate.load(tmp_path)

    return make


def call(task: Task, tool: str = "look", at: float = 0.0, *, result: object = None, **arguments: Any) -> list[str]:
    """Admit, and observe if allowed; the reasons of the verdict, else of the notes on it."""
    verdict = task.admit(tool, arguments, now=at)
    if not verdict.allowed:
        return list(verdict.reasons)
    task.observe(verdict.call_id, result=result, now=at)
    return [f"note {note.reason}" for note in verdict.notes]


def test_zero_means_zero_and_a_negative_number_is_none(gate_of: Any) -> None:
    assert call(gate_of(budgets={"tool_calls": 0}).task("t")) == ["budget_tool_calls"]
    with pytest.raises(PolicyError) as caught:
        gate_of(budgets={"tool_calls": -1})
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == ["CG205"]
    assert "unlimited" in (caught.value.diagnostics[0].hint or "")


def test_switching_tools_refills_nothing(gate_of: Any) -> None:
    task = gate_of(budgets={"tool_calls": 2}).task("t")
    assert [call(task, tool, n=n) for n, tool in enumerate(["look", "put", "find"])] == [[], [], ["budget_tool_calls"]]


def test_calls_of_a_tool_and_of_a_group_have_limits_of_their_own(gate_of: Any) -> None:
    limits = {"calls_per_tool": {"look": 1, "*": 2}, "calls_per_group": {"search": 2}}
    task = gate_of(budgets=limits).task("t")
    told = [call(task, tool, n=n) for n, tool in enumerate(["look", "look", "find", "find", "put", "put", "put"])]
    expected = [[], ["budget_calls_per_tool"], [], ["budget_calls_per_group"], [], [], ["budget_calls_per_tool"]]
    assert told == expected


def test_a_step_is_a_turn_of_the_model_however_many_calls_it_makes(gate_of: Any) -> None:
    task = gate_of(budgets={"steps": 2}).task("t")
    for turn in range(2):
        batch = [{"tool": "look", "arguments": {"n": n, "turn": turn}} for n in range(3)]
        verdicts = task.admit_all(batch, now=0.0)
        assert [verdict.action for verdict in verdicts] == ["allow"] * 3
    assert call(task, n=9) == ["budget_steps"]
    assert task.spent["steps"] == 2


def test_a_note_comes_at_each_share_and_nothing_is_refused_before_the_limit(gate_of: Any) -> None:
    task = gate_of(budgets={"tool_calls": 20, "notes_at": [0.8, 0.95]}).task("t")
    told = [call(task, n=n) for n in range(21)]
    notes = {number + 1: reasons for number, reasons in enumerate(told) if reasons}
    note = ["note budget_tool_calls"]
    assert notes == {16: note, 19: note, 21: ["budget_tool_calls"]}


def test_the_reserve_is_for_those_who_are_named(gate_of: Any) -> None:
    task = gate_of(budgets={"tool_calls": 2, "reserve": {"tool_calls": 1, "for": ["report"]}}).task("t")
    told = [call(task, "look", n=1), call(task, "look", n=2), call(task, "report"), call(task, "report", n=2)]
    assert told == [[], ["budget_reserved"], [], ["budget_tool_calls"]]


def test_a_call_that_never_ran_gives_its_reservation_back(gate_of: Any) -> None:
    task = gate_of(budgets={"tool_calls": 1}).task("t")
    verdict = task.admit("look", {"n": 1}, now=0.0)
    assert call(task, n=2) == ["budget_tool_calls"]
    task.abandon(verdict.call_id, now=0.0)
    assert call(task, n=2) == []


def test_a_further_attempt_after_a_failure_is_a_retry_and_one_after_a_landed_write_is_none(gate_of: Any) -> None:
    task = gate_of(budgets={"retries": 1}).task("t")
    failure = {"type": "exit_nonzero"}

    def attempt() -> list[str]:
        verdict = task.admit("look", {"n": 1}, now=0.0)
        if verdict.allowed:
            task.observe(verdict.call_id, error=failure, now=0.0)
        return list(verdict.reasons)

    assert [attempt(), attempt(), attempt()] == [[], [], ["budget_retries"]]
    assert call(task, "put", text="mended") == []
    assert attempt() == []
    assert task.spent["retries"] == 1


def test_all_or_nothing_refuses_a_batch_whole_and_takes_nothing(gate_of: Any) -> None:
    task = gate_of(budgets={"tool_calls": 2, "batch": "all_or_nothing"}).task("t")
    batch = [{"tool": "look", "arguments": {"n": n}} for n in range(3)]
    assert [verdict.reasons for verdict in task.admit_all(batch, now=0.0)] == [("budget_tool_calls",)] * 3
    assert task.spent["tool_calls"] == 0
    assert [verdict.action for verdict in task.admit_all(batch[:2], now=0.0)] == ["allow", "allow"]


def test_what_comes_after_a_stop_in_its_batch_is_short_of_nothing(gate_of: Any) -> None:
    budgets = {"tool_calls": 2, "batch": "all_or_nothing"}
    ladder = {"reuse_reads": 0, "stop_after_refusals": 0, "deterministic_stop_after": 0}
    task = gate_of(budgets=budgets, detectors={"exact_repeat": {"refuse_after": 1}}, ladder=ladder).task("t")
    assert call(task, "look", result="a", n=1) == []
    # one call is left; the two that it would not do for never run, since the first one ends the task
    verdicts = task.admit_all([{"tool": "look", "arguments": {"n": n}} for n in (1, 2, 3)], now=0.0)
    assert [(verdict.action, verdict.reasons) for verdict in verdicts] == [
        ("stop", ("exact_repeat",)),
        ("refuse", ("stopped",)),
        ("refuse", ("stopped",)),
    ]


def test_a_twin_behind_a_stop_sinks_no_batch(gate_of: Any) -> None:
    budgets = {"calls_per_tool": {"put": 1}, "batch": "all_or_nothing"}
    ladder = {"reuse_reads": 0, "stop_after_refusals": 0, "deterministic_stop_after": 0}
    task = gate_of(budgets=budgets, detectors={"exact_repeat": {"refuse_after": 1}}, ladder=ladder).task("t")
    assert call(task, "look", result="a", n=1) == []
    # after the stop nothing is answered with its twin: the second `put` is beyond its limit, and stopped anyway
    verdicts = task.admit_all([{"tool": tool, "arguments": {"n": 1}} for tool in ("put", "look", "put")], now=0.0)
    assert [(verdict.action, verdict.reasons) for verdict in verdicts] == [
        ("allow", ()),
        ("stop", ("exact_repeat",)),
        ("refuse", ("stopped", "budget_calls_per_tool")),
    ]


def test_a_batch_of_which_a_rule_lets_less_run_fits(gate_of: Any) -> None:
    rules = [{"id": "many", "phase": "admit", "when": 'task.calls("look") >= 2', "action": "ask"}]
    task = gate_of(budgets={"tool_calls": 3, "batch": "all_or_nothing"}, rules=rules).task("t")
    assert call(task, "look", result="a", n=0) == []
    # two calls are left; after the first of the batch the rule asks about the others, which take nothing meanwhile
    verdicts = task.admit_all([{"tool": "look", "arguments": {"n": n}} for n in (1, 2, 3)], now=0.0)
    assert [(verdict.action, verdict.reasons) for verdict in verdicts] == [
        ("allow", ()),
        ("ask", ("rule:many",)),
        ("ask", ("rule:many",)),
    ]
    assert task.spent["tool_calls"] == 2


def test_tokens_and_cost_are_refused_once_used_up(gate_of: Any) -> None:
    task = gate_of(budgets={"tokens": 100, "cost": {"limit": 2.5, "currency": "USD"}}).task("t")
    task.usage(tokens=99, cost=2.0, now=0.0)
    assert call(task, n=1) == []
    task.usage(tokens=1, cost=-5.0, now=0.0)
    assert call(task, n=2) == ["budget_tokens"]
    task.usage(cost=0.5, now=0.0)
    assert call(task, n=3) == ["budget_tokens", "budget_cost"]


def test_time_is_refused_once_it_is_over_and_a_clock_that_jumps_back_gives_none_back(gate_of: Any) -> None:
    task = gate_of(time={"task": "10m"}).task("t")
    assert call(task, at=599.0, n=1) == []
    assert call(task, at=600.0, n=2) == ["budget_time"]
    assert call(task, at=5.0, n=3) == ["budget_time"]


def test_children_share_the_pool_or_own_a_part_of_it(gate_of: Any) -> None:
    root = gate_of(budgets={"tool_calls": 4, "children": "share"}).task("t")
    child = root.child("worker", now=0.0)
    assert [call(child, n=n) for n in range(4)] == [[]] * 4
    assert call(root, n=9) == ["budget_tool_calls"]

    root = gate_of(budgets={"tool_calls": 8, "children": {"own": 0.25}}).task("t")
    child = root.child("worker", now=0.0)
    assert [call(child, n=n) for n in range(3)] == [[], [], ["budget_tool_calls"]]
    assert call(root, n=9) == []
    assert root.spent["tool_calls"] == 3


def test_an_agent_below_the_depth_is_not_started_and_nothing_is_used(gate_of: Any) -> None:
    root = gate_of(budgets={"tool_calls": 20, "depth": 1}).task("t")
    child = root.child("worker", now=0.0)
    before = root.spent
    with pytest.raises(SpawnError) as caught:
        child.child("grandchild", now=0.0)
    assert (caught.value.reason, root.spent) == ("budget_depth", before)
    with pytest.raises(SpawnError) as caught:
        root.child("worker", now=0.0)
    assert caught.value.reason == "bad_call_id"


def test_a_tree_of_agents_in_parallel_threads_ends_at_the_limit_for_every_one(gate_of: Any) -> None:
    root = gate_of(budgets={"tool_calls": 20, "depth": 2}).task("t")
    agents = [root, *(root.child(f"worker-{n}", now=0.0) for n in range(3))]
    allowed: list[int] = []
    start = threading.Barrier(len(agents))

    def work(place: int, agent: Task) -> None:
        start.wait()
        verdicts = [agent.admit("look", {"agent": place, "n": n}, now=0.0) for n in range(20)]
        allowed.append(sum(verdict.allowed for verdict in verdicts))

    threads = [threading.Thread(target=work, args=pair) for pair in enumerate(agents)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (sum(allowed), root.spent["tool_calls"]) == (20, 20)
    assert [call(agent, n=99) for agent in agents] == [["budget_tool_calls"]] * 4
