"""What the slow engine makes of small runs whose verdicts were worked out by hand from the documents."""

from typing import Any

from reference import Reference, Task

ONE: dict[str, Any] = {"result": "one"}
TIMEOUT: dict[str, Any] = {"error": {"type": "timeout"}}
DENIED: dict[str, Any] = {"error": {"type": "denied", "message": "no"}}
LADDER = {"reuse_reads": 2, "stop_after_refusals": 2, "deterministic_stop_after": 1}


def task(tools: dict[str, Any], detectors: dict[str, Any] | None = None, **policy: Any) -> Task:
    spec = {"undeclared_tools": "allow", "ladder": LADDER, "detectors": detectors or {}, **policy}
    return Reference(spec, [{"tools": tools}]).task()


def ask(
    of: Task, tool: str, now: float | None = None, agent: str = "root", **arguments: Any
) -> tuple[str, list[str], str]:
    verdict = of.admit_all([{"tool": tool, "arguments": arguments}], now, agent)[0]
    return verdict.action, verdict.reasons, verdict.call_id


def play(of: Task, tool: str, outcome: dict[str, Any], now: float | None = None, **arguments: Any) -> str:
    """Ask for a call, and bring its outcome if it is allowed."""
    action, reasons, call_id = ask(of, tool, now, **arguments)
    if action != "allow":
        return " ".join([action, *reasons])
    noted = of.observe(call_id, now, **outcome).notes
    return " ".join(["allow", *(f"note:{reason}" for _, reason in noted)])


REPEAT = {"exact_repeat": {"note_after": 2, "refuse_after": 2}}


def test_a_read_is_answered_twice_from_its_last_result_and_then_the_task_stops() -> None:
    of = task({"get": {"effect": "read"}}, REPEAT)
    assert [play(of, "get", ONE) for _ in range(6)] == [
        "allow",
        "allow note:exact_repeat",
        "reuse exact_repeat",
        "reuse exact_repeat",
        "stop exact_repeat",
        "refuse stopped exact_repeat",
    ]


def test_a_result_is_not_reused_once_it_is_as_old_as_its_ttl() -> None:
    of = task({"get": {"effect": "read", "cache": {"ttl": "5s"}}}, REPEAT)
    assert [play(of, "get", ONE, now) for now in (0, 1, 5.9, 6)] == [
        "allow",
        "allow note:exact_repeat",
        "reuse exact_repeat",
        "refuse exact_repeat",
    ]


def test_a_result_is_not_reused_while_something_else_than_a_read_is_out() -> None:
    of = task({"get": {"effect": "read"}, "bash": {"effect": "unknown"}}, REPEAT)
    for _ in range(2):
        play(of, "get", ONE)
    assert ask(of, "bash")[0] == "allow"
    assert play(of, "get", ONE) == "refuse exact_repeat"


def test_a_landed_write_ends_the_runs_of_other_calls_that_share_a_tag() -> None:
    tools = {
        "get": {"effect": "read", "reads": ["files"]},
        "see": {"effect": "read", "reads": ["orders"]},
        "put": {"effect": "write", "touches": ["files"]},
    }
    of = task(tools, REPEAT)
    for tool in ("get", "get", "see", "see", "put"):
        play(of, tool, ONE)
    assert play(of, "get", ONE) == "allow"
    assert play(of, "see", ONE) == "refuse exact_repeat"


def test_a_write_never_ends_its_own_run() -> None:
    of = task({"put": {"effect": "write"}}, REPEAT)
    assert [play(of, "put", ONE) for _ in range(3)] == ["allow", "allow note:exact_repeat", "refuse exact_repeat"]


def test_a_finding_lets_one_call_through_after_its_cool_down_and_the_same_outcome_restores_it() -> None:
    of = task({"bash": {"effect": "unknown"}}, {"exact_repeat": {"refuse_after": 2, "cool_down": "10s"}})
    assert [play(of, "bash", ONE, now) for now in (0, 1, 10.9)] == ["allow", "allow", "refuse exact_repeat"]
    first, second = ask(of, "bash", 11), ask(of, "bash", 11)
    assert (first[0], second[:2]) == ("allow", ("refuse", ["exact_repeat"]))
    of.observe(first[2], 12, **ONE)
    assert play(of, "bash", ONE, 21.9) == "stop exact_repeat"


