"""Which task a guarded function works for: the innermost active one of its gate, in this thread or coroutine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .gate import Gate
    from .task import Task

ACTIVE: Final[ContextVar[tuple[Task, ...]]] = ContextVar("callgate_active", default=())
"""The active tasks, the innermost last: of several gates there may be one each."""


@contextmanager
def active(task: Task) -> Iterator[Task]:
    """While the block lasts, guarded functions work for this task."""
    token = ACTIVE.set((*ACTIVE.get(), task))
    try:
        yield task
    finally:
        ACTIVE.reset(token)


def active_task(gate: Gate) -> Task | None:
    """The innermost active task of a gate."""
    return next((task for task in reversed(ACTIVE.get()) if task.gate is gate), None)
