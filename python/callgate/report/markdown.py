"""Diagnostics as Markdown: a line that counts and a table, for a pull request or the summary of a job."""

from __future__ import annotations

from callgate.policy.diagnostics import Diagnostic

from .findings import Findings
from .markdown_text import cell, code
from .places import place
from .text import summary


def render(findings: Findings, color: bool = False) -> str:
    """The findings as a table, errors and all else in the order of their places."""
    lines = ["### callgate check", "", summary(findings)]
    if findings.diagnostics:
        lines += ["", "| | code | where | what |", "|---|---|---|---|"]
        lines += [_row(diagnostic) for diagnostic in findings.diagnostics]
    if findings.standing:
        lines += ["", "| exception | lifts | of | until | owner |", "|---|---|---|---|---|"]
        lines += [
            f"| {cell(each.name)} | {', '.join(map(code, each.lifts))} | {cell(each.policy)} "
            f"| {cell(each.expires)} | {cell(each.owner)} |"
            for each in findings.standing
        ]
    return "\n".join(lines) + "\n"


def _row(diagnostic: Diagnostic) -> str:
    told = [cell(diagnostic.message)]
    if diagnostic.hint is not None:
        told.append(f"help: {cell(diagnostic.hint)}")
    told += [f"note: {cell(each.message)} ({code(place(each.file, each.span))})" for each in diagnostic.related]
    where = code(place(diagnostic.file, diagnostic.span))
    return f"| {diagnostic.severity} | {diagnostic.code} | {where} | {'<br>'.join(told)} |"