def test_a_refusal_in_a_round_in_which_another_call_gains_does_not_count() -> None:
    of = task({"bash": {"effect": "unknown"}, "get": {"effect": "read"}}, REPEAT)
    for _ in range(2):
        play(of, "bash", ONE)
    for number in range(5):
        calls = [{"tool": "bash", "arguments": {}}, {"tool": "get", "arguments": {"n": number}}]
        refused, allowed = of.admit_all(calls)
        assert (refused.action, allowed.action) == ("refuse", "allow")
        of.observe(allowed.call_id, result=f"news {number}")


def test_an_incident_closes_after_three_gains_in_a_row_outside_it() -> None:
    of = task({"bash": {"effect": "unknown"}, "get": {"effect": "read"}}, REPEAT)
    for _ in range(4):
        play(of, "bash", ONE)
    for number in range(3):
        play(of, "get", {"result": f"news {number}"}, n=number)
    assert [play(of, "bash", ONE) for _ in range(3)] == [
        "refuse exact_repeat",
        "refuse exact_repeat",
        "stop exact_repeat",
    ]


def test_transient_failures_feed_nothing_and_are_retries() -> None:
    of = task({"get": {"effect": "read"}}, REPEAT, budgets={"retries": 2})
    assert [play(of, "get", TIMEOUT) for _ in range(4)] == ["allow", "allow", "allow", "refuse budget_retries"]


def test_two_failures_of_one_type_are_equal_with_nothing_but_reads_between_them() -> None:
    def fails(text: str) -> dict[str, Any]:
        return {"error": {"type": "tool_error", "message": text}}

    tools = {"bash": {"effect": "unknown"}, "get": {"effect": "read"}, "send": {"effect": "external"}}
    of = task(tools, {"exact_repeat": {"note_after": 2}})
    assert play(of, "bash", fails("a")) == "allow"
    play(of, "get", ONE)
    assert play(of, "bash", fails("b")) == "allow note:exact_repeat"
    play(of, "send", ONE)
    assert play(of, "bash", fails("c")) == "allow"


def test_calls_of_a_batch_that_are_equal_run_once_and_feed_nothing() -> None:
    of = task({"bash": {"effect": "unknown"}}, {"exact_repeat": {"note_after": 2}})
    verdicts = of.admit_all([{"tool": "bash", "arguments": {}}] * 3)
    assert [verdict.action for verdict in verdicts] == ["allow", "reuse", "reuse"]
    assert [verdict.reuse_of for verdict in verdicts[1:]] == [verdicts[0].call_id] * 2
    assert of.observe(verdicts[0].call_id, **ONE).notes == []
    assert play(of, "bash", ONE) == "allow note:exact_repeat"


def test_notes_of_a_batch_come_with_the_outcome_that_closes_it() -> None:
    of = task({"get": {"effect": "read"}}, {"no_gain": {"note_after": 1}})
    one, two = of.admit_all([{"tool": "get", "arguments": {"n": number}} for number in (1, 2)])
    assert of.observe(two.call_id, result=["a"]).notes == []
    # in request order the first one brings all that the second one does
    assert of.observe(one.call_id, result=["a", "b"]).notes == [(two.call_id, "no_gain")]


def test_an_effect_in_doubt_is_asked_about_until_an_approved_one_succeeds() -> None:
    of = task({"send": {"effect": "external", "idempotent": True}})
    assert play(of, "send", TIMEOUT, to="anna") == "allow"
    assert ask(of, "send", to="otto")[:2] == ("ask", ["ambiguous_effect"])
    action, _, call_id = ask(of, "send", to="anna")
    assert action == "ask"
    assert of.approve(call_id).action == "allow"
    assert ask(of, "send", to="otto")[0] == "ask"
    of.observe(call_id, **ONE)
    assert ask(of, "send", to="otto")[0] == "allow"


def test_a_denied_call_is_noted_at_once_and_refused_without_asking() -> None:
    of = task({"send": {"effect": "external"}}, {"denied": {"note_after": 1, "refuse_after": 1}})
    play(of, "send", TIMEOUT, to="anna")
    _, _, call_id = ask(of, "send", to="anna")
    assert of.deny(call_id) == [(call_id, "denied")]
    assert ask(of, "send", to="anna")[:2] == ("refuse", ["denied", "ambiguous_effect"])
    assert ask(of, "send", to="otto")[:2] == ("ask", ["ambiguous_effect"])


def test_a_call_denied_by_the_tool_is_on_record_too() -> None:
    of = task({"get": {"effect": "read"}}, {"denied": {"note_after": 1, "refuse_after": 1}})
    assert [play(of, "get", DENIED), play(of, "get", ONE)] == ["allow note:denied", "refuse denied"]


