"""`callgate.batch.scan`: worked examples, kinds of columns, errors, and a slow obvious model beside it."""

import math
import subprocess
import sys
from array import array
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.batch import ScanResult, Totals, scan, symbols


def as_data(result: ScanResult) -> dict[str, Any]:
    """The whole result as lists and numbers, NaN as None."""

    def plain(columns: Any) -> dict[str, list[Any]]:
        return {
            name: [None if value != value else value for value in column.tolist()]
            for name, column in columns.columns().items()
        }

    rows = None if result.rows is None else plain(result.rows)
    return {"sessions": plain(result.sessions), "totals": result.totals, "rows": rows}


# The slow obvious model: every figure from its definition, by looking at all rows again.


def entropy(part: Sequence[int]) -> float:
    return max(0.0, -sum(n / len(part) * math.log2(n / len(part)) for n in Counter(part).values()))


def period_at(calls: Sequence[int], i: int, max_period: int, laps: int) -> int:
    for period in range(1, max_period + 1):
        start = i + 1 - laps * period
        if start >= 0 and all(calls[j] == calls[j - period] for j in range(start + period, i + 1)):
            return period
    return 0


def longest_run(calls: Sequence[int]) -> int:
    return max(
        n for n in range(1, len(calls) + 1) for i in range(len(calls) - n + 1) if len(set(calls[i : i + n])) == 1
    )


def model(calls: list[int], sessions: list[int], window: int, max_period: int, laps: int) -> dict[str, Any]:
    by_session: dict[int, list[int]] = {}
    for row, session in enumerate(sessions):
        by_session.setdefault(session, []).append(row)
    of_rows: dict[str, list[Any]] = {name: [None] * len(calls) for name in ("repeat", "period", "distinct", "entropy")}
    of_sessions: dict[str, list[Any]] = {}
    for session, rows in by_session.items():
        own = [calls[row] for row in rows]
        windows = [own[max(0, i + 1 - window) : i + 1] for i in range(len(own))]
        periods = [period_at(own, i, max_period, laps) for i in range(len(own))]
        cycle_rows = [i for i, period in enumerate(periods) if period]
        full = [entropy(part) for part in windows if len(part) == window]
        found = {
            "session": session,
            "first_row": rows[0],
            "calls": len(own),
            "repeats": sum(own[i] in own[:i] for i in range(len(own))),
            "longest_run": longest_run(own),
            "highest_count": max(max(Counter(part).values()) for part in windows),
            "cycles": len(cycle_rows),
            "first_cycle_row": rows[cycle_rows[0]] if cycle_rows else -1,
            "first_cycle_period": periods[cycle_rows[0]] if cycle_rows else 0,
            "distinct": len(set(own)),
            "entropy": pytest.approx(entropy(own), abs=1e-9),
            "min_entropy": pytest.approx(min(full), abs=1e-9) if full else None,
        }
        for name, value in found.items():
            of_sessions.setdefault(name, []).append(value)
        for i, row in enumerate(rows):
            of_rows["repeat"][row] = own[i] in own[:i]
            of_rows["period"][row] = periods[i]
            of_rows["distinct"][row] = len(set(windows[i]))
            of_rows["entropy"][row] = pytest.approx(entropy(windows[i]), abs=1e-9)
    return {"sessions": of_sessions, "rows": of_rows}


