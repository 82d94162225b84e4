"""A clock that moves only when it is told to, for tests of what depends on time."""

from __future__ import annotations

import threading


class FakeClock:
    """Stands still until it is moved. Give it to `Gate.load(..., clock=)`; safe to share between threads.

    Args:
        monotonic: where the clock that never runs back begins, in seconds.
        wall: where the wall clock begins, in seconds since 1970.

    Example:
        >>> clock = FakeClock(wall=1000.0)
        >>> clock.advance(2.5)
        >>> clock.jump_wall(-600.0)
        >>> clock.monotonic(), clock.wall()
        (2.5, 402.5)
    """

    def __init__(self, *, monotonic: float = 0.0, wall: float = 1_700_000_000.0) -> None:
        self._monotonic = monotonic
        self._wall = wall
        self._lock = threading.Lock()

    def monotonic(self) -> float:
        """Seconds that never run back."""
        with self._lock:
            return self._monotonic

    def wall(self) -> float:
        """Seconds since 1970, as the machine would believe."""
        with self._lock:
            return self._wall

    def advance(self, seconds: float) -> None:
        """Let time pass, on both clocks.

        Raises:
            ValueError: `seconds` is negative: time does not run back; `jump_wall` sets the wall clock.
        """
        if not seconds >= 0.0:
            raise ValueError(f"time does not run back: {seconds}")
        with self._lock:
            self._monotonic += seconds
            self._wall += seconds

    def jump_wall(self, seconds: float) -> None:
        """Set the wall clock forward or back, as a correction of the machine's time does; no time passes."""
        with self._lock:
            self._wall += seconds
