"""The author's rules through Gate and Task: their actions in both phases, what they read, what an error does."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from callgate import Gate
from callgate.runtime.task import Task

TOOLS: dict[str, Any] = {
    "search": {"effect": "read", "groups": ["lookups"]},
    "quotes": {
        "effect": "read",
        "result": {
            "records": "result.items",
            "key": ["supplier"],
            "required_fields": ["supplier"],
            "wanted_fields": ["price"],
        },
    },
    "pay": {"effect": "external"},
}

Begin = Callable[..., Task]


@pytest.fixture
def begin(tmp_path: Path) -> Begin:
    """Begin a task under a policy with these rules and keys of `spec`."""

    def task(*rules: dict[str, Any], about: dict[str, Any] | None = None, **spec: Any) -> Task:
        named = [{"id": f"rule-{position}", **rule} for position, rule in enumerate(rules)]
        # detectors are left out, so that nothing but rules and budgets has a say
        budgets = {"steps": 100, "tokens": 1000, **spec.pop("budgets", {})}
        whole = {"budgets": budgets, "time": {"task": "1h"}, "rules": named, **spec}
        for kind, name, body in (("GuardPolicy", "p", whole), ("ToolManifest", "m", {"tools": TOOLS})):
            document = {"apiVersion": "callgate/v1", "kind": kind, "metadata": {"name": name}, "spec": body}
            (tmp_path / f"{name}.yaml").write_text(json.dumps(document))
        return Gate.load(tmp_path).task("t1", **(about or {}))

    return task


def verdict(task: Task, tool: str = "pay", arguments: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """Of a verdict what a rule decides: action, reasons, code, and the notes as (reason, message)."""
    found = task.admit(tool, arguments or {}, **{"call_id": "c1", "now": 0.0, **more})
    return {
        "action": found.action,
        "reasons": found.reasons,
        "code": found.code,
        "notes": [(note.reason, note.message) for note in found.notes],
    }


ALLOWED: dict[str, Any] = {"action": "allow", "reasons": (), "code": None, "notes": []}


def holds(task: Task, tool: str = "pay", arguments: dict[str, Any] | None = None, **more: Any) -> bool:
    """Whether the only rule of a task fires on a call, which must bring no error."""
    found = verdict(task, tool, arguments, **more)
    assert found["reasons"] in ((), ("rule:rule-0",)), found
    return bool(found["reasons"])


# --- actions of admit


def test_a_rule_that_does_not_hold_says_nothing(begin: Begin) -> None:
    task = begin({"when": "args.amount > 100", "action": "refuse"})
    assert verdict(task, arguments={"amount": 100}) == ALLOWED


def test_a_refusing_rule_refuses_with_its_code_and_words(begin: Begin) -> None:
    message = '"amount " + string(args.amount) + " is too much"'
    task = begin({"when": "args.amount > 100", "action": "refuse", "code": "TOO_MUCH", "message": message})
    found = task.admit("pay", {"amount": 250}, call_id="c1", now=0.0)
    assert (found.action, found.reasons, found.code) == ("refuse", ("rule:rule-0",), "TOO_MUCH")
    assert found.reply is not None
    assert json.loads(found.reply) == {
        "success": False,
        "code": "TOO_MUCH",
        "retryable": False,
        "data": {"reasons": ["rule:rule-0"]},
        "message": "Amount 250 is too much. Take another way.",
    }


def test_a_rule_without_a_code_has_one_made_from_its_id(begin: Begin) -> None:
    task = begin({"id": "order-ceiling", "when": "true", "action": "refuse"})
    assert verdict(task)["code"] == "ORDER_CEILING"


def test_a_rule_without_a_message_says_that_it_applies(begin: Begin) -> None:
    found = begin({"when": "true", "action": "refuse"}).admit("pay", {}, call_id="c1", now=0.0)
    assert found.findings[0].message == "a rule of the policy applies to `pay`"


def test_a_message_that_fails_leaves_the_general_one(begin: Begin) -> None:
    task = begin({"when": "true", "action": "refuse", "message": "string(args.missing)"})
    found = task.admit("pay", {}, call_id="c1", now=0.0)
    assert (found.action, found.findings[0].message) == ("refuse", "a rule of the policy applies to `pay`")


def test_a_noting_rule_lets_the_call_run_with_a_note(begin: Begin) -> None:
    task = begin({"when": "true", "action": "note", "message": '"think twice"'})
    found = verdict(task)
    assert found == {
        "action": "allow",
        "reasons": ("rule:rule-0",),
        "code": "RULE_0",
        "notes": [("rule:rule-0", "Think twice.")],
    }


def test_an_asking_rule_asks_and_an_approval_lets_that_call_run(begin: Begin) -> None:
    task = begin({"when": "args.amount > 100", "action": "ask"})
    assert verdict(task, arguments={"amount": 250})["action"] == "ask"
    assert task.approve("c1", now=1.0).action == "allow"
    assert task.observe("c1", result="paid", now=2.0).grade == "sufficient"
    assert verdict(task, arguments={"amount": 251}, now=3.0)["action"] == "ask"


def test_an_approval_does_not_lift_what_refuses(begin: Begin) -> None:
    asks = {"when": "true", "action": "ask"}
    refuses = {"when": "task.confirmation > 1", "action": "refuse"}
    task = begin(asks, refuses)
    assert verdict(task)["reasons"] == ("rule:rule-0",)
    found = task.approve("c1", now=1.0)
    assert (found.action, found.reasons) == ("refuse", ("rule:rule-1",))


def test_a_stopping_rule_ends_the_task(begin: Begin) -> None:
    task = begin({"when": 'call.tool == "pay"', "action": "stop"})
    found = task.admit("pay", {}, call_id="c1", now=3.0)
    assert (found.action, found.reasons) == ("stop", ("rule:rule-0",))
    stop = {"reason": "rule:rule-0", "call_id": "c1", "at": 3.0, "exit": "escalate", "evidence": {}}
    assert (task.report()["status"], task.report()["stop"]) == ("incomplete", stop)
    assert verdict(task, "search", call_id="c2", now=4.0)["reasons"] == ("stopped",)


def test_the_strongest_rule_wins_and_all_that_fired_are_told(begin: Begin) -> None:
    rules = [{"when": "true", "action": action} for action in ("note", "ask", "refuse", "ask")]
    found = verdict(begin(*rules))
    assert (found["action"], found["code"]) == ("refuse", "RULE_2")
    assert found["reasons"] == ("rule:rule-0", "rule:rule-1", "rule:rule-2", "rule:rule-3")


def test_a_rule_is_about_the_tools_that_it_names(begin: Begin) -> None:
    task = begin({"when": "true", "action": "refuse", "tools": ["pay"]})
    assert verdict(task, "search", call_id="c1") == ALLOWED
    assert verdict(task, "pay", call_id="c2")["action"] == "refuse"


# --- actions of observe


def observed(task: Task, tool: str = "search", **outcome: Any) -> dict[str, Any]:
    """Of an assessment what a rule decides."""
    assert task.admit(tool, {}, call_id="o1", now=0.0).action == "allow"
    found = task.observe("o1", now=1.0, **outcome)
    return {
        "grade": found.grade,
        "notes": [(note.reason, note.message) for note in found.notes],
        "next": found.next,
        "stop": None if found.stop is None else found.stop.reason,
    }


QUIET: dict[str, Any] = {"grade": "sufficient", "notes": [], "next": "continue", "stop": None}


def test_an_observing_rule_that_does_not_hold_says_nothing(begin: Begin) -> None:
    task = begin({"phase": "observe", "when": "size(result.hits) == 0", "action": "note"})
    assert observed(task, result={"hits": [1]}) == QUIET


def test_an_observing_rule_notes(begin: Begin) -> None:
    task = begin({"phase": "observe", "when": "result.stale", "action": "note", "message": '"old data"'})
    assert observed(task, result={"stale": True}) == {
        **QUIET,
        "notes": [("rule:rule-0", "Old data.")],
    }


def test_an_observing_rule_proposes_to_try_again(begin: Begin) -> None:
    task = begin({"phase": "observe", "when": "result.pending", "action": "retry"})
    found = observed(task, result={"pending": True})
    assert (found["next"], found["stop"]) == ("retry", None)


def test_an_observing_rule_ends_the_task(begin: Begin) -> None:
    task = begin({"phase": "observe", "when": 'result.status == "closed"', "action": "exit"})
    found = observed(task, result={"status": "closed"})
    assert (found["next"], found["stop"]) == ("exit", "rule:rule-0")
    stop = {"reason": "rule:rule-0", "call_id": "o1", "at": 1.0, "exit": "escalate", "evidence": {}}
    assert task.report()["stop"] == stop


# --- what expressions can read


def test_a_variable_may_use_those_before_it_params_and_constants(begin: Begin) -> None:
    task = begin(
        {"when": "variables.over", "action": "ask", "message": '"ask the " + constants.desk'},
        parameters={"ceiling": {"type": "number", "default": 100}},
        constants={"desk": "front desk"},
        variables={"above": "args.amount - params.ceiling", "over": "variables.above > 0"},
    )
    assert verdict(task, arguments={"amount": 100}) == ALLOWED
    found = task.admit("pay", {"amount": 101}, call_id="c2", now=0.0)
    assert (found.action, found.findings[0].message) == ("ask", "ask the front desk")


def test_calls_of_a_tool_are_those_that_were_admitted(begin: Begin) -> None:
    task = begin({"when": 'task.calls("search") >= 2', "action": "refuse", "tools": ["pay"]})
    assert not holds(task, call_id="c1")
    for number in (2, 3):
        assert verdict(task, "search", {"q": number}, call_id=f"c{number}") == ALLOWED
    assert holds(task, call_id="c4")


def test_budget_figures_are_used_left_and_share(begin: Begin) -> None:
    when = (
        "budget.tool_calls.used == 2.0 && budget.tool_calls.left == 6.0 && budget.tool_calls.share == 0.25"
        " && budget.steps.used == 2.0 && budget.tokens.used == 30.0 && budget.tokens.left == 970.0"
        " && budget.retries.used == 0.0 && budget.cost.left > 1e300"
    )
    task = begin({"when": when, "action": "refuse", "tools": ["pay"]}, budgets={"tool_calls": 8})
    for number in (1, 2):
        assert verdict(task, "search", {"q": number}, call_id=f"c{number}") == ALLOWED
        task.observe(f"c{number}", result=number, now=0.0)
    task.usage(tokens=30.0, now=0.0)
    assert holds(task, call_id="c3")


@pytest.mark.parametrize(
    "when",
    [
        'call.tool == "search" && call.id == "c1" && call.agent == "root" && call.round == 1',
        'call.fingerprint.matches("^[0-9a-f]{64}$")',
        'tool.name == "search" && tool.effect == "read" && tool.declared && tool.idempotent',
        'tool.groups == ["lookups"]',
        'task.id == "t1" && task.elapsed == 5.0 && task.confirmation == 1 && now == 5.0',
        'session.agent == "root" && session.depth == 0 && session.elapsed == 5.0',
        'hints.intent == "compare" && args.q == "bearing"',
        'task.context.region == "eu" && task.context.limits[1] == 2',
    ],
)
def test_what_a_rule_of_admit_can_read(begin: Begin, when: str) -> None:
    about = {"context": {"region": "eu", "limits": [1, 2]}}
    task = begin({"when": when, "action": "note"}, about=about)
    task.user_turn(by="human", now=0.0)
    assert holds(task, "search", {"q": "bearing"}, hints={"intent": "compare"}, now=5.0)


def test_a_task_without_context_has_an_empty_one(begin: Begin) -> None:
    assert holds(begin({"when": "!has(task.context.region)", "action": "note"}))


@pytest.mark.parametrize(
    ("when", "outcome"),
    [
        (
            'grade == "sufficient" && gaps == ["price"] && gain == 1 && records == [{"supplier": "A"}]',
            {"result": {"items": [{"supplier": "A"}]}},
        ),
        ('grade == "empty" && records == []', {"result": {"items": []}}),
        ('grade == "failed" && error.type == "http" && error.status == 503', {"error": {"status": 503}}),
        ('error.class == "transient" && error.message == "busy"', {"error": {"type": "network", "message": "busy"}}),
        ("result == null || true", {}),
    ],
)
def test_what_a_rule_of_observe_can_read(begin: Begin, when: str, outcome: dict[str, Any]) -> None:
    task = begin({"phase": "observe", "when": when, "action": "note"})
    assert [reason for reason, _ in observed(task, "quotes", **outcome)["notes"]] == ["rule:rule-0"]


# --- errors

ERRS = "args.missing > 1"
READS_PASS = {"on_error": {"reads": "allow", "else": "refuse"}}


@pytest.mark.parametrize("spec", [{}, {"on_error": "refuse"}, READS_PASS])
@pytest.mark.parametrize("action", ["note", "ask", "refuse", "stop"])
def test_a_rule_that_errs_refuses_what_may_do_harm(begin: Begin, spec: dict[str, Any], action: str) -> None:
    found = begin({"when": ERRS, "action": action}, **spec).admit("pay", {}, call_id="c1", now=0.0)
    assert (found.action, found.reasons, found.code) == ("refuse", ("policy_error",), "POLICY_ERROR")
    assert found.findings[0].evidence == {"rule": "rule-0", "kind": "no_such_field"}
    assert found.findings[0].message.startswith("`args.missing > 1`: ")


def test_a_rule_that_errs_refuses_reads_too_unless_the_author_lets_them_through(begin: Begin) -> None:
    assert verdict(begin({"when": ERRS, "action": "refuse"}), "search")["action"] == "refuse"


def test_a_read_that_is_let_through_on_an_error_is_flagged(begin: Begin) -> None:
    found = verdict(begin({"when": ERRS, "action": "refuse"}, **READS_PASS), "search")
    assert (found["action"], found["reasons"]) == ("allow", ("policy_error",))
    assert [reason for reason, _ in found["notes"]] == ["policy_error"]


def test_a_variable_that_errs_is_an_error_of_the_rule_that_reads_it(begin: Begin) -> None:
    task = begin({"when": "variables.far > 1", "action": "note"}, variables={"far": "args.missing + 1"})
    found = task.admit("pay", {}, call_id="c1", now=0.0)
    assert (found.action, found.reasons) == ("refuse", ("policy_error",))
    assert found.findings[0].evidence == {"rule": "rule-0", "kind": "no_such_field"}
    assert found.findings[0].message.startswith("`variables.far > 1`: `variables.far` failed: ")


def test_a_variable_that_nothing_asks_for_is_not_computed(begin: Begin) -> None:
    task = begin({"when": "args.x == 1 && variables.far > 1", "action": "note"}, variables={"far": "args.missing + 1"})
    assert verdict(task, arguments={"x": 2}) == ALLOWED


NUMBERS = {"a": list(range(400))}
# 160,000 pairs: more than the 100,000 steps of one expression
TOO_LONG = "args.a.all(x, args.a.all(y, x + y >= 0))"


@pytest.mark.parametrize("guarded", [TOO_LONG, f"{TOO_LONG} || true", f"true && !({TOO_LONG})"])
def test_a_limit_is_an_error_of_its_own_and_refuses(begin: Begin, guarded: str) -> None:
    found = begin({"when": guarded, "action": "note"}).admit("pay", NUMBERS, call_id="c1", now=0.0)
    assert (found.action, found.reasons) == ("refuse", ("policy_error",))
    assert found.findings[0].evidence == {"rule": "rule-0", "kind": "out_of_fuel"}


def test_a_limit_that_a_variable_hits_is_not_absorbed_by_what_reads_it(begin: Begin) -> None:
    task = begin({"when": "variables.long || true", "action": "note"}, variables={"long": TOO_LONG})
    found = task.admit("pay", NUMBERS, call_id="c1", now=0.0)
    assert (found.action, found.findings[0].evidence) == ("refuse", {"rule": "rule-0", "kind": "out_of_fuel"})


def test_all_rules_of_a_decision_share_an_allowance(begin: Begin) -> None:
    # 200 × 200 pairs, two steps or so each: a rule stays below its own bound, thirty of them exceed the decision's
    rule = {"when": "args.a.all(x, args.a.all(y, true))", "action": "note"}
    arguments = {"a": list(range(200))}
    alone = begin(rule).admit("pay", arguments, call_id="c1", now=0.0)
    assert (alone.action, alone.reasons) == ("allow", ("rule:rule-0",))
    found = begin(*[rule] * 30).admit("pay", arguments, call_id="c1", now=0.0)
    assert (found.action, found.reasons[0], found.reasons[-1]) == ("refuse", "rule:rule-0", "policy_error")
    assert {finding.evidence["kind"] for finding in found.findings if finding.reason == "policy_error"} == {
        "out_of_fuel"
    }


def test_an_observing_rule_that_errs_leaves_the_outcome_ungraded_with_a_note(begin: Begin) -> None:
    task = begin({"phase": "observe", "when": "result.missing > 1", "action": "exit"})
    found = observed(task, result={"a": 1})
    assert (found["grade"], found["next"], found["stop"]) == ("ungraded", "continue", None)
    [(reason, message)] = found["notes"]
    assert reason == "policy_error"
    assert message.startswith("An expression of the policy failed: rule `rule-0`: `result.missing > 1`: ")


def test_records_that_are_no_list_leave_the_outcome_ungraded_with_a_note(begin: Begin) -> None:
    found = observed(begin(), "quotes", result={"items": "none"})
    assert (found["grade"], [reason for reason, _ in found["notes"]]) == ("ungraded", ["policy_error"])


@pytest.mark.parametrize(("errs", "reasons"), [(False, ("same_result",)), (True, ())])
def test_an_ungraded_outcome_feeds_no_detector_that_asks_for_its_worth(
    begin: Begin, errs: bool, reasons: tuple[str, ...]
) -> None:
    rules = [{"phase": "observe", "when": "result.missing > 1", "action": "note"}] if errs else []
    task = begin(*rules, detectors={"same_result": {"refuse_after": 2}})
    for number in range(2):
        assert task.admit("search", {"q": number}, call_id=f"c{number}", now=0.0).action == "allow"
        task.observe(f"c{number}", result={"hits": []}, now=0.0)
    assert task.admit("search", {"q": 2}, call_id="c2", now=0.0).reasons == reasons


# --- what the host says about a task


ABOUT: dict[str, Any] = {
    "trace_id": "tr1",
    "conversation_id": "co1",
    "tenant": "acme",
    "labels": {"team": "buying"},
    "context": {"whole": 1, "point": 1.0, "text": "ä\u0000", "deep": [{"a": None}]},
}


def test_a_report_shows_what_the_host_said_about_the_task_except_its_context(begin: Begin) -> None:
    report = begin(about=ABOUT).report()
    said = {name: report.get(name) for name in ABOUT}
    assert said == {**ABOUT, "context": None}


def test_a_snapshot_keeps_what_the_host_said_and_the_approvals(begin: Begin) -> None:
    when = "type(task.context.whole) == int && type(task.context.point) == double && task.confirmation == 2"
    ask = {"when": "true", "action": "ask", "tools": ["pay"]}
    task = begin({"when": when, "action": "note", "tools": ["pay"]}, ask, about=ABOUT)
    assert verdict(task)["reasons"] == ("rule:rule-1",)
    assert task.approve("c1", now=1.0).action == "allow"
    task.observe("c1", result="paid", now=1.0)
    resumed = task._gate.resume(task.snapshot())
    assert resumed.report()["labels"] == {"team": "buying"}
    assert verdict(resumed, call_id="c2", now=2.0)["reasons"] == ("rule:rule-0", "rule:rule-1")


def test_a_note_is_told_once_where_another_finding_is_softened_to_a_warning(begin: Begin) -> None:
    advice = {"phase": "admit", "when": "true", "action": "note", "message": '"mind the fee"'}
    forbids = {"phase": "admit", "when": "true", "action": "refuse", "message": '"not on Sundays"'}
    task = begin(advice, forbids, mode="warn")
    assert verdict(task) == {
        "action": "allow",
        "reasons": ("rule:rule-0", "rule:rule-1"),
        "code": "RULE_1",
        "notes": [("rule:rule-0", "Mind the fee."), ("rule:rule-1", "Not on Sundays.")],
    }


def test_an_approved_call_takes_no_step_of_the_round_that_it_enters(begin: Begin) -> None:
    asks = {"phase": "admit", "tools": ["pay"], "when": "true", "action": "ask"}
    task = begin(asks, budgets={"steps": 2})
    assert task.admit("pay", {}, call_id="c1", now=0.0).action == "ask"
    assert task.admit("search", {"q": 1}, call_id="c2", now=1.0).allowed
    with task.round(now=2.0):
        assert task.approve("c1", now=2.0).allowed
        assert task.admit("search", {"q": 2}, call_id="c3", now=2.0).reasons == ("budget_steps",)


def test_an_equal_of_an_approved_call_takes_the_step_of_its_round(begin: Begin) -> None:
    asks = {"phase": "admit", "tools": ["pay"], "when": "true", "action": "ask"}
    task = begin(asks, budgets={"steps": 2})
    assert task.admit("pay", {}, call_id="c1", now=0.0).action == "ask"
    with task.round(now=2.0):
        assert task.approve("c1", now=2.0).allowed
        assert task.admit("pay", {}, call_id="c2", now=2.0).reasons == ("duplicate_in_batch",)
    assert task.admit("search", {}, call_id="c3", now=3.0).reasons == ("budget_steps",)


def test_a_yes_lets_an_earlier_result_answer_a_read_that_has_come_to_be_refused(begin: Begin) -> None:
    asks = {"phase": "admit", "tools": ["search"], "when": 'task.calls("search") >= 2', "action": "ask"}
    task = begin(asks, detectors={"exact_repeat": {"note_after": 2, "refuse_after": 2}}, ladder={"reuse_reads": 1})
    for call_id in ("c1", "c2"):
        assert task.admit("search", {"q": 1}, call_id=call_id, now=0.0).allowed
        if call_id == "c1":
            task.observe("c1", result="one", now=0.0)
    assert task.admit("search", {"q": 1}, call_id="c3", now=1.0).action == "ask"
    task.observe("c2", result="one", now=1.0)
    answer = task.approve("c3", now=2.0)
    assert (answer.action, answer.reasons, answer.result_age) == ("reuse", ("exact_repeat",), 1.0)


def test_an_approved_call_that_is_refused_does_not_stand_for_its_equals_of_the_round(begin: Begin) -> None:
    asks = {"phase": "admit", "when": "true", "action": "ask"}
    refuses = {"phase": "admit", "when": "task.confirmation > 1", "action": "refuse"}
    task = begin(asks, refuses)
    assert task.admit("pay", {}, call_id="c1", now=0.0).action == "ask"
    with task.round(now=1.0):
        assert task.admit("pay", {}, call_id="c2", now=1.0).action == "ask"
        assert task.approve("c1", now=1.0).action == "refuse"
        assert task.admit("pay", {}, call_id="c3", now=1.0).reuse_of == "c2"


def test_a_yes_leaves_nothing_of_what_asked_and_all_that_is_only_noted(begin: Begin) -> None:
    asks = {"phase": "admit", "when": "args.amount > 100", "action": "ask"}
    notes = {"phase": "admit", "when": "task.confirmation > 1", "action": "note"}
    task = begin(asks, notes)
    assert task.admit("pay", {"amount": 200}, call_id="c1", now=0.0).action == "ask"
    answer = task.approve("c1", now=1.0)
    assert (answer.action, answer.would, answer.reasons) == ("allow", None, ("rule:rule-1",))
