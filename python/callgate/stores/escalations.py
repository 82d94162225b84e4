"""The queue of what has to go to a person: a SQLite file in WAL mode, shared by any number of processes.

A row is pushed once, claimed by one, resolved once. Every operation is one transaction and idempotent: a caller that
does not know whether it got through may simply do it again.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from .errors import EscalationError, StoreError, told

State = Literal["open", "claimed", "resolved"]

APPLICATION_ID: Final = 0x43475145  # "CGQE", so that another program's file is not taken for ours
VERSION: Final = 1
WAIT: Final = 5.0
"""Seconds to wait for another process that has the file locked."""

_SCHEMA: Final = """
CREATE TABLE escalations (
    id TEXT PRIMARY KEY,
    number INTEGER NOT NULL,
    queue TEXT NOT NULL,
    task TEXT NOT NULL,
    created REAL NOT NULL,
    report TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('open', 'claimed', 'resolved')),
    claimed_by TEXT,
    claimed_at REAL,
    resolved_by TEXT,
    resolved_at REAL,
    resolution TEXT
) STRICT;
CREATE INDEX by_state ON escalations (state, queue, number);
"""
_COLUMNS: Final = (
    "id, queue, task, created, state, claimed_by, claimed_at, resolved_by, resolved_at, resolution, report"
)


@dataclass(frozen=True, slots=True)
class Escalation:
    """Something that a person has to look at: a task that was stopped before it had what it needs.

    Times are seconds since 1970. `report` is what `Task.report` gave when it was pushed.
    """

    id: str
    queue: str
    task: str
    created: float
    state: State
    claimed_by: str | None = None
    claimed_at: float | None = None
    resolved_by: str | None = None
    resolved_at: float | None = None
    resolution: str | None = None
    report: dict[str, Any] = field(default_factory=dict)


class Escalations:
    """The queue. Safe to share between threads; open one for each process.

    Args:
        path: the file; made where it is not there, its folder is not.
        wait: seconds to wait for another process that has it locked.
        clock: seconds since 1970.

    Raises:
        StoreError: the file cannot be opened, is damaged, or is another program's.

    Example:
        >>> import tempfile
        >>> queue = Escalations(tempfile.mkdtemp() + "/desk.db")
        >>> queue.push("e1", {"status": "incomplete"}, task="order-4711", queue="desk").state
        'open'
        >>> queue.claim("anna").id
        'e1'
        >>> queue.resolve("e1", "anna", "called the supplier").state
        'resolved'
    """

    def __init__(
        self, path: str | os.PathLike[str], *, wait: float = WAIT, clock: Callable[[], float] = time.time
    ) -> None:
        self.path = Path(path)
        self._wait = wait
        self._clock = clock
        self._lock = threading.Lock()
        self._owner = 0
        self._connection: sqlite3.Connection | None = None
        with self._lock, told(self.path, wait):
            self._open()

    def push(self, escalation_id: str, report: Mapping[str, Any], *, task: str, queue: str = "default") -> Escalation:
        """Put something into a queue. A second push of one id changes nothing and gives what stands there.

        Args:
            escalation_id: what makes it the same, such as the task's lineage.
            report: what the person has to know, as data that JSON has a form for; anything else by its `str`.
            task: the task's id.
            queue: whose it is.

        Raises:
            StoreError: the file cannot be used; nothing was pushed.
        """
        text = json.dumps(report, default=str, ensure_ascii=False)
        # what UTF-8 has no form for is no reason to lose an escalation
        clean = [each.encode("utf-8", "replace").decode() for each in (text, escalation_id, task, queue)]
        text, escalation_id, task, queue = clean
        with self._transaction() as run:
            run(
                "INSERT INTO escalations (id, number, queue, task, created, report, state)"
                " SELECT ?, coalesce(max(number), 0) + 1, ?, ?, ?, ?, 'open' FROM escalations WHERE true"
                " ON CONFLICT (id) DO NOTHING",
                (escalation_id, queue, task, self._clock(), text),
            )
            return _one(run, escalation_id)

    def list(self, *, queue: str | None = None, state: State | None = None, limit: int = 100) -> list[Escalation]:
        """The escalations, oldest first, without their reports.

        Raises:
            StoreError: the file cannot be used.
        """
        columns = _COLUMNS.removesuffix(", report")
        with self._transaction("DEFERRED") as run:
            rows = run(
                f"SELECT {columns} FROM escalations WHERE (? IS NULL OR queue = ?) AND (? IS NULL OR state = ?)"
                " ORDER BY number LIMIT ?",
                (queue, queue, state, state, limit),
            ).fetchall()
        return [Escalation(*row) for row in rows]

    def get(self, escalation_id: str) -> Escalation:
        """One escalation with its report.

        Raises:
            EscalationError: there is none of that id.
            StoreError: the file cannot be used.
        """
        with self._transaction("DEFERRED") as run:
            return _one(run, escalation_id)

    def claim(self, by: str, *, escalation_id: str | None = None, queue: str | None = None) -> Escalation | None:
        """Take an escalation, so that nobody else works on it. Of several who try, exactly one gets it.

        Args:
            by: who takes it; who has it already gets it again.
            escalation_id: which one; None for the oldest that is open.
            queue: only of this queue.

        Returns:
            It, or None where `escalation_id` is left out and nothing is open.

        Raises:
            EscalationError: there is none of that id, or another one has it, or it is resolved.
            StoreError: the file cannot be used; nothing was claimed.
        """
        with self._transaction() as run:
            if escalation_id is None:
                found = run(
                    "SELECT id FROM escalations WHERE state = 'open' AND (? IS NULL OR queue = ?)"
                    " ORDER BY number LIMIT 1",
                    (queue, queue),
                ).fetchone()
                if found is None:
                    return None
                escalation_id = str(found[0])
            changed = run(
                "UPDATE escalations SET state = 'claimed', claimed_by = ?, claimed_at = ?"
                " WHERE id = ? AND state = 'open'",
                (by, self._clock(), escalation_id),
            ).rowcount
            stands = _one(run, escalation_id)
            if not changed and (stands.state != "claimed" or stands.claimed_by != by):
                raise EscalationError(_taken(stands))
            return stands

    def resolve(self, escalation_id: str, by: str, resolution: str) -> Escalation:
        """Say what became of an escalation. It must be open, or claimed by whoever resolves it.

        Raises:
            EscalationError: there is none of that id, or another one has it, or it was resolved otherwise.
            StoreError: the file cannot be used; nothing was resolved.
        """
        with self._transaction() as run:
            now = self._clock()
            changed = run(
                "UPDATE escalations SET state = 'resolved', claimed_by = coalesce(claimed_by, ?),"
                " claimed_at = coalesce(claimed_at, ?), resolved_by = ?, resolved_at = ?, resolution = ?"
                " WHERE id = ? AND (state = 'open' OR (state = 'claimed' AND claimed_by = ?))",
                (by, now, by, now, resolution, escalation_id, by),
            ).rowcount
            stands = _one(run, escalation_id)
            if not changed and (stands.resolved_by, stands.resolution) != (by, resolution):
                raise EscalationError(_taken(stands))
            return stands

    def close(self) -> None:
        """Close the file; a later operation opens it again."""
        with self._lock:
            if self._connection is not None and self._owner == os.getpid():
                self._connection.close()
            self._connection = None

    @contextmanager
    def _transaction(self, kind: str = "IMMEDIATE") -> Iterator[Callable[..., sqlite3.Cursor]]:
        with self._lock, told(self.path, self._wait):
            connection = self._open()
            connection.execute(f"BEGIN {kind}")
            try:
                yield connection.execute
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    def _open(self) -> sqlite3.Connection:
        # a connection must not cross a fork
        if self._connection is not None and self._owner == os.getpid():
            return self._connection
        connection = sqlite3.connect(self.path, timeout=self._wait, isolation_level=None, check_same_thread=False)
        try:
            _prepare(connection, self.path)
        except BaseException:
            connection.close()
            raise
        self._connection, self._owner = connection, os.getpid()
        return connection


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    [application], [version] = (
        connection.execute(f"PRAGMA {name}").fetchone() for name in ("application_id", "user_version")
    )
    if application == 0 and version == 0:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("BEGIN IMMEDIATE")
        # another process may have been here meanwhile
        if connection.execute("SELECT count(*) FROM sqlite_schema").fetchone() == (0,):
            for statement in filter(None, map(str.strip, _SCHEMA.split(";\n"))):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
        [application], [version] = (
            connection.execute(f"PRAGMA {name}").fetchone() for name in ("application_id", "user_version")
        )
    if application != APPLICATION_ID:
        raise StoreError(f"cannot use the store `{path}`: it is another program's SQLite file; name another one")
    if version != VERSION:
        raise StoreError(
            f"cannot use the store `{path}`: it has format {version}, this version reads {VERSION}; "
            "use the version of callgate that wrote it"
        )
    # what was answered must be there after a power cut
    connection.execute("PRAGMA synchronous = FULL")


def _one(run: Callable[..., sqlite3.Cursor], escalation_id: str) -> Escalation:
    row = run(f"SELECT {_COLUMNS} FROM escalations WHERE id = ?", (escalation_id,)).fetchone()
    if row is None:
        raise EscalationError(f"there is no escalation `{escalation_id}`")
    names = _COLUMNS.split(", ")
    return Escalation(**{**dict(zip(names, row, strict=True)), "report": json.loads(row[-1])})


def _taken(stands: Escalation) -> str:
    if stands.state == "resolved":
        return f"escalation `{stands.id}` was resolved by `{stands.resolved_by}`: {stands.resolution}"
    return f"escalation `{stands.id}` was claimed by `{stands.claimed_by}`"
