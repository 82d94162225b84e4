"""Where each character of a scalar's value stands in the source: past quotes, escapes, folding and block indentation.

Needed by whatever looks inside a string, so that a caret can stand under the wrong word of a CEL expression however it
was written. Computed only when asked for.
"""

from __future__ import annotations

from typing import Final, Literal

Style = Literal["plain", "single", "double", "literal", "folded"]

_ESCAPES: Final = {
    "0": "\0", "a": "\a", "b": "\b", "t": "\t", "\t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "e": "\x1b",
    " ": " ", '"': '"', "/": "/", "\\": "\\", "N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029",
}  # fmt: skip
_HEX_LENGTH: Final = {"x": 2, "u": 4, "U": 8}


class Offsets:
    """The source offsets of a value, character by character."""

    __slots__ = ("_chars", "ends", "starts")

    def __init__(self) -> None:
        self._chars: list[str] = []
        self.starts: list[int] = []
        self.ends: list[int] = []

    def add(self, char: str, start: int, end: int) -> None:
        """One more character of the value, written in the source from `start` to `end`."""
        self._chars.append(char)
        self.starts.append(start)
        self.ends.append(end)

    def cut(self, length: int) -> None:
        """Keep the first `length` characters."""
        del self._chars[length:], self.starts[length:], self.ends[length:]

    @property
    def value(self) -> str:
        """The value as read back from the source."""
        return "".join(self._chars)

    def __len__(self) -> int:
        return len(self._chars)


def scalar_offsets(text: str, start: int, end: int, style: Style, value: str) -> Offsets | None:
    """The offsets of a scalar that stands in `text` from `start` to `end`, without its anchor and tag.

    Returns None where reading it back does not give `value`: then only the scalar as a whole can be pointed at.
    """
    if style in ("literal", "folded"):
        return _block(text, start, end, style == "folded", value)
    found = _flow(text, start, end) if style == "plain" else _flow(text, start + 1, end - 1, style)
    return found if found.value == value else None


def _flow(text: str, start: int, end: int, style: Style = "plain") -> Offsets:
    out = Offsets()
    at = start
    while at < end:
        char = text[at]
        if char in " \t\r\n":
            at = _blanks(text, at, end, out, folding=True)
        elif style == "single" and char == "'":
            out.add("'", at, at + 2)
            at += 2
        elif style == "double" and char == "\\":
            at = _escape(text, at, end, out)
        else:
            out.add(char, at, at + 1)
            at += 1
    return out


def _blanks(text: str, start: int, end: int, out: Offsets, folding: bool) -> int:
    """Blanks in a flow scalar: kept within a line; around breaks folded to a space, or a break for each empty line."""
    stop = start
    breaks: list[tuple[int, int]] = []
    while stop < end and text[stop] in " \t\r\n":
        width = _break(text, stop)
        if width:
            breaks.append((stop, stop + width))
        stop += width or 1
    if folding and not breaks:
        for at in range(start, stop):
            out.add(text[at], at, at + 1)
    elif folding and len(breaks) == 1:
        out.add(" ", *breaks[0])
    for at, after in breaks[1:] if folding else breaks:
        out.add("\n", at, after)
    return stop


def _escape(text: str, at: int, end: int, out: Offsets) -> int:
    code = text[at + 1]
    width = _break(text, at + 1)
    if width:  # an escaped break joins the lines; the next line's indentation goes with it
        return _blanks(text, at + 1 + width, end, out, folding=False)
    length = _HEX_LENGTH.get(code, 0)
    char = chr(int(text[at + 2 : at + 2 + length], 16)) if length else _ESCAPES.get(code, code)
    out.add(char, at, at + 2 + length)
    return at + 2 + length


def _break(text: str, at: int) -> int:
    if text.startswith("\r\n", at):
        return 2
    return 1 if text[at : at + 1] in ("\r", "\n") else 0


def _block(text: str, start: int, end: int, folded: bool, value: str) -> Offsets | None:
    lines = _lines(text, start, end)
    header = text[slice(*lines[0])].split("#")[0]
    del lines[0]
    if any(
        char.isdigit() for char in header
    ):  # relative to a parent that is not known here: the one that gives the value
        candidates = list(range(80))
    else:
        blanks = [len(text[s:e]) - len(text[s:e].lstrip(" ")) for s, e in lines if text[s:e].strip(" ")]
        candidates = blanks[:1] or [max((e - s for s, e in lines), default=0)]
    for indent in candidates:
        found = _block_lines(text, lines, indent, folded, end)
        if len(found) + 1 == len(value) and value.endswith("\n"):
            found.add("\n", end, end)
        found.cut(len(value))
        if found.value == value:
            return found
    return None


def _lines(text: str, start: int, end: int) -> list[tuple[int, int]]:
    lines: list[tuple[int, int]] = []
    at = begin = start
    while at < end:
        width = _break(text, at)
        if width:
            lines.append((begin, at))
            begin = at + width
        at += width or 1
    lines.append((begin, end))
    return lines


def _block_lines(text: str, lines: list[tuple[int, int]], indent: int, folded: bool, end: int) -> Offsets:
    out = Offsets()
    pending: list[tuple[int, int]] = []  # the breaks since the last line that had content
    after_more_indented = first = True
    for begin, stop in lines:
        content = min(begin + indent, stop)
        next_line = stop + max(_break(text, stop), 1)
        if content == stop:
            pending.append((stop, next_line))
            continue
        more_indented = text[content] in " \t"
        if folded and not first and not more_indented and not after_more_indented:
            if len(pending) == 1:
                out.add(" ", *pending[0])
            pending = pending[1:]
        for at, after in pending:
            out.add("\n", at, after)
        for at in range(content, stop):
            out.add(text[at], at, at + 1)
        pending = [(stop, next_line)] if stop < end else []
        after_more_indented, first = more_indented, False
    for at, after in pending:
        out.add("\n", at, after)
    return out
