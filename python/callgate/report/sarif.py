"""Findings as SARIF 2.1.0 (OASIS), the format of code-scanning services: the log, and diagnostics in it."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from importlib.metadata import version
from typing import Any, Final, NamedTuple

from callgate.policy.diagnostics import Diagnostic, Place, Severity, Span
from callgate.policy.pages import Page, pages

from .findings import Findings
from .places import uri

SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


class Result(NamedTuple):
    """A result of a log: the id of its rule, what it says, and where. `why` is the reason that keeps it silent."""

    rule: str
    level: Severity
    text: str
    file: str
    span: Span | None
    pointer: str | None = None
    related: Sequence[Place] = ()
    why: str | None = None


def render(findings: Findings, color: bool = False) -> str:
    """One SARIF log with one run: the rules that were broken, each with its page, and a result for each diagnostic."""
    results = [of_diagnostic(each) for each in findings.diagnostics]
    results += [of_diagnostic(each.diagnostic, each.why) for each in findings.ignored]
    return log(results, rules_of_codes({each.rule for each in results}))


def log(results: Sequence[Result], rules: Mapping[str, dict[str, Any]]) -> str:
    """A log of these results; `rules` has each rule that they name, by its id."""
    ids = sorted(rules)
    driver = {"name": "callgate", "version": version("callgate"), "rules": [rules[each] for each in ids]}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(each, ids.index(each.rule)) for each in results],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False) + "\n"


def of_diagnostic(diagnostic: Diagnostic, why: str | None = None) -> Result:
    """A diagnostic as a result, its hint behind its message."""
    text = diagnostic.message if diagnostic.hint is None else f"{diagnostic.message}\n{diagnostic.hint}"
    where = (diagnostic.file, diagnostic.span, diagnostic.pointer, diagnostic.related)
    return Result(diagnostic.code, diagnostic.severity, text, *where, why)


def rules_of_codes(codes: Collection[str]) -> dict[str, dict[str, Any]]:
    """The rules of diagnostic codes, each with its page as help."""
    return {page.code: _rule(page) for page in pages() if page.code in codes}


def _rule(page: Page) -> dict[str, Any]:
    text = page.path.read_text(encoding="utf-8")
    return {
        "id": page.code,
        "name": page.name,
        "shortDescription": {"text": page.says},
        "help": {"text": text, "markdown": text},
    }


def _result(told: Result, rule: int) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": told.rule,
        "ruleIndex": rule,
        "level": told.level,
        "message": {"text": told.text},
        "locations": [{"physicalLocation": _physical(told.file, told.span)}],
    }
    if told.pointer is not None:
        result["locations"][0]["logicalLocations"] = [{"fullyQualifiedName": told.pointer}]
    if told.related:
        result["relatedLocations"] = _related(told.related)
    if told.why is not None:  # kept silent by a comment beside it
        result["suppressions"] = [{"kind": "inSource", "justification": told.why}]
    return result


def _related(places: Sequence[Place]) -> list[dict[str, Any]]:
    return [
        {
            "id": number,
            "message": {"text": place.message},
            "physicalLocation": _physical(place.file, place.span),
        }
        for number, place in enumerate(places, 1)
    ]


def _physical(file: str, span: Span | None) -> dict[str, Any]:
    location: dict[str, Any] = {"artifactLocation": {"uri": uri(file)}}
    if span is not None:  # as ours, lines and columns count from 1, and the end column is past the last character
        location["region"] = {
            "startLine": span.line,
            "startColumn": span.column,
            "endLine": span.end_line,
            "endColumn": span.end_column,
        }
    return location
