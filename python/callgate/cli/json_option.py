"""An option whose value is a JSON object, read as strictly as the engine reads JSON."""

from __future__ import annotations

import json
import math
from typing import Any

from callgate.cli import UsageError


def json_object(option: str, text: str) -> dict[str, Any]:
    """The object that an option says.

    Raises:
        UsageError: it is no JSON, no object, or what the engine does not read: a key that stands twice, a number that
            is not finite.

    Example:
        >>> json_object("--args", '{"order": "4711"}')
        {'order': '4711'}
    """
    try:
        given: Any = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse, parse_float=_finite)
    except RecursionError:
        raise UsageError(f"`{option}` is no JSON that can be read: it is nested too deep") from None
    except _Refused as error:
        raise UsageError(f"`{option}` is no JSON that can be read: {error}") from None
    except ValueError as error:
        raise UsageError(f"`{option}` is no JSON: {str(error).lower()}") from None
    if not isinstance(given, dict):
        raise UsageError(f'`{option}` has to be a JSON object, such as {{"order": "4711"}}')
    return given


class _Refused(ValueError):
    """What Python would read and the engine would not."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise _Refused(f"the key `{key}` stands twice")
        found[key] = value
    return found


def _refuse(word: str) -> float:
    raise _Refused(f"JSON has no `{word}`")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise _Refused(f"`{digits}` is too large for a number")
    return number
