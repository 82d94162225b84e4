"""Numbers on the command line: whole, written plainly, and within what a verb can do."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from typing import Final

_MOST_DIGITS: Final = 18


def count(least: int, most: int) -> Callable[[str], int]:
    """A type for `add_argument`: a whole number from `least` to `most`.

    >>> count(1, 1000)("250")
    250
    """

    def read(text: str) -> int:
        if re.fullmatch(r"[+-]?[0-9]+", text, re.ASCII) is None:
            raise argparse.ArgumentTypeError(f"expected a whole number, found `{text}`")
        number = int(text[: _MOST_DIGITS + 1])  # longer ones are out of range whatever follows
        if len(text) > _MOST_DIGITS or not least <= number <= most:
            raise argparse.ArgumentTypeError(f"expected a number from {least:,} to {most:,}, found `{text[:40]}`")
        return number

    return read


def percentage(text: str) -> float:
    """A type for `add_argument`: a percentage, 0 to 100.

    >>> percentage("87.5")
    87.5
    """
    if re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,6})?", text, re.ASCII) is None or not float(text) <= 100:
        raise argparse.ArgumentTypeError(f"expected a percentage from 0 to 100, found `{text[:40]}`")
    return float(text)
