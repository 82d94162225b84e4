"""What comes back, in one form: what is recognised in raw results, and the envelope that tells any outcome."""

from dataclasses import dataclass
from typing import Any

import pytest

from callgate import Task
from sufficiency import begin, made

TOOLS: dict[str, Any] = {
    "plain": {"effect": "read"},
    "items": {"effect": "read", "result": {"records": "result.items", "required_fields": ["id"]}},
    "strict": {"effect": "read", "result": {"failed_when": "result.status >= 500"}},
    "again": {"effect": "read", "retry": {"max": 1}},
}


def task() -> Task:
    return begin({}, TOOLS)


def envelope(tool: str = "plain", **outcome: Any) -> tuple[Any, ...]:
    found = made(task(), tool, **outcome).envelope
    assert list(found) == ["success", "code", "retryable", "data", "message"]
    return tuple(found.values())


@dataclass
class CallToolResult:
    """As MCP's client library has it."""

    content: list[dict[str, Any]]
    structuredContent: Any = None  # noqa: N815
    isError: bool = False  # noqa: N815


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


@pytest.mark.parametrize(
    ("tool", "outcome", "expected"),
    [
        ("plain", {"result": "a text"}, (True, "OK", False, "a text", "")),
        ("plain", {"result": None}, (True, "OK", False, None, "")),
        ("plain", {}, (True, "UNGRADED", False, None, "")),
        ("items", {"result": {"items": []}}, (True, "NO_DATA", False, {"items": []}, "")),
        ("items", {"result": {"items": [{}]}}, (True, "PARTIAL", False, {"items": [{}]}, "")),
        ("plain", {"error": TimeoutError("30 s")}, (False, "TIMEOUT", True, None, "30 s")),
        ("plain", {"error": FileNotFoundError("a")}, (False, "FILENOTFOUNDERROR", False, None, "a")),
        ("plain", {"error": {"status": 404, "message": "gone"}}, (False, "HTTP_404", False, None, "gone")),
        ("plain", {"result": "boom", "is_error": True}, (False, "TOOL_ERROR", False, "boom", "boom")),
        # HTTP-like
        ("plain", {"result": {"status": 200, "body": {"a": 1}}}, (True, "OK", False, {"a": 1}, "")),
        ("plain", {"result": {"status_code": 503, "text": "later"}}, (False, "HTTP_503", True, "later", "later")),
        ("plain", {"result": {"status": 404, "headers": {}}}, (False, "HTTP_404", False, {"status": 404, "headers": {}},
         '{"status":404,"headers":{}}')),
        # MCP
        ("plain", {"result": {"content": [text("[1, 2]")]}}, (True, "OK", False, [1, 2], "")),
        ("plain", {"result": CallToolResult([text("x")], {"a": 1})}, (True, "OK", False, {"a": 1}, "")),
        ("plain", {"result": CallToolResult([text("no such part")], isError=True)},
         (False, "TOOL_ERROR", False, "no such part", "no such part")),
        ("items", {"result": {"content": [text('{"items": []}')]}}, (True, "NO_DATA", False, {"items": []}, "")),
        # envelopes
        ("plain", {"result": {"success": True, "code": "CREATED", "data": 7, "message": "done"}},
         (True, "CREATED", False, 7, "done")),
        ("plain", {"result": {"success": True, "code": "NO_DATA"}}, (True, "NO_DATA", False, None, "")),
        ("plain", {"result": {"success": False, "code": "OUT_OF_STOCK", "message": "none left"}},
         (False, "OUT_OF_STOCK", False, None, "none left")),
        ("plain", {"result": {"success": False, "code": "BUSY", "retryable": True}}, (False, "BUSY", True, None,
         '{"success":false,"code":"BUSY","retryable":true}')),
        ("plain", {"result": CallToolResult([], {"success": False, "code": "BUSY", "data": 1})},
         (False, "BUSY", False, 1, '{"success":false,"code":"BUSY","data":1}')),
    ],
)  # fmt: skip
def test_every_outcome_is_told_in_one_form(tool: str, outcome: dict[str, Any], expected: tuple[Any, ...]) -> None:
    assert envelope(tool, **outcome) == expected


