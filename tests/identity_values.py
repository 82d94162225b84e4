"""Python objects for the tests of identity: from the tagged form of the conformance vectors, and at random."""

import dataclasses
import datetime
import decimal
import enum
import sys
import uuid
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st


def build(written: dict[str, Any]) -> Any:
    """The Python object that a vector's tagged form means."""
    return _build(written["tagged"])


def _build(tagged: list[Any]) -> Any:
    tag, *rest = tagged
    return BUILDERS[tag](*rest)


def _int(digits: str) -> int:
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        return int(digits)
    finally:
        sys.set_int_max_str_digits(limit)


def _nested(depth: int) -> Any:
    value: list[Any] = []
    for _ in range(depth - 1):
        value = [value]
    return value


def _cycle(kind: str) -> Any:
    if kind == "list":
        items: list[Any] = []
        items.append(items)
        return items
    fields: dict[str, Any] = {}
    fields["self"] = fields
    return fields


def _dataclass(fields: list[Any], *, slots: bool = False) -> Any:
    made = dataclasses.make_dataclass("Record", [name for name, _ in fields], slots=slots)
    return made(*(_build(value) for _, value in fields))


def _model(fields: list[Any]) -> Any:
    """What pydantic makes of a model, as far as reading it goes."""
    made = type("Record", (), {"__pydantic_fields__": {name: object() for name, _ in fields}})()
    vars(made).update({name: _build(value) for name, value in fields}, _cached_property=object())
    return made


BUILDERS: dict[str, Callable[..., Any]] = {
    "none": lambda: None,
    "int": _int,
    "float": float,
    "text": str,
    "units": lambda units: "".join(map(chr, units)),
    "list": lambda items: [_build(item) for item in items],
    "tuple": lambda items: tuple(_build(item) for item in items),
    "map": lambda pairs: {_build(key): _build(value) for key, value in pairs},
    "nested": _nested,
    "cycle": _cycle,
    "bytes": bytes.fromhex,
    "datetime": datetime.datetime.fromisoformat,
    "date": datetime.date.fromisoformat,
    "time": datetime.time.fromisoformat,
    "decimal": decimal.Decimal,
    "uuid": uuid.UUID,
    "set": lambda: {1, 2},
    "object": object,
    "dataclass": _dataclass,
    "slots dataclass": lambda fields: _dataclass(fields, slots=True),
    "model": _model,
    "enum": lambda value: enum.Enum("Colour", {"MEMBER": value}).MEMBER,  # type: ignore[attr-defined]
    "text enum": lambda value: enum.StrEnum("Colour", {"MEMBER": value}).MEMBER,  # type: ignore[attr-defined]
    "int enum": lambda value: enum.IntEnum("Colour", {"MEMBER": value}).MEMBER,  # type: ignore[attr-defined]
}

# any code point, lone surrogates included, with those that order or escape differently made likely
characters = st.one_of(
    st.sampled_from('aA"\\/\x00\x1f\x7fé\ud7ff\ud800\udbff\udc00\ud83d\ude00\ue000\uffff😀'), st.characters()
)
texts = st.text(characters, max_size=20)
numbers = st.one_of(
    st.integers(),
    st.integers(2**53 - 3, 2**53 + 3).flatmap(lambda n: st.sampled_from([n, -n, float(n)])),
    st.integers(2**63 - 2, 2**63 + 2).flatmap(lambda n: st.sampled_from([n, -n])),
    st.floats(),
)
scalars = st.one_of(st.none(), st.booleans(), numbers, texts)
json_like = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=6) | st.dictionaries(texts, inner, max_size=15), max_leaves=30
)
