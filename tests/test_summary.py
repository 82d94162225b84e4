"""The summary of a task for its model, within a limit of tokens; and its report for people."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from callgate import Task
from callgate.report.outcome import render
from callgate.tokens import estimate_tokens
from sufficiency import EDGE, QUOTES, begin, made, search

ACME = {"supplier": "ACME", "model": "6204"}
DOWN = {"error": {"type": "http", "status": 503, "message": "down"}}


def story() -> Task:
    """A task in the middle of everything: known and missing cells, a hop, a refusal, something that is down."""
    need = {**QUOTES, "min_records": 2, "fields": ["supplier", "model", "unit_price"]}
    budgets = {"steps": 20, "tokens": {"limit": "unlimited", "reason": "none"}, "tool_calls": 10}
    detectors = {"exact_repeat": {"refuse_after": 1}}
    task = begin({"needs": [need], "budgets": budgets, "detectors": detectors, "fallback": {"edges": [EDGE]}})
    made(task, "supplier_search", search(ACME), {"keyword": "bearing"})
    task.admit("supplier_search", {"keyword": "bearing"})
    quote = {**ACME, "unit_price": 3.1}
    made(task, "quote_search", {"quotes": [quote]}, {"supplier": "ACME"})
    for _ in range(2):
        made(task, "weather", arguments={"city": "Graz"}, **DOWN)
    return task


def test_a_summary_says_what_is_known_missing_refused_and_left() -> None:
    assert story().summary() == (
        "Task t: 5 tool calls so far, 3 of 6 facts known.\n"
        "Missing:\n"
        "- another record: supplier, model, unit_price\n"
        "Known:\n"
        '- {"supplier": "ACME", "model": "6204", "unit_price": 3.1}\n'
        "Do not repeat:\n"
        '- supplier_search {"keyword": "bearing"}: exact_repeat\n'
        "Budget left:\n"
        "- steps: 15 of 20\n"
        "- tool_calls: 6 of 10\n"
        "Substitutes taken:\n"
        "- quote_search instead of supplier_search\n"
        "Not available:\n"
        "- weather\n"
        "Calls, latest first:\n"
        '- weather {"city": "Graz"}: failed, down\n'
        '- weather {"city": "Graz"}: failed, down\n'
        '- quote_search {"supplier": "ACME"}: sufficient\n'
        '- supplier_search {"keyword": "bearing"}: sufficient'
    )


def test_where_little_fits_how_it_stands_and_what_is_missing_stay() -> None:
    lines = "Task t: 5 tool calls so far, 3 of 6 facts known.\nMissing:\n- another record: supplier, model, unit_price"
    assert story().summary(max_tokens=estimate_tokens(lines)) == lines
    assert story().summary(max_tokens=3) == ""
    with pytest.raises(ValueError, match="negative"):
        story().summary(max_tokens=-1)


def test_a_limit_that_is_no_number_is_named() -> None:
    with pytest.raises(TypeError, match="`max_tokens` has to be a number"):
        story().summary(max_tokens="many")  # type: ignore[arg-type]


@settings(max_examples=60, deadline=None)
@given(limit=st.integers(0, 300))
def test_a_summary_never_takes_more_tokens_than_it_may(limit: int) -> None:
    whole, part = STORY.summary(max_tokens=10_000), STORY.summary(max_tokens=limit)
    assert estimate_tokens(part) <= limit or part == ""
    assert set(part.splitlines()) <= set(whole.splitlines())


STORY = story()


def test_a_stopped_task_says_how_it_ends() -> None:
    task = begin({"rules": [{"id": "no", "when": "true", "action": "stop"}]})
    task.admit("weather", {})
    assert task.summary().splitlines()[0] == "Task t: 1 tool call so far, stopped (rule:no): a person goes on."


def test_a_summary_is_the_same_after_a_snapshot() -> None:
    task = story()
    assert task._gate.resume(task.snapshot()).summary() == task.summary()


def test_long_arguments_and_results_are_cut() -> None:
    task = begin({})
    made(task, "weather", "x" * 5000, {"city": "y" * 5000})
    call = task.report()["calls"][0]
    assert (len(call["arguments"]), len(call["result"])) == (601, 601)
    assert len(task.summary()) < 400


# Reports


def stopped() -> Task:
    rules = [{"id": "no", "tools": ["note"], "when": "true", "action": "stop"}]
    then = {"edges": [EDGE], "then": {"queue": "desk"}}
    task = begin({"needs": [QUOTES], "rules": rules, "fallback": then})
    made(task, "supplier_search", search(ACME, {"supplier": "BETA"}), {"keyword": "bearing\x1b[31m"})
    verdict = task.admit("quote_search", {"supplier": "ACME"})
    task.observe(verdict.call_id, result={"quotes": [{**ACME, "model": "6205", "unit_price": 3.1}]}, cached=90.0)
    for _ in range(2):
        made(task, "weather", arguments={"city": "Graz"}, **DOWN)
    task.admit("note", {})
    return task


def test_a_report_for_people_tells_how_it_ended_and_all_that_shows_why() -> None:
    assert render(stopped().report()) == (
        "t: incomplete, hand over to a person, queue `desk`\n"
        "  stopped (`rule:no`): essential fields are missing, 11 of 15 cells in all\n"
        "\n"
        "stopped\n"
        "  rule:no at 0.0 s, call call-5\n"
        "\n"
        "known\n"
        "  quotes: 4 of 15 cells\n"
        "    ACME\n"
        "      supplier: ACME (supplier_search, call call-1)\n"
        "      model: 6204 (supplier_search, call call-1; call call-2 says otherwise)\n"
        "      unit_price: 3.1 (quote_search, call call-2; a substitute; from a cache, 90 s old)\n"
        "    BETA\n"
        "      supplier: BETA (supplier_search, call call-1)\n"
        "\n"
        "missing\n"
        "  ACME: lead_time, valid_until\n"
        "  BETA: model, unit_price, lead_time, valid_until\n"
        "  a record: supplier, model, unit_price, lead_time, valid_until\n"
        "\n"
        "hops\n"
        "  supplier_search → quote_search for quotes, call call-2 at 0.0 s\n"
        "\n"
        "degraded\n"
        "  weather: done without, call call-4 at 0.0 s\n"
        "\n"
        "calls\n"
        "  5 in all: 4 allowed, 1 stopped, 2 failed\n"
        '      0.0 s  allow   supplier_search {"keyword": "bearing\\u001b[31m"}  sufficient, 3 cells\n'
        '      0.0 s  allow   quote_search {"supplier": "ACME"}  sufficient, 1 cell\n'
        '      0.0 s  allow   weather {"city": "Graz"}  failed\n'
        '      0.0 s  allow   weather {"city": "Graz"}  failed\n'
        "      0.0 s  stop    note {}  rule:no\n"
        "\n"
        "used\n"
        "  steps 5\n"
        "  tool_calls 4\n"
        "  retries 1\n"
    )


def test_the_same_report_as_markdown_and_json() -> None:
    report = stopped().report()
    markdown = render(report, "markdown").splitlines()
    assert markdown[:3] == [
        "# t: incomplete, hand over to a person, queue `desk`",
        "",
        "stopped (`rule:no`): essential fields are missing, 11 of 15 cells in all",
    ]
    assert "## Missing" in markdown
    assert "- ACME: lead\\_time, valid\\_until" in markdown
    assert json.loads(render(report, "json")) == report


@pytest.mark.parametrize(
    ("spec", "headline"),
    [
        ({}, "t: nothing tells how far it got"),
        ({"needs": [QUOTES]}, "t: incomplete"),
    ],
)
def test_a_run_that_goes_on_has_a_short_report(spec: dict[str, Any], headline: str) -> None:
    assert render(begin(spec).report()).splitlines()[0] == headline


def test_records_that_are_not_there_are_told_once_with_how_many() -> None:
    lines = render(begin({"needs": [QUOTES]}).report()).splitlines()
    assert "  a record (× 3): supplier, model, unit_price, lead_time, valid_until" in lines


def test_only_so_many_calls_are_told_and_the_others_counted() -> None:
    task = begin({})
    for number in range(70):
        made(task, "weather", number, {"n": number})
    report = task.report()
    assert (len(report["calls"]), report["earlier_calls"], report["counters"]["calls"]) == (64, 6, 70)
    assert "  (6 earlier ones are not told)" in render(report).splitlines()
