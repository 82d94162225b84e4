"""Breakers: what fails again and again is left alone; a few calls find out whether it is back, however many want to."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from callgate import Gate, Task, Verdict
from effects import effects_gate

BREAKER = {"failures": 2, "open_for": "30s", "probes": 1}
DOWN: dict[str, Any] = {"error": {"type": "http", "status": 503}}
WRONG: dict[str, Any] = {"error": {"type": "http", "status": 404}}
FINE: dict[str, Any] = {"result": "fine"}
OPEN = ("refuse", ("breaker_open",), "BREAKER_OPEN")


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    return effects_gate(tmp_path, {"look": {"effect": "read", "breaker": BREAKER}, "other": {"effect": "read"}})


def call(task: Task, number: int, tool: str = "look") -> Verdict:
    return task.admit(tool, {"n": number})


def run(task: Task, number: int, outcome: dict[str, Any], tool: str = "look") -> None:
    verdict = call(task, number, tool)
    assert verdict.allowed, verdict
    task.observe(verdict.call_id, **outcome)


def broken(gate: Gate) -> Task:
    """A task whose tool has just been given up."""
    task = gate.task("t")
    for number in range(2):
        run(task, number, DOWN)
    return task


def seen(verdict: Verdict) -> tuple[str, tuple[str, ...], str | None]:
    return verdict.action, verdict.reasons, verdict.code


def wait(gate: Gate, seconds: float) -> None:
    gate.clock.advance(seconds)  # type: ignore[attr-defined]


def test_it_opens_after_so_many_failures_in_a_row_and_says_when_to_come_back(gate: Gate) -> None:
    task = broken(gate)
    wait(gate, 10.0)
    verdict = call(task, 9)
    assert seen(verdict) == OPEN
    assert verdict.retry_after == 20.0
    assert call(task, 9, "other").allowed


def test_a_success_in_between_starts_the_count_anew(gate: Gate) -> None:
    task = gate.task("t")
    for outcome in (DOWN, FINE, DOWN):
        run(task, 1, outcome)
    assert call(task, 2).allowed


def test_a_business_error_is_no_failure_of_the_server(gate: Gate) -> None:
    task = gate.task("t")
    for number in range(4):
        run(task, number, WRONG)
    assert call(task, 9).allowed


def test_one_probe_closes_it_again(gate: Gate) -> None:
    task = broken(gate)
    wait(gate, 30.0)
    probe = call(task, 3)
    second = call(task, 4)
    assert probe.allowed
    assert (seen(second), second.findings[0].evidence) == (OPEN, {"breaker": "tool:look", "probing": True})
    task.observe(probe.call_id, **FINE)
    assert call(task, 5).allowed
    assert call(task, 6).allowed


def test_a_probe_that_fails_opens_it_anew(gate: Gate) -> None:
    task = broken(gate)
    wait(gate, 30.0)
    run(task, 3, DOWN)
    wait(gate, 29.0)
    assert seen(call(task, 4)) == OPEN
    wait(gate, 1.0)
    assert call(task, 5).allowed


@pytest.mark.parametrize("how", ["abandoned", "business error"])
def test_a_probe_that_says_nothing_gives_its_place_to_the_next(gate: Gate, how: str) -> None:
    task = broken(gate)
    wait(gate, 30.0)
    probe = call(task, 3)
    if how == "abandoned":
        task.abandon(probe.call_id)
    else:
        task.observe(probe.call_id, **WRONG)
    assert call(task, 4).allowed
    assert seen(call(task, 5)) == OPEN


def test_a_probe_of_a_call_that_is_refused_otherwise_is_given_back(tmp_path: Path) -> None:
    rule = {"id": "no-nine", "tools": ["look"], "when": "args.n == 9", "action": "refuse"}
    gate = effects_gate(tmp_path, {"look": {"effect": "read", "breaker": BREAKER}}, rules=[rule])
    task = broken(gate)
    wait(gate, 30.0)
    assert seen(call(task, 9)) == ("refuse", ("rule:no-nine",), "NO_NINE")
    assert call(task, 3).allowed


def test_of_twenty_callers_after_the_open_time_one_gets_through(gate: Gate) -> None:
    task = broken(gate)
    wait(gate, 30.0)
    start, verdicts = threading.Barrier(20), list[Verdict]()

    def ask(number: int) -> None:
        other = gate.task(f"task-{number}")
        start.wait()
        verdicts.append(call(other, number))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(verdict.action for verdict in verdicts) == ["allow", *["refuse"] * 19]
    assert task.id == "t"


def test_outcomes_of_calls_from_before_change_nothing_while_it_is_open(gate: Gate) -> None:
    task = gate.task("t")
    late = call(task, 7)
    for number in range(2):
        run(task, number, DOWN)
    task.observe(late.call_id, **FINE)
    assert seen(call(task, 8)) == OPEN


def test_all_tools_of_a_server_share_its_breaker(tmp_path: Path) -> None:
    shared = {"effect": "read", "breaker": {**BREAKER, "scope": "server"}}
    gate = effects_gate(tmp_path, {"look": shared, "find": shared, "other": {"effect": "read"}}, server="erp")
    task = gate.task("t")
    run(task, 1, DOWN)
    run(task, 1, DOWN, "find")
    verdicts = [call(task, 9, tool) for tool in ("look", "find", "other")]
    assert [verdict.action for verdict in verdicts] == ["refuse", "refuse", "allow"]
    assert verdicts[0].findings[0].message == "the server `erp` has failed again and again and is left alone now"


def test_the_tasks_of_a_gate_share_it_and_two_gates_do_not(gate: Gate, tmp_path: Path) -> None:
    broken(gate)
    assert seen(call(gate.task("u"), 3)) == OPEN
    other = effects_gate(tmp_path / "other", {"look": {"effect": "read", "breaker": BREAKER}})
    assert call(other.task("t"), 3).allowed


@pytest.mark.parametrize("mode", ["warn", "audit"])
def test_in_modes_that_only_tell_the_call_runs(tmp_path: Path, mode: str) -> None:
    gate = effects_gate(tmp_path, {"look": {"effect": "read", "breaker": BREAKER}}, mode=mode)
    verdict = call(broken(gate), 9)
    assert (verdict.action, verdict.would, verdict.reasons) == ("allow", "refuse", ("breaker_open",))


def test_it_climbs_no_ladder(gate: Gate) -> None:
    task = broken(gate)
    assert {call(task, 9).action for _ in range(9)} == {"refuse"}


def test_an_open_breaker_takes_no_effect_with_it(tmp_path: Path) -> None:
    mail = {"effect": "external", "breaker": BREAKER}
    gate = effects_gate(tmp_path, {"mail": mail})
    task = gate.task("t")
    for _ in range(2):
        run(task, 1, DOWN, "mail")
    assert seen(call(task, 1, "mail")) == OPEN
    wait(gate, 30.0)
    assert call(task, 1, "mail").allowed
