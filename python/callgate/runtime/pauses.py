"""Where the executor takes chance from, and who waits for it: replaceable, for tests and for hosts with clocks of their
own."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from .backoff import Random


@dataclass(frozen=True, slots=True)
class Pauses:
    """What spreads pauses between attempts, and what waits.

    Attributes:
        random: gives numbers from 0 to below 1, evenly.
        sleep: waits so many seconds; the executor waits by itself where it is left out.
        sleep_async: the same for coroutines.

    Example:
        >>> waited = []
        >>> Pauses(random=lambda: 0.5, sleep=waited.append).sleep(2.0)
        >>> waited
        [2.0]
    """

    random: Random = random.random
    sleep: Callable[[float], None] | None = None
    sleep_async: Callable[[float], Awaitable[None]] | None = None
