"""Sufficiency of the task: which cells are filled, from where, and what counts as gain towards them."""

import math
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from callgate import Gate, Task
from sufficiency import QUOTES, TOOLS, begin, cells, gate, made, search

ACME = {"supplier": "ACME", "model": "6204"}
BETA = {"supplier": "BETA", "model": "6204"}
GAMMA = {"supplier": "GAMMA", "model": "6204"}
DELTA = {"supplier": "DELTA", "model": "6204"}


def quotes(**keys: Any) -> Task:
    return begin({"needs": [{**QUOTES, **keys}]})


def known(task: Task) -> dict[str, dict[str, Any]]:
    """The values of the records that count, by their keys."""
    [need] = task.report()["needs"]
    return {
        str(record["key"]): {name: cell["value"] for name, cell in record["fields"].items()}
        for record in need["records"]
    }


def test_two_suppliers_with_two_fields_are_four_of_fifteen_cells() -> None:
    task = quotes()
    assert cells(task) == (0, 15)
    found = made(task, "supplier_search", search(ACME, BETA))
    assert (found.grade, found.cells, cells(task)) == ("sufficient", 4, (4, 11))
    wanted = ["unit_price", "lead_time", "valid_until"]
    absent = [[None, name] for name in QUOTES["fields"]]
    assert task.report()["missing"] == [[[name], field] for name in ("ACME", "BETA") for field in wanted] + absent


def test_gaps_of_a_result_are_wanted_fields_that_its_records_lack() -> None:
    found = made(quotes(), "supplier_search", search({**ACME, "unit_price": "", "lead_time": 3}))
    assert found.gaps == ((("ACME", "6204"), "unit_price"), (("ACME", "6204"), "valid_until"))


def test_a_record_beyond_those_that_are_needed_fills_nothing() -> None:
    task = quotes()
    made(task, "supplier_search", search(ACME, BETA, GAMMA))
    assert made(task, "supplier_search", search(DELTA)).cells == 0
    assert cells(task) == (6, 9)


def test_a_record_beyond_those_that_are_needed_counts_once_it_carries_more_than_one_of_them() -> None:
    task = quotes()
    made(task, "supplier_search", search(ACME, BETA, GAMMA, DELTA))
    assert made(task, "quote_search", {"quotes": [{"supplier": "DELTA", "unit_price": 3.1}]}).cells == 1
    assert sorted(known(task)) == ["['ACME']", "['BETA']", "['DELTA']"]


def test_records_of_different_tools_are_one_record_where_their_keys_are_equal() -> None:
    task = quotes()
    made(task, "supplier_search", search(ACME))
    found = made(task, "quote_search", {"quotes": [{"supplier": "ACME", "unit_price": 3.1, "lead_time": 4}]})
    assert (found.cells, cells(task)) == (2, (4, 11))
    assert known(task) == {"['ACME']": {"supplier": "ACME", "model": "6204", "unit_price": 3.1, "lead_time": 4}}


@pytest.mark.parametrize(("resolve", "price"), [("first", 3.1), ("last", 2.9)])
def test_where_calls_contradict_each_other_the_policy_says_which_one_counts(resolve: str, price: float) -> None:
    task = quotes(resolve=resolve)
    for value in (3.1, 2.9):
        made(task, "quote_search", {"quotes": [{"supplier": "ACME", "unit_price": value}]})
    [need] = task.report()["needs"]
    [record] = need["records"]
    cell = record["fields"]["unit_price"]
    other = "call-2" if resolve == "first" else "call-1"
    assert (cell["value"], cell["disputed_by"]) == (price, other)
    assert record["fields"]["supplier"]["disputed_by"] is None


@pytest.mark.parametrize("resolve", ["first", "last"])
def test_calls_count_in_the_order_in_which_they_were_asked_for(resolve: str) -> None:
    for order in permutations("abc"):
        task = quotes(resolve=resolve)
        task.admit_all([{"tool": "quote_search", "arguments": {"n": name}, "call_id": name} for name in "abc"])
        for name in order:
            task.observe(name, result={"quotes": [{"supplier": "ACME", "unit_price": name}]})
        assert known(task)["['ACME']"]["unit_price"] == ("a" if resolve == "first" else "c")


def test_each_value_says_where_it_is_from() -> None:
    task = begin({"needs": [QUOTES], "fallback": {"edges": [{"from": "supplier_search", "to": "quote_search"}]}})
    verdict = task.admit("supplier_search", {"keyword": "bearing"}, call_id="s", now=1.0)
    task.observe(verdict.call_id, result=search(ACME), cached=42.0, now=2.0)
    verdict = task.admit("quote_search", {"supplier": "ACME"}, call_id="q", now=3.0)
    task.observe(verdict.call_id, result={"quotes": [{"supplier": "ACME", "unit_price": 3.1}]}, now=4.5)
    [record] = task.report()["needs"][0]["records"]
    assert record["fields"]["model"] == {
        "value": "6204", "call_id": "s", "tool": "supplier_search", "at": 2.0, "cached": 42.0, "substitute": False,
        "disputed_by": None,
    }  # fmt: skip
    assert record["fields"]["unit_price"] == {
        "value": 3.1, "call_id": "q", "tool": "quote_search", "at": 4.5, "cached": None, "substitute": True,
        "disputed_by": None,
    }  # fmt: skip


