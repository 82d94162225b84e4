"""How long to wait between two attempts: pauses that grow, are capped, and are spread so that callers do not come back
together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

Random = Callable[[], float]
"""Gives numbers from 0 to below 1, evenly, as `random.random` does."""

JITTERS: Final = ("none", "full", "equal", "decorrelated", "proportional")


@dataclass(frozen=True, slots=True)
class Backoff:
    """`retry.backoff` of a tool.

    Attributes:
        initial: the first pause, in seconds.
        factor: what it is multiplied by from attempt to attempt.
        longest: the longest pause, in seconds.
        jitter: how pauses are spread. With the computed pause `p = min(longest, initial · factor^n)` of the n-th retry
            from 0 on and `u` even from 0 to 1:

            - `none`: `p`;
            - `full`: `u · p`;
            - `equal`: `p/2 + u · p/2`;
            - `decorrelated`: `min(longest, initial + u · (3 · last − initial))`, where `last` is the pause before, or
              `initial`;
            - `proportional`: `min(longest, p · (0.8 + 0.4 u))`.

    The first four are those of M. Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015.

    Example:
        >>> backoff = Backoff(1.0, 2.0, 60.0, "equal")
        >>> backoff.pause(backoff.computed(3), None, lambda: 0.5)
        6.0
    """

    initial: float
    factor: float
    longest: float
    jitter: str = "full"

    def __post_init__(self) -> None:
        if self.jitter not in JITTERS:
            raise ValueError(f"`jitter` has to be one of {', '.join(JITTERS)}, found `{self.jitter}`")

    def computed(self, retries: int) -> float:
        """The pause before the next attempt without its spread, in seconds, after so many retries."""
        try:
            return min(self.longest, self.initial * self.factor**retries)
        except OverflowError:
            return self.longest

    def pause(self, computed: float, last: float | None, random: Random) -> float:
        """The pause with its spread, in seconds: never below 0, never above `longest`.

        Args:
            computed: the pause without its spread.
            last: the pause before; None before the first.
            random: where chance comes from.
        """
        computed = min(computed, self.longest)
        match self.jitter:
            case "full":
                return random() * computed
            case "equal":
                return computed / 2 + random() * computed / 2
            case "decorrelated":
                before = self.initial if last is None else last
                return min(self.longest, self.initial + random() * max(0.0, 3 * before - self.initial))
            case "proportional":
                return min(self.longest, computed * (0.8 + 0.4 * random()))
            case _:
                return computed
