"""What is wrong, where, and what to do about it: the one shape in which a fault of a file is reported."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

Severity = Literal["error", "warning", "note"]


class Span(NamedTuple):
    """A stretch of a file. Lines and columns count from 1, columns in code points; the end is exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int


class Place(NamedTuple):
    """Another place that a diagnostic points at, with the words that stand beside it."""

    message: str
    file: str
    span: Span | None


class Diagnostic(NamedTuple):
    """One fault.

    `code` is stable (`CG102`), `message` is lower case without a full stop, `file` is the path as the user gave it,
    `span` is None for a fault of the file as a whole, `pointer` the JSON Pointer (RFC 6901) inside its document.

    >>> Diagnostic("CG701", "error", "no such file", "x.yaml", None).severity
    'error'
    """

    code: str
    severity: Severity
    message: str
    file: str
    span: Span | None
    hint: str | None = None
    related: tuple[Place, ...] = ()
    pointer: str | None = None


def ordered(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """By file, then position, then code; what is said twice of one place, as through an alias, once."""
    nowhere = Span(0, 0, 0, 0)
    unique: dict[object, Diagnostic] = {}
    for each in diagnostics:
        unique.setdefault((each.file, each.span, each.code, each.message), each)
    return sorted(unique.values(), key=lambda d: (d.file, d.span or nowhere, d.code, d.message))


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """The hint for a misspelt name, or None where nothing known is near it.

    >>> did_you_mean("strcit", ["default", "strict"])
    'did you mean `strict`?'
    """
    from difflib import get_close_matches  # only where something is wrong already

    near = get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"did you mean `{near[0]}`?" if near else None
