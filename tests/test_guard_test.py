"""Policy tests: each expectation is met or failed where it should be, with its place, and nothing passes in silence."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from callgate.cli.main import main
from callgate.policy.load import beside_tests, load
from callgate.policy.open import open_policy
from callgate.review.divergence import diverge
from callgate.testing import GuardTestResult, run_tests
from callgate.tools.unused import unused_tools

HEAD = """\
apiVersion: callgate/v1
kind: GuardTest
metadata: {name: NAME}
spec:
  policy:
    undeclared_tools: allow
    budgets: {steps: 20, tool_calls: 10, tokens: {limit: unlimited, reason: none are counted}}
    time: {task: 1h}
    detectors: {exact_repeat: {note_after: 2, refuse_after: 2}, no_gain: {exit_after: 3}}
    ladder: {reuse_reads: 1, stop_after_refusals: 1, deterministic_stop_after: 1}
  manifests:
    - tools: {read: {effect: read}, shell: {effect: unknown}, other: {effect: read}}
"""
UNKNOWN = "unknown: the policy declares no `needs`, so nothing tells how far a run got that was not stopped"
# five equal calls: ok, ok with a note, refused, stopped, refused after the stop
LOOP = "  steps:\n    - {tool: shell, arguments: {c: x}, result: same, times: 5}\n"
ELSE = (
    "2 times. Calling it again will not tell you more. Use the result, change something first, or take another way. "
    "The task"
)


def result(folder: Path, body: str, name: str = "one") -> GuardTestResult:
    (folder / "a_test.yaml").write_text(HEAD.replace("NAME", name) + body)
    run = run_tests([folder / "a_test.yaml"])
    assert list(run.diagnostics) == []
    [found] = run.results
    return found


def missed(folder: Path, body: str) -> list[tuple[str, str, str]]:
    found = result(folder, body)
    assert found.outcome == ("failed" if found.missed else "passed"), found.diagnostics
    return [(each.failure.what, each.failure.expected, each.failure.actual) for each in found.missed]


class TestOfARun:
    def test_all_that_is_met_passes(self, tmp_path: Path) -> None:
        expect = (
            "  expect: {first_note: {from: 2, by: 2}, first_intervention: {from: 3, by: 3}, stop: {from: 4, by: 4},"
            " reasons: [cycle, exact_repeat], refusals: 3, reuses: 0, notes: 1, status: incomplete, exit: escalate}\n"
        )
        found = result(tmp_path, LOOP + expect)
        assert (found.outcome, found.unasserted) == ("passed", [])
        assert [row["action"] for row in found.rows] == ["allow", "allow", "refuse", "stop", "refuse"]

    @pytest.mark.parametrize(
        ("expect", "told"),
        [
            ("first_note: {by: 1}", ("first_note", "at seq 1 or before", "at seq 2")),
            ("first_note: {from: 3}", ("first_note", "not before seq 3", "at seq 2")),
            ("first_intervention: {by: 2}", ("first_intervention", "at seq 2 or before", "at seq 3")),
            ("stop: {by: 3}", ("stop", "at seq 3 or before", "at seq 4")),
            ("stop: {from: 5}", ("stop", "not before seq 5", "at seq 4")),
            ("reasons: [cycle]", ("reasons", "one of `cycle` at the first intervention", "`exact_repeat`")),
            ("refusals: 2", ("refusals", "2 refusals", "3, at seq 3, 4, 5")),
            ("reuses: 1", ("reuses", "1 reuse", "none")),
            ("notes: 0", ("notes", "0 notes", "1, at seq 2")),
            ("refusals: 1", ("refusals", "1 refusal", "3, at seq 3, 4, 5")),
            ("status: complete", ("status", "`complete`", "`incomplete`")),
            ("exit: finish", ("exit", "`finish`", "`escalate`")),
        ],
    )
    def test_what_is_not_met_is_told(self, tmp_path: Path, expect: str, told: tuple[str, str, str]) -> None:
        assert missed(tmp_path, f"{LOOP}  expect: {{{expect}}}\n") == [told]

    @pytest.mark.parametrize(
        ("expect", "actual"),
        [
            ("first_note: {by: 9}", "no note"),
            ("first_intervention: {from: 1}", "no ask, refusal, reuse or stop"),
            ("stop: {}", "no stop"),
            ("reasons: [cycle]", "no intervention"),
            ("exit: finish", "the run was not stopped, and so has no exit decision"),
            ("status: complete", UNKNOWN),
            ("status: incomplete", UNKNOWN),
            ("missing: [[null, price]]", "nothing missing"),
        ],
    )
    def test_what_never_happens_or_cannot_be_told_fails(self, tmp_path: Path, expect: str, actual: str) -> None:
        healthy = "  steps: [{tool: shell, result: a}]\n"
        assert [told[2] for told in missed(tmp_path, f"{healthy}  expect: {{{expect}}}\n")] == [actual]

    def test_a_stop_by_what_a_call_brought_counts_as_stop_and_refusal(self, tmp_path: Path) -> None:
        # reads of three tools, each result known: the task-wide streak of calls without gain reaches 3 at seq 4
        steps = "  steps:\n" + "".join(
            f"    - {{tool: {tool}, arguments: {{n: {n}}}, result: same{', expect: {next: exit}' if n == 3 else ''}}}\n"
            for n, tool in enumerate(["read", "other", "read", "other", "read"])
        )
        expect = (
            "  expect: {first_intervention: {from: 4, by: 4}, stop: {from: 4, by: 4}, refusals: 2, reasons: [no_gain]}"
        )
        found = result(tmp_path, steps + expect + "\n")
        assert (found.outcome, [row["action"] for row in found.rows]) == ("passed", ["allow"] * 4 + ["refuse"])


class TestOfAStep:
    def test_all_that_is_met_passes(self, tmp_path: Path) -> None:
        body = """\
  steps:
    - tool: read
      arguments: {c: x}
      result: [1]
      tokens: 5
      expect: {action: allow, reasons: [], grade: sufficient, gaps: [], next: continue, notes: 0}
    - tool: read
      arguments: {c: x}
      result: [1]
      expect: {notes: [exact_repeat], budget: {steps: {used: 2, left: 18, share: 0.1}, tokens: {used: 5}}}
    - {tool: read, arguments: {c: x}, result: [1], expect: {action: reuse, reasons: [exact_repeat]}}
    - {tool: shell, error: {type: timeout, message: late}, expect: {grade: failed}}
