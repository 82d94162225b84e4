"""Results of policy tests as Markdown: a line that counts, and a table of those that did not pass."""

from __future__ import annotations

from callgate.policy.diagnostics import Diagnostic
from callgate.testing.run import GuardTestResult, GuardTestRun

from . import coverage, mutation
from .markdown_text import cell, code
from .places import place
from .tests import summary


def render(run: GuardTestRun, color: bool = False) -> str:
    """The results, those that passed in the count alone."""
    rows = [row for result in run.results for row in _rows(result)]
    rows += [_row("error", "", each) for each in run.diagnostics]
    lines = ["### callgate test", "", summary(run).rstrip("\n")]
    if rows:
        lines += ["", "| | test | where | what |", "|---|---|---|---|", *rows]
    if run.coverage is not None:
        lines += ["", *coverage.markdown(run.coverage)]
    if run.mutation is not None:
        lines += ["", *mutation.markdown(run.mutation)]
    if run.mutation_left_out is not None:
        lines += ["", f"mutation: left out, {run.mutation_left_out}"]
    return "\n".join(lines) + "\n"


def _rows(result: GuardTestResult) -> list[str]:
    name = cell(result.name or result.file)
    missed = [
        f"| failed | {name} | {code(place(result.file, each.span))} | {cell(each.failure.what)}: "
        f"expected {cell(each.failure.expected)}<br>got {cell(each.failure.actual)} |"
        for each in result.missed
    ]
    return missed + [_row("error", name, each) for each in result.diagnostics]


def _row(outcome: str, name: str, found: Diagnostic) -> str:
    word = outcome if found.severity == "error" else found.severity
    told = cell(found.message) if found.hint is None else f"{cell(found.message)}<br>help: {cell(found.hint)}"
    return f"| {word} | {name} | {code(place(found.file, found.span))} | {found.code}: {told} |"
