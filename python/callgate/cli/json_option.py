"""An option whose value is a JSON object, read as strictly as the engine reads JSON."""

from __future__ import annotations

from typing import Any

from callgate.cli import UsageError
from callgate.strict_json import StrictJsonError, loads


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
        given: Any = loads(text)
    except RecursionError:
        raise UsageError(f"`{option}` is no JSON that can be read: it is nested too deep") from None
    except StrictJsonError as error:
        raise UsageError(f"`{option}` is no JSON that can be read: {error}") from None
    except ValueError as error:
        raise UsageError(f"`{option}` is no JSON: {str(error).lower()}") from None
    if not isinstance(given, dict):
        raise UsageError(f'`{option}` has to be a JSON object, such as {{"order": "4711"}}')
    return given
