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
from typing import Final, Literal, TypeVar

from .errors import BUSY, TOLD, StoreError, code_of, told
from .sqlite_format import APPLICATION_ID, VERSION, bring_up, marks

WAIT: Final = 5.0
"""Seconds to wait for another process that has the file locked."""
MEMORY: Final = ":memory:"
"""The path of a file that is none, and gone when it is closed."""

_CHECKPOINT: Final = 4_000
"""Pages of the WAL after which they are moved to the file: 16 MB. Each time is two waits for the disk."""

_CACHE: Final = 8_000
"""KiB of pages that are kept in memory at most: keys are in no order, and each page that is not there is read anew."""

T = TypeVar("T")
Run = Callable[..., sqlite3.Cursor]

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
        self._name = str(self.path)
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._place: tuple[int, int] | None = None
        with self._lock:
            try:
                self._connection = self._open()
            except TOLD as error:
                raise told(error, self.path, wait) from None
        _files.add(self)

    @contextmanager
    def transaction(self, kind: Literal["IMMEDIATE", "DEFERRED"] = "IMMEDIATE") -> Iterator[Run]:
        """Run statements as one: all of them happen, or none.

        Args:
            kind: `IMMEDIATE` to write, `DEFERRED` to read alone.

        Raises:
            StoreError: the file cannot be used; nothing was changed.
        """
        with self._lock:  # one context and no more: this is on the way of every call
            try:
                connection = self._connection
                if connection is None:
                    connection = self._connection = self._open()
                if self._place is not None and _place(self._name) != self._place:
                    raise StoreError(
                        f"cannot use the store `{self.path}`: it was moved or deleted while it was in use, and what is"
                        " written now would be lost; put it back, or start anew"
                    )
                self._patiently(_begin, connection, kind)
                try:
                    yield connection.execute
                    connection.execute("COMMIT")
                finally:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
            except TOLD as error:
                raise told(error, self.path, self.wait) from None

    def close(self) -> None:
        """Close the file; a later transaction opens it again."""
        with self._lock:
            try:
                if self._connection is not None:
                    self._connection.close()
            except TOLD as error:
                raise told(error, self.path, self.wait) from None
            self._connection = None

    def forked(self) -> None:
        """Begin anew in a process that was forked: without what the other one holds."""
        self._lock = threading.Lock()
        if self._connection is not None and self._name != MEMORY:
            _inherited.append(self._connection)
            self._connection = None

    def _open(self) -> sqlite3.Connection:
        # no waiting inside of SQLite: it looks again after 100 ms at last, and among many processes some starve
        connection = sqlite3.connect(self.path, timeout=0.0, isolation_level=None, check_same_thread=False)
        try:
            self._patiently(_prepare, connection, self.path)
        except BaseException:
            connection.close()
            raise
        self._place = None if self._name == MEMORY else _place(self._name)
        return connection

    def _patiently(self, act: Callable[[sqlite3.Connection, T], None], connection: sqlite3.Connection, how: T) -> None:
        """Do it again and again as long as another process is in the way."""
        until = time.monotonic() + self.wait
        pause = 0.0005
        while True:
            try:
                return act(connection, how)
            except sqlite3.OperationalError as error:
                if code_of(error) not in BUSY or time.monotonic() >= until:
                    raise
            # apart from one another, or those who wait would all come back at once
            time.sleep(random.uniform(0.5, 1.0) * pause)
            pause = min(2.0 * pause, 0.005)


def _place(name: str) -> tuple[int, int] | None:
    """What tells a file from another one of its name; None where there is none."""
    try:
        found = os.stat(name)  # noqa: PTH116 - a third of the time of `Path.stat`
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
    application, version, tables = marks(connection)
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
    connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT}")
    connection.execute(f"PRAGMA cache_size = -{_CACHE}")
    if version < VERSION:
        bring_up(connection)


def _after_fork() -> None:
    for file in list(_files):
        file.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
