"""Findings about a message list, for people and for programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Final

from callgate.counted import counted
from callgate.messages import Finding

from .color import paint
from .snippet import printable

VERSION: Final = 1


def render_text(findings: Sequence[Finding], file: str, count: int, shape: str, color: bool = False) -> str:
    """The findings for people: kind, message, id, what is wrong, what to do; and a line that counts them.

    Args:
        findings: in the order of the messages.
        file: the list, as it was named.
        count: how many messages it has.
        shape: the shape that it was read in.
        color: whether there are colours.
    """
    blocks = []
    for each in findings:
        head = paint(f"{each.severity}[{each.kind}]", each.severity, color)
        place = f"messages[{each.index}]" + (f", id {printable(each.call_id)}" if each.call_id else "")
        lines = [head + paint(f": {printable(each.message)}", "bold", color)]
        lines.append(f"  {paint('-->', 'gutter', color)} {printable(file)}: {place}")
        if each.related is not None:
            lines.append(f"      with messages[{each.related}]")
        lines.append(f"  {paint('=', 'gutter', color)} {paint('help', 'help', color)}: {printable(each.hint)}")
        blocks.append("\n".join(lines) + "\n\n")
    return "".join(blocks) + f"{_summary(findings, color)} in {counted(count, 'message')} ({shape})\n"


def render_json(findings: Sequence[Finding], file: str, count: int, shape: str) -> str:
    """The findings for programs; the shape is described in docs/messages.md."""
    found = {
        "version": VERSION,
        "file": file,
        "shape": shape,
        "messages": count,
        "errors": sum(each.severity == "error" for each in findings),
        "warnings": sum(each.severity == "warning" for each in findings),
        "findings": [asdict(each) for each in findings],
    }
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"


def _summary(findings: Sequence[Finding], color: bool) -> str:
    counts = []
    for severity in ("error", "warning"):
        number = sum(each.severity == severity for each in findings)
        if number:
            counts.append(paint(counted(number, severity), severity, color))
    return ", ".join(counts) or "no faults"
