"""A SQLite file in WAL mode that threads and processes share: opened, brought up to date, one transaction at a time."""

from __future__ import annotations

import os
import random
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal

from .errors import BUSY, StoreError, code_of, told

APPLICATION_ID: Final = 0x43475145  # "CGQE", so that another program's file is not taken for ours
VERSION: Final = 2
WAIT: Final = 5.0
"""Seconds to wait for another process that has the file locked."""
MEMORY: Final = ":memory:"
"""The path of a file that is none, and gone when it is closed."""

Run = Callable[..., sqlite3.Cursor]

_FIRST: Final = """
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
_SECOND: Final = """
CREATE TABLE counters (
    task TEXT NOT NULL,
    counter TEXT NOT NULL,
    used REAL NOT NULL,
    changed REAL NOT NULL,
    PRIMARY KEY (task, counter)
) STRICT, WITHOUT ROWID;
CREATE TABLE effects (
    key TEXT PRIMARY KEY,
    task TEXT NOT NULL,
    tool TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('in_flight', 'completed', 'unknown')),
    owner TEXT NOT NULL,
    began REAL NOT NULL,
    blocks_from REAL,
    retain_until REAL,
    entry TEXT NOT NULL
) STRICT;
CREATE INDEX effects_blocking ON effects (task, tool, blocks_from) WHERE blocks_from IS NOT NULL;
CREATE INDEX effects_kept ON effects (retain_until) WHERE retain_until IS NOT NULL;
CREATE TABLE breakers (name TEXT PRIMARY KEY, breaker TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE denials (task TEXT NOT NULL, denial TEXT NOT NULL, changed REAL NOT NULL, PRIMARY KEY (task, denial))
    STRICT, WITHOUT ROWID;
CREATE TABLE claims (id TEXT PRIMARY KEY, task TEXT NOT NULL, keep_until REAL NOT NULL, hold TEXT NOT NULL)
    STRICT, WITHOUT ROWID;
CREATE INDEX claims_kept ON claims (keep_until);
CREATE TABLE sessions (id TEXT PRIMARY KEY, version INTEGER NOT NULL, text TEXT NOT NULL) STRICT, WITHOUT ROWID;
"""
_STEPS: Final = (_FIRST, _SECOND)
"""What brings a file from each version to the next."""

_files: weakref.WeakSet[SqliteFile] = weakref.WeakSet()
_inherited: list[object] = []
"""Connections of the process that this one was forked from. They are never closed here: that would give up locks which
the other one holds, and clear away what it still writes."""


class SqliteFile:
    """The file. Safe to share between threads, and to hold across a fork: the child opens it anew.

    Args:
        path: the file; made where it is not there, its folder is not. `:memory:` for one that is in memory alone.
        wait: seconds to wait for another process that has it locked.

    Raises:
        StoreError: it cannot be opened, is damaged, is another program's, or of a later version.
    """

    def __init__(self, path: str | os.PathLike[str], wait: float = WAIT) -> None:
        self.path = Path(path)
        self.wait = wait
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._place: tuple[int, int] | None = None
        with self._lock, told(self.path, wait):
            self._connection = self._open()
        _files.add(self)

    @contextmanager
    def transaction(self, kind: Literal["IMMEDIATE", "DEFERRED"] = "IMMEDIATE") -> Iterator[Run]:
        """Run statements as one: all of them happen, or none.

        Args:
            kind: `IMMEDIATE` to write, `DEFERRED` to read alone.

        Raises:
            StoreError: the file cannot be used; nothing was changed.
        """
        with self._lock, told(self.path, self.wait):
            if self._connection is None:
                self._connection = self._open()
            connection = self._connection
            if self._place is not None and _place(self.path) != self._place:
                raise StoreError(
                    f"cannot use the store `{self.path}`: it was moved or deleted while it was in use, and what is"
                    " written now would be lost; put it back, or start anew"
                )
            self._patiently(lambda: _begin(connection, kind))
            try:
                yield connection.execute
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    def close(self) -> None:
        """Close the file; a later transaction opens it again."""
        with self._lock, told(self.path, self.wait):
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    def forked(self) -> None:
        """Begin anew in a process that was forked: without what the other one holds."""
        self._lock = threading.Lock()
        if self._connection is not None and str(self.path) != MEMORY:
            _inherited.append(self._connection)
            self._connection = None

    def _open(self) -> sqlite3.Connection:
        # no waiting inside of SQLite: it looks again after 100 ms at last, and among many processes some starve
        connection = sqlite3.connect(self.path, timeout=0.0, isolation_level=None, check_same_thread=False)
        try:
            self._patiently(lambda: _prepare(connection, self.path))
        except BaseException:
            connection.close()
            raise
        self._place = None if str(self.path) == MEMORY else _place(self.path)
        return connection

    def _patiently(self, act: Callable[[], None]) -> None:
        """Do it again and again as long as another process is in the way."""
        until = time.monotonic() + self.wait
        pause = 0.0005
        while True:
            try:
                return act()
            except sqlite3.OperationalError as error:
                if code_of(error) not in BUSY or time.monotonic() >= until:
                    raise
            # apart from one another, or those who wait would all come back at once
            time.sleep(random.uniform(0.5, 1.0) * pause)
            pause = min(2.0 * pause, 0.005)


def _place(path: Path) -> tuple[int, int] | None:
    """What tells a file from another one of its name; None where there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _begin(connection: sqlite3.Connection, kind: str) -> None:
    connection.execute(f"BEGIN {kind}")
    if kind == "DEFERRED":
        try:
            connection.execute("SELECT 1 FROM sqlite_schema").fetchone()  # only now is there something to be in the way
        except sqlite3.Error:
            connection.execute("ROLLBACK")
            raise


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    application, version, tables = _marks(connection)
    if application not in (0, APPLICATION_ID) or (application == 0 and (version or tables)):
        raise StoreError(f"cannot use the store `{path}`: it is another program's SQLite file; name another one")
    if version > VERSION:
        raise StoreError(
            f"cannot use the store `{path}`: it has format {version}, this version reads {VERSION}; "
            "use the version of callgate that wrote it"
        )
    [mode] = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode not in ("wal", "memory"):
        raise StoreError(f"cannot use the store `{path}`: its file system shares no memory; put it on a local disk")
    # what was answered must be there after a power cut
    connection.execute("PRAGMA synchronous = FULL")
    if version < VERSION:
        _bring_up(connection)


def _bring_up(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        # another process may have been here meanwhile
        for step in _STEPS[_marks(connection)[1] :]:
            for statement in filter(None, map(str.strip, step.split(";\n"))):
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _marks(connection: sqlite3.Connection) -> tuple[int, int, int]:
    """The program that a file belongs to, its version, and how many tables it has: all at one moment."""
    statement = (
        "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema)"
        " FROM pragma_application_id, pragma_user_version"
    )
    [found] = connection.execute(statement).fetchall()
    application, version, tables = found
    return application, version, tables


def _after_fork() -> None:
    for file in list(_files):
        file.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
