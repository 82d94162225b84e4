"""A failed policy test shows the values under the expressions that decided the call."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from callgate.cli.main import main
from callgate.report.tests import render_tests
from callgate.testing import run_tests
from callgate.testing.values import Evaluated, PartValue

TEST = """\
apiVersion: callgate/v1
kind: GuardTest
metadata: {name: one}
spec:
  policy:
    undeclared_tools: allow
    budgets: {preset: medium}
    constants: {ceiling: 50}
    variables: {over: args.amount > constants.ceiling}
    rules:
      - {id: ceiling, when: 'variables.over && args.lines.exists(line, line.n > 2)', action: refuse}
      - {id: never, when: 'call.tool == "other"', action: note}
  manifests:
    - tools:
        pay: {effect: write, parameters: {type: object}, result: {failed_when: 'result.status >= 400'}}
"""
NEVER = "      - {id: never, when: 'call.tool == \"other\"', action: note}\n"


def shown(folder: Path, steps: str) -> dict[str, list[Evaluated]]:
    (folder / "a_test.yaml").write_text(TEST + steps)
    [result] = run_tests([folder / "a_test.yaml"]).results
    assert result.outcome == "failed", result
    return {missed.failure.what: list(missed.evaluated) for missed in result.missed}


def test_where_a_rule_was_to_speak_and_did_not_its_parts_are_shown_as_they_lie_in_each_other(tmp_path: Path) -> None:
    found = shown(
        tmp_path,
        "  steps:\n    - {tool: pay, arguments: {amount: 60, lines: [{n: 1}, {n: 2}]}, result: {status: 200},"
        " expect: {reasons: ['rule:ceiling']}}\n",
    )
    [rule] = found["reasons"]
    assert (rule.owner, rule.span.line) == ("rule `ceiling`", 11)
    assert rule.parts == [
        PartValue("variables.over && args.lines.exists(line, line.n > 2)", 0, "false"),
        PartValue("variables.over", 1, "true"),
        PartValue("args.lines.exists(line, line.n > 2)", 1, "false"),
        PartValue("args.lines", 2, '[{"n":1},{"n":2}]'),
        PartValue("line.n > 2", 2, "false"),
        PartValue("line.n", 3, "2"),
    ]


def test_where_a_rule_spoke_that_was_not_expected_it_alone_is_shown(tmp_path: Path) -> None:
    found = shown(
        tmp_path,
        "  steps:\n    - {tool: pay, arguments: {amount: 60, lines: [{n: 3}]}, expect: {action: allow}}\n",
    )
    assert [rule.owner for rule in found["action"]] == ["rule `ceiling`"]


def test_where_nothing_spoke_every_rule_that_was_asked_is_shown(tmp_path: Path) -> None:
    found = shown(tmp_path, "  steps:\n    - {tool: pay, arguments: {amount: 1}, expect: {action: refuse}}\n")
    assert [(rule.owner, rule.parts[0].value) for rule in found["action"]] == [
        ("rule `ceiling`", "false"),
        ("rule `never`", "false"),
    ]


def test_a_grade_is_shown_with_the_conditions_that_read_the_outcome(tmp_path: Path) -> None:
    found = shown(
        tmp_path,
        "  steps:\n    - {tool: pay, arguments: {amount: 1}, result: {status: 500}, expect: {grade: sufficient}}\n",
    )
    [condition] = found["grade"]
    assert condition.owner == "`tools.pay.result.failed_when`"
    assert condition.parts == [PartValue("result.status >= 400", 0, "true"), PartValue("result.status", 1, "500")]


def test_an_error_is_shown_in_the_place_of_a_value(tmp_path: Path) -> None:
    found = shown(tmp_path, "  steps:\n    - {tool: pay, arguments: {amount: 60}, expect: {action: allow}}\n")
    [rule] = found["action"]
    assert PartValue("args.lines", 2, "error: no_such_field") in rule.parts


def test_calls_of_one_round_are_told_apart(tmp_path: Path) -> None:
    found = shown(
        tmp_path,
        "  steps:\n"
        "    - {tool: pay, arguments: {amount: 60, lines: []}, round: 1}\n"
        "    - {tool: pay, arguments: {amount: 70, lines: [{n: 9}]}, round: 1, expect: {action: allow}}\n",
    )
    [rule] = found["action"]
    assert PartValue("line.n", 3, "9") in rule.parts


def test_a_call_of_a_batch_that_no_rule_was_asked_about_is_shown_no_values_of_another(tmp_path: Path) -> None:
    (tmp_path / "a_test.yaml").write_text(
        TEST.replace("action: refuse}", "action: refuse, tools: [pay]}").replace(NEVER, "") + "  steps:\n"
        "    - {tool: look, arguments: {n: 1}, result: 1, round: 1, expect: {action: refuse}}\n"
        "    - {tool: pay, arguments: {amount: 3}, round: 1}\n"
    )
    [result] = run_tests(tmp_path / "a_test.yaml").results
    assert [(missed.failure.what, list(missed.evaluated)) for missed in result.missed] == [("action", [])]
    sarif = json.loads(render_tests(run_tests(tmp_path / "a_test.yaml"), "sarif"))
    assert "relatedLocations" not in sarif["runs"][0]["results"][0]


def test_the_outcome_of_a_call_in_a_batch_is_shown_with_its_own_values_alone(tmp_path: Path) -> None:
    (tmp_path / "a_test.yaml").write_text(
        TEST + "  steps:\n"
        "    - {tool: pay, arguments: {amount: 1}, result: {status: 500}, round: 1, time: 5, expect: &e {gaps: [a]}}\n"
        "    - {tool: pay, arguments: {amount: 2}, result: {status: 403}, round: 1, time: 3, expect: *e}\n"
    )
    [result] = run_tests(tmp_path / "a_test.yaml").results
    values = [[each.parts[1].value for each in missed.evaluated] for missed in result.missed]
    assert values == [["500"], ["403"]]


def test_agents_of_one_task_that_work_at_once_are_told_apart(tmp_path: Path) -> None:
    found = shown(
        tmp_path,
        "  steps:\n"
        "    - {tool: pay, arguments: {amount: 60, lines: [{n: 7}]}, session: a, task: t, round: 1,"
        " expect: {action: allow}}\n"
        "    - {tool: pay, arguments: {amount: 61, lines: [{n: 8}]}, session: b, task: t, round: 1}\n"
        "    - {tool: pay, arguments: {amount: 62, lines: [{n: 9}]}, session: b, task: t, round: 2}\n",
    )
    [rule] = found["action"]
    assert [part.value for part in rule.parts if part.text == "line.n"] == ["7"]


def test_calls_of_a_trace_are_shown_too(tmp_path: Path) -> None:
    (tmp_path / "run.jsonl").write_text(
        '{"session":"s","tool":"pay","arguments":{"amount":1}}\n'
        '{"session":"s","tool":"pay","arguments":{"amount":60,"lines":[{"n":3}]}}\n'
    )
    found = shown(tmp_path, "  trace: run.jsonl\n  expect: {refusals: 0}\n")
    [rule] = found["refusals"]
    assert PartValue("line.n > 2", 2, "true") in rule.parts


def test_the_report_puts_the_values_below_what_was_expected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a_test.yaml").write_text(
        TEST + "  steps:\n    - {tool: pay, arguments: {amount: 60, lines: [{n: 3}]}, expect: {action: allow}}\n"
    )
    assert main(["test", str(tmp_path)]) == 1
    told = capsys.readouterr().out
    assert (
        f"  values    rule `ceiling` ({tmp_path}/a_test.yaml:11:29)\n"
        "    variables.over && args.lines.exists(line, line.n > 2)  true\n"
        "      variables.over                                       true\n"
    ) in told


def test_what_refused_a_call_is_told_and_rules_that_had_nothing_to_do_with_it_are_not(tmp_path: Path) -> None:
    (tmp_path / "a_test.yaml").write_text(
        TEST.replace("undeclared_tools: allow", "undeclared_tools: refuse")
        + "  expect: {refusals: 0}\n  steps:\n    - {tool: look, arguments: {amount: 1}, expect: {action: allow}}\n"
    )
    [result] = run_tests(tmp_path / "a_test.yaml").results
    told = "There is no tool `look`. Use one of the tools that you were given."
    assert [(each.failure.what, each.message, list(each.evaluated)) for each in result.missed] == [
        ("refusals", told, []),
        ("action", told, []),
    ]
    assert f"  actual    `refuse`\n  message   {told}\n" in render_tests(run_tests(tmp_path), "text")


def test_failures_of_a_test_come_in_the_order_of_their_lines(tmp_path: Path) -> None:
    (tmp_path / "a_test.yaml").write_text(
        TEST + "  steps:\n    - {tool: pay, arguments: {amount: 1}, expect: {action: refuse}}\n"
        "    - {tool: pay, arguments: {amount: 2}, expect: {action: refuse}}\n  expect: {refusals: 3}\n"
    )
    [result] = run_tests(tmp_path).results
    assert [missed.span.line for missed in result.missed] == [17, 18, 19]
