"""Diagnostics as JUnit XML, as CI servers read it: a suite for each file, a failed case for each error in it."""

from __future__ import annotations

from callgate.policy.diagnostics import Diagnostic

from .findings import Findings
from .places import place
from .xml_text import attribute, text


def render(findings: Findings, color: bool = False) -> str:
    """An XML document. A file without errors is a case that passed; what is no error stands in its output."""
    by_file: dict[str, list[Diagnostic]] = {file: [] for file in findings.names}
    for diagnostic in findings.diagnostics:
        by_file.setdefault(diagnostic.file, []).append(diagnostic)
    suites = "".join(_suite(file, found) for file, found in by_file.items())
    return f'<?xml version="1.0" encoding="utf-8"?>\n<testsuites>\n{suites}</testsuites>\n'


def _suite(file: str, found: list[Diagnostic]) -> str:
    errors = [each for each in found if each.severity == "error"]
    cases = [_case(each) for each in errors] or [_open(file, "no errors") + "/>\n"]
    told = "\n".join(_told(each) for each in found if each.severity != "error")
    output = f"  <system-out>{text(told)}</system-out>\n" if told else ""
    counts = f'tests="{len(cases)}" failures="{len(errors)}" errors="0"'
    return f"<testsuite name={attribute(file)} {counts}>\n{''.join(cases)}{output}</testsuite>\n"


def _case(error: Diagnostic) -> str:
    where = f"{error.code} {error.span.line}:{error.span.column}" if error.span is not None else error.code
    body = (
        f"    <failure message={attribute(error.message)} type={attribute(error.code)}>{text(_told(error))}</failure>\n"
    )
    return f"{_open(error.file, where)}>\n{body}  </testcase>\n"


def _open(file: str, name: str) -> str:
    return f"  <testcase classname={attribute(file)} name={attribute(name)}"


def _told(diagnostic: Diagnostic) -> str:
    lines = [
        f"{place(diagnostic.file, diagnostic.span)}: {diagnostic.severity}[{diagnostic.code}]: {diagnostic.message}"
    ]
    if diagnostic.hint is not None:
        lines.append(f"  help: {diagnostic.hint}")
    lines += [f"  note: {each.message} ({place(each.file, each.span)})" for each in diagnostic.related]
    return "\n".join(lines)
