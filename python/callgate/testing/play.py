"""The run of a policy test, judged: its decisions, and how its tasks ended."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import callgate._core as _core
from callgate.policy.load import Document
from callgate.traces.feed import Fault, faults_of
from callgate.traces.lines import chunks

from .expect import Row
from .steps import written

OPEN_SESSIONS: Final = 65_536


class Played(NamedTuple):
    """The decisions in the order in which they fell; the step of each `seq`, where there are steps; the endings."""

    rows: list[Row]
    steps: dict[int, int]
    endings: list[dict[str, Any]]


def replay_of(policy: _core.CompiledPolicy, spec: dict[str, Any]) -> _core.Replay:
    """A replay for the run of a test, whose spec this is."""
    began = None if spec.get("began") is None else _core.moment(spec["began"])
    return _core.Replay(
        policy, most_open=OPEN_SESSIONS, tenant=spec.get("tenant"), labels=spec.get("labels"), began=began
    )


def play(policy: _core.CompiledPolicy, document: Document) -> Played:
    """Judge the run of a test.

    Args:
        policy: what it is judged by.
        document: the test, in which no fault was found.

    Raises:
        TraceError: the trace cannot be read.
        ValueError: a record cannot be judged, or there is no call.
    """
    spec: dict[str, Any] = document.data["spec"]
    replay = replay_of(policy, spec)
    steps: dict[int, int] = {}
    faults: list[Fault] = []
    if "trace" in spec:
        trace = trace_of(document)
        for chunk in chunks(trace):
            faults += faults_of(replay, chunk, str(trace))
    else:
        lines, steps = written(spec.get("steps") or [], document.name or "test")
        for at, why in replay.feed(lines):
            raise ValueError(f"step {steps[at + 1]}: {why}")
    if faults:
        first, more = faults[0], len(faults) - 1
        raise ValueError(f"{first.file}:{first.line}: {first.why}" + (f", and {more} further lines" if more else ""))
    replay.finish()
    rows = replay.take_rows()
    if not rows:
        raise ValueError("the run has no call")
    return Played(rows, steps, replay.take_endings())


def trace_of(document: Document) -> Path:
    """The trace file of a test that names one."""
    trace: str = document.data["spec"]["trace"]
    return Path(document.source.file).parent / trace


def lines_of(document: Document) -> Iterator[bytes]:
    """The lines of a test's run, one after the other."""
    spec: dict[str, Any] = document.data["spec"]
    if "trace" not in spec:
        yield from written(spec.get("steps") or [], document.name or "test").lines.splitlines()
        return
    for chunk in chunks(trace_of(document)):
        yield from chunk.lines.splitlines()