def test_an_external_effect_is_refused_once_it_has_succeeded() -> None:
    of = task({"send": {"effect": "external"}}, {"repeated_effect": {"refuse_after": 1}})
    assert [play(of, "send", ONE, to="anna") for _ in range(4)] == [
        "allow",
        "refuse duplicate_effect",
        "refuse duplicate_effect",
        "stop duplicate_effect",
    ]


def test_a_poll_is_noted_and_refused_at_its_limit_of_equal_answers() -> None:
    of = task({"poll": {"effect": "unknown", "waiting": {"max_unchanged": 3}}})
    assert [play(of, "poll", ONE) for _ in range(4)] == ["allow", "allow", "allow note:stale_wait", "refuse stale_wait"]


def test_a_poll_that_comes_too_early_is_told_when_to_come_again() -> None:
    of = task({"poll": {"effect": "unknown", "waiting": {"min_interval": "2s"}}})
    play(of, "poll", ONE, 0)
    verdict = of.admit_all([{"tool": "poll", "arguments": {}}], now=0.5)[0]
    assert (verdict.action, verdict.reasons, verdict.retry_after) == ("refuse", ["stale_wait"], 1.5)


def test_a_batch_is_admitted_as_far_as_the_budget_goes_or_not_at_all() -> None:
    calls = [{"tool": "get", "arguments": {"n": number}} for number in range(3)]
    prefix = task({}, budgets={"tool_calls": 2})
    assert [verdict.action for verdict in prefix.admit_all(calls)] == ["allow", "allow", "refuse"]
    whole = task({}, budgets={"tool_calls": 2, "batch": "all_or_nothing"})
    assert [verdict.reasons for verdict in whole.admit_all(calls)] == [["budget_tool_calls"]] * 3
    assert [verdict.action for verdict in whole.admit_all(calls[:2])] == ["allow", "allow"]


def test_a_share_of_a_budget_is_noted_once_on_the_verdict_that_takes_it() -> None:
    of = task({}, budgets={"tool_calls": 4, "notes_at": [0.5, 0.75]})
    notes = []
    for number in range(4):
        verdict = of.admit_all([{"tool": "get", "arguments": {"n": number}}])[0]
        notes.append([reason for _, reason in verdict.notes])
    assert notes == [[], ["budget_tool_calls"], ["budget_tool_calls"], []]


def test_warn_lets_everything_run_and_says_what_it_would_have_done() -> None:
    of = task({"bash": {"effect": "unknown"}}, REPEAT, mode="warn")
    seen = []
    for _ in range(5):
        verdict = of.admit_all([{"tool": "bash", "arguments": {}}])[0]
        seen.append((verdict.action, verdict.would, [reason for _, reason in verdict.notes]))
        of.observe(verdict.call_id, **ONE)
    refused = ("allow", "refuse", ["exact_repeat"])
    assert seen == [("allow", None, []), ("allow", None, []), refused, refused, ("allow", "stop", ["exact_repeat"])]


def test_a_turn_of_a_person_resets_what_the_policy_names() -> None:
    of = task({"bash": {"effect": "unknown"}}, REPEAT, resets={"user_turn": ["repeats"]})
    for _ in range(2):
        play(of, "bash", ONE)
    of.event("user_turn", by="program")
    assert play(of, "bash", ONE) == "refuse exact_repeat"
    of.event("user_turn", by="human")
    assert play(of, "bash", ONE) == "allow"


def test_what_the_agents_own_stream_and_the_merged_one_say_of_a_cycle_is_one_note() -> None:
    of = task({"bash": {"effect": "unknown"}}, {"cycle": {"max_period": 2, "laps": 2}})
    noted = []
    for agent in ("a", "b", "a", "b"):
        _, _, call_id = ask(of, "bash", agent=agent, on=agent)
        noted.append([reason for _, reason in of.observe(call_id, **ONE).notes])
    # what the other one does first may have written: so each begins its own stream with its second call
    assert noted == [[], [], [], ["cycle"]]
    assert ask(of, "bash", agent="a", on="a")[:2] == ("refuse", ["cycle"])
    assert ask(of, "bash", agent="b", on="a")[:2] == ("allow", [])


def test_nothing_gained_for_long_enough_stops_the_task_at_an_observation() -> None:
    of = task({"get": {"effect": "read"}}, {"no_gain": {"exit_after": 2}})
    stops = []
    for number in range(3):
        _, _, call_id = ask(of, "get", n=number)
        stops.append(of.observe(call_id, **ONE).stop)
    assert stops == [[], [], ["no_gain"]]
    assert ask(of, "get", n=3)[:2] == ("refuse", ["stopped"])
