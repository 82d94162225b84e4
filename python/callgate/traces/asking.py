"""The engine asked about one call behind some records: what it decides, as often as somebody has another question."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

import callgate._core as _core

from .lines import TraceError
from .recorded import Record

Row = dict[str, Any]
_MARK: Final = "the call that is asked about"
_NOT_OPEN: Final = 1 << 20


class Asking:
    """Asks a policy about runs. Each question is a replay of its own, so that none knows of another.

    `asked` counts the questions.
    """

    def __init__(self, policy: _core.CompiledPolicy, *, began: float | None = None, tenant: str | None = None) -> None:
        self.policy = policy
        self.asked = 0
        self._began = began
        self._tenant = tenant

    def about(self, records: Sequence[Record], at: int) -> Row | None:
        """What is decided of the call at a position; None where such a run cannot be recorded."""
        self.asked += 1
        marked = [{**record, "call_id": _MARK} if each == at else record for each, record in enumerate(records)]
        try:
            rows = self.rows(marked)
        except TraceError:
            return None
        return next((row for row in rows if row["call_id"] == _MARK), None)

    def rows(self, records: Sequence[Record]) -> list[Row]:
        """What is decided of each call, in order; `seq` is the position of the record from 1.

        Raises:
            TraceError: a record cannot follow those before it.
        """
        return self.judged(records)[0]

    def judged(self, records: Sequence[Record]) -> tuple[list[Row], list[dict[str, Any]]]:
        """The same, and how each task ended: `task`, `status`, `exit`, `missing`.

        Raises:
            TraceError: a record cannot follow those before it.
        """
        replay = _core.Replay(self.policy, most_open=_NOT_OPEN, began=self._began, tenant=self._tenant)
        lines = (json.dumps({**record, "seq": at}) for at, record in enumerate(records, 1))
        for _, why in replay.feed("\n".join(lines).encode()):
            raise TraceError(why)
        replay.finish()
        return replay.take_rows(explained=True), replay.take_endings()


def is_allowed(row: Row | None) -> bool:
    """Whether a call runs, and would in mode `enforce` too."""
    return row is not None and row["action"] == "allow" and row["would"] in (None, "allow")
