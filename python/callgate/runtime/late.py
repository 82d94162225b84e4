"""What a call brings after it was given up: nobody waits for it, but it ends the doubt about what became of it."""

from __future__ import annotations

import itertools
import threading
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .task import Task
    from .workers import Came

_NUMBERS: Final = itertools.count()


class Late:
    """One attempt that runs in a thread of its own. Its thread tells `came`, whoever gives it up calls `follow`.

    In whatever order the two come: the task is told once, by the later one.
    """

    __slots__ = ("_came", "_lock", "_task", "name")

    def __init__(self) -> None:
        #: what no other attempt of this process is called
        self.name = f"late-{next(_NUMBERS)}"
        self._lock = threading.Lock()
        self._came: Came | None = None
        self._task: Task | None = None

    def came(self, came: Came) -> None:
        """It has ended, whether or not somebody still waits for it."""
        with self._lock:
            self._came, task = came, self._task
        if task is not None:
            self._tell(task, came)

    def follow(self, task: Task) -> None:
        """It was given up, and the task knows that it goes on."""
        with self._lock:
            self._task, came = task, self._came
        if came is not None:
            self._tell(task, came)

    def _tell(self, task: Task, came: Came) -> None:
        task._came_late(self.name, came.result, came.error)
