"""The format of the SQLite file: its tables, and the steps that bring a file of an earlier version up to it.

A step is never changed once a release has written files with it: a new format is one more step.
"""

from __future__ import annotations

import itertools
import json
import sqlite3
from collections.abc import Callable
from typing import Final

APPLICATION_ID: Final = 0x43475145  # "CGQE", so that another program's file is not taken for ours

_FIRST: Final = """
CREATE TABLE escalations (
    id TEXT PRIMARY KEY,
    number INTEGER NOT NULL,
    queue TEXT NOT NULL,
    task TEXT NOT NULL,
    created REAL NOT NULL,
    report TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('open', 'claimed', 'resolved')),
    claimed_by TEXT,
    claimed_at REAL,
    resolved_by TEXT,
    resolved_at REAL,
    resolution TEXT
) STRICT;
CREATE INDEX by_state ON escalations (state, queue, number);
"""
_SECOND: Final = """
CREATE TABLE counters (
    task TEXT NOT NULL,
    counter TEXT NOT NULL,
    used REAL NOT NULL,
    changed REAL NOT NULL,
    PRIMARY KEY (task, counter)
) STRICT, WITHOUT ROWID;
CREATE TABLE effects (
    key TEXT PRIMARY KEY,
    task TEXT NOT NULL,
    tool TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('in_flight', 'completed', 'unknown')),
    owner TEXT NOT NULL,
    began REAL NOT NULL,
    blocks_from REAL,
    retain_until REAL,
    entry TEXT NOT NULL
) STRICT;
CREATE INDEX effects_blocking ON effects (task, tool, blocks_from) WHERE blocks_from IS NOT NULL;
CREATE INDEX effects_kept ON effects (retain_until) WHERE retain_until IS NOT NULL;
CREATE TABLE breakers (name TEXT PRIMARY KEY, breaker TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE denials (task TEXT NOT NULL, denial TEXT NOT NULL, changed REAL NOT NULL, PRIMARY KEY (task, denial))
    STRICT, WITHOUT ROWID;
CREATE TABLE claims (id TEXT PRIMARY KEY, task TEXT NOT NULL, keep_until REAL NOT NULL, hold TEXT NOT NULL)
    STRICT, WITHOUT ROWID;
CREATE INDEX claims_kept ON claims (keep_until);
CREATE TABLE sessions (id TEXT PRIMARY KEY, version INTEGER NOT NULL, text TEXT NOT NULL) STRICT, WITHOUT ROWID;
"""
_THIRD: Final = """
CREATE TABLE accounts (task TEXT PRIMARY KEY, changed REAL NOT NULL, counters TEXT NOT NULL) STRICT, WITHOUT ROWID;
ALTER TABLE claims RENAME TO claims_before;
CREATE TABLE claims (id TEXT PRIMARY KEY, keep_until REAL NOT NULL, hold TEXT NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO claims SELECT id, keep_until, hold FROM claims_before;
DROP TABLE claims_before;
ALTER TABLE effects RENAME TO effects_before;
CREATE TABLE effects (
    key TEXT PRIMARY KEY,
    task TEXT NOT NULL,
    tool TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('in_flight', 'completed', 'unknown')),
    owner TEXT NOT NULL,
    began REAL NOT NULL,
    blocks_from REAL,
    retain_until REAL,
    entry TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO effects SELECT * FROM effects_before;
DROP TABLE effects_before;
CREATE INDEX effects_blocking ON effects (task, tool, blocks_from) WHERE blocks_from IS NOT NULL;
CREATE TABLE swept (name TEXT PRIMARY KEY, upto TEXT NOT NULL) STRICT, WITHOUT ROWID;
"""
"""What a commit writes is on few pages: the counters of a task are one row, and the one index left is that which
every commit asks."""


def _tables(statements: str) -> Callable[[sqlite3.Connection], None]:
    def step(connection: sqlite3.Connection) -> None:
        for statement in filter(None, map(str.strip, statements.split(";\n"))):
            connection.execute(statement)

    return step


def _gather_counters(connection: sqlite3.Connection) -> None:
    # here and not in SQL, which writes numbers with 15 digits: of sums of money the last ones would be lost
    found = connection.execute("SELECT task, counter, used, changed FROM counters ORDER BY task").fetchall()
    for task, some in itertools.groupby(found, key=lambda row: row[0]):
        rows = list(some)
        counters = json.dumps({counter: used for _, counter, used, _ in rows})
        connection.execute("INSERT INTO accounts VALUES (?, ?, ?)", (task, max(row[3] for row in rows), counters))
    connection.execute("DROP TABLE counters")


_STEPS: Final = (
    (_tables(_FIRST),),
    (_tables(_SECOND),),
    (_tables(_THIRD), _gather_counters),
)
"""What brings a file from each version to the next."""

VERSION: Final = len(_STEPS)


def marks(connection: sqlite3.Connection) -> tuple[int, int, int]:
    """The program that a file belongs to, its version, and how many tables it has: all at one moment."""
    statement = (
        "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema)"
        " FROM pragma_application_id, pragma_user_version"
    )
    [found] = connection.execute(statement).fetchall()
    application, version, tables = found
    return application, version, tables


def bring_up(connection: sqlite3.Connection) -> None:
    """Bring a file up to this version, whole or not at all."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        # another process may have been here meanwhile
        for step in itertools.chain.from_iterable(_STEPS[marks(connection)[1] :]):
            step(connection)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
