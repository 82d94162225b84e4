"""Every store that ships keeps what `callgate.testing.stores` checks."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from callgate.stores import MemoryStore, SqliteStore, Store, open_store
from callgate.testing.stores import CHECKS, PROCESS_CHECKS, OpenStore
from callgate.testing.stores.processes import share_a_budget


@pytest.fixture(params=["memory", "sqlite"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> OpenStore:
    if request.param == "sqlite":
        return partial(SqliteStore, tmp_path / "callgate.db")
    store = MemoryStore()
    return lambda: store


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_store_keeps(check: Callable[[OpenStore], None], opened: OpenStore) -> None:
    check(opened)


@pytest.mark.parametrize("check", PROCESS_CHECKS, ids=lambda check: check.__name__)
def test_processes_that_share_a_file_keep(check: Callable[[OpenStore], None], tmp_path: Path) -> None:
    check(partial(SqliteStore, tmp_path / "callgate.db", wait=60.0))


def test_a_store_is_named_by_a_path_or_is_one_already(tmp_path: Path) -> None:
    assert isinstance(open_store("memory"), MemoryStore)
    for path in (tmp_path / "a.db", str(tmp_path / "a.db")):
        store = open_store(path)
        assert isinstance(store, SqliteStore)
        assert store.path == str(tmp_path / "a.db")
    memory: Store = MemoryStore()
    assert open_store(memory) is memory
    with pytest.raises(TypeError, match=r"^`store` must be a store or the path of a SQLite file, not int$"):
        open_store(3)  # type: ignore[arg-type]


def test_four_processes_that_are_killed_twenty_times_take_a_budget_and_no_more(tmp_path: Path) -> None:
    opened = partial(SqliteStore, tmp_path / "callgate.db", wait=60.0)
    run = share_a_budget(opened, processes=4, calls=1000, limit=2500, kills=20)
    # what the dead were granted and never heard of is spent
    assert (run.calls, run.used, run.most, run.kills) == (4000, 2500.0, 2500.0, 20)
    assert 2500 - run.kills <= run.told_taken <= 2500
