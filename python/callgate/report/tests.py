"""Results of policy tests for people: what failed, where, what was expected, and the run around it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Final

from callgate.counted import counted
from callgate.policy.source import Source
from callgate.testing.expect import Row, action_of, reasons_of
from callgate.testing.run import GuardTestResult, GuardTestRun, Missed
from callgate.testing.unasserted import Unasserted
from callgate.testing.values import Evaluated

from .color import paint
from .coverage import render as render_coverage
from .findings import Findings
from .findings import render as render_findings
from .mutation import render as render_mutation
from .snippet import printable, snippet
from .timeline import shortened

# A format is a module with `render(run, color) -> str`. To add one, write the module and add its line.
FORMATS: Final = {
    "text": "callgate.report.tests",
    "json": "callgate.report.tests_json",
    "sarif": "callgate.report.tests_sarif",
    "junit": "callgate.report.tests_junit",
    "github": "callgate.report.tests_github",
    "markdown": "callgate.report.tests_markdown",
}
AROUND: Final = 4
"""Decisions before and after the one that a failure is about."""
WIDEST: Final = 72
"""Characters of a part of an expression."""
MOST_WITHOUT: Final = 12
"""Decisions that are shown of a run where a failure is about none in particular."""
_WORDS: Final = {"note": "note", "reuse": "reuse", "ask": "ask", "refuse": "refusal", "stop": "stop"}


def render_tests(run: GuardTestRun, form: str, color: bool = False) -> str:
    """The results in one of `FORMATS`, ending with a line break."""
    function: Callable[[GuardTestRun, bool], str] = import_module(FORMATS[form]).render
    return function(run, color)


def render(run: GuardTestRun, color: bool = False) -> str:
    """The results for people."""
    parts = [_result(result, run.sources, color) for result in run.results]
    diagnostics = list(dict.fromkeys(found for result in run.results for found in result.diagnostics))
    diagnostics += [found for found in run.diagnostics if found not in diagnostics]
    if diagnostics:
        files = len({found.file for found in diagnostics})
        parts.append("\n" + render_findings(Findings(diagnostics, run.sources, files), "text", color))
    if run.coverage is not None:
        parts.append("\n" + render_coverage(run.coverage, color) + "\n")
    if run.mutation is not None:
        parts.append("\n" + render_mutation(run.mutation, color) + "\n")
    if run.mutation_left_out is not None:
        parts.append(f"\nmutation: left out, {run.mutation_left_out}\n")
    return "".join(parts) + summary(run, color)


def _result(result: GuardTestResult, sources: Mapping[str, Source], color: bool) -> str:
    word, role = {"passed": ("ok", "note"), "failed": ("FAILED", "error"), "error": ("ERROR", "error")}[result.outcome]
    name = printable(result.name or result.file)
    text = f"{paint(f'{word:<6}', role, color)} {name}"
    if result.description:
        text += f"  {printable(result.description)}"
    lines = [text]
    if result.unasserted and result.outcome == "passed":
        lines.append(f"         unasserted: {told_unasserted(result.unasserted)}")
    for missed in result.missed:
        lines += _missed(missed, result, sources, color)
    return "\n".join(lines) + "\n"


def told_unasserted(found: Sequence[Unasserted]) -> str:
    """What no expectation covers, in words: `3 notes (cycle), 1 reuse (exact_repeat)`."""
    return ", ".join(f"{counted(each.times, _WORDS[each.what])} ({', '.join(each.reasons)})" for each in found)


def _missed(missed: Missed, result: GuardTestResult, sources: Mapping[str, Source], color: bool) -> list[str]:
    failure, span = missed.failure, missed.span
    gutter = len(str(span.line))
    lines = [f"{' ' * gutter}{paint('-->', 'gutter', color)} {printable(result.file)}:{span.line}:{span.column}"]
    source = sources.get(result.file)
    if source is not None:
        lines += snippet(source, span, gutter, "error", color)
    lines.append(f"  expected  {printable(failure.what)}: {printable(failure.expected)}")
    lines.append(f"  actual    {printable(failure.actual)}")
    if missed.message is not None:
        lines.append(f"  message   {printable(missed.message)}")
    for each in missed.evaluated:
        lines += _evaluated(each)
    return [*lines, *_around(result.rows, failure.row), ""]


def _evaluated(each: Evaluated) -> list[str]:
    """An expression with its value, and below it its parts with theirs."""
    texts = [("  " * part.depth + printable(shortened(part.text, WIDEST)), part.value) for part in each.parts]
    width = max((len(text) for text, _ in texts), default=0)
    place = f"{printable(each.file)}:{each.span.line}:{each.span.column}"
    told = [f"    {text.ljust(width)}  {printable(value)}" for text, value in texts]
    return [f"  values    {printable(each.owner)} ({place})", *told]


def _around(rows: Sequence[Row], at: int | None) -> list[str]:
    """A table of the decisions around one; without one, of those with something to say, else of the last ones."""
    if at is not None:
        chosen = list(range(max(0, at - AROUND), min(len(rows), at + AROUND + 1)))
    else:
        chosen = [place for place, row in enumerate(rows) if row["notes"] or action_of(row) != "allow"]
        chosen = (chosen or list(range(len(rows)))[-MOST_WITHOUT:])[:MOST_WITHOUT]
    several = len({row["session"] for row in rows}) > 1
    table = [["seq", "tool", "action", "reasons", "notes"]]
    for place in chosen:
        row = rows[place]
        seq = f"{row['session']}:{row['seq']}" if several else str(row["seq"])
        notes = Counter(note["reason"] for note in row["notes"])
        told = ", ".join(reason if count == 1 else f"{reason} ×{count}" for reason, count in notes.items())
        mark = "> " if place == at else "  "
        table.append([mark + seq, row["tool"], action_of(row), ", ".join(reasons_of(row)), told])
    table[0][0] = "  seq"
    widths = [max(len(printable(line[column])) for line in table) for column in range(4)]
    lines = []
    for line in table:
        cells = [printable(cell).ljust(width) for cell, width in zip(line[:4], widths, strict=True)]
        lines.append("  " + "  ".join([*cells, printable(line[4])]).rstrip())
    return lines


def summary(run: GuardTestRun, color: bool = False) -> str:
    """How many tests passed and failed, in one line."""
    counts = Counter(result.outcome for result in run.results)
    failed, passed = counts["failed"] + counts["error"], counts["passed"]
    words = [paint(f"{failed} failed", "error", color)] if failed else []
    words.append(f"{passed} passed")
    if run.deselected:
        words.append(f"{run.deselected} deselected")
    if run.skipped:
        words.append(f"{run.skipped} left out after the first failure")
    return ", ".join(words) + "\n" if run.results else "no test\n"
