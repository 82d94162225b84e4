"""Where a diagnostic is, in the forms that other programs want: one line of text, a URI."""

from __future__ import annotations

from pathlib import PurePosixPath
from urllib.parse import quote

from callgate.policy.diagnostics import Span


def place(file: str, span: Span | None) -> str:
    """A place in one line.

    >>> place("a.yaml", Span(8, 33, 8, 44)), place("a.yaml", None)
    ('a.yaml:8:33', 'a.yaml')
    """
    return file if span is None else f"{file}:{span.line}:{span.column}"


def uri(file: str) -> str:
    """A path as diagnostics show it, as a URI reference (RFC 3986): relative stays relative.

    >>> uri("my policies/a#1.yaml"), uri("/srv/a.yaml"), uri("a:b.yaml")
    ('my%20policies/a%231.yaml', 'file:///srv/a.yaml', 'a%3Ab.yaml')
    """
    quoted = quote(file, safe="/", errors="surrogateescape")
    return f"file://{quoted}" if PurePosixPath(file).is_absolute() else quoted
