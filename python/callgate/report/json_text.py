"""Diagnostics for programs: one JSON object of a stable shape, described in docs/check.md."""

from __future__ import annotations

import json
from typing import Any

from callgate.policy.diagnostics import Diagnostic, Span

from .findings import Findings

VERSION = 1


def render(findings: Findings, color: bool = False) -> str:
    """The findings as indented JSON."""
    found = {
        "version": VERSION,
        "files": findings.files,
        "errors": findings.errors,
        "warnings": findings.warnings,
        "diagnostics": [plain(diagnostic) for diagnostic in findings.diagnostics],
        "ignored": [{**plain(each.diagnostic), "why": each.why} for each in findings.ignored],
        "exceptions": [{**each._asdict(), "lifts": list(each.lifts)} for each in findings.standing],
    }
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"


def plain(diagnostic: Diagnostic) -> dict[str, Any]:
    """One diagnostic as plain data."""
    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity,
        "message": diagnostic.message,
        "file": diagnostic.file,
        "span": _span(diagnostic.span),
        "pointer": diagnostic.pointer,
        "hint": diagnostic.hint,
        "related": [
            {"message": place.message, "file": place.file, "span": _span(place.span)} for place in diagnostic.related
        ],
    }


def _span(span: Span | None) -> dict[str, Any] | None:
    return None if span is None else span._asdict()
