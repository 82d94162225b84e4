"""What is done when a tool does not deliver: substitutes and hops, earlier answers, other providers, doing without."""

import json
from typing import Any

import pytest

from callgate import Task
from sufficiency import EDGE, QUOTES, TOOLS, begin, gate, made, search

ACME = {"supplier": "ACME", "model": "6204"}
PRICED = {**ACME, "unit_price": 3.1}
DOWN = {"error": {"type": "http", "status": 503, "message": "down"}}


def ways(*edges: dict[str, Any], **keys: Any) -> Task:
    return begin({"needs": [QUOTES], "fallback": {"edges": list(edges or [EDGE]), **keys}})


def proposed(found: Any) -> list[tuple[str, dict[str, Any]]]:
    return [(each.tool, each.arguments) for each in found.substitutes]


# Offers


def test_an_edge_whose_condition_holds_is_proposed_with_its_arguments() -> None:
    found = made(ways(), "supplier_search", search(ACME))
    assert (found.next, proposed(found)) == ("substitute", [("quote_search", {"supplier": "ACME"})])
    [proposal] = found.substitutes
    assert (proposal.instead_of, proposal.need, proposal.call_id) == ("supplier_search", "quotes", found.call_id)


@pytest.mark.parametrize(
    ("edge", "result"),
    [
        (EDGE, search(PRICED)),  # the condition does not hold
        ({**EDGE, "arguments": {"supplier": "records[3].supplier"}}, search(ACME)),  # no such record
        ({**EDGE, "from": "weather"}, search(ACME)),
    ],
)
def test_nothing_is_proposed_where_no_edge_leads_on(edge: dict[str, Any], result: Any) -> None:
    found = made(ways(edge), "supplier_search", result)
    assert (found.next, found.substitutes, found.notes) == ("continue", (), ())


def test_a_condition_that_fails_offers_nothing_and_is_noted() -> None:
    found = made(ways({**EDGE, "when": 'records[3].supplier == "ACME"'}), "supplier_search", search(ACME))
    assert ([note.reason for note in found.notes], found.grade, found.next) == (
        ["policy_error"],
        "sufficient",
        "continue",
    )


def test_an_edge_without_a_condition_is_proposed_where_its_tool_does_not_deliver() -> None:
    edge = {"from": "supplier_search", "to": "quote_search"}
    whole = {**PRICED, "lead_time": 4, "valid_until": "2027-01-31"}
    assert proposed(made(ways(edge), "supplier_search", search(whole))) == []
    for outcome in ({"result": search(ACME)}, {"result": search()}, {"error": {"type": "tool_error"}}, DOWN):
        assert proposed(made(ways(edge), "supplier_search", **outcome)) == [("quote_search", {})]


def test_a_call_that_the_substitute_would_not_take_or_that_was_made_already_is_not_proposed() -> None:
    strict = {**TOOLS["quote_search"], "parameters": {"type": "object", "required": ["part"]}}
    task = begin({"needs": [QUOTES], "fallback": {"edges": [EDGE]}}, {**TOOLS, "quote_search": strict})
    assert proposed(made(task, "supplier_search", search(ACME))) == []
    task = ways()
    made(task, "supplier_search", search(ACME))
    made(task, "quote_search", {"quotes": []}, {"supplier": "ACME"})
    made(task, "weather", {"sun": 1})
    assert proposed(made(ways(), "supplier_search", search(ACME))) == [("quote_search", {"supplier": "ACME"})]
    task = ways()
    made(task, "quote_search", {"quotes": []}, {"supplier": "ACME"})
    assert proposed(made(task, "supplier_search", search(ACME))) == []


def test_a_need_that_is_complete_asks_for_no_substitute() -> None:
    need = {**QUOTES, "min_records": 1, "fields": ["supplier", "model"]}
    task = begin({"needs": [need], "fallback": {"edges": [EDGE]}})
    assert proposed(made(task, "supplier_search", search(ACME))) == []


def test_a_failure_that_is_tried_again_by_itself_offers_nothing_yet() -> None:
    retry = {"retry": {"max": 1}}
    tools = {**TOOLS, "supplier_search": {**TOOLS["supplier_search"], **retry}}
    task = begin({"fallback": {"edges": [{"from": "supplier_search", "to": "quote_search"}]}}, tools)
    arguments = {"keyword": "bearing"}
    assert made(task, "supplier_search", arguments=arguments, **DOWN).next == "retry"
    assert made(task, "supplier_search", arguments=arguments, **DOWN).next == "substitute"


