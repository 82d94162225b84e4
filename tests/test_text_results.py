"""Results that are a text of JSON, as most tools of agents give them: where fields are read they are what they say."""

import json
from typing import Any

import pytest

from sufficiency import begin, made

ITEMS: dict[str, Any] = {"records": "result.items", "required_fields": ["id"]}


def read(**result: Any) -> dict[str, Any]:
    return {"get": {"effect": "read", "result": result}}


@pytest.mark.parametrize(
    ("text", "grade", "code"),
    [
        ('{"items": [{"id": 1}]}', "sufficient", "OK"),
        ('\n {"items": []}\n', "empty", "NO_DATA"),
        ('{"items": [{}]}', "partial", "PARTIAL"),
        # JSON that has no such field, and text that is none
        ('[{"id": 1}]', "ungraded", "UNGRADED"),
        ("{items: []}", "ungraded", "UNGRADED"),
        ("[INFO] nothing", "ungraded", "UNGRADED"),
        ('"items"', "ungraded", "UNGRADED"),
    ],
)
def test_records_are_found_in_json_and_the_text_is_handed_on_as_it_came(text: str, grade: str, code: str) -> None:
    found = made(begin({}, read(**ITEMS)), "get", text)
    assert (found.grade, found.envelope["code"], found.envelope["data"]) == (grade, code, text)


@pytest.mark.parametrize(
    ("result", "text", "grade"),
    [
        # by what the whole is
        ({"records": "result"}, "[]", "empty"),
        ({"records": "result", "empty_when": "size(result) == 0"}, "[]", "empty"),
        ({"empty_when": "result.all(each, each == null)"}, "[null]", "empty"),
        ({"empty_when": 'result["rows"] == []'}, '{"rows": []}', "empty"),
        # a text that is no failure by what it says, and one that is by being nothing else
        ({**ITEMS, "failed_when": "type(result) == string"}, '{"items": [{"id": 1}]}', "sufficient"),
        ({**ITEMS, "failed_when": "type(result) == string"}, "no connection", "failed"),
        # what can only be asked of a text is asked of it
        ({"ignore": ["at"], "empty_when": 'result.contains("nothing")'}, '{"at": 1, "is": "nothing"}', "empty"),
        # and nothing that reads fields: it stays a text
        ({"empty_when": "type(result) == string"}, "[]", "empty"),
        ({"empty_when": 'result == "[]"'}, "[]", "empty"),
    ],
)
def test_an_expression_is_given_the_form_that_it_reads(result: dict[str, Any], text: str, grade: str) -> None:
    assert made(begin({}, read(**result)), "get", text).grade == grade


@pytest.mark.parametrize(("result", "reasons"), [({"ignore": ["request_id"]}, ["exact_repeat"]), ({}, [])])
def test_an_ignored_field_makes_no_other_answer(result: dict[str, Any], reasons: list[str]) -> None:
    calls = begin({"detectors": {"exact_repeat": {"refuse_after": 3}}}, read(**result))
    for number in range(3):
        text = json.dumps({"status": "open", "request_id": f"r{number}x{'abc'[number]}"})
        calls.observe(calls.admit("get", {}).call_id, result=text)
    verdict = calls.admit("get", {})
    assert [finding.reason for finding in verdict.findings] == reasons


def test_an_answer_that_is_given_again_is_the_text_as_it_came() -> None:
    rungs = {"detectors": {"exact_repeat": {"refuse_after": 1}}, "ladder": {"reuse_reads": 1}}
    calls = begin(rungs, read(**ITEMS))
    text = ' {"items": [{"id": 1}]}'
    calls.observe(calls.admit("get", {}).call_id, result=text)
    again = calls.admit("get", {})
    assert (again.action, again.result) == ("reuse", text)


@pytest.mark.parametrize("result", [{}, ITEMS])
def test_a_need_is_filled_from_json(result: dict[str, Any]) -> None:
    need = {"id": "order", "from": ["get"], "fields": ["id", "state"]}
    text = '{"items": [{"id": 1, "state": "open"}], "id": 1, "state": "open"}'
    calls = begin({"needs": [need]}, read(**result))
    assert made(calls, "get", text).cells == 2


def test_a_rule_of_observe_reads_fields_of_a_tool_that_declares_nothing() -> None:
    rule = {"id": "closed", "phase": "observe", "when": 'result.state == "closed"', "action": "note"}
    calls = begin({"rules": [rule]}, {})
    reasons = [
        [note.reason for note in made(calls, "anything", text).notes]
        for text in ('{"state": "closed"}', '{"state": "open"}')
    ]
    assert reasons == [["rule:closed"], []]


def test_a_rule_that_asks_for_a_text_is_given_one_of_a_tool_that_reads_fields() -> None:
    rule = {"id": "late", "phase": "observe", "when": 'result.startsWith("{")', "action": "note"}
    calls = begin({"rules": [rule]}, read(**ITEMS))
    assert [note.reason for note in made(calls, "get", '{"items": [{"id": 1}]}').notes] == ["rule:late"]


@pytest.mark.parametrize(("answer", "reasons"), [
    ('{"found": true}', ["duplicate_effect"]),
    ('{"found": false}', []),
    ("none", ["ambiguous_effect"]),
])  # fmt: skip
def test_a_doubt_ends_by_what_the_verifying_call_says_in_json(answer: str, reasons: list[str]) -> None:
    verify = {"tool": "find", "arguments": {"order": "args.order"}, "landed_when": "result.found",
              "absent_when": "!result.found", "after": "0s"}  # fmt: skip
    pay = {"effect": "external", "parameters": {"type": "object"}, "verify": verify}
    calls = begin({"detectors": {"repeated_effect": {"refuse_after": 1}}}, {"pay": pay, "find": {"effect": "read"}})
    sent = calls.admit("pay", {"order": 7})
    assert calls.observe(sent.call_id, error={"type": "timeout"}).next == "verify"
    calls.observe(calls.admit("find", {"order": 7}).call_id, result=answer)
    assert [finding.reason for finding in calls.admit("pay", {"order": 7}).findings] == reasons


FLAGGED = {"type": "http", "status": 404, "message": "no such order"}


@pytest.mark.parametrize(
    ("when", "outcome", "grade"),
    [
        # added to the host's flag
        ("error != null || result.ok == false", {"result": {"ok": False}}, "failed"),
        ("error != null || result.ok == false", {"result": {"ok": True}}, "sufficient"),
        ("error != null || result.ok == false", {"result": {"ok": True}, "is_error": True}, "failed"),
        ("error != null || result.ok == false", {"result": {"ok": True}, "error": FLAGGED}, "failed"),
        # taken out of it
        ("error != null && error.status != 404", {"result": {}, "error": FLAGGED}, "sufficient"),
        ("error != null && error.status != 404", {"result": {}, "error": {"status": 403}}, "failed"),
        ("error != null && error.status != 404", {"result": {}}, "sufficient"),
        ('error != null && error.class == "permanent"', {"result": {}, "error": {"status": 503}}, "sufficient"),
        ('error != null && error.message.contains("such")', {"result": {}, "error": FLAGGED}, "failed"),
        # without a result the flag stands
        ("error != null && error.status != 404", {"error": FLAGGED}, "failed"),
    ],
)
def test_what_counts_as_a_failure_may_ask_what_the_host_reported(
    when: str, outcome: dict[str, Any], grade: str
) -> None:
    assert made(begin({}, read(failed_when=when)), "get", **outcome).grade == grade
