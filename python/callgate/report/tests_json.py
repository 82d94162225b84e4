"""Results of policy tests for programs: one JSON object of a stable shape, described in docs/testing.md."""

from __future__ import annotations

import json
from typing import Any, Final

from callgate.policy.positions import join_pointer
from callgate.review.coverage import Coverage
from callgate.review.mutation import Mutation
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
        "skipped": run.skipped,
        "tests": [_result(result) for result in run.results],
        "diagnostics": [plain(diagnostic) for diagnostic in run.diagnostics],
    }
    if run.coverage is not None:
        found["coverage"] = _coverage(run.coverage)
    if run.mutation is not None:
        found["mutation"] = _mutation(run.mutation)
    if run.mutation_left_out is not None:
        found["mutation_left_out"] = run.mutation_left_out
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"


def coverage_numbers(coverage: Coverage) -> dict[str, Any]:
    """How much is exercised, of all and of each kind."""
    return {
        "share": round(coverage.share, 6),
        "covered": len(coverage.points) - len(coverage.missing),
        "all": len(coverage.points),
        "kinds": {kind: {"covered": met, "all": every} for kind, (met, every) in coverage.kinds.items()},
    }


def _coverage(coverage: Coverage) -> dict[str, Any]:
    points = [
        {**point._asdict(), "span": point.span._asdict(), "tests": list(point.tests)} for point in coverage.points
    ]
    return {**coverage_numbers(coverage), "points": points}


def mutation_numbers(mutation: Mutation) -> dict[str, Any]:
    """How many mutants are noticed, and how they were drawn."""
    return {
        "score": round(mutation.score, 6),
        "killed": mutation.killed,
        "survived": len(mutation.survivors),
        "void": mutation.void,
        "tried": mutation.tried,
        "of": mutation.of,
        "seed": mutation.seed,
    }


def _mutation(mutation: Mutation) -> dict[str, Any]:
    survivors = [{**each._asdict(), "span": each.span._asdict()} for each in mutation.survivors]
    return {**mutation_numbers(mutation), "survivors": survivors}


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
                "message": message,
                "seq": None if failure.row is None else result.rows[failure.row]["seq"],
                "values": [
                    {
                        "owner": each.owner,
                        "file": each.file,
                        "span": each.span._asdict(),
                        "parts": [part._asdict() for part in each.parts],
                    }
                    for each in evaluated
                ],
            }
            for failure, span, evaluated, message in result.missed
        ],
        "diagnostics": [plain(diagnostic) for diagnostic in result.diagnostics],
        "unasserted": [
            {"what": each.what, "times": each.times, "reasons": list(each.reasons)} for each in result.unasserted
        ],
    }
