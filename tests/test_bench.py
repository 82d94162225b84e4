"""The frame of the measurements, and that a baseline does the same work as what is measured against it."""

import pytest

from bench.__main__ import names, table
from bench.row import Paired, Row, paired


def test_a_ratio_is_the_median_of_pairs_and_not_of_medians() -> None:
    # pairs 1/2, 4/4, 9/3
    row = Paired(ours=[1.0, 4.0, 9.0], baseline=[2.0, 4.0, 3.0]).row("sort", "sorted", bar=0.9, calls=10)
    assert row == Row("sort", 0.4, "sorted", 0.3, ratio=1.0, spread=(0.5, 3.0), bar=0.9)
    assert row.met is False


def test_pairs_take_turns_in_going_first() -> None:
    order: list[str] = []
    times = paired(lambda: order.append("ours"), lambda: order.append("other"), repeats=2)
    assert order == ["ours", "other", "ours", "other", "other", "ours"]
    assert (len(times.ours), len(times.baseline)) == (2, 2)


def test_the_table_says_which_bars_are_met() -> None:
    rows = [Row("a", 2.5e-7, "b", 1.0, 0.25, (0.2, 0.3), 0.5), Row("long name", 0.012, "b", 3.0, 2.0, (1.0, 2.5))]
    assert table(rows).splitlines() == [
        "what       ours    baseline  of it  ratio   p10–p90      bar   met?",
        "---------  ------  --------  -----  ------  -----------  ----  ----",
        "a          250 ns  b         1 s    0.250×  0.200–0.300  0.5×  yes",
        "long name  12 ms   b         3 s    2.000×  1.000–2.500  –     –",
    ]


def test_batch_is_among_the_measurements() -> None:
    assert "batch" in names()


@pytest.mark.parametrize("windowed", [True, False])
def test_the_numpy_baseline_of_batch_gives_what_scan_gives(windowed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numpy", reason="the baseline is numpy")
    from bench import bench_batch

    monkeypatch.setattr(bench_batch, "ROWS", 30_000)
    columns = bench_batch.agents()
    found = bench_batch.ours(columns)
    assert found.totals.cycles > 0
    bench_batch.check(found, bench_batch.numpy_scan(columns, windowed=windowed))
