"""What would change in a text, as a unified diff."""

from __future__ import annotations

from difflib import unified_diff
from typing import Final

from .color import paint

_ROLES: Final = {"-": "refused", "+": "allowed", "@": "gutter"}


def text_diff(name: str, old: str, new: str, color: bool = False) -> str:
    r"""A unified diff of two texts, which `patch` and `git apply` read.

    Args:
        name: the file's name, as it shall stand in the head.
        old: the text as it is.
        new: the text as it would be.
        color: whether lines are coloured.

    Example:
        >>> print(text_diff("x.yaml", "a: 1\nb:  2\n", "a: 1\nb: 2\n"), end="")
        --- x.yaml
        +++ x.yaml
        @@ -1,2 +1,2 @@
         a: 1
        -b:  2
        +b: 2
    """
    lines = []
    for at, line in enumerate(unified_diff(_lines(old), _lines(new), name, name)):
        whole = line if line.endswith("\n") else line + "\n\\ No newline at end of file\n"
        role = "bold" if at < 2 else _ROLES.get(line[0])
        lines.append(whole if role is None else paint(whole.rstrip("\n"), role, color) + "\n")
    return "".join(lines)


def _lines(text: str) -> list[str]:
    """Lines by line feeds alone, as `patch` counts them."""
    return [line + "\n" for line in text.split("\n")[:-1]] + ([last] if (last := text.rpartition("\n")[2]) else [])
