"""Checks of a store whose messages get lost on the way there or back, or arrive twice, and are then sent again."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from callgate.stores import StoreError

from .messages import START, answer, claim, same, settlement

if TYPE_CHECKING:
    from . import OpenStore


class Line:
    """A bad line to a store: of nine messages one is lost on its way, one loses its answer, one comes twice."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.faults = 0

    def send(self, act: Callable[[], Any]) -> Any:
        """Send a message until an answer comes back, as a caller would that does not know whether it got through."""
        while True:
            try:
                return self._send(act)
            except StoreError:
                self.faults += 1

    def _send(self, act: Callable[[], Any]) -> Any:
        fate = self._random.randrange(9)
        if fate == 0:
            raise StoreError("lost on the way there")
        answered = act()
        if fate == 1:
            raise StoreError("lost on the way back")
        return act() if fate == 2 else answered


def on_a_bad_line_every_message_counts_once(open_store: OpenStore) -> None:
    """Budgets are exact, no effect is begun twice, whatever is sent again."""
    store, line = open_store(), Line(7)
    limit, held, begun = 30, 0, 0
    for n in range(90):
        name, key = str(n), f"k{n % 60}"
        text = claim(name, limit=limit, key=key, target=key)
        found = line.send(partial(answer, store, text))
        if not found["taken"]:
            continue
        held += 1
        if n % 3 == 0:
            line.send(partial(store.release, name, "t", START))
            held -= 1
        else:
            begun += 1
            line.send(partial(store.settle, settlement(name, effect="completed", result=n), START))
        same("what is taken", store.counters("t"), {"tool_calls": float(held)})
    same("faults came", line.faults > 0, True)
    kept = store.entries(START, state="completed", limit=1000)
    same("effects that happened", (len(kept), len({entry.key for entry in kept})), (begun, begun))
    same("nothing is in flight", store.entries(START, state="in_flight"), [])


LOST_ANSWERS: Final = (on_a_bad_line_every_message_counts_once,)
