"""The formats in which results of policy tests come out for other programs, held against schemas that are not ours."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft4Validator, Draft202012Validator

from callgate.cli.main import main
from callgate.report.shapes import shape
from callgate.report.tests import FORMATS, render_tests
from callgate.testing import run_tests
from callgate.testing.mutate import Draw
from callgate.testing.run import GuardTestRun
from closed_schema import closed

POLICY = """\
apiVersion: callgate/v1
kind: GuardPolicy
metadata: {name: pay}
spec:
  undeclared_tools: allow
  budgets: {preset: simple}
  rules:
    - {id: ceiling, when: args.amount > 50, action: refuse}
"""
HEAD = """\
apiVersion: callgate/v1
kind: GuardTest
metadata: {name: NAME}
spec:
  policy: pay
"""
PASSES = """\
  steps:
    - {tool: pay, arguments: {amount: 51}, expect: {action: refuse}}
    - {tool: pay, arguments: {amount: 50}}
"""
FAILS = """\
  steps:
    - {tool: pay, arguments: {amount: 50}, expect: {action: refuse}}
  expect: {stop: {by: 1}}
"""
SAYS_NOTHING = "  steps:\n    - {tool: pay, arguments: {amount: 50}}\n"


def write(folder: Path, **tests: str) -> Path:
    (folder / "policy.yaml").write_text(POLICY)
    for name, steps in tests.items():
        (folder / f"{name}_test.yaml").write_text(HEAD.replace("NAME", name) + steps)
    return folder


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GuardTestRun:
    """Give a run with a test that passes, one that fails twice, and one that cannot be run; and a fault beside them."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path, a=PASSES, b=FAILS, c=SAYS_NOTHING)
    (tmp_path / "other.yaml").write_text(POLICY.replace("name: pay", "name: other, name: other"))
    return run_tests(["."])


class TestSarif:
    def test_an_expectation_that_was_not_met_says_where_what_and_which_expression_decided(
        self, broken: GuardTestRun
    ) -> None:
        [run] = json.loads(render_tests(broken, "sarif"))["runs"]
        rules = run["tool"]["driver"].pop("rules")
        assert run["tool"]["driver"] == {"name": "callgate", "version": version("callgate")}
        assert [(rule["id"], rule["shortDescription"]["text"]) for rule in rules] == [
            ("CG102", "A key stands twice in one map."),
            ("CG712", "A test expects nothing."),
            ("expect.action", "What a run shows is not the `action` that its policy test expects."),
            ("expect.stop", "What a run shows is not the `stop` that its policy test expects."),
        ]
        policy = {
            "artifactLocation": {"uri": "policy.yaml"},
            "region": {"startLine": 8, "startColumn": 27, "endLine": 8, "endColumn": 43},
        }
        assert run["results"][:2] == [
            {
                "ruleId": "expect.action",
                "ruleIndex": 2,
                "level": "error",
                "message": {"text": "b: action\nexpected `refuse`\ngot `allow`"},
                "locations": [
                    {
                        "physicalLocation": {
                            "artifactLocation": {"uri": "b_test.yaml"},
                            "region": {"startLine": 7, "startColumn": 53, "endLine": 7, "endColumn": 59},
                        },
                        "logicalLocations": [{"fullyQualifiedName": "/spec/steps/0/expect/action"}],
                    }
                ],
                "relatedLocations": [
                    {"id": 1, "message": {"text": "rule `ceiling`"}, "physicalLocation": policy},
                ],
            },
            {
                "ruleId": "expect.stop",
                "ruleIndex": 3,
                "level": "error",
                "message": {"text": "b: stop\nexpected at seq 1 or before\ngot no stop"},
                "locations": [
                    {
                        "physicalLocation": {
                            "artifactLocation": {"uri": "b_test.yaml"},
                            "region": {"startLine": 8, "startColumn": 19, "endLine": 8, "endColumn": 21},
                        },
                        "logicalLocations": [{"fullyQualifiedName": "/spec/expect/stop/by"}],
                    }
                ],
            },
        ]
        told = [
            (each["ruleId"], each["locations"][0]["physicalLocation"]["artifactLocation"]) for each in run["results"]
        ]
        assert told[2:] == [("CG712", {"uri": "c_test.yaml"}), ("CG102", {"uri": "other.yaml"})]

    def test_the_schema_of_the_standard_takes_it(
        self, sarif_standard: Draft4Validator, broken: GuardTestRun, tmp_path: Path
    ) -> None:
        (tmp_path / "well").mkdir()
        for run in (broken, run_tests([write(tmp_path / "well", a=PASSES)]), run_tests(["none"])):
            assert list(sarif_standard.iter_errors(json.loads(render_tests(run, "sarif")))) == []

    def test_every_expectation_has_a_rule_that_the_standard_takes(
        self, sarif_standard: Draft4Validator, tmp_path: Path
    ) -> None:
        step = "action: stop, reasons: [cycle], code: X, grade: empty, gaps: [[a, b]], next: exit, notes: 9"
        steps = (
            f"  steps:\n    - {{tool: pay, arguments: {{amount: 1}}, result: 1, expect: {{{step}}}}}\n"
            "    - {tool: pay, arguments: {amount: 1}, result: 1, expect: {budget: {steps: {used: 9}}}}\n"
            "    - {event: user_turn, by: human, expect: {action: allow}}\n"
            "  expect: {first_note: {by: 1}, first_intervention: {by: 1}, stop: {by: 1}, reasons: [cycle], refusals: 9,"
            " reuses: 9, notes: 9, status: complete, exit: finish, missing: [[a, b]]}\n"
        )
        log = json.loads(render_tests(run_tests([write(tmp_path, a=steps)]), "sarif"))
        assert list(sarif_standard.iter_errors(log)) == []
        [run] = log["runs"]
        of_steps = ["action", "budget", "code", "gaps", "grade", "next", "notes", "reasons"]
        of_runs = ["exit", "first_intervention", "first_note", "missing", "refusals", "reuses", "status", "stop"]
        rules = run["tool"]["driver"]["rules"]
        assert [rule["id"] for rule in rules] == ["expect", *(f"expect.{name}" for name in sorted(of_steps + of_runs))]
        assert all(rules[each["ruleIndex"]]["id"] == each["ruleId"] for each in run["results"])


