"""Calls that wait for one server: when it does not answer one of them in time, all of them fail together."""

from __future__ import annotations

import threading
from collections.abc import Callable

Leave = Callable[[], None]


class Servers:
    """By server, the calls that wait for it. One of a gate; safe to share between threads."""

    def __init__(self) -> None:
        self._waiting: dict[str, dict[object, Callable[[], None]]] = {}
        self._lock = threading.Lock()

    def enter(self, server: str | None, give_up: Callable[[], None]) -> Leave:
        """A call begins to wait for a server.

        Args:
            server: its name; None for a tool that lives on none.
            give_up: called, in whatever thread, when another call of that server has run out of its time.

        Returns:
            To be called when it waits no more.
        """
        if server is None:
            return _nothing
        key = object()
        with self._lock:
            self._waiting.setdefault(server, {})[key] = give_up

        def leave() -> None:
            with self._lock:
                waiting = self._waiting.get(server, {})
                waiting.pop(key, None)
                if not waiting:
                    self._waiting.pop(server, None)

        return leave

    def silent(self, server: str) -> None:
        """A server did not answer in time: whatever waits for it gives up."""
        with self._lock:
            waiting = list(self._waiting.get(server, {}).values())
        for give_up in waiting:
            give_up()


def _nothing() -> None:
    """Who waits for no server leaves none."""
