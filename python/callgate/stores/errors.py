"""What a store raises: one error, in words that say what is wrong with the file and what to do."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
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


@contextmanager
def told(path: Path, wait: float) -> Iterator[None]:
    """Turn what SQLite raises into a `StoreError`.

    Args:
        path: the file.
        wait: seconds that were waited for a lock.
    """
    try:
        yield
    except sqlite3.Error as error:
        raise StoreError(f"cannot use the store `{path}`: {_why(error, wait)}") from None
    except RowError as error:
        raise StoreError(
            f"cannot use the store `{path}`: {error}; it was changed by hand, or by another version of callgate"
        ) from None
    except OSError as error:
        raise StoreError(f"cannot use the store `{path}`: {(error.strerror or str(error)).lower()}") from None


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