def test_the_proposals_of_a_round_come_when_it_closes() -> None:
    task = ways()
    calls = [{"tool": "supplier_search", "arguments": {"n": n}, "call_id": n} for n in "ab"]
    task.admit_all(calls)
    first = task.observe("a", result=search(ACME))
    last = task.observe("b", result=search({"supplier": "BETA", "model": "x"}))
    assert (first.next, last.next) == ("continue", "substitute")
    assert [(each.call_id, each.arguments["supplier"]) for each in last.substitutes] == [("a", "ACME"), ("b", "BETA")]
    with task.round() as step:
        verdict = task.admit("supplier_search", {"n": "c"})
        task.observe(verdict.call_id, result=search({"supplier": "GAMMA", "model": "x"}))
    assert [each.arguments for each in step.substitutes] == [{"supplier": "GAMMA"}]


def test_a_refusal_names_the_substitutes_that_stand_offered() -> None:
    repeats = {"detectors": {"exact_repeat": {"refuse_after": 1}}}
    task = begin({"needs": [QUOTES], "fallback": {"edges": [EDGE]}, **repeats})
    made(task, "supplier_search", search(ACME), {"keyword": "bearing"})
    verdict = task.admit("supplier_search", {"keyword": "bearing"})
    assert verdict.reply is not None
    reply = json.loads(verdict.reply)
    assert reply["data"]["instead"] == [{"tool": "quote_search", "arguments": {"supplier": "ACME"}}]
    assert reply["message"].endswith("What is missing may be had from `quote_search`.")
    assert [each.tool for each in verdict.instead] == ["quote_search"]


# Hops


def chain(**keys: Any) -> Task:
    """`supplier_search`, then `quote_search`, then `archive`, for one price."""
    archive = {"effect": "read", "result": {"records": "result"}}
    need = {**QUOTES, "min_records": 1, "from": ["supplier_search", "quote_search", "archive"]}
    edges = [
        {"from": "supplier_search", "to": "quote_search"},
        {"from": "quote_search", "to": "archive", "when": 'grade == "empty"'},
    ]
    return begin({"needs": [need], "fallback": {"edges": edges, **keys}}, {**TOOLS, "archive": archive})


def test_a_hop_is_a_call_of_a_substitute_after_it_was_offered() -> None:
    task = chain()
    made(task, "quote_search", {"quotes": []}, {"n": "before any offer"})
    made(task, "supplier_search", search(ACME))
    made(task, "quote_search", {"quotes": []}, {"n": 1})
    made(task, "quote_search", {"quotes": []}, {"n": "the same tool again"})
    made(task, "archive", [], {"n": 2})
    hops = [(hop["from"], hop["to"], hop["need"]) for hop in task.report()["hops"]]
    assert hops == [("supplier_search", "quote_search", "quotes"), ("quote_search", "archive", "quotes")]


def test_a_hop_beyond_the_limit_is_not_proposed_and_refused() -> None:
    task = chain(max_hops=1)
    made(task, "supplier_search", search(ACME))
    assert proposed(made(task, "quote_search", {"quotes": []}, {"n": 1})) == []
    verdict = task.admit("archive", {})
    assert (verdict.action, verdict.reasons, verdict.code) == ("refuse", ("hop_limit",), "HOP_LIMIT")
    assert verdict.findings[0].evidence == {"hops": 1, "max_hops": 1, "need": "quotes", "left": ["supplier_search"]}


def test_a_tool_that_was_left_is_not_gone_back_to_before_a_missing_cell_was_filled() -> None:
    task = chain()
    made(task, "supplier_search", search(ACME))
    made(task, "quote_search", {"quotes": [{"supplier": "BETA"}]}, {"n": 1})  # another supplier: no missing cell
    assert task.admit("supplier_search", {"n": 2}).reasons == ("no_return",)
    made(task, "quote_search", {"quotes": [PRICED]}, {"n": 3})
    assert task.admit("supplier_search", {"n": 4}).allowed


def test_a_tool_that_was_left_for_one_need_may_serve_another() -> None:
    other = {"id": "cities", "from": ["supplier_search"], "fields": ["city"]}
    task = begin({"needs": [QUOTES, other], "fallback": {"edges": [EDGE]}})
    made(task, "supplier_search", search(ACME))
    made(task, "quote_search", {"quotes": []}, {"supplier": "ACME"})
    assert task.admit("supplier_search", {"n": 9}).allowed


def test_refused_hops_climb_to_a_stop_with_its_exit() -> None:
    keys = {"ladder": {"stop_after_refusals": 2}}
    task = begin({"needs": [QUOTES], "fallback": {"edges": [EDGE]}, **keys})
    made(task, "supplier_search", search(ACME))
    made(task, "quote_search", {"quotes": []}, {"supplier": "ACME"})
    actions = [task.admit("supplier_search", {"n": n}).action for n in range(10, 13)]
    assert actions == ["refuse", "refuse", "stop"]
    assert task.report()["stop"]["reason"] == "no_return"