def test_what_cannot_be_placed_or_says_nothing_fills_nothing() -> None:
    task = quotes()
    odd = [{"model": "6204"}, {"supplier": None, "model": "x"}, {"supplier": ""}, "ACME", ["ACME"], {"city": "Graz"}]
    assert made(task, "supplier_search", {"items": odd}).cells == 0
    made(task, "supplier_search", search({"supplier": "ACME", "unit_price": None, "lead_time": ""}))
    assert cells(task) == (1, 14)


@pytest.mark.parametrize(
    "outcome",
    [
        {"error": {"type": "tool_error"}, "result": search(ACME)},
        {"result": {"rows": [ACME]}},  # ungraded: its records are not where the manifest says
        {"result_digest": "d1"},
    ],
)
def test_only_a_success_with_a_readable_result_fills_cells(outcome: dict[str, Any]) -> None:
    task = quotes()
    made(task, "supplier_search", **outcome)
    assert cells(task) == (0, 15)


def test_a_tool_that_the_need_does_not_name_fills_nothing() -> None:
    task = quotes(**{"from": ["quote_search"]})
    made(task, "supplier_search", search(ACME))
    assert cells(task) == (0, 15)


def test_without_from_every_tool_counts_that_says_where_its_records_stand() -> None:
    need = {name: value for name, value in QUOTES.items() if name != "from"}
    task = begin({"needs": [need]})
    made(task, "supplier_search", search(ACME))
    made(task, "weather", BETA)
    assert cells(task) == (2, 13)


def test_a_result_that_is_a_map_is_one_record_of_a_need_that_names_its_tool() -> None:
    task = begin({"needs": [{"id": "sky", "from": ["weather"], "fields": ["sun", "wind"]}]})
    made(task, "weather", {"sun": True, "wind": ""})
    report = task.report()
    assert (report["missing"], report["status"]) == ([[None, "wind"]], "incomplete")
    assert made(task, "weather", {"wind": 3}).cells == 1
    assert task.report()["status"] == "complete"


def test_long_values_are_left_out_and_their_cells_filled() -> None:
    task = begin({"needs": [{"id": "text", "from": ["weather"], "fields": ["a", "b", "c"]}]})
    made(task, "weather", {"a": "x" * 513, "b": ["y" * 600], "c": "z" * 512})
    [record] = task.report()["needs"][0]["records"]
    assert [cell["value"] for cell in record["fields"].values()] == [None, None, "z" * 512]
    assert task.report()["status"] == "complete"


def test_records_beyond_the_bound_are_not_kept_and_none_is_missed() -> None:
    task = quotes()
    for start in range(0, 6000, 2000):
        made(task, "supplier_search", search(*({"supplier": n, "model": "m"} for n in range(start, start + 2000))))
    [need] = task.report()["needs"]
    assert (need["known_records"], need["filled"]) == (4096, 6)


# Gain towards the needs


def streak(towards: str | None = None, **keys: Any) -> Task:
    rungs = {"note_after": 2, "refuse_after": 3, **keys, **({"towards": towards} if towards else {})}
    return begin({"needs": [QUOTES], "detectors": {"no_gain": rungs}})


def noted(task: Task, tool: str, result: Any) -> list[str]:
    return [note.reason for note in made(task, tool, result).notes]


def test_where_needs_are_declared_a_streak_counts_calls_that_fill_no_cell_whatever_else_they_bring() -> None:
    task = streak()
    first = [{"supplier": name, "model": "m"} for name in "ABC"]
    assert noted(task, "supplier_search", search(*first)) == []
    found = [noted(task, "supplier_search", search({"supplier": name, "model": "m"})) for name in "DEF"]
    assert found == [[], ["no_gain"], ["no_gain"]]
    assert task.admit("supplier_search", {"n": 99}).reasons == ("no_gain",)


def test_towards_task_a_new_record_is_gain() -> None:
    task = streak("task")
    for name in "ABCDEFGH":
        assert noted(task, "supplier_search", search({"supplier": name, "model": "m"})) == []


def test_a_filled_cell_ends_the_streak() -> None:
    task = streak()
    made(task, "supplier_search", search(ACME))
    for _ in range(2):
        made(task, "supplier_search", search(ACME))
    assert noted(task, "supplier_search", search(BETA)) == []
    assert noted(task, "supplier_search", search(BETA)) == []


def test_reads_of_a_tool_that_can_fill_no_cell_are_held_against_what_is_new() -> None:
    task = streak()
    for day in range(6):
        assert noted(task, "weather", {"day": day}) == []
    for _ in range(3):
        last = noted(task, "weather", {"day": 5})
    assert last == ["no_gain"]


