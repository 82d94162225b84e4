"""Guesses that complete the draft of a tool: its effect and identity, from its name and the names of its arguments."""

from __future__ import annotations

from typing import Any

from .draft import Draft, Guess
from .tool_words import (
    TWICE_AS_ONCE,
    effect_of,
    is_identifying,
    is_path,
    is_poll,
    is_searched,
    is_transfer,
    is_unordered,
    is_volatile,
)

WAITING = {"max_unchanged": 20, "max_stale": "10m"}
_ORDER = ("description", "effect", "idempotent", "parameters", "identity", "result", "waiting", "transfer")


def guess_rest(draft: Draft) -> None:
    """Fill in what nobody said of a tool; what is said already stays.

    >>> draft = Draft("get_order", {"parameters": {"required": ["order_id"], "properties": {"order_id": {}}}})
    >>> guess_rest(draft)
    >>> draft.plain()["effect"], draft.plain()["identity"]
    ('read', {'target': ['order_id']})
    """
    arguments = arguments_of(draft)
    suggested = effect_of(draft.name, list(arguments))
    if "effect" not in draft.keys:
        why = f"by the word `{suggested.word}` in its name"
        if suggested.word is None:
            why = "its name does not say what it changes"
        elif suggested.effect == "unknown":
            why = f"`{suggested.word}` may do anything; `forms` can tell its calls apart"
        draft.keys["effect"] = Guess(suggested.effect, why)
        if suggested.effect == "external" and suggested.word in TWICE_AS_ONCE:
            draft.keys["idempotent"] = Guess(True, f"to {suggested.word} twice comes to the same as once")
    identity = _identity(draft, arguments)
    if identity:
        draft.keys["identity"] = {**identity, **draft.keys.get("identity", {})}
    if "waiting" not in draft.keys and draft.plain()["effect"] in ("read", "unknown") and is_poll(draft.name):
        draft.keys["waiting"] = Guess(WAITING, "named like a tool that is asked until something is done")
    if is_transfer(draft.name):
        draft.keys["transfer"] = Guess(True, "named like a tool that passes control to another agent or a person")
    draft.keys = {key: draft.keys[key] for key in _ORDER if key in draft.keys}


def arguments_of(draft: Draft) -> dict[str, dict[str, Any]]:
    """The arguments that a draft's parameters declare, with the schema of each."""
    properties = draft.plain().get("parameters", {}).get("properties")
    found = properties if isinstance(properties, dict) else {}
    return {name: schema if isinstance(schema, dict) else {} for name, schema in found.items() if _is_name(name)}


def _identity(draft: Draft, arguments: dict[str, dict[str, Any]]) -> dict[str, Any]:
    required = draft.plain().get("parameters", {}).get("required")
    needed = [name for name in arguments if isinstance(required, list) and name in required]
    texts = [name for name, schema in arguments.items() if schema.get("type", "string") == "string"]
    found: dict[str, Any] = {}
    ignored = [name for name in arguments if is_volatile(name)]
    if ignored and len(ignored) < len(arguments):
        found["ignore"] = Guess(ignored, "named like something that is new in each call")
    searched = [name for name in texts if is_searched(name)]
    if searched and draft.plain()["effect"] == "read":
        found["trim"] = Guess(searched, "words of a search")
        found["casefold"] = Guess(searched, "words of a search; take it out where upper and lower case differ")
    paths = [name for name in texts if is_path(name)]
    if paths:
        found["paths"] = Guess(paths, "named like paths")
    unordered = [name for name, schema in arguments.items() if schema.get("type") == "array" and is_unordered(name)]
    if unordered:
        found["unordered"] = Guess(unordered, "named like sets")
    # what the schema says is no guess; null cannot be written here
    defaults = {name: schema["default"] for name, schema in arguments.items() if schema.get("default") is not None}
    defaults = {name: value for name, value in defaults.items() if name not in needed}
    if defaults:
        found["defaults"] = defaults
    target = [name for name in needed if is_identifying(name) and arguments[name].get("type", "string") in _PLAIN]
    if target:
        found["target"] = Guess(target, "named like what is acted upon")
    return found


_PLAIN = ("string", "integer", "number")


def _is_name(name: str) -> bool:
    """Whether the language takes this as the name of an argument."""
    return bool(name) and name.strip() == name and name.isprintable()
