"""One session as an HTML page: what was decided call by call, where it went round, and how it stood meanwhile."""

from __future__ import annotations

import json
import math
from itertools import accumulate
from typing import Any, Final

from callgate.counted import counted
from callgate.traces.course import Step
from callgate.traces.session_report import WINDOW, SessionReport

from .curves import bars, curves
from .html_page import Markup, joined, page, section, table, tag, tiles, worded
from .html_page import text as escaped

MOST_STEPS: Final = 2_000
"""Calls and events that a page shows."""
_LONGEST: Final = 1_500
_HELD: Final = ("refuse", "stop")
_WORDS: Final = {"allow": "allowed", "reuse": "reused", "ask": "asked", "refuse": "refused", "stop": "stopped"}
_STATUS: Final = {"complete": "fine", "partial": "stricter", "incomplete": "looser"}


def render(found: SessionReport) -> str:
    """The session as a whole page that loads nothing and runs nothing."""
    policy = found.policy
    revision = f", revision {policy.revision}" if policy.revision else ""
    about = f"Judged under {policy.name}{revision}, digest {policy.digest[:12]}, mode {policy.mode}."
    calls = len(found.points)
    would = "" if policy.mode == "enforce" else "would have been "
    return page(
        f"Session {found.session}",
        tag("h1", "Session ", tag("code", found.session)),
        tag("p", about, class_="lead"),
        _ending(found),
        tiles(
            [
                (f"{calls:,}", "call" if calls == 1 else "calls", None),
                (f"{found.count('allow'):,}", "allowed", "fine"),
                (f"{found.count('reuse', 'ask'):,}", f"{would}reused or asked about", "stricter"),
                (f"{found.count(*_HELD):,}", f"{would}refused or stopped", "looser"),
                (f"{len(found.repeats):,}", "made before in this session", "reclassified"),
            ]
        ),
        _strip(found),
        _curves(found),
        _needs(found),
        _timeline(found),
    )


def _ending(found: SessionReport) -> Markup:
    if found.stop is not None:
        said = joined(("Stopped: ", tag("code", found.stop["reason"]), f", exit {found.stop['exit']}"))
        return tag("div", said, f", {found.status}" if found.status else None, class_="banner bad")
    if found.status is not None:
        return tag(
            "div", f"Ended {found.status}.", class_="banner good" if found.status == "complete" else "banner bad"
        )
    return tag("div", "Not stopped.", class_="banner good")


def _strip(found: SessionReport) -> Markup | None:
    """The whole run as a row of cells, so that loops are seen where they are; each leads to its call."""
    if not found.points:
        return None
    width = 10
    cells = []
    for at, point in enumerate(found.points[:MOST_STEPS]):
        x = at * width
        kind = "held" if point.action in _HELD else "soft" if point.action != "allow" else "ran"
        parts = [tag("rect", x=str(x + 1), y="1", width=str(width - 2), height="22", rx="2", class_=f"cell {kind}")]
        if point.seq in found.repeats:
            parts.append(tag("rect", x=str(x + 1), y="26", width=str(width - 2), height="5", class_="cell again"))
        if any(reason in _LOOPS for reason in found.findings.get(point.seq, ())):
            parts.append(tag("rect", x=str(x + 1), y="34", width=str(width - 2), height="5", class_="cell loop"))
        told = tag("title", f"call {point.seq}: {_WORDS[point.action]}")
        cells.append(tag("a", told, *parts, href=f"#call-{point.seq}"))
    full = max(len(cells), 40) * width
    drawing = tag(
        "svg", *cells, viewBox=f"0 0 {full} 40", class_="strip", role="img", aria_label="the run, call by call"
    )
    kinds = (
        ("ran", "ran"),
        ("soft", "reused or asked"),
        ("held", "refused or stopped"),
        ("again", "made before"),
        ("loop", "a detector spoke"),
    )
    key = [
        tag(
            "li",
            tag(
                "svg",
                tag("rect", x="0", y="0", width="24", height="10", class_=f"cell {kind}"),
                viewBox="0 0 24 10",
                aria_hidden="true",
            ),
            words,
        )
        for kind, words in kinds
    ]
    return section("The run", tag("div", drawing, class_="scroll"), tag("ul", *key, class_="key"))


_LOOPS: Final = frozenset(
    (
        "consecutive", "exact_repeat", "frequency", "cycle", "oscillation", "same_error", "same_result", "no_gain",
        "empty_streak", "state_oscillation", "transfer_streak", "transfer_cycle", "stale_wait", "low_diversity",
    )
)  # fmt: skip


