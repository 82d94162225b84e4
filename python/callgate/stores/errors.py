"""What a store raises: one error, in words that say what is wrong with the file and what to do."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Final

from callgate._core import RowError

BUSY: Final = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_DAMAGED: Final = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class StoreError(Exception):
    """The store cannot be used; the text says why, the file's name included. Nothing was changed."""


class SessionConflict(Exception):
    """Another process has saved or resumed the session meanwhile. Nothing was changed."""


class EscalationError(Exception):
    """An escalation that is not there, or not in the state that was asked for."""


TOLD: Final = (sqlite3.Error, RowError, OSError)
"""What becomes a `StoreError`."""


def told(error: sqlite3.Error | RowError | OSError, path: Path, wait: float) -> StoreError:
    """What went wrong, in words.

    Args:
        error: what SQLite, the system or the core raised.
        path: the file.
        wait: seconds that were waited for a lock.
    """
    if isinstance(error, sqlite3.Error):
        why = _why(error, wait)
    elif isinstance(error, RowError):
        why = f"{error}; it was changed by hand, or by another version of callgate"
    else:
        why = (error.strerror or str(error)).lower()
    return StoreError(f"cannot use the store `{path}`: {why}")


def code_of(error: sqlite3.Error) -> int | None:
    """SQLite's code, without the extension that says more than people can use."""
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def _why(error: sqlite3.Error, wait: float) -> str:
    code = code_of(error)
    if code in BUSY:
        return f"another process has held it locked for {wait:g} s; try again, or look for one that hangs"
    if code == sqlite3.SQLITE_FULL:
        return "there is no room left on the disk"
    if code in _DAMAGED:
        return "it is damaged, or no SQLite file; put it aside and start anew, or restore a backup"
    if code == sqlite3.SQLITE_READONLY:
        return "it cannot be written"
    if code == sqlite3.SQLITE_CANTOPEN:
        return "it cannot be opened; is the folder there, and may you write in it"
    if code == sqlite3.SQLITE_IOERR:
        return "reading or writing the disk failed"
    return " ".join(str(error).lower().split())