def test_without_needs_anything_new_opens_the_way_back() -> None:
    task = begin({"fallback": {"edges": [EDGE]}})
    made(task, "supplier_search", search(ACME))
    made(task, "quote_search", {"quotes": []}, {"supplier": "ACME"})
    assert task.admit("supplier_search", {"n": 2}).reasons == ("no_return",)
    made(task, "weather", {"sun": True})
    assert task.admit("supplier_search", {"n": 3}).allowed


def test_closed_confines_an_open_need_to_the_edges() -> None:
    catalogue = {"effect": "read", "result": {"records": "result"}}
    need = {**QUOTES, "min_records": 1, "from": ["supplier_search", "quote_search", "catalogue"]}
    spec = {"needs": [need], "fallback": {"closed": True, "edges": [EDGE]}}
    task = begin(spec, {**TOOLS, "catalogue": catalogue})
    assert task.admit("quote_search", {"n": 0}).reasons == ("hop_limit",)
    refused = task.admit("catalogue", {})
    assert (refused.reasons, refused.findings[0].message) == (
        ("hop_limit",),
        "`catalogue` is no way that the policy offers now",
    )
    assert task.admit("weather", {}).allowed
    made(task, "supplier_search", search(ACME))
    made(task, "quote_search", {"quotes": [{**PRICED, "lead_time": 1, "valid_until": "x"}]}, {"supplier": "ACME"})
    assert task.report()["status"] == "complete"
    assert task.admit("catalogue", {}).allowed  # nothing is open any more


def test_offers_and_hops_travel_in_a_snapshot() -> None:
    spec = {"needs": [QUOTES], "fallback": {"edges": [EDGE]}}
    task = gate(spec).task("t")
    made(task, "supplier_search", search(ACME))
    resumed = gate(spec).resume(task.snapshot())
    made(resumed, "quote_search", {"quotes": []}, {"supplier": "ACME"})
    assert [hop["to"] for hop in resumed.report()["hops"]] == ["quote_search"]
    again = gate(spec).resume(resumed.snapshot())
    assert again.admit("supplier_search", {"n": 7}).reasons == ("no_return",)


# Earlier answers


def cached(order: list[str] | None = None, **tool: Any) -> Task:
    fallback: dict[str, Any] = {"edges": [{"from": "weather", "to": "almanac"}]}
    if order is not None:
        fallback["order"] = order
    tools = {**TOOLS, "weather": {"effect": "read", **tool}, "almanac": {"effect": "read"}}
    return begin({"fallback": fallback}, tools)


def ask(task: Task, now: float, **outcome: Any) -> Any:
    verdict = task.admit("weather", {"city": "Graz"}, now=now)
    return task.observe(verdict.call_id, now=now, **outcome)


def test_a_read_that_is_down_is_answered_with_its_last_success_marked_with_its_age() -> None:
    task = cached()
    ask(task, 0.0, result={"sun": True})
    found = ask(task, 40.0, **DOWN)
    assert (found.grade, found.from_cache, found.result, found.result_age) == ("failed", True, {"sun": True}, 40.0)
    assert (found.next, found.substitutes) == ("continue", ())
    assert found.envelope == {
        "success": True, "code": "FROM_CACHE", "retryable": False,
        "data": {"result": {"sun": True}, "age_seconds": 40.0, "from_cache": True},
        "message": "The call failed now (HTTP_503). This is what the same call returned 40 s ago; it may be out of "
        "date.",
    }  # fmt: skip
    report = task.report()
    assert [(each["kind"], each["what"]) for each in report["degradations"]] == [("cache", "weather")]
    assert report["calls"][-1]["from_cache"]


@pytest.mark.parametrize(
    ("now", "outcome", "write"),
    [
        (300.0, DOWN, False),  # five minutes old
        (40.0, {"error": {"status": 404, "message": "gone"}}, False),  # an answer, if a bad one
        (40.0, DOWN, True),  # something was written since
    ],
)
def test_no_earlier_answer_is_given_that_is_too_old_outdated_or_not_asked_for(
    now: float, outcome: dict[str, Any], write: bool
) -> None:
    task = cached()
    ask(task, 0.0, result={"sun": True})
    if write:
        made(task, "note", {})
    found = ask(task, now, **outcome)
    assert (found.from_cache, proposed(found)) == (False, [("almanac", {})])


