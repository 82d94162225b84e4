"""When a server wants to be asked again: `Retry-After` in both of its forms, from exceptions and from results."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any, Final

from .reported import field

# Longer than anybody waits; what claims more is a slip of the server's.
_LONGEST: Final = 366.0 * 24 * 3600


def retry_after(told: object, wall: float) -> float | None:
    """The seconds that a server asks to be left alone for.

    Looked for in the headers of an exception or a result, in those of its `response`, and under `retry_after`. The
    header has two forms, seconds and a date (RFC 9110, section 10.2.3); a date is taken against the answer's own
    `Date` where it has one, so that no clock that is wrong counts. `retry-after-ms` goes first.

    Args:
        told: an exception, a response of some library, or a dictionary.
        wall: now, in seconds since 1970.

    Returns:
        Seconds from now, 0 for a time that has passed; None where nothing is asked, or it cannot be read.

    Example:
        >>> retry_after({"status": 429, "headers": {"Retry-After": "7"}}, 0.0)
        7.0
        >>> retry_after({"headers": {"retry-after": "Thu, 01 Jan 1970 00:01:00 GMT"}}, 48.0)
        12.0
    """
    for holder in (told, _get(told, "response")):
        headers = _headers(_get(holder, "headers"))
        found = (
            _seconds(headers.get("retry-after-ms"), 0.001)
            if "retry-after-ms" in headers
            else _moment(headers.get("retry-after"), headers.get("date"), wall)
        )
        if found is None:
            found = _seconds(_get(holder, "retry_after"), 1.0)
        if found is not None:
            return found
    return None


def _get(holder: object, name: str) -> Any:
    return holder.get(name) if isinstance(holder, Mapping) else field(holder, name)


def _headers(headers: object) -> dict[str, str]:
    """Headers by their names in lower case; libraries have mappings, lists of pairs, and `email.message.Message`."""
    pairs = headers
    try:
        items = getattr(headers, "items", None)
        if callable(items):
            pairs = items()
        return {_word(name).lower(): _word(value) for name, value in pairs}  # type: ignore[attr-defined]
    except Exception:  # no headers, or some of a form that nobody knows
        return {}


def _word(value: object) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def _seconds(value: object, unit: float) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        seconds = float(value) * unit
    except (ValueError, OverflowError):
        return None
    return min(max(0.0, seconds), _LONGEST) if math.isfinite(seconds) else None


def _moment(text: str | None, date: str | None, wall: float) -> float | None:
    if text is None:
        return None
    seconds = _seconds(text, 1.0)
    if seconds is not None:
        return seconds
    then, now = _date(text), _date(date)
    return None if then is None else min(max(0.0, then - (wall if now is None else now)), _LONGEST)


def _date(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    # a date without a zone is one of HTTP, and those are all in GMT
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()
