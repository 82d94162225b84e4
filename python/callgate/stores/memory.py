"""A store in the memory of one process: for tests, and for what need not outlive it."""

from __future__ import annotations

import threading

from callgate._core import SharedState

from .entry import Entry, EntryState
from .escalations import Escalations
from .session import Session, next_version
from .sqlite_file import MEMORY


class MemoryStore:
    """A store that is gone with its process. Threads share it, processes do not: a fork has a copy of its own.

    Bounded: of a million tasks the counters and denials are kept, those that were used last, and a million completed
    effects; effects in flight or in doubt always.

    Example:
        >>> store = MemoryStore()
        >>> store.put_session("t", "a snapshot", expected=0)
        1
        >>> store.get_session("t")
        Session(id='t', version=1, text='a snapshot')
    """

    def __init__(self) -> None:
        self._shared = SharedState()
        self._sessions: dict[str, Session] = {}
        self._lock = threading.Lock()
        self._escalations: Escalations | None = None

    @property
    def escalations(self) -> Escalations:
        """The queue of what has to go to a person."""
        with self._lock:
            if self._escalations is None:
                self._escalations = Escalations(MEMORY)
            return self._escalations

    def commit(self, claim: str, now: float) -> str:
        """Take all that a claim asks for, or nothing."""
        return self._shared.commit(claim, now)

    def settle(self, settlement: str, now: float) -> bool:
        """Take in how a claim ended."""
        return self._shared.settle(settlement, now)

    def release(self, claim_id: str, task: str, now: float) -> bool:
        """Give back what a claim holds."""
        return self._shared.release(claim_id, task, now)

    def resolve(self, resolution: str, now: float) -> bool:
        """End a doubt of the ledger."""
        return self._shared.resolve(resolution, now)

    def entries(
        self,
        now: float,
        *,
        task: str | None = None,
        state: EntryState | None = None,
        key: str | None = None,
        limit: int = 100,
    ) -> list[Entry]:
        """Entries of the ledger, those begun last first."""
        found = [Entry.read(text, now) for text in self._shared.entries(task)]
        kept = (
            each
            for each in sorted(found, key=lambda each: (-each.began, each.key))
            if state in (None, each.state)
            and each.key.startswith(key or "")
            and not (each.state == "completed" and each.retain_until is not None and each.retain_until <= now)
        )
        return [each for each, _ in zip(kept, range(limit), strict=False)]

    def counters(self, task: str) -> dict[str, float]:
        """The counters of a task."""
        return self._shared.counters(task)

    def get_session(self, session_id: str) -> Session | None:
        """What was saved last under an id."""
        return self._sessions.get(session_id)

    def put_session(self, session_id: str, text: str, *, expected: int) -> int:
        """Save a text if the version that is there is still the expected one."""
        with self._lock:
            there = self._sessions.get(session_id)
            version = next_version(there, session_id, text, expected)
            self._sessions[session_id] = Session(session_id, version, text)
        return version

    def close(self) -> None:
        """Nothing is given up: it is all there is."""

    def __repr__(self) -> str:
        return "MemoryStore()"
