"""From what a host or a project names to a store."""

from __future__ import annotations

import os

from .memory import MemoryStore
from .sqlite import SqliteStore
from .store import Store

MEMORY = "memory"


def open_store(choice: Store | str | os.PathLike[str]) -> Store:
    """The store that is meant.

    Args:
        choice: a store; `"memory"` for one that is gone with the process; else the path of a SQLite file, made where
            it is not there.

    Raises:
        StoreError: the file cannot be used.
        TypeError: it is none of these.

    Example:
        >>> open_store("memory")
        MemoryStore()
    """
    if isinstance(choice, str) and choice == MEMORY:
        return MemoryStore()
    if isinstance(choice, (str, os.PathLike)):
        return SqliteStore(choice)
    if isinstance(choice, Store):
        return choice
    raise TypeError(f"`store` must be a store or the path of a SQLite file, not {type(choice).__name__}")
