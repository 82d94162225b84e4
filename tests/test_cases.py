"""The cases: runs that real tools got wrong, as policy tests, through the runner of `callgate test`."""

from pathlib import Path

from callgate.testing import run_tests


def test_every_case_passes(shared: Path) -> None:
    run = run_tests([shared / "cases"])
    told = [(each.name, [missed.failure for missed in each.missed], each.diagnostics) for each in run.results]
    assert [each for each in told if each[1] or each[2]] == []
    assert ([each.outcome for each in run.results], list(run.diagnostics)) == (["passed"] * 27, [])