def test_the_manifest_has_the_last_word_on_what_a_failure_is() -> None:
    for status, grade in ((404, "sufficient"), (500, "failed")):
        assert made(task(), "strict", {"status": status, "body": "x"}).grade == grade


def test_a_result_stays_what_the_manifest_was_written_against() -> None:
    tools = {"http": {"effect": "read", "result": {"records": "result.body.rows"}}}
    found = made(begin({}, tools), "http", {"status": 200, "body": {"rows": []}})
    assert found.grade == "empty"
    tools = {"mcp": {"effect": "read", "result": {"records": "result.rows"}}}
    assert made(begin({}, tools), "mcp", {"content": [text('{"rows": [1]}')]}).grade == "sufficient"


def test_no_data_is_a_fine_answer_that_invites_no_retry() -> None:
    found = made(task(), "items", {"items": []})
    assert (found.grade, found.error_class, found.next, found.envelope["success"]) == ("empty", None, "continue", True)
    again = task()
    for _ in range(2):
        verdict = again.admit("items", {"q": 1})
        again.observe(verdict.call_id, result={"items": []})
    assert again.spent["retries"] == 0


def test_a_tool_that_says_itself_that_the_same_call_may_help_is_believed() -> None:
    busy = {"success": False, "code": "BUSY", "retryable": True}
    found = made(task(), "again", busy)
    assert (found.error_class, found.next) == ("transient", "retry")
    assert made(task(), "again", {**busy, "retryable": False}).error_class == "permanent"


def test_a_failure_is_retryable_as_long_as_attempts_are_left() -> None:
    one = task()
    told = [made(one, "again", arguments={"q": 1}, error={"status": 503}).envelope["retryable"] for _ in range(2)]
    assert told == [True, False]


@pytest.mark.parametrize(
    "result",
    [
        {"status": "open", "body": "x"},
        {"status": 503},
        {"status": 700, "body": "x"},
        {"success": False},
        {"success": False, "code": "X", "items": []},
        {"content": [{"text": "no type"}], "isError": True},
        {"content": [text("x")], "title": "a page", "isError": True},
    ],
)
def test_what_only_looks_like_a_known_form_is_taken_as_it_is(result: dict[str, Any]) -> None:
    found = made(task(), "plain", result)
    assert (found.grade, found.envelope["data"]) == ("sufficient", result)


def test_a_name_that_the_author_gives_an_error_does_not_tell_failures_of_one_call_apart() -> None:
    named = {"errors": [{"when": "result.missing", "class": "permanent", "type": "not_there"}]}
    calls = begin({"detectors": {"exact_repeat": {"refuse_after": 3}}}, {"make": {"effect": "unknown", **named}})
    for missing in (False, True, True):
        outcome = {"result": {"missing": missing, "out": "2 failed"}, "error": {"type": "exit_nonzero"}}
        calls.observe(calls.admit("make", {}).call_id, **outcome)
    assert [finding.reason for finding in calls.admit("make", {}).findings] == ["exact_repeat"]


def test_a_malformed_attempt_does_not_take_back_the_ones_that_are_out_beside_it() -> None:
    """Three attempts fail for good and one is malformed: of the one retry that is declared none is left."""
    patient = {"effect": "read", "retry": {"classes": ["permanent"], "max": 1}, "identity": {"ignore": ["nonce"]}}
    work = begin({}, {"get": patient})
    first = work.admit("get", {"nonce": 0})
    assert work.observe(first.call_id, error={"type": "tool_error"}).next == "retry"
    beside = work.admit_all([{"tool": "get", "arguments": {"nonce": nonce}} for nonce in (1, 2)])
    assert work.observe(beside[1].call_id, error={"type": "invalid_arguments"}).next == "continue"
    assert work.observe(beside[0].call_id, error={"type": "tool_error"}).next == "continue"
