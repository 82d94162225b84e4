"""What a plain scalar means in the core schema of YAML 1.2 (section 10.3.2): `no`, `on` are strings, `010` is ten."""

from __future__ import annotations

import re
from typing import Final

Scalar = str | int | float | bool | None

NULLS: Final = frozenset(("", "~", "null", "Null", "NULL"))
BOOLS: Final = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_WORDS: Final = {**dict.fromkeys(NULLS), **BOOLS}
_INFINITE: Final = {sign + word: float(sign + "inf") for sign in ("", "+", "-") for word in (".inf", ".Inf", ".INF")}
_NAN: Final = frozenset((".nan", ".NaN", ".NAN"))
_INT: Final = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", re.ASCII)
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", re.ASCII)
_NUMBER_STARTS: Final = frozenset("+-.0123456789")

MAX_NUMBER_LENGTH: Final = 400


class NumberError(ValueError):
    """A number that cannot be held exactly enough to be read: too long, or beyond the range of a double."""


def resolve_plain(text: str) -> Scalar:
    """The value of a plain scalar.

    >>> [resolve_plain(t) for t in ("no", "010", "0o10", "0x1F", "1e3", "~", "1_000")]
    ['no', 10, 8, 31, 1000.0, None, '1_000']

    Raises `NumberError` for a number longer than 400 characters or too large for a double.
    """
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMBER_STARTS:
        return text
    if _INT.fullmatch(text):
        _refuse_long(text)
        return int(text, {"0o": 8, "0x": 16}.get(text[:2], 10))
    if _FLOAT.fullmatch(text):
        _refuse_long(text)
        number = float(text)
        if number in (float("inf"), float("-inf")):
            raise NumberError(f"`{text}` is too large for a number")
        return number
    if text in _INFINITE:
        return _INFINITE[text]
    return float("nan") if text in _NAN else text


def _refuse_long(text: str) -> None:
    if len(text) > MAX_NUMBER_LENGTH:
        raise NumberError(f"a number of {len(text):,} characters is too long (at most {MAX_NUMBER_LENGTH})")
