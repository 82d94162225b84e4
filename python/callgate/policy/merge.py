"""Merging of policy layers: maps by key, rules by id, lists replaced, null resets; each value with its origin."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from .load import Document

Steps = tuple[str | int, ...]

# Lists whose items carry an `id` and merge by it; all other lists replace what is below.
BY_ID: Final = frozenset({("spec", "rules"), ("spec", "needs"), ("verification", "invariants")})


class Origin(NamedTuple):
    """Where a value of a resolved policy was written, and why it is not what stands there, if it is not."""

    document: Document
    steps: Steps
    note: str | None = None

    @property
    def line(self) -> int:
        """The line of the key, or of the value where it has none."""
        span = self.document.positions.key(self.steps) or self.document.positions.value(self.steps)
        return span.line if span is not None else 1

    def __str__(self) -> str:
        where = f"{self.document.source.label}:{self.line}"
        return f"{where}, {self.note}" if self.note else where


class Merged:
    """A value with its origin. `value` is a dict or list of `Merged`, or a scalar."""

    __slots__ = ("origin", "value")

    def __init__(self, value: Any, origin: Origin) -> None:
        self.value = value
        self.origin = origin

    def plain(self) -> Any:
        """The value as plain data."""
        if isinstance(self.value, dict):
            return {key: child.plain() for key, child in self.value.items()}
        if isinstance(self.value, list):
            return [child.plain() for child in self.value]
        return self.value

    def at(self, *steps: str | int) -> Merged | None:
        """The value at some steps below, if there is one."""
        here: Merged | None = self
        for step in steps:
            if here is None or not isinstance(here.value, (dict, list)):
                return None
            if isinstance(here.value, dict):
                here = here.value.get(step)
            else:
                here = here.value[int(step)] if isinstance(step, int) and step < len(here.value) else None
        return here


def annotate(document: Document, data: Any, steps: Steps) -> Merged:
    """Plain data of a document, each value with its origin."""
    origin = Origin(document, steps)
    if isinstance(data, dict):
        return Merged({key: annotate(document, value, (*steps, key)) for key, value in data.items()}, origin)
    if isinstance(data, list):
        return Merged([annotate(document, value, (*steps, at)) for at, value in enumerate(data)], origin)
    return Merged(data, origin)


def merge(lower: Merged | None, upper: Merged, path: Steps = ()) -> Merged:
    """`upper` laid over `lower`; neither is changed. `path` leads to them from the root: `("spec", "budgets")`."""
    if isinstance(upper.value, dict):
        below = lower.value if lower is not None and isinstance(lower.value, dict) else {}
        merged = dict(below)
        for key, value in upper.value.items():
            here = (*path, key)
            if value.value is None and not _null_is_a_value(here):
                merged.pop(key, None)
            else:
                merged[key] = merge(below.get(key), value, here)
        return Merged(merged, upper.origin)
    if isinstance(upper.value, list) and path in BY_ID:
        return _merge_by_id(lower, upper, path)
    if isinstance(upper.value, list):
        return Merged([merge(None, item, (*path, at)) for at, item in enumerate(upper.value)], upper.origin)
    return upper


def _merge_by_id(lower: Merged | None, upper: Merged, path: Steps) -> Merged:
    items: list[Merged] = list(lower.value) if lower is not None and isinstance(lower.value, list) else []
    index = {identity(item): at for at, item in enumerate(items)}
    inherited = set(index)
    for item in upper.value:
        name = identity(item)
        known = index.get(name) if name in inherited else None
        if known is None:
            index[name] = len(items)
            items.append(merge(None, item, (*path, len(items))))
        else:
            items[known] = merge(items[known], item, (*path, known))
            inherited.discard(name)  # a second one with this id in the same file is a fault of that file
    return Merged(items, upper.origin)


def identity(item: Merged) -> str | None:
    """The `id` of a list item, if it has one."""
    found = item.at("id") if isinstance(item.value, dict) else None
    return found.value if found is not None and isinstance(found.value, str) else None


def _null_is_a_value(path: Steps) -> bool:
    """Inside a constant and the JSON Schema of a parameter null is data, below a tool of `detectors.for` it is off."""
    if path[:3] == ("spec", "detectors", "for"):
        return len(path) > 4
    return len(path) > 3 and path[:2] in (("spec", "constants"), ("spec", "parameters"))
