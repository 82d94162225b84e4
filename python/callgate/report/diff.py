"""A review of a change, for a terminal."""

from __future__ import annotations

import textwrap
from typing import Any, Final

from callgate.review.change import EFFECTS, Change, Effect
from callgate.review.outcome import Review

from . import diff_replay
from .color import paint
from .resolved import flow
from .snippet import printable

TITLES: Final[dict[Effect, str]] = {
    "looser": "looser: lets more through",
    "stricter": "stricter: lets less through",
    "reclassified": "reclassified: goes both ways, or cannot be told",
    "none": "no decision changes",
}
_ROLES: Final[dict[Effect, str]] = {"looser": "error", "stricter": "warning", "reclassified": "note", "none": "faint"}
_INDENT: Final = "      "
_INLINE: Final = 60


def render(review: Review, color: bool = False, width: int | None = None) -> str:
    """The review as text: changes by what they do, then what recorded sessions came to.

    Args:
        review: the review.
        color: whether it is coloured.
        width: columns to fill at most; None for any.
    """
    lines = [f"{printable(review.old)} → {printable(review.new)}", ""]
    if not review.changes:
        lines += ["no change of meaning", ""]
    for effect in EFFECTS:
        changes = [change for change in review.changes if change.effect == effect]
        if changes:
            lines.append(paint(f"{len(changes)} {TITLES[effect]}", _ROLES[effect], color))
            for change in changes:
                lines += _change(change, color, width or 120)
            lines.append("")
    if review.replay is not None:
        lines += [*diff_replay.render(review.replay, color, width or 120), ""]
    if review.gates:
        lines += [_gated(review, color), ""]
    return "\n".join(lines[:-1]) + "\n"


def summary(review: Review) -> str:
    """In a line, how many changes go which way."""
    if not review.changes:
        return "no change of meaning"
    said = [
        f"{count} {'without effect' if effect == 'none' else effect}"
        for effect, count in review.counts.items()
        if count
    ]
    return ", ".join(said)


def _change(change: Change, color: bool, width: int) -> list[str]:
    old, new = shown(change.old), shown(change.new)
    where = f"{change.key} of {change.subject}" if change.key else change.subject
    head = f"  {paint(change.category, 'bold', color)}  {printable(where)}"
    lines = []
    if change.old is None and change.new is None:
        lines.append(head)
    elif len(old) + len(new) <= _INLINE and change.key:
        lines.append(f"{head}: {old} → {new}")
    else:
        lines.append(head)
        for sign, value, there in (("-", old, change.old), ("+", new, change.new)):
            if there is not None:
                lines.append(f"{_INDENT}{sign} {textwrap.shorten(value, max(width - 8, 40), placeholder=' …')}")
    if change.detail:
        lines += textwrap.wrap(printable(change.detail), width, initial_indent=_INDENT, subsequent_indent=_INDENT)
    places = " → ".join(printable(str(place)) for place in (change.old_spot, change.new_spot) if place is not None)
    if places:
        lines.append(paint(f"{_INDENT}{places}", "faint", color))
    return lines


def shown(value: Any) -> str:
    """A value on one line; what is not there as `(absent)`."""
    return "(absent)" if value is None else printable(flow(value))


def _gated(review: Review, color: bool) -> str:
    gates = ", ".join(f"`{gate}`" for gate in review.gates)
    held = len(review.held)
    if held:
        return paint(f"held back by {gates}: {held} {'change' if held == 1 else 'changes'}", "error", color)
    return paint(f"nothing that {gates} is about", "allowed", color)