class TestTheJsonSchema:
    @pytest.fixture
    def strict(self) -> Draft202012Validator:
        schema = json.loads(shape("TestReport"))
        Draft202012Validator.check_schema(schema)
        return Draft202012Validator(closed(schema))

    def test_it_knows_every_field_that_comes_out(self, strict: Draft202012Validator, broken: GuardTestRun) -> None:
        assert list(strict.iter_errors(json.loads(render_tests(broken, "json")))) == []

    def test_it_knows_those_of_coverage_and_mutation(self, strict: Draft202012Validator, tmp_path: Path) -> None:
        run = run_tests([write(tmp_path, a=PASSES)], coverage=True, mutation=Draw())
        report = json.loads(render_tests(run, "json"))
        assert report["coverage"]["points"] and report["mutation"]["survivors"]
        assert list(strict.iter_errors(report)) == []

    @pytest.mark.parametrize(
        ("path", "value"),
        [
            (("tests", 1, "outcome"), "skipped"),
            (("tests", 1, "failures", 0, "pointer"), None),
            (("tests", 1, "failures", 0, "span"), {"line": 0}),
            (("tests", 0, "calls"), -1),
            (("diagnostics", 0, "code"), "E1"),
            (("passed",), "1"),
        ],
    )
    def test_it_refuses_what_never_comes_out(
        self, path: tuple[str | int, ...], value: Any, broken: GuardTestRun
    ) -> None:
        report = inner = json.loads(render_tests(broken, "json"))
        for step in path[:-1]:
            inner = inner[step]
        inner[path[-1]] = value
        errors = list(Draft202012Validator(json.loads(shape("TestReport"))).iter_errors(report))
        assert {tuple(error.absolute_path)[: len(path)] for error in errors} == {path}

    def test_the_command_prints_it(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["schema", "TestReport"]) == 0
        assert capsys.readouterr().out == shape("TestReport")


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_comes_out_of_the_command_with_the_same_exit_code(
    form: str, broken: GuardTestRun, capsys: pytest.CaptureFixture[str]
) -> None:
    assert broken.passed is False
    assert main(["test", "--format", form, "."]) == 1
    assert "CG712" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("tests", "why"),
    [({"a": PASSES, "b": FAILS, "c": FAILS}, "2 tests do not pass"), ({}, "there is no test")],
)
def test_mutation_that_was_asked_for_and_left_out_says_why(tmp_path: Path, tests: dict[str, str], why: str) -> None:
    run = run_tests(write(tmp_path, **tests), mutation=Draw())
    for form in ("text", "markdown"):
        assert f"\nmutation: left out, {why}\n" in render_tests(run, form)
    report = json.loads(render_tests(run, "json"))
    assert report["mutation_left_out"] == why
    assert list(Draft202012Validator(json.loads(shape("TestReport"))).iter_errors(report)) == []
