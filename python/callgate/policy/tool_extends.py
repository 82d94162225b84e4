"""Tools that extend another, with the keys of the other where they write none: for what reads manifests as data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def with_extended(tools: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The tools of manifests, each with what it extends, as the engine sees them.

    Args:
        tools: what is declared of each tool, by its name.

    Returns:
        The same, each key taken as a whole from the nearest tool along the way that writes it. What extends an unknown
        tool, or goes round in a circle, is an error of `check`; here the way ends there.

    Example:
        >>> with_extended({"bash": {"effect": "read", "groups": ["shells"]}, "sh": {"extends": "bash", "groups": []}})
        {'bash': {'effect': 'read', 'groups': ['shells']}, 'sh': {'effect': 'read', 'groups': []}}
    """
    return {name: _whole(name, tools) for name in tools}


def _whole(name: str, tools: Mapping[str, Any]) -> dict[str, Any]:
    layers: list[Mapping[str, Any]] = []
    seen: set[str] = set()
    here: Any = name
    while isinstance(here, str) and here in tools and here not in seen:
        seen.add(here)
        declared = tools[here]
        if not isinstance(declared, Mapping):
            break
        layers.append(declared)
        here = declared.get("extends")
    found: dict[str, Any] = {}
    for layer in reversed(layers):
        found.update({key: value for key, value in layer.items() if key != "extends" and value is not None})
    return found
