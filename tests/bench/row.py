"""A line of the table of measurements, and the interleaved timing that it is made of."""

import dataclasses
import gc
import statistics
import time
from collections.abc import Callable, Sequence


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """One measurement.

    Attributes:
        what: what was measured, for people.
        ours: median seconds of ours.
        baseline: name of what it is measured against.
        baseline_seconds: median seconds of that.
        ratio: median of the pairs' ratios, ours / baseline.
        spread: 10th and 90th percentile of the pairs' ratios.
        bar: highest ratio that is accepted, `None` for a row that is only reported.
    """

    what: str
    ours: float
    baseline: str
    baseline_seconds: float
    ratio: float
    spread: tuple[float, float]
    bar: float | None = None

    @property
    def met(self) -> bool | None:
        """Whether the ratio is within the bar; `None` without a bar."""
        return None if self.bar is None else self.ratio <= self.bar


@dataclasses.dataclass(frozen=True, slots=True)
class Paired:
    """Times of two functions that ran in turns, so that a busy machine slows both.

    Attributes:
        ours: seconds per repeat.
        baseline: seconds per repeat, of the same length.
    """

    ours: Sequence[float]
    baseline: Sequence[float]

    def row(self, what: str, baseline: str, bar: float | None = None, calls: int = 1) -> Row:
        """Make a line of the table. `calls` is how many calls one timed repeat made."""
        ratios = [mine / other for mine, other in zip(self.ours, self.baseline, strict=True)]
        return Row(
            what=what,
            ours=statistics.median(self.ours) / calls,
            baseline=baseline,
            baseline_seconds=statistics.median(self.baseline) / calls,
            ratio=statistics.median(ratios),
            spread=(_percentile(ratios, 10), _percentile(ratios, 90)),
            bar=bar,
        )


def paired(
    ours: Callable[[], object],
    baseline: Callable[[], object],
    repeats: int,
    clock: Callable[[], float] = time.perf_counter,
) -> Paired:
    """Time two functions in turns, ours first in every other pair; one untimed call of each comes before.

    Args:
        ours: called once a repeat.
        baseline: called once a repeat.
        repeats: pairs, 1 or more.
        clock: seconds from any origin. `time.thread_time` where one thread does all the work: what others do on a busy
            machine then counts far less.

    Returns:
        The seconds of all repeats. Garbage collection is off while the clock runs.
    """
    ours()
    baseline()
    mine, other = [], []
    for repeat in range(repeats):
        for is_ours in (True, False) if repeat % 2 == 0 else (False, True):
            (mine if is_ours else other).append(_seconds(ours if is_ours else baseline, clock))
    return Paired(mine, other)


def on_thread(ours: Callable[[], object], baseline: Callable[[], object], repeats: int) -> Paired:
    """Time two functions as `paired` does, by the processor time of this thread."""
    return paired(ours, baseline, repeats, time.thread_time)


def _seconds(call: Callable[[], object], clock: Callable[[], float]) -> float:
    gc.collect()
    gc.disable()
    try:
        start = clock()
        call()
        return clock() - start
    finally:
        gc.enable()


def _percentile(values: Sequence[float], percent: int) -> float:
    """Take the nearest rank."""
    ordered = sorted(values)
    return ordered[round((len(ordered) - 1) * percent / 100)]