@st.composite
def recorded_calls(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    """Few symbols in few sessions, so that repeats are the rule, with laps of one pattern thrown in."""
    calls: list[int] = []
    sessions: list[int] = []
    for _ in range(draw(st.integers(1, 5))):
        pattern = draw(st.lists(st.integers(0, 3), min_size=1, max_size=5)) * draw(st.integers(1, 6))
        if draw(st.booleans()):
            owners = [draw(st.integers(-2, 1))] * len(pattern)
        else:
            owners = draw(st.lists(st.integers(-2, 1), min_size=len(pattern), max_size=len(pattern)))
        calls += pattern
        sessions += owners
    return calls, sessions


@given(recorded_calls(), st.integers(1, 12), st.integers(1, 20), st.integers(2, 4))
def test_agrees_with_the_obvious_model(
    recorded: tuple[list[int], list[int]], window: int, max_period: int, laps: int
) -> None:
    calls, sessions = recorded
    found = as_data(scan(calls, sessions, window=window, max_period=max_period, laps=laps, rows=True))
    expected = model(calls, sessions, window, max_period, laps)
    assert found["rows"] == expected["rows"]
    # a session's name is free, also where sessions are numbers below zero
    assert found["sessions"] == expected["sessions"]


def test_a_session_worked_by_hand() -> None:
    # A B A B A B C: the third lap of A B ends at row 5; four rows repeat A or B
    found = as_data(scan([1, 2, 1, 2, 1, 2, 3], [9] * 7, window=4, rows=True))
    whole = pytest.approx(math.log2(7) - 6 * math.log2(3) / 7)
    third = pytest.approx(math.log2(3) - 2 / 3)
    assert found == {
        "sessions": {
            "session": [9],
            "first_row": [0],
            "calls": [7],
            "repeats": [4],
            "longest_run": [1],
            "highest_count": [2],
            "cycles": [1],
            "first_cycle_row": [5],
            "first_cycle_period": [2],
            "distinct": [3],
            "entropy": [whole],
            "min_entropy": [1.0],
        },
        "totals": Totals(
            sessions=1,
            calls=7,
            repeats=4,
            cycles=1,
            cycling_sessions=1,
            distinct=3,
            longest_run=1,
            highest_count=2,
            min_entropy=1.0,
        ),
        "rows": {
            "repeat": [False, False, True, True, True, True, False],
            "period": [0, 0, 0, 0, 0, 2, 0],
            "distinct": [1, 2, 2, 2, 2, 2, 3],
            "entropy": [0.0, 1.0, third, 1.0, 1.0, 1.0, 1.5],
        },
    }


def test_interleaved_sessions_are_judged_one_by_one() -> None:
    # rows of session 5 are all A, those of session 6 B B C
    found = scan([1, 9, 1, 9, 1, 8], [5, 6, 5, 6, 5, 6], rows=True)
    assert found.sessions.session.tolist() == [5, 6]
    assert found.sessions.first_row.tolist() == [0, 1]
    assert found.sessions.repeats.tolist() == [2, 1]
    assert found.sessions.first_cycle_row.tolist() == [4, -1]
    assert found.rows is not None
    assert found.rows.period.tolist() == [0, 0, 0, 0, 1, 0]


def test_no_rows_give_no_sessions() -> None:
    nothing: dict[str, Any] = as_data(scan([], [], rows=True))
    assert set(map(tuple, nothing["sessions"].values())) == {()}
    assert set(map(tuple, nothing["rows"].values())) == {()}
    assert nothing["totals"] == Totals(0, 0, 0, 0, 0, 0, 0, 0, None)


def test_the_number_of_threads_changes_nothing() -> None:
    numpy = pytest.importorskip("numpy", reason="numpy makes the columns of this test")
    random = numpy.random.default_rng(5)
    calls = random.integers(0, 30, 300_000)
    for sessions in (numpy.arange(300_000) // 700, random.integers(0, 900, 300_000)):
        alone = as_data(scan(calls, sessions, threads=1, rows=True))
        assert as_data(scan(calls, sessions, threads=2, rows=True)) == alone
        assert as_data(scan(calls, sessions, threads=11, rows=True)) == alone


def test_a_window_of_a_million_distinct_symbols() -> None:
    million = 1_000_000
    calls = array("q", range(-5, million - 5))
    found = scan(calls, array("b", bytes(million)), window=million, max_period=8)
    assert as_data(found)["sessions"] == {
        "session": [0],
        "first_row": [0],
        "calls": [million],
        "repeats": [0],
        "longest_run": [1],
        "highest_count": [1],
        "cycles": [0],
        "first_cycle_row": [-1],
        "first_cycle_period": [0],
        "distinct": [million],
        "entropy": [pytest.approx(math.log2(million), abs=1e-9)],
        "min_entropy": [pytest.approx(math.log2(million), abs=1e-9)],
    }


CALLS = [3, 1, 3, 3, 1, 7, 7]
OWNERS = [1, 1, 1, 2, 1, 2, 2]


def expected_of_any_kind() -> dict[str, Any]:
    return as_data(scan(CALLS, OWNERS, window=2, rows=True))


@pytest.mark.parametrize("kind", "bBhHiIlLqQ")
def test_every_integer_type_of_the_buffer_protocol_gives_the_same(kind: str) -> None:
    found = scan(array(kind, CALLS), memoryview(array(kind, OWNERS)), window=2, rows=True)
    assert as_data(found) == expected_of_any_kind()


@pytest.mark.parametrize("kind", ["int8", "uint16", "int32", "uint64"])
def test_numpy_columns_give_the_same_also_when_not_contiguous(kind: str) -> None:
    numpy = pytest.importorskip("numpy", reason="this is about numpy columns")
    calls, owners = numpy.array(CALLS, kind), numpy.array(OWNERS, kind)
    assert as_data(scan(calls, owners, window=2, rows=True)) == expected_of_any_kind()
    spread = numpy.repeat(calls, 3)[::3], numpy.repeat(owners, 2)[::2]
    assert as_data(scan(*spread, window=2, rows=True)) == expected_of_any_kind()


def test_arrow_columns_give_the_same_in_chunks_slices_and_dictionaries() -> None:
    arrow = pytest.importorskip("pyarrow", reason="this is about Arrow columns")
    expected = expected_of_any_kind()
    calls, owners = arrow.array([0, *CALLS, 0]).slice(1, 7), arrow.array(OWNERS, arrow.uint8())
    assert as_data(scan(calls, owners, window=2, rows=True)) == expected
    chunked = arrow.chunked_array([CALLS[:2], [], CALLS[2:]], arrow.int64())
    assert as_data(scan(chunked, OWNERS, window=2, rows=True)) == expected
    texts = [f"tool {call}" for call in CALLS]
    for column in (
        arrow.array(texts),
        arrow.chunked_array([texts[:3], texts[3:]]),
        arrow.chunked_array([arrow.array(texts[:3]).dictionary_encode(), arrow.array(texts[3:]).dictionary_encode()]),
        # a dictionary that says "tool 3" twice
        arrow.DictionaryArray.from_arrays([0, 1, 2, 0, 1, 3, 3], ["tool 3", "tool 1", "tool 3", "tool 7"]),
        arrow.array(CALLS).dictionary_encode(),
    ):
        assert as_data(scan(column, OWNERS, window=2, rows=True)) == expected
    assert as_data(scan(arrow.array([], arrow.int64()), [], rows=True)) == as_data(scan([], [], rows=True))


def test_texts_are_numbered_in_order_of_first_appearance() -> None:
    assert symbols(iter(["ls", "cat a", "ls", "", "cat a"])) == array("q", [0, 1, 0, 2, 1])


def test_sessions_keep_their_value_and_sign() -> None:
    assert scan([1, 2], [-1, 5]).sessions.session.tolist() == [-1, 5]
    assert scan([1, 2], array("b", [-1, 5])).sessions.session.tolist() == [-1, 5]
    assert scan([1, 2], [2**64 - 1, 5]).sessions.session.tolist() == [2**64 - 1, 5]


def test_columns_are_memoryviews_where_numpy_is_absent() -> None:
    program = (
        "import sys; sys.modules['numpy'] = None\n"
        "from callgate.batch import scan\n"
        "found = scan([1, 1, 1], [-4, -4, -4], rows=True)\n"
        "columns = [found.sessions.session, found.sessions.min_entropy, found.rows.repeat, found.rows.period]\n"
        "print([type(column).__name__ for column in columns], [column.tolist() for column in columns])\n"
    )
    run = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert run.stdout == (
        "['memoryview', 'memoryview', 'memoryview', 'memoryview'] [[-4], [nan], [False, True, True], [0, 0, 1]]\n"
    )


SQUARE = memoryview(bytes(4)).cast("B", (2, 2))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sessions": [1]}, "`symbols` has 3 rows and `sessions` has 1; give one session per symbol"),
        ({"window": 0}, "`window` must be 1 or more"),
        ({"window": -3}, "`window` must be 1 or more"),
        ({"max_period": 0}, "`max_period` must be from 1 to 65536"),
        ({"max_period": 65_537}, "`max_period` must be from 1 to 65536"),
        ({"laps": 1}, "`laps` must be 2 or more; one lap repeats nothing"),
        ({"threads": 0}, "`threads` must be 1 or more"),
        ({"symbols": [1, 2, 2**64]}, "`symbols` holds integers that fit neither int64 nor uint64"),
        (
            {"sessions": memoryview(bytes(4)).cast("B", (2, 2))},
            "`sessions` has 2 dimensions; give a column, that is one",
        ),
    ],
)
def test_what_is_out_of_range_is_a_value_error(change: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"symbols": [1, 2, 3], "sessions": [1, 1, 1]} | change
    with pytest.raises(ValueError) as raised:
        scan(arguments.pop("symbols"), arguments.pop("sessions"), **arguments)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("column", "found"),
    [
        (array("d", [1.0]), "elements of format `d`"),
        (memoryview(b"\0").cast("?"), "elements of format `?`"),
        (["ls"], "a list with other elements"),
        ("ls", "`str`"),
        (None, "`NoneType`"),
    ],
)
def test_what_holds_no_integers_is_a_type_error(column: Any, found: str) -> None:
    with pytest.raises(TypeError) as raised:
        scan(column, [1])
    assert str(raised.value) == (
        f"`symbols` is {found}, not integers in native byte order; `callgate.batch.symbols` numbers texts"
    )


