"""Curves of a run as inline SVG: one point a call, refusals marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from .html_page import Markup, joined, tag

_WIDTH: Final = 480
_HEIGHT: Final = 170
_LEFT: Final = 44
_RIGHT: Final = 8
_TOP: Final = 12
_BOTTOM: Final = 26
_KINDS: Final = ("curve", "curve second", "curve third", "curve fourth")


def curves(
    title: str, says: str, series: Mapping[str, Sequence[float]], top: float, seqs: Sequence[int],
    marks: Sequence[int] = (), *, steps: bool = False,
) -> Markup:  # fmt: skip
    """A figure with a line for each series.

    Args:
        title: what it shows.
        says: what to see in it, for those who do not see it too.
        series: the values of each, one a call.
        top: the largest value that there can be; the smallest is 0.
        seqs: the `seq` of each call.
        marks: positions of calls, from 0, that get an upright line: refusals and stops.
        steps: whether a value holds until the next call, as of what is counted.
    """
    lines = [
        tag("polyline", points=_points(values, top, steps), class_=_KINDS[at % len(_KINDS)])
        for at, values in enumerate(series.values())
    ]
    return _figure(title, says, joined((*_frame(top, seqs), *_marks(marks, len(seqs)), *lines)), list(series))


def bars(title: str, says: str, values: Sequence[float], seqs: Sequence[int], marks: Sequence[int] = ()) -> Markup:
    """A figure with a bar for each call."""
    top = max([*values, 1.0])
    width = max(0.8, min(14.0, 0.7 * (_WIDTH - _LEFT - _RIGHT) / max(len(values), 1)))
    drawn = [
        tag("rect", x=_n(_x(at, len(values)) - width / 2), y=_n(_y(value, top)), width=_n(width),
            height=_n(_HEIGHT - _BOTTOM - _y(value, top)), class_="fill")
        for at, value in enumerate(values)
        if value > 0
    ]  # fmt: skip
    return _figure(title, says, joined((*_frame(top, seqs), *_marks(marks, len(seqs)), *drawn)), [])


def _figure(title: str, says: str, drawing: Markup, names: Sequence[str]) -> Markup:
    svg = tag("svg", drawing, viewBox=f"0 0 {_WIDTH} {_HEIGHT}", role="img", aria_label=f"{title}: {says}")
    legend = None
    if len(names) > 1 or (names and names[0] != title):
        lines = [
            tag(
                "svg",
                tag("line", x1="0", y1="5", x2="24", y2="5", class_=_KINDS[at % len(_KINDS)]),
                viewBox="0 0 24 10",
                aria_hidden="true",
            )
            for at in range(len(names))
        ]
        legend = tag("ul", *(tag("li", line, name) for line, name in zip(lines, names, strict=True)), class_="key")
    return tag("figure", tag("figcaption", title, tag("span", says)), svg, legend)


def _frame(top: float, seqs: Sequence[int]) -> list[Markup]:
    bottom = _HEIGHT - _BOTTOM
    parts = [
        tag("line", x1=str(_LEFT), y1=_n(y), x2=str(_WIDTH - _RIGHT), y2=_n(y), class_="axis")
        for y in (_TOP, (_TOP + bottom) / 2, bottom)
    ]
    for share in (1.0, 0.5, 0.0):
        label = f"{top * share:.3g}"
        parts.append(tag("text", label, x=str(_LEFT - 5), y=_n(_y(top * share, top) + 5), text_anchor="end"))
    if seqs:
        parts.append(tag("text", f"call {seqs[0]}", x=str(_LEFT), y=str(_HEIGHT - 6)))
    if len(seqs) > 1:
        parts.append(tag("text", f"call {seqs[-1]}", x=str(_WIDTH - _RIGHT), y=str(_HEIGHT - 6), text_anchor="end"))
    return parts


def _marks(marks: Sequence[int], count: int) -> list[Markup]:
    return [
        tag("line", x1=_n(_x(at, count)), y1=str(_TOP), x2=_n(_x(at, count)), y2=str(_HEIGHT - _BOTTOM), class_="mark")
        for at in marks
    ]


def _points(values: Sequence[float], top: float, steps: bool) -> str:
    points: list[str] = []
    for at, value in enumerate(values):
        here = _n(_x(at, len(values)))
        if steps and at:
            points.append(f"{here},{_n(_y(values[at - 1], top))}")
        points.append(f"{here},{_n(_y(value, top))}")
    if len(values) == 1:
        points.append(f"{_WIDTH - _RIGHT},{_n(_y(values[0], top))}")
    return " ".join(points)


def _x(at: int, count: int) -> float:
    inside = _WIDTH - _LEFT - _RIGHT - 12
    return _LEFT + 6 + (inside * at / (count - 1) if count > 1 else 0.0)


def _y(value: float, top: float) -> float:
    bottom = _HEIGHT - _BOTTOM
    return bottom - (bottom - _TOP) * min(1.0, max(0.0, value / top if top else 0.0))


def _n(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
