"""A line of source with its number and carets under the exact columns, whatever tabs and wide characters it has."""

from __future__ import annotations

import unicodedata
from typing import Final

from callgate.policy.diagnostics import Span
from callgate.policy.source import Source

from .color import paint

TAB: Final = 4
WIDEST: Final = 140
_CONTEXT: Final = 60
_WINDOW: Final = 1000


def printable(text: str) -> str:
    """A text with its control characters written as escapes, so that a file cannot steer the terminal."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char == " " else ascii(char)[1:-1] for char in text)


def snippet(source: Source, span: Span, gutter: int, role: str, color: bool) -> list[str]:
    """The lines that show a span; of several lines the first. `gutter` is the width of the line numbers."""
    line = source.line(span.line)
    skipped = max(0, span.column - 1 - _WINDOW) if len(line) > 3 * _WINDOW else 0  # layout costs time by the character
    shown, starts = _laid_out(line[skipped : skipped + 3 * _WINDOW])
    last = len(starts) - 1
    begin = starts[min(span.column - 1 - skipped, last)]
    end = starts[min(span.end_column - 1 - skipped, last)] if span.end_line == span.line else starts[last]
    shown, begin, end = _cropped(shown, begin, max(end, begin + 1))
    mark = ("-" if role == "note" else "^") * (end - begin)
    bar = paint("|", "gutter", color)
    number = paint(f"{span.line:>{gutter}}", "gutter", color)
    blank = " " * gutter
    return [
        f"{blank} {bar}",
        f"{number} {bar} {''.join(shown)}".rstrip(),
        f"{blank} {bar} {' ' * begin}{paint(mark, role, color)}",
    ]


def _laid_out(line: str) -> tuple[list[str], list[int]]:
    """The line as terminal columns, and the column at which each character begins; one more for its end.

    A wide character takes two columns (the second is empty text), a combining one none: it joins the column before it.
    """
    columns: list[str] = []
    starts: list[int] = []
    for char in line:
        starts.append(len(columns))
        if char == "\t":
            columns += [" "] * (TAB - len(columns) % TAB)
        elif unicodedata.category(char) in ("Mn", "Me", "Cf"):
            starts[-1] = max(len(columns) - 1, 0)
            if columns and char.isprintable():
                columns[-1] += char
        elif unicodedata.east_asian_width(char) in "WF":
            columns += [char, ""]
        else:
            columns += list(printable(char))
    starts.append(len(columns))
    return columns, starts


def _cropped(columns: list[str], begin: int, end: int) -> tuple[list[str], int, int]:
    """The part of a long line around its mark."""
    if len(columns) <= WIDEST:
        return columns, begin, end
    first = max(0, begin - _CONTEXT)
    stop = first + WIDEST
    part = columns[first:stop]
    if first and part:
        part[0] = "…"
    if stop < len(columns):
        part.append("…")
    return part, begin - first, min(end, stop) - first
