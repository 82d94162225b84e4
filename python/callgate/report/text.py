"""Diagnostics for people: code and message, file, line and column, the line with carets, help, and related places."""

from __future__ import annotations

from callgate.counted import counted
from callgate.policy.diagnostics import Diagnostic, Span

from .color import paint
from .findings import Findings
from .snippet import printable, snippet


def render(findings: Findings, color: bool = False) -> str:
    """All diagnostics, a blank line after each, and a line that counts them."""
    blocks = [_block(diagnostic, findings, color) for diagnostic in findings.diagnostics]
    lines = [*_standing(findings), summary(findings, color)]
    return "".join(block + "\n\n" for block in blocks) + "\n".join(lines) + "\n"


def _standing(findings: Findings) -> list[str]:
    """A line for each exception that stands."""
    return [
        f"exception {printable(each.name)} lifts {printable(', '.join(each.lifts))} of {printable(each.policy)} "
        f"until {each.expires} ({printable(each.owner)})"
        for each in findings.standing
    ]


def _block(diagnostic: Diagnostic, findings: Findings, color: bool) -> str:
    places = [(diagnostic.file, diagnostic.span), *((place.file, place.span) for place in diagnostic.related)]
    gutter = max((len(str(span.line)) for _, span in places if span is not None), default=1)
    head = paint(f"{diagnostic.severity}[{diagnostic.code}]", diagnostic.severity, color)
    lines = [head + paint(f": {printable(diagnostic.message)}", "bold", color)]
    lines += _shown(diagnostic.file, diagnostic.span, diagnostic.severity, gutter, findings, color)
    if diagnostic.hint is not None:
        sign, words = paint("=", "gutter", color), paint("help", "help", color)
        lines.append(f"{' ' * gutter} {sign} {words}: {printable(diagnostic.hint)}")
    for place in diagnostic.related:
        lines.append(f"{paint('note', 'note', color)}: {printable(place.message)}")
        lines += _shown(place.file, place.span, "note", gutter, findings, color)
    return "\n".join(lines)


def _shown(file: str, span: Span | None, role: str, gutter: int, findings: Findings, color: bool) -> list[str]:
    arrow = f"{' ' * gutter}{paint('-->', 'gutter', color)} {printable(file)}"
    if span is None:
        return [arrow]
    lines = [f"{arrow}:{span.line}:{span.column}"]
    source = findings.sources.get(file)
    return lines if source is None else lines + snippet(source, span, gutter, role, color)


def summary(findings: Findings, color: bool = False) -> str:
    """How many errors and warnings in how many files, in one line."""
    files = counted(findings.files, "file")
    counts = [
        paint(counted(number, word), word, color)
        for number, word in ((findings.errors, "error"), (findings.warnings, "warning"))
        if number
    ]
    ignored = f", {len(findings.ignored)} ignored" if findings.ignored else ""
    return f"{', '.join(counts) or 'no faults'} in {files}{ignored}"
