"""Very many agents, calls in one turn, and asks: all of it comes to an end, and to the same answers as with few.

Nothing is timed here; with a linear search in the way of each call these would take minutes.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bound_folder import gate, policy
from callgate import Gate, SnapshotError, SpawnError, Task
from callgate.runtime import gate as gate_module

pytestmark = pytest.mark.slow
MANY = 20_000
WIDE = {"steps": 10**8, "tool_calls": 10**8, "tokens": 10**9}


@pytest.fixture
def task(tmp_path: Path) -> Task:
    detectors = {"exact_repeat": {"note_after": 2, "refuse_after": 2}, "no_gain": {"note_after": 3}}
    asks = {"id": "asks", "tools": ["pay"], "when": "true", "action": "ask"}
    policy(tmp_path, detectors=detectors, budgets=WIDE, rules=[asks], undeclared_tools="allow")
    return gate(tmp_path).task("t")


@pytest.mark.parametrize("tool", ["look", "put", "anything"])
def test_a_task_may_have_very_many_agents(task: Task, tool: str) -> None:
    agents = [task.child(f"agent-{n}") for n in range(MANY)]
    for n, agent in enumerate(agents):
        verdict = agent.admit(tool, {"n": n})
        agent.observe(verdict.call_id, result=n)
    with pytest.raises(SpawnError):
        task.child("agent-0")
    assert task.spent["tool_calls"] == MANY
    first = agents[0]
    assert [first.admit(tool, {"n": 0}, call_id="again").allowed, task.observe("again", result=0).grade] == [
        True, "sufficient",
    ]  # fmt: skip


@pytest.mark.parametrize("named", [True, False])
def test_a_turn_may_have_very_many_calls(task: Task, named: bool) -> None:
    calls = [{"tool": "look", "arguments": {"n": n}, **({"call_id": f"c{n}"} if named else {})} for n in range(MANY)]
    twins = [{"tool": "look", "arguments": {"n": n}} for n in range(MANY)]
    verdicts = task.admit_all(calls + twins)
    assert [verdict.action for verdict in verdicts] == ["allow"] * MANY + ["reuse"] * MANY
    assert verdicts[MANY + 7].reuse_of == verdicts[7].call_id
    notes = 0
    for n, verdict in reversed(list(enumerate(verdicts[:MANY]))):
        result = [0, 1, *(int(digit) for digit in f"{n:b}")]
        notes += len(task.observe(verdict.call_id, result=result).notes)
    # no two brought the same list, and after the first they bring nothing new: of one turn that is told once
    assert notes == 0


def test_a_turn_may_give_very_many_calls_up(task: Task) -> None:
    verdicts = task.admit_all([{"tool": "look", "arguments": {"n": n}} for n in range(MANY)])
    for verdict in verdicts:
        task.abandon(verdict.call_id)
    assert task.spent["tool_calls"] == 0


def test_a_turn_may_ask_about_very_many_calls(task: Task) -> None:
    asked = 10_000  # so many may wait for an answer at once
    with task.round():
        verdicts = [task.admit("pay", {"n": n}) for n in range(asked)]
        approved = [task.approve(verdict.call_id) for verdict in verdicts]
        for verdict in approved:
            task.observe(verdict.call_id, result={"paid": verdict.call_id})
    assert {verdict.action for verdict in verdicts} == {"ask"}
    assert {verdict.action for verdict in approved} == {"allow"}


def test_a_target_may_be_read_in_very_many_parts(tmp_path: Path) -> None:
    policy(tmp_path, budgets=WIDE, detectors={"no_gain": {"towards": "task", "note_after": 1}})
    coverage = {"target": "args.path", "offset": "args.offset", "length": "args.limit"}
    tools = {"read": {"effect": "read", "coverage": coverage}}
    head = {"apiVersion": "callgate/v1", "kind": "ToolManifest", "metadata": {"name": "t"}}
    (tmp_path / "ToolManifest-t.yaml").write_text(json.dumps({**head, "spec": {"tools": tools}}))
    task = gate(tmp_path).task("t")

    def gain(offset: int, limit: int) -> int:
        verdict = task.admit("read", {"path": "a", "offset": offset, "limit": limit})
        return task.observe(verdict.call_id, result=f"part at {offset}").gain

    assert sum(gain(10 * n, 5) for n in reversed(range(MANY))) == MANY
    assert (gain(10 * 7, 5), gain(10 * 7, 6), gain(0, 10 * MANY), gain(33, 999)) == (0, 1, 1, 0)


def test_a_gate_remembers_only_so_many_tasks_that_it_resumed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate_module, "MOST_RESUMED", 2)
    guard = Gate.load("default")
    snapshots = [guard.task(f"t{n}").snapshot() for n in range(3)]
    for snapshot in snapshots:
        guard.resume(snapshot)
    with pytest.raises(SnapshotError, match="resumed already"):
        guard.resume(snapshots[2])
    assert guard.resume(snapshots[0]).id == "t0"


def test_an_older_generation_than_the_one_that_was_resumed_is_a_conflict() -> None:
    guard = Gate.load("default")
    first = guard.task("t").snapshot()
    second = guard.resume(first).snapshot()
    guard.resume(second)
    for snapshot in (first, second):
        with pytest.raises(SnapshotError, match="resumed already"):
            guard.resume(snapshot)