def _curves(found: SessionReport) -> Markup | None:
    points = found.points
    if not points:
        return None
    seqs = [point.seq for point in points]
    marks = [at for at, point in enumerate(points) if point.action in _HELD]
    most = math.log2(max(2, min(len(points), WINDOW)))
    figures = [
        curves(
            "Entropy", f"bits over the last {WINDOW} calls; a run that goes round sinks",
            {"Entropy": [point.entropy for point in points]}, most, seqs, marks,
        ),
        curves(
            "Different calls", f"their share among the last {WINDOW} calls",
            {"Different calls": [point.distinct for point in points]}, 1.0, seqs, marks,
        ),
        bars(
            "Gain", f"items that the task did not know, call by call; {sum(point.gain for point in points):,} in all",
            [float(point.gain) for point in points], seqs, marks,
        ),
    ]  # fmt: skip
    if found.limits:
        left = {
            f"{name.replace('_', ' ')} ({limit:,g})": [point.left[name] for point in points]
            for name, limit in found.limits.items()
        }
        figures.append(curves("Budgets", "the share of each that is left", left, 1.0, seqs, marks, steps=True))
    cells = [*accumulate(point.cells for point in points)]
    total = cells[-1] + len(found.missing)
    if total:
        said = f"{cells[-1]:,} of {counted(total, 'cell')} filled"
        figures.append(
            curves("Needs", said, {"Needs": [float(cell) for cell in cells]}, float(total), seqs, marks, steps=True)
        )
    note = tag("p", "Dashed lines are refused or stopped calls.", class_="soft") if marks else None
    return section("How it went", note, tag("div", *figures, class_="charts"))


def _needs(found: SessionReport) -> Markup | None:
    if not found.missing:
        return None
    rows = [(_spelled(record), field) for record, field in found.missing]
    return section("What is missing", table("Missing cells", ("record", "field"), rows))


def _timeline(found: SessionReport) -> Markup:
    shown = found.steps[:MOST_STEPS]
    more = len(found.steps) - len(shown)
    tail = (
        tag("p", f"{counted(more, 'more call or event is', 'more calls and events are')} not shown.", class_="soft")
        if more
        else None
    )
    if not shown:
        return section("Call by call", tag("p", "There is no call."))
    return section("Call by call", tag("ol", *(_step(step, found) for step in shown), class_="run"), tail)


def _step(step: Step, found: SessionReport) -> Markup:
    when = tag("span", f"{step.time:g} s", class_="soft") if step.time is not None else None
    number = tag("span", str(step.seq), class_="seq")
    if step.event is not None:
        return tag("li", tag("div", number, tag("em", step.event), when, class_="head"))
    action = step.would or step.action
    reasons = found.findings.get(step.seq, ())
    kind = "note" if action == "allow" and reasons else action
    verdict = f"would be {_WORDS[action]}" if step.would else _WORDS[action]
    chips: list[Markup | None] = [tag("span", verdict, class_=f"chip {action}")]
    chips += [tag("span", reason, class_=f"chip {'note' if action == 'allow' else action}") for reason in reasons]
    repeat = found.repeats.get(step.seq)
    if repeat is not None:
        chips.append(
            joined(
                (
                    tag(
                        "span",
                        f"{_nth(repeat.times)} time, as ",
                        tag("a", f"call {repeat.first}", href=f"#call-{repeat.first}"),
                        class_="soft",
                    ),
                )
            )
        )
    parts = [
        tag("div", number, tag("code", step.tool), *chips, when, class_="head"),
        tag("pre", _lines(_spelled(step.arguments))),
    ]
    if not step.reads:  # what the model reads says it too
        parts += [tag("p", worded(message)) for _, message in step.because if message]
    if step.failure is not None:
        parts.append(tag("p", "failed: ", _lines(step.failure)))
    if step.ran and step.result is not None:
        parts.append(tag("details", tag("summary", "result"), tag("pre", _lines(_spelled(step.result)))))
    parts += [tag("p", tag("span", "the model reads: ", class_="soft"), worded(reads)) for reads in step.reads]
    return tag("li", *parts, class_=kind, id=f"call-{step.seq}")


def _nth(times: int) -> str:
    ending = "th" if times % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(times % 10, "th")
    return f"{times}{ending}"


def _spelled(value: Any) -> str:
    """A value as text: a text as it is, anything else as JSON; its end cut off where it is long."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text):,} characters)"


def _lines(text: str) -> Markup:
    """A text with its line breaks; other control characters are shown."""
    return Markup("\n".join(escaped(line) for line in text.split("\n")))
