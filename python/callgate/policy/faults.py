"""Faults that the core finds in a document, by pointer, turned into diagnostics with a place."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal, NamedTuple

from .diagnostics import Diagnostic, Place, Severity, Span
from .positions import Positions, join_pointer

if TYPE_CHECKING:
    from callgate._core import Fault

# Codes, and words of theirs, that come of YAML reading less of an expression than stands in its line.
_CUT = (("CG201", ""), ("CG203", "a CEL expression"), ("CG205", "expression"), ("CG301", ""), ("CG302", ""))

Steps = tuple[str | int, ...]


class Found(NamedTuple):
    """A fault with the fields that the core's have, for one that is found or moved in Python."""

    code: str
    severity: Severity
    message: str
    pointer: Steps
    part: Literal["key", "value"] = "value"
    hint: str | None = None
    related: tuple[tuple[Steps, str], ...] = ()
    span: tuple[int, int] | None = None


def located(positions: Positions, faults: Iterable[Fault | Found]) -> list[Diagnostic]:
    """The faults of a document as diagnostics.

    A fault about a key points at the key, or where it has none (the document itself, an item of a list) at the
    beginning of the value. What is reached through an alias points at the anchor's text, with the alias beside it.
    """
    file = positions.source.file
    found: list[Diagnostic] = []
    for fault in faults:
        related = tuple(Place(words, file, span_of(positions, at, "value")) for at, words in fault.related)
        cut = any(fault.code == code and words in fault.message for code, words in _CUT)
        hint = (_of_the_line(positions, fault) if cut else None) or fault.hint
        found.append(
            Diagnostic(
                fault.code, fault.severity, fault.message, file, _span(positions, fault),
                hint, related + positions.aliases(fault.pointer), join_pointer(fault.pointer),
            )
        )  # fmt: skip
    return found


def _of_the_line(positions: Positions, fault: Fault | Found) -> str | None:
    """The hint for an expression that is broken because YAML ends it before its author does."""
    child = positions.find(fault.pointer)
    node = None if child is None else child.key if fault.code == "CG201" else child.node
    if node is None or node.style in ("single", "double") or (node.style is None and fault.code != "CG203"):
        return None
    from .quoting import cut_off  # only where something is wrong already

    return cut_off(positions.source, node.start, node.end, in_string="string is not closed" in fault.message)


def _span(positions: Positions, fault: Fault | Found) -> Span | None:
    """Where a fault is: inside the text that stands there, for mistakes in expressions; else the key or value."""
    if fault.span is not None:
        inside = positions.inside(fault.pointer, *fault.span)
        if inside is not None:
            return inside
    return span_of(positions, fault.pointer, fault.part)


def span_of(positions: Positions, pointer: Steps, part: Literal["key", "value"]) -> Span:
    """The span of a key or value, or of the nearest thing around it that is written."""
    here, child = positions.nearest(pointer)
    whole = here == join_pointer(pointer)
    node = child.node
    if child.key is not None and (part == "key" or not whole or node.style is None or node.start == node.end):
        node = child.key  # a map or list as a whole would mark many lines; its key says which one is meant
    elif node.style is None:
        first = next(iter(node.children.values()), None)
        if first is not None and first.key is not None:
            node = first.key
    return positions.source.span(node.start, max(node.end, node.start))
