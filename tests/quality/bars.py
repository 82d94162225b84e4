"""The bars: what is measured, how much is wanted, and each session that misses it."""

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from .judged import Judged
from .recordings import Label
from .splices import Spliced

LATE: Final = 3  # calls after the later reader's onset


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar.

    Attributes:
        what: what was counted.
        count: how often it came.
        of: how often it could have come.
        at_least: the share of `of` that is wanted at least, or None.
        at_most: the share that is allowed at most, or None.
        missed: sessions that count against it, each with what came of it.
    """

    what: str
    count: int
    of: int
    at_least: float | None = None
    at_most: float | None = None
    missed: list[str] = field(default_factory=list)

    @property
    def met(self) -> bool:
        """Whether the count is within the bar. What could never have come meets none."""
        low = 0.0 if self.at_least is None else self.at_least * self.of
        high = float(self.of) if self.at_most is None else self.at_most * self.of
        return self.of > 0 and low <= self.count <= high

    @property
    def wanted(self) -> str:
        """The bar in words."""
        share, word = (self.at_least, "at least") if self.at_least is not None else (self.at_most, "at most")
        assert share is not None
        whole = share * self.of
        return f"{word} {share:.0%}" if whole != round(whole) or 0 < share <= 0.01 else f"{word} {round(whole)}"


def of_labels(labels: Iterable[Label], judged: Mapping[tuple[str, str], Judged]) -> list[Bar]:
    """The bars on labelled sessions.

    Args:
        labels: the sessions.
        judged: what was made of them, by data set and session.
    """
    loops = [(label, judged[label.data_set, label.session]) for label in labels if label.label == "loop"]
    healthy = [(label, judged[label.data_set, label.session]) for label in labels if label.label == "ok"]
    late = [each for each in loops if not _by(each[1].noted, each[0].onset + LATE)]
    missed = [each for each in loops if not _by(each[1].refused, each[0].last)]
    hit = [each for each in healthy if each[1].refused is not None]
    count = len(loops)
    return [
        Bar(
            f"labelled loops noted within {LATE} calls after the later onset", count - len(late), count, 11 / 12,
            missed=[_told(*each) for each in late],
        ),
        Bar(
            "labelled loops refused before they end", count - len(missed), count, 9 / 12,
            missed=[_told(*each) for each in missed],
        ),
        Bar(
            "labelled healthy sessions refused", len(hit), len(healthy), at_most=0,
            missed=[_told(*each) for each in hit],
        ),
    ]  # fmt: skip


def of_healthy(what: str, sessions: Mapping[str, Judged], at_most: float) -> Bar:
    """The bar on sessions that went well: how many are touched by a refusal."""
    hit = {name: judged for name, judged in sessions.items() if judged.refused is not None}
    told = [f"{name}: {judged.actions[judged.refused][1]} at {judged.refused}" for name, judged in hit.items()]  # type: ignore[index]
    return Bar(what, len(hit), len(sessions), at_most=at_most, missed=told)


def of_splices(loops: Iterable[Spliced], judged: Mapping[str, Judged]) -> list[Bar]:
    """The bars on loops that were put into healthy runs, one a kind."""
    found: dict[str, list[Spliced]] = {}
    for loop in loops:
        found.setdefault(loop.kind, []).append(loop)
    bars = []
    for kind, of_kind in found.items():
        missed = [loop for loop in of_kind if not _by(judged[loop.session].refused, loop.due)]
        told = [f"{loop.session}: due at {loop.due}, refused {_at(judged[loop.session].refused)}" for loop in missed]
        what = f"loops put into healthy runs, refused in time: {kind}"
        bars.append(Bar(what, len(of_kind) - len(missed), len(of_kind), 0.95, missed=told))
    return bars


@dataclass(frozen=True, slots=True)
class Scores:
    """How an answer tells labelled loops from labelled healthy sessions; delays in calls after the later onset."""

    sort: str
    precision: float
    recall: float
    median_delay: float
    longest_delay: int


def scores(sort: str, labels: Iterable[Label], answers: Mapping[tuple[str, str], int | None]) -> Scores:
    """Score an answer.

    Args:
        sort: its name.
        labels: the sessions; borderline ones do not count.
        answers: `seq` of the first such answer in each session, None without one.

    Example:
        >>> loop, ok = Label("d", "a", "loop", 4, 9, "cycle"), Label("d", "b", "ok", 0, 0, "")
        >>> scores("note", [loop, ok], {("d", "a"): 6, ("d", "b"): None})
        Scores(sort='note', precision=1.0, recall=1.0, median_delay=2, longest_delay=2)
    """
    told = [(label, answers[label.data_set, label.session]) for label in labels if label.label != "borderline"]
    right = [(label, at) for label, at in told if label.label == "loop" and at is not None]
    wrong = [label for label, at in told if label.label == "ok" and at is not None]
    loops = sum(label.label == "loop" for label, _ in told)
    delays = [at - label.onset for label, at in right]
    precision = len(right) / (len(right) + len(wrong)) if right or wrong else 0.0
    median, longest = (statistics.median(delays), max(delays)) if delays else (0, 0)
    return Scores(sort, precision, len(right) / loops, median, longest)


def _by(seq: int | None, deadline: int) -> bool:
    return seq is not None and seq <= deadline


def _at(seq: int | None) -> str:
    return "never" if seq is None else f"at {seq}"


def _told(label: Label, judged: Judged) -> str:
    name = f"{label.data_set} {label.session}"
    return f"{name}: onset {label.onset}, end {label.last}, noted {_at(judged.noted)}, refused {_at(judged.refused)}"
