"""A review of a change as an HTML page, for whoever has to say yes to it."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from callgate.counted import counted
from callgate.review.categories import CATEGORIES
from callgate.review.change import EFFECTS, Change, Effect
from callgate.review.divergence import HELD, Divergence, Moved, Timeline, Verdict
from callgate.review.outcome import Review

from .diff import summary
from .diff_replay import Row, behind, flips, savings, top, unreplayable
from .html_page import Markup, joined, page, section, table, tag, tiles, worded
from .resolved import flow

MOST_NAMES: Final = 12
_TITLES: Final[dict[Effect, str]] = {
    "looser": "Looser",
    "stricter": "Stricter",
    "reclassified": "Reclassified",
    "none": "Without effect",
}
_SAYS: Final[dict[Effect, str]] = {
    "looser": "Calls or runs may be let through that were not.",
    "stricter": "Calls or runs may be held back that were not.",
    "reclassified": "It goes both ways, or it cannot be told which way it goes.",
    "none": "Words and spelling: no decision changes.",
}
_TILES: Final[dict[Effect, str]] = {
    "looser": "let more through", "stricter": "let less through", "reclassified": "go both ways, or cannot be told",
    "none": "change no decision",
}  # fmt: skip


def render(review: Review, color: bool = False, width: int | None = None) -> str:
    """The review as a whole page that loads nothing and runs nothing."""
    title = f"Policy change: {review.old} → {review.new}"
    parts: list[Markup | None] = [
        tag("h1", "Policy change"),
        tag("p", tag("code", review.old), " → ", tag("code", review.new), class_="lead"),
        _gate(review),
        tiles((f"{count:,}", _TILES[effect], effect) for effect, count in review.counts.items()),
    ]
    if review.replay is not None:
        parts.append(_numbers(review.replay))
    parts.append(_changes(review))
    if review.replay is not None:
        parts += _replay(review.replay)
    return page(title, *parts)


def _gate(review: Review) -> Markup | None:
    if not review.gates:
        return None
    held = len(review.held)
    gates = joined(part for at, gate in enumerate(review.gates) for part in (", " if at else "", tag("code", gate)))
    if held:
        return tag("div", f"Held back: {held} {'change' if held == 1 else 'changes'} by ", gates, class_="banner bad")
    return tag("div", "Passes the gates: ", gates, class_="banner good")


def _changes(review: Review) -> Markup:
    if not review.changes:
        return section("What changes", tag("p", f"Both sides mean the same: {summary(review)}."))
    parts = []
    for effect in EFFECTS:
        changes = [change for change in review.changes if change.effect == effect]
        if not changes:
            continue
        rows = tag(
            "div",
            table(f"{_TITLES[effect]} changes", ("what", "before", "after", "where"), map(_row, changes)),
            class_="changes",
        )
        head = joined((tag("span", _TITLES[effect], class_=f"chip {effect}"), f" {len(changes)}"))
        if effect == "none":
            parts.append(tag("details", tag("summary", head), tag("p", _SAYS[effect], class_="soft"), rows))
        else:
            parts += [tag("h3", head), tag("p", _SAYS[effect], class_="soft"), rows]
    return section("What changes", *parts, _legend(review))


def _row(change: Change) -> list[Markup]:
    what = [tag("code", change.category, class_="cat"), tag("br"), worded(change.subject)]
    if change.key:
        what += [tag("br"), tag("code", change.key)]
    if change.detail:
        what.append(tag("span", worded(change.detail), class_="where"))
    spots = [
        (word, spot) for word, spot in (("before", change.old_spot), ("after", change.new_spot)) if spot is not None
    ]
    places = [
        tag("span", tag("span", f"{word}: ", class_="unseen"), tag("code", str(spot)), class_="where")
        for word, spot in spots
    ]
    return [joined(what), _value(change.old), _value(change.new), joined(places)]


def _value(value: Any) -> Markup:
    if value is None:
        return tag("span", "not there", class_="soft")
    return tag("code", flow(value), class_="value")


def _legend(review: Review) -> Markup:
    named = sorted({change.category for change in review.changes})
    entries = [joined((tag("dt", tag("code", name)), tag("dd", worded(CATEGORIES[name].says)))) for name in named]
    return tag("details", tag("summary", "What these categories mean"), tag("dl", *entries))


def _numbers(found: Divergence) -> Markup:
    share = f" ({found.flipped / found.new.calls:.1%})" if found.new.calls else ""
    fewer = found.saved
    return tiles(
        [
            (
                f"{found.new.calls:,}",
                f"recorded calls in {counted(found.new.sessions, 'session')}, judged under both",
                None,
            ),
            (f"{found.flipped:,}", f"decided otherwise{share}", "reclassified"),
            (f"{found.refused.calls:,}", "newly refused", "stricter"),
            (f"{found.passed.calls:,}", "newly let through", "looser"),
            (f"{abs(fewer):,}", f"calls {'fewer' if fewer >= 0 else 'more'} would have run", "fine"),
        ]
    )


def _replay(found: Divergence) -> list[Markup]:
    parts = [
        section(
            "Recorded sessions",
            tag("p", "Each session was judged under both policies, each with its own full state. A recording does not ",
                "react: what lies behind the first divergence of a session is judged as it was recorded."),
            tag("h3", "Calls that are decided otherwise"),
            _names("Calls that are decided otherwise", ("before → now", "calls"), flips(found), found.new.calls)
            if flips(found) else tag("p", "None."),
            tag("h3", "Saved"),
            tag("ul", *(tag("li", line) for line in savings(found))),
            _endings(found),
        )
    ]  # fmt: skip
    for title, moved, chip in (
        ("Newly refused", found.refused, "stricter"),
        ("Newly let through", found.passed, "looser"),
    ):
        parts.append(_moved(title, moved, chip))
    if found.timelines:
        shown = len(found.timelines)
        said = f"The first {shown} of {found.diverged:,}." if found.diverged > shown else f"All {shown}."
        lead = tag("p", "Where a session first parts, with the calls before it. ", said)
        parts.append(section("First divergences", lead, *(_timeline(timeline) for timeline in found.timelines)))
    rows = unreplayable(found)
    told = f"{behind(found)}: judged as recorded."
    left = (
        _names("What was not replayed", ("why", "how many"), rows)
        if rows
        else tag("p", "Every recorded call could be judged under both.")
    )
    parts.append(section("What this cannot tell", tag("p", told), left))
    return parts


def _endings(found: Divergence) -> Markup | None:
    if not found.endings:
        return None
    rows = top(Counter({f"{old} → {new}": count for (old, new), count in found.endings.items()}), MOST_NAMES)
    return joined(
        (tag("h3", "Runs that end otherwise"), _names("Runs that end otherwise", ("before → now", "tasks"), rows))
    )


def _moved(title: str, moved: Moved, chip: str) -> Markup:
    if not moved.calls:
        return section(title, tag("p", "No call."))
    columns = []
    for by, names in (("reason", moved.by_reason), ("tool", moved.by_tool), ("agent", moved.by_agent)):
        rows = top(names, MOST_NAMES)
        columns.append(tag("div", tag("h3", f"By {by}"), _names(f"{title}, by {by}", (by, "calls"), rows, moved.calls)))
    return section(
        title,
        tag("p", tag("span", counted(moved.calls, "call"), class_=f"chip {chip}")),
        tag("div", *columns, class_="columns"),
    )


def _names(caption: str, heads: tuple[str, str], rows: list[Row], of: int | None = None) -> Markup:
    cells = [(joined((row.words, _bar(row.number, of))), f"{row.number:,}") for row in rows]
    return tag("div", table(caption, heads, cells, numbers=(1,)), class_="names")


def _bar(number: int, of: int | None) -> Markup | None:
    """How much of the whole it is; nothing that a screen reader would read beside the number."""
    if not of:
        return None
    share = max(0.5, min(100.0, 100 * number / of))
    return tag(
        "svg", tag("rect", x="0", y="0", width=f"{share:.4g}", height="6"),
        class_="bar", viewBox="0 0 100 6", preserveAspectRatio="none", aria_hidden="true",
    )  # fmt: skip


def _timeline(timeline: Timeline) -> Markup:
    *before, here = timeline.moments
    steps = [_moment(moment.seq, moment.tool, moment.arguments, moment.new) for moment in before]
    sides = tag(
        "div",
        tag("div", tag("b", "before"), _verdict(here.old)),
        tag("div", tag("b", "now"), _verdict(here.new)),
        class_="pair",
    )
    kind = here.new.action if here.new.action in HELD else here.old.action if here.old.action in HELD else "part"
    last = tag("li", _head(here.seq, here.tool), tag("pre", here.arguments), sides, class_=kind)
    where = f"{timeline.trace}, agent {timeline.agent}" + (
        f", at {timeline.time:g} s" if timeline.time is not None else ""
    )
    return tag(
        "article",
        tag("h3", timeline.session),
        tag("p", where, class_="soft"),
        tag("ol", *steps, last, class_="run"),
        class_="card",
    )


def _moment(seq: int, tool: str, arguments: str, verdict: Verdict) -> Markup:
    noted = "note" if verdict.notes and verdict.action == "allow" else verdict.action
    chip = tag("span", "noted" if noted == "note" else verdict.action, class_=f"chip {noted}")
    notes = tag("span", ", ".join(verdict.notes), class_="soft") if verdict.notes else None
    return tag("li", _head(seq, tool, chip, notes), tag("pre", arguments), class_=noted)


def _head(seq: int, tool: str, *more: Markup | None) -> Markup:
    return tag("div", tag("span", str(seq), class_="seq"), tag("code", tool), *more, class_="head")


def _verdict(verdict: Verdict) -> Markup:
    parts: list[Markup | str] = [tag("span", verdict.action, class_=f"chip {verdict.action}")]
    if verdict.ends:
        parts.append(" and the run ends")
    if verdict.reason:
        parts += [" ", tag("code", verdict.reason)]
    if verdict.message:
        parts.append(tag("p", worded(verdict.message)))
    elif verdict.grade:
        parts.append(tag("p", f"it ran; its result was {verdict.grade}"))
    return joined(parts)
