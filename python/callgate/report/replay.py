"""What a replay came to, as a table for people and as JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from callgate._core import CompiledPolicy
from callgate.counted import counted
from callgate.traces.replay import ACTIONS, Counts, Fault, Replayed, together

from .color import paint
from .snippet import printable

VERSION: Final = 1
_PLURALS: Final = {"note": "notes", "reuse": "reuses", "ask": "asks", "refuse": "refusals", "stop": "stops"}
_COLUMNS: Final = ("sessions", "calls", "events", "noted", "touched", "stopped", "saved", "skipped", "seconds")


class Outcome(NamedTuple):
    """A replay of one or more files: its policy, what came of each file, the first faults, and seconds in all."""

    policy: CompiledPolicy
    files: Sequence[Replayed]
    faults: Sequence[Fault]
    seconds: float


def render_text(outcome: Outcome, color: bool = False, width: int | None = None) -> str:
    """The replay for people.

    Args:
        outcome: the replay.
        color: whether it is coloured.
        width: columns that there are; a table that is wider is turned, a line for each number. None for any.
    """
    policy, counts = outcome.policy, together(outcome.files)
    revision = f", revision {printable(policy.revision)}" if policy.revision else ""
    lines = [f"policy {printable(policy.name)}{revision}, digest {policy.digest[:12]}, {policy.mode}", ""]
    lines += _table(outcome, counts, color, width)
    lines.append("")
    if policy.mode != "enforce":
        lines += [f"under `{policy.mode}` every call runs: what follows is what would have happened", ""]
    lines += _reasons(counts, color)
    rate = counts.calls / outcome.seconds if outcome.seconds > 0 else 0.0
    lines.append(f"{counts.saved:,} of {counted(counts.calls, 'call')} would not have run")
    lines.append(f"{outcome.seconds:.2f} s, {rate:,.0f} calls/s")
    skipped = sum(each.skipped for each in outcome.files)
    if skipped:
        lines.append(paint(f"{counted(skipped, 'line')} skipped", "warning", color))
    for each in outcome.files:
        if each.broken is not None:
            lines.append(paint(f"{printable(each.file)}: judged only in part: {each.broken}", "error", color))
    return "\n".join(lines) + "\n"


def _table(outcome: Outcome, counts: Counts, color: bool, width: int | None) -> list[str]:
    rows = [[printable(each.file), *_cells(each.counts, each.skipped, each.seconds)] for each in outcome.files]
    if len(rows) > 1:
        skipped = sum(each.skipped for each in outcome.files)
        rows.append(["all", *_cells(counts, skipped, outcome.seconds)])
    table = [["trace", *_COLUMNS], *rows]
    widths = [max(len(row[at]) for row in table) for at in range(len(table[0]))]
    lines: list[str] = []
    if width is not None and sum(widths) + 2 * (len(widths) - 1) > width:
        for row in rows:
            lines.append(paint(row[0], "bold", color))
            longest = max(map(len, row[1:]))
            lines += [f"  {name:<9}{cell:>{longest + 1}}" for name, cell in zip(_COLUMNS, row[1:], strict=True)]
        return lines
    for at, row in enumerate(table):
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        line = "  ".join(cells)
        lines.append(paint(line, "bold", color) if at == 0 else line)
    return lines


def _cells(counts: Counts, skipped: int, seconds: float) -> list[str]:
    numbers = [counts.sessions, counts.calls, counts.events, counts.noted, counts.touched, counts.stopped]
    return [*(f"{number:,}" for number in [*numbers, counts.saved, skipped]), f"{seconds:.2f}"]


def _reasons(counts: Counts, color: bool) -> list[str]:
    """A line for each action and reason, with how often it came."""
    lines = []
    for action in ACTIONS:
        reasons = counts.of_action(action)
        lines.append(paint(f"{_PLURALS[action]:<9} {sum(reasons.values()):>10,}", "bold", color))
        lines += [f"  {count:>18,}  {printable(reason)}" for reason, count in reasons.items()]
    lifted = sorted(counts.lifted.items(), key=lambda item: (-item[1], item[0]))
    if lifted:
        lines.append(paint(f"{'lifted':<9} {sum(counts.lifted.values()):>10,}", "bold", color))
        lines += [
            f"  {count:>18,}  {printable(reason)} by {printable(exception)}" for (exception, reason), count in lifted
        ]
    return [*lines, ""]


def render_json(outcome: Outcome, color: bool = False) -> str:
    """The replay for programs; the shape is described in docs/traces.md."""
    policy = outcome.policy
    found = {
        "version": VERSION,
        "policy": {
            "name": policy.name, "revision": policy.revision, "digest": policy.digest, "mode": policy.mode,
        },
        "files": [
            {"file": each.file, **_plain(each.counts), "skipped": each.skipped, "broken": each.broken,
             "seconds": round(each.seconds, 6)}
            for each in outcome.files
        ],
        "total": {
            **_plain(together(outcome.files)),
            "skipped": sum(each.skipped for each in outcome.files),
            "seconds": round(outcome.seconds, 6),
        },
        "faults": [fault._asdict() for fault in outcome.faults],
    }  # fmt: skip
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"


def _plain(counts: Counts) -> dict[str, Any]:
    fields = ("sessions", "calls", "events", "saved")
    sessions = {"noted": counts.noted, "touched": counts.touched, "stopped": counts.stopped}
    by_action = {_PLURALS[action]: counts.of_action(action) for action in ACTIONS}
    lifted: dict[str, dict[str, int]] = {}
    for (exception, reason), count in sorted(counts.lifted.items()):
        lifted.setdefault(exception, {})[reason] = count
    return {
        **{name: getattr(counts, name) for name in fields}, "sessions_with": sessions, **by_action, "lifted": lifted,
    }  # fmt: skip
