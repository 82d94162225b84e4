"""A store in a SQLite file: durable, shared by all processes of one machine, without a server."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence

from callgate._core import (
    SharedChanges,
    shared_asked,
    shared_commit,
    shared_held,
    shared_release,
    shared_resolve,
    shared_resolved,
    shared_settle,
    shared_told,
)

from .entry import Entry, EntryState
from .errors import StoreError
from .escalations import Escalations
from .session import Session, next_version
from .sqlite_file import WAIT, Run, SqliteFile

_SWEEP_EVERY = 256
"""Operations after which what need not be known any more is cleared away, at most so many rows of each kind at once."""
_SWEEP_ROWS = 1024
_ROWS_AT_ONCE = 50
"""Rows of one statement: SQLite takes so many values at least, whoever has built it."""


class SqliteStore:
    """A store in a file on a local disk, in WAL mode. What was answered is on the disk (`synchronous=FULL`).

    Share one object between all threads of a process; it may be held across a fork. Each process opens its own.

    Args:
        path: the file; made where it is not there, its folder is not.
        wait: seconds to wait for another process that has it locked.

    Raises:
        StoreError: the file cannot be opened, is damaged, is another program's, or of a later version.

    Example:
        >>> import tempfile
        >>> store = SqliteStore(tempfile.mkdtemp() + "/callgate.db")
        >>> amount = {"counter": "tool_calls", "amount": 1, "limit": 1}
        >>> claims = [json.dumps({"id": name, "task": "t", "amounts": [amount], "lease": 60}) for name in "ab"]
        >>> [json.loads(store.commit(claim, 1000.0))["taken"] for claim in claims]
        [True, False]
        >>> store.counters("t")
        {'tool_calls': 1.0}
    """

    def __init__(self, path: str | os.PathLike[str], *, wait: float = WAIT) -> None:
        self._file = SqliteFile(path, wait)
        self._escalations = Escalations(self._file)
        self._turn = 0

    @property
    def path(self) -> str:
        """The file."""
        return str(self._file.path)

    @property
    def escalations(self) -> Escalations:
        """The queue of what has to go to a person, in the same file."""
        return self._escalations

    def commit(self, claim: str, now: float) -> str:
        """Take all that a claim asks for, or nothing."""
        claim_id, task, effect, breakers, denials = shared_asked(claim)
        with self._file.transaction() as run:
            rows = _rows(
                hold=_hold(run, claim_id),
                counters=_counters(run, task),
                entries=_effect(run, task, effect, now),
                breakers=_breakers(run, breakers),
                denials=_denials(run, task, denials),
            )
            grant, changes = shared_commit(rows, claim, now)
            self._write(run, task, changes, now)
        return grant

    def settle(self, settlement: str, now: float) -> bool:
        """Take in how a claim ended."""
        claim_id, task, ended, usage, resolved, denials = shared_told(settlement)
        with self._file.transaction() as run:
            hold = _hold(run, claim_id)
            task, effect, breakers = (task, None, []) if hold is None else shared_held(hold)
            entries = _effect(run, task, effect, now)
            if hold is None and ended:
                entries = _owned(run, claim_id)
            rows = _rows(
                hold=hold,
                counters=_counters(run, task) if usage else {},
                entries={**entries, **_entries(run, resolved)},
                breakers=_breakers(run, breakers),
                denials=_denials(run, task, denials),
            )
            new, changes = shared_settle(rows, settlement, now)
            self._write(run, task, changes, now)
        return new

    def release(self, claim_id: str, task: str, now: float) -> bool:
        """Give back what a claim holds."""
        with self._file.transaction() as run:
            hold = _hold(run, claim_id)
            task, effect, breakers = (task, None, []) if hold is None else shared_held(hold)
            rows = _rows(
                hold=hold,
                counters=_counters(run, task),
                entries=_effect(run, task, effect, now),
                breakers=_breakers(run, breakers),
            )
            new, changes = shared_release(rows, claim_id, task, now)
            self._write(run, task, changes, now)
        return new

    def resolve(self, resolution: str, now: float) -> bool:
        """End a doubt of the ledger."""
        key = shared_resolved(resolution)
        with self._file.transaction() as run:
            doubted, changes = shared_resolve(_rows(entries=_entries(run, [key])), resolution, now)
            self._write(run, "", changes, now)
        return doubted

    def entries(
        self,
        now: float,
        *,
        task: str | None = None,
        state: EntryState | None = None,
        key: str | None = None,
        limit: int = 100,
    ) -> list[Entry]:
        """Entries of the ledger, those begun last first."""
        seen = "CASE WHEN state = 'in_flight' AND blocks_from <= :now THEN 'unknown' ELSE state END"
        with self._file.transaction("DEFERRED") as run:
            found = run(
                "SELECT entry FROM effects WHERE (:task IS NULL OR task = :task)"
                f" AND (:state IS NULL OR {seen} = :state) AND substr(key, 1, length(:key)) = :key"
                " AND NOT (state = 'completed' AND retain_until IS NOT NULL AND retain_until <= :now)"
                " ORDER BY began DESC, key LIMIT :limit",
                {"now": now, "task": task, "state": state, "key": key or "", "limit": limit},
            ).fetchall()
        try:
            return [Entry.read(text, now) for (text,) in found]
        except ValueError as error:
            raise StoreError(f"cannot use the store `{self.path}`: {error}; it was changed by hand") from None

    def counters(self, task: str) -> dict[str, float]:
        """The counters of a task."""
        with self._file.transaction("DEFERRED") as run:
            return _counters(run, task)

    def get_session(self, session_id: str) -> Session | None:
        """What was saved last under an id."""
        with self._file.transaction("DEFERRED") as run:
            return _session(run, session_id)

    def put_session(self, session_id: str, text: str, *, expected: int) -> int:
        """Save a text if the version that is there is still the expected one."""
        with self._file.transaction() as run:
            version = next_version(_session(run, session_id), session_id, text, expected)
            run("INSERT OR REPLACE INTO sessions VALUES (?, ?, ?)", (session_id, version, text))
        return version

    def prune(self, before: float) -> int:
        """Forget the counters and denials of tasks of which nothing changed since a time; how many rows that were.

        A task that goes on afterwards begins with full budgets: choose a time before which every task has ended.

        Args:
            before: seconds since 1970.
        """
        with self._file.transaction() as run:
            live = "task NOT IN (SELECT task FROM counters WHERE changed >= :before)"
            return sum(
                run(f"DELETE FROM {table} WHERE changed < :before AND {live}", {"before": before}).rowcount
                for table in ("denials", "counters")
            )

    def close(self) -> None:
        """Close the file; a later operation opens it again."""
        self._file.close()

    def _write(self, run: Run, task: str, changes: SharedChanges, now: float) -> None:
        _put(run, "claims", [] if changes.hold is None else [changes.hold])
        _put(run, "counters", [(task, counter, used, now) for counter, used in changes.counters])
        _put(run, "effects", changes.entries)
        _put(run, "breakers", changes.breakers)
        _put(run, "denials", [(task, denial, now) for denial in changes.denied])
        for key in changes.gone:
            run("DELETE FROM effects WHERE key = ?", (key,))
        for denial in changes.lifted:
            run("DELETE FROM denials WHERE task = ? AND denial = ?", (task, denial))
        self._turn += 1  # under the file's lock
        if self._turn % _SWEEP_EVERY == 0:
            _sweep(run, now)

    def __repr__(self) -> str:
        return f"SqliteStore({self.path!r})"


def _sweep(run: Run, now: float) -> None:
    for table, key, until in (("claims", "id", "keep_until"), ("effects", "key", "retain_until")):
        old = f"SELECT {key} FROM {table} WHERE {until} <= ? ORDER BY {until} LIMIT ?"
        run(f"DELETE FROM {table} WHERE {key} IN ({old})", (now, _SWEEP_ROWS))


def _put(run: Run, table: str, rows: Sequence[tuple[object, ...]]) -> None:
    """Write rows, in place of those with the same key."""
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        some = rows[start : start + _ROWS_AT_ONCE]
        values = ", ".join(["(" + ", ".join("?" * len(some[0])) + ")"] * len(some))
        run(f"INSERT OR REPLACE INTO {table} VALUES {values}", [value for row in some for value in row])


def _rows(
    *,
    hold: str | None = None,
    counters: dict[str, float] | None = None,
    entries: dict[str, str] | None = None,
    breakers: dict[str, str] | None = None,
    denials: Sequence[str] = (),
) -> str:
    """The rows of an operation as one text, from texts as they are kept."""
    return (
        f'{{"hold": {hold or "null"}, "counters": {json.dumps(counters or {})}, "entries": {_object(entries)}, '
        f'"breakers": {_object(breakers)}, "denials": {json.dumps(denials)}}}'
    )


def _object(texts: dict[str, str] | None) -> str:
    return "{" + ", ".join(f"{json.dumps(name)}: {text}" for name, text in (texts or {}).items()) + "}"


def _hold(run: Run, claim_id: str) -> str | None:
    found = run("SELECT hold FROM claims WHERE id = ?", (claim_id,)).fetchone()
    return None if found is None else str(found[0])


def _counters(run: Run, task: str) -> dict[str, float]:
    return dict(run("SELECT counter, used FROM counters WHERE task = ?", (task,)).fetchall())


def _entries(run: Run, keys: Iterable[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for key in keys:
        found.update(run("SELECT key, entry FROM effects WHERE key = ?", (key,)).fetchall())
    return found


def _effect(run: Run, task: str, effect: tuple[str, str] | None, now: float) -> dict[str, str]:
    """The entry of an effect, and those of its task and tool whose doubt stands in the way."""
    if effect is None:
        return {}
    key, tool = effect
    statement = (
        "SELECT key, entry FROM effects WHERE blocks_from IS NOT NULL AND task = ? AND tool = ? AND blocks_from <= ?"
    )
    return {**dict(run(statement, (task, tool, now)).fetchall()), **_entries(run, [key])}


def _owned(run: Run, claim_id: str) -> dict[str, str]:
    statement = "SELECT key, entry FROM effects WHERE blocks_from IS NOT NULL AND owner = ?"
    return dict(run(statement, (claim_id,)).fetchall())


def _breakers(run: Run, names: Iterable[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in names:
        found.update(run("SELECT name, breaker FROM breakers WHERE name = ?", (name,)).fetchall())
    return found


def _denials(run: Run, task: str, denials: Iterable[str]) -> list[str]:
    statement = "SELECT denial FROM denials WHERE task = ? AND denial = ?"
    found = (run(statement, (task, denial)).fetchone() for denial in dict.fromkeys(denials))
    return [str(row[0]) for row in found if row is not None]


def _session(run: Run, session_id: str) -> Session | None:
    found = run("SELECT id, version, text FROM sessions WHERE id = ?", (session_id,)).fetchone()
    return None if found is None else Session(*found)
