"""Text as XML 1.0 takes it, whatever characters a file brought."""

from __future__ import annotations

import re
from typing import Final
from xml.sax.saxutils import escape, quoteattr

# What XML 1.0 has no form for, not even as a reference.
_REFUSED: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def text(value: str) -> str:
    """A text between two tags.

    >>> text("a < b")
    'a &lt; b'
    """
    return escape(_REFUSED.sub("\ufffd", value))


def attribute(value: str) -> str:
    """A text as the value of an attribute, quotes included.

    >>> attribute("a")
    '"a"'
    """
    return quoteattr(_REFUSED.sub("\ufffd", value))
