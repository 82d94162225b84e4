"""The queue of what has to go to a person: a SQLite file in WAL mode, shared by any number of processes.

A row is pushed once, claimed by one, resolved once. Every operation is one transaction and idempotent: a caller that
does not know whether it got through may simply do it again.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from .errors import EscalationError
from .sqlite_file import WAIT, Run, SqliteFile

State = Literal["open", "claimed", "resolved"]

_COLUMNS: Final = (
    "id, queue, task, created, state, claimed_by, claimed_at, resolved_by, resolved_at, resolution, report"
)


@dataclass(frozen=True, slots=True)
class Escalation:
    """Something that a person has to look at: a task that was stopped before it had what it needs.

    Times are seconds since 1970. `report` is what `Task.report` gave when it was pushed.
    """

    id: str
    queue: str
    task: str
    created: float
    state: State
    claimed_by: str | None = None
    claimed_at: float | None = None
    resolved_by: str | None = None
    resolved_at: float | None = None
    resolution: str | None = None
    report: dict[str, Any] = field(default_factory=dict)


class Escalations:
    """The queue. Safe to share between threads; open one for each process.

    Args:
        path: the file; made where it is not there, its folder is not. A store shares its own.
        wait: seconds to wait for another process that has it locked.
        clock: seconds since 1970.

    Raises:
        StoreError: the file cannot be opened, is damaged, or is another program's.

    Example:
        >>> import tempfile
        >>> queue = Escalations(tempfile.mkdtemp() + "/desk.db")
        >>> queue.push("e1", {"status": "incomplete"}, task="order-4711", queue="desk").state
        'open'
        >>> queue.claim("anna").id
        'e1'
        >>> queue.resolve("e1", "anna", "called the supplier").state
        'resolved'
    """

    def __init__(
        self, path: str | os.PathLike[str] | SqliteFile, *, wait: float = WAIT, clock: Callable[[], float] = time.time
    ) -> None:
        self._file = path if isinstance(path, SqliteFile) else SqliteFile(path, wait)
        self._clock = clock

    @property
    def path(self) -> Path:
        """The file."""
        return self._file.path

    def push(self, escalation_id: str, report: Mapping[str, Any], *, task: str, queue: str = "default") -> Escalation:
        """Put something into a queue. A second push of one id changes nothing and gives what stands there.

        Args:
            escalation_id: what makes it the same, such as the task's lineage.
            report: what the person has to know, as data that JSON has a form for; anything else by its `str`.
            task: the task's id.
            queue: whose it is.

        Raises:
            StoreError: the file cannot be used; nothing was pushed.
        """
        text = json.dumps(report, default=str, ensure_ascii=False)
        # what UTF-8 has no form for is no reason to lose an escalation
        clean = [each.encode("utf-8", "replace").decode() for each in (text, escalation_id, task, queue)]
        text, escalation_id, task, queue = clean
        with self._file.transaction() as run:
            run(
                "INSERT INTO escalations (id, number, queue, task, created, report, state)"
                " SELECT ?, coalesce(max(number), 0) + 1, ?, ?, ?, ?, 'open' FROM escalations WHERE true"
                " ON CONFLICT (id) DO NOTHING",
                (escalation_id, queue, task, self._clock(), text),
            )
            return _one(run, escalation_id)

    def list(self, *, queue: str | None = None, state: State | None = None, limit: int = 100) -> list[Escalation]:
        """The escalations, oldest first, without their reports.

        Raises:
            StoreError: the file cannot be used.
        """
        columns = _COLUMNS.removesuffix(", report")
        with self._file.transaction("DEFERRED") as run:
            rows = run(
                f"SELECT {columns} FROM escalations WHERE (? IS NULL OR queue = ?) AND (? IS NULL OR state = ?)"
                " ORDER BY number LIMIT ?",
                (queue, queue, state, state, limit),
            ).fetchall()
        return [Escalation(*row) for row in rows]

    def get(self, escalation_id: str) -> Escalation:
        """One escalation with its report.

        Raises:
            EscalationError: there is none of that id.
            StoreError: the file cannot be used.
        """
        with self._file.transaction("DEFERRED") as run:
            return _one(run, escalation_id)

    def claim(self, by: str, *, escalation_id: str | None = None, queue: str | None = None) -> Escalation | None:
        """Take an escalation, so that nobody else works on it. Of several who try, exactly one gets it.

        Args:
            by: who takes it; who has it already gets it again.
            escalation_id: which one; None for the oldest that is open.
            queue: only of this queue.

        Returns:
            It, or None where `escalation_id` is left out and nothing is open.

        Raises:
            EscalationError: there is none of that id, or another one has it, or it is resolved.
            StoreError: the file cannot be used; nothing was claimed.
        """
        with self._file.transaction() as run:
            if escalation_id is None:
                found = run(
                    "SELECT id FROM escalations WHERE state = 'open' AND (? IS NULL OR queue = ?)"
                    " ORDER BY number LIMIT 1",
                    (queue, queue),
                ).fetchone()
                if found is None:
                    return None
                escalation_id = str(found[0])
            changed = run(
                "UPDATE escalations SET state = 'claimed', claimed_by = ?, claimed_at = ?"
                " WHERE id = ? AND state = 'open'",
                (by, self._clock(), escalation_id),
            ).rowcount
            stands = _one(run, escalation_id)
            if not changed and (stands.state != "claimed" or stands.claimed_by != by):
                raise EscalationError(_taken(stands))
            return stands

    def resolve(self, escalation_id: str, by: str, resolution: str) -> Escalation:
        """Say what became of an escalation. It must be open, or claimed by whoever resolves it.

        Raises:
            EscalationError: there is none of that id, or another one has it, or it was resolved otherwise.
            StoreError: the file cannot be used; nothing was resolved.
        """
        with self._file.transaction() as run:
            now = self._clock()
            changed = run(
                "UPDATE escalations SET state = 'resolved', claimed_by = coalesce(claimed_by, ?),"
                " claimed_at = coalesce(claimed_at, ?), resolved_by = ?, resolved_at = ?, resolution = ?"
                " WHERE id = ? AND (state = 'open' OR (state = 'claimed' AND claimed_by = ?))",
                (by, now, by, now, resolution, escalation_id, by),
            ).rowcount
            stands = _one(run, escalation_id)
            if not changed and (stands.resolved_by, stands.resolution) != (by, resolution):
                raise EscalationError(_taken(stands))
            return stands

    def close(self) -> None:
        """Close the file; a later operation opens it again."""
        self._file.close()


def _one(run: Run, escalation_id: str) -> Escalation:
    row = run(f"SELECT {_COLUMNS} FROM escalations WHERE id = ?", (escalation_id,)).fetchone()
    if row is None:
        raise EscalationError(f"there is no escalation `{escalation_id}`")
    names = _COLUMNS.split(", ")
    return Escalation(**{**dict(zip(names, row, strict=True)), "report": json.loads(row[-1])})


def _taken(stands: Escalation) -> str:
    if stands.state == "resolved":
        return f"escalation `{stands.id}` was resolved by `{stands.resolved_by}`: {stands.resolution}"
    return f"escalation `{stands.id}` was claimed by `{stands.claimed_by}`"
