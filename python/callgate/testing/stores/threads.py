"""Checks of a store that many threads and asyncio tasks use at once, through one object and through several."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from callgate.stores import Store

from .messages import START, answer, claim, same, settlement, taken

if TYPE_CHECKING:
    from . import OpenStore

THREADS_AT_ONCE: Final = 50
_BREAKER: Final = {"name": "tool:pay", "failures": 1, "open_for": 30.0, "probes": 1}


def at_once(count: int, act: Callable[[int], Any]) -> list[Any]:
    """What a function gives in so many threads that begin together, in the order of their numbers.

    Raises:
        ExceptionGroup: some of them raised.
    """
    answers: list[Any] = [None] * count
    errors: list[Exception] = []
    start = threading.Barrier(count)

    def work(number: int) -> None:
        start.wait()
        try:
            answers[number] = act(number)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise ExceptionGroup("threads failed", errors)
    return answers


def of_fifty_threads_one_begins_an_effect(open_store: OpenStore) -> None:
    """All others are told that it is in flight; afterwards all are given what it brought."""
    stores = [open_store(), open_store()]

    def ask(round_number: int) -> Callable[[int], Any]:
        return lambda n: answer(stores[n % 2], claim(f"{round_number}-{n}", key="k"))["effect"]["state"]

    first = at_once(THREADS_AT_ONCE, ask(1))
    same("the states", sorted(first), ["in_flight"] * (THREADS_AT_ONCE - 1) + ["new"])
    stores[0].settle(settlement(f"1-{first.index('new')}", effect="completed"), START)
    same("afterwards", set(at_once(THREADS_AT_ONCE, ask(2))), {"completed"})


def of_fifty_asyncio_tasks_one_begins_an_effect(open_store: OpenStore) -> None:
    """The same from one event loop, whose tasks call the store in threads."""
    store = open_store()

    async def all_of_them() -> list[Any]:
        asked = (asyncio.to_thread(answer, store, claim(str(n), key="k")) for n in range(THREADS_AT_ONCE))
        return await asyncio.gather(*asked)

    states = [found["effect"]["state"] for found in asyncio.run(all_of_them())]
    same("the states", sorted(states), ["in_flight"] * (THREADS_AT_ONCE - 1) + ["new"])


def threads_never_take_more_than_a_budget_has(open_store: OpenStore) -> None:
    """What is taken is what was granted, whatever they settle and release meanwhile."""
    stores = [open_store(), open_store()]
    limit, each = 60, 12

    def work(number: int) -> int:
        store = stores[number % 2]
        held = 0
        for n in range(each):
            name = f"{number}-{n}"
            if taken(store, claim(name, limit=limit)):
                gives_back = n % 4 == 0
                held += not gives_back
                if gives_back:
                    store.release(name, "t", START)
                else:
                    store.settle(settlement(name), START)
            _within(store, limit)
        return held

    held = sum(at_once(10, work))
    same("what is taken", stores[0].counters("t"), {"tool_calls": float(held)})
    free = [taken(stores[0], claim(f"rest-{n}", limit=limit)) for n in range(limit + 1 - held)]
    same("what is left", free, [True] * (limit - held) + [False])


def of_twenty_threads_one_is_the_probe(open_store: OpenStore) -> None:
    """After the time for which a breaker is open, one caller finds out and nineteen wait."""
    store = open_store()
    taken(store, claim("a", breaker=_BREAKER))
    store.settle(settlement("a", breakers=[["tool:pay", "failure"]]), START)
    passed = at_once(20, lambda n: taken(store, claim(f"p{n}", breaker=_BREAKER), START + 30))
    same("the probes", sum(passed), 1)


def of_twenty_asyncio_tasks_one_is_the_probe(open_store: OpenStore) -> None:
    """The same from one event loop."""
    store = open_store()
    taken(store, claim("a", breaker=_BREAKER))
    store.settle(settlement("a", breakers=[["tool:pay", "failure"]]), START)

    async def all_of_them() -> list[bool]:
        asked = (asyncio.to_thread(taken, store, claim(f"p{n}", breaker=_BREAKER), START + 30) for n in range(20))
        return await asyncio.gather(*asked)

    same("the probes", sum(asyncio.run(all_of_them())), 1)


def of_twenty_threads_one_saves_a_session(open_store: OpenStore) -> None:
    """A session is gone on with by one, and the others are told."""
    from callgate.stores import SessionConflict

    store = open_store()

    def save(number: int) -> bool:
        try:
            store.put_session("s", f"of {number}", expected=0)
        except SessionConflict:
            return False
        return True

    saved = at_once(20, save)
    same("who saved it", sum(saved), 1)
    found = store.get_session("s")
    same("what is there", found and (found.version, found.text), (1, f"of {saved.index(True)}"))


def _within(store: Store, limit: float) -> None:
    used = store.counters("t").get("tool_calls", 0.0)
    same("more than the limit", used > limit, False)


THREADS: Final = (
    of_fifty_threads_one_begins_an_effect,
    of_fifty_asyncio_tasks_one_begins_an_effect,
    threads_never_take_more_than_a_budget_has,
    of_twenty_threads_one_is_the_probe,
    of_twenty_asyncio_tasks_one_is_the_probe,
    of_twenty_threads_one_saves_a_session,
)
