"""Where a value stands as its author reads it: up to the end of its lines, or of its place in brackets.

A parser breaks a value off that is not quoted as a whole, `"a" + b` behind the quote, and notices somewhere behind.
Here the lines are read once more by their keys and columns, which at worst makes a hint less fitting; the fault itself
is the parser's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from .source import Source

# A key as policies have them: a word, or a text in quotes. A wider reading would take `args.x == "a` for one.
_KEY = re.compile(r"""([A-Za-z_][\w.-]*|"[^"\n]*"|'[^'\n]*')[ \t]*:(?=[ \t]|$)[ \t]*""")
_LEAD = re.compile(r"[ \t]*(?:-[ \t]+)*")
_BLOCK_TEXT = re.compile(r"[|>][-+0-9]*[ \t]*(?:#|$)")
_MOST_LINES: Final = 50
_LONGEST_LINE: Final = 2000  # a longer one is nobody's to read, and brackets within brackets take their time


class Value(NamedTuple):
    """A value as its author reads it: its key, if it has one, and the offsets of its text, without a comment."""

    key: str | None
    start: int
    end: int


def value_at(source: Source, at: int, *, flow: bool = False) -> Value | None:
    """The value in which a place lies, or None where the place is not inside one.

    `flow` tells that its line stands inside a map or list in brackets, which began above.

    >>> value_at(Source("x.yaml", 'a: "b" + c # d'), 7)
    Value(key='a', start=3, end=10)
    """
    line, column = source.position(at)
    if len(source.line(line)) > _LONGEST_LINE:
        return None
    first, opened = line, _opening(source.line(line))
    if opened is None:
        first = _line_above(source, line)
        opened = _opening(source.line(first))
    if opened is None or (first == line and column - 1 < opened[1]):
        return None
    text, (key, start) = source.line(first), opened
    if len(text) > _LONGEST_LINE:
        return None
    if first == line and (inner := _inner(text, start, column - 1)) is not None:
        flow, (key, start) = True, inner
    if first < line and _BLOCK_TEXT.match(text, start):
        return None
    end = source.starts[first - 1] + _end(text, start, flow)
    last = first if flow else _last_line(source, first)
    if last > first:
        end = source.starts[last - 1] + _end(source.line(last), 0, False)
    start += source.starts[first - 1]
    return Value(key, start, end) if start <= at <= end and start < end else None


def closed_at(source: Source, value: Value) -> int | None:
    """The offset behind the quote or bracket that closes the one with which a value begins; None without one.

    >>> source = Source("x.yaml", 'a: [1, "]"].b')
    >>> closed_at(source, Value("a", 3, 13))
    11
    """
    text = source.text[value.start : value.end]
    end = _closing(text, 0) if text[0] in "\"'" else None
    if text[0] in "[{":
        end = next((at for at, char, depth in _outside_quotes(text, 0) if depth == 0 and char in "]}"), None)
    return None if end is None else value.start + end + 1


def unclosed_above(source: Source, line: int) -> int | None:
    """The quote with which the nearest quoted value above a line begins, if it is not closed in its own line.

    >>> unclosed_above(Source("x.yaml", 'a: "b\\nc: "d"'), 2)
    3
    """
    for each in range(line - 1, max(0, line - _MOST_LINES), -1):
        text = source.line(each)
        opened = _opening(text)
        if opened is not None and text[opened[1] : opened[1] + 1] in ('"', "'"):
            return None if _closing(text, opened[1]) is not None else source.starts[each - 1] + opened[1]
    return None


def quoted_head(text: str) -> int | None:
    """The column behind the text in quotes with which a value begins; None where it begins with none."""
    end = _closing(text, 0) if text[:1] in ('"', "'") else None
    return None if end is None else end + 1


def begins_key(text: str) -> bool:
    """Whether a text begins with a key, as an entry of a map does.

    >>> begins_key(" b: 1"), begins_key("+ b")
    (True, False)
    """
    return _KEY.match(text.lstrip()) is not None


def indent(text: str) -> int:
    """How many blanks a line begins with."""
    return len(text) - len(text.lstrip())


def _opening(text: str) -> tuple[str | None, int] | None:
    """The key of a line and the column in which its value begins; None where the line opens no value."""
    lead = _LEAD.match(text)
    begin = lead.end() if lead is not None else 0
    if (key := _KEY.match(text, begin)) is not None:
        return key[1].strip("\"'"), key.end()
    return (None, begin) if "-" in text[:begin] or text[begin : begin + 1] in ("{", "[") else None


def _line_above(source: Source, line: int) -> int:
    """The nearest line above that is indented less, from 1; 0 without one."""
    here = indent(source.line(line))
    above = range(line - 1, max(0, line - _MOST_LINES), -1)
    return next((each for each in above if source.line(each).strip() and indent(source.line(each)) < here), 0)


def _last_line(source: Source, first: int) -> int:
    """The last line of a value that begins in a line: those that are indented further, and open none of their own."""
    lead = _LEAD.match(source.line(first))
    column = lead.end() if lead is not None else 0
    last = first
    while last < first + _MOST_LINES and (more := source.line(last + 1)).strip() and indent(more) > column:
        if _opening(more) is not None:
            break
        last += 1
    return last


def _inner(text: str, start: int, column: int) -> tuple[str | None, int] | None:
    """The key and the beginning of the value inside brackets in which a column lies, the innermost one."""
    found: tuple[str | None, int] | None = None
    while text[start : start + 1] in ("{", "["):
        items, closed = [start + 1], len(text)
        for at, char, depth in _outside_quotes(text, start):
            if depth == 1 and char == ",":
                items.append(at + 1)
            elif depth == 0 and char in "]}":
                closed = at
                break
        item = max((each for each in items if each <= column), default=None)
        if item is None or column > closed:
            break
        item += indent(text[item:])
        key = _KEY.match(text, item)
        if key is None and text[start] == "{":
            break
        start = key.end() if key is not None else item
        if column < start:
            break
        found = (key[1].strip("\"'") if key is not None else None, start)
    return found


def _end(text: str, start: int, flow: bool) -> int:
    """The column in which a value ends that begins in another one."""
    for at, char, depth in _outside_quotes(text, start):
        if (char == "#" and text[at - 1 : at] in (" ", "\t")) or (flow and (depth < 0 or (depth == 0 and char == ","))):
            return max(start, len(text[:at].rstrip()))
    return max(start, len(text.rstrip()))


def _outside_quotes(text: str, start: int) -> Iterator[tuple[int, str, int]]:
    """What stands outside of quotes, with its column and the number of brackets that are open behind it."""
    depth, at = 0, start
    while at < len(text):
        char = text[at]
        if char in "\"'" and (end := _closing(text, at)) is not None:
            at = end + 1
            continue
        depth += (char in "[{(") - (char in ")}]")
        yield at, char, depth
        at += 1


def _closing(text: str, quote: int) -> int | None:
    """The column of the quote that closes the one in a column."""
    at = quote + 1
    while at < len(text):
        if text[at] == "\\" and text[quote] == '"':
            at += 1
        elif text[at] == text[quote]:
            return at
        at += 1
    return None
