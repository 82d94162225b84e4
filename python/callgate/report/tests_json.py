"""Results of policy tests for programs: one JSON object of a stable shape, described in docs/testing.md."""

from __future__ import annotations

import json
from typing import Any, Final

from callgate.policy.positions import join_pointer
from callgate.testing.run import GuardTestResult, GuardTestRun

from .json_text import plain

VERSION: Final = 1


def render(run: GuardTestRun, color: bool = False) -> str:
    """The results as indented JSON."""
    outcomes = [result.outcome for result in run.results]
    found = {
        "version": VERSION,
        "passed": outcomes.count("passed"),
        "failed": outcomes.count("failed"),
        "errors": outcomes.count("error"),
        "deselected": run.deselected,
        "tests": [_result(result) for result in run.results],
        "diagnostics": [plain(diagnostic) for diagnostic in run.diagnostics],
    }
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"


def _result(result: GuardTestResult) -> dict[str, Any]:
    return {
        "name": result.name,
        "description": result.description,
        "file": result.file,
        "outcome": result.outcome,
        "seconds": round(result.seconds, 6),
        "calls": len(result.rows),
        "failures": [
            {
                "expectation": failure.what,
                "pointer": join_pointer(failure.pointer),
                "span": span._asdict(),
                "expected": failure.expected,
                "actual": failure.actual,
                "seq": None if failure.row is None else result.rows[failure.row]["seq"],
            }
            for failure, span in result.missed
        ],
        "diagnostics": [plain(diagnostic) for diagnostic in result.diagnostics],
        "unasserted": [
            {"what": each.what, "times": each.times, "reasons": list(each.reasons)} for each in result.unasserted
        ],
    }
