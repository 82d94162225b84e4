"""`callgate explain`: why, from where, and what would have been allowed, which an engine of its own confirms here."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from callgate import Gate
from callgate.cli.main import main

POLICY = """\
apiVersion: callgate/v1
kind: GuardPolicy
metadata: {name: desk}
spec:
  tools: [desk]
  undeclared_tools: refuse
  parameters: {ceiling: {type: number, default: 50}}
  budgets:
    steps: 20
    tokens: {limit: unlimited, reason: the model is ours}
    calls_per_tool: {send: 1}
  time: {task: 1h}
  detectors:
    exact_repeat: {refuse_after: 2, cool_down: 5m}
    same_error: {refuse_after: 2}
    invalid_arguments: {refuse_after: 2}
    unknown_tool: {refuse_after: 1}
    denied: {refuse_after: 1}
  ladder: {reuse_reads: 0, stop_after_refusals: 9}
  rules:
    - {id: ceiling, tools: [pay], when: args.amount > params.ceiling, action: refuse}
    - {id: abroad, tools: [pay], when: args.?country.orValue("DE") != "DE", action: ask}
---
apiVersion: callgate/v1
kind: ToolManifest
metadata: {name: desk}
spec:
  tools:
    look:
      effect: read
      reads: [orders]
      parameters:
        type: object
        properties: {order: {type: string}, limit: {type: integer}, part: {enum: [head, body, tail]}}
        additionalProperties: false
    edit:
      effect: write
      touches: [orders]
      parameters: {type: object, required: [order], properties: {order: {type: string}}}
    note: {effect: write, touches: [notes]}
    pay:
      effect: control
      parameters:
        {type: object, required: [amount], properties: {amount: {type: integer}, country: {type: string}}}
    send: {effect: control}
