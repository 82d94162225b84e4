"""The position tree of a document: where key and value at each JSON Pointer stand, and the characters inside."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from .diagnostics import Diagnostic, Place, Span
from .offsets import Style, scalar_offsets
from .source import Source

Pointer = str | tuple[str | int, ...]


class Node:
    """A value of a document: its data and the offsets between which it is written, without anchor and tag.

    `size` is the number of nodes it stands for with all aliases expanded (a long text for several, for whoever copies
    it), `height` its levels of maps and lists, `stop` the end together with the empty lines that close a block scalar.
    An alias shares the node of its anchor, so data and positions of aliased values are those of the anchor's text.
    """

    __slots__ = ("children", "data", "end", "height", "size", "start", "stop", "style")

    children: Mapping[str, Child]

    def __init__(self, data: Any, start: int, end: int, style: Style | None = None) -> None:
        self.data = data
        self.start = start
        self.end = end
        self.stop = end
        self.style = style
        self.size = 1
        self.height = 0
        self.children = _NONE  # a scalar has none, and most nodes are scalars


class Child(NamedTuple):
    """A node in its parent: its key (none in a list), and where the alias stands if it was reached through one."""

    node: Node
    key: Node | None
    alias: tuple[int, int] | None


_NONE: Final[Mapping[str, Child]] = MappingProxyType({})


class Positions:
    """Places inside one document, by JSON Pointer (RFC 6901) or by the steps of one: `("spec", "rules", 0)`.

    `data` is the document as plain data, shared and not to be changed.
    """

    __slots__ = ("_root", "data", "source")

    def __init__(self, source: Source, root: Node) -> None:
        self.source = source
        self.data = root.data
        self._root: Node | Callable[[], Node] = root

    @classmethod
    def later(cls, source: Source, data: Any, root: Callable[[], Node]) -> Positions:
        """Places that are made when the first one is asked for: most documents are without a fault."""
        made = cls.__new__(cls)
        made.source, made.data, made._root = source, data, root
        return made

    @property
    def root(self) -> Node:
        """The document as a node."""
        if not isinstance(self._root, Node):
            self._root = self._root()
        return self._root

    def find(self, pointer: Pointer) -> Child | None:
        """The value at a pointer, or None where the document has none."""
        child: Child | None = Child(self.root, None, None)
        for step in steps_of(pointer):
            child = child.node.children.get(step) if child is not None else None
        return child

    def nearest(self, pointer: Pointer) -> tuple[str, Child]:
        """The longest part of the pointer that the document has, and what is there."""
        steps = steps_of(pointer)
        while True:
            here = join_pointer(steps)
            child = self.find(tuple(steps))
            if child is not None:
                return here, child
            steps.pop()

    def key(self, pointer: Pointer) -> Span | None:
        """The span of the key at a pointer; None for list items, the root, and what is not there."""
        child = self.find(pointer)
        return None if child is None or child.key is None else self.source.span(child.key.start, child.key.end)

    def value(self, pointer: Pointer) -> Span | None:
        """The span of the value at a pointer, in the anchor's text where an alias led there."""
        child = self.find(pointer)
        return None if child is None else self.source.span(child.node.start, child.node.end)

    def style(self, pointer: Pointer) -> Style | None:
        """How the scalar at a pointer is written; None for maps, lists and what is not there."""
        child = self.find(pointer)
        return None if child is None else child.node.style

    def inside(self, pointer: Pointer, start: int, end: int) -> Span | None:
        """The span of the characters from `start` to `end` (code points) of the string at a pointer.

        Returns None where there is no scalar, and the whole scalar where its text cannot be followed.
        """
        child = self.find(pointer)
        if child is None or child.node.style is None:
            return None
        node = child.node
        value = node.data if isinstance(node.data, str) else self.source.text[node.start : node.end]
        assert node.style is not None
        offsets = scalar_offsets(self.source.text, node.start, node.stop, node.style, value)
        if offsets is None or len(offsets) == 0:
            return self.source.span(node.start, node.end)
        length = len(offsets)
        first = offsets.starts[start] if start < length else offsets.ends[-1]
        last = offsets.ends[min(end, length) - 1] if end > start else first
        return self.source.span(first, max(first, last))

    def aliases(self, pointer: Pointer) -> tuple[Place, ...]:
        """The aliases through which a pointer leads, outermost first."""
        places: list[Place] = []
        child = Child(self.root, None, None)
        for step in steps_of(pointer):
            found = child.node.children.get(step)
            if found is None:
                break
            child = found
            if child.alias is not None:
                span = self.source.span(*child.alias)
                places.append(Place("used through this alias", self.source.file, span))
        return tuple(places)


class Composed(NamedTuple):
    """The documents of one file, as far as it could be read, and what is wrong with it."""

    documents: tuple[Positions, ...]
    diagnostics: tuple[Diagnostic, ...]


def steps_of(pointer: Pointer) -> list[str]:
    """The steps of a pointer in either form, as text."""
    return split_pointer(pointer) if isinstance(pointer, str) else [str(step) for step in pointer]


def split_pointer(pointer: str) -> list[str]:
    """The steps of a JSON Pointer.

    >>> split_pointer("/a~1b/0")
    ['a/b', '0']
    """
    if not pointer:
        return []
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]


def join_pointer(steps: Iterable[str | int]) -> str:
    """The JSON Pointer of some steps.

    >>> join_pointer(["a/b", "0"])
    '/a~1b/0'
    """
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps)
