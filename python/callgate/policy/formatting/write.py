"""Documents written out: two blanks a level, one empty line at most, flow collections on one line where they fit."""

from __future__ import annotations

from typing import Final

from ..source import Source
from .scalars import block_scalar, key_text, lines_of
from .tree import Comment, Item, Value, Written

WIDTH: Final = 120
"""Columns up to which the lines of a flow collection of several lines are filled; one on a single line stays there."""
_GAP: Final = 2


def written(source: Source, documents: list[Written]) -> str:
    """The text of documents whose comments are attached and whose keys are in order."""
    lines: list[str] = []
    for at, document in enumerate(documents):
        writer = _Writer(source)
        writer.document(document, marked=at > 0 or document.explicit)
        lines += writer.lines
    return "".join(line + "\n" for line in lines)


class _Writer:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.lines: list[str] = []
        self._kept = 0
        """Where a block scalar has just ended that keeps the empty lines behind it."""

    def document(self, document: Written, *, marked: bool) -> None:
        root = document.root
        _hoist(root)
        self._comments(document.before, 0)
        self.lines += document.directives
        bare = root.kind in ("map", "list") and not self._joins(root, "")
        head = "---" + (f" {root.properties}" if root.properties else "")
        if marked or root.properties or not bare:
            marker = document.marker if bare else None
            self.lines.append(head + _behind(marker))
        elif document.marker is not None:
            self.lines.append(document.marker.text)
        if bare:
            self._items(root, "")
        elif not root.is_empty:
            self.lines.pop()
            self._value(Item(None, root, beside=document.marker), "---", -2)
        self._comments(root.tail if not bare else [], 0)
        while self.lines and self.lines[-1] == "" and not _keeps_end(root):
            self.lines.pop()

    def _items(self, value: Value, indent: str, lead: str | None = None) -> None:
        """The items of a collection as a block; `lead` is what stands on the line of the first one already."""
        for at, item in enumerate(value.items):
            here = lead if at == 0 and lead is not None else indent
            if lead is None or at:
                above = item.above[1:] if at == 0 and item.above[:1] == [None] else item.above
                self._comments(above, len(indent))
            name = "-" if item.key is None else key_text(self.source, item.key) + ":"
            self._value(item, here + name, len(indent))
        self._comments(value.tail, len(indent))

    def _value(self, item: Item, lead: str, indent: int) -> None:
        value = item.value
        start = lead + (f" {value.properties}" if value.properties else "")
        joined = self._joined(value, len(start) + 1)
        inner = " " * (indent + 2)
        if joined is not None:
            self._line(start + (f" {joined}" if joined else ""), item.head or item.beside)
        elif value.style in ("|", ">"):
            header, lines = block_scalar(self.source, value)
            self._line(f"{start} {header}", item.beside or item.head)
            self.lines += [inner + line if line else "" for line in lines]
            self._kept = len(self.lines) if header.endswith("+") else 0
        elif value.kind == "scalar":
            first, *rest = lines_of(self.source, value)
            if self._begins_below(item):
                self._line(start, item.head)
                self.lines.append(inner + first)
            else:
                self.lines.append(f"{start} {first}")
            self.lines += [inner + line if line else "" for line in rest]
            self.lines[-1] += _behind(item.beside)
        elif (parts := self._parts(value)) is not None:
            self._line(start + (" [" if value.kind == "list" else " {"), None)
            self._filled(parts, inner)
            self.lines[-1] += ("]" if value.kind == "list" else "}") + _behind(item.head or item.beside)
        elif lead.endswith("-") and not value.properties and item.head is None:
            self._items(value, inner, lead + " ")
            self._beside(item, inner)
        else:
            self._line(start, item.head)
            self._items(value, inner)
            self._beside(item, inner)

    def _beside(self, item: Item, indent: str) -> None:
        """The comment behind a flow collection that has become a block: below its last item."""
        if item.beside is not None:
            self.lines.append(indent + item.beside.text)

    def _begins_below(self, item: Item) -> bool:
        """Whether a scalar of several lines begins on a line of its own."""
        before = self.source.text[: item.value.start].rpartition("\n")[2]
        return not before.strip()

    def _joined(self, value: Value, column: int) -> str | None:
        """A value on one line, if that is how it is written."""
        if value.kind == "alias":
            return self.source.text[value.at : value.end]
        if value.kind == "scalar":
            if value.style in ("|", ">"):
                return None
            lines = lines_of(self.source, value)
            return lines[0] if len(lines) == 1 else None
        if not value.flow or value.commented:
            return None
        text = self._bracketed(value)
        is_one_line = "\n" not in self.source.text[value.at : value.end]
        return text if text is not None and (is_one_line or column + len(text) <= WIDTH) else None

    def _joins(self, value: Value, lead: str) -> bool:
        return value.flow and self._joined(value, len(lead)) is not None

    def _in_flow(self, value: Value) -> str | None:
        """A value inside a flow collection, with its properties; None if it takes several lines."""
        if value.is_empty:
            text: str | None = "null"
        else:
            text = self._bracketed(value) if value.kind in ("map", "list") else self._joined(value, 0)
        return text if text is None or not value.properties else f"{value.properties} {text}"

    def _bracketed(self, value: Value) -> str | None:
        """A flow collection on one line, without its properties."""
        parts = self._parts(value)
        return None if parts is None else ("{%s}" if value.kind == "map" else "[%s]") % ", ".join(parts)

    def _parts(self, value: Value) -> list[str] | None:
        """The items of a flow collection, each on one line; None where one takes several, or comments stand between."""
        if not value.flow or value.commented:
            return None
        parts = []
        for item in value.items:
            text = self._in_flow(item.value)
            if text is None:
                return None
            parts.append(text if item.key is None else f"{key_text(self.source, item.key)}: {text}")
        return parts

    def _filled(self, parts: list[str], indent: str) -> None:
        """The items of a flow collection on as many lines as they take."""
        line = indent + parts[0]
        for part in parts[1:]:
            if len(line) + len(part) + 3 > WIDTH:
                self.lines.append(line + ",")
                line = indent + part
            else:
                line += f", {part}"
        self.lines.append(line)

    def _line(self, text: str, comment: Comment | None) -> None:
        self.lines.append(text + _behind(comment))

    def _comments(self, lines: list[str | None], indent: int) -> None:
        for line in lines:
            if line is not None:
                self.lines.append(" " * indent + line)
            elif self.lines and self.lines[-1] != "" and len(self.lines) != self._kept:
                self.lines.append("")


def _behind(comment: Comment | None) -> str:
    return "" if comment is None else " " * max(comment.gap, _GAP) + comment.text


def _hoist(value: Value) -> None:
    """Take the comments above the first part of a list's item to above its dash, where that part stands behind it."""
    for item in value.items:
        _hoist(item.value)
        inner = item.value
        if item.key is None and inner.items and not inner.properties and item.head is None:
            first = inner.items[0]
            item.above += [line for line in first.above if line is not None or item.above]
            first.above = []


def _keeps_end(value: Value) -> bool:
    """Whether a document ends in a block scalar that keeps the empty lines behind it."""
    while value.items and not value.tail:
        value = value.items[-1].value
    return value.style in ("|", ">") and (str(value.data).endswith("\n\n") or value.data == "\n")
