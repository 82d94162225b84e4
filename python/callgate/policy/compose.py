"""Strict documents from YAML events: plain data and a position tree, with every cap checked before anything is built.

A key that stands twice or is no string, a custom tag, a merge key and a tab are each reported and stepped over,
so that one run finds them all. A broken syntax and a cap end the file; the documents before it are kept.
"""

from __future__ import annotations

import re

from yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from .diagnostics import Diagnostic, Place, did_you_mean
from .events import DEFAULT_BACKEND, Backend, SyntaxFault, events, tab_fault
from .limits import DEFAULT_LIMITS, TEXT_AS_A_VALUE, Limits
from .offsets import Style
from .positions import Child, Composed, Node, Positions
from .scalars import NumberError, resolve_plain
from .source import Source

_STYLES: dict[str | None, Style] = {
    None: "plain", "": "plain", "'": "single", '"': "double", "|": "literal", ">": "folded",
}  # fmt: skip
_CORE_TAG = "tag:yaml.org,2002:"
_CORE_TYPES = {"str": str, "int": int, "float": float, "bool": bool, "null": type(None), "map": dict, "seq": list}
_RESOLVED_TAGS = frozenset(_CORE_TAG + name for name in ("int", "float", "bool", "null"))
_PROPERTY = re.compile(r"[&!]\S*|[ \t]+|#[^\r\n]*|\r\n|\r|\n")
_INDENT = re.compile(r"[ \t\-?:]*")


def compose(source: Source, limits: Limits = DEFAULT_LIMITS, backend: Backend = DEFAULT_BACKEND) -> Composed:
    """Read all documents of a text.

    >>> [d.root.data for d in compose(Source("x.yaml", "on: no")).documents]
    [{'on': 'no'}]
    """
    composer = _Composer(source, limits)
    try:
        for event in events(source, backend):
            composer.feed(event)
    except SyntaxFault as fault:
        composer.diagnostics.append(fault.diagnostic)
        # the two parsers agree on what is YAML, but not on words and places: those of the pure one count
        if backend == "c":
            pure = compose(source, limits, "pure")
            if pure.diagnostics:
                return pure
    except _Stopped as stopped:
        composer.diagnostics.append(stopped.diagnostic)
    return Composed(tuple(composer.documents), tuple(composer.diagnostics))


def _start(event: Event) -> int:
    return event.start_mark.index if event.start_mark is not None else 0


def _end(event: Event) -> int:
    return event.end_mark.index if event.end_mark is not None else 0


