"""What a store has to do: hold what tasks and processes share, in operations that are atomic and count once.

The rules are not a store's: it reads the rows that an operation touches, has it done by a function of `callgate._core`,
and writes back what changed, in one transaction. `sqlite.py` shows how; `callgate.testing.stores` tests any store.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from .entry import Entry, EntryState
from .escalations import Escalation, State
from .session import Session


class EscalationQueue(Protocol):
    """The queue of what has to go to a person; `Escalations` says what each operation does."""

    def push(self, escalation_id: str, report: Mapping[str, Any], *, task: str, queue: str = "default") -> Escalation:
        """Put something into a queue, once."""
        ...

    def list(self, *, queue: str | None = None, state: State | None = None, limit: int = 100) -> list[Escalation]:
        """The escalations, oldest first, without their reports."""
        ...

    def get(self, escalation_id: str) -> Escalation:
        """One escalation with its report."""
        ...

    def claim(self, by: str, *, escalation_id: str | None = None, queue: str | None = None) -> Escalation | None:
        """Take an escalation, so that nobody else works on it."""
        ...

    def resolve(self, escalation_id: str, by: str, resolution: str) -> Escalation:
        """Say what became of an escalation."""
        ...


@runtime_checkable
class Store(Protocol):
    """A store. One object serves all threads of a process, and asyncio tasks too; its operations wait, so call them
    from a thread (`asyncio.to_thread`) where an event loop must go on meanwhile.

    Claims, grants, settlements and resolutions are JSON text, made and read by the core; `now` is in seconds since
    1970. Every operation happens whole or not at all, before it returns; what it answered outlives the death of the
    process in a store that is durable. Each counts once under its id: whoever does not know whether it got through
    does it again, and gets the same answer.

    All operations raise `StoreError` where the store cannot be used, and `ValueError` for what is no claim, no
    settlement, no resolution or no time; nothing is changed then.
    """

    @property
    def escalations(self) -> EscalationQueue:
        """The queue of what has to go to a person, kept in the same place."""
        ...

    def commit(self, claim: str, now: float) -> str:
        """Take all that a claim asks for, or nothing, and say how everything stands: the grant."""
        ...

    def settle(self, settlement: str, now: float) -> bool:
        """Take in how a claim ended, or usage, denials and resolutions under an id of their own.

        Returns:
            False if it was known already.
        """
        ...

    def release(self, claim_id: str, task: str, now: float) -> bool:
        """Give back what a claim of a call holds that never ran. False if it ended already."""
        ...

    def resolve(self, resolution: str, now: float) -> bool:
        """End a doubt of the ledger, or note that it was looked into in vain. False where there is none."""
        ...

    def entries(
        self,
        now: float,
        *,
        task: str | None = None,
        state: EntryState | None = None,
        key: str | None = None,
        limit: int = 100,
    ) -> list[Entry]:
        """Entries of the ledger, those begun last first: of a task, in a state, whose key begins with `key`."""
        ...

    def counters(self, task: str) -> dict[str, float]:
        """The counters of a task."""
        ...

    def get_session(self, session_id: str) -> Session | None:
        """What was saved last under an id."""
        ...

    def put_session(self, session_id: str, text: str, *, expected: int) -> int:
        """Save a text if the version that is there is still `expected` (0: nothing is there); the new version.

        Raises:
            SessionConflict: somebody else has saved it meanwhile. Saving the same text again is none.
        """
        ...

    def close(self) -> None:
        """Give up files and connections; a later operation takes them again."""
        ...
