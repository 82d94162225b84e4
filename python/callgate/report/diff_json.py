"""A review of a change, for programs; the shape is described in docs/diff.md."""

from __future__ import annotations

import json
from typing import Any

from callgate.review.change import Change, Spot
from callgate.review.outcome import Review

VERSION = 1


def render(review: Review, color: bool = False, width: int | None = None) -> str:
    """The review as indented JSON."""
    found = {
        "version": VERSION,
        "old": review.old,
        "new": review.new,
        "counts": review.counts,
        "changes": [plain(change) for change in review.changes],
        "gates": list(review.gates),
        "held_back": len(review.held),
        "replay": review.replay,
        "sequences": review.sequences,
    }
    return json.dumps(found, indent=2, ensure_ascii=False, default=str) + "\n"


def plain(change: Change) -> dict[str, Any]:
    """One change as plain data."""
    found = change._asdict()
    return {**found, "old_spot": _spot(change.old_spot), "new_spot": _spot(change.new_spot)}


def _spot(spot: Spot | None) -> dict[str, Any] | None:
    return None if spot is None else spot._asdict()
