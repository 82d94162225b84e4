"""A review of a change on one page of Markdown, for a pull request."""

from __future__ import annotations

import html
import re
from typing import Final

from callgate.counted import counted
from callgate.review.change import EFFECTS, Change
from callgate.review.divergence import Divergence
from callgate.review.outcome import Review

from .diff import TITLES, shown, summary
from .diff_replay import behind, flips, headline, said, savings, top, unreplayable
from .snippet import printable

MOST_ROWS: Final = 40
MOST_NAMES: Final = 5
MOST_TIMELINES: Final = 5
_LONGEST: Final = 160
# What Markdown, or a forge that shows it, makes something of; a `_` inside a word is none.
_MARKS: Final = re.compile(r"([\\`*\[\]|~@#]|(?<!\w)_|_(?!\w))")


def render(review: Review, color: bool = False, width: int | None = None) -> str:
    """The review as Markdown: a line that says it all, then a table for each effect."""
    lines = [f"## Policy change: {text(review.old)} → {text(review.new)}", "", f"**{summary(review)}**", ""]
    if review.gates:
        held = len(review.held)
        gates = ", ".join(code(gate) for gate in review.gates)
        lines += [f"Held back by {gates}: {held}" if held else f"Nothing that {gates} is about.", ""]
    for effect in EFFECTS:
        changes = [change for change in review.changes if change.effect == effect]
        if not changes:
            continue
        folded = effect == "none"
        if folded:
            lines += ["<details>", f"<summary>{len(changes)} {TITLES[effect]}</summary>", ""]
        else:
            lines += [f"### {len(changes)} {TITLES[effect]}", ""]
        lines += ["| category | what | before | after | where |", "| --- | --- | --- | --- | --- |"]
        lines += [_row(change) for change in changes[:MOST_ROWS]]
        if len(changes) > MOST_ROWS:
            lines.append(f"| … | {len(changes) - MOST_ROWS} more |  |  |  |")
        lines.append("")
        if folded:
            lines += ["</details>", ""]
    if review.replay is not None:
        lines += _replay(review.replay)
    return "\n".join(lines).rstrip("\n") + "\n"


def _replay(found: Divergence) -> list[str]:
    lines = ["### Recorded sessions", "", f"**{_plain(headline(found))}.**", ""]
    lines += [f"- {_plain(f'{row.number:,}')} {_plain(row.words)}" for row in flips(found)]
    lines += [f"- {_plain(line)}" for line in savings(found)]
    lines.append("")
    for title, moved in (("newly refused", found.refused), ("newly let through", found.passed)):
        if moved.calls:
            lines += [f"| {counted(moved.calls, 'call')} {title} | by | calls |", "| --- | --- | ---: |"]
            for by, table in (("reason", moved.by_reason), ("tool", moved.by_tool), ("agent", moved.by_agent)):
                lines += [f"| {code(row.words)} | {by} | {row.number:,} |" for row in top(table, MOST_NAMES)]
            lines.append("")
    if found.timelines:
        shown_of = min(len(found.timelines), MOST_TIMELINES)
        lines += [
            "<details>",
            f"<summary>First divergences ({shown_of} of {counted(found.diverged, 'session')})</summary>",
            "",
        ]
        lines += ["| session | call | before | now |", "| --- | --- | --- | --- |"]
        for timeline in found.timelines[:MOST_TIMELINES]:
            last = timeline.moments[-1]
            call = code(_short(f"{last.seq} {last.tool} {last.arguments}"))
            lines.append(f"| {code(timeline.session)} | {call} | {_plain(said(last.old))} | {_plain(said(last.new))} |")
        lines += ["", "</details>", ""]
    rows = unreplayable(found)
    lines += [
        f"{behind(found)}: judged as recorded.",
        *(f"Not replayed: {row.number:,} {_plain(row.words)}." for row in rows),
    ]
    return lines


def _row(change: Change) -> str:
    what = f"{text(change.subject)}<br>{code(change.key)}" if change.key else text(change.subject)
    if change.detail:
        what += f"<br>{text(change.detail)}"
    values = ["" if value is None else code(_short(shown(value))) for value in (change.old, change.new)]
    places = " → ".join(code(str(spot)) for spot in (change.old_spot, change.new_spot) if spot is not None)
    return f"| {code(change.category)} | {what} | {values[0]} | {values[1]} | {places} |"


def _short(value: str) -> str:
    return value if len(value) <= _LONGEST else value[: _LONGEST - 1] + "…"


def code(value: str) -> str:
    """A text as code, whatever is in it: in HTML, where no sign of Markdown means anything but `|`."""
    return f"<code>{_plain(printable(value))}</code>"


def text(value: str) -> str:
    """A text in which nothing is a sign of Markdown or HTML; `names` in back quotes are code."""
    parts = printable(value).split("`")
    if len(parts) % 2 == 0:
        return _plain(printable(value))
    return "".join(code(part) if at % 2 else _plain(part) for at, part in enumerate(parts))


def _plain(value: str) -> str:
    """A text with its marks as entities, so that none of them means anything."""
    parts = _MARKS.split(value)
    return "".join(f"&#{ord(part)};" if at % 2 else html.escape(part, quote=False) for at, part in enumerate(parts))