def test_writes_are_never_answered_with_an_earlier_answer() -> None:
    task = begin({"fallback": {"order": ["cache"]}})
    made(task, "note", {"saved": 1}, {"text": "a"})
    assert not made(task, "note", arguments={"text": "a"}, **DOWN).from_cache


def test_the_policys_order_decides_what_is_tried_first() -> None:
    task = cached(["substitute", "cache"])
    ask(task, 0.0, result={"sun": True})
    assert ask(task, 1.0, **DOWN).next == "substitute"
    assert task.report()["degradations"] == []
    task = cached(["cache", "substitute"])
    ask(task, 0.0, result={"sun": True})
    assert ask(task, 1.0, **DOWN).from_cache


def test_a_failed_read_is_no_answer_to_a_repeat_although_its_success_is_kept() -> None:
    spec = {"detectors": {"exact_repeat": {"refuse_after": 1}}, "ladder": {"reuse_reads": 2}}
    task = begin({**spec, "fallback": {"order": ["cache"]}})
    ask(task, 0.0, result=1)
    assert task.admit("weather", {"city": "Graz"}, now=1.0).action == "reuse"
    made(task, "note", {})
    ask(task, 2.0, **DOWN)
    ask(task, 3.0, error={"type": "tool_error", "message": "no"})
    assert task.admit("weather", {"city": "Graz"}, now=4.0).action == "refuse"


# Doing without


def down(task: Task) -> Any:
    return made(task, "weather", arguments={"city": "Graz"}, **DOWN)


def test_a_tool_that_is_down_and_has_no_way_out_is_done_without_and_that_is_said() -> None:
    task = begin({"fallback": {}})
    assert down(task).skipped == ()  # it may be chance
    found = down(task)
    [skipped] = found.skipped
    assert (skipped.tool, found.next, found.envelope["success"]) == ("weather", "continue", False)
    assert skipped.message == (
        "`weather` is not available now. Trying again will not help: go on without it, and say in your answer what you "
        "could not look up."
    )
    assert [each["kind"] for each in task.report()["degradations"]] == ["skip"]
    assert made(task, "weather", error={"status": 404}).skipped == ()
    for spec in ({"fallback": {"order": ["cache"]}}, {}):
        task = begin(spec)
        assert [down(task).skipped for _ in range(3)] == [()] * 3


# Providers

PROVIDERS = [
    {"kind": "provider", "from": "primary", "to": "secondary", "when": 'provider.breaker == "open"'},
    {"kind": "model", "from": "primary", "to": "small"},
]


def test_a_provider_is_left_when_it_is_down_as_a_whole_and_not_on_a_single_429() -> None:
    task = begin({"fallback": {"edges": PROVIDERS}})
    found = [task.model_result("primary", error={"status": 429}, now=float(n)) for n in range(5)]
    assert [each.next for each in found] == ["retry"] * 4 + ["substitute"]
    assert (found[4].providers, found[4].breaker) == (("secondary", "small"), "open")
    assert [each["what"] for each in task.report()["degradations"]] == ["primary -> secondary"]


def test_an_answer_closes_a_providers_breaker_and_one_failure_after_its_pause_opens_it_again() -> None:
    task = begin({"fallback": {"edges": PROVIDERS}})
    for n in range(5):
        task.model_result("primary", error=TimeoutError(), now=float(n))
    assert task.model_result("primary", error=TimeoutError(), now=40.0).breaker == "open"
    assert task.model_result("primary", now=41.0).breaker == "closed"
    assert task.model_result("primary", error=TimeoutError(), now=42.0).breaker == "closed"


def test_a_provider_that_is_down_itself_is_no_way_out() -> None:
    task = begin({"fallback": {"edges": PROVIDERS}})
    for name in ("secondary", "small", "primary"):
        for _ in range(5):
            found = task.model_result(name, error={"status": 503}, now=1.0)
    assert (found.next, found.providers) == ("skip", ())


def test_a_question_that_is_wrong_says_nothing_about_whoever_was_asked() -> None:
    task = begin({"fallback": {"edges": PROVIDERS}})
    found = [task.model_result("primary", error={"status": 400}, now=1.0) for _ in range(6)]
    assert {(each.next, each.breaker) for each in found} == {("skip", "closed")}


def test_how_providers_are_travels_in_a_snapshot() -> None:
    spec = {"fallback": {"edges": PROVIDERS}}
    task = gate(spec).task("t")
    for _ in range(4):
        task.model_result("primary", error={"status": 503}, now=1.0)
    resumed = gate(spec).resume(task.snapshot())
    assert resumed.model_result("primary", error={"status": 503}, now=1.0).next == "substitute"
