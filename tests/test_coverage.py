"""Coverage of policy tests: what is counted, by which test, and what the command tells of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from callgate.cli.main import main
from callgate.review.coverage import Coverage
from callgate.testing import run_tests

POLICY = """\
apiVersion: callgate/v1
kind: GuardPolicy
metadata: {name: pay}
spec:
  tools: [shop]
  undeclared_tools: allow
  budgets:
    steps: 20
    tool_calls: 6
    calls_per_tool: {pay: 2, "*": 4}
    calls_per_group: {looks: 3}
    tokens: {limit: unlimited, reason: none are counted}
  time: {task: 1h, workflow: 2h}
  variables: {large: args.amount > 100}
  detectors:
    exact_repeat: {note_after: 2, refuse_after: 2}
    same_error: {note_after: 2}
    cycle: {laps: 2}
    for: {looks: {same_error: {note_after: 3}}}
  rules:
    - {id: ceiling, tools: [pay], when: 'variables.large && args.currency != "EUR"', action: refuse}
    - {id: dear, tools: [pay], phase: observe, when: result.fee > 5, action: note}
"""
TOOLS = """\
apiVersion: callgate/v1
kind: ToolManifest
metadata: {name: shop}
spec:
  tools:
    pay:
      effect: write
      parameters:
        type: object
        required: [amount, currency]
        properties: {amount: {type: number}, currency: {type: string}}
    look: &look
      groups: [looks]
      effect: read
      parameters: {type: object}
      forms:
        - {when: args.?wait.orValue(false) == true, waiting: {max_unchanged: 2, min_interval: 1s}}
    gaze: {extends: look}
    peer: *look
