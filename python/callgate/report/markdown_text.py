"""Text of ours and of files as Markdown: names in backticks become code, and nothing else means anything."""

from __future__ import annotations

import re
from typing import Final

from .snippet import printable

_MARKS: Final = re.compile(r"[\\*_\[\]|~$&<>`]")
_ENTITIES: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "`": "&#96;"}
_BREAKS: Final = re.compile(r"[\t-\r\x85\u2028\u2029]+")


def cell(text: str) -> str:
    """A text for one cell of a table (GitHub Flavored Markdown): one line, bars escaped, code kept as code.

    >>> print(cell("unknown key `a|b` in <x> of unit_price"))
    unknown key `a\\|b` in &lt;x&gt; of unit\\_price
    """
    parts = text.split("`")
    if len(parts) % 2 == 0:  # an odd backtick: none of them begins code
        return _plain(text)
    return "".join(code(part) if at % 2 else _plain(part) for at, part in enumerate(parts))


def code(text: str) -> str:
    """A text as code inside a cell; what backticks cannot hold there stands between tags.

    >>> print(code("a|b"), code("a`b"), code(r"x\\|y"))
    `a\\|b` <code>a&#96;b</code> <code>x&#92;&#124;y</code>
    """
    line = _in_line(text)
    if "`" in line or "\\|" in line or not line.strip():
        return (
            "<code>"
            + "".join(char if char.isalnum() or char == " " else f"&#{ord(char)};" for char in line)
            + "</code>"
        )
    return "`" + line.replace("|", "\\|") + "`"


def _plain(text: str) -> str:
    return _MARKS.sub(lambda found: _ENTITIES.get(found.group(), "\\" + found.group()), _in_line(text))


def _in_line(text: str) -> str:
    """A text in one line, with what would be unseen, or steer a terminal, written as escapes."""
    return printable(_BREAKS.sub(" ", text))
