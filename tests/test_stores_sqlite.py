"""The SQLite store where the world is bad: full disks, damaged and foreign files, forks, clocks that jump."""

import json
import os
import sqlite3
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import pytest

from callgate._core import SharedClaim
from callgate.stores import SqliteStore, StoreError
from callgate.stores.escalations import Escalations
from callgate.stores.sqlite_file import SqliteFile
from callgate.stores.sqlite_format import APPLICATION_ID, VERSION
from callgate.testing.stores.messages import START, answer, claim, settlement, state, taken


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "callgate.db"


def rows(path: Path) -> dict[str, Any]:
    """All rows of a store's tables, as another program reads them."""
    reader = sqlite3.connect(path)
    tables = [name for (name,) in reader.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    found = {table: reader.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall() for table in tables}
    reader.close()
    return found


# Files


def test_what_was_answered_is_synced_to_the_disk_in_wal_mode(path: Path) -> None:
    with SqliteStore(path)._file.transaction("DEFERRED") as run:
        settings = [run(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous", "application_id")]
    assert settings == ["wal", 2, APPLICATION_ID]


def test_a_file_of_the_first_version_is_brought_up_and_keeps_its_escalations(path: Path) -> None:
    from callgate.stores.sqlite_format import _FIRST

    old = sqlite3.connect(path)
    old.executescript(f"PRAGMA journal_mode = WAL; {_FIRST} PRAGMA user_version = 1;")
    old.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    old.execute("INSERT INTO escalations VALUES ('e', 1, 'desk', 't', 5.0, '{}', 'open', NULL, NULL, NULL, NULL, NULL)")
    old.commit()
    store = SqliteStore(path)
    assert [each.id for each in store.escalations.list()] == ["e"]
    assert taken(store, claim("a", limit=1))
    old.close()
    assert [each.id for each in Escalations(path).list()] == ["e"]


def test_processes_that_make_a_file_at_the_same_time_make_one(path: Path) -> None:
    code = (
        "import sys\nfrom callgate.stores import SqliteStore\nfrom callgate.testing.stores.messages import claim\n"
        "store = SqliteStore(sys.argv[1], wait=60)\nprint(store.commit(claim(sys.argv[2], limit=100), 0.0))"
    )
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(path), str(n)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for n in range(6)
    ]
    said = [worker.communicate() for worker in workers]
    assert [json.loads(out)["taken"] for out, _ in said] == [True] * 6
    assert SqliteStore(path).counters("t") == {"tool_calls": 6.0}


def test_a_file_that_a_later_version_wrote_is_told_and_left_alone(path: Path) -> None:
    SqliteStore(path).close()
    later = sqlite3.connect(path)
    later.execute("PRAGMA user_version = 4")
    later.commit()
    with pytest.raises(StoreError, match=r"it has format 4, this version reads 3; use the version of callgate that"):
        SqliteStore(path)
    assert later.execute("PRAGMA user_version").fetchone() == (4,)


def test_a_file_that_is_no_database_is_told_and_left_alone(path: Path) -> None:
    path.write_bytes(b"not a database at all, " * 100)
    with pytest.raises(StoreError, match="it is damaged, or no SQLite file; put it aside and start anew"):
        SqliteStore(path)
    assert path.read_bytes() == b"not a database at all, " * 100


def test_a_file_that_is_damaged_while_it_is_open_is_told(path: Path) -> None:
    store = SqliteStore(path)
    for number in range(50):
        store.commit(claim(f"c{number}", task=f"t{number}", limit=5, key="k" * 500 + str(number)), START)
    store.close()
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (path.stat().st_size - 4096))
    with pytest.raises(StoreError, match="it is damaged, or no SQLite file"):
        for number in range(50):
            store.commit(claim(f"d{number}", task=f"t{number}", limit=5), START)


def test_a_row_that_was_changed_by_hand_is_told_and_nothing_is_taken(path: Path) -> None:
    store = SqliteStore(path)
    taken(store, claim("a", limit=5, key="k"))
    other = sqlite3.connect(path)
    other.execute("UPDATE effects SET entry = '[]'")
    other.commit()
    before = rows(path)
    with pytest.raises(StoreError, match="it was changed by hand, or by another version of callgate"):
        store.commit(claim("b", limit=5, key="k"), START)
    with pytest.raises(StoreError, match="it was changed by hand"):
        store.entries(START)
    assert rows(path) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_told(path: Path) -> None:
    path.parent.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        with pytest.raises(StoreError, match="it cannot be opened; is the folder there, and may you write in it"):
            SqliteStore(path)
    finally:
        path.parent.chmod(stat.S_IRWXU)


READ_ONLY = """
import os, sys
from callgate.stores import SqliteStore, StoreError
from callgate.testing.stores.messages import claim
os.setgroups([]); os.setgid(65534); os.setuid(65534)
try:
    SqliteStore(sys.argv[1]).commit(claim("b", limit=5), 0.0)
except StoreError as error:
    print(error)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
@pytest.mark.parametrize("there", [True, False])
def test_who_may_not_write_in_the_folder_is_told(there: bool) -> None:
    # in a folder that anybody may enter; the tests' own is closed to others
    with tempfile.TemporaryDirectory(prefix="callgate-read-only-") as name:
        folder = Path(name)
        folder.chmod(0o555)
        file = folder / "callgate.db"
        if there:
            taken(SqliteStore(file), claim("a", limit=5))
            file.chmod(0o444)
        done = subprocess.run([sys.executable, "-c", READ_ONLY, str(file)], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        why = "it cannot be written" if there else "it cannot be opened; is the folder there, and may you write in it"
        assert done.stdout == f"cannot use the store `{file}`: {why}\n"


def test_a_disk_that_is_full_takes_nothing_half_and_goes_on_when_there_is_room(path: Path) -> None:
    store = SqliteStore(path)
    taken(store, claim("first", limit=1_000))
    with store._file.transaction() as run:
        [pages] = run("PRAGMA page_count").fetchone()
        run(f"PRAGMA user_version = {VERSION}")  # a write, so that the limit below is of this connection
    with store._file.transaction("DEFERRED") as run:
        run(f"PRAGMA max_page_count = {pages + 2}")
    granted = 1
    with pytest.raises(StoreError, match=r"there is no room left on the disk"):
        for number in range(1_000):
            before = rows(path)
            granted += taken(store, claim(f"c{number}", limit=1_000, key=f"{number}" + "k" * 500, target=str(number)))
    assert rows(path) == before
    assert store.counters("t") == {"tool_calls": float(granted)}
    with store._file.transaction("DEFERRED") as run:
        run("PRAGMA max_page_count = 1073741823")
    assert taken(store, claim(f"c{granted - 1}", limit=1_000, key="last"))
    assert store.counters("t") == {"tool_calls": float(granted + 1)}


def test_a_write_that_fails_half_way_is_taken_back_whole(path: Path) -> None:
    store = SqliteStore(path)
    taken(store, claim("a", limit=5))
    with store._file.transaction() as run:
        run(
            "CREATE TRIGGER fail BEFORE INSERT ON effects WHEN NEW.key = 'bad'"
            " BEGIN SELECT RAISE(ABORT, 'the disk of this test is broken'); END"
        )
    before = rows(path)
    with pytest.raises(StoreError, match="the disk of this test is broken"):
        store.commit(claim("b", limit=5, key="bad"), START)
    assert rows(path) == before
    assert taken(store, claim("b", limit=5, key="good"))


@pytest.mark.parametrize("what", ["deleted", "replaced"])
def test_a_file_that_is_taken_away_while_it_is_used_is_told_and_nothing_is_granted(path: Path, what: str) -> None:
    store = SqliteStore(path)
    taken(store, claim("a", limit=1))
    aside = path.with_name("aside.db")
    path.rename(aside)
    if what == "replaced":
        path.touch()
    for _ in range(2):
        with pytest.raises(StoreError, match="it was moved or deleted while it was in use"):
            store.commit(claim("b", limit=1), START)
    aside.replace(path)
    assert not taken(store, claim("c", limit=1))
    assert store.counters("t") == {"tool_calls": 1.0}


# Locks


def test_a_file_that_another_process_holds_is_waited_for_and_then_told(path: Path) -> None:
    store = SqliteStore(path, wait=0.05)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match=r"another process has held it locked for 0.05 s; try again"):
        store.commit(claim("a", limit=1), START)
    assert store.counters("t") == {}, "to read is no reason to wait"
    other.execute("ROLLBACK")
    assert taken(store, claim("a", limit=1))


def test_who_waits_goes_on_as_soon_as_the_other_is_done(path: Path) -> None:
    store = SqliteStore(path, wait=60.0)
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    done: list[bool] = []
    waiter = threading.Thread(target=lambda: done.append(taken(store, claim("a", limit=1))))
    waiter.start()
    other.execute("COMMIT")
    waiter.join()
    assert done == [True]


# Forks, closing, the end


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_store_may_be_held_across_a_fork(path: Path) -> None:
    code = (
        "import os, sys, threading\n"
        "from callgate.stores import SqliteStore\n"
        "from callgate.testing.stores.messages import claim\n"
        "store = SqliteStore(sys.argv[1])\n"
        "store.commit(claim('parent', limit=100), 0.0)\n"
        "held = store._file._lock\n"
        "held.acquire()  # as another thread does that is in a transaction just now\n"
        "children = []\n"
        "for n in range(3):\n"
        "    child = os.fork()\n"
        "    if child == 0:\n"
        "        for m in range(20):\n"
        "            store.commit(claim(f'{n}-{m}', limit=100), 0.0)\n"
        "        os._exit(0)\n"
        "    children.append(child)\n"
        "held.release()\n"
        "for m in range(20):\n"
        "    store.commit(claim(f'parent-{m}', limit=100), 0.0)\n"
        "print([os.waitpid(child, 0)[1] for child in children], store.counters('t'))\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[0, 0, 0] {'tool_calls': 81.0}\n", "")
    check = sqlite3.connect(path)
    assert check.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_store_that_was_closed_opens_again_and_leaves_one_file(path: Path) -> None:
    store = SqliteStore(path)
    taken(store, claim("a", limit=2))
    store.close()
    store.close()
    assert [file.name for file in path.parent.iterdir()] == ["callgate.db"]
    assert [taken(store, claim(name, limit=2)) for name in "bc"] == [True, False]


def test_a_store_that_is_closed_while_threads_use_it_fails_none_of_them(path: Path) -> None:
    store = SqliteStore(path)
    stop = threading.Event()
    errors: list[Exception] = []

    def work(name: str) -> None:
        try:
            for number in range(40):
                taken(store, claim(f"{name}{number}", limit=1_000))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        store.close()
    for thread in threads:
        thread.join()
    stop.set()
    assert errors == []
    assert store.counters("t") == {"tool_calls": 120.0}


def test_an_exception_in_the_middle_leaves_the_file_free(path: Path) -> None:
    file = SqliteFile(path)
    with pytest.raises(KeyboardInterrupt), file.transaction() as run:
        run("INSERT INTO sessions VALUES ('s', 1, 'x')")
        raise KeyboardInterrupt
    assert rows(path)["sessions"] == []
    assert taken(SqliteStore(path, wait=0.05), claim("a", limit=1))


# Times


def test_a_clock_that_jumps_makes_leases_end_early_or_late_and_never_an_effect_new(path: Path) -> None:
    store = SqliteStore(path)
    taken(store, claim("a", key="k"))
    assert state(store, claim("b", key="k"), START - 1e6) == "in_flight"
    assert state(store, claim("c", key="k"), START + 1e6) == "unknown"
    assert state(store, claim("d", key="k"), START - 1e6) == "unknown"
    store.settle(settlement("a", effect="completed", result=1), START - 2e6)
    assert state(store, claim("e", key="k"), START + 1e6) == "completed"


def test_what_need_not_be_known_any_more_is_cleared_away_and_the_rest_is_not(path: Path) -> None:
    store = SqliteStore(path)
    taken(store, claim("doubt", key="doubt", target="x"))
    taken(store, claim("kept", key="kept", target="y", retain=None))
    store.settle(settlement("kept", effect="completed"), START)
    for number in range(100):
        taken(store, claim(f"c{number}", key=f"k{number}", target=f"{number}", retain=60))
        store.settle(settlement(f"c{number}", effect="completed"), START)
    later = START + 1e6
    for number in range(256):
        store.release(f"r{number}", "t", later)
    left = rows(path)
    assert [row[0] for row in left["effects"]] == ["doubt", "kept"]
    assert not [row for row in left["claims"] if row[0].startswith("c")]


def test_tasks_that_ended_long_ago_are_pruned_and_live_ones_are_kept_whole(path: Path) -> None:
    store = SqliteStore(path)
    store.settle(settlement("1", deny=["d"], amounts=[{"counter": "steps", "amount": 1}]), START)
    store.settle(settlement("2", task="u", deny=["d"], amounts=[{"counter": "steps", "amount": 1}]), START)
    store.settle(settlement("3", task="u", amounts=[{"counter": "cost", "amount": 1}]), START + 100)
    assert store.prune(START + 50) == 2
    assert (store.counters("t"), store.counters("u")) == ({}, {"steps": 1.0, "cost": 1.0})
    assert answer(store, claim("c", task="u", denials=("d",)))["denied"] == "d"


# Agreement


def test_rows_that_are_missing_are_rows_of_nothing() -> None:
    grant, changes = SharedClaim(claim("a", limit=3)).commit([], START)
    assert json.loads(grant)["counts"] == {"tool_calls": 1.0}
    assert (changes.counters, changes.gone, changes.entries) == ('{"tool_calls":1.0}', [], [])
