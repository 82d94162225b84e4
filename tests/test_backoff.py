"""Pauses between attempts: their formulas by hand, and how 10,000 of them are spread."""

import math
import random
from collections.abc import Callable, Sequence

import pytest

from callgate.runtime.backoff import JITTERS, Backoff

MANY = 10_000
# Kolmogorov and Smirnov: sqrt(-ln(0.001 / 2) / 2) = 1.9495, over sqrt(10,000). A right formula fails one seed in 1,000;
# the seed is fixed.
BOUND = 1.9495 / math.sqrt(MANY)


def distance(values: Sequence[float], below: Callable[[float], float]) -> float:
    """The largest distance between the share of values up to `x`, and what it should be."""
    ordered = sorted(values)
    count = len(ordered)
    return max(max((at + 1) / count - below(value), below(value) - at / count) for at, value in enumerate(ordered))


def evenly(low: float, high: float) -> Callable[[float], float]:
    return lambda value: min(1.0, max(0.0, (value - low) / (high - low)))


def drawn(jitter: str, computed: float, *, longest: float = 60.0) -> list[float]:
    chance = random.Random(20_260_730)
    backoff = Backoff(1.0, 2.0, longest, jitter)
    return [backoff.pause(computed, None, chance.random) for _ in range(MANY)]


def test_the_computed_pause_doubles_up_to_the_cap() -> None:
    backoff = Backoff(0.5, 2.0, 6.0, "none")
    assert [backoff.computed(retries) for retries in range(6)] == [0.5, 1.0, 2.0, 4.0, 6.0, 6.0]
    assert [backoff.pause(each, None, lambda: 0.9) for each in (0.5, 4.0, 9.0)] == [0.5, 4.0, 6.0]


def test_no_number_of_retries_is_too_large() -> None:
    assert Backoff(1.0, 2.0, 60.0).computed(100_000) == 60.0


@pytest.mark.parametrize(
    ("jitter", "at_0", "at_half", "nearly_1"),
    [
        ("none", 8.0, 8.0, 8.0),
        ("full", 0.0, 4.0, 8.0),
        ("equal", 4.0, 6.0, 8.0),
        ("proportional", 6.4, 8.0, 9.6),
        ("decorrelated", 1.0, 8.0, 15.0),  # from 1 to three times the 5 seconds of the last pause
    ],
)
def test_each_spread_is_its_formula(jitter: str, at_0: float, at_half: float, nearly_1: float) -> None:
    backoff = Backoff(1.0, 2.0, 60.0, jitter)
    pauses = [backoff.pause(8.0, 5.0, lambda u=u: u) for u in (0.0, 0.5, 1.0 - 1e-12)]  # type: ignore[misc]
    assert pauses == pytest.approx([at_0, at_half, nearly_1])


def test_no_spread_at_all_is_one_value() -> None:
    assert set(drawn("none", 8.0)) == {8.0}


@pytest.mark.parametrize(
    ("jitter", "low", "high"), [("full", 0.0, 8.0), ("equal", 4.0, 8.0), ("proportional", 6.4, 9.6)]
)
def test_pauses_are_even_between_the_bounds_of_their_formula(jitter: str, low: float, high: float) -> None:
    values = drawn(jitter, 8.0)
    assert low <= min(values) and max(values) <= high
    assert distance(values, evenly(low, high)) < BOUND


def test_the_bound_tells_a_wrong_formula() -> None:
    assert distance(drawn("full", 8.0), evenly(0.0, 8.5)) > BOUND
    assert distance(drawn("equal", 8.0), evenly(3.7, 8.0)) > BOUND


def test_decorrelated_pauses_are_even_between_the_first_and_three_times_the_last() -> None:
    chance, backoff = random.Random(20_260_730), Backoff(1.0, 2.0, 60.0, "decorrelated")
    last: float | None = None
    shares, expected_at_cap, at_cap = [], 0.0, 0
    while len(shares) < MANY:
        before = 1.0 if last is None else last
        last = backoff.pause(0.0, last, chance.random)
        assert 1.0 <= last <= 60.0
        if 3 * before > 60.0:  # what would be above the cap is at it
            expected_at_cap += (3 * before - 60.0) / (3 * before - 1.0)
            at_cap += last == 60.0
        else:
            shares.append((last - 1.0) / (3 * before - 1.0))
    assert distance(shares, evenly(0.0, 1.0)) < BOUND
    # a sum of so many chances of at least a half of a variance of a quarter each: five deviations
    assert abs(at_cap - expected_at_cap) < 5 * math.sqrt(expected_at_cap / 2)


@pytest.mark.parametrize("jitter", JITTERS)
def test_no_pause_is_above_the_cap(jitter: str) -> None:
    assert max(drawn(jitter, 59.0)) <= 60.0
    assert max(drawn(jitter, 500.0)) <= 60.0
    assert min(drawn(jitter, 59.0)) >= 0.0


def test_a_fifth_up_or_down_stops_at_the_cap() -> None:
    values = drawn("proportional", 60.0)
    assert min(values) >= 48.0
    # half of the spread lies above the cap: 5,000 ± 5 deviations of 50
    assert abs(sum(value == 60.0 for value in values) - 5_000) < 250


def test_the_same_chance_gives_the_same_pauses() -> None:
    assert drawn("full", 8.0) == drawn("full", 8.0)


def test_a_spread_that_is_none_is_named() -> None:
    with pytest.raises(
        ValueError, match="`jitter` has to be one of none, full, equal, decorrelated, proportional, found `some`"
    ):
        Backoff(1.0, 2.0, 60.0, "some")
