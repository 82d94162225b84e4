"""How a run ends: the exit decision at every stop, the run's status, and the report that goes with it."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from callgate import Gate, Task
from callgate.testing import FakeClock
from sufficiency import QUOTES, begin, made, search

FULL = {"supplier": "ACME", "model": "6204", "unit_price": 3.1, "lead_time": 4, "valid_until": "2027-01-31"}
ONE: dict[str, Any] = {**QUOTES, "min_records": 1}
REPEATS = {"detectors": {"exact_repeat": {"refuse_after": 2}}, "ladder": {"stop_after_refusals": 0}}

# The matrix: what comes back × what is needed × how the run loops × what the policy does at the end. All by hand.

# grade: the result of `supplier_search`, whose records need a supplier and a model
RESULTS: dict[str, dict[str, Any]] = {
    "sufficient, every field": {"result": search(FULL)},
    "sufficient, the required ones": {"result": search({"supplier": "ACME", "model": "6204"})},
    "partial": {"result": search({"supplier": "ACME"})},
    "empty": {"result": search()},
    "failed": {"error": {"type": "tool_error", "message": "no"}},
    "ungraded": {"result": {"rows": []}},
}
GRADES = ["sufficient", "sufficient", "partial", "empty", "failed", "ungraded"]
# needs: none; all five fields; the two essential ones alone
NEEDS: dict[str, list[dict[str, Any]]] = {
    "none": [],
    "five": [ONE],
    "two": [{**ONE, "fields": ["supplier", "model"]}],
}
# loop: the same call again; other calls that bring nothing (`no_gain` ends the task at the third in a row)
LOOPS: dict[str, dict[str, Any]] = {
    "repeat": REPEATS,
    "no gain": {"detectors": {"no_gain": {"exit_after": 3}}},
}
# policy: as it comes; a person wants to see even partial answers; gaps are always good enough
THENS: dict[str, dict[str, Any]] = {
    "default": {},
    "careful": {"fallback": {"order": [], "then": {"partial": "escalate", "insufficient": "escalate"}}},
    "easy": {"fallback": {"order": [], "then": {"insufficient": "finish_with_gaps"}}},
}
WHOLE, GAPS, PERSON = ("finish", "complete"), ("finish_with_gaps", "partial"), ("escalate", "incomplete")
SEEN, LESS = ("escalate", "partial"), ("finish_with_gaps", "incomplete")
#            needs: none                    five                     two
EXPECTED: dict[str, dict[str, tuple[tuple[str, str], tuple[str, str], tuple[str, str]]]] = {
    "default": {
        "sufficient, every field": (PERSON, WHOLE, WHOLE),
        "sufficient, the required ones": (PERSON, GAPS, WHOLE),
        "partial": (PERSON, PERSON, PERSON),
        "empty": (PERSON, PERSON, PERSON),
        "failed": (PERSON, PERSON, PERSON),
        "ungraded": (PERSON, PERSON, PERSON),
    },
    "careful": {
        "sufficient, every field": (PERSON, WHOLE, WHOLE),
        "sufficient, the required ones": (PERSON, SEEN, WHOLE),
        "partial": (PERSON, PERSON, PERSON),
        "empty": (PERSON, PERSON, PERSON),
        "failed": (PERSON, PERSON, PERSON),
        "ungraded": (PERSON, PERSON, PERSON),
    },
    "easy": {
        "sufficient, every field": (LESS, WHOLE, WHOLE),
        "sufficient, the required ones": (LESS, GAPS, WHOLE),
        "partial": (LESS, LESS, LESS),
        "empty": (LESS, LESS, LESS),
        "failed": (LESS, LESS, LESS),
        "ungraded": (LESS, LESS, LESS),
    },
}


def until_stopped(task: Task, loop: str, outcome: dict[str, Any]) -> Task:
    """Loop until the guard stops it."""
    for number in range(9):
        arguments = {"keyword": "bearing"} if loop == "repeat" else {"keyword": f"bearing {number}", "n": number}
        verdict = task.admit("supplier_search", arguments)
        if verdict.allowed:
            task.observe(verdict.call_id, **outcome)
        if task.stop is not None:
            return task
    raise AssertionError("it was never stopped")


# what cannot be graded is no call without gain: only its identity can end such a run
LOOPING = [
    (grade, result, loop)
    for grade, result in zip(GRADES, RESULTS, strict=True)
    for loop in LOOPS
    if (grade, loop) != ("ungraded", "no gain")
]


@pytest.mark.parametrize("then", THENS)
@pytest.mark.parametrize(("place", "need"), list(enumerate(NEEDS)))
@pytest.mark.parametrize(("grade", "result", "loop"), LOOPING)
def test_the_exit_follows_from_what_is_there_and_never_from_the_loop(
    grade: str, result: str, place: int, need: str, loop: str, then: str
) -> None:
    task = begin({"needs": NEEDS[need], **LOOPS[loop], **THENS[then]})
    first = task.admit("supplier_search", {"keyword": "first"})
    assert task.observe(first.call_id, **RESULTS[result]).grade == grade
    until_stopped(task, loop, RESULTS[result])
    report = task.report()
    assert (report["exit"], report["status"]) == EXPECTED[then][result][place]
    assert report["stop"]["exit"] == report["exit"]


@pytest.mark.parametrize("need", NEEDS)
def test_a_stop_before_anything_came_back_goes_to_a_person(need: str) -> None:
    task = begin({"needs": NEEDS[need], "rules": [{"id": "no", "when": "true", "action": "stop"}]})
    verdict = task.admit("supplier_search", {})
    assert (verdict.stop.exit if verdict.stop else None, task.report()["status"]) == PERSON


def test_essential_fields_that_are_not_named_are_all_of_them() -> None:
    need = {name: value for name, value in ONE.items() if name != "essential"}
    task = begin({"needs": [need]})
    made(task, "supplier_search", search({**FULL, "lead_time": None}))
    assert task.report()["status"] == "incomplete"


def test_of_several_needs_the_one_that_is_furthest_behind_decides() -> None:
    task = begin({"needs": [ONE, {"id": "sky", "from": ["weather"], "fields": ["sun"]}]})
    made(task, "supplier_search", search(FULL))
    assert task.report()["status"] == "incomplete"
    made(task, "weather", {"sun": True})
    assert task.report()["status"] == "complete"


def test_without_needs_nothing_tells_how_far_a_run_got_that_was_not_stopped() -> None:
    task = begin({})
    made(task, "supplier_search", search(FULL))
    report = task.report()
    assert (report["status"], report["exit"], report["stop"], report["note"]) == (None, None, None, None)


# E01 of the cases: a look-up that goes on and on


def test_a_lookup_that_never_finds_is_stopped_at_the_sixth_and_never_called_complete() -> None:
    clock = FakeClock()
    task = Gate.load("default", clock=clock).task("e01")
    actions = []
    for number in range(1, 7):
        verdict = task.admit("lookup", {"q": "6204"}, call_id=f"c{number}")
        actions.append(verdict.action)
        if verdict.allowed:
            task.observe(f"c{number}", result={"found": False})
        clock.advance(1)
    assert actions == ["allow", "allow", "allow", "refuse", "refuse", "stop"]
    report = task.report()
    stop = {"reason": "exact_repeat", "call_id": "c6", "at": 5.0, "exit": "escalate",
            "evidence": {"count": 3, "threshold": 3}}  # fmt: skip
    assert (report["status"], report["exit"], report["stop"]) == ("incomplete", "escalate", stop)
    assert report["calls"][2]["result"] == {"found": False}
    assert report["counters"] == {
        "calls": 6, "allowed": 3, "reused": 0, "asked": 0, "denied": 0, "refused": 2, "stopped": 1, "sufficient": 3,
        "partial": 0, "empty": 0, "failed": 0, "ungraded": 0, "abandoned": 0, "out": 0, "lost": 0,
    }  # fmt: skip
    assert report["note"] == "stopped (`exact_repeat`): nothing says what the task needs, so it counts as incomplete"


def test_with_needs_the_report_of_such_a_run_says_what_is_missing() -> None:
    need = {"id": "part", "from": ["lookup"], "fields": ["price"]}
    task = begin({"needs": [need], **REPEATS}, {"lookup": {"effect": "unknown"}})
    for _ in range(2):
        made(task, "lookup", {"found": False}, {"q": 1})
    assert task.admit("lookup", {"q": 1}).action == "stop"
    report = task.report()
    assert (report["status"], report["missing"]) == ("incomplete", [[None, "price"]])


# Work that is finished and then checked again and again


def test_finished_work_that_is_checked_again_and_again_is_stopped_and_keeps_its_answer() -> None:
    task = begin({"needs": [ONE], "detectors": {"no_gain": {"note_after": 1, "exit_after": 3}}})
    made(task, "supplier_search", search(FULL))
    for number in range(2):
        assert made(task, "weather", {"day": number}).next == "continue"
    found = made(task, "weather", {"day": 2})
    assert (found.next, found.stop.exit) == ("exit", "finish")
    report = task.report()
    assert (report["status"], report["missing"]) == ("complete", [])
    assert report["note"] == "all that the task needs was found; what came after that was stopped (`no_gain`)"
    assert report["needs"][0]["records"][0]["fields"]["unit_price"]["value"] == 3.1


def test_what_comes_in_after_the_stop_still_counts() -> None:
    task = begin({"needs": [ONE], "rules": [{"id": "no", "tools": ["note"], "when": "true", "action": "stop"}]})
    late = task.admit("supplier_search", {"keyword": "bearing"})
    assert task.admit("note", {}).stop.exit == "escalate"  # type: ignore[union-attr]
    assert task.observe(late.call_id, result=search(FULL)).next == "exit"
    report = task.report()
    assert (report["exit"], report["status"]) == ("finish", "complete")


def test_tools_of_the_reserve_run_after_a_stop_and_fill_cells() -> None:
    budgets = {"steps": 20, "tool_calls": 20, "tokens": 1000, "reserve": {"tool_calls": 1, "for": ["quote_search"]}}
    rules = [{"id": "no", "tools": ["note"], "when": "true", "action": "stop"}]
    task = begin({"needs": [ONE], "budgets": budgets, "rules": rules})
    assert task.admit("note", {}).action == "stop"
    assert task.admit("supplier_search", {}).reasons == ("stopped",)
    made(task, "quote_search", {"quotes": [FULL]})
    assert (task.report()["exit"], task.report()["status"]) == ("finish", "complete")


# What the model is told


def test_a_stop_tells_the_model_how_it_ends_and_what_is_missing() -> None:
    task = begin({"needs": [ONE], **REPEATS})
    for _ in range(2):
        made(task, "supplier_search", search({"supplier": "ACME", "model": "6204"}), {"keyword": "bearing"})
    verdict = task.admit("supplier_search", {"keyword": "bearing"})
    assert verdict.reply is not None
    reply = json.loads(verdict.reply)
    missing = [[["ACME"], name] for name in ("unit_price", "lead_time", "valid_until")]
    assert (reply["success"], reply["data"]["exit"], reply["data"]["missing"]) == (False, "finish_with_gaps", missing)
    assert verdict.missing == tuple((("ACME",), name) for name in ("unit_price", "lead_time", "valid_until"))


def test_a_run_that_goes_to_a_person_names_the_queue() -> None:
    then = {"fallback": {"then": {"queue": "desk"}}}
    task = begin({"needs": [ONE], **REPEATS, **then})
    assert task.report()["queue"] is None
    until_stopped(task, "repeat", RESULTS["empty"])
    assert task.report()["queue"] == "desk"
    other = begin({"needs": [ONE], **REPEATS, **then})
    until_stopped(other, "repeat", RESULTS["sufficient, every field"])
    assert other.report()["queue"] is None


# The numbers of a report

OUTCOMES = st.sampled_from([*RESULTS.values(), {"error": {"type": "timeout"}}, None])
STEPS = st.lists(
    st.tuples(st.sampled_from(["supplier_search", "quote_search", "note", "unheard"]), st.integers(0, 2), OUTCOMES),
    max_size=25,
)


@settings(max_examples=80, deadline=None)
@given(steps=STEPS, resumed=st.booleans())
def test_the_numbers_of_a_report_add_up(steps: list[tuple[str, int, Any]], resumed: bool) -> None:
    spec = {"needs": [QUOTES], "undeclared_tools": "refuse", "ladder": {"stop_after_refusals": 3, "reuse_reads": 1}}
    rules = [{"id": "ask", "tools": ["note"], "when": "args.n == 1", "action": "ask"}]
    detectors = {"exact_repeat": {"refuse_after": 2}, "unknown_tool": {"refuse_after": 1}}
    task = begin({**spec, "rules": rules, "detectors": detectors})
    for tool, number, outcome in steps:
        verdict = task.admit(tool, {"n": number})
        if verdict.action == "ask":
            if outcome is None:
                task.deny(verdict.call_id)
                continue
            verdict = task.approve(verdict.call_id)
        if not verdict.allowed:
            continue
        if outcome is None:
            task.abandon(verdict.call_id)
        elif outcome.get("error", {}).get("type") != "timeout":
            task.observe(verdict.call_id, **outcome)
    if resumed:
        task = task._gate.resume(task.snapshot())
    report = task.report()
    of = report["counters"]
    assert (
        of["calls"]
        == len(steps)
        == sum(of[name] for name in ("allowed", "reused", "asked", "denied", "refused", "stopped"))
    )
    ended = sum(of[name] for name in ("sufficient", "partial", "empty", "failed", "ungraded"))
    assert of["allowed"] == ended + of["abandoned"] + of["out"] + of["lost"]
    assert len(report["calls"]) + report["earlier_calls"] >= of["calls"]
    assert report["spent"]["tool_calls"] == of["allowed"] - of["abandoned"]
    assert report["cells"]["filled"] + len(report["missing"]) == report["cells"]["all"]
    assert sum(need["filled"] for need in report["needs"]) == report["cells"]["filled"]