"""
        assert missed(tmp_path, body) == []

    @pytest.mark.parametrize(
        ("expect", "told"),
        [
            ("action: stop", ("action", "`stop`", "`refuse`")),
            ("reasons: [exact_repeat, cycle]", ("reasons", "all of `exact_repeat`, `cycle`", "`exact_repeat`")),
            ("code: NO_DATA", ("code", "`NO_DATA`", "`DUPLICATE_TOOL_CALL_BLOCKED`")),
            ("grade: empty", ("grade", "`empty`", "none: the call did not run (refuse)")),
            ("next: retry", ("next", "`retry`", "none: the call did not run (refuse)")),
            ("notes: 2", ("notes", "2 notes", "no notes")),
            ("notes: [cycle]", ("notes", "notes `cycle`", "no notes")),
            ("gaps: [[a, price]]", ("gaps", "[['a', 'price']]", "[]")),
            ("budget: {tool_calls: {used: 3}}", ("budget", "`tool_calls` used 3", "2")),
            ("budget: {tool_calls: {left: 7}}", ("budget", "`tool_calls` left 7", "8")),
            ("budget: {tokens: {left: 7}}", ("budget", "7", "`tokens` has no limit")),
        ],
    )
    def test_what_is_not_met_is_told(self, tmp_path: Path, expect: str, told: tuple[str, str, str]) -> None:
        call = "tool: shell, arguments: {c: x}, result: same"
        body = f"  steps:\n    - {{{call}, times: 2}}\n    - {{{call}, expect: {{{expect}}}}}\n"
        assert missed(tmp_path, body) == [told]

    @pytest.mark.parametrize("expect", ["budget: {depth: {used: 1}}"])
    def test_what_callgate_cannot_tell_yet_fails(self, tmp_path: Path, expect: str) -> None:
        [(_, _, actual)] = missed(tmp_path, f"  steps: [{{tool: shell, result: a, expect: {{{expect}}}}}]\n")
        assert actual.startswith("not yet: ")

    def test_every_repetition_has_to_show_it(self, tmp_path: Path) -> None:
        body = LOOP.replace("times: 5", "times: 5, expect: {action: allow, budget: {tool_calls: {used: 2}}}")
        found = result(tmp_path, body)
        [failure] = [each.failure for each in found.missed]
        assert (failure.actual, failure.row) == ("`refuse`", 2)

    def test_an_event_shows_nothing(self, tmp_path: Path) -> None:
        body = "  steps: [{tool: shell}, {event: compaction, expect: {notes: 0}}]\n"
        assert [told[2] for told in missed(tmp_path, body)] == ["the step is no call: nothing was decided"]

    def test_steps_of_one_round_are_one_batch_and_times_are_seconds(self, tmp_path: Path) -> None:
        body = """\
  steps:
    - {tool: shell, arguments: {c: x}, round: 1, time: 1s, duration: 500ms, result: a, expect: {action: allow}}
    - {tool: shell, arguments: {c: x}, round: 1, time: 1.5, result: a, expect: {reasons: [duplicate_in_batch]}}
    - {event: user_turn, by: human, time: 2m}
    - {tool: shell, arguments: {c: y}, time: 59m, result: a, expect: {action: allow}}
    - {tool: shell, arguments: {c: z}, time: 3600.5, duration: 500ms, result: a, expect: {reasons: [budget_time]}}
