"""A schema that knows every key: held against an output it finds the key that the schema lacks."""

from __future__ import annotations

from typing import Any


def closed(schema: Any) -> Any:
    """The schema, with no further keys allowed anywhere."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    more = {"additionalProperties": False} if "properties" in schema else {}
    return {key: closed(value) for key, value in schema.items()} | more
