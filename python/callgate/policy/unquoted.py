"""What is wrong, where a parser stumbles over a value that is not quoted as a whole, or over quotes that are left open.

The place is where YAML leaves the author: behind the closing quote or bracket, or at the sign with which the value
begins. The hint is the mended line.
"""

from __future__ import annotations

from typing import Final

from .diagnostics import Diagnostic
from .quoting import mended, shown_sign, wants_quotes
from .source import Source
from .value_text import Value, begins_key, closed_at, indent, unclosed_above, value_at

_BEHIND: Final = {
    '"': "the closing quote of a text", "'": "the closing quote of a text",
    "[": "the `]` of a list", "{": "the `}` of a map",
}  # fmt: skip
# What a value is to YAML that begins with one of its signs.
_SIGNS: Final = {
    "!": "a tag", "&": "an anchor", "*": "an alias", "|": "a text over several lines", ">": "a text over several lines",
    "?": "a key",
}  # fmt: skip
_RESERVED: Final = ("cannot start any token", "expected the node content")
_COLON: Final = "mapping values are not allowed"


def unquoted(source: Source, problem: str, at: int, flow: bool) -> Diagnostic | None:
    """The diagnostic for a value that had to be quoted as a whole, or None where it is something else that is wrong.

    `problem` is the parser's, `at` its offset, and `flow` tells that it was reading a map or list in brackets.
    """
    value = value_at(source, at, flow=flow)
    if value is None or "escape" in problem or "end of stream" in problem or "document separator" in problem:
        return None
    sign, text = source.text[value.start], source.text[value.start : value.end]
    closed = closed_at(source, value)
    if closed is not None:
        return _behind(source, value, closed, at)
    if "tag handle" in problem and not wants_quotes(value.key, text):
        return None
    if sign in _SIGNS or (sign == "-" and "entries are not allowed" in problem):
        message = f"a value that begins with `{sign}` is {_SIGNS.get(sign, 'an item of a list')} to YAML"
        return _diagnostic(source, value, value.start, value.start + 1, message)
    if any(words in problem for words in _RESERVED) and at == value.start:
        message = "a value is missing here" if sign in "]}," else f"{shown_sign(sign)} cannot begin a value"
        return _diagnostic(source, value, at, at + 1, message)
    if _COLON in problem and wants_quotes(value.key, text):
        return _diagnostic(source, value, at, at + 1, "a `:` that begins a map cannot stand here")
    if flow and at < value.end and "expected ','" in problem and wants_quotes(value.key, text, flow=True):
        return _diagnostic(source, value, at, at + 1, f"`{source.text[at]}` cannot stand inside this value")
    return None


def unclosed(source: Source, problem: str, at: int, begin: int) -> Diagnostic | None:
    """The diagnostic for a quote or bracket at `begin` that is not closed, told there, or None where it may be.

    A bracket is taken for open where the line with the problem is indented no further than the one that opens it.
    """
    sign = source.text[begin : begin + 1]
    if sign in ("'", '"'):
        return _open(source, begin, "a quoted text that is not closed", sign)
    line, first = source.position(at)[0], source.position(begin)[0]
    if line == first or sign not in ("[", "{") or "expected ','" not in problem:
        return None
    if indent(source.line(line)) > indent(source.line(first)):
        return None
    what, close = ("a list", "]") if sign == "[" else ("a map", "}")
    return _open(source, begin, f"{what} in brackets that is not closed", close)


def _behind(source: Source, value: Value, closed: int, at: int) -> Diagnostic | None:
    """Something behind a closing quote or bracket; within quotes it is an open one above that reached down here."""
    sign, rest = source.text[value.start], source.text[closed : value.end]
    if at < closed:
        quote = unclosed_above(source, source.position(at)[0]) if sign in ("'", '"') else None
        if quote is None:
            return None
        return _open(source, quote, "a quoted text that is not closed in its line", source.text[quote])
    if not rest.strip() or begins_key(rest):  # the line is whole, or a comma is missing
        return None
    start = closed + len(rest) - len(rest.lstrip())
    line = source.position(start)[0]
    end = min(value.end, source.starts[line - 1] + len(source.line(line)))
    return _diagnostic(source, value, start, end, f"something stands behind {_BEHIND[sign]}")


def _open(source: Source, begin: int, message: str, close: str) -> Diagnostic:
    span = source.span(begin, begin + 1)
    return Diagnostic("CG101", "error", message, source.file, span, f"close it with `{close}`")


def _diagnostic(source: Source, value: Value, start: int, end: int, message: str) -> Diagnostic:
    span = source.span(start, end)
    return Diagnostic("CG101", "error", message, source.file, span, mended(source, value))