"""
        assert missed(tmp_path, body) == []


class TestPlaces:
    BODY = LOOP + "  expect:\n    stop:\n      by: 3\n    reuses: 4\n"

    def test_a_failure_has_the_place_of_its_expectation(self, tmp_path: Path) -> None:
        found = result(tmp_path, self.BODY)
        assert [(each.span.line, each.span.column, each.failure.row) for each in found.missed] == [
            (17, 7, 3), (18, 5, None),
        ]  # fmt: skip

    def test_the_text_shows_place_expectation_and_the_run_around_it(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.chdir(tmp_path)
        result(tmp_path, LOOP + "  expect: {stop: {by: 3}}\n")
        assert main(["test", "a_test.yaml"]) == 1
        assert (
            capsys.readouterr().out
            == """\
FAILED one
  --> a_test.yaml:15:19
   |
15 |   expect: {stop: {by: 3}}
   |                   ^^
  expected  stop: at seq 3 or before
  actual    at seq 4
  message   This exact call of `shell` has returned the same result 2 times. Calling it again will not tell you more. \
Use the result, change something first, or take another way. The task ends here.
    seq  tool   action  reasons                notes
    1    shell  allow
    2    shell  allow                          exact_repeat
    3    shell  refuse  exact_repeat
  > 4    shell  stop    exact_repeat
    5    shell  refuse  stopped, exact_repeat

