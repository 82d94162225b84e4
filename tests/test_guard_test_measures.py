"""Coverage and mutants in the formats of CI: notices beside lines for GitHub, properties and output in JUnit."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

from callgate.policy.diagnostics import Diagnostic, Span
from callgate.report.tests import render_tests
from callgate.review.coverage import Coverage, Point
from callgate.review.mutation import Mutation, Survivor
from callgate.testing.run import GuardTestRun

FIRES = Point("pay.yaml", Span(8, 7, 8, 8), "rule", "the rule `a,b`", "fires", None, ("one",))
PASSES = Point("pay.yaml", Span(8, 25, 8, 40), "part", "the rule `a,b`", "is false", "args.n > 50", ())
RUNG = Point("pay.yaml", Span(9, 5, 9, 9), "rung", "cycle", "refuses", None, ())
COVERAGE = Coverage([FIRES, PASSES, RUNG])
STUB = "kind: GuardTest\nspec: {policy: pay}\n"
SURVIVOR = Survivor(
    "pay.yaml", Span(8, 32, 8, 33), "/spec/rules/0/when", "flipped a comparison", ">", ">=", 2, STUB
)  # fmt: skip
MUTATION = Mutation(3, [SURVIVOR], 1, 5, 9, 7)
WHOLE = GuardTestRun([], [], {}, coverage=COVERAGE, mutation=MUTATION)


def test_github_has_the_scores_as_notices_and_each_gap_at_its_line() -> None:
    assert render_tests(WHOLE, "github") == (
        "::notice title=coverage::33.3 %25 covered: 1 of 3\n"
        "::notice file=pay.yaml,line=8,endLine=8,col=25,endColumn=40,title=not exercised by a test"
        "::the rule `a,b`: `args.n > 50` is false\n"
        "::notice file=pay.yaml,line=9,endLine=9,col=5,endColumn=9,title=not exercised by a test::cycle refuses\n"
        "::notice title=mutation::75.0 %25 of the mutants are noticed: 3 of 4"
        " (1 more does not compile or changes nothing); 5 of 9 were tried, seed 7\n"
        "::notice file=pay.yaml,line=8,endLine=8,col=32,endColumn=33,title=not noticed by a test"
        "::flipped a comparison: `>` to `>=`; 2 tests do not notice%0Akind: GuardTest%0Aspec: {policy: pay}\n"
        "no test\n"
    )


def test_junit_has_the_numbers_of_the_json_as_properties_and_what_is_missing_as_output() -> None:
    (suite,) = ET.fromstring(render_tests(WHOLE, "junit"))
    assert suite.attrib == {"name": "callgate", "tests": "0", "failures": "0", "errors": "0"}
    properties, output = suite
    assert {each.attrib["name"]: each.attrib["value"] for each in properties} == {
        "coverage.share": "0.333333", "coverage.covered": "1", "coverage.all": "3",
        "coverage.kinds.rule.covered": "1", "coverage.kinds.rule.all": "1",
        "coverage.kinds.part.covered": "0", "coverage.kinds.part.all": "1",
        "coverage.kinds.rung.covered": "0", "coverage.kinds.rung.all": "1",
        "mutation.score": "0.75", "mutation.killed": "3", "mutation.survived": "1", "mutation.void": "1",
        "mutation.tried": "5", "mutation.of": "9", "mutation.seed": "7",
    }  # fmt: skip
    told = (output.text or "").splitlines()
    assert "  pay.yaml:9:5  cycle refuses" in told
    assert "  pay.yaml:8:32  flipped a comparison: `>` to `>=`; 2 tests do not notice" in told


def test_junit_keeps_what_cannot_be_loaded_beside_the_numbers() -> None:
    fault = Diagnostic("CG701", "error", "no such file or folder", "x.yaml", None)
    (suite,) = ET.fromstring(render_tests(WHOLE._replace(diagnostics=[fault], mutation=None), "junit"))
    assert [part.tag for part in suite] == ["properties", "testcase", "system-out"]
    assert (suite.attrib["tests"], suite.attrib["errors"]) == ("1", "1")


def test_mutation_that_was_left_out_says_why_in_both() -> None:
    run = GuardTestRun([], [], {}, mutation_left_out="there is no test")
    assert render_tests(run, "github") == "::notice title=mutation::left out, there is no test\nno test\n"
    ((properties,),) = ET.fromstring(render_tests(run, "junit"))
    assert [each.attrib for each in properties] == [{"name": "mutation_left_out", "value": "there is no test"}]


def test_without_them_neither_format_tells_of_them() -> None:
    run = GuardTestRun([], [], {})
    assert render_tests(run, "github") == "no test\n"
    assert list(ET.fromstring(render_tests(run, "junit"))) == []


def test_sarif_is_for_what_is_wrong() -> None:
    (run,) = json.loads(render_tests(WHOLE, "sarif"))["runs"]
    assert run["results"] == []
