"""Results of policy tests as JUnit XML, as CI servers read it: a suite for each file, a case for each test."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from callgate.policy.diagnostics import Diagnostic
from callgate.testing.run import GuardTestResult, GuardTestRun

from . import coverage, mutation
from .places import place
from .tests import told_unasserted
from .tests_json import coverage_numbers, mutation_numbers
from .xml_text import attribute, text


def render(run: GuardTestRun, color: bool = False) -> str:
    """The results as an XML document."""
    files: dict[str, list[GuardTestResult]] = {}
    for result in run.results:
        files.setdefault(result.file, []).append(result)
    suites = [_suite(file, results) for file, results in files.items()]
    suites += _whole(run)
    return '<?xml version="1.0" encoding="utf-8"?>\n<testsuites>\n' + "".join(suites) + "</testsuites>\n"


def _whole(run: GuardTestRun) -> list[str]:
    """A suite for what is about all tests together, where there is any: what cannot be loaded, coverage, mutants.

    Numbers are properties, named as in the JSON; what no test exercises or notices is output.
    """
    errors = [found for found in run.diagnostics if found.severity == "error"]
    case = ""
    if errors:
        body = f'    <error message="cannot be loaded">{text(_lines(errors))}</error>\n'
        case = f'  <testcase classname="callgate" name="load">\n{body}  </testcase>\n'
    numbers: dict[str, object] = {}
    told: list[str] = []
    if run.coverage is not None:
        numbers |= _flat("coverage", coverage_numbers(run.coverage))
        told.append(coverage.render(run.coverage))
    if run.mutation is not None:
        numbers |= _flat("mutation", mutation_numbers(run.mutation))
        told.append(mutation.render(run.mutation))
    if run.mutation_left_out is not None:
        numbers["mutation_left_out"] = run.mutation_left_out
    rows = [f"    <property name={attribute(name)} value={attribute(str(each))}/>\n" for name, each in numbers.items()]
    properties = f"  <properties>\n{''.join(rows)}  </properties>\n" if rows else ""
    output = f"  <system-out>{text(chr(10).join(told))}</system-out>\n" if told else ""
    if not (case or properties):
        return []
    counts = f'tests="{len(errors[:1])}" failures="0" errors="{len(errors[:1])}"'
    return [f'<testsuite name="callgate" {counts}>\n{properties}{case}{output}</testsuite>\n']


def _flat(lead: str, numbers: Mapping[str, Any]) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, each in numbers.items():
        found |= _flat(f"{lead}.{name}", each) if isinstance(each, dict) else {f"{lead}.{name}": each}
    return found


def _suite(file: str, results: list[GuardTestResult]) -> str:
    outcomes = [result.outcome for result in results]
    counts = f'tests="{len(results)}" failures="{outcomes.count("failed")}" errors="{outcomes.count("error")}"'
    seconds = sum(result.seconds for result in results)
    cases = "".join(_case(result) for result in results)
    return f'<testsuite name={attribute(file)} {counts} time="{seconds:.6f}">\n{cases}</testsuite>\n'


def _case(result: GuardTestResult) -> str:
    name, file = attribute(result.name or result.file), attribute(result.file)
    head = f'  <testcase classname={file} name={name} time="{result.seconds:.6f}"'
    body = ""
    if result.outcome == "failed":
        told = [
            f"{place(result.file, missed.span)}: {missed.failure.what}: "
            f"expected {missed.failure.expected}, got {missed.failure.actual}"
            for missed in result.missed
        ]
        body += f"    <failure message={attribute(told[0])}>{text(chr(10).join(told))}</failure>\n"
    if result.outcome == "error":
        told = _lines(result.diagnostics).splitlines()
        body += f"    <error message={attribute(told[0])}>{text(chr(10).join(told))}</error>\n"
    if result.unasserted:
        body += f"    <system-out>unasserted: {text(told_unasserted(result.unasserted))}</system-out>\n"
    return f"{head}>\n{body}  </testcase>\n" if body else f"{head}/>\n"


def _lines(diagnostics: Iterable[Diagnostic]) -> str:
    lines = []
    for found in diagnostics:
        lines.append(f"{place(found.file, found.span)}: {found.code}: {found.message}")
    return "\n".join(lines)
