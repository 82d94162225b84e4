"""A YAML text as a tree that still knows how everything was written: properties, styles, places, and all comments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    Event,
    MappingStartEvent,
    ScalarEvent,
    SequenceStartEvent,
)

from ..events import events
from ..source import Source

Kind = Literal["map", "list", "scalar", "alias"]
_PROPERTY: Final = re.compile(r"&[0-9A-Za-z_-]+|!<[^>\s]*>|![^\s,\[\]{}]*")
_BETWEEN: Final = re.compile(r"(?:[ \t\n]+|#[^\n]*)+")
_COMMENT: Final = re.compile(r"(?:\A|(?<=[ \t\n]))#[^\n]*")
_HEADER: Final = re.compile(r"[|>][-+0-9]*(?:[ \t]+(#[^\n]*))?")


@dataclass(slots=True)
class Comment:
    """A comment: its text from the `#` on, where it stands, and whether its line holds nothing else.

    `gap` is how many blanks stand before it.
    """

    text: str
    start: int
    line: int
    column: int
    own_line: bool
    gap: int


@dataclass(slots=True)
class Item:
    """A pair of a map, or an item of a list (no `key`), with the comments that go with it.

    `above` holds comment lines, None for an empty line; `head` stands behind the key or dash where the value begins on
    a later line, `beside` behind the value.
    """

    key: Value | None
    value: Value
    above: list[str | None] = field(default_factory=list)
    head: Comment | None = None
    beside: Comment | None = None

    @property
    def start(self) -> int:
        """Where it begins; of an item of a list, its value, whose dash stands before that."""
        return self.value.start if self.key is None else self.key.start


@dataclass(slots=True)
class Value:
    """A value as it is written: from `start` with its anchor and tag (`properties`), from `at` without, up to `end`.

    `tail` are the comment lines behind the last item, `commented` says that a flow collection has comments inside.
    """

    kind: Kind
    start: int
    at: int
    end: int
    properties: str
    style: str | None = None
    flow: bool = False
    data: Any = None
    items: list[Item] = field(default_factory=list)
    tail: list[str | None] = field(default_factory=list)
    commented: bool = False
    stop: int = 0
    """Of a block scalar: its end with the lines of blanks at it, some of which may be content."""

    @property
    def is_empty(self) -> bool:
        """Whether it is a null of which nothing is written."""
        return self.kind == "scalar" and self.style in (None, "") and self.data == ""


@dataclass(slots=True)
class Written:
    """A document: its directives as they are written, whether `---` stands before it, and its comments around.

    `before` are comment lines in front of the `---`, `marker` the comment behind it.
    """

    root: Value
    explicit: bool
    start: int
    directives: list[str] = field(default_factory=list)
    before: list[str | None] = field(default_factory=list)
    marker: Comment | None = None
    begins: int = 0
    """Where the document begins behind its `---`."""


def documents_of(source: Source) -> list[Written]:
    """The documents of a text that is known to be without faults; its line breaks are line feeds."""
    found: list[Written] = []
    stream = events(source)
    for event in stream:
        if isinstance(event, DocumentStartEvent):
            start, end = _start(event), _end(event)
            explicit = bool(event.explicit)
            directives = source.text[start : end - 3].rstrip("\n").split("\n") if explicit and end - start > 3 else []
            root = _value(source.text, next(stream), stream)
            begins = end if explicit else 0 if not found else start
            found.append(Written(root, explicit, start, [line.rstrip() for line in directives], begins=begins))
        elif isinstance(event, DocumentEndEvent):
            continue
    return found


def comments_of(source: Source, documents: list[Written]) -> list[Comment]:
    """All comments of a text in their order; those among directives are left out, which are kept as they are."""
    text = source.text
    spans = sorted(span for document in documents for span in _contents(document.root))
    spans += [(document.start, document.begins) for document in documents if document.directives]
    found: list[Comment] = []
    at = 0
    for start, end in [*sorted(spans), (len(text), len(text))]:
        found += [_comment(source, match.start(), match.group()) for match in _COMMENT.finditer(text, at, start)]
        if text[start : start + 1] in ("|", ">") and (header := _HEADER.match(text, start, end)) and header[1]:
            found.append(_comment(source, header.start(1), header[1]))
        at = max(at, end)
    return found


def _comment(source: Source, start: int, text: str) -> Comment:
    line, column = source.position(start)
    before = source.line(line)[: column - 1]
    return Comment(text.rstrip(), start, line, column, not before.strip(), len(before) - len(before.rstrip()))


def _contents(value: Value) -> Iterator[tuple[int, int]]:
    """The spans that hold content rather than structure: scalars without their properties."""
    if value.kind in ("scalar", "alias"):
        yield value.at, value.end
    for item in value.items:
        if item.key is not None:
            yield from _contents(item.key)
        yield from _contents(item.value)


def _value(text: str, event: Event, stream: Iterator[Event]) -> Value:
    if isinstance(event, AliasEvent):
        start, end = _start(event), _end(event)
        return Value("alias", start, start, end, "")
    if isinstance(event, ScalarEvent):
        start, end = _start(event), _end(event)
        at, properties = _properties(text, event, start, end)
        value = Value("scalar", start, at, max(at, end), properties, event.style, data=event.value)
        if event.style in ("|", ">"):
            value.stop, value.end = end, at + len(text[at:end].rstrip(" \n"))
        return value
    assert isinstance(event, (MappingStartEvent, SequenceStartEvent))
    at, properties = _properties(text, event, _start(event), len(text))
    kind: Kind = "map" if isinstance(event, MappingStartEvent) else "list"
    value = Value(kind, _start(event), at, at + 1, properties, flow=bool(event.flow_style))
    for inner in stream:
        if not isinstance(inner, (ScalarEvent, AliasEvent, MappingStartEvent, SequenceStartEvent)):
            end = _end(inner)
            break
        key = _value(text, inner, stream) if kind == "map" else None
        value.items.append(Item(key, _value(text, inner if key is None else next(stream), stream)))
    value.end = end if value.flow else max(value.at + 1, value.items[-1].value.end if value.items else 0)
    return value


def _properties(text: str, event: Any, start: int, end: int) -> tuple[int, str]:
    """Where a value begins past its anchor and tag, and these as they are written."""
    if event.anchor is None and event.tag is None:
        return start, ""
    at, found = start, []
    while match := _PROPERTY.match(text, at, end):
        found.append(match.group())
        at = match.end()
        if between := _BETWEEN.match(text, at, end):
            at = between.end()
    return at, " ".join(found)


def _start(event: Event) -> int:
    return event.start_mark.index if event.start_mark is not None else 0


def _end(event: Event) -> int:
    return event.end_mark.index if event.end_mark is not None else 0
