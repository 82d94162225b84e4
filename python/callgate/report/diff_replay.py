"""What recorded sessions came to under two policies, for a terminal; and the rows that every format shows of it."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple

from callgate.counted import counted
from callgate.review.divergence import Divergence, Moved, Timeline, Verdict

from .color import paint
from .snippet import printable

MOST_ROWS: Final = 10
MOST_SHOWN: Final = 5
"""First divergences that a terminal shows."""


class Row(NamedTuple):
    """A number with what it counts."""

    number: int
    words: str


def headline(found: Divergence) -> str:
    """In a sentence, what became of the recorded calls."""
    calls, share = found.new.calls, f"{found.flipped / found.new.calls:.1%}" if found.new.calls else "0 %"
    return (
        f"{found.flipped:,} of {counted(calls, 'recorded call')} {'is' if found.flipped == 1 else 'are'} decided "
        f"otherwise ({share}), in {found.diverged:,} of {counted(found.new.sessions, 'session')}"
    )


def flips(found: Divergence) -> list[Row]:
    """Calls by what became of them and what becomes of them now, the most frequent first."""
    rows = [Row(count, f"{old} → {new}") for (old, new), count in found.flips.items()]
    rows += [
        Row(count, "ends the run now" if new else "ends the run no more") for (_, new), count in found.ends.items()
    ]
    rows = sorted(rows, key=lambda row: (-row.number, row.words))
    return rows + ([Row(found.other_reason, "held back for another reason")] if found.other_reason else [])


def savings(found: Divergence) -> list[str]:
    """What the new policy saves over the old one, as far as the recording tells."""
    fewer = found.saved
    said = f"{counted(abs(fewer), 'call')} {'fewer' if fewer >= 0 else 'more'} would have run"
    lines = [f"{said} ({found.old.saved:,} held back before, {found.new.saved:,} now)"]
    for name, (recorded, new, old) in (("tokens", found.tokens), ("cost", found.cost)):
        if recorded:
            lines.append(
                f"{name} after a stop that is new: {new:,.6g}; after one that is gone: {old:,.6g}; "
                f"recorded: {recorded:,.6g}"
            )
    if not found.tokens[0] and not found.cost[0]:
        lines.append("tokens and cost are not recorded")
    return lines


def unreplayable(found: Divergence) -> list[Row]:
    """What could not be replayed, by why."""
    rows = [Row(count, f"lines skipped: {why}") for why, count in sorted(found.skipped.items())]
    rows += [Row(1, f"file judged only in part: {name}: {why}") for name, why in sorted(found.broken.items())]
    rows.append(Row(found.without_outcome, "calls that only one side runs, and of which no outcome is recorded"))
    rows.append(Row(found.unanswered, "calls that one side asks about, and whose answer is not recorded"))
    rows.append(Row(found.unmatched, "verdicts of one side without one of the other: a fault of callgate"))
    return [row for row in rows if row.number]


def behind(found: Divergence) -> str:
    """How many calls come after the first divergence of their session, in words."""
    return f"{counted(found.behind, 'call lies', 'calls lie')} behind the first divergence of their session"


def top(table: Counter[str], most: int = MOST_ROWS) -> list[Row]:
    """The most frequent names, and the rest together."""
    ranked = sorted(table.items(), key=lambda item: (-item[1], item[0]))
    rows = [Row(count, name) for name, count in ranked[:most]]
    rest = sum(count for _, count in ranked[most:])
    return rows + ([Row(rest, f"{len(ranked) - most:,} more")] if rest else [])


def render(found: Divergence, color: bool = False, width: int = 120) -> list[str]:
    """The divergence as lines of text."""
    lines = [paint("recorded sessions", "bold", color), f"  {headline(found)}"]
    lines += _rows(flips(found))
    for title, moved in (("newly refused", found.refused), ("newly let through", found.passed)):
        lines += ["", paint(f"{counted(moved.calls, 'call')} {title}", "bold", color), *_moved(moved)]
    lines += ["", paint("saved", "bold", color), *(f"  {line}" for line in savings(found))]
    if found.endings:
        lines += ["", paint("runs that end otherwise", "bold", color)]
        lines += _rows(top(Counter({f"{old} → {new}": count for (old, new), count in found.endings.items()})))
    if found.timelines:
        few = min(len(found.timelines), MOST_SHOWN)
        lines += [
            "",
            paint(f"first divergences ({few} of {found.diverged:,})", "bold", color),
        ]
        for timeline in found.timelines[:MOST_SHOWN]:
            lines += _timeline(timeline, color, width)
    lines += ["", f"{behind(found)}: judged as recorded"]
    rows = unreplayable(found)
    lines += (
        [paint("not replayed", "bold", color), *_rows(rows)] if rows else ["all that was recorded could be replayed"]
    )
    return lines


def _moved(moved: Moved) -> Iterator[str]:
    for title, table in (("by reason", moved.by_reason), ("by tool", moved.by_tool), ("by agent", moved.by_agent)):
        if table:
            yield f"  {title}"
            yield from _rows(top(table))


def _rows(rows: list[Row]) -> list[str]:
    return [f"  {row.number:>12,}  {printable(row.words)}" for row in rows]


def _timeline(timeline: Timeline, color: bool, width: int) -> Iterator[str]:
    yield f"  {printable(timeline.session)} ({printable(timeline.trace)})"
    for moment in timeline.moments[-3:]:
        head = f"    {moment.seq:>4}  {printable(moment.tool)}  "
        arguments = textwrap.shorten(printable(moment.arguments), max(width - len(head) - 2, 30), placeholder=" …")
        yield f"{head}{arguments}"
        if moment is timeline.moments[-1]:
            yield paint(f"          before: {said(moment.old)}", "allowed", color)
            yield paint(f"          now:    {said(moment.new)}", "refused", color)


def said(verdict: Verdict) -> str:
    """A verdict in a line: what was done, and why."""
    words = verdict.action + (", and the run ends" if verdict.ends else "")
    if verdict.reason:
        words += f" ({printable(verdict.reason)})"
    return words + (f": {printable(verdict.message)}" if verdict.message else "")