def test_a_parameter_that_is_no_integer_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="'float' object cannot be interpreted as an integer"):
        scan([1], [1], window=2.5)  # type: ignore[arg-type]


def test_texts_with_another_type_among_them_are_a_type_error() -> None:
    with pytest.raises(TypeError, match="row 1 is of type `NoneType`, not a string"):
        symbols(["ls", None])  # type: ignore[list-item]


def test_numpy_columns_of_other_types_are_refused() -> None:
    numpy = pytest.importorskip("numpy", reason="this is about numpy columns")
    for column in (
        numpy.array(["ls"]),
        numpy.array(["ls"], object),
        numpy.array([1], ">i8"),
        numpy.array(["2024-01-01"], "datetime64[D]"),
    ):
        with pytest.raises(TypeError, match=r"`sessions` is .* not integers in native byte order"):
            scan([1], column)
    with pytest.raises(ValueError, match="`symbols` is a masked array; fill or drop what is masked first"):
        scan(numpy.ma.masked_array([1, 2], [False, True]), [1, 1])


def test_arrow_nulls_and_other_types_are_refused() -> None:
    arrow = pytest.importorskip("pyarrow", reason="this is about Arrow columns")
    with_null = arrow.DictionaryArray.from_arrays([0, 1], ["ls", None])
    for column in (arrow.array([1, None]), arrow.array(["ls", None]), with_null):
        with pytest.raises(ValueError, match="`symbols` has 1 null; fill or drop them first"):
            scan(column, [1, 1])
    with pytest.raises(TypeError, match="`symbols` is an Arrow column of `double`, not integers"):
        scan(arrow.array([1.0]), [1])
