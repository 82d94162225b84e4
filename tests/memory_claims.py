"""A store in memory for tests of what a task asks of it: the compiled shared state, and a record of what was asked."""

from __future__ import annotations

from callgate.stores import Entry, MemoryStore


class MemoryClaims:
    """Keeps what it is asked; a subclass may be out of reach."""

    def __init__(self) -> None:
        self._store = MemoryStore()
        self.claims: list[str] = []

    def _reach(self) -> None:
        """Raise where the store is out of reach."""

    def commit(self, claim: str, now: float) -> str:
        """Take all that a claim names, or nothing."""
        self._reach()
        self.claims.append(claim)
        return self._store.commit(claim, now)

    def settle(self, settlement: str, now: float) -> bool:
        """Take in how something ended."""
        self._reach()
        return self._store.settle(settlement, now)

    def release(self, claim_id: str, task: str, now: float) -> bool:
        """Give back what never ran."""
        self._reach()
        return self._store.release(claim_id, task, now)

    def entries(self) -> list[Entry]:
        """The entries of the ledger."""
        return self._store.entries(0.0)

    def counters(self, task: str) -> dict[str, float]:
        """How the counters of a task stand."""
        return self._store.counters(task)
