"""Snapshots: a task that was saved and resumed decides as if nothing had happened, and a broken snapshot is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate import Gate, SnapshotError, Task
from callgate.testing import FakeClock

CLOCK = FakeClock()
GATE = Gate.load("default", clock=CLOCK)
TOOLS = ("search", "edit", "shell")

# Snapshots differ in length, since their keys are random: a place is a share of it.
MOST = 100_000
PLACES = st.integers(0, MOST - 1)

Move = tuple[str, int, int]
MOVES = st.one_of(
    st.tuples(st.sampled_from(TOOLS), st.integers(0, 2), st.integers(0, 2)),
    st.tuples(st.just("fail"), st.integers(0, 2), st.integers(0, 1)),
    st.tuples(st.sampled_from(["user_turn", "compaction", "usage"]), st.just(0), st.just(0)),
)


def play(task: Task, move: Move, at: int) -> Any:
    """One move, and all that was said to it."""
    kind, argument, result = move
    now = float(at)
    if kind == "user_turn":
        return task.user_turn(by="human", now=now)
    if kind == "compaction":
        return task.compaction(now=now)
    if kind == "usage":
        return task.usage(tokens=10, cost=0.1, now=now)
    tool = "shell" if kind == "fail" else kind
    verdict = task.admit(tool, {"q": argument}, call_id=f"c{at}", now=now)
    said: list[Any] = [verdict.action, verdict.reasons, [(note.reason, note.message) for note in verdict.notes]]
    if verdict.allowed:
        told: dict[str, Any] = {"error": {"type": "tool_error", "message": f"no {result}"}} if kind == "fail" else {}
        assessment = task.observe(f"c{at}", **(told or {"result": {"r": result}}), now=now)
        said += [assessment.grade, assessment.next, [(note.reason, note.message) for note in assessment.notes]]
    return said


@given(st.lists(MOVES, min_size=1, max_size=40), st.data())
def test_a_run_with_a_snapshot_in_its_middle_is_judged_like_one_without(moves: list[Move], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(moves)), label="cut")
    whole, parted = GATE.task("t"), GATE.task("t")
    for at, move in enumerate(moves):
        if at == cut:
            parted = Gate.load("default", clock=CLOCK).resume(parted.snapshot())
        assert play(parted, move, at) == play(whole, move, at), (at, cut)
    assert parted.report() == whole.report()


class TestRefused:
    @staticmethod
    def snapshot() -> str:
        task = GATE.task("t")
        for at in range(3):
            play(task, ("shell", 0, 0), at)
        return task.snapshot()

    def test_a_second_resume_of_one_snapshot_in_one_gate(self) -> None:
        gate, saved = Gate.load("default", clock=CLOCK), self.snapshot()
        first = gate.resume(saved)
        with pytest.raises(SnapshotError, match="was resumed already"):
            gate.resume(saved)
        # what the first one goes on to save is another generation
        assert gate.resume(first.snapshot()).spent == first.spent

    @given(st.data())
    def test_a_snapshot_that_was_cut_off(self, data: st.DataObject) -> None:
        saved = self.snapshot()
        cut = data.draw(PLACES) * len(saved) // MOST
        with pytest.raises(SnapshotError):
            Gate.load("default").resume(saved[:cut])

    @given(st.data())
    def test_a_garbled_snapshot_is_refused_or_read_and_never_breaks_the_gate(self, data: st.DataObject) -> None:
        saved = self.snapshot()
        at = data.draw(PLACES) * len(saved) // MOST
        char = data.draw(st.characters(codec="utf-8"))
        try:
            task = Gate.load("default").resume(saved[:at] + char + saved[at + 1 :])
        except SnapshotError:
            return
        assert task.admit("shell", {"q": 0}).action in ("allow", "refuse", "stop")

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "null",
            "[]",
            "{}",
            "1",
            '{"state": 1, "elapsed": 0, "wall": 0}',
            '{"state": "{}", "elapsed": 0, "wall": 0}',
        ],
    )
    def test_what_is_no_snapshot(self, text: str) -> None:
        with pytest.raises(SnapshotError):
            GATE.resume(text)

    @pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e999", "-1", "null", '"x"', "[]"])
    def test_times_that_are_none(self, value: str) -> None:
        body = json.loads(self.snapshot())
        text = json.dumps({**body, "elapsed": "HERE"}).replace('"HERE"', value)
        with pytest.raises(SnapshotError):
            Gate.load("default").resume(text)


def test_a_changed_character_of_the_state_is_found_out() -> None:
    gate = Gate.load("default")
    task = gate.task("t")
    task.admit("look", {"n": 1})
    body = json.loads(task.snapshot())
    for at in range(70, len(body["state"]), 97):
        changed = body["state"][:at] + ("1" if body["state"][at] != "1" else "2") + body["state"][at + 1 :]
        with pytest.raises(SnapshotError, match="cut or changed"):
            gate.resume(json.dumps({**body, "state": changed}))


def test_two_tasks_of_one_id_are_resumed_apart() -> None:
    gate = Gate.load("default")
    first, second = gate.task("t").snapshot(), gate.task("t").snapshot()
    assert (gate.resume(first).id, gate.resume(second).id) == ("t", "t")
    with pytest.raises(SnapshotError, match="resumed already"):
        gate.resume(first)


def test_amounts_beyond_numbers_do_not_make_a_snapshot_that_cannot_be_read() -> None:
    gate = Gate.load("default")
    task = gate.task("t")
    for _ in range(3):
        task.usage(cost=1.7e308, tokens=1.7e308)
    assert gate.resume(task.snapshot()).spent["cost"] == pytest.approx(1.797e308, rel=1e-3)


def test_what_a_model_or_a_tool_says_never_makes_the_guard_raise() -> None:
    class Odd(Exception):
        @property
        def response(self) -> object:
            raise RuntimeError("no response")

    task = Gate.load("default").task("t")
    assert task.admit("\ud800", {}, call_id="\udfff").allowed
    for number, error in enumerate(
        [RuntimeError("\udcff"), {"message": "\ud800", "status": 2**70}, {"type": "\ud800"}, Odd("x"), "\ud800"]
    ):
        verdict = task.admit("look", {"n": number})
        assert task.observe(verdict.call_id, error=error).grade == "failed"


def test_the_deepest_result_that_is_let_in_travels_in_a_snapshot() -> None:
    deepest: Any = 1
    for _ in range(63):
        deepest = [deepest]
    task = GATE.task("t1")
    assert task.admit("search", {"q": 1}, call_id="c1", now=0.0).allowed
    task.observe("c1", result=deepest, now=1.0)
    assert GATE.resume(task.snapshot()).report()["calls"] == task.report()["calls"]
    assert task.report()["calls"][0]["result"] == deepest


def test_half_characters_in_names_and_ids_are_told_apart_and_found_again() -> None:
    gate = Gate.load("default")
    task = gate.task("t\ud800", agent="a\ud801", tenant="x\ud802", labels={"k\ud803": "v\ud804"}, trace_id="\ud805")
    one, other = (task.admit("look", {"n": n}, call_id=half) for n, half in enumerate(["c\ud800", "c\ud801"]))
    assert (one.action, other.action, one.call_id != other.call_id) == ("allow", "allow", True)
    assert task.observe("c\ud801", result=1).call_id == other.call_id
    task.abandon("c\ud800")
    child = task.child("b\udfff")
    assert child.admit("look", {"n": 3}, call_id="d").allowed
    assert task.model_result("p\ud800").next == "continue"
    resumed = gate.resume(task.snapshot(), agent="a\ud801")
    assert (resumed.id, resumed.agent) == (task.id, task.agent)
    assert resumed.admit("look", {"n": 4}).allowed
