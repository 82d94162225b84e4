"""Scans millions of recorded calls for repeats, cycles, distinct symbols and entropy, session by session.

A row is one call: a symbol that stands for "the same call" (a fingerprint's 64 bits, a code of a dictionary) and the
session it belongs to. The work is done in Rust, without the GIL and on all cores; `docs/batch.md` defines every term
with an example worked by hand.
"""

import dataclasses
import importlib
import operator
import secrets
from array import array
from collections.abc import Iterable, Iterator
from typing import Any, Literal, Protocol, TypeVar

from callgate._core import batch_scan
from callgate.counted import counted

__all__ = ["Column", "Rows", "ScanResult", "Sessions", "Totals", "scan", "symbols"]

_INTEGERS = frozenset("bBhHiIlLqQnN")
_ARROW_INTEGERS: dict[str, Literal["b", "h", "i", "q", "B", "H", "I", "Q"]] = {
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "uint8": "B",
    "uint16": "H",
    "uint32": "I",
    "uint64": "Q",
}
_MOST = 0x7FFF_FFFF  # above the most rows that a scan takes, so a window of it and one of more are the same

_T_co = TypeVar("_T_co", covariant=True)


class Column(Protocol[_T_co]):
    """A read-only column: a numpy array where numpy is installed, else a memoryview of the same elements."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[_T_co]: ...
    def __getitem__(self, index: int, /) -> _T_co: ...
    def tolist(self) -> list[Any]:
        """Give the elements as Python numbers."""
        ...


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Columns:
    """Columns of one length."""

    def columns(self) -> dict[str, Column[Any]]:
        """Give the columns by name, as `pyarrow.table` and `pandas.DataFrame` take them."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Sessions(_Columns):
    """One entry a session, in order of first appearance. Counts are int64, entropies float64.

    Attributes:
        session: the session's value in the input, int64 or uint64 as that was.
        first_row: its first row.
        calls: number of its rows.
        repeats: rows whose symbol was seen before in the session; `calls - distinct`.
        longest_run: most neighbouring rows of the session with one symbol.
        highest_count: most rows with one symbol within any `window` rows of the session.
        cycles: rows that end `laps` laps or more of a period up to `max_period`.
        first_cycle_row: the first such row, -1 if there is none.
        first_cycle_period: its smallest period, 0 if there is none.
        distinct: distinct symbols.
        entropy: Shannon entropy of the session's symbols, in bits.
        min_entropy: lowest entropy of a full window, in bits; NaN for a session shorter than the window.
    """

    session: Column[int]
    first_row: Column[int]
    calls: Column[int]
    repeats: Column[int]
    longest_run: Column[int]
    highest_count: Column[int]
    cycles: Column[int]
    first_cycle_row: Column[int]
    first_cycle_period: Column[int]
    distinct: Column[int]
    entropy: Column[float]
    min_entropy: Column[float]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Rows(_Columns):
    """One entry a row, in the order of the input. A window is the row and the `window - 1` before it in its session.

    Attributes:
        repeat: bool; the symbol was seen before in the session.
        period: uint32; smallest period of which the row ends `laps` laps or more, 0 if none.
        distinct: uint32; distinct symbols in the window, shorter at a session's start.
        entropy: float64; Shannon entropy of that window, in bits.
    """

    repeat: Column[bool]
    period: Column[int]
    distinct: Column[int]
    entropy: Column[float]


@dataclasses.dataclass(frozen=True, slots=True)
class Totals:
    """All sessions together.

    Attributes:
        sessions: number of sessions.
        calls: number of rows.
        repeats: sum of the sessions' repeats.
        cycles: sum of the sessions' cycle rows.
        cycling_sessions: sessions with a cycle row.
        distinct: sum of the sessions' distinct symbols (one symbol in two sessions counts twice).
        longest_run: longest run of any session.
        highest_count: highest windowed count of any session.
        min_entropy: lowest entropy of any full window, in bits; `None` where no session fills one.
    """

    sessions: int
    calls: int
    repeats: int
    cycles: int
    cycling_sessions: int
    distinct: int
    longest_run: int
    highest_count: int
    min_entropy: float | None


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class ScanResult:
    """What a scan found.

    Attributes:
        sessions: columns with one entry a session.
        totals: sums and extremes of those.
        rows: columns with one entry a row, if they were asked for.
    """

    sessions: Sessions
    totals: Totals
    rows: Rows | None


