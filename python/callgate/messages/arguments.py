"""Reading the arguments that a model wrote as JSON: strictly, and telling a text that breaks off from a wrong one."""

from __future__ import annotations

import json
from typing import Any, Final, Literal, NamedTuple

from callgate.counted import counted
from callgate.strict_json import StrictJsonError, loads


class Read(NamedTuple):
    """What became of the arguments: the object, or what is wrong with the text and how."""

    value: dict[str, Any] | None
    fault: Literal["cut_off", "not_json"] | None = None
    why: str = ""


def read_arguments(written: Any) -> Read:
    """Read the arguments of a call.

    Args:
        written: a JSON text, as OpenAI's shapes have it, or the object itself. An empty text means no arguments.

    Returns:
        The object, or the fault. Strict: no key twice, no `NaN`, no half of a text; what a lenient reader would make
        of those is not what the model meant.

    Example:
        >>> read_arguments('{"q": "bearing"}').value
        {'q': 'bearing'}
        >>> read_arguments('{"q": "bear')
        Read(value=None, fault='cut_off', why='the text breaks off after 11 characters')
        >>> read_arguments('{"q": 1, "q": 2}').why
        'the key `q` stands twice'
    """
    if written is None or written == "":
        return Read({})
    if isinstance(written, dict):
        return Read(written)
    if not isinstance(written, str):
        return Read(None, "not_json", "the arguments are no object")
    text = written.rstrip()
    if not text:
        return Read({})
    try:
        value = loads(text)
    except json.JSONDecodeError as error:
        if is_cut_off(text, error):
            return Read(None, "cut_off", f"the text breaks off after {counted(len(text), 'character')}")
        return Read(None, "not_json", f"{error.msg.lower()} at character {error.pos + 1}")
    except StrictJsonError as error:
        return Read(None, "not_json", str(error))
    except RecursionError:
        return Read(None, "not_json", "the text is nested too deeply")
    except ValueError as error:  # a number with more digits than the reader takes
        return Read(None, "not_json", str(error).lower())
    if not isinstance(value, dict):
        return Read(None, "not_json", "the arguments are no object")
    return Read(value)


def is_cut_off(text: str, error: json.JSONDecodeError) -> bool:
    """Whether a JSON text is right as far as it goes, and only its end is missing."""
    if error.msg.startswith("Unterminated string"):
        return True
    if error.msg.startswith("Invalid \\") or error.msg.startswith("Invalid control"):
        return error.pos >= len(text) - 5 and "\\u" in text[-6:]
    # `tru`, `-` and `1.` are told at their beginning
    return error.pos >= len(text) or text[error.pos :] in _BEGINNINGS


_BEGINNINGS: Final = frozenset(
    word[:length] for word in ("true", "false", "null") for length in range(1, len(word))
) | frozenset(("-",))
