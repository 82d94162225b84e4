"""Clocks that jump: budgets by time neither give time back nor end a task because somebody set the wall clock."""

from __future__ import annotations

from pathlib import Path

import pytest

from callgate import Gate, Task
from callgate.testing import FakeClock

POLICY = """\
apiVersion: callgate/v1
kind: GuardPolicy
metadata: {name: p}
spec:
  undeclared_tools: allow
  budgets: {steps: 1000, notes_at: [], tokens: {limit: unlimited, reason: none are counted}}
  time: {task: 10m}
"""


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(monotonic=5_000.0)


@pytest.fixture
def gate(tmp_path: Path, clock: FakeClock) -> Gate:
    (tmp_path / "policy.yaml").write_text(POLICY)
    return Gate.load(tmp_path, clock=clock)


def call(task: Task) -> tuple[str, tuple[str, ...]]:
    verdict = task.admit("t", {})
    if verdict.allowed:
        task.observe(verdict.call_id, result=None)
    return verdict.action, verdict.reasons


OVER = ("refuse", ("budget_time",))
FINE = ("allow", ())


def test_time_that_passes_is_spent(gate: Gate, clock: FakeClock) -> None:
    task = gate.task("t")
    assert call(task) == FINE
    clock.advance(599.0)
    assert call(task) == FINE
    clock.advance(1.0)
    assert call(task) == OVER


@pytest.mark.parametrize("jump", [-86_400.0, 86_400.0, 1e9, -1e9])
def test_a_wall_clock_that_jumps_changes_nothing_for_a_running_task(gate: Gate, clock: FakeClock, jump: float) -> None:
    task = gate.task("t")
    assert call(task) == FINE
    clock.advance(300.0)
    clock.jump_wall(jump)
    assert call(task) == FINE
    clock.advance(300.0)
    assert call(task) == OVER


def test_time_away_counts_and_a_wall_clock_set_back_gives_none_back(gate: Gate, clock: FakeClock) -> None:
    task = gate.task("t")
    assert call(task) == FINE
    clock.advance(400.0)
    assert call(task) == FINE
    saved = task.snapshot()
    clock.jump_wall(-3_600.0)
    clock.advance(100.0)
    resumed = gate.resume(saved)
    assert call(resumed) == FINE
    clock.advance(199.0)
    assert call(resumed) == FINE
    clock.advance(1.0)
    assert call(resumed) == OVER


def test_time_that_passed_while_nobody_looked_counts(gate: Gate, clock: FakeClock) -> None:
    task = gate.task("t")
    assert call(task) == FINE
    saved = task.snapshot()
    clock.advance(600.0)
    assert call(gate.resume(saved)) == OVER


def test_a_time_of_the_host_before_an_earlier_one_gives_none_back(gate: Gate) -> None:
    task = gate.task("t")
    task.admit("t", {}, now=0.0)
    task.admit("t", {}, now=600.0)
    assert task.admit("t", {}, now=10.0).reasons == ("budget_time",)


def test_the_clock_of_tests_does_not_run_back() -> None:
    clock = FakeClock(monotonic=1.0, wall=10.0)
    clock.advance(2.0)
    clock.jump_wall(-5.0)
    assert (clock.monotonic(), clock.wall()) == (3.0, 7.0)
    for seconds in (-1.0, float("nan")):
        with pytest.raises(ValueError, match="time does not run back"):
            clock.advance(seconds)
