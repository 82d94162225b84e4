"""A moment as people read it."""

from __future__ import annotations

from datetime import UTC, datetime


def when(seconds: float) -> str:
    """A moment, to the second.

    Args:
        seconds: since 1970.

    Example:
        >>> when(1000.0)
        '1970-01-01 00:16:40 UTC'
    """
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (ValueError, OverflowError, OSError):
        return f"at {seconds:g}"
