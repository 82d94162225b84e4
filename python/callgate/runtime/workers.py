"""Threads that run the functions of tools, so that whoever waits for one can stop waiting.

A function cannot be killed: what is given up goes on in its thread. What it brings then ends the doubt about its effect
(`late`), and is dropped otherwise.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any, Final

# An idle thread ends after so many seconds.
_IDLE: Final = 10.0


class Came:
    """What a function brought: a result, or what it raised. `given_up`: nothing yet, and nobody waits any longer."""

    __slots__ = ("error", "given_up", "result")

    def __init__(self, result: Any = None, error: BaseException | None = None, *, given_up: bool = False) -> None:
        self.result = result
        self.error = error
        self.given_up = given_up


Ended = Callable[[Came], None]
_Job = tuple[contextvars.Context, Callable[[], Any], Ended]


class Workers:
    """Threads that are kept for a while once they are idle. As many as there are functions that run at once."""

    def __init__(self) -> None:
        self._idle: list[SimpleQueue[_Job]] = []
        self._lock = threading.Lock()

    def start(self, function: Callable[[], Any], ended: Ended) -> None:
        """Run a function in a thread, within the context (`contextvars`) of the caller.

        Args:
            function: what to run.
            ended: told what it brought, in that thread. It must not raise.
        """
        job = (contextvars.copy_context(), function, ended)
        with self._lock:
            inbox = self._idle.pop() if self._idle else None
        if inbox is None:
            inbox = SimpleQueue()
            threading.Thread(target=self._work, args=(inbox,), name="callgate-tool", daemon=True).start()
        inbox.put(job)

    def _work(self, inbox: SimpleQueue[_Job]) -> None:
        while True:
            try:
                context, function, ended = inbox.get(timeout=_IDLE)
            except Empty:
                with self._lock:
                    if inbox in self._idle:
                        self._idle.remove(inbox)
                        return
                # it was taken meanwhile: its job is on the way
                context, function, ended = inbox.get()
            ended(context.run(_run, function))
            del context, function, ended  # nothing is held while nothing runs
            with self._lock:
                self._idle.append(inbox)


def _run(function: Callable[[], Any]) -> Came:
    try:
        return Came(function())
    except BaseException as error:
        return Came(error=error)


WORKERS: Final = Workers()
"""The threads of this process: shared, so that gates that come and go leave none behind."""
