"""Where a line of YAML should stand that does not fit: the open blocks above it, and what they begin with.

Parsers notice a wrong indentation late and name it after what they tripped over. Here the lines are read once more, as
an author reads them: by their columns. Text that goes over several lines is taken for lines like others, which at
worst makes a hint less fitting; the fault itself is the parser's.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from .diagnostics import Span
from .source import Source

_LINE = re.compile(r"( *)((?:- +)*)([^\r\n]*)")
# A key as a line begins with it: plain or quoted, and its colon with a blank or nothing behind it.
_KEY = re.compile(r"""("[^"\n]*"|'[^'\n]*'|[^\s#\[\]{},&*!|>%@`"'][^#\n]*?)\s*:(?=\s|$)""")
_QUOTED = re.compile(r"""\"(?:\\.|[^"\\])*"|'[^']*'|(?:^|\s)#.*""")
_GLUED = re.compile(r"[A-Za-z_][\w-]*(:)[^\s:/]")


class Opening(NamedTuple):
    """What begins in a column: its line, from 1; its column, from 0; its text; and whether it is an item of a list."""

    line: int
    column: int
    text: str
    item: bool

    @property
    def shown(self) -> str:
        """How a message names it: by its key, or by the beginning of its text."""
        key = _KEY.match(self.text)
        word = "-" if self.item else key[1] if key else self.text.split("#")[0].strip()
        return f"`{word if len(word) <= 30 else word[:30] + '…'}`"


class Misplaced(NamedTuple):
    """A line that stands in the wrong column."""

    message: str
    span: Span
    hint: str
    near: Opening | None


def openings(text: str) -> list[Opening]:
    """What a line opens: its items and its key or text; nothing where it is empty or a comment.

    >>> [(opening.column, opening.item) for opening in openings("  - - a: 1")]
    [(2, True), (4, True), (6, False)]
    """
    found = _LINE.match(text)
    assert found is not None
    indent, dashes, rest = len(found[1]), found[2], found[3]
    columns = [indent + at for at, char in enumerate(dashes) if char == "-"]
    opened = [Opening(0, column, text[column:].rstrip(), True) for column in columns]
    if rest == "-":
        opened.append(Opening(0, found.start(3), rest, True))
    elif rest and not rest.startswith("#"):
        opened.append(Opening(0, found.start(3), rest.rstrip(), False))
    return opened


def blocks_above(source: Source, line: int) -> list[Opening]:
    """The blocks that are open when a line begins, the outermost first: what an indentation can be aligned with."""
    open_blocks: list[Opening] = []
    brackets = 0
    whole = source.document(line)
    first = next((at for at in range(line, 0, -1) if source.document(at) != whole), 0) + 1
    for number in range(first, line):
        text, within = source.line(number), brackets > 0
        unquoted = _QUOTED.sub("", text)
        brackets = max(
            0, brackets + sum(unquoted.count(sign) for sign in "[{") - sum(unquoted.count(sign) for sign in "]}")
        )
        for opening in [] if within else openings(text):
            while open_blocks and open_blocks[-1].column >= opening.column:
                open_blocks.pop()
            open_blocks.append(opening._replace(line=number))
    return open_blocks


def misplaced(source: Source, line: int) -> Misplaced | None:
    """What is wrong with the column of a line, if it is its column that is wrong.

    Returns None where the line stands in the column of an open block and goes on there as it should.
    """
    opened = openings(source.line(line))
    blocks = blocks_above(source, line)
    if not opened or not blocks:
        return None
    here, column = opened[0], opened[0].column
    span = _span(source, line, here)
    same = next((block for block in blocks if block.column == column), None)
    if same is not None:
        if same.item and not here.item:
            message = "a key cannot stand among the items of a list"
            return Misplaced(message, span, "indent it below an item, or move it out of the list", same)
        if here.item and not same.item:
            message = "an item of a list cannot stand among the keys of a map"
            return Misplaced(message, span, "indent the list below its key", same)
        return None
    # of two that are equally far the inner one: a line slips by a blank or two from those before it
    alike = [block for block in blocks if block.item == here.item] or blocks
    near = min(reversed(alike), key=lambda block: abs(block.column - column))
    hint = f"align it with {near.shown} in line {near.line}, which begins at column {near.column + 1}"
    return Misplaced("this line does not fit the indentation of the block it stands in", span, hint, near)


def without_colon(source: Source, line: int) -> Misplaced | None:
    """The line above, if it should be a key with a value and has no `: `, so that the line at hand went into it."""
    above = next((at for at in range(line - 1, 0, -1) if openings(source.line(at))), None)
    if above is None:
        return None
    before = openings(source.line(above))[-1]
    here = openings(source.line(line))
    if _KEY.match(before.text) or not here or before.item or before.text.startswith(("-", '"', "'", "{", "[")):
        return None
    if before.column < here[0].column:
        return None
    if glued := _GLUED.match(before.text):
        at = source.starts[above - 1] + before.column + glued.start(1)
        return Misplaced("a key without a blank behind its `:`", source.span(at, at + 1), "write `key: value`", None)
    return Misplaced("a key without a `:`", _span(source, above, before), "write `key: value`", None)


def _span(source: Source, line: int, opening: Opening) -> Span:
    start = source.starts[line - 1] + opening.column
    key = _KEY.match(opening.text)
    length = 1 if opening.item else len(key[1]) if key else len(opening.text.split(" #")[0].rstrip())
    return source.span(start, start + max(1, length))