1 failed, 0 passed
"""
        )

    def test_json_and_junit_say_the_same(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.chdir(tmp_path)
        result(tmp_path, LOOP + "  expect: {stop: {by: 3}}\n", name="a < b")
        assert main(["test", ".", "--format", "json"]) == 1
        found = json.loads(capsys.readouterr().out)
        [test] = found.pop("tests")
        assert found == {
            "version": 1, "passed": 0, "failed": 1, "errors": 0, "deselected": 0, "skipped": 0, "diagnostics": [],
        }  # fmt: skip
        seconds = test.pop("seconds")
        assert seconds >= 0
        assert test == {
            "name": "a < b", "description": "", "file": "a_test.yaml", "outcome": "failed", "calls": 5,
            "failures": [
                {
                    "expectation": "stop", "pointer": "/spec/expect/stop/by", "expected": "at seq 3 or before",
                    "span": {"line": 15, "column": 19, "end_line": 15, "end_column": 21}, "actual": "at seq 4",
                    "message": f"This exact call of `shell` has returned the same result {ELSE} ends here.",
                    "seq": 4, "values": [],
                }
            ],
            "diagnostics": [],
            "unasserted": [{"what": "note", "times": 1, "reasons": ["exact_repeat"]}],
        }  # fmt: skip
        assert main(["test", ".", "--format", "junit"]) == 1
        [suite] = ET.fromstring(capsys.readouterr().out)
        [case] = suite
        assert (suite.attrib["tests"], suite.attrib["failures"], case.attrib["name"]) == ("1", "1", "a < b")
        assert case[0].attrib["message"] == "a_test.yaml:15:19: stop: expected at seq 3 or before, got at seq 4"

    def test_github_and_markdown_say_where_and_what(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.chdir(tmp_path)
        result(tmp_path, LOOP + "  expect: {stop: {by: 3}}\n", name="a < b")
        (tmp_path / "b_test.yaml").write_text(HEAD.replace("NAME", "two") + LOOP)
        assert main(["test", ".", "--format", "github"]) == 1
        assert capsys.readouterr().out == (
            "::error file=a_test.yaml,line=15,endLine=15,col=19,endColumn=21,title=a < b"
            "::stop: expected at seq 3 or before, got at seq 4\n"
            "::error file=b_test.yaml,line=4,endLine=4,col=1,endColumn=5,title=CG712"
            "::the test expects nothing, and so cannot fail"
            "%0Ahelp: say with `expect:` what the run or one of its steps has to show\n"
            "2 failed, 0 passed\n"
        )
        assert main(["test", ".", "--format", "markdown"]) == 1
        assert capsys.readouterr().out == (
            "### callgate test\n\n2 failed, 0 passed\n\n| | test | where | what |\n|---|---|---|---|\n"
            "| failed | a &lt; b | `a_test.yaml:15:19` | stop: expected at seq 3 or before<br>got at seq 4 |\n"
            "| error | two | `b_test.yaml:4:1` | CG712: the test expects nothing, and so cannot fail"
            "<br>help: say with `expect:` what the run or one of its steps has to show |\n"
        )


class TestWhatCannotBeRun:
    @pytest.mark.parametrize(
        ("body", "told"),
        [
            (LOOP, ("CG712", 4, "the test expects nothing, and so cannot fail")),
            (LOOP + "  expect: {}\n", ("CG712", 4, "the test expects nothing, and so cannot fail")),
            ("  trace: none.jsonl\n  expect: {notes: 0}\n", ("CG710", 13, "no such trace file: `none.jsonl`")),
            ("  steps: []\n  expect: {notes: 0}\n", ("CG713", 13, "the run has no call")),
            ("  steps: [{tool: a, cost: 1}]\n  expect: {notes: 0}\n", (
                "CG713", 13, "`cost` counts on a step with `event: model_usage`, not on a call",
            )),
            ("  steps: [{event: restore}]\n  expect: {notes: 0}\n", (
                "CG713", 13, "`restore` without a `snapshot` before it",
            )),
        ],
    )  # fmt: skip
    def test_is_an_error_with_a_place(self, tmp_path: Path, body: str, told: tuple[str, int, str]) -> None:
        found = result(tmp_path, body)
        [error] = found.diagnostics
        assert error.span is not None
        assert (found.outcome, error.code, error.span.line, error.message) == ("error", *told)

    def test_a_trace_with_a_broken_line_is_an_error(self, tmp_path: Path) -> None:
        (tmp_path / "t.jsonl").write_text('{"session": "s", "tool": "t", "arguments": {}}\n{\n')
        [error] = result(tmp_path, "  trace: t.jsonl\n  expect: {notes: 0}\n").diagnostics
        assert error.code == "CG713" and f"{tmp_path}/t.jsonl:2: " in error.message

    def test_a_faulty_policy_is_shown_and_its_test_is_an_error(self, tmp_path: Path) -> None:
        found = result(tmp_path, LOOP.replace("steps", "stepps") + "  expect: {notes: 0}\n")
        assert (found.outcome, {each.code[:3] for each in found.diagnostics}) == ("error", {"CG2"})


def test_what_no_expectation_covers_is_reported(tmp_path: Path) -> None:
    def left(expect: str) -> list[tuple[Any, ...]]:
        return [tuple(each) for each in result(tmp_path, f"{LOOP}  expect: {{{expect}}}\n").unasserted]

    note = ("note", 1, ("exact_repeat",))
    assert left("refusals: 3") == [note]
    assert left("notes: 1") == [("refuse", 2, ("exact_repeat", "stopped")), ("stop", 1, ("exact_repeat",))]
    assert left("first_note: {by: 2}, first_intervention: {by: 3}") == [
        ("stop", 1, ("exact_repeat",)), ("refuse", 1, ("stopped", "exact_repeat")),
    ]  # fmt: skip
    assert left("first_note: {by: 2}, stop: {by: 4}") == []


class TestPaths:
    TEST = "apiVersion: callgate/v1\nkind: GuardTest\nmetadata: {name: NAME}\nspec:\n  policy: mine\n"
    STEPS = "  steps: [{tool: t, result: 1}]\n  expect: {notes: 0}\n"
    POLICY = (
        "apiVersion: callgate/v1\nkind: GuardPolicy\nmetadata: {name: mine}\n"
        "spec: {budgets: {steps: 9, tokens: 9}, time: {task: 1m}, undeclared_tools: allow}\n"
    )

    @pytest.fixture
    def folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.chdir(tmp_path)
        (tmp_path / "p.yaml").write_text(self.POLICY)
        for name in ("first", "second"):
            (tmp_path / f"{name}_test.yaml").write_text(self.TEST.replace("NAME", name) + self.STEPS)
        return tmp_path

    def test_a_policy_is_found_beside_a_test_that_is_named_by_file(self, folder: Path) -> None:
        run = run_tests(["first_test.yaml"])
        assert [(each.name, each.outcome) for each in run.results] == [("first", "passed")]
        assert run.passed

    def test_a_folder_runs_all_and_a_filter_some(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["test", "."]) == 0
        assert capsys.readouterr().out == "ok     first\nok     second\n2 passed\n"
        assert main(["test", ".", "--filter", "SEC"]) == 0
        assert capsys.readouterr().out == "ok     second\n1 passed, 1 deselected\n"

    def test_the_exit_code_says_what_happened(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["test", ".", "--filter", "none"]) == 3
        assert main(["test", "p.yaml"]) == 3
        assert main(["test", "no-such-folder"]) == 2
        assert main(["test"]) == 2
        (folder / "p.yaml").write_text(self.POLICY.replace("budgets", "budget"))
        assert main(["test", "."]) == 1
        assert "did you mean" in capsys.readouterr().out


class TestOfAFileOfSeveralTests:
    def outcomes(self, folder: Path, *documents: str) -> list[tuple[str, str, list[str]]]:
        texts = [HEAD.replace("NAME", f"t{at}") + body for at, body in enumerate(documents, start=1)]
        (folder / "a_test.yaml").write_text("---\n".join(texts))
        run = run_tests([folder / "a_test.yaml"])
        assert list(run.diagnostics) == []
        return [(each.name, each.outcome, [found.code for found in each.diagnostics]) for each in run.results]

    def test_a_fault_of_one_test_is_the_fault_of_that_test_alone(self, tmp_path: Path) -> None:
        fine = LOOP + "  expect: {refusals: 3}\n"
        faulty = LOOP + "  expect: {refusal: 3}\n"
        nothing = LOOP
        no_run = "  steps: [{event: compaction}]\n  expect: {refusals: 0}\n"
        assert self.outcomes(tmp_path, fine, faulty, nothing, no_run, fine) == [
            ("t1", "passed", []),
            ("t2", "error", ["CG201"]),
            ("t3", "error", ["CG712"]),
            ("t4", "error", ["CG713"]),
            ("t5", "passed", []),
        ]

    def test_more_faults_than_are_shown_of_a_file_still_are_faults(self, tmp_path: Path) -> None:
        faulty = LOOP + "  expect: {refusal: 3}\n"
        assert [outcome for _, outcome, _ in self.outcomes(tmp_path, *[faulty] * 120)] == ["error"] * 120

    def test_a_policy_in_the_same_file_is_the_fault_of_the_tests_that_use_it(self, tmp_path: Path) -> None:
        policy = (
            "apiVersion: callgate/v1\nkind: GuardPolicy\nmetadata: {name: mine}\nspec:\n"
            "  budgets: {steps: 20, tokens: 20}\n  time: {task: 1h}\n  mod: audit\n---\n"
        )
        named = "apiVersion: callgate/v1\nkind: GuardTest\nmetadata: {name: uses it}\nspec:\n  policy: mine\n" + LOOP
        own = HEAD.replace("NAME", "own") + LOOP + "  expect: {refusals: 3}\n"
        (tmp_path / "a_test.yaml").write_text(policy + named + "  expect: {refusals: 3}\n---\n" + own)
        run = run_tests([tmp_path / "a_test.yaml"])
        assert [(each.name, each.outcome) for each in run.results] == [("uses it", "error"), ("own", "passed")]
        assert {found.code for found in run.diagnostics} == {"CG201"}

    def test_a_broken_end_of_the_file_leaves_the_tests_before_it(self, tmp_path: Path) -> None:
        fine = HEAD.replace("NAME", "fine") + LOOP + "  expect: {refusals: 3}\n"
        (tmp_path / "a_test.yaml").write_text(fine + "---\na: [1\n")
        run = run_tests([tmp_path / "a_test.yaml"])
        assert [(each.name, each.outcome) for each in run.results] == [("fine", "passed")]
        assert ([found.code for found in run.diagnostics], run.passed) == (["CG101"], False)


@pytest.mark.parametrize("of", [str, Path])
def test_one_path_by_itself_is_one_path(tmp_path: Path, of: type) -> None:
    (tmp_path / "a_test.yaml").write_text(HEAD.replace("NAME", "one") + LOOP + "  expect: {notes: 1}\n")
    run = run_tests(of(tmp_path))
    assert ([result.name for result in run.results], run.diagnostics) == (["one"], [])
    assert load(of(tmp_path)).files == load([tmp_path]).files
    assert beside_tests(of(tmp_path / "a_test.yaml")) == []
    (tmp_path / "tools.yaml").write_text(
        "apiVersion: callgate/v1\nkind: ToolManifest\nmetadata: {name: mine}\nspec: {tools: {look: {effect: read}}}\n"
    )
    assert open_policy("default", manifests=of(tmp_path / "tools.yaml")).diagnostics == []
    trace = tmp_path / "runs.jsonl"
    trace.write_text('{"session":"s","tool":"look","arguments":{}}\n')
    compiled = open_policy("default").compiled
    assert compiled is not None
    assert diverge(compiled, compiled, of(trace)).new.calls == 1
    assert list(unused_tools([], of(trace), days=1).uses) == ["look"]
