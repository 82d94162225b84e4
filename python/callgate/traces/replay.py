"""Trace files judged under a policy: one replay per file, its counts, and what was wrong with its lines."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

import callgate._core as _core

from .decisions import Decisions
from .feed import Fault as Fault
from .feed import faults_of as faults_of
from .lines import TraceError, chunks

OPEN_SESSIONS: Final = 1024
MOST_OPEN: Final = 1_000_000
ACTIONS: Final = ("note", "reuse", "ask", "refuse", "stop")


@dataclass(frozen=True, slots=True)
class Counts:
    """What a replay counted.

    `by_reason` holds, by action (`note`, `reuse`, `ask`, `refuse`, `stop`) and reason, how often it came. `saved` are
    the calls that would not have run. `noted`, `touched` and `stopped` count sessions: with a note; with a reuse, ask,
    refusal or stop; with a stop. `lifted` holds, by exception and reason, how often it was lifted, notes included.
    """

    sessions: int = 0
    calls: int = 0
    events: int = 0
    saved: int = 0
    noted: int = 0
    touched: int = 0
    stopped: int = 0
    by_reason: Mapping[tuple[str, str], int] = field(default_factory=dict)
    lifted: Mapping[tuple[str, str], int] = field(default_factory=dict)

    @classmethod
    def of(cls, totals: dict[str, Any]) -> Counts:
        """The counts of the core."""
        sessions = (totals["noted_sessions"], totals["touched_sessions"], totals["stopped_sessions"])
        by_reason = {(action, reason): count for action, reason, count in totals["by_reason"]}
        lifted = {(exception, reason): count for exception, reason, count in totals["lifted"]}
        return cls(totals["sessions"], totals["calls"], totals["events"], totals["saved"], *sessions, by_reason, lifted)

    def __add__(self, other: Counts) -> Counts:
        """Both together."""
        return Counts(
            self.sessions + other.sessions,
            self.calls + other.calls,
            self.events + other.events,
            self.saved + other.saved,
            self.noted + other.noted,
            self.touched + other.touched,
            self.stopped + other.stopped,
            dict(Counter(self.by_reason) + Counter(other.by_reason)),
            dict(Counter(self.lifted) + Counter(other.lifted)),
        )

    def of_action(self, action: str) -> dict[str, int]:
        """How often each reason came with an action, the most frequent first."""
        found = {reason: count for (which, reason), count in self.by_reason.items() if which == action}
        return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


class Replayed(NamedTuple):
    """What came of one file: its counts, how many lines were skipped, what broke it off, and seconds."""

    file: str
    counts: Counts
    skipped: int
    broken: str | None
    seconds: float


def replay_file(
    policy: _core.CompiledPolicy,
    path: Path,
    *,
    open_sessions: int = OPEN_SESSIONS,
    decisions: Decisions | None = None,
    began: float | None = None,
    on_fault: Callable[[Fault], None] = lambda fault: None,
    on_progress: Callable[[int, int], None] = lambda read, calls: None,
) -> Replayed:
    """Judge one trace file.

    Sessions of different files are different sessions, even where they are named alike.

    Args:
        policy: the compiled policy.
        path: the trace.
        open_sessions: how many tasks are kept open at once; the one that was silent longest is closed first. Memory is
            bounded by these.
        decisions: where each decision is written.
        began: when tasks began whose records do not say so, in seconds since 1970; None: no exception stands for them.
        on_fault: told of each line that is skipped.
        on_progress: told, every now and then, how many bytes of the file were read and how many calls judged.

    Returns:
        What came of it; a file that breaks off is judged as far as it goes.

    Raises:
        DecisionsError: `decisions` cannot be written.
        ValueError: `open_sessions` is no number that memory has room for.
    """
    if not 1 <= open_sessions <= MOST_OPEN:
        raise ValueError(f"`open_sessions` has to be from 1 to {MOST_OPEN:,}, found {open_sessions}")
    started = time.perf_counter()
    file, skipped, broken, calls = str(path), 0, None, 0
    replay = _core.Replay(policy, most_open=open_sessions, rows=decisions is not None, began=began)
    if decisions is not None:
        shared = {"trace": file, "policy": policy.name, "revision": policy.revision, "digest": policy.digest}
        decisions.begin({**shared, "mode": policy.mode})
    try:
        for chunk in chunks(path):
            for fault in faults_of(replay, chunk, file):
                skipped += 1
                on_fault(fault)
            if decisions is not None:
                decisions.add(replay.take_lines())
            calls = replay.totals["calls"]
            on_progress(chunk.read, calls)
    except TraceError as error:
        broken = str(error)
    replay.finish()
    if decisions is not None:
        decisions.add(replay.take_lines())
    return Replayed(file, Counts.of(replay.totals), skipped, broken, time.perf_counter() - started)


def together(replayed: Iterable[Replayed]) -> Counts:
    """The counts of several files."""
    counts = Counts()
    for each in replayed:
        counts += each.counts
    return counts
