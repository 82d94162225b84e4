"""Files of earlier formats: they are brought up when they are opened, whole, and nothing that they hold is lost."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from callgate.stores import SqliteStore
from callgate.stores.sqlite_format import APPLICATION_ID, VERSION

NOW = 1_700_000_000.0
SUM = 0.1 + 0.2  # 0.30000000000000004: a number that 15 digits do not tell
AMOUNTS = [["tool_calls", 1.0], ["cost", SUM]]
BREAKER = {"failures": 3, "opened": None, "open_for": 0.0, "period": 2, "probes": {}}

# as the second version made it
SECOND = """
CREATE TABLE escalations (id TEXT PRIMARY KEY, number INTEGER NOT NULL, queue TEXT NOT NULL, task TEXT NOT NULL,
    created REAL NOT NULL, report TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('open', 'claimed', 'resolved')),
    claimed_by TEXT, claimed_at REAL, resolved_by TEXT, resolved_at REAL, resolution TEXT) STRICT;
CREATE INDEX by_state ON escalations (state, queue, number);
CREATE TABLE counters (task TEXT NOT NULL, counter TEXT NOT NULL, used REAL NOT NULL, changed REAL NOT NULL,
    PRIMARY KEY (task, counter)) STRICT, WITHOUT ROWID;
CREATE TABLE effects (key TEXT PRIMARY KEY, task TEXT NOT NULL, tool TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('in_flight', 'completed', 'unknown')),
    owner TEXT NOT NULL, began REAL NOT NULL, blocks_from REAL, retain_until REAL, entry TEXT NOT NULL) STRICT;
