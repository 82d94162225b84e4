"""`callgate.batch.scan` against numpy, vectorised as well as we know how.

Both get the same columns of 10 million 64-bit symbols and sessions, sessions adjacent, and must give the same result
(checked before the clock runs). The numpy version exists in two extents: all columns that `scan` gives per session, the
windowed ones included, and whole sessions alone (repeats, cycles, distinct, entropy), which is less than `scan` does.
"""

import dataclasses
from typing import Any

import numpy as np

from callgate.batch import ScanResult, scan

from .row import Row, paired

ROWS = 10_000_000
WINDOW, MAX_PERIOD, LAPS = 50, 8, 3
ONE = 2.0**32


@dataclasses.dataclass(frozen=True)
class Columns:
    symbols: Any
    sessions: Any


def agents() -> Columns:
    """Sessions of 10 to 400 calls over 64-bit symbols, some common, most rare; one in ten ends in a cycle."""
    random = np.random.default_rng(11)
    lengths = random.integers(10, 400, ROWS // 200)
    sessions = np.repeat(np.arange(len(lengths)), lengths)[:ROWS]
    sessions = np.concatenate([sessions, np.full(ROWS - len(sessions), len(lengths))])
    names = random.integers(0, 2**64, 1_000_000, np.uint64)
    symbols = names[np.minimum(random.zipf(1.2, ROWS), len(names)) - 1]
    starts = np.flatnonzero(np.diff(sessions, prepend=-1))
    for start, end in zip(starts[::10], [*starts[1::10], ROWS], strict=False):
        tail = min(30, end - start)
        symbols[end - tail : end] = symbols[end - tail + np.arange(tail) % random.integers(1, 9)]
    return Columns(symbols, sessions)


def all_distinct() -> Columns:
    """One session in which no symbol comes twice: a single thread, and no cache holds the counts."""
    symbols = np.random.default_rng(12).permutation(ROWS).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return Columns(symbols, np.zeros(ROWS, np.int64))


def numpy_scan(columns: Columns, *, windowed: bool) -> dict[str, Any]:
    """Give the columns of `scan` per session by sorting and shifting.

    A row becomes one integer, (session, code of the symbol, position): sorting those is numpy's fastest way to bring
    equal symbols of a session together, and keeps their order.
    """
    rows = len(columns.symbols)
    new_session = np.empty(rows, bool)
    new_session[:1] = True
    np.not_equal(columns.sessions[1:], columns.sessions[:-1], out=new_session[1:])
    starts = np.flatnonzero(new_session)
    lengths = np.diff(starts, append=rows)
    session = np.cumsum(new_session) - 1
    codes = numpy_codes(columns.symbols)
    code_bits, row_bits = int(codes.max()).bit_length(), (rows - 1).bit_length()
    assert len(starts).bit_length() + code_bits + row_bits < 64
    key = (session << code_bits) | codes
    result = numpy_cycles(key, session, starts)

    ordered = np.sort(key) if not windowed else np.sort((key << row_bits) | np.arange(rows))
    groups = ordered if not windowed else ordered >> row_bits
    group_starts = np.flatnonzero(np.diff(groups, prepend=-1))
    counts = np.diff(group_starts, append=rows)
    of_session = groups[group_starts] >> code_bits
    distinct = np.bincount(of_session, minlength=len(starts))
    weight = np.bincount(of_session, counts * np.log2(counts), len(starts))
    result |= {
        "session": columns.sessions[starts],
        "first_row": starts,
        "calls": lengths,
        "repeats": lengths - distinct,
        "distinct": distinct,
        "entropy": np.log2(lengths) - weight / lengths,
    }
    if windowed:
        result |= numpy_window(ordered, row_bits, group_starts, counts, starts, lengths)
    return result


def numpy_codes(symbols: Any) -> Any:
    """Give equal symbols equal numbers, as `np.unique(symbols, return_inverse=True)` does, several times as fast.

    An argsort of 10 million rows misses the caches all the way; sorting the upper bits of the symbol, which are random,
    with the row in the lower bits does not. Symbols that share their upper bits are few and numbered in the slow way.
    """
    rows = len(symbols)
    row_bits = np.uint64((1 << (rows - 1).bit_length()) - 1)
    ordered = np.sort((symbols & ~row_bits) | np.arange(rows, dtype=np.uint64))
    row = (ordered & row_bits).astype(np.int64)
    ordered &= ~row_bits
    new = np.empty(rows, bool)
    new[:1] = True
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    code = np.cumsum(new) - 1
    codes = np.empty(rows, np.int64)
    codes[row] = code
    value = symbols[row]
    shared = np.zeros(int(code[-1]) + 1, bool)
    shared[code[1:][(value[1:] != value[:-1]) & ~new[1:]]] = True
    few = row[shared[code]]
    codes[few] = len(shared) + np.unique(symbols[few], return_inverse=True)[1]
    return codes


def numpy_cycles(key: Any, session: Any, starts: Any) -> dict[str, Any]:
    """Find cycles and runs. `key` is equal exactly for equal symbols of one session."""
    rows = len(key)
    period = np.zeros(rows, np.int8)
    for lag in range(MAX_PERIOD, 0, -1):
        equal = np.zeros(rows, bool)
        np.equal(key[lag:], key[:-lag], out=equal[lag:])
        # true where the last `needed` rows were equal to those a lag before: and-ing doubles the reach each time
        needed, reach = (LAPS - 1) * lag, 1
        if lag == 1:
            changes = np.flatnonzero(~equal)
            runs = np.diff(changes, append=rows)
            longest = np.maximum.reduceat(runs, np.searchsorted(changes, starts))
        while reach < needed:
            step = min(reach, needed - reach)
            further = equal.copy()
            further[step:] &= equal[:-step]
            further[:step] = False
            equal, reach = further, reach + step
        period[equal] = lag
    hits = np.flatnonzero(period)
    cycles = np.bincount(session[hits], minlength=len(starts))
    first = np.full(len(starts), -1)
    first[session[hits[::-1]]] = hits[::-1]
    return {
        "longest_run": longest,
        "cycles": cycles,
        "first_cycle_row": first,
        "first_cycle_period": np.where(first < 0, 0, period[first]),
    }


def numpy_window(ordered: Any, row_bits: int, group_starts: Any, counts: Any, starts: Any, lengths: Any) -> Any:
    """Find the highest count and the lowest entropy of a window, from rows sorted by (session, symbol, position)."""
    rows = len(ordered)
    rank = np.arange(rows)
    group_start, group_end = np.repeat(group_starts, counts), np.repeat(group_starts + counts, counts)
    # a symbol's count just after it came in, and just before it goes out
    entering = rank - np.maximum(np.searchsorted(ordered, ordered - (WINDOW - 1)), group_start) + 1
    leaving = np.minimum(np.searchsorted(ordered, ordered + (WINDOW - 1), side="right"), group_end) - rank
    highest = np.maximum.reduceat(entering, starts)
    table = np.arange(WINDOW + 1, dtype=float)
    table[1:] = np.rint(table[1:] * np.log2(table[1:]) * ONE)
    steps = np.diff(table.astype(np.int64), prepend=0)
    position = ordered & ((1 << row_bits) - 1)
    change = np.empty(rows, np.int64)
    change[position] = steps[entering]
    gone = np.empty(rows, np.int64)
    gone[position] = steps[leaving]
    # what leaves belongs to the row `WINDOW` later, if that is of the same session
    place_in_session = rank - np.repeat(starts, lengths)
    late = place_in_session >= WINDOW
    change[late] -= gone[np.flatnonzero(late) - WINDOW]
    weight = np.cumsum(change)
    weight -= np.repeat(weight[starts] - change[starts], lengths)
    heaviest = np.maximum.reduceat(np.where(place_in_session >= WINDOW - 1, weight, -1), starts)
    bits = np.log2(WINDOW) - heaviest / (WINDOW * ONE)
    return {"highest_count": highest, "min_entropy": np.where(heaviest < 0, np.nan, bits)}


def check(found: ScanResult, expected: dict[str, Any]) -> None:
    """Both give the same, or the row would compare different work."""
    for name, column in expected.items():
        np.testing.assert_allclose(getattr(found.sessions, name), column, rtol=0, atol=1e-6, err_msg=name)


def ours(columns: Columns, threads: int | None = None) -> ScanResult:
    return scan(columns.symbols, columns.sessions, window=WINDOW, max_period=MAX_PERIOD, laps=LAPS, threads=threads)


def rows() -> list[Row]:
    """Measure."""
    table = []
    columns = agents()
    check(ours(columns), numpy_scan(columns, windowed=True))
    check(ours(columns), numpy_scan(columns, windowed=False))
    for what, windowed, threads, bar in (
        ("batch.scan, 10M rows", True, None, 0.1),
        ("batch.scan, 10M rows, one thread", True, 1, None),
        ("batch.scan, 10M rows, against less", False, None, None),
    ):
        baseline = "numpy, the same columns" if windowed else "numpy, no windows"
        times = paired(
            lambda threads=threads: ours(columns, threads),
            lambda windowed=windowed: numpy_scan(columns, windowed=windowed),
            repeats=3 if threads else 5,
        )
        table.append(times.row(what, baseline, bar))
    columns = all_distinct()
    check(ours(columns), numpy_scan(columns, windowed=True))
    times = paired(lambda: ours(columns), lambda: numpy_scan(columns, windowed=True), repeats=3)
    table.append(times.row("batch.scan, 10M rows, one session, all distinct", "numpy, the same columns"))
    return table
