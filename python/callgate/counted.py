"""Numbers with what they count, as people and models read them: `1 call`, `3 calls`, `once`."""

from __future__ import annotations


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """A number with its noun; without a plural of its own the noun takes an `s` where the number is not one.

    >>> counted(0, "call"), counted(1, "call"), counted(1200, "call"), counted(2, "tool call", "calls of tools")
    ('0 calls', '1 call', '1,200 calls', '2 calls of tools')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {plural or noun + 's'}"


def times(number: int) -> str:
    """How often.

    >>> times(1), times(3)
    ('once', '3 times')
    """
    return "once" if number == 1 else f"{number:,} times"
