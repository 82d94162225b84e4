"""Every store that ships keeps what `callgate.testing.stores` checks."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from callgate.stores import MemoryStore, SqliteStore, Store, open_store
from callgate.testing.stores import CHECKS, PROCESS_CHECKS, OpenStore


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
