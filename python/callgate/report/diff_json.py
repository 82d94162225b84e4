"""A review of a change, for programs; the shape is described in docs/diff.md."""

from __future__ import annotations

import json
from typing import Any

from callgate.review.change import Change, Spot
from callgate.review.divergence import Divergence, Moved, Timeline
from callgate.review.outcome import Review
from callgate.traces.replay import ACTIONS, Counts

VERSION = 1
_SPENT = ("recorded", "after_new_stops", "after_old_stops")


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
        "replay": None if review.replay is None else _replay(review.replay),
        "sequences": review.sequences,
    }
    return json.dumps(found, indent=2, ensure_ascii=False, default=str) + "\n"


def _replay(found: Divergence) -> dict[str, Any]:
    """What recorded sessions came to, as plain data."""
    return {
        "sessions": found.new.sessions,
        "calls": found.new.calls,
        "events": found.new.events,
        "old": _counts(found.old),
        "new": _counts(found.new),
        "flips": [{"old": old, "new": new, "calls": count} for (old, new), count in sorted(found.flips.items())],
        "ends": [{"old": old, "new": new, "calls": count} for (old, new), count in sorted(found.ends.items())],
        "other_reason": found.other_reason,
        "newly_refused": _moved(found.refused),
        "newly_let_through": _moved(found.passed),
        "saved": {
            "calls": found.saved,
            "tokens": dict(zip(_SPENT, found.tokens, strict=True)) if found.tokens[0] else None,
            "cost": dict(zip(_SPENT, found.cost, strict=True)) if found.cost[0] else None,
        },
        "endings": [{"old": old, "new": new, "tasks": count} for (old, new), count in sorted(found.endings.items())],
        "diverged_sessions": found.diverged,
        "first_divergences": [_timeline(timeline) for timeline in found.timelines],
        "calls_behind_divergence": found.behind,
        "not_replayed": {
            "skipped_lines": dict(sorted(found.skipped.items())),
            "broken_files": dict(sorted(found.broken.items())),
            "without_outcome": found.without_outcome,
            "unanswered": found.unanswered,
            "unmatched": found.unmatched,
        },
    }


def _counts(counts: Counts) -> dict[str, Any]:
    actions = {action: counts.of_action(action) for action in ACTIONS}
    return {"saved": counts.saved, "stopped_sessions": counts.stopped, **actions}


def _moved(moved: Moved) -> dict[str, Any]:
    tables = {"by_reason": moved.by_reason, "by_tool": moved.by_tool, "by_agent": moved.by_agent}
    ranked = {name: sorted(table.items(), key=lambda item: (-item[1], item[0])) for name, table in tables.items()}
    return {"calls": moved.calls, **{name: dict(rows) for name, rows in ranked.items()}}


def _timeline(timeline: Timeline) -> dict[str, Any]:
    moments = [
        {**moment._asdict(), "old": moment.old._asdict(), "new": moment.new._asdict()} for moment in timeline.moments
    ]
    return {**timeline._asdict(), "moments": moments}


def plain(change: Change) -> dict[str, Any]:
    """One change as plain data."""
    found = change._asdict()
    return {**found, "old_spot": _spot(change.old_spot), "new_spot": _spot(change.new_spot)}


def _spot(spot: Spot | None) -> dict[str, Any] | None:
    return None if spot is None else spot._asdict()
