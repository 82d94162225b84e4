"""A store in a SQLite file: durable, shared by all processes of one machine, without a server."""

from __future__ import annotations

import os
import random
from typing import Final

from callgate._core import (
    SharedClaim,
    SharedSettlement,
    shared_counters,
    shared_held,
    shared_release,
    shared_resolve,
    shared_resolved,
)

from . import sqlite_rows
from .entry import Entry, EntryState
from .errors import StoreError
from .escalations import Escalations
from .session import Session, next_version
from .sqlite_file import WAIT, Run, SqliteFile

_SWEEP_EVERY: Final = 256
"""Operations after which what need not be known any more is looked for."""


class SqliteStore:
    """A store in a file on a local disk, in WAL mode. What was answered is on the disk (`synchronous=FULL`).

    Share one object between all threads of a process; it may be held across a fork. Each process opens its own.

    Args:
        path: the file; made where it is not there, its folder is not.
        wait: seconds to wait for another process that has it locked.

    Raises:
        StoreError: the file cannot be opened, is damaged, is another program's, or of a later version.

    Example:
        >>> import json, tempfile
        >>> store = SqliteStore(tempfile.mkdtemp() + "/callgate.db")
        >>> amount = {"counter": "tool_calls", "amount": 1, "limit": 1}
        >>> claims = [json.dumps({"id": name, "task": "t", "amounts": [amount], "lease": 60}) for name in "ab"]
        >>> [json.loads(store.commit(claim, 1000.0))["taken"] for claim in claims]
        [True, False]
        >>> store.counters("t")
        {'tool_calls': 1.0}
    """

    def __init__(self, path: str | os.PathLike[str], *, wait: float = WAIT) -> None:
        self._file = SqliteFile(path, wait)
        self._escalations = Escalations(self._file)
        # anywhere in between, so that processes that live for less clear away their share
        self._turn = random.randrange(_SWEEP_EVERY)

    @property
    def path(self) -> str:
        """The file."""
        return str(self._file.path)

    @property
    def escalations(self) -> Escalations:
        """The queue of what has to go to a person, in the same file."""
        return self._escalations

    def commit(self, claim: str, now: float) -> str:
        """Take all that a claim asks for, or nothing."""
        asked = SharedClaim(claim)
        claim_id, task, effect, breakers, denials = asked.touches
        wanted = [
            sqlite_rows.hold(claim_id),
            sqlite_rows.counters(task),
            *sqlite_rows.effect(task, effect, now),
            *sqlite_rows.breakers(breakers),
            *sqlite_rows.denials(task, denials),
        ]
        with self._file.transaction() as run:
            grant, changes = asked.commit(sqlite_rows.read(run, wanted), now)
            sqlite_rows.write(run, task, changes, now)
            self._sweep(run, now)
        return grant

    def settle(self, settlement: str, now: float) -> bool:
        """Take in how a claim ended."""
        said = SharedSettlement(settlement)
        claim_id, task, ended, usage, late, resolved, denials = said.touches
        with self._file.transaction() as run:
            rows = sqlite_rows.read(run, [sqlite_rows.hold(claim_id)])
            wanted = [sqlite_rows.entry(key) for key in resolved] + sqlite_rows.effect(task, late, now)
            if rows:
                task, effect, breakers = shared_held(rows[0][2])
                wanted += sqlite_rows.effect(task, effect, now) + sqlite_rows.breakers(breakers)
            elif ended:
                wanted.append(sqlite_rows.owned(claim_id))
            if usage:
                wanted.append(sqlite_rows.counters(task))
            wanted += sqlite_rows.denials(task, denials)
            new, changes = said.settle(rows + sqlite_rows.read(run, wanted), now)
            sqlite_rows.write(run, task, changes, now)
            self._sweep(run, now)
        return new

    def release(self, claim_id: str, task: str, now: float) -> bool:
        """Give back what a claim holds."""
        with self._file.transaction() as run:
            rows = sqlite_rows.read(run, [sqlite_rows.hold(claim_id)])
            wanted = []
            if rows:
                task, effect, breakers = shared_held(rows[0][2])
                wanted = sqlite_rows.effect(task, effect, now) + sqlite_rows.breakers(breakers)
            rows += sqlite_rows.read(run, [sqlite_rows.counters(task), *wanted])
            new, changes = shared_release(rows, claim_id, task, now)
            sqlite_rows.write(run, task, changes, now)
            self._sweep(run, now)
        return new

    def resolve(self, resolution: str, now: float) -> bool:
        """End a doubt of the ledger."""
        key = shared_resolved(resolution)
        with self._file.transaction() as run:
            rows = sqlite_rows.read(run, [sqlite_rows.entry(key)])
            doubted, changes = shared_resolve(rows, resolution, now)
            sqlite_rows.write(run, "", changes, now)
        return doubted

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
        seen = "CASE WHEN state = 'in_flight' AND blocks_from <= :now THEN 'unknown' ELSE state END"
        with self._file.transaction("DEFERRED") as run:
            found = run(
                "SELECT entry FROM effects WHERE (:task IS NULL OR task = :task)"
                f" AND (:state IS NULL OR {seen} = :state) AND substr(key, 1, length(:key)) = :key"
                " AND NOT (state = 'completed' AND retain_until IS NOT NULL AND retain_until <= :now)"
                " ORDER BY began DESC, key LIMIT :limit",
                {"now": now, "task": task, "state": state, "key": key or "", "limit": limit},
            ).fetchall()
        try:
            return [Entry.read(text, now) for (text,) in found]
        except ValueError as error:
            raise StoreError(f"cannot use the store `{self.path}`: {error}; it was changed by hand") from None

    def counters(self, task: str) -> dict[str, float]:
        """The counters of a task."""
        with self._file.transaction("DEFERRED") as run:
            rows = sqlite_rows.read(run, [sqlite_rows.counters(task)])
            return shared_counters(rows[0][2]) if rows else {}

    def get_session(self, session_id: str) -> Session | None:
        """What was saved last under an id."""
        with self._file.transaction("DEFERRED") as run:
            return _session(run, session_id)

    def put_session(self, session_id: str, text: str, *, expected: int) -> int:
        """Save a text if the version that is there is still the expected one."""
        with self._file.transaction() as run:
            version = next_version(_session(run, session_id), session_id, text, expected)
            run("INSERT OR REPLACE INTO sessions VALUES (?, ?, ?)", (session_id, version, text))
        return version

    def prune(self, before: float) -> int:
        """Forget the counters and denials of tasks of which nothing changed since a time.

        A task that goes on afterwards begins with full budgets: choose a time before which every task has ended.

        Args:
            before: seconds since 1970.

        Returns:
            How many tasks' counters and how many denials that were.
        """
        with self._file.transaction() as run:
            live = "task NOT IN (SELECT task FROM accounts WHERE changed >= :before)"
            return sum(
                run(f"DELETE FROM {table} WHERE changed < :before AND {live}", {"before": before}).rowcount
                for table in ("denials", "accounts")
            )

    def close(self) -> None:
        """Close the file; a later operation opens it again."""
        self._file.close()

    def _sweep(self, run: Run, now: float) -> None:
        self._turn += 1  # under the file's lock
        if self._turn % _SWEEP_EVERY == 0:
            sqlite_rows.sweep(run, now)

    def __repr__(self) -> str:
        return f"SqliteStore({self.path!r})"


def _session(run: Run, session_id: str) -> Session | None:
    found = run("SELECT id, version, text FROM sessions WHERE id = ?", (session_id,)).fetchone()
    return None if found is None else Session(*found)
