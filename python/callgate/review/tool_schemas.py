"""Whether the JSON Schema of a tool's arguments accepts more or less than before, where its plain keywords tell."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from callgate.policy.merge import Merged, Steps

from .change import plain
from .laws import Difference

# Keywords that only speak to readers.
_WORDS: Final = frozenset({"title", "description", "examples", "$comment", "default", "deprecated", "$schema", "$id"})
_LEAST: Final = frozenset({"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"})
_MOST: Final = frozenset({"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"})
_TYPES: Final = frozenset({"null", "boolean", "object", "array", "number", "integer", "string"})

# Keywords that change what others beside them are about.
_ENTANGLED: Final = frozenset({"patternProperties", "prefixItems", "unevaluatedProperties", "unevaluatedItems"})

Ways = set[str]
"""In which directions schemas differ: `wider`, `narrower`, `unknown`; none: they accept the same."""


def compare_schemas(steps: Steps, old: Merged | None, new: Merged | None) -> Iterator[Difference]:
    """`parameters` of a tool; without them any arguments are accepted."""
    was, now = plain(old), plain(new)
    if was == now:
        return
    ways = _ways({} if was is None else was, {} if now is None else now)
    if ways == {"wider"}:
        yield Difference("TOOL_SCHEMA_WIDENED", "looser", steps, old, new, _told(was, now))
    elif ways == {"narrower"}:
        yield Difference("TOOL_SCHEMA_NARROWED", "stricter", steps, old, new, _told(was, now))
    elif ways:
        yield Difference("TOOL_SCHEMA_CHANGED", "reclassified", steps, old, new, _told(was, now))
    else:
        yield Difference("MESSAGE_ONLY", "none", steps, old, new)


def _ways(old: Any, new: Any) -> Ways:
    """How two schemas differ. Keywords hold each by itself, so that what each accepts more or less adds up."""
    if old == new:
        return set()
    if isinstance(old, bool) or isinstance(new, bool):
        if isinstance(old, bool) and isinstance(new, bool):
            return {"wider" if new else "narrower"}
        if old is False or new is False:
            return {"wider" if old is False else "narrower"}
        old, new = ({} if side is True else side for side in (old, new))
    if not isinstance(old, dict) or not isinstance(new, dict):
        return {"unknown"}
    if _ENTANGLED & {*old, *new}:
        return {"unknown"}
    found: Ways = set()
    open_ends = (old.get("additionalProperties", True), new.get("additionalProperties", True))
    for key in {*old, *new} - _WORDS:
        found |= _keyword(key, old.get(key), new.get(key), open_ends)
    return found


def _keyword(key: str, old: Any, new: Any, open_ends: tuple[Any, Any]) -> Ways:
    if old == new:
        return set()
    if key == "required" and isinstance(old or [], list) and isinstance(new or [], list):
        return _sets(set(new or []), set(old or []))
    if key == "enum" and isinstance(old or [], list) and isinstance(new or [], list):
        return {"narrower"} if old is None else {"wider"} if new is None else _sets(_frozen(old), _frozen(new))
    if key == "type":
        return _sets(_types(old), _types(new))
    if key in _LEAST or key in _MOST:
        return _bound(old, new, up=key in _LEAST)
    if key == "properties" and isinstance(old or {}, dict) and isinstance(new or {}, dict):
        return _properties(old or {}, new or {}, open_ends)
    if key in ("items", "additionalProperties"):
        return _ways(True if old is None else old, True if new is None else new)
    return {"narrower"} if old is None and key in ("pattern", "const", "format") else {"unknown"}


def _properties(old: dict[str, Any], new: dict[str, Any], open_ends: tuple[Any, Any]) -> Ways:
    found: Ways = set()
    for name in {*old, *new}:
        # what is not listed is what `additionalProperties` says
        found |= _ways(old.get(name, open_ends[0]), new.get(name, open_ends[1]))
    return found


def _bound(old: Any, new: Any, *, up: bool) -> Ways:
    if old is None or new is None:
        return {"narrower" if old is None else "wider"}
    numbers = all(isinstance(side, (int, float)) and not isinstance(side, bool) for side in (old, new))
    return {"unknown"} if not numbers else {"narrower"} if (new > old) == up else {"wider"}


def _types(value: Any) -> set[Any]:
    names = set(_TYPES) if value is None else {value} if isinstance(value, str) else set(value)
    return names | {"integer"} if "number" in names else names


def _frozen(values: list[Any]) -> set[Any]:
    return {repr(value) for value in values}


def _sets(old: set[Any], new: set[Any]) -> Ways:
    return set() if old == new else {"wider"} if old < new else {"narrower"} if new < old else {"unknown"}


def _told(old: Any, new: Any) -> str | None:
    """In a few words what differs, where arguments are named."""
    said = []
    for word, key in (("required", "required"), ("arguments", "properties")):
        before, after = (set((side or {}).get(key) or ()) if isinstance(side, dict) else set() for side in (old, new))
        said += [f"{word} no longer: " + ", ".join(f"`{name}`" for name in sorted(before - after))] * bool(
            before - after
        )
        said += [f"{word} now: " + ", ".join(f"`{name}`" for name in sorted(after - before))] * bool(after - before)
    return "; ".join(said) or None
