"""JSON read as strictly as the engine reads it: what a lenient reader makes of the rest is not what was meant."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn


class StrictJsonError(ValueError):
    """Text that Python reads as JSON and the engine does not; it says why."""


def loads(text: str) -> Any:
    """The value that a text stands for.

    Raises:
        StrictJsonError: a key that stands twice, a number that is not finite.
        ValueError: it is no JSON (`json.JSONDecodeError`), or has a whole number of too many digits.
        RecursionError: it is nested too deep.

    Example:
        >>> loads('{"order": "4711"}')
        {'order': '4711'}
        >>> loads('{"n": 1, "n": 2}')
        Traceback (most recent call last):
        callgate.strict_json.StrictJsonError: the key `n` stands twice
    """
    return json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse, parse_float=_finite)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise StrictJsonError(f"the key `{key}` stands twice")
        found[key] = value
    return found


def _refuse(word: str) -> NoReturn:
    raise StrictJsonError(f"JSON has no `{word}`")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise StrictJsonError(f"`{digits}` is too large for a number")
    return number
