"""The canonical way to write policy documents: order of keys, indentation, quotes; comments stay where they belong.

What is written and what it means are never mixed up: the strict reader reads the text again, and where anything but its
look has changed, the text is left as it was.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, Final, Literal, NamedTuple

from callgate import _core

from ..compose import compose
from ..diagnostics import Diagnostic
from ..limits import DEFAULT_LIMITS
from ..positions import Composed
from ..source import Source, decode
from .attach import attach
from .order import put_in_order
from .tree import comments_of, documents_of
from .write import written

_BOM: Final = b"\xef\xbb\xbf"
_BREAK: Final = re.compile("\r\n?|\n")


class Formatted(NamedTuple):
    """What became of a file.

    `outcome` is `formatted`; `faulty` if the strict reader finds an error, which is in `diagnostics`; `foreign` if it
    holds no document of ours; `stuck` if it would not say the same afterwards. `data` is the file as it should be, or,
    unless it is `formatted`, as it is.
    """

    data: bytes
    outcome: Literal["formatted", "faulty", "foreign", "stuck"]
    source: Source
    diagnostics: tuple[Diagnostic, ...] = ()


def format_file(file: str, data: bytes, *, ours: bool = False) -> Formatted:
    """Format the bytes of a YAML file. A byte order mark and the kind of line breaks (the first one's) are kept.

    Args:
        file: the path, as diagnostics shall show it.
        data: the file.
        ours: the file is callgate's although no document in it has a `kind`, as `callgate.yaml`.

    Returns:
        The formatted file, or why it was left alone.

    Example:
        >>> format_file("x.yaml", b"kind:   ToolManifest\\napiVersion: 'callgate/v1'").data.decode()
        'apiVersion: "callgate/v1"\\nkind: ToolManifest\\n'
    """
    source, undecodable = decode(file, data, DEFAULT_LIMITS.bytes)
    composed = compose(source) if undecodable is None else Composed((), (undecodable,))
    if composed.diagnostics:
        return Formatted(data, "faulty", source, composed.diagnostics)
    roots = [positions.root.data for positions in composed.documents]
    if not ours and not any(isinstance(root, dict) and root.get("kind") in _core.kinds() for root in roots):
        return Formatted(data, "foreign", source)
    text = format_text(source.text)
    if text is None:
        return Formatted(data, "stuck", source)
    first = _BREAK.search(source.text)
    if first is not None and first.group() == "\r\n":
        text = text.replace("\n", "\r\n")
    return Formatted((_BOM if data.startswith(_BOM) else b"") + text.encode(), "formatted", source)


def format_text(text: str) -> str | None:
    """Format a text that the strict reader reads without a fault.

    Returns:
        The text with line feeds; None where it would not mean the same, or a comment would be lost.
    """
    before = Source("before", _BREAK.sub("\n", text))
    documents = documents_of(before)
    attach(before, documents)
    for document in documents:
        put_in_order(document)
    after = Source("after", written(before, documents))
    return after.text if _says_the_same(before, after) else None


def _says_the_same(before: Source, after: Source) -> bool:
    old, new = compose(before), compose(after)
    if new.diagnostics or len(old.documents) != len(new.documents):
        return False
    pairs = zip(old.documents, new.documents, strict=True)
    if not all(_same(one.root.data, other.root.data) for one, other in pairs):
        return False
    kept = (
        Counter(comment.text for comment in comments_of(source, documents_of(source))) for source in (before, after)
    )
    return next(kept) == next(kept)


def _same(one: Any, other: Any) -> bool:
    """Whether two values are one in type and content: 1 is neither 1.0 nor true, and NaN is NaN."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_same(value, other[key]) for key, value in one.items())
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return repr(one) == repr(other) if isinstance(one, float) else bool(one == other)
