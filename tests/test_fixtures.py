"""Fixtures and waits of policy tests: steps that several tests share, and time that passes between two steps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from callgate.cli.main import main
from callgate.policy.check import check
from callgate.policy.fixtures import Fixtures, PlacedStep
from callgate.policy.load import load
from callgate.testing import GuardTestRun, run_tests
from callgate.testing.mutate import Draw
from callgate.testing.steps import written

HEAD = """\
apiVersion: callgate/v1
kind: GuardTest
metadata: {name: NAME}
spec:
"""
POLICY = """\
  policy:
    {undeclared_tools: allow, budgets: {preset: simple}, detectors: {exact_repeat: {note_after: 2, refuse_after: 3}}}
  manifests: [{tools: {look: {effect: read}, wait_for: {effect: read, waiting: {min_interval: 2s}}}}]
"""
HOME = """\
  fixtures:
    looked:
      - {tool: look, result: 1}
    looked twice:
      - use: looked
      - use: looked
"""


def document(name: str, body: str, policy: str = POLICY) -> str:
    return HEAD.replace("NAME", name) + policy + body


def write(folder: Path, *documents: str, name: str = "a_test.yaml") -> Path:
    (folder / name).write_text("---\n".join(documents))
    return folder


def ran(folder: Path, *documents: str, **options: Any) -> GuardTestRun:
    return run_tests([write(folder, *documents)], **options)


def found(folder: Path) -> list[tuple[str, str, str, str | None]]:
    """The diagnostics of a folder: code, `line:column`, message, hint."""
    return [
        (each.code, f"{each.span.line}:{each.span.column}" if each.span else "", each.message, each.hint)
        for each in check(load([folder]))
    ]


class TestSteps:
    def test_a_use_stands_for_the_steps_of_a_fixture_and_of_those_that_it_uses(self, tmp_path: Path) -> None:
        home = document("home", HOME, policy="")
        # seq 2 and 3 are equal answers to the first, so the fourth call is refused
        steps = "  steps:\n    - use: looked twice\n    - {tool: look, result: 1, expect: {notes: [exact_repeat]}}\n"
        more = "    - {tool: look, expect: {action: refuse}}\n  expect: {first_note: {from: 2, by: 2}}\n"
        run = ran(tmp_path, home, document("one", steps + more))
        assert [(each.name, each.outcome, len(each.rows)) for each in run.results] == [("one", "passed", 4)]
        assert run.passed

    def test_times_repeats_a_whole_fixture(self, tmp_path: Path) -> None:
        home = document("home", "  fixtures:\n    both: [{tool: look, result: 1}, {tool: other}]\n", policy="")
        write(tmp_path, home, document("one", "  steps:\n    - {use: both, times: 2}\n  expect: {refusals: 0}\n"))
        loaded = load([tmp_path])
        placed = Fixtures(loaded).steps_of(loaded.of_kind("GuardTest")[1])
        pointer = ("spec", "fixtures", "both")
        assert [(each.step["tool"], each.pointer, each.use) for each in placed] == [
            ("look", (*pointer, 0), 1), ("other", (*pointer, 1), 1),
            ("look", (*pointer, 0), 2), ("other", (*pointer, 1), 2),
        ]  # fmt: skip

    def test_a_test_may_declare_what_it_and_others_use(self, tmp_path: Path) -> None:
        uses = "  steps: [{use: looked}]\n  expect: {refusals: 0}\n"
        run = ran(tmp_path, document("one", "  fixtures: {looked: [{tool: look}]}\n" + uses), document("two", uses))
        assert [(each.name, each.outcome) for each in run.results] == [("one", "passed"), ("two", "passed")]

    def test_an_expectation_of_a_fixture_holds_wherever_it_is_used_and_is_told_where_it_is_written(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        home = document("home", "  fixtures:\n    noted: [{tool: look, result: 1, expect: {notes: 0}}]\n", policy="")
        run = ran(tmp_path, home, document("one", "  steps:\n    - {tool: look, result: 1}\n    - use: noted\n"))
        [missed] = run.results[0].missed
        assert (missed.failure.pointer, missed.failure.what) == (
            ("spec", "fixtures", "noted", 0, "expect", "notes"), "notes",
        )  # fmt: skip
        assert (missed.span.line, missed.span.column) == (6, 46)
        assert main(["test", str(tmp_path)]) == 1
        assert "6 |     noted: [{tool: look, result: 1, expect: {notes: 0}}]" in capsys.readouterr().out

    def test_a_failure_in_a_fixture_says_at_which_of_its_uses(self, tmp_path: Path) -> None:
        home = "  fixtures:\n    in: [{tool: look, expect: {action: reuse}}]\n    out: [{use: in}]\n"
        body = "  steps:\n    - use: in\n    - {tool: other}\n    - {use: out, times: 2}\n"
        [result] = ran(tmp_path, document("one", home + body)).results
        assert [missed.failure.actual for missed in result.missed] == [
            "`allow` (at seq 1, used in line 12)",
            "`allow` (at seq 3, used in line 14)",
            "`allow` (at seq 4, used in line 14)",
        ]

    def test_a_batch_of_a_fixture_is_one_by_itself_at_each_use(self, tmp_path: Path) -> None:
        home = document("home", "  fixtures:\n    pair: [{tool: a, round: 1}, {tool: b, round: 1}]\n", policy="")
        steps = "  steps:\n    - {tool: c, round: 1}\n    - {use: pair, times: 2}\n    - {tool: d, round: 1}\n"
        run = ran(tmp_path, home, document("one", steps + "  expect: {refusals: 0}\n"))
        rounds = [row["round"] for row in run.results[0].rows]
        assert [rounds.index(each) for each in rounds] == [0, 1, 1, 3, 3, 0]

    def test_fixtures_alone_are_no_test_and_their_faults_are_those_of_the_tests_that_use_them(
        self, tmp_path: Path
    ) -> None:
        home = document("home", "  fixtures:\n    looked: [{tool: look, event: user_turn}]\n", policy="")
        uses = document("one", "  steps: [{use: looked}]\n  expect: {refusals: 0}\n")
        other = document("two", "  steps: [{tool: look}]\n  expect: {refusals: 0}\n")
        run = ran(tmp_path, home, uses, other)
        assert [(each.name, each.outcome) for each in run.results] == [("one", "error"), ("two", "passed")]
        assert [each.code for each in run.results[0].diagnostics] == ["CG416"]
        assert [each.code for each in run.diagnostics] == ["CG416"]
        assert not run.passed

    def test_a_folder_with_nothing_but_fixtures_has_no_test(self, tmp_path: Path) -> None:
        home = document("home", "  fixtures:\n    looked: [{tool: look}]\n", policy="")
        assert main(["test", str(write(tmp_path, home))]) == 3

    def test_a_step_that_cannot_be_judged_is_told_where_it_is_written(self, tmp_path: Path) -> None:
        home = document("home", "  fixtures:\n    back: [{event: restore}]\n", policy="")
        steps = "  steps:\n    - {tool: look}\n    - use: back\n  expect: {notes: 0}\n"
        [error] = ran(tmp_path, home, document("one", steps)).results[0].diagnostics
        assert (error.code, error.message) == ("CG713", "`restore` without a `snapshot` before it")
        assert error.span is not None and (error.span.line, error.span.column) == (6, 13)

    def test_a_long_chain_of_fixtures_is_gone_through_and_a_run_beyond_all_measure_is_an_error(
        self, tmp_path: Path
    ) -> None:
        chain = "".join(f"    f{at}: [{{use: f{at + 1}}}]\n" for at in range(3000))
        home = document("home", f"  fixtures:\n{chain}    f3000: [{{tool: look}}]\n", policy="")
        run = ran(tmp_path, home, document("one", "  steps: [{use: f0}]\n  expect: {refusals: 0}\n"))
        assert run.passed
        grows = "".join(f"    f{at}: [{{use: f{at + 1}, times: 100}}]\n" for at in range(9))
        home = document("home", f"  fixtures:\n{grows}    f9: [{{tool: look}}]\n", policy="")
        run = ran(tmp_path, home, document("one", "  steps: [{use: f0}]\n  expect: {refusals: 0}\n"))
        [error] = run.results[0].diagnostics
        assert (error.code, error.message) == ("CG713", "the run uses fixtures more than 1,000,000 times")


class TestWait:
    def placed(self, tmp_path: Path, *steps: dict[str, Any]) -> list[PlacedStep]:
        [document_] = load([write(tmp_path, document("one", "  steps: [{tool: look}]\n"))]).of_kind("GuardTest")
        return [PlacedStep(step, document_, ("spec", "steps", at)) for at, step in enumerate(steps)]

    def times(self, tmp_path: Path, *steps: dict[str, Any]) -> list[float | None]:
        lines = written(self.placed(tmp_path, *steps), "s").lines.splitlines()
        return [json.loads(line).get("time") for line in lines]

    def test_it_counts_from_the_end_of_the_step_before_to_the_beginning_of_this_one(self, tmp_path: Path) -> None:
        look = {"tool": "look"}
        # 3 is when the first ended; 3 + 2; the next takes half a second itself: 5 + 1 + 0.5
        assert self.times(
            tmp_path, {**look, "time": 3}, {**look, "wait": "2s"}, {**look, "wait": 1, "duration": "500ms"}
        ) == [3.0, 5.0, 6.5]

    def test_a_run_begins_at_0_and_a_step_that_says_no_time_takes_none(self, tmp_path: Path) -> None:
        look = {"tool": "look"}
        assert self.times(tmp_path, {**look, "wait": 2}, look, {**look, "wait": 2}) == [2.0, None, 4.0]

    def test_each_repetition_waits(self, tmp_path: Path) -> None:
        assert self.times(tmp_path, {"tool": "look", "wait": "2s", "times": 3}) == [2.0, 4.0, 6.0]

    def test_an_event_may_wait_too(self, tmp_path: Path) -> None:
        event = {"event": "user_turn", "by": "human", "wait": "1m"}
        assert self.times(tmp_path, {"tool": "look", "time": 5}, event) == [5.0, 65.0]

    def test_the_engine_sees_the_time_pass(self, tmp_path: Path) -> None:
        steps = (
            "  steps:\n    - {tool: wait_for, result: 1}\n"
            "    - {tool: wait_for, wait: 1.9, expect: {action: refuse, reasons: [stale_wait]}}\n"
            "    - {tool: wait_for, wait: 100ms, result: 2, expect: {action: allow}}\n"
        )
        assert ran(tmp_path, document("one", steps)).passed


class TestFaults:
    def test_an_unknown_fixture_is_an_error_with_the_nearest_name(self, tmp_path: Path) -> None:
        steps = "  steps: [{use: lookd}, {use: xyz}]\n  expect: {notes: 0}\n"
        write(tmp_path, document("home", HOME, policy=""), document("one", steps + "# end\n"))
        write(tmp_path, document("other", "  steps: [{use: looked}]\n  expect: {notes: 0}\n"), name="b_test.yaml")
        assert [each for each in found(tmp_path) if each[0] == "CG715"] == [
            ("CG715", "19:17", "unknown fixture `lookd`", "did you mean `looked`?"),
            ("CG715", "19:31", "unknown fixture `xyz`", "known here: `looked`, `looked twice`"),
            (
                "CG715",
                "8:17",
                "unknown fixture `looked`",
                f"`{tmp_path}/a_test.yaml` has one, which is for the tests of that file",
            ),
        ]

    def test_a_fixture_that_no_test_uses_is_a_warning_also_where_another_such_uses_it(self, tmp_path: Path) -> None:
        write(
            tmp_path,
            document("home", HOME, policy=""),
            document("one", "  steps: [{tool: look, expect: {notes: 0}}]\n"),
        )
        hint = "use it with `use:` in a test of this file, or take it out"
        assert found(tmp_path) == [
            ("CG716", "6:5", "no test uses the fixture `looked`", hint),
            ("CG716", "8:5", "no test uses the fixture `looked twice`", hint),
        ]
        assert main(["check", str(tmp_path)]) == 0
        uses = document("one", "  steps: [{use: looked twice}]\n  expect: {refusals: 0}\n")
        assert found(write(tmp_path, document("home", HOME, policy=""), uses)) == []

    def test_fixtures_that_are_made_of_themselves_are_an_error_where_the_circle_closes(self, tmp_path: Path) -> None:
        home = "  fixtures:\n    a: [{use: b}]\n    b: [{tool: look}, {use: c}]\n    c: [{use: b}]\n    d: [{use: d}]\n"
        uses = "  steps: [{use: a}, {use: d}]\n  expect: {notes: 0}\n"
        write(tmp_path, document("home", home, policy=""), document("one", uses))
        assert found(tmp_path) == [
            ("CG717", "8:15", "fixtures go round in a circle: `b` → `c` → `b`", None),
            ("CG717", "9:15", "fixtures go round in a circle: `d` → `d`", None),
        ]
        run = run_tests([tmp_path])
        assert [(each.name, each.outcome) for each in run.results] == [("one", "error")]

    def test_two_fixtures_of_one_name_in_a_file_are_an_error(self, tmp_path: Path) -> None:
        body = "  fixtures: {looked: [{tool: look}]}\n  steps: [{use: looked}]\n  expect: {refusals: 0}\n"
        write(tmp_path, document("one", body), document("two", body))
        [fault] = check(load([tmp_path]))
        assert (fault.code, fault.message) == ("CG718", "a second fixture named `looked`")
        assert fault.span is not None and (fault.span.line, fault.span.column) == (19, 14)
        [first] = fault.related
        assert first.span is not None and (first.message, first.span.line) == ("the first one", 8)

    def test_the_fixtures_of_one_file_are_not_those_of_another(self, tmp_path: Path) -> None:
        body = "  fixtures: {looked: [{tool: look}]}\n  steps: [{use: looked}]\n  expect: {refusals: 0}\n"
        write(tmp_path, document("one", body))
        write(tmp_path, document("two", body), name="b_test.yaml")
        assert found(tmp_path) == []

    @pytest.mark.parametrize(
        ("step", "at", "message"),
        [
            ("{use: looked, expect: {notes: 0}}", "9:25", "`expect` says nothing beside `use`: the steps of the"),
            ("{use: looked, tool: look}", "9:25", "`tool` says nothing beside `use`: the steps of the"),
            ("{use: looked, wait: 1s}", "9:25", "`wait` says nothing beside `use`: the steps of the"),
            ("{tool: look, time: 1, wait: 1}", "9:33", "`time` and `wait` exclude each other: the step ends at"),
        ],
    )
    def test_keys_that_exclude_each_other_are_an_error(self, tmp_path: Path, step: str, at: str, message: str) -> None:
        body = f"  fixtures: {{looked: [{{tool: look}}]}}\n  steps: [{step}, {{use: looked}}]\n  expect: {{notes: 0}}\n"
        write(tmp_path, document("one", body))
        [(code, place, told, _)] = found(tmp_path)
        assert (code, place, told[: len(message)]) == ("CG416", at, message)

    def test_fixtures_with_an_expectation_and_without_a_run_lack_the_run(self, tmp_path: Path) -> None:
        write(tmp_path, document("one", HOME + "  expect: {notes: 0}\n"))
        assert ("CG202", "4:1", "`spec` lacks the run: the key `trace` or `steps`") in [
            each[:3] for each in found(tmp_path)
        ]


def test_coverage_and_mutation_see_the_steps_of_fixtures(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(
        "apiVersion: callgate/v1\nkind: GuardPolicy\nmetadata: {name: mine}\nspec:\n  undeclared_tools: allow\n"
        "  budgets: {steps: 9, tokens: 9}\n  time: {task: 1m}\n"
        "  rules: [{id: ceiling, tools: [pay], when: args.amount > 5, action: refuse}]\n"
    )
    home = "  fixtures:\n    above: [{tool: pay, arguments: {amount: 6}, expect: {action: refuse}}]\n"
    home += "    at: [{tool: pay, arguments: {amount: 5}, expect: {action: allow}}]\n"
    test = document("one", "  policy: mine\n  steps: [{use: above}, {use: at}]\n", policy="")
    run = ran(tmp_path, document("home", home, policy=""), test, coverage=True, mutation=Draw())
    assert run.passed and run.coverage is not None and run.mutation is not None
    assert run.coverage.kinds["rule"] == (2, 2)
    of_rule = [each for each in run.mutation.survivors if each.pointer.startswith("/spec/rules")]
    assert of_rule == []
