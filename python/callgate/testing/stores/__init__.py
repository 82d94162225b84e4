"""What every store has to keep, as checks: rules, threads, answers that get lost, processes that are killed.

Example:
    >>> from callgate.stores import MemoryStore
    >>> from callgate.testing.stores import CHECKS
    >>> for check in CHECKS[:3]:
    ...     store = MemoryStore()
    ...     check(lambda: store)
"""

from collections.abc import Callable
from typing import Final

from callgate.stores import Store

from .lost_answers import LOST_ANSWERS
from .processes import PROCESSES
from .rules import RULES
from .threads import THREADS

OpenStore = Callable[[], Store]
"""Opens the store that is checked: every call gives the same data, by the same object or another one."""

CHECKS: Final = (*RULES, *THREADS, *LOST_ANSWERS)
"""For any store. Each takes an `OpenStore` of an empty store, and raises AssertionError where the store is at fault."""

PROCESS_CHECKS: Final = PROCESSES
"""For a store that processes share: the `OpenStore` is sent to other processes, so it must be picklable. Some of them
are killed at random moments. Each check takes some seconds."""

__all__ = ["CHECKS", "PROCESS_CHECKS", "OpenStore"]