"""


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the policy, which is the working one."""
    (tmp_path / "desk.yaml").write_text(POLICY, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


SENT = {"tool": "send", "arguments": {"x": 1}, "result": 1}


def line(of: str) -> int:
    """The line of the policy in which a text stands first."""
    return next(at for at, text in enumerate(POLICY.split("\n"), 1) if of in text)


def trace(folder: Path, *records: dict[str, Any]) -> Path:
    path = folder / "run.jsonl"
    lines = (json.dumps({"session": "s", **record}) for record in records)
    path.write_text("".join(each + "\n" for each in lines), encoding="utf-8")
    return path


def look(order: str = "1", **more: Any) -> dict[str, Any]:
    return {"tool": "look", "arguments": {"order": order}, "result": {"state": "new"}, **more}


def told(capsys: pytest.CaptureFixture[str], *argv: str | Path) -> dict[str, Any]:
    code = main(["explain", *map(str, argv), "--format", "json"])
    out, err = capsys.readouterr()
    assert (code, err) == (0, "")
    body: dict[str, Any] = json.loads(out)
    return body


def call(capsys: pytest.CaptureFixture[str], tool: str, arguments: dict[str, Any], *argv: str | Path) -> dict[str, Any]:
    body = told(capsys, "desk.yaml", "--tool", tool, "--args", json.dumps(arguments), *argv)
    explanation: dict[str, Any] = body["explanation"]
    return explanation


def changes(explanation: dict[str, Any]) -> list[tuple[str, str]]:
    return [(way["kind"], way["change"]) for way in explanation["allowed_instead"]]


def findings(explanation: dict[str, Any]) -> list[dict[str, Any]]:
    return [finding for check in explanation["checks"] for finding in check["findings"]]


def place(of: str) -> dict[str, Any]:
    return {"file": "desk.yaml", "line": line(of), "text": POLICY.split("\n")[line(of) - 1].strip()}


@pytest.mark.parametrize(
    ("tool", "arguments", "earlier", "reason", "written"),
    [
        ("look", {"order": "1"}, [look(), look()], "exact_repeat", "exact_repeat:"),
        ("send", {"x": 2}, [SENT], "budget_calls_per_tool", "calls_per_tool"),
        ("pay", {"amount": 72}, [], "rule:ceiling", "id: ceiling"),
        ("look", {"order": 1}, [], "invalid_arguments", "      parameters:"),
        ("lok", {}, [], "unknown_tool", "undeclared_tools"),
    ],
)  # fmt: skip
def test_a_refusal_is_told_with_its_evidence_and_the_place_where_it_is_written(
    desk: Path, capsys: pytest.CaptureFixture[str], tool: str, arguments: Any, earlier: Any, reason: str, written: str
) -> None:
    explanation = call(capsys, tool, arguments, "--after", trace(desk, *(earlier or [look("9")])))
    assert (explanation["action"], explanation["reasons"][0]) == ("refuse", reason)
    first = findings(explanation)[0]
    assert (first["reason"], first["written"]) == (reason, place(written))


def test_everything_is_told_in_the_order_in_which_it_is_looked_at(
    desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    explanation = call(capsys, "pay", {"amount": 72, "country": "DE"}, "--after", trace(desk, look(), look("2")))
    checks = explanation["checks"]
    assert [(check["check"], [finding["reason"] for finding in check["findings"]]) for check in checks] == [
        ("earlier stop", []), ("call id", []), ("tool", []), ("arguments", []), ("denials", []), ("budgets", []),
        ("detectors", []), ("rules", ["rule:ceiling"]),
    ]  # fmt: skip
    by_name = {check["check"]: check for check in explanation["checks"]}
    assert by_name["tool"]["written"] == [place("    pay:")]
    assert by_name["budgets"]["says"] == "steps 2 of 20 used"
    assert (by_name["rules"]["says"], by_name["rules"]["written"]) == ("`abroad` did not fire", [place("id: abroad")])


def test_the_largest_number_that_is_allowed_is_found(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    explanation = call(capsys, "pay", {"amount": 72})
    assert changes(explanation) == [("arguments", "`amount` 50 instead of 72")]


def test_names_types_and_words_are_changed_to_what_the_schema_takes(
    desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert changes(call(capsys, "look", {"ordre": "1"})) == [
        ("arguments", "without `ordre`"), ("arguments", "`order` instead of `ordre`"),
    ]  # fmt: skip
    assert ("arguments", '`limit` 5 instead of "5"') in changes(call(capsys, "look", {"limit": "5"}))
    assert ("arguments", '`order` "7" instead of 7') in changes(call(capsys, "look", {"order": 7}))
    assert ("arguments", '`part` "body" instead of "boddy"') in changes(call(capsys, "look", {"part": "boddy"}))


def test_a_repeat_is_allowed_after_a_write_that_touches_it_and_after_the_cool_down(
    desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = trace(desk, look(time=0), look(time=10))
    found = changes(call(capsys, "look", {"order": "1"}, "--after", run))
    assert found == [
        ("arguments", "without `order`"),
        ("arguments", 'another `order`, such as "1 2"'),
        ("wait", "300 s later"),
        ("fewer_calls", "without the call of `look` at seq 2"),
        ("other_result", "if the call of `look` at seq 2 had brought another result"),
        ("write", "after a `edit` that succeeded"),
    ]


def test_what_asks_is_allowed_with_a_persons_yes(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    explanation = call(capsys, "pay", {"amount": 5, "country": "FR"})
    assert explanation["action"] == "ask"
    assert ("approval", "a person's yes to this call") in changes(explanation)


def test_a_budget_is_met_with_one_call_fewer(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = trace(desk, look(), SENT, look("2"))
    found = changes(call(capsys, "send", {"x": 2}, "--after", run))
    assert found == [("fewer_calls", "without the call of `send` at seq 2")]


def test_of_two_equal_calls_in_one_turn_the_second_is_allowed_in_a_turn_of_its_own(
    desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = trace(desk, look(round=1), look(round=1))
    body = told(capsys, run, "--policy", "desk.yaml", "--at", "2")
    assert body["explanation"]["reasons"] == ["duplicate_in_batch"]
    assert ("own_turn", "in a turn of its own") in changes(body["explanation"])


def test_a_turn_of_another_agent_that_is_open_by_then_is_seen_to_its_end(
    desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def edit(order: str) -> dict[str, Any]:
        arguments = {"order": order}
        return {"session": "coder", "task": "t", "round": 1, "tool": "edit", "arguments": arguments, "result": {}}

    looks = [look(task="t", round=number) for number in (1, 2, 3)]
    whole = ["desk.yaml", "--session", "s", "--at", "3"]
    body = told(capsys, trace(desk, *looks[:2], edit("1"), looks[2], edit("2")), "--policy", *whole)
    # the coder's turn was not over, so that its edit ends no repeat yet
    assert body["explanation"]["reasons"] == ["exact_repeat"]
    body = told(capsys, trace(desk, *looks[:2], edit("1"), edit("2"), looks[2]), "--policy", *whole)
    assert body["explanation"]["action"] == "allow"


def test_nothing_is_told_where_nothing_helps(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    explanation = call(capsys, "missing", {})
    assert (explanation["reasons"], explanation["allowed_instead"]) == (["unknown_tool"], [])
    assert explanation["tried"] > 0


def test_an_allowed_call_has_no_way_out_of_anything(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    explanation = call(capsys, "look", {"order": "1"})
    assert (explanation["action"], explanation["reasons"], explanation["tried"]) == ("allow", [], 0)


@pytest.mark.parametrize("seq", range(12, 23))
def test_arguments_that_are_told_to_be_allowed_are_allowed_by_a_task_of_its_own(
    root: Path, capsys: pytest.CaptureFixture[str], seq: int
) -> None:
    recording = root / "policies" / "default" / "demo" / "where-is-my-order.jsonl"
    records = [json.loads(text) for text in recording.read_text(encoding="utf-8").splitlines()]
    if "event" in records[seq - 1]:
        return
    body = told(capsys, recording, "--policy", "default", "--at", str(seq))
    ways = [way for way in body["explanation"]["allowed_instead"] if way["kind"] == "arguments"]
    assert body["explanation"]["action"] == "allow" or ways or body["explanation"]["reasons"] == ["stopped"]
    for way in ways:
        assert _action(records[: seq - 1], {**records[seq - 1], "arguments": way["arguments"]}) == "allow"
    assert _action(records[: seq - 1], records[seq - 1]) == body["explanation"]["action"]


def _action(before: Sequence[dict[str, Any]], last: dict[str, Any]) -> str:
    """What a task decides of the last call behind others, driven as a service would."""
    task = Gate.load("default").task("t")
    for record in before:
        if "event" in record:
            task.user_turn(by=record["by"], now=record["time"])
            continue
        verdict = task.admit(record["tool"], record["arguments"], now=record["time"] - record["duration"])
        if verdict.allowed:
            outcome = {"error": record["error"]} if "error" in record else {"result": record["result"]}
            task.observe(verdict.call_id, now=record["time"], **outcome)
    return str(task.admit(last["tool"], last["arguments"], now=last["time"] - last["duration"]).action)


def test_the_course_tells_decision_arguments_result_and_next_input(
    desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = trace(
        desk, {"event": "user_turn", "by": "human", "text": "Look."}, look(time=1.5), look(),
        {"tool": "edit", "arguments": {"order": "1"}, "error": {"type": "timeout", "message": "no answer"}}, look(),
    )  # fmt: skip
    body = told(capsys, run, "--policy", "desk.yaml")
    told_of = [
        (
            step["seq"],
            step.get("event", step.get("action")),
            step.get("arguments"),
            step.get("result"),
            step.get("failure"),
        )
        for step in body["course"]
    ]
    new = {"state": "new"}
    assert told_of == [
        (1, "user_turn by human: Look.", None, None, None),
        (2, "allow", {"order": "1"}, new, None),
        (3, "allow", {"order": "1"}, new, None),
        (4, "allow", {"order": "1"}, None, "no answer"),
        (5, "refuse", {"order": "1"}, None, None),
    ]
    last = body["course"][-1]
    assert [each["reason"] for each in last["because"]] == ["exact_repeat"]
    assert last["reads"][0].startswith("This exact call of `look` has returned the same result 2 times.")
    # the first call that was not let through is explained beside it
    assert (body["explanation"]["seq"], body["explanation"]["action"]) == (5, "refuse")


def test_a_session_in_which_everything_ran_is_told_without_an_explanation(
    desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = told(capsys, trace(desk, look(), look("2")), "--policy", "desk.yaml")
    assert (len(body["course"]), body["explanation"]) == (2, None)


def test_in_audit_it_is_told_what_would_have_been_decided(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = POLICY.replace("  tools: [desk]\n", "  tools: [desk]\n  mode: audit\n", 1)
    (desk / "desk.yaml").write_text(text, encoding="utf-8")
    explanation = call(capsys, "pay", {"amount": 72})
    assert (explanation["action"], explanation["would"]) == ("allow", "refuse")
    assert changes(explanation) == [("arguments", "`amount` 50 instead of 72")]


def test_under_bindings_the_policy_that_applies_is_the_one_that_is_pointed_at(
    desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    binding = """
        ---
        apiVersion: callgate/v1
        kind: GuardBinding
        metadata: {name: acme}
        spec: {policy: desk, match: {tenants: [acme]}, parameters: {ceiling: 10}}
    """
    (desk / "desk.yaml").write_text(POLICY + textwrap.dedent(binding), encoding="utf-8")
    explanation = call(capsys, "pay", {"amount": 72}, "--tenant", "acme")
    assert (findings(explanation)[0]["written"], changes(explanation)[0][1]) == (
        place("id: ceiling"), "`amount` 10 instead of 72",
    )  # fmt: skip
    assert call(capsys, "pay", {"amount": 1}, "--tenant", "other")["reasons"] == ["unbound"]


def test_text_and_markdown_say_the_same_things(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for form in ("text", "markdown"):
        code = main(["explain", "desk.yaml", "--tool", "pay", "--args", '{"amount": 72}', "--format", form])
        out, err = capsys.readouterr()
        assert (code, err) == (0, "")
        for words in (
            "pay(amount: 72)",
            "rule:ceiling",
            f"desk.yaml:{line('id: ceiling')}",
            "50 instead of 72",
            "did not fire",
        ):
            assert words in out, form


def test_what_a_trace_says_steers_neither_terminal_nor_markdown(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evil = look("\x1b[31m<b>|x|", result={"html": "<script>\x07</script> | a"})
    for form in ("text", "markdown"):
        assert main(["explain", str(trace(desk, evil)), "--policy", "desk.yaml", "--format", form]) == 0
        out = capsys.readouterr().out
        assert not {"\x1b", "\x07"} & set(out)
    assert "<script>" not in out
    assert "<b>" not in out


@pytest.mark.parametrize(
    ("argv", "code", "message"),
    [
        (["desk.yaml"], 2, "say what to explain: a call with `--tool`, or a trace with `--policy`"),
        (["desk.yaml", "--tool", "t", "--policy", "p"], 2, "leave `--policy` out"),
        (["desk.yaml", "--tool", "t", "--args", "[1]"], 2, "`--args` has to be a JSON object"),
        (["desk.yaml", "--tool", "t", "--args", "{"], 2, "`--args` is no JSON"),
        (["desk.yaml", "--tool", "t", "--args", '{"a": [{"b": 1, "b": 2}]}'], 2, "the key `b` stands twice"),
        (["desk.yaml", "--tool", "t", "--args", '{"a": NaN}'], 2, "JSON has no `NaN`"),
        (["desk.yaml", "--tool", "t", "--args", '{"a": 1e999}'], 2, "`1e999` is too large for a number"),
        (["desk.yaml", "--tool", "t", "--args", '{"a":' + "[" * 10_000], 2, "nested too deep"),
        (["desk.yaml", "--tool", "t", "--at", "3"], 2, "`--at` goes with a trace"),
        (["desk.yaml", "--tool", "t", "--session", "s"], 2, "add `--after TRACE`"),
        (["run.jsonl", "--policy", "desk.yaml", "--after", "run.jsonl"], 2, "`--after` goes with `--tool`"),
        (["run.jsonl", "--policy", "desk.yaml", "--at", "9"], 2, "no call with `seq` 9: its calls have 1 to 2"),
        (["run.jsonl", "--policy", "desk.yaml", "--session", "x"], 2, "there is no session `x`; there are `s`"),
        (["no.jsonl", "--policy", "desk.yaml"], 2, "cannot read the file"),
        (["two.jsonl", "--policy", "desk.yaml"], 2, "there are 2 sessions, name one with `--session`: `a`, `b`"),
        (["run.jsonl", "--policy", "no-such"], 2, "no such file or folder, and no such pack"),
        (["run.jsonl", "--policy", "broken.yaml"], 1, "error[CG201]"),
        (["events.jsonl", "--policy", "desk.yaml"], 3, "there is no call in this session"),
        (["run.jsonl", "--policy", "desk.yaml", "--at", "x"], 2, "expected a whole number"),
    ],
)  # fmt: skip
def test_a_wrong_command_says_what_is_wrong(
    desk: Path, capsys: pytest.CaptureFixture[str], argv: list[str], code: int, message: str
) -> None:
    trace(desk, look(), look("2"))
    (desk / "two.jsonl").write_text('{"session":"a","event":"compaction"}\n{"session":"b","event":"compaction"}\n')
    (desk / "events.jsonl").write_text('{"session":"a","event":"compaction"}\n')
    (desk / "broken.yaml").write_text(POLICY.replace("  rules:", "  ruless:"), encoding="utf-8")
    assert main(["explain", *argv]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err


def test_lines_that_are_no_records_are_told(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = json.dumps({**look(), "session": "s"})
    (desk / "cut.jsonl").write_text(f"{whole}\n\n[1]\n{whole}\n{whole[:40]}", encoding="utf-8")
    told = "callgate: cut.jsonl:3: 2 lines are no records and are passed over; `callgate replay` tells why\n"
    assert main(["explain", "cut.jsonl", "--policy", "desk.yaml"]) == 0
    assert capsys.readouterr().err == told
    assert main(["report", "cut.jsonl", "--policy", "desk.yaml"]) == 0
    assert capsys.readouterr().err == told
    (desk / "cut.jsonl").write_text(f"\n{whole[:40]}", encoding="utf-8")
    assert main(["explain", "cut.jsonl", "--policy", "desk.yaml"]) == 3
    message = "callgate: cut.jsonl: there is no record in this trace: what stands in line 2 is none\n"
    assert capsys.readouterr().err == message
