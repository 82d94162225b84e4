"""Faults that the core finds in a document, by pointer, turned into diagnostics with a place."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal, NamedTuple

from .diagnostics import Diagnostic, Place, Severity, Span
from .positions import Positions, join_pointer

if TYPE_CHECKING:
    from callgate._core import Fault

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
        found.append(
            Diagnostic(
                fault.code, fault.severity, fault.message, file, _span(positions, fault),
                fault.hint, related + positions.aliases(fault.pointer), join_pointer(fault.pointer),
            )
        )  # fmt: skip
    return found


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
