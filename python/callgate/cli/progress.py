"""How far a long reading of files is, told on standard error where somebody watches."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from callgate.report.snippet import printable
from callgate.report.width import width_of
from callgate.traces.lines import STDIN

_EVERY: Final = 0.2


class Progress:
    """A line that says which of the files is read and how much of it; nothing where nobody watches."""

    def __init__(self, files: Sequence[Path]) -> None:
        self._sizes = {file: file.stat().st_size for file in files if file != STDIN}
        self._order = list(files)
        self._watched = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._next = 0.0

    def tell(self, file: Path, read: int) -> None:
        """Say that so many bytes of a file were read."""
        now = time.monotonic()
        if not self._watched or now < self._next:
            return
        self._next = now + _EVERY
        size = self._sizes.get(file)
        share = f": {read / size:.0%}" if size else ""
        text = f"{self._order.index(file) + 1}/{len(self._order)} {printable(file.name)}{share}"
        print(f"\r\x1b[K{text[: (width_of(sys.stderr) or 100) - 1]}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Take the line away."""
        if self._watched:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
