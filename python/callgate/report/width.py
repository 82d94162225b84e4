"""How many columns an output has, where anything says so."""

from __future__ import annotations

import os
import shutil
from typing import Final, TextIO

NARROWEST: Final = 20


def width_of(stream: TextIO) -> int | None:
    """The width of a stream in columns: `COLUMNS` where it is set, else that of the terminal; None for a file or pipe.

    Raises nothing for a `COLUMNS` that is no number: it then says nothing.
    """
    told = os.environ.get("COLUMNS", "")
    if told.isascii() and told.isdigit() and int(told) > 0:
        return max(int(told), NARROWEST)
    return max(shutil.get_terminal_size().columns, NARROWEST) if stream.isatty() else None
