"""What a commit costs in a store: one in SQLite beside a bare `UPDATE` of one row, both synced to the same disk.

Wall time, since it is the disk that is waited for. The file is made in the working directory and not in the system's
folder for temporary files, which is often memory.
"""

import itertools
import json
import sqlite3
import tempfile
from pathlib import Path
from typing import Any

from callgate.stores import MemoryStore, SqliteStore, Store

from .row import Paired, Row, paired

CALLS = 40
REPEATS = 25
COUNTERS = ("steps", "tool_calls", "tool:create_order", "group:orders")
BREAKER = {"name": "tool:create_order", "failures": 5, "open_for": 30, "probes": 1}
NOW = 1_700_000_000.0


def rows() -> list[Row]:
    """Measure."""
    with tempfile.TemporaryDirectory(prefix="callgate-bench-", dir=Path.cwd()) as folder:
        store = SqliteStore(Path(folder) / "callgate.db")
        bare = Bare(Path(folder) / "bare.db")
        commit = measured(Commits(store, effect=False), bare)
        whole = measured(Commits(store, effect=True), bare)
        both = measured(Calls(store), bare)
        memory = measured(Commits(MemoryStore(), effect=True), bare)
    name = "SQLite, a bare UPDATE"
    return [
        commit.row("SQLite commit: four counters", name, 2.0, CALLS),
        whole.row("SQLite commit: four counters, an effect, a breaker", name, 2.0, CALLS),
        both.row("the same and its settlement: two transactions", name, None, CALLS),
        memory.row("memory: the same commit", name, None, CALLS),
    ]


class Bare:
    """One counter in one row, raised where its limit allows, as a program without callgate would."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None)
        for statement in (
            "PRAGMA journal_mode = WAL",
            "PRAGMA synchronous = FULL",
            "CREATE TABLE budgets (task TEXT PRIMARY KEY, used REAL NOT NULL)",
            "INSERT INTO budgets VALUES ('t', 0)",
        ):
            self._connection.execute(statement)

    def update(self) -> None:
        """Take so many."""
        for _ in range(CALLS):
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.execute("UPDATE budgets SET used = used + 1 WHERE task = ? AND used + 1 <= ?", ("t", 1e9))
            self._connection.execute("COMMIT")


class Commits:
    """Claims that are granted, each with an id of its own.

    They are made before the clock runs, for it is the engine that makes them, and looked at when it has stopped.
    """

    def __init__(self, store: Store, *, effect: bool) -> None:
        self.store = store
        self._effect = effect
        self._claims = iter([self.claim(number) for number in range((REPEATS + 1) * CALLS)])
        self.grants: list[str] = []

    def __call__(self) -> None:
        """Commit so many."""
        for claim in itertools.islice(self._claims, CALLS):
            self.grants.append(self.store.commit(claim, NOW))

    def claim(self, number: int) -> str:
        """A claim as a call has it that creates something."""
        amounts = [{"counter": name, "amount": 1, "limit": 1e9} for name in COUNTERS]
        body: dict[str, Any] = {"id": f"{id(self)}/{number}", "task": "t", "amounts": amounts, "lease": 60}
        if self._effect:
            key = {"key": f"{id(self):x}-{number}", "declared": True, "once": True, "tool": "create_order"}
            # a target of its own, and settled below or never: nothing in flight stands in its way
            body["effect"] = {**key, "target": key["key"], "call": "c", "retain": 86_400}
            body["breakers"] = [BREAKER]
        return json.dumps(body)


class Calls(Commits):
    """The same, each settled with a result."""

    def __init__(self, store: Store) -> None:
        super().__init__(store, effect=True)
        self._calls = [(claim, self._ended(claim)) for claim in self._claims]
        self._calls.reverse()

    def __call__(self) -> None:
        """Commit and settle so many."""
        for _ in range(CALLS):
            claim, ended = self._calls.pop()
            self.grants.append(self.store.commit(claim, NOW))
            self.store.settle(ended, NOW)

    @staticmethod
    def _ended(claim: str) -> str:
        end: dict[str, Any] = {"state": "completed", "result": '{"order": 7}'}
        ended = {"id": json.loads(claim)["id"], "task": "t", "effect": end, "breakers": [[BREAKER["name"], "success"]]}
        return json.dumps(ended)


def measured(commits: Commits, bare: Bare) -> Paired:
    """Ours and the baseline in turns; all claims were granted, for a refusal would cost less.

    Raises:
        AssertionError: one was refused.
    """
    found = paired(commits, bare.update, REPEATS)
    if not all(json.loads(grant)["taken"] for grant in commits.grants):
        raise AssertionError("a claim was refused")
    return found
