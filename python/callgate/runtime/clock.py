"""The one place of the runtime that reads a clock."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Where a gate gets the time from; `callgate.testing` has one that stands still."""

    def monotonic(self) -> float:
        """Seconds that never run back, from any origin."""

    def wall(self) -> float:
        """Seconds since 1970, as the machine believes; may jump."""


class SystemClock:
    """The machine's clocks."""

    def monotonic(self) -> float:
        """Seconds that never run back, time asleep included where the system can tell."""
        return time.monotonic()

    def wall(self) -> float:
        """Seconds since 1970."""
        return time.time()
