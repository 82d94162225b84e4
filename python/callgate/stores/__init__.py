"""What outlives a task or a process, or is shared between several: every operation atomic and idempotent on an id."""

from .entry import Entry
from .errors import EscalationError, SessionConflict, StoreError
from .memory import MemoryStore
from .open import open_store
from .session import Session
from .sqlite import SqliteStore
from .store import EscalationQueue, Store

__all__ = [
    "Entry",
    "EscalationError",
    "EscalationQueue",
    "MemoryStore",
    "Session",
    "SessionConflict",
    "SqliteStore",
    "Store",
    "StoreError",
    "open_store",
]
