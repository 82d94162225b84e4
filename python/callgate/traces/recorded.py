"""The records of one task of a trace, in their order: what one session is explained from."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple

from .lines import STDIN, TraceError, chunks

Record = dict[str, Any]
MOST_NAMES: Final = 5


class NoRecords(TraceError):
    """A trace that can be read, with nothing in it."""


class Recorded(NamedTuple):
    """A session with all records of its task up to the last one.

    `records` are those of the task, each with the `seq` that it has in its session, written or not. `passed_over` is
    how many lines of the trace are no records, and `first_passed_over` the number of the first one, from 1.
    """

    session: str
    task: str
    records: list[Record]
    passed_over: int = 0
    first_passed_over: int | None = None

    def calls(self) -> list[Record]:
        """The calls of the session itself."""
        return [each for each in self.records if each["session"] == self.session and "event" not in each]


def recorded_session(path: Path, session: str | None = None) -> Recorded:
    """Read one session of a trace.

    Args:
        path: the trace; `-` is standard input.
        session: its name; None where the trace has only one.

    Raises:
        TraceError: the trace cannot be read, has no such session, or several and none was named.
    """
    source = _Again(path)
    names: dict[str, str] = {}
    for record in source.records():
        names.setdefault(record["session"], _task(record))
    passed_over, first_passed_over = source.passed_over, source.first_passed_over
    if not names:
        told = f": what stands in line {first_passed_over:,} is none" if first_passed_over is not None else ""
        raise NoRecords(f"there is no record in this trace{told}")
    if session is None and len(names) > 1:
        raise TraceError(f"there are {len(names):,} sessions, name one with `--session`: {_listed(names)}")
    if session is None:
        session = next(iter(names))
    if session not in names:
        raise TraceError(f"there is no session `{session}`; there are {_listed(names)}")
    task = names[session]
    counts: dict[str, int] = {}
    found: list[Record] = []
    for record in source.records():
        name = record["session"]
        if _task(record) == task or name == session:
            counts[name] = counts.get(name, 0) + 1
            found.append({**record, "seq": _seq(record, counts[name])})
    return Recorded(session, task, found, passed_over, first_passed_over)


class _Again:
    """A trace that is read twice, standard input too, and what was passed over when it was read last."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._text = sys.stdin.buffer.read() if path == STDIN else b""
        self.passed_over = 0
        self.first_passed_over: int | None = None

    def records(self) -> Iterable[Record]:
        source = io.BytesIO(self._text) if self._path == STDIN else self._path
        self.passed_over, self.first_passed_over = 0, None
        for chunk in chunks(source):
            for number in chunk.too_long:
                self._pass_over(number)
            for number, line in enumerate(chunk.lines.split(b"\n"), chunk.first):
                if not line.strip():
                    continue
                record = _record(line)
                if record is None:
                    self._pass_over(number)
                else:
                    yield record

    def _pass_over(self, number: int) -> None:
        self.passed_over += 1
        self.first_passed_over = number if self.first_passed_over is None else min(number, self.first_passed_over)


def _record(line: bytes) -> Record | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) and isinstance(record.get("session"), str) else None


def _task(record: Record) -> str:
    task = record.get("task")
    return task if isinstance(task, str) else str(record["session"])


def _seq(record: Record, position: int) -> int:
    seq = record.get("seq")
    return seq if isinstance(seq, int) else position


def _listed(names: Iterable[str]) -> str:
    shown = [f"`{name}`" for name in list(names)[:MOST_NAMES]]
    more = len(list(names)) - len(shown)
    return ", ".join(shown) + (f", and {more:,} more" if more else "")