def scan(
    symbols: Any,
    sessions: Any,
    *,
    window: int = 50,
    max_period: int = 8,
    laps: int = 3,
    threads: int | None = None,
    rows: bool = False,
) -> ScanResult:
    """Scan columns of calls, each session by itself.

    Rows keep their order; a session's rows need not be adjacent (adjacent ones are faster). The result does not depend
    on `threads`. A row costs constant time whatever the window, and a step per eight periods.

    Args:
        symbols: N integers, equal where calls are the same: a numpy array, an Arrow array or chunked array, anything
            with the buffer protocol (`array.array`, `memoryview`) or a list. Arrow columns of text or of dictionary
            type are taken too; for other text see `symbols`. Copied once.
        sessions: N integers, equal where rows belong to one session; the same kinds of column.
        window: rows, 1 or more, that windowed figures look back on, the row itself included.
        max_period: longest period in rows, 1 to 65,536, that counts as a cycle.
        laps: laps of a period, 2 or more, that make a cycle.
        threads: threads at most; all cores if `None`. One session is never split among threads.
        rows: also give columns with one entry a row.

    Returns:
        Columns per session, totals, and columns per row if asked for.

    Raises:
        ValueError: columns of unequal length, not one-dimensional, with nulls, or of more than 2,147,483,646 rows; a
            parameter out of range.
        TypeError: a column that holds no integers.

    Example:
        >>> found = scan([1, 2, 1, 2, 1, 2, 3], [0, 0, 0, 0, 0, 0, 0], window=4, rows=True)
        >>> found.sessions.repeats.tolist(), found.sessions.first_cycle_row.tolist()
        ([4], [5])
        >>> found.rows.period.tolist()
        [0, 0, 0, 0, 0, 2, 0]

    Sources:
        Entropy: C. E. Shannon, A Mathematical Theory of Communication, 1948. Cycles: one run-length counter per lag,
        `run[p] = run[p] + 1 if x[i] == x[i - p] else 0`; `laps` laps end where `run[p] >= (laps - 1) * p`.
    """
    symbol_parts, _ = _parts(symbols, "symbols")
    session_parts, signed = _parts(sessions, "sessions")
    of_sessions, totals, of_rows = batch_scan(
        symbol_parts,
        session_parts,
        window=_count(window),
        max_period=_count(max_period),
        laps=_count(laps),
        threads=None if threads is None else _count(threads),
        rows=bool(rows),
        hash_key=secrets.randbits(64),
    )
    column = _column_maker()
    return ScanResult(
        sessions=Sessions(
            session=column(of_sessions.pop("session"), "q" if signed else "Q"),
            entropy=column(of_sessions.pop("entropy"), "d"),
            min_entropy=column(of_sessions.pop("min_entropy"), "d"),
            **{name: column(counts, "q") for name, counts in of_sessions.items()},
        ),
        totals=Totals(**totals),
        rows=None
        if of_rows is None
        else Rows(
            repeat=column(of_rows["repeat"], "?"),
            period=column(of_rows["period"], "I"),
            distinct=column(of_rows["distinct"], "I"),
            entropy=column(of_rows["entropy"], "d"),
        ),
    )


def symbols(texts: Iterable[str]) -> "array[int]":
    """Number texts, so that a text column can be scanned.

    Args:
        texts: N strings, for example fingerprints or tool names.

    Returns:
        N codes: 0 for the first text and all equal to it, 1 for the next new one, and so on.

    Raises:
        TypeError: an element that is no string.

    Example:
        >>> symbols(["ls", "cat a", "ls"]).tolist()
        [0, 1, 0]
    """
    codes: dict[str, int] = {}
    numbered = array("q")
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"row {row} is of type `{type(text).__name__}`, not a string")
        numbered.append(codes.setdefault(text, len(codes)))
    return numbered


def _count(value: int) -> int:
    """Bring an integer into the 32 bits of the core, which refuses 0 where it must; a float is a TypeError."""
    return max(0, min(operator.index(value), _MOST))


def _column_maker() -> Any:
    try:
        numpy = importlib.import_module("numpy")
    except ImportError:
        return lambda data, kind: memoryview(data).cast(kind)
    return lambda data, kind: numpy.frombuffer(data, dtype=kind)


