"""Drafts of tools as the YAML of a manifest, each guess marked on its line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from callgate.policy.draft import API_VERSION, Draft, Guess

from .resolved import flow, scalar
from .snippet import printable

MARK: Final = "# guess:"
_WIDEST: Final = 100
_LITERAL_FROM: Final = 2
"""Lines from which a text is written as a block."""


def render(name: str, sources: Sequence[str], drafts: Sequence[Draft], remarks: Sequence[str] = ()) -> str:
    """A manifest that loads, and says which of it are guesses.

    Args:
        name: the manifest's name.
        sources: the names of the files that it was made from.
        drafts: the tools.
        remarks: what an author has to know of the whole.
    """
    lines = [_comment(f"Made by `callgate import` from {', '.join(sources)}.")]
    if _guesses([draft.keys for draft in drafts]):
        lines.append(f"# A line with `{MARK}` was not said by anybody: look at it, mend it, and take the mark away.")
    lines += [_comment(remark) for remark in remarks]
    lines += [
        f"apiVersion: {API_VERSION}",
        "kind: ToolManifest",
        f"metadata: {{name: {scalar(name)}}}",
        "spec:",
        "  tools:",
    ]
    for at, draft in enumerate(drafts):
        lines += [""] if at else []
        lines += ["    " + _comment(text) for text in ([draft.title] if draft.title else []) + draft.remarks]
        lines.append(f"    {scalar(draft.name)}:" if draft.keys else f"    {scalar(draft.name)}: {{}}")
        for key, value in draft.keys.items():
            lines += _entry(key, value, 3)
    return "\n".join(lines) + "\n"


def _comment(text: str) -> str:
    return "# " + printable(" ".join(text.split()))


def _guesses(value: Any) -> bool:
    """Whether a guess stands anywhere in a value."""
    if isinstance(value, Guess):
        return True
    below = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(map(_guesses, below))


def _entry(key: str, value: Any, depth: int) -> Iterator[str]:
    """A key and its value: on one line where that is short and no guess stands inside."""
    mark = ""
    if isinstance(value, Guess):
        mark, value = f"  {MARK} {printable(value.why)}", value.value
    head = f"{'  ' * depth}{scalar(key)}:"
    if isinstance(value, str) and _is_literal(value):
        yield f"{head} |-{mark}"
        yield from (f"{'  ' * (depth + 1)}{line}" if line else "" for line in value.split("\n"))
    elif not isinstance(value, (dict, list)) or not value or _fits(head, value):
        yield f"{head} {flow(value)}{mark}"
    elif isinstance(value, dict):
        yield head + mark
        for name, child in value.items():
            yield from _entry(name, child, depth + 1)
    else:
        yield head + mark
        yield from _items(value, depth + 1)


def _items(items: list[Any], depth: int) -> Iterator[str]:
    lead = "  " * depth + "-"
    for item in items:
        if isinstance(item, dict) and item and not _fits(lead, item):
            first = True
            for name, child in item.items():
                for line in _entry(name, child, depth + 1):
                    yield f"{lead} {line[2 * depth + 2 :]}" if first else line
                    first = False
        elif isinstance(item, list) and item and not _fits(lead, item):
            yield lead
            yield from _items(item, depth + 1)
        else:
            yield f"{lead} {flow(item)}"


def _fits(head: str, value: Any) -> bool:
    return not _guesses(value) and len(head) + 1 + len(flow(value)) <= _WIDEST


def _is_literal(text: str) -> bool:
    """Whether a text reads back exactly from a block that keeps its lines."""
    lines = text.split("\n")
    plain = all(line.isprintable() and (not line or line.strip()) for line in lines)
    return len(lines) >= _LITERAL_FROM and plain and text[0] not in " \n" and text[-1] != "\n"
