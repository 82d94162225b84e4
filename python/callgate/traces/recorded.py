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

    `records` are those of the task, each with the `seq` that it has in its session, written or not; of lines that are
    no records nothing is told here, replay tells of them.
    """

    session: str
    task: str
    records: list[Record]

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
    if not names:
        raise NoRecords("there is no record in this trace")
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
    return Recorded(session, task, found)


class _Again:
    """A trace that is read twice, standard input too."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._text = sys.stdin.buffer.read() if path == STDIN else b""

    def records(self) -> Iterable[Record]:
        source = io.BytesIO(self._text) if self._path == STDIN else self._path
        for chunk in chunks(source):
            for line in chunk.lines.split(b"\n"):
                if not line.strip():
                    continue
                try:
                    record = json.loads(line)
                except (ValueError, RecursionError):
                    continue
                if isinstance(record, dict) and isinstance(record.get("session"), str):
                    yield record


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
