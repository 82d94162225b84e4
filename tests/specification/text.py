"""Canonical text of JSON-like data, field paths into it, durations, and the masking of volatile text."""

import json
import math
import re
from typing import Any, Final


class Absent:
    """The type of `ABSENT`, which stands for "nothing was handed over"; `None` is JSON's null."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = Absent()


def number(value: int | float) -> str:
    """Write a number as ECMAScript does (RFC 8785, section 3.2.2.3)."""
    if isinstance(value, int):
        return str(value)
    if not math.isfinite(value):
        raise ValueError(f"`{value}` has no canonical text")
    if value == 0:
        return "0"
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    # the value is 0.DIGITS times ten to the `point`
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    sign = "-" if value < 0 else ""
    if len(digits) <= point <= 21:
        return sign + digits.ljust(point, "0")
    if 0 < point <= 21:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    rest = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{rest}e{point - 1:+d}"


def canonical(value: Any) -> str:
    """Write JSON-like data as the one text that all equal data have (RFC 8785)."""
    if value is None or isinstance(value, bool | str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, int | float):
        return number(value)
    if isinstance(value, list):
        return "[" + ",".join(canonical(item) for item in value) + "]"
    names = sorted(value, key=lambda name: name.encode("utf-16-be"))
    return "{" + ",".join(f"{canonical(name)}:{canonical(value[name])}" for name in names) + "}"


PATH = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


def dig(path: str, variables: dict[str, Any]) -> Any:
    """Follow a field path such as `result.next`; `ABSENT` where a field on the way is missing."""
    if not PATH.fullmatch(path):
        raise NotImplementedError(f"`{path}` is more than a field path")
    value: Any = variables
    for name in path.split("."):
        if not isinstance(value, dict) or name not in value:
            return ABSENT
        value = value[name]
    return value


def given(value: Any) -> bool:
    """Tell whether a path led to something other than null."""
    return value is not ABSENT and value is not None


def seconds(duration: str | int | float) -> float:
    """Read a duration of the policy language: `500ms`, `30s`, `5m`, `24h`."""
    if not isinstance(duration, str):
        return float(duration)
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h)", duration)
    if match is None:
        raise ValueError(f"`{duration}` is no duration")
    return float(match[1]) * {"ms": 0.001, "s": 1, "m": 60, "h": 3600}[match[2]]


TEMP = (r"(?:/private)?(?:/var)?/tmp/[^\s\"'`,;:()\[\]{}<>]+", "<temp>")
VOLATILE = [
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z| ?[+-]\d\d:?\d\d)?", "<date>"),
    (r"\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b", "<clock>"),
    TEMP,
    (r"\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b", "<uuid>"),
    (r"\b0x[0-9a-fA-F]+\b", "<hex>"),
    (r"\b(?=[0-9a-fA-F]*[0-9])(?=[0-9a-fA-F]*[a-fA-F])[0-9a-fA-F]{8,}\b", "<hex>"),
    (r"\bpid[ =:]*\d+\b", "pid <n>"),
    (r"(?<=\w)\[\d+\]", "[<n>]"),
    (r"\b\d+(?:\.\d+)? ?(?:ns|us|µs|ms|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?)\b", "<time>"),
]


def mask_failure(text: str) -> str:
    """Mask what changes from run to run in failed results and error texts; never plain numbers."""
    for pattern, mark in VOLATILE:
        text = re.sub(pattern, mark, text)
    return text


def mask_success(text: str) -> str:
    """Mask what changes from run to run in successful results: paths under the temporary folders."""
    return re.sub(TEMP[0], TEMP[1], text)


def mask_words(text: str, words: list[str]) -> str:
    """Mask the words where they stand whole, the longest first."""
    for word in sorted(words, key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", "<argument>", text)
    return text
