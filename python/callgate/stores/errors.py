"""What a store raises: one error, in words that say what is wrong with the file and what to do."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_BUSY: Final = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_DAMAGED: Final = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class StoreError(Exception):
    """The store cannot be used; the text says why, the file's name included. Nothing was changed."""


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
    except OSError as error:
        raise StoreError(f"cannot use the store `{path}`: {(error.strerror or str(error)).lower()}") from None


def _why(error: sqlite3.Error, wait: float) -> str:
    code = getattr(error, "sqlite_errorcode", None)
    code = None if code is None else code & 0xFF  # the extended codes say more than people can use
    if code in _BUSY:
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
