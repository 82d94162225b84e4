"""Coverage for people: a table by kind, each rule with the tests that fire it, and what no test exercises."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from callgate.review.coverage import Coverage, Point, share

from .color import paint
from .markdown_text import cell, code
from .snippet import printable
from .timeline import shortened

NAMES: Final = {
    "rule": "rules, both ways",
    "part": "parts of conditions, both ways",
    "rung": "rungs",
    "budget": "budgets",
    "edge": "edges, both ways",
    "form": "forms of tools",
    "need": "needs, both ways",
    "exit": "exits",
}
WIDEST: Final = 60
"""Characters of a part of an expression."""
MOST_TESTS: Final = 3
"""Tests that are named of one rule."""


def render(coverage: Coverage, color: bool = False) -> str:
    """The coverage as text, ending with a line break."""
    lines = ["coverage"]
    for kind, (met, every) in coverage.kinds.items():
        role = "note" if met == every else "warning"
        lines.append(f"  {NAMES[kind]:<30} {met:>5} of {every:<5} {paint(percent(met, every), role, color)}")
    rules = [points for points in coverage.owners.values() if points[0].kind == "rule"]
    if rules:
        lines += ["", "tests that fire a rule"]
        lines += [f"  {printable(points[0].owner)}: {told_tests(points)}" for points in rules]
    missing = coverage.missing
    if missing:
        lines += ["", "what no test exercises"]
        lines += [f"  {printable(told_place(point))}  {printable(told(point))}" for point in missing]
    return "\n".join([*lines, "", summary(coverage)]) + "\n"


def summary(coverage: Coverage) -> str:
    """The share in a line: ``97.5 % covered: 39 of 40``."""
    every = len(coverage.points)
    met = every - len(coverage.missing)
    return f"{percent(met, every)} covered: {met} of {every}"


def markdown(coverage: Coverage) -> list[str]:
    """The lines of a Markdown summary: a table by kind, and what no test exercises."""
    lines = ["#### Coverage", "", "| what | covered | of | share |", "|---|---|---|---|"]
    for kind, (met, every) in coverage.kinds.items():
        lines.append(f"| {NAMES[kind]} | {met} | {every} | {percent(met, every)} |")
    missing, every = coverage.missing, len(coverage.points)
    lines.append(f"| all | {every - len(missing)} | {every} | {percent(every - len(missing), every)} |")
    if missing:
        lines += ["", "What no test exercises:", ""]
        lines += [f"- {code(told_place(point))} {cell(told(point))}" for point in missing]
    return lines


def told(point: Point) -> str:
    """What has to happen, in words: ``the rule `ceiling` fires``, ``the rule `ceiling`: `args.a > 1` is false``."""
    if point.text is None:
        return f"{point.owner} {point.outcome}"
    return f"{point.owner}: `{shortened(point.text, WIDEST)}` {point.outcome}"


def told_place(point: Point) -> str:
    """Where it stands, as editors read it."""
    return f"{point.file}:{point.span.line}:{point.span.column}"


def told_tests(points: Sequence[Point]) -> str:
    """How many tests fire a rule, and which."""
    fires = [point for point in points if point.outcome == "fires"]
    tests = list(dict.fromkeys(test for point in fires for test in point.tests))
    if not tests:
        return "none"
    more = len(tests) - MOST_TESTS
    names = ", ".join(tests[:MOST_TESTS]) + (f" and {more} more" if more > 0 else "")
    return f"{len(tests)} ({names})"


def percent(met: int, every: int) -> str:
    """A share as a percentage, rounded down: 100 % is all of it.

    >>> percent(1999, 2000), percent(2, 2)
    ('99.9 %', '100.0 %')
    """
    return f"{tenths(share(met, every))} %"


def tenths(part: float) -> str:
    """A share in per cent, rounded down to a tenth.

    >>> tenths(0.99996)
    '99.9'
    """
    return f"{int(part * 1000) / 10:.1f}"
