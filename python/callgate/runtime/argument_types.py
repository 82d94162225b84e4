"""What hosts hand over, looked at before the engine sees it: errors that name the argument and what it has to be."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any


def text(value: object, name: str) -> str:
    """A text. Halves of surrogate pairs, which models send and the engine has no form for, become escapes.

    >>> text("order-4711", "task_id"), text("c\\ud800", "call_id")
    ('order-4711', 'c\\\\ud800')

    Raises:
        TypeError: it is none; says which argument, and what was found.
    """
    if not isinstance(value, str):
        raise TypeError(f"`{name}` has to be a text, found {_found(value)}")
    if value.isascii():
        return value
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-8", "backslashreplace").decode()
    return value


def path(value: object, name: str) -> str | os.PathLike[str]:
    """A path, as a text or as a path of Python's.

    Raises:
        TypeError: it is neither.
    """
    if isinstance(value, str) or (isinstance(value, os.PathLike) and isinstance(os.fspath(value), str)):
        return value
    raise TypeError(f"`{name}` has to be the path of a file, found {_found(value)}")


def optional_text(value: object, name: str) -> str | None:
    """A text or None.

    Raises:
        TypeError: it is neither.
    """
    return None if value is None else text(value, name)


def number(value: object, name: str) -> float:
    """A number.

    Raises:
        TypeError: it is none.
    """
    if isinstance(value, (int, float)):
        return value
    if isinstance(value, str) or not hasattr(value, "__float__"):
        raise TypeError(f"`{name}` has to be a number, found {_found(value)}")
    return float(value)


def mapping(value: object, name: str) -> dict[str, Any] | None:
    """A mapping whose keys are texts, as a dictionary, or None.

    Raises:
        TypeError: it is no mapping, or a key is no text.
    """
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise TypeError(f"`{name}` has to be a mapping from texts, found {_found(value)}")
    for key in value:
        if not isinstance(key, str):
            raise TypeError(f"the keys of `{name}` have to be texts, found {_found(key)}: {key!r}")
    return dict(value)


def text_mapping(value: object, name: str) -> dict[str, str] | None:
    """A mapping from texts to texts, as a dictionary, or None.

    Raises:
        TypeError: it is no mapping, or a key or value is no text.
    """
    found = mapping(value, name)
    if found is None:
        return None
    return {text(key, name): text(each, f"{name}[{key!r}]") for key, each in found.items()}


def calls(value: object) -> list[tuple[Any, Any, Any, Any]]:
    """The calls of a batch as (tool, arguments, call id, hints).

    Raises:
        TypeError: it is no list of mappings, or a mapping lacks `tool` or `arguments` or has one of another type.
    """
    wanted = 'a call is a mapping such as {"tool": "search", "arguments": {"q": "x"}, "call_id": "c1"}'
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise TypeError(f"`calls` has to be a list of calls, found {_found(value)}: {wanted}")
    found: list[tuple[Any, Any, Any, Any]] = []
    for at, call in enumerate(value):
        if not isinstance(call, Mapping):
            raise TypeError(f"`calls[{at}]` has to be a mapping, found {_found(call)}: {wanted}")
        for key in ("tool", "arguments"):
            if key not in call:
                has = ", ".join(f"`{other}`" for other in call) or "nothing"
                raise TypeError(f"`calls[{at}]` lacks `{key}`, and has {has}: {wanted}")
        tool = text(call["tool"], f"calls[{at}]['tool']")
        call_id = optional_text(call.get("call_id"), f"calls[{at}]['call_id']")
        found.append((tool, call["arguments"], call_id, mapping(call.get("hints"), f"calls[{at}]['hints']")))
    return found


def _found(value: object) -> str:
    if value is None:
        return "None"
    words: dict[type, str] = {str: "a text", dict: "a dictionary", list: "a list", tuple: "a tuple", bytes: "bytes"}
    return words.get(type(value), f"`{type(value).__name__}`")
