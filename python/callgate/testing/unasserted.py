"""What happened in the run of a policy test that none of its expectations speaks about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .expect import INTERVENTIONS, Row, action_of, reasons_of


class Unasserted(NamedTuple):
    """Something that no expectation covers: what (`note` or an action), how often, and for which reasons."""

    what: str
    times: int
    reasons: tuple[str, ...]


def unasserted(
    expect: Mapping[str, Any], of_rows: Sequence[Mapping[str, Any]], rows: Sequence[Row]
) -> list[Unasserted]:
    """Notes, reuses, asks, refusals and stops that could come and go without any expectation failing.

    Args:
        expect: what the test expects of the whole run.
        of_rows: for each row what its step expects; empty for one that expects nothing.
        rows: the decisions.
    """
    counts: Counter[str] = Counter()
    reasons: dict[str, dict[str, None]] = {}
    first_note = first = True
    for row, step in zip(rows, of_rows, strict=True):
        action = action_of(row)
        if row["notes"]:
            if not ("notes" in expect or "notes" in step or (first_note and "first_note" in expect)):
                counts["note"] += len(row["notes"])
                reasons.setdefault("note", {}).update(dict.fromkeys(note["reason"] for note in row["notes"]))
            first_note = False
        if action in INTERVENTIONS:
            spoken = {"reuse": ("reuses",), "refuse": ("refusals", "stop"), "stop": ("refusals", "stop")}
            whole = any(name in expect for name in spoken.get(action, ()))
            named = "action" in step or "reasons" in step or "code" in step
            if not (whole or named or (first and "first_intervention" in expect)):
                counts[action] += 1
                reasons.setdefault(action, {}).update(dict.fromkeys(reasons_of(row)))
            first = False
    return [Unasserted(what, count, tuple(reasons[what])) for what, count in counts.items()]
