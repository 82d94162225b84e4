"""The canonical order of keys: that in which the model declares them, which its JSON Schemas tell."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

from callgate import _core

from .tree import Item, Value, Written

Schema = dict[str, Any]


def put_in_order(document: Written) -> None:
    """Put the keys of a document in order. Names that authors choose stay as they wrote them, and so do maps around an
    anchor or an alias, of which the one has to stand before the other.
    """
    root = document.root
    kind = next((item.value.data for item in root.items if item.key is not None and item.key.data == "kind"), None)
    if root.kind == "map" and kind in _core.kinds():
        _Order(_schema(kind)).sort(root, [_schema(kind)], root=True)


@cache
def _schema(kind: str) -> Schema:
    schema: Schema = json.loads(_core.schema(kind))
    return schema


class _Order:
    def __init__(self, schema: Schema) -> None:
        self._defs: dict[str, Schema] = schema.get("$defs", {})

    def sort(self, value: Value, schemas: list[Schema], *, root: bool = False) -> None:
        """Order a map by the schemas that may describe it, and all below it by theirs."""
        alternatives = [each for schema in schemas for each in self._flat(schema)]
        if value.kind == "list":
            below = [each["items"] for each in alternatives if isinstance(each.get("items"), dict)]
            for item in value.items:
                self.sort(item.value, below)
        elif value.kind == "map":
            shape = self._fitting(value, alternatives)
            known = shape.get("properties", {})
            for item in value.items:
                if item.key is not None:
                    inner = known.get(item.key.data, shape.get("additionalProperties"))
                    self.sort(item.value, [inner] if isinstance(inner, dict) else [])
            if known and not _is_tied(value):
                _reorder(value, {name: at for at, name in enumerate(known)}, root)

    def _fitting(self, value: Value, alternatives: list[Schema]) -> Schema:
        """The alternative that knows the most of a map's keys."""
        keys = [item.key.data for item in value.items if item.key is not None]
        maps = [each for each in alternatives if "properties" in each or "additionalProperties" in each]
        return max(maps, key=lambda each: sum(key in each.get("properties", {}) for key in keys), default={})

    def _flat(self, schema: Schema) -> Iterator[Schema]:
        if "$ref" in schema:
            yield from self._flat(self._defs[schema["$ref"].rpartition("/")[2]])
        for each in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
            yield from self._flat(each)
        yield schema


def _reorder(value: Value, places: dict[str, int], root: bool) -> None:
    items = value.items
    ordered = sorted(items, key=lambda item: places.get(item.key.data if item.key is not None else "", len(places)))
    if ordered == items:
        return
    first = items[0]
    stays = _about_all(first, root)
    value.items = ordered
    ordered[0].above = stays + ordered[0].above


def _about_all(first: Item, root: bool) -> list[str | None]:
    """Take off the first item the comment that is about all of the map: that at the top of the document, and elsewhere
    what an empty line parts from the item.
    """
    cut = len(first.above) if root else max((at + 1 for at, line in enumerate(first.above) if line is None), default=0)
    stays, first.above = first.above[:cut], first.above[cut:]
    return stays if any(line is not None for line in stays) else []


def _is_tied(value: Value) -> bool:
    """Whether an anchor or an alias stands in it."""
    if value.kind == "alias" or "&" in value.properties:
        return True
    return any((item.key is not None and _is_tied(item.key)) or _is_tied(item.value) for item in value.items)
