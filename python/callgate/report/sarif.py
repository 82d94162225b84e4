"""Diagnostics as SARIF 2.1.0 (OASIS), the format in which code-scanning services take findings."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any, Final

from callgate.policy.diagnostics import Diagnostic, Place, Span
from callgate.policy.pages import Page, pages

from .findings import Findings
from .places import uri

SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def render(findings: Findings, color: bool = False) -> str:
    """One SARIF log with one run: the rules that were broken, each with its page, and a result for each diagnostic."""
    found = [(each, None) for each in findings.diagnostics]
    ignored = [(each.diagnostic, each.why) for each in findings.ignored]
    codes = sorted({each.code for each, _ in (*found, *ignored)})
    known = {page.code: page for page in pages() if page.code in codes}
    place_of = {code: index for index, code in enumerate(codes)}
    driver = {"name": "callgate", "version": version("callgate"), "rules": [_rule(code, known) for code in codes]}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(each, place_of[each.code], why) for each, why in (*found, *ignored)],
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2, ensure_ascii=False) + "\n"


def _rule(code: str, known: dict[str, Page]) -> dict[str, Any]:
    page = known[code]
    text = page.path.read_text(encoding="utf-8")
    return {
        "id": code,
        "name": page.name,
        "shortDescription": {"text": page.says},
        "help": {"text": text, "markdown": text},
    }


def _result(diagnostic: Diagnostic, rule: int, why: str | None) -> dict[str, Any]:
    words = diagnostic.message if diagnostic.hint is None else f"{diagnostic.message}\n{diagnostic.hint}"
    result: dict[str, Any] = {
        "ruleId": diagnostic.code,
        "ruleIndex": rule,
        "level": diagnostic.severity,
        "message": {"text": words},
        "locations": [{"physicalLocation": _physical(diagnostic.file, diagnostic.span)}],
    }
    if diagnostic.pointer is not None:
        result["locations"][0]["logicalLocations"] = [{"fullyQualifiedName": diagnostic.pointer}]
    if diagnostic.related:
        result["relatedLocations"] = _related(diagnostic.related)
    if why is not None:  # kept silent by a comment beside it
        result["suppressions"] = [{"kind": "inSource", "justification": why}]
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