def _has_surrogate(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


class _Stopped(Exception):
    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


class _Frame:
    """A map or list that is still open; `key` is the key whose value comes next, `skip` that it will not be kept."""

    __slots__ = ("anchor", "children", "flow", "key", "node", "skip", "waits")

    def __init__(self, node: Node, children: dict[str, Child], event: MappingStartEvent | SequenceStartEvent) -> None:
        self.node = node
        self.children = children  # those of the node, while they come in
        self.anchor: str | None = event.anchor
        self.flow = bool(event.flow_style)
        self.key: Node | None = None
        self.waits = False
        self.skip = False


class _Composer:
    def __init__(self, source: Source, limits: Limits) -> None:
        self.source = source
        self.limits = limits
        self.documents: list[Positions] = []
        self.diagnostics: list[Diagnostic] = []
        self._stack: list[_Frame] = []
        self._anchors: dict[str, Node | None] = {}  # None while the anchored value is still open
        self._count = 0
        self._root: Node | None = None
        self._line = self._indent_end = self._tab = -1
        self._has_tabs = "\t" in source.text

    def feed(self, event: Event) -> None:
        if len(self.diagnostics) >= self.limits.faults:
            at = _start(event)
            self._stop(f"{self.limits.faults} faults are enough: the rest of the file is not read", at, at + 1)
        if isinstance(event, ScalarEvent):
            node = self._scalar(event)
            if event.anchor is not None:
                self._anchors[event.anchor] = node
            self._place(node, None)
        elif isinstance(event, (MappingStartEvent, SequenceStartEvent)):
            self._open(event)
        elif isinstance(event, (MappingEndEvent, SequenceEndEvent)):
            self._close(event)
        elif isinstance(event, AliasEvent):
            self._check_indent(_start(event))
            self._alias(event)
        elif isinstance(event, DocumentStartEvent):
            self._anchors = {}
            self._root = None
            if event.version not in (None, (1, 2)):
                end = _start(event) + len("%YAML")
                self._report("CG101", "only YAML 1.2 is read", _start(event), end, "leave the directive out")
        elif isinstance(event, DocumentEndEvent) and self._root is not None:
            self.documents.append(Positions(self.source, self._root))

    def _open(self, event: MappingStartEvent | SequenceStartEvent) -> None:
        start, *tag = self._properties(event)
        self._check_indent(_start(event))
        children: dict[str, Child] = {}
        node = Node({} if isinstance(event, MappingStartEvent) else [], start, max(start + 1, _end(event)))
        node.height = 1
        node.children = children
        self._grow(1, start)
        if len(self._stack) >= self.limits.depth:
            self._stop(f"nested deeper than {self.limits.depth} levels", start, start + 1)
        self._stack.append(_Frame(node, children, event))
        if event.tag is not None:
            self._check_tag(event.tag, node, *tag)
        if event.anchor is not None:
            self._anchors[event.anchor] = None

    def _close(self, event: Event) -> None:
        frame = self._stack.pop()
        if frame.flow:
            frame.node.end = _end(event)
        elif frame.children:
            last = next(reversed(frame.children.values()))
            frame.node.end = max(frame.node.end, last.alias[1] if last.alias else last.node.end)
        if frame.anchor is not None:
            self._anchors[frame.anchor] = frame.node
        self._place(frame.node, None)

    def _alias(self, event: AliasEvent) -> None:
        start, end = _start(event), _end(event)
        name = str(event.anchor)
        node = self._anchors.get(name)
        if node is None:
            message, hint = f"no anchor `&{name}` before this alias", self._of_alias(name, start)
            if name in self._anchors:
                message, hint = f"alias `*{name}` stands inside its own anchor", None
            raise _Stopped(Diagnostic("CG109", "error", message, self.source.file, self.source.span(start, end), hint))
        self._grow(node.size, start, end)
        if len(self._stack) + node.height > self.limits.depth:
            self._stop(f"nested deeper than {self.limits.depth} levels through this alias", start, end)
        self._place(node, (start, end))

    def _of_alias(self, name: str, start: int) -> str | None:
        """What may be meant by an alias without an anchor: another one, or no alias at all."""
        if (near := did_you_mean(name, self._anchors)) is not None:
            return near
        from .quoting import mended
        from .value_text import value_at

        value = value_at(self.source, start)
        return mended(self.source, value) if value is not None and value.start == start else None

    def _scalar(self, event: ScalarEvent) -> Node:
        # more than half of all events are scalars, and what a check takes is spent here
        start, end, value, tag = _start(event), _end(event), event.value, event.tag
        tag_start = tag_end = start
        if self._has_tabs:
            self._check_indent(start)
        if event.anchor is not None or tag is not None:
            start, tag_start, tag_end = self._properties(event)
        self._count += 1
        if self._count > self.limits.nodes:
            self._grow(0, start)
        style = _STYLES[event.style]
        node = Node(value, start, end if end > start else start, style)
        if len(value) >= TEXT_AS_A_VALUE:
            node.size += len(value) // TEXT_AS_A_VALUE
        if style == "plain":
            if tag is None or tag in _RESOLVED_TAGS:
                try:
                    node.data = resolve_plain(value)
                except NumberError as error:
                    node.data = 0
                    self._report("CG106", str(error), start, end, "put it in quotes to make it a string")
        elif style == "double":
            if _has_surrogate(value):
                hint = "write it as `\\U` with 8 digits"
                self._report("CG111", "half of a surrogate pair is no character", start, end, hint)
        elif style != "single":
            node.end = start + len(self.source.text[start:end].rstrip(" \r\n"))
        if tag is not None and not self._is_negation(node, tag_start, tag_end):
            self._check_tag(tag, node, tag_start, tag_end)
        return node

    def _is_negation(self, node: Node, start: int, end: int) -> bool:
        """Report an expression that begins with `!`, which YAML takes for a tag, and read on with what was meant.

        A `!` with a blank behind it is a tag that says nothing: read as that, `! has(x)` would be its opposite.
        """
        from .quoting import negation  # only where something is wrong already

        frame = self._stack[-1] if self._stack else None
        key = frame.key.data if frame is not None and frame.waits and frame.key is not None else None
        found = negation(self.source, start, key)
        if found is None:
            return False
        value, hint = found
        self._report("CG104", f"YAML takes `{self.source.text[start:end]}` for a tag", start, end, hint)
        if value.end >= node.end:
            node.data, node.start, node.end, node.style = self.source.text[start : value.end], start, value.end, "plain"
        return True

    def _place(self, node: Node, alias: tuple[int, int] | None) -> None:
        """Put a finished value where it belongs: into the root, a list, or a map as key or value."""
        if not self._stack:
            self._root = node
            return
        frame = self._stack[-1]
        parent = frame.node
        if isinstance(parent.data, list):
            frame.children[str(len(parent.data))] = Child(node, None, alias)
            parent.data.append(node.data)
        elif not frame.waits:
            frame.waits = True
            frame.key = node
            frame.skip = not self._check_key(frame, node, alias)
            return
        else:
            frame.waits = False
            key = frame.key
            if key is None or frame.skip:
                return
            parent.data[key.data] = node.data
            frame.children[key.data] = Child(node, key, alias)
        parent.size += node.size
        if node.height >= parent.height:
            parent.height = node.height + 1

    def _check_key(self, frame: _Frame, key: Node, alias: tuple[int, int] | None) -> bool:
        start, end = alias or (key.start, key.end)
        if not isinstance(key.data, str):
            written = self.source.text[key.start : key.end]
            shown = "a map or list" if key.style is None else f"`{written or 'null'}`"
            hint = f'write it in quotes: `"{written}"`' if key.style is not None and written else None
            self._report("CG103", f"a key has to be a string, not {shown}", start, end, hint)
            return False
        if key.data == "<<" and key.style == "plain":
            self._report(
                "CG108", "merge keys are not part of YAML 1.2", start, end, "write the keys out, or use `extends`"
            )
            return False
        if len(key.data) > self.limits.key_length:
            self._stop(f"a key is longer than {self.limits.key_length:,} characters", start, end)
        first = frame.node.children.get(key.data)
        if first is None or first.key is None:
            return True
        place = Place("first written here", self.source.file, self.source.span(first.key.start, first.key.end))
        self._report("CG102", f"duplicate key `{key.data}`", start, end, "remove one of the two", (place,))
        return False

    def _check_tag(self, tag: str, node: Node, start: int, end: int) -> None:
        kind = _CORE_TYPES.get(tag.removeprefix(_CORE_TAG)) if tag.startswith(_CORE_TAG) else None
        shown = self.source.text[start:end]
        if tag == "!":
            self._report("CG104", "the tag `!` says nothing", start, end, "remove the tag")
        elif kind is None:
            self._report("CG104", f"custom tag `{shown}` is not allowed", start, end, "remove the tag")
        elif kind is float and type(node.data) is int:
            node.data = float(node.data)
        elif type(node.data) is not kind:
            self._report("CG104", f"this value is no `{shown}`", start, end, "remove the tag")

    def _check_indent(self, start: int) -> None:
        """Report a tab before the first value of a line, and behind a `-`, `?` or `:` that indents it."""
        if not self._has_tabs:
            return
        line, column = self.source.position(start)
        if line != self._line:
            found = _INDENT.match(self.source.text, start - column + 1)
            self._line, self._indent_end = line, found.end() if found is not None else 0
            self._tab = self.source.text.find("\t", start - column + 1, self._indent_end)
        if 0 <= self._tab < start <= self._indent_end:
            self.diagnostics.append(tab_fault(self.source, self._tab))
            self._tab = -1  # once a line

    def _properties(self, event: MappingStartEvent | SequenceStartEvent | ScalarEvent) -> tuple[int, int, int]:
        """The offset at which a value begins past its anchor and tag, and where the tag begins and ends."""
        start: int = _start(event)
        tag = (start, start)
        if event.anchor is None and event.tag is None:
            return start, *tag
        end = _end(event) if isinstance(event, ScalarEvent) else len(self.source.text)
        while found := _PROPERTY.match(self.source.text, start, end):
            if found.group()[0] == "!":
                tag = found.span()
            start = found.end()
        return start, *tag

    def _grow(self, size: int, start: int, end: int | None = None) -> None:
        self._count += size
        if self._count > self.limits.nodes:
            hint = "aliases count with all that they stand for" if end is not None else "split the file"
            self._stop(f"more than {self.limits.nodes:,} values", start, end or start + 1, hint)

    def _stop(self, message: str, start: int, end: int, hint: str | None = None) -> None:
        raise _Stopped(Diagnostic("CG106", "error", message, self.source.file, self.source.span(start, end), hint))

    def _report(
        self, code: str, message: str, start: int, end: int, hint: str | None = None, related: tuple[Place, ...] = ()
    ) -> None:
        span = self.source.span(start, end)
        self.diagnostics.append(Diagnostic(code, "error", message, self.source.file, span, hint, related))
