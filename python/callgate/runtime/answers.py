"""What came of the last calls of an agent: an equal call of the same turn is answered with it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .call import CallResult

_MOST: Final = 64


class Answers:
    """The last ends by the ids of their calls. Safe to share between threads."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, CallResult] = OrderedDict()
        self._lock = threading.Lock()

    def keep(self, end: CallResult) -> None:
        """Remember what came of a call."""
        with self._lock:
            self._kept[end.call_id] = end
            self._kept.move_to_end(end.call_id)
            if len(self._kept) > _MOST:
                self._kept.popitem(last=False)

    def of(self, call_id: str) -> CallResult | None:
        """What came of a call; None where that is not known, or not yet."""
        with self._lock:
            return self._kept.get(call_id)
