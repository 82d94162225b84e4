"""Searches of tools and unused tools, for people and for programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from callgate.counted import counted
from callgate.tools.search import Found
from callgate.tools.unused import Unused, Uses

from .color import paint
from .snippet import printable
from .timeline import shortened

VERSION: Final = 1
_WIDEST: Final = 60


def render_found(found: Found, count: int, color: bool = False) -> str:
    """A search for people: the definitions, the best first, and the tokens before and after."""
    rows = [
        (f"{score:.2f}", f"{tool.tokens:,}", printable(tool.name), shortened(tool.description, _WIDEST))
        for tool, score in zip(found.definitions, found.scores, strict=True)
    ]
    share = found.saved / found.tokens_of_all if found.tokens_of_all else 0.0
    lines = _table(("score", "tokens", "tool", "description"), rows, color) if rows else ["nothing fits"]
    lines += ["", f"before  {_definitions(count)}  {found.tokens_of_all:>8,} tokens"]
    lines += [f"after   {_definitions(len(rows))}  {found.tokens:>8,} tokens, {found.saved:,} saved ({share:.0%})"]
    return "\n".join(lines) + "\n"


def _definitions(count: int) -> str:
    return f"{count:>5,} {'definition' if count == 1 else 'definitions':<11}"


def render_found_json(found: Found, query: str, count: int) -> str:
    """A search for programs; the shape is described in docs/tools.md."""
    tools = [
        {"name": tool.name, "score": round(score, 4), "tokens": tool.tokens, "definition": tool.raw}
        for tool, score in zip(found.definitions, found.scores, strict=True)
    ]
    body = {
        "version": VERSION, "query": query, "tools": tools, "definitions": count, "tokens": found.tokens,
        "tokens_of_all": found.tokens_of_all, "saved": found.saved,
    }  # fmt: skip
    return json.dumps(body, indent=2, ensure_ascii=False) + "\n"


def render_unused(unused: Unused, count: int, color: bool = False) -> str:
    """Unused tools for people: each with its last call and its tokens, and what leaving them out would save."""
    rows = [(printable(tool.name), f"{tool.tokens:,}", _last(unused.uses.get(tool.name))) for tool in unused.unused]
    lines = [*_table(("tool", "tokens", "last call"), rows, color), ""] if rows else []
    share = unused.tokens / unused.tokens_of_all if unused.tokens_of_all else 0.0
    lines.append(f"{len(rows):,} of {counted(count, 'definition')} had no call since {unused.since}")
    if rows:
        lines.append(f"without them: {unused.tokens:,} of {unused.tokens_of_all:,} tokens less ({share:.0%})")
    if unused.skipped:
        lines.append(paint(counted(unused.skipped, "line was no record", "lines were no records"), "warning", color))
    return "\n".join(lines) + "\n"


def render_unused_json(unused: Unused, count: int) -> str:
    """Unused tools for programs; the shape is described in docs/tools.md."""
    body = {
        "version": VERSION,
        "since": str(unused.since),
        "definitions": count,
        "calls": unused.lately,
        "skipped": unused.skipped,
        "tokens": unused.tokens,
        "tokens_of_all": unused.tokens_of_all,
        "unused": [
            {"name": tool.name, "tokens": tool.tokens, **_plain(unused.uses.get(tool.name))} for tool in unused.unused
        ],
    }
    return json.dumps(body, indent=2, ensure_ascii=False) + "\n"


def _plain(uses: Uses | None) -> dict[str, Any]:
    return {"calls": uses.calls if uses else 0, "last": str(uses.last) if uses and uses.last else None}


def _last(uses: Uses | None) -> str:
    return str(uses.last) if uses is not None and uses.last is not None else "never"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], color: bool) -> list[str]:
    """Columns as wide as they need; numbers to the right, the last column as long as it is."""
    widths = [max(len(row[at]) for row in (head, *rows)) for at in range(len(head))]
    lines = []
    for row in (head, *rows):
        cells = [
            cell.rjust(width) if name in ("score", "tokens") else cell.ljust(width)
            for name, cell, width in zip(head, row, widths, strict=True)
        ]
        line = "  ".join(cells).rstrip()
        lines.append(paint(line, "bold", color) if row is head else line)
    return lines
