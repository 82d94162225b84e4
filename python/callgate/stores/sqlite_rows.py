"""The rows of shared state in a SQLite file: read in one statement for each operation, and written row by row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from callgate._core import SharedChanges

from .sqlite_file import Run

Row = tuple[str, str, str]
"""Kind, name and JSON, as `callgate._core` reads them."""
Wanted = tuple[str, tuple[object, ...]]
"""A statement that reads rows, and its values."""

_AT_ONCE: Final = 50
"""Statements that are joined into one: SQLite takes so many, whoever has built it."""
_SWEPT: Final = (("claims", "id", "keep_until"), ("effects", "key", "retain_until"))
_SWEPT_ROWS: Final = 1024


def hold(claim_id: str) -> Wanted:
    """What stands under an id."""
    return "SELECT 'hold', id, hold FROM claims WHERE id = ?", (claim_id,)


def counters(task: str) -> Wanted:
    """The counters of a task: one row."""
    return "SELECT 'counters', task, counters FROM accounts WHERE task = ?", (task,)


def entry(key: str) -> Wanted:
    """The ledger's entry of a key."""
    return "SELECT 'entry', key, entry FROM effects WHERE key = ?", (key,)


def effect(task: str, named: tuple[str, str] | None, now: float) -> list[Wanted]:
    """The entry of an effect's key and those whose doubt stands in the way of its task and tool.

    Args:
        task: the task.
        named: key and tool of the effect; None where there is none.
        now: seconds since 1970.
    """
    if named is None:
        return []
    key, tool = named
    doubts = (
        "SELECT 'entry', key, entry FROM effects"
        " WHERE blocks_from IS NOT NULL AND task = ? AND tool = ? AND blocks_from <= ?"
    )
    return [entry(key), (doubts, (task, tool, now))]


def owned(claim_id: str) -> Wanted:
    """The entries that a claim began and did not complete."""
    return "SELECT 'entry', key, entry FROM effects WHERE blocks_from IS NOT NULL AND owner = ?", (claim_id,)


def breakers(names: Iterable[str]) -> list[Wanted]:
    """Breakers by name."""
    return [("SELECT 'breaker', name, breaker FROM breakers WHERE name = ?", (name,)) for name in names]


def denials(task: str, named: Iterable[str]) -> list[Wanted]:
    """Those of a task's denials that are on record."""
    statement = "SELECT 'denial', denial, '' FROM denials WHERE task = ? AND denial = ?"
    return [(statement, (task, denial)) for denial in named]


def read(run: Run, wanted: Sequence[Wanted]) -> list[Row]:
    """Read rows; those that are not there are left out."""
    found: list[Row] = []
    for start in range(0, len(wanted), _AT_ONCE):
        some = wanted[start : start + _AT_ONCE]
        statement = " UNION ALL ".join([statement for statement, _ in some])
        found += run(statement, [value for _, values in some for value in values]).fetchall()
    return found


def write(run: Run, task: str, changes: SharedChanges, now: float) -> None:
    """Write what an operation changed."""
    if changes.hold is not None:
        run("INSERT OR REPLACE INTO claims VALUES (?, ?, ?)", changes.hold)
    if changes.counters is not None:
        run("INSERT OR REPLACE INTO accounts VALUES (?, ?, ?)", (task, now, changes.counters))
    for row in changes.entries:
        run("INSERT OR REPLACE INTO effects VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
    for key in changes.gone:
        run("DELETE FROM effects WHERE key = ?", (key,))
    for breaker in changes.breakers:
        run("INSERT OR REPLACE INTO breakers VALUES (?, ?)", breaker)
    for denial in changes.denied:
        run("INSERT OR REPLACE INTO denials VALUES (?, ?, ?)", (task, denial, now))
    for denial in changes.lifted:
        run("DELETE FROM denials WHERE task = ? AND denial = ?", (task, denial))


def sweep(run: Run, now: float) -> None:
    """Clear away what need not be known any more, of the rows that follow those that were looked at before.

    From the last row it goes on with the first. So there is no index to keep, which every commit would have to write:
    what is over is gone after one round at last.
    """
    for table, key, until in _SWEPT:
        since = run("SELECT upto FROM swept WHERE name = ?", (table,)).fetchone()
        first = "" if since is None else since[0]
        some = f"SELECT {key} AS name FROM {table} WHERE {key} > ? ORDER BY {key} LIMIT ?"
        last, rows = run(f"SELECT max(name), count(*) FROM ({some})", (first, _SWEPT_ROWS)).fetchone()
        if rows:
            run(f"DELETE FROM {table} WHERE {key} > ? AND {key} <= ? AND {until} <= ?", (first, last, now))
        run("INSERT OR REPLACE INTO swept VALUES (?, ?)", (table, last if rows == _SWEPT_ROWS else ""))
