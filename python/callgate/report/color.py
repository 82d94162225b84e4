"""Colours for a terminal, and when to use them."""

from __future__ import annotations

import os
from typing import Final, TextIO

_CODES: Final = {
    "error": "1;31", "warning": "1;33", "note": "1;36", "help": "1;36", "bold": "1", "gutter": "1;34",
    "allowed": "32", "noted": "33", "refused": "31", "stopped": "1;31", "faint": "2",
}  # fmt: skip


def wanted(stream: TextIO) -> bool:
    """Whether a stream gets colours: a terminal that is not dumb, unless `NO_COLOR` is set (no-color.org)."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb" and stream.isatty()


def paint(text: str, role: str, color: bool) -> str:
    """A text in the colour of its role, or as it is."""
    return f"\x1b[{_CODES[role]}m{text}\x1b[0m" if color else text
