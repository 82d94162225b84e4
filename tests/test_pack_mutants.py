"""The tests of the shipped packs: they exercise all that the packs write, and notice most small mistakes in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from callgate.testing import run_tests
from callgate.testing.mutate import Draw

# All of their mutants are tried in a few seconds; of the others so many that each test run stays quick.
SMALL = ["browser", "coding-agent", "control", "files", "http", "mail", "order-lookup", "payments", "tickets"]
LARGE = ["default", "procurement", "shell", "sql", "strict", "web-search"]
LEAST = 0.85


def test_every_pack_is_counted(root: Path) -> None:
    packs = {path.parent.name for path in (root / "policies").glob("*/policy.yaml")}
    assert packs == {*SMALL, *LARGE}


@pytest.mark.parametrize("pack", [*SMALL, *LARGE])
def test_all_that_a_pack_writes_is_exercised(pack: str, root: Path) -> None:
    run = run_tests([root / "policies" / pack], coverage=True)
    assert run.passed
    assert run.coverage is not None
    assert run.coverage.missing == []


@pytest.mark.parametrize("pack", SMALL)
def test_the_mutants_of_a_pack_are_noticed(pack: str, root: Path) -> None:
    run = run_tests([root / "policies" / pack], mutation=Draw())
    assert run.mutation is not None
    assert run.mutation.score >= LEAST, run.mutation.survivors


@pytest.mark.parametrize("pack", LARGE)
def test_mutants_drawn_of_a_large_pack_are_noticed(pack: str, root: Path) -> None:
    run = run_tests([root / "policies" / pack], mutation=Draw(8, seed=1))
    assert run.mutation is not None
    assert run.mutation.score >= 0.5, run.mutation.survivors  # eight are too few for the bar itself


@pytest.mark.slow
@pytest.mark.parametrize("pack", LARGE)
def test_the_mutants_of_a_large_pack_are_noticed_and_the_page_names_the_rest(pack: str, root: Path) -> None:
    run = run_tests([root / "policies" / pack], mutation=Draw())
    assert run.mutation is not None
    assert run.mutation.score >= LEAST, run.mutation.survivors
    page = (root / "docs" / "pack-mutants.md").read_text()
    for each in run.mutation.survivors:
        place = Path(each.file).resolve().relative_to(root).as_posix()
        assert f"| `{place}` | `{each.pointer}` | `{each.was}` | `{each.now}` |" in page
