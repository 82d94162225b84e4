"""Reading a provider's response, a dictionary or an object of its library, without importing the library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from callgate.messages import MessageError


def field(holder: Any, name: str, wanted: type | None = None) -> Any:
    """A field of a dictionary or object; None where it is not there and nothing is wanted.

    Raises:
        MessageError: the field is not of the wanted type.

    Example:
        >>> field({"stop_reason": "end_turn"}, "stop_reason"), field(None, "usage")
        ('end_turn', None)
    """
    value = holder.get(name) if isinstance(holder, Mapping) else getattr(holder, name, None)
    if wanted is not None and not isinstance(value, wanted):
        raise MessageError(f"this is no response: `{name}` is no {wanted.__name__}")
    return value


def number(holder: Any, name: str) -> float:
    """A field that counts something; 0 where it is not there."""
    value = field(holder, name)
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else 0.0