def test_the_whole_task_ends_after_calls_of_any_tool_that_fill_no_cell() -> None:
    task = streak(exit_after=3)
    made(task, "supplier_search", search(ACME))
    for day in range(2):
        assert made(task, "weather", {"day": day}).next == "continue"
    found = made(task, "weather", {"day": 2})
    assert (found.next, found.stop.reason, found.stop.exit) == ("exit", "no_gain", "escalate")
    assert found.stop.evidence == {"count": 3, "threshold": 3}


def test_parallel_calls_are_credited_in_the_order_in_which_they_were_asked_for() -> None:
    for order in ("ab", "ba"):
        task = quotes()
        task.admit_all([{"tool": "supplier_search", "arguments": {"n": name}, "call_id": name} for name in "ab"])
        found = {name: task.observe(name, result=search(ACME)).cells for name in order}
        calls = {call["call_id"]: call["cells"] for call in task.report()["calls"]}
        assert (calls, found[order[1]]) == ({"a": 2, "b": 0}, {"a": 2, "b": 0}[order[1]])


def test_what_is_known_travels_in_a_snapshot() -> None:
    first = gate({"needs": [QUOTES], "detectors": {"no_gain": {"note_after": 1}}})
    task = first.task("t")
    made(task, "supplier_search", search(ACME))
    made(task, "supplier_search", search(ACME))
    before = task.report()
    resumed = gate({"needs": [QUOTES], "detectors": {"no_gain": {"note_after": 1}}}).resume(task.snapshot())
    after = resumed.report()
    assert after == before
    assert noted(resumed, "supplier_search", search(ACME)) == ["no_gain"]
    assert made(resumed, "supplier_search", search(BETA)).cells == 2


def test_a_snapshot_under_another_policy_keeps_what_both_ask_for_in_the_same_way() -> None:
    task = quotes()
    made(task, "supplier_search", search(ACME))
    other = {**QUOTES, "id": "other", "fields": ["supplier"], "essential": ["supplier"]}
    resumed = gate({"needs": [other, {**QUOTES, "essential": []}]}).resume(task.snapshot(), any_policy=True)
    report = resumed.report()
    assert [need["filled"] for need in report["needs"]] == [0, 2]


# Properties

NAMES = st.sampled_from(["A", "B", "C", "D"])
VALUES = st.sampled_from([None, "", 1, 2])
RECORDS = st.lists(
    st.fixed_dictionaries(
        {"supplier": NAMES}, optional=dict.fromkeys(("model", "unit_price", "lead_time", "valid_until"), VALUES)
    ),
    max_size=4,
)
RUNS = st.lists(st.tuples(st.sampled_from(["supplier_search", "quote_search"]), RECORDS), min_size=1, max_size=6)


def play(task: Task, run: list[tuple[str, list[Any]]]) -> list[int]:
    """Filled cells after each call."""
    filled = []
    for tool, records in run:
        made(task, tool, {"items" if tool == "supplier_search" else "quotes": records})
        filled.append(cells(task)[0])
    return filled


@settings(max_examples=80, deadline=None)
@given(run=RUNS)
def test_cells_never_decrease_and_what_is_filled_and_missing_adds_up(run: list[tuple[str, list[Any]]]) -> None:
    task = quotes()
    filled = play(task, run)
    assert filled == sorted(filled)
    report = task.report()
    assert report["cells"]["filled"] + len(report["missing"]) == report["cells"]["all"] == 15
    assert sum(call["cells"] for call in report["calls"]) == report["cells"]["filled"]


@settings(max_examples=80, deadline=None)
@given(run=RUNS, data=st.data())
def test_the_order_of_arrival_changes_who_filled_a_cell_and_not_which_are_filled(
    run: list[tuple[str, list[Any]]], data: st.DataObject
) -> None:
    found = []
    for order in (run, data.draw(st.permutations(run))):
        task = quotes(resolve=data.draw(st.sampled_from(["first", "last"])))
        play(task, list(order))
        report = task.report()
        found.append((report["missing"], report["status"], report["cells"]))
    assert found[0] == found[1]


def test_tools_that_need_no_records_are_as_they_were() -> None:
    task = begin({}, TOOLS)
    assert made(task, "supplier_search", search(ACME)).cells == 0
    report = task.report()
    assert (report["needs"], report["missing"], report["cells"]) == ([], [], {"filled": 0, "all": 0})


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_numbers_without_a_json_form_are_the_same_in_keys_and_values_after_a_snapshot(number: float) -> None:
    task = begin({"needs": [QUOTES]})
    verdict = task.admit("quote_search", {"supplier": "x"})
    found = [{"supplier": number, "unit_price": number, "lead_time": [number]}]
    task.observe(verdict.call_id, result={"quotes": found})
    records = task.report()["needs"][0]["records"]
    assert repr(records[0]["key"]) == repr([number])
    resumed = Gate(task.policy).resume(task.snapshot())
    assert repr(resumed.report()["needs"][0]["records"]) == repr(records)