"""


def test(name: str, *steps: str) -> str:
    body = "".join(f"    - {step}\n" for step in steps)
    return (
        f"apiVersion: callgate/v1\nkind: GuardTest\nmetadata: {{name: {name}}}\n"
        f"spec:\n  policy: pay\n  steps:\n{body}  expect: {{stop: {{}}}}\n"
    )


test.__test__ = False  # type: ignore[attr-defined]


def coverage(folder: Path, *tests: str) -> Coverage:
    (folder / "policy.yaml").write_text(POLICY)
    (folder / "tools.yaml").write_text(TOOLS)
    (folder / "a_test.yaml").write_text("---\n".join(tests))
    run = run_tests([folder], coverage=True)
    assert [found for found in run.diagnostics if found.severity == "error"] == []
    assert all(result.outcome != "error" for result in run.results), run.results
    assert run.coverage is not None
    return run.coverage


def met(found: Coverage) -> set[str]:
    """What some test exercises, in the words of the report."""
    return {
        f"{point.owner} {point.text or ''} {point.outcome}".replace("  ", " ") for point in found.points if point.tests
    }


PAY = "{tool: pay, arguments: {amount: %s, currency: %s}, result: {fee: %s}, time: %s}"


def test_a_rule_is_covered_both_ways_and_each_of_its_parts_by_the_values_that_it_had(tmp_path: Path) -> None:
    found = coverage(tmp_path, test("large", PAY % (200, "USD", 1, 1)))
    assert met(found) == {
        "the rule `ceiling` fires",
        "the rule `ceiling` variables.large is true",
        'the rule `ceiling` args.currency != "EUR" is true',
        "the variable `large` args.amount > 100 is true",
        "`pay` is called",
    }
    # `&&` looks no further than the first part that is false
    found = coverage(tmp_path, test("small", PAY % (2, "USD", 1, 1)))
    assert met(found) == {
        "the rule `ceiling` does not fire",
        "the rule `ceiling` variables.large is false",
        "the variable `large` args.amount > 100 is false",
        "the rule `dear` does not fire",
        "`pay` is called",
    }


def test_it_is_told_which_tests_fire_a_rule_so_that_one_giant_test_hides_nothing(tmp_path: Path) -> None:
    large = PAY % (200, "USD", 1, 1)
    found = coverage(tmp_path, test("one", large), test("two", large, PAY % (2, "USD", 9, 2)))
    tests = {(point.owner, point.outcome): point.tests for point in found.points if point.kind == "rule"}
    assert tests == {
        ("the rule `ceiling`", "fires"): ("one", "two"),
        ("the rule `ceiling`", "does not fire"): ("two",),
        ("the rule `dear`", "fires"): ("two",),
        ("the rule `dear`", "does not fire"): (),
    }


def test_a_rung_is_covered_where_it_is_written_and_not_by_the_rung_of_a_group(tmp_path: Path) -> None:
    fails = "{tool: %s, arguments: {%s}, error: {type: broken}, times: %s}"
    general = "`note_after` of `same_error` notes"
    special = "`note_after` of `same_error` for `looks` notes"
    found = met(coverage(tmp_path, test("pay", fails % ("other", "a: 1", 2))))
    assert general in found and special not in found
    found = met(coverage(tmp_path, test("look", fails % ("look", "a: 1", 2), fails % ("look", "a: 2", 1))))
    assert special in found and general not in found


def test_the_rungs_of_repeats_and_cycles_are_told_apart_by_what_they_do(tmp_path: Path) -> None:
    again = "{tool: look, arguments: {a: 1}, result: [1], times: 3}"
    found = {
        each for each in met(coverage(tmp_path, test("again", again))) if "exact_repeat" in each or "cycle" in each
    }
    assert found == {
        "`note_after` of `exact_repeat` notes",
        "`refuse_after` of `exact_repeat` refuses",
        "`laps` of `cycle` notes",
        "`laps` of `cycle` refuses",
    }


@pytest.mark.parametrize(
    ("steps", "budgets"),
    [
        (["{tool: pay, arguments: {amount: 1, currency: A}, result: {fee: 1}, times: 2}"], set()),
        (
            [PAY % (number, "EUR", number, number) for number in range(3)],
            {"`budgets.calls_per_tool.pay` is used up"},
        ),
        (
            [f"{{tool: look, arguments: {{a: {number}}}, result: [{number}]}}" for number in range(4)],
            {"`budgets.calls_per_group.looks` is used up"},
        ),
        (
            [f"{{tool: other, arguments: {{a: {number}}}, result: [{number}]}}" for number in range(7)],
            {"`budgets.calls_per_tool.*` is used up"},
        ),
        (
            [f"{{tool: t{number}, arguments: {{}}, result: [{number}]}}" for number in range(7)],
            {"`budgets.tool_calls` is used up"},
        ),
        (["{tool: a, time: 0}", "{tool: b, time: 1h}"], {"`time.task` is used up"}),
        (["{tool: a, time: 0}", "{tool: b, time: 2h}"], {"`time.task` is used up"}),
    ],
)  # fmt: skip
def test_a_budget_is_covered_by_the_call_that_it_refuses(steps: list[str], budgets: set[str], tmp_path: Path) -> None:
    found = met(coverage(tmp_path, test("one", *steps)))
    assert {each for each in found if "is used up" in each and "tool_calls" not in each} == {
        each for each in budgets if "tool_calls" not in each
    }
    assert ("`budgets.tool_calls` is used up" in found) == ("`budgets.tool_calls` is used up" in budgets)


def test_forms_are_told_apart_and_an_alias_counts_for_the_tool_that_it_is(tmp_path: Path) -> None:
    found = met(coverage(tmp_path, test("gaze", "{tool: gaze, arguments: {wait: true}, result: a}")))
    assert "form 1 of `look` is taken" in found and "`look` is called in no form" not in found
    found = met(coverage(tmp_path, test("peer", "{tool: peer, result: a}")))
    assert "`look` is called in no form" in found and "form 1 of `look` is taken" not in found
    owners = {point.owner for point in coverage(tmp_path, test("peer", "{tool: peer, result: a}")).points}
    assert not any("gaze" in owner or "peer" in owner for owner in owners)


def test_the_limits_of_a_wait_are_told_apart(tmp_path: Path) -> None:
    wait = "{tool: look, arguments: {wait: true}, result: a, time: %s, times: %s}"
    found = met(coverage(tmp_path, test("soon", wait % (1, 1), wait % (1.5, 1))))
    assert "`waiting.min_interval` of form 1 of `look` speaks" in found
    assert "`waiting.max_unchanged` of form 1 of `look` speaks" not in found
    found = met(coverage(tmp_path, test("stale", wait % (1, 1), wait % (9, 1))))
    assert "`waiting.max_unchanged` of form 1 of `look` speaks" in found


def test_what_a_policy_inherits_and_what_a_test_writes_itself_is_not_counted(tmp_path: Path) -> None:
    (tmp_path / "a_test.yaml").write_text(
        "apiVersion: callgate/v1\nkind: GuardTest\nmetadata: {name: own}\nspec:\n"
        "  policy: {extends: [default], rules: [{id: r, when: 'true', action: note}]}\n"
        "  manifests: [{tools: {a: {effect: read}}}]\n  steps: [{tool: a}]\n  expect: {notes: 1}\n"
    )
    run = run_tests([tmp_path], coverage=True)
    assert run.coverage == Coverage([])
    assert run.coverage.share == 1.0


def test_edges_needs_and_exits_are_covered_by_how_the_runs_of_the_procurement_pack_go(root: Path) -> None:
    run = run_tests([root / "policies" / "procurement"], coverage=True)
    assert run.coverage is not None
    kinds = {kind: run.coverage.kinds[kind] for kind in ("edge", "need", "exit")}
    assert kinds == {"edge": (2, 2), "need": (2, 2), "exit": (2, 2)}


@pytest.mark.parametrize("pack", ["default", "procurement", "sql"])
def test_a_policy_that_is_watched_decides_as_one_that_is_not(pack: str, root: Path) -> None:
    paths = [root / "policies" / pack]
    plain, watched = run_tests(paths), run_tests(paths, coverage=True)
    assert [result.rows for result in watched.results] == [result.rows for result in plain.results]


def test_policies_under_bindings_are_covered_each_by_the_runs_of_those_whom_it_is_for(tmp_path: Path) -> None:
    for name, limit in (("a", 1), ("b", 2)):
        (tmp_path / f"{name}.yaml").write_text(
            f"apiVersion: callgate/v1\nkind: GuardPolicy\nmetadata: {{name: {name}}}\nspec:\n"
            "  undeclared_tools: allow\n  budgets: {preset: simple}\n"
            f"  rules: [{{id: r{name}, when: args.n > {limit}, action: refuse}}]\n"
            f"---\napiVersion: callgate/v1\nkind: GuardBinding\nmetadata: {{name: to-{name}}}\n"
            f"spec: {{policy: {name}, match: {{tenants: [{name}]}}}}\n"
        )
    (tmp_path / "a_test.yaml").write_text(
        "apiVersion: callgate/v1\nkind: GuardTest\nmetadata: {name: of b}\nspec:\n"
        "  tenant: b\n  steps: [{tool: t, arguments: {n: 2}}, {tool: t, arguments: {n: 3}}]\n  expect: {refusals: 1}\n"
    )
    run = run_tests([tmp_path], coverage=True)
    assert run.passed, run
    assert run.coverage is not None
    rules = {(point.owner, point.outcome): point.tests for point in run.coverage.points if point.kind == "rule"}
    assert rules == {
        ("the rule `ra`", "fires"): (),
        ("the rule `ra`", "does not fire"): (),
        ("the rule `rb`", "fires"): ("of b",),
        ("the rule `rb`", "does not fire"): ("of b",),
    }


class TestOfTheCommand:
    def write(self, folder: Path) -> Path:
        (folder / "policy.yaml").write_text(POLICY)
        (folder / "tools.yaml").write_text(TOOLS)
        steps = PAY % (200, "USD", 1, 1)
        (folder / "a_test.yaml").write_text(test("large", steps).replace("{stop: {}}", "{refusals: 1}"))
        return folder

    def test_it_tells_shares_by_kind_the_tests_of_each_rule_and_what_is_missing_with_its_place(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["test", str(self.write(tmp_path)), "--coverage"]) == 0
        told = capsys.readouterr().out
        assert "  rules, both ways                   1 of 4     25.0 %\n" in told
        assert "  the rule `ceiling`: 1 (large)\n  the rule `dear`: none\n" in told
        [(line, row)] = [(at, row) for at, row in enumerate(POLICY.splitlines(), 1) if "id: ceiling" in row]
        column = row.index("args.currency") + 1
        missing = f'policy.yaml:{line}:{column}  the rule `ceiling`: `args.currency != "EUR"` is false'
        assert f"  {tmp_path}/{missing}\n" in told

    @pytest.mark.parametrize(("least", "code"), [("5", 0), ("95", 1), ("101", 2), ("much", 2)])
    def test_it_fails_below_a_share(
        self, least: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["test", str(self.write(tmp_path)), "--min-coverage", least]) == code
        told = capsys.readouterr()
        assert ("% are covered, and 95 % are wanted\n" in told.err) == (code == 1)

    def test_json_has_every_point_with_its_tests(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        main(["test", str(self.write(tmp_path)), "--coverage", "--format", "json"])
        told = json.loads(capsys.readouterr().out)["coverage"]
        assert set(told) == {"share", "covered", "all", "kinds", "points"}
        assert told["covered"] == sum(bool(point["tests"]) for point in told["points"])
        assert told["all"] == len(told["points"])
        [fires] = [it for it in told["points"] if it["owner"] == "the rule `ceiling`" and it["outcome"] == "fires"]
        assert (fires["kind"], fires["tests"], fires["text"]) == ("rule", ["large"], None)

    def test_markdown_is_a_summary(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        main(["test", str(self.write(tmp_path)), "--coverage", "--format", "markdown"])
        told = capsys.readouterr().out
        assert "\n#### Coverage\n\n| what | covered | of | share |\n" in told
        assert "\n| rules, both ways | 1 | 4 | 25.0 % |\n" in told
        assert " the rule `dear` fires\n" in told
