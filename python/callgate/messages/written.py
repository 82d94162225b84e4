"""How arguments and results are written into messages as text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def arguments_text(value: Mapping[str, Any]) -> str:
    """Arguments as JSON text.

    >>> arguments_text({"q": "Lager"})
    '{"q": "Lager"}'
    """
    return json.dumps(dict(value), ensure_ascii=False)


def result_text(value: Any) -> str:
    """A result as a model reads it: a text as it is, everything else as JSON.

    Objects with fields are written by them; what has no JSON form at all, by its `str`.

    >>> result_text({"hits": 2}), result_text("fine"), result_text(None)
    ('{"hits": 2}', 'fine', 'null')
    """
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=_fields)


def _fields(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if hasattr(value, "__dataclass_fields__"):
        return {name: getattr(value, name) for name in value.__dataclass_fields__}
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=str)
    return str(value)
