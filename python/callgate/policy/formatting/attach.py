"""Comments and the entries that they belong to, so that a comment moves with what it is about."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterator

from ..source import Source
from .tree import Comment, Item, Value, Written, comments_of


def attach(source: Source, documents: list[Written]) -> None:
    """Give every comment of a text to an item of its documents, and every empty line that parts two of them.

    A comment line belongs to what follows it, unless it is indented like what came before and deeper than what follows:
    then it closes that block. A comment behind something belongs to that.
    """
    _Attacher(source, documents).run()


class _Attacher:
    def __init__(self, source: Source, documents: list[Written]) -> None:
        self.source = source
        self.documents = documents
        self.comments = deque(comments_of(source, documents))
        self.starts = sorted(start for document in documents for start in _starts(document))
        self.line = 0
        """The last line that is told of, for the empty lines behind it."""

    def run(self) -> None:
        for at, document in enumerate(self.documents):
            if document.explicit:
                document.before = self._above(document.start, 0)
                while self.comments and self.comments[0].start < document.begins:
                    self.comments.popleft()  # among directives, which are kept whole
                self.line = self._line(max(document.begins - 1, 0))
            elif at:
                self.line = self._line(document.begins)
            if document.explicit and self.comments and self.comments[0].line == self.line:
                document.marker = self._marker(document)
            following = self.documents[at + 1].start if at + 1 < len(self.documents) else len(self.source.text)
            owner = Item(None, document.root)
            self._value(owner, -1, following + 1)
            document.before += owner.above
            document.marker = document.marker or owner.head or owner.beside
            document.root.tail += self._above(following if at + 1 < len(self.documents) else following + 1, 0)

    def _marker(self, document: Written) -> Comment | None:
        """The comment behind `---`, if it stands there before anything else does."""
        comment = self.comments[0]
        empty = document.root.is_empty and not document.root.properties
        return self.comments.popleft() if comment.start < document.root.start or empty else None

    def _items(self, value: Value, limit: int) -> None:
        column = self._column(value)
        for item in value.items:
            self._item(item, value, column, limit)

    def _item(self, item: Item, parent: Value, column: int, limit: int) -> None:
        start = item.start
        while self.comments and self.comments[0].start < start:
            comment = self.comments[0]
            if item.key is None and not parent.flow and not comment.own_line and item.head is None:
                item.head = self._take()  # behind the dash
            elif item.head is not None and comment.own_line and item.value.items and not item.value.flow:
                break  # above the first of its items
            else:
                self._line_of(item.above, self._take())
        self._empty_before(item.above, self._line(start))
        if item.key is not None:
            self.line = self._line(item.key.end)
            while self.comments and self.comments[0].start < item.value.at:
                if self.comments[0].own_line and item.value.kind in ("map", "list") and not item.value.flow:
                    break  # above the first of its items
                comment = self._take()
                if not comment.own_line and item.head is None:
                    item.head = comment
                else:
                    self._line_of(item.above, comment)
        else:
            self.line = self._line(start)
        self._value(item, column, limit)

    def _value(self, item: Item, column: int, limit: int) -> None:
        """Take the comments inside a value and behind it; `column` is that of the block that holds it."""
        value = item.value
        while self.comments and self.comments[0].start < value.at and not self.comments[0].own_line:
            if item.head is None:
                item.head = self._take()
            else:
                self._line_of(item.above, self._take())
        if value.kind in ("map", "list") and not value.flow:
            self._items(value, limit)
            self._tail(value, column)
            return
        if value.flow and value.items:
            self._flow(item)
        elif value.style in ("|", ">") and self.comments and self.comments[0].start < value.end:
            item.beside = self._take()
        self.line = self._line(max(value.end - 1, value.at))
        if value.style in ("|", ">"):
            self.line = max(self.line, self._line(value.end) + self._kept(value))
        after = bisect_right(self.starts, max(value.start, value.end - 1))
        limit = min(limit, self.starts[after]) if after < len(self.starts) else limit
        if self.comments and self.comments[0].start < limit and not self.comments[0].own_line:
            comment = self.comments[0]
            if comment.start >= value.end and comment.line == self._line(value.end):
                if item.beside is None and item.head is None:
                    item.beside = self._take()
                else:
                    self._line_of(item.above, self._take())

    def _flow(self, item: Item) -> None:
        value = item.value
        value.commented = bool(self.comments) and self.comments[0].start < value.end
        if not value.commented:
            return
        first = value.items[0].start
        while self.comments and self.comments[0].start < first and not self.comments[0].own_line:
            if item.head is None:
                item.head = self._take()
            else:
                self._line_of(item.above, self._take())
        self._items(value, value.end)
        while self.comments and self.comments[0].start < value.end:
            self._line_of(value.tail, self._take())

    def _tail(self, value: Value, outer: int) -> None:
        """Comment lines behind the last item that are indented like the items."""
        after = bisect_right(self.starts, value.end - 1)
        following = self.starts[after] if after < len(self.starts) else len(self.source.text) + 1
        column = self._column(value)
        while self.comments and self.comments[0].start < following:
            comment = self.comments[0]
            if not comment.own_line or comment.column < column or comment.column <= outer:
                return
            self._line_of(value.tail, self._take())

    def _above(self, until: int, line: int) -> list[str | None]:
        lines: list[str | None] = []
        while self.comments and self.comments[0].start < until:
            self._line_of(lines, self._take())
        return lines

    def _take(self) -> Comment:
        return self.comments.popleft()

    def _line_of(self, lines: list[str | None], comment: Comment) -> None:
        self._empty_before(lines, comment.line)
        lines.append(comment.text)
        self.line = max(self.line, comment.line)

    def _empty_before(self, lines: list[str | None], line: int) -> None:
        if self.line > 0 and any(not self.source.line(each).strip() for each in range(self.line + 1, line)):
            lines.append(None)

    def _kept(self, value: Value) -> int:
        """How many empty lines behind a block scalar are part of it."""
        header = self.source.line(self._line(value.at))[self.source.position(value.at)[1] - 1 :].partition("#")[0]
        if "+" not in header or not isinstance(value.data, str):
            return 0
        breaks = len(value.data) - len(value.data.rstrip("\n"))
        return breaks - bool(value.data.strip("\n"))

    def _column(self, value: Value) -> int:
        return self.source.position(value.at)[1]

    def _line(self, offset: int) -> int:
        return self.source.position(min(offset, len(self.source.text)))[0]


def _starts(document: Written) -> Iterator[int]:
    yield document.start
    yield from _starts_of(document.root)


def _starts_of(value: Value) -> Iterator[int]:
    yield value.start
    for item in value.items:
        if item.key is not None:
            yield item.key.start
        yield from _starts_of(item.value)