def _parts(column: Any, name: str) -> tuple[list[memoryview], bool]:
    """Give the buffers of a column, one after the other, and whether its integers are signed."""
    if isinstance(column, list | tuple):
        views = [_of_list(column, name)]
    elif getattr(column, "mask", None) is not None and hasattr(column, "filled"):
        raise ValueError(f"`{name}` is a masked array; fill or drop what is masked first")
    elif _buffer(column) is not None:
        views = [memoryview(column)]
    elif hasattr(column, "__arrow_c_stream__") or hasattr(column, "__arrow_c_array__"):
        views = _of_arrow(column, name)
    elif hasattr(column, "to_numpy"):
        return _parts(column.to_numpy(), name)
    else:
        raise TypeError(_no_integers(name, f"`{type(column).__name__}`"))
    for view in views:
        if view.ndim != 1:
            raise ValueError(f"`{name}` has {view.ndim} dimensions; give a column, that is one")
        if view.format.removeprefix("@") not in _INTEGERS:
            raise TypeError(_no_integers(name, f"elements of format `{view.format}`"))
    return views, any(view.format.removeprefix("@").islower() for view in views)


def _buffer(column: Any) -> memoryview | None:
    try:
        return memoryview(column)
    except (TypeError, ValueError):  # numpy raises ValueError for what no buffer can hold, such as dates
        return None


def _no_integers(name: str, found: str) -> str:
    return f"`{name}` is {found}, not integers in native byte order; `callgate.batch.symbols` numbers texts"


def _of_list(column: list[Any] | tuple[Any, ...], name: str) -> memoryview:
    for kind in "qQ":
        try:
            return memoryview(array(kind, column))
        except OverflowError:
            continue
        except TypeError as error:
            raise TypeError(_no_integers(name, f"a {type(column).__name__} with other elements")) from error
    raise ValueError(f"`{name}` holds integers that fit neither int64 nor uint64")


def _of_arrow(column: Any, name: str) -> list[memoryview]:
    """Read an Arrow column through pyarrow, whose own buffers need no numpy; text becomes codes."""
    try:
        arrow = importlib.import_module("pyarrow")
    except ImportError:
        if hasattr(column, "to_numpy"):
            return _parts(column.to_numpy(), name)[0]
        raise TypeError(f"`{name}` is an Arrow column, and reading those needs pyarrow") from None
    if not isinstance(column, arrow.ChunkedArray):
        column = arrow.chunked_array(column if hasattr(column, "__arrow_c_stream__") else [arrow.array(column)])
    if column.null_count:
        raise ValueError(f"`{name}` has {counted(column.null_count, 'null')}; fill or drop them first")
    types = arrow.types
    if types.is_dictionary(column.type):
        codes = None if types.is_integer(column.type.value_type) else _dictionary_codes(column)
        # what cannot be read by its codes is decoded and numbered afresh
        return _of_arrow(column.cast(column.type.value_type), name) if codes is None else codes
    if any(is_text(column.type) for is_text in _text_types(types)):
        return _dictionary_codes(column.dictionary_encode()) or []
    if not types.is_integer(column.type):
        raise TypeError(_no_integers(name, f"an Arrow column of `{column.type}`"))
    return _of_chunks(column.chunks, column.type)


def _text_types(types: Any) -> list[Any]:
    names = ("string", "large_string", "string_view", "binary", "large_binary", "binary_view")
    return [getattr(types, f"is_{name}") for name in names if hasattr(types, f"is_{name}")]


def _dictionary_codes(column: Any) -> list[memoryview] | None:
    """Give the codes of a dictionary column, unless one value may have two codes."""
    column = column.unify_dictionaries()
    dictionaries = [chunk.dictionary for chunk in column.chunks[:1]]
    if any(dictionary.null_count or len(dictionary.unique()) < len(dictionary) for dictionary in dictionaries):
        return None
    return _of_chunks([chunk.indices for chunk in column.chunks], column.type.index_type)


def _of_chunks(chunks: list[Any], arrow_type: Any) -> list[memoryview]:
    kind, width = _ARROW_INTEGERS[str(arrow_type)], arrow_type.bit_width // 8
    views = []
    for chunk in chunks:
        if len(chunk):
            data = memoryview(chunk.buffers()[1]).cast("B")
            views.append(data[chunk.offset * width : (chunk.offset + len(chunk)) * width].cast(kind))
    return views or [memoryview(array(kind))]