CREATE INDEX effects_blocking ON effects (task, tool, blocks_from) WHERE blocks_from IS NOT NULL;
CREATE INDEX effects_kept ON effects (retain_until) WHERE retain_until IS NOT NULL;
CREATE TABLE breakers (name TEXT PRIMARY KEY, breaker TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE denials (task TEXT NOT NULL, denial TEXT NOT NULL, changed REAL NOT NULL, PRIMARY KEY (task, denial))
    STRICT, WITHOUT ROWID;
CREATE TABLE claims (id TEXT PRIMARY KEY, task TEXT NOT NULL, keep_until REAL NOT NULL, hold TEXT NOT NULL)
    STRICT, WITHOUT ROWID;
CREATE INDEX claims_kept ON claims (keep_until);
CREATE TABLE sessions (id TEXT PRIMARY KEY, version INTEGER NOT NULL, text TEXT NOT NULL) STRICT, WITHOUT ROWID;
PRAGMA user_version = 2;
"""


def effect(key: str) -> dict[str, Any]:
    keys = {"key": key, "declared": True, "once": True, "tool": "pay", "target": key, "call": f"call of {key}"}
    return {**keys, "verify": None}


def entry(key: str, state: str, **more: Any) -> dict[str, Any]:
    ended = {"ended": None, "retain": 60.0, "retain_until": None, "result": None, "checked": 0, "by": None}
    times = {"began": NOW, "lease_until": NOW + 30, **ended, "doubt": None, "waived": False}
    return {**effect(key), "task": "t", "state": state, "owner": f"claim of {key}", **times, **more}


def hold(key: str) -> dict[str, Any]:
    name = f"claim of {key}"
    grant = {"id": name, "taken": True, "short": [], "counts": {}, "effect": {"state": "new"}, "open": []}
    return {
        "id": name,
        "task": "t",
        "lease_until": NOW + 30,
        "keep_until": NOW + 3630,
        "ended": False,
        "amounts": AMOUNTS,
        "effect": {**effect(key), "retain": 60.0, "again": False, "resend": False},
        "passages": {"tool:pay": {"period": 2, "probe": False, "failures": 5, "open_for": 30.0}},
        "grant": {**grant, "denied": None},
    }


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file that the second version has written."""
    path = tmp_path / "callgate.db"
    old = sqlite3.connect(path)
    old.execute("PRAGMA journal_mode = WAL")
    old.executescript(SECOND)
    old.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    counters = [("t", "cost", SUM, 5.0), ("t", "tool_calls", 3.0, 9.0), ("u", "steps", 1.0, 2.0)]
    old.executemany("INSERT INTO counters VALUES (?, ?, ?, ?)", counters)
    entries = [
        (entry("out", "in_flight"), NOW + 30, None),
        (entry("done", "completed", ended=NOW, retain_until=NOW + 60, result="7"), None, NOW + 60),
        (entry("lost", "unknown", ended=NOW + 1, checked=2), -1.7976931348623157e308, None),
    ]
    for text, blocks_from, retain_until in entries:
        row = (text["key"], "t", "pay", text["state"], text["owner"], NOW, blocks_from, retain_until, json.dumps(text))
        old.execute("INSERT INTO effects VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
    claim = hold("out")
    old.execute("INSERT INTO claims VALUES (?, 't', ?, ?)", (claim["id"], claim["keep_until"], json.dumps(claim)))
    old.execute("INSERT INTO breakers VALUES ('tool:pay', ?)", (json.dumps(BREAKER),))
    old.execute("INSERT INTO denials VALUES ('t', 'tool:mail', 4.0)")
    old.execute("INSERT INTO sessions VALUES ('s', 3, 'a snapshot')")
    old.execute("INSERT INTO escalations VALUES ('e', 1, 'd', 't', 5.0, '{}', 'open', NULL, NULL, NULL, NULL, NULL)")
    old.commit()
    old.close()
    return path


def ask(store: SqliteStore, claim_id: str, key: str, **more: Any) -> Any:
    claim = {"id": claim_id, "task": "t", "effect": {**effect(key), "retain": 60.0}, "lease": 30, **more}
    return json.loads(store.commit(json.dumps(claim), NOW + 2))


def version(path: Path) -> Any:
    reader = sqlite3.connect(path)
    [found] = reader.execute("PRAGMA user_version").fetchone()
    check = reader.execute("PRAGMA integrity_check").fetchone()
    reader.close()
    return found, check


def test_everything_that_it_holds_is_there(path: Path) -> None:
    store = SqliteStore(path)
    assert (store.counters("t"), store.counters("u")) == ({"cost": SUM, "tool_calls": 3.0}, {"steps": 1.0})
    found = {each.key: (each.state, each.result, each.checked) for each in store.entries(NOW + 2)}
    assert found == {"out": ("in_flight", None, 0), "done": ("completed", 7, 0), "lost": ("unknown", None, 2)}
    session = store.get_session("s")
    assert session is not None and (session.version, session.text) == (3, "a snapshot")
    assert [each.id for each in store.escalations.list()] == ["e"]
    assert version(path) == (VERSION, ("ok",))


def test_what_it_knows_of_effects_and_denials_still_holds(path: Path) -> None:
    store = SqliteStore(path)
    states = {key: ask(store, f"new {key}", key)["effect"]["state"] for key in ("out", "done", "lost")}
    assert states == {"out": "in_flight", "done": "completed", "lost": "unknown"}
    assert ask(store, "other", "other", denials=["tool:mail"])["denied"] == "tool:mail"


def test_a_claim_that_is_held_counts_once_and_can_be_settled(path: Path) -> None:
    store = SqliteStore(path)
    again = ask(store, "claim of out", "out")
    assert (again["id"], again["taken"], again["effect"]) == ("claim of out", True, {"state": "new"})
    end = {"state": "completed", "result": "8"}
    settlement = {"id": "claim of out", "task": "t", "effect": end, "breakers": [["tool:pay", "failure"]]}
    assert store.settle(json.dumps(settlement), NOW + 3)
    assert ask(store, "later", "out")["effect"] == {"state": "completed", "at": NOW + 3, "result": "8"}
    reader = sqlite3.connect(path)
    [(breaker,)] = reader.execute("SELECT breaker FROM breakers").fetchall()
    reader.close()
    assert json.loads(breaker)["failures"] == 4


def test_what_is_given_back_is_what_was_taken(path: Path) -> None:
    store = SqliteStore(path)
    assert store.release("claim of out", "t", NOW + 3)
    assert store.counters("t") == {"cost": 0.0, "tool_calls": 2.0}
    assert ask(store, "later", "out")["effect"] == {"state": "new"}


def test_tasks_are_pruned_by_when_they_last_changed(path: Path) -> None:
    store = SqliteStore(path)
    assert store.prune(6.0) == 1
    assert (store.counters("t"), store.counters("u")) == ({"cost": SUM, "tool_calls": 3.0}, {})


def test_a_step_that_fails_changes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from callgate.stores import sqlite_format

    def fail(connection: sqlite3.Connection) -> None:
        raise sqlite3.OperationalError("the disk of this test is broken")

    steps = sqlite_format._STEPS
    monkeypatch.setattr(sqlite_format, "_STEPS", (*steps[:-1], (*steps[-1], fail)))
    with pytest.raises(Exception, match="the disk of this test is broken"):
        SqliteStore(path)
    assert version(path) == (2, ("ok",))
    monkeypatch.undo()
    assert SqliteStore(path).counters("t") == {"cost": SUM, "tool_calls": 3.0}
