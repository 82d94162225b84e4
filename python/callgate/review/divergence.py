"""What recorded sessions come to under two policies: flips, first divergences, what is newly refused."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

import callgate._core as _core
from callgate.path_list import path_list
from callgate.traces.lines import LONGEST_LINE, TraceError, chunks
from callgate.traces.replay import MOST_OPEN, OPEN_SESSIONS, Counts

ACTIONS: Final = ("allow", "reuse", "ask", "refuse", "stop")
HELD: Final = frozenset({"refuse", "stop"})
MOST_TIMELINES: Final = 12
MOST_NAMES: Final = 10_000
"""Names of tools, agents and reasons that are counted apart; the rest is counted together."""
OTHERS: Final = "(others)"

Table = Counter[str]


class Verdict(NamedTuple):
    """What one side decides of a call: the action, why, whether what it brought ended the run, its grade and notes."""

    action: str
    reason: str
    message: str | None
    ends: bool
    grade: str | None
    notes: tuple[str, ...]

    @classmethod
    def of(cls, side: Mapping[str, Any]) -> Verdict:
        """A side of what the core tells."""
        return cls(side["action"], side["reason"], side["message"], side["ends"], side["grade"], tuple(side["notes"]))


class Moment(NamedTuple):
    """A call of a session, and what both sides decide of it."""

    seq: int
    tool: str
    arguments: str
    old: Verdict
    new: Verdict


class Timeline(NamedTuple):
    """The first call of a session that the sides decide differently, last of `moments`, after those before it."""

    trace: str
    session: str
    agent: str
    time: float | None
    moments: tuple[Moment, ...]


@dataclass(slots=True)
class Moved:
    """Calls that moved between being let through and being held back: how many, by reason, tool and agent."""

    calls: int = 0
    by_reason: Table = field(default_factory=Counter)
    by_tool: Table = field(default_factory=Counter)
    by_agent: Table = field(default_factory=Counter)

    def add(self, reason: str, tool: str, agent: str) -> None:
        """Count one."""
        self.calls += 1
        for table, name in ((self.by_reason, reason), (self.by_tool, tool), (self.by_agent, agent)):
            table[name if name in table or len(table) < MOST_NAMES else OTHERS] += 1


@dataclass(slots=True)
class Divergence:
    """Recorded sessions under the old and the new policy.

    `old` and `new` are the counts of each; `flips` are calls by (old action, new action), `ends` those by whether what
    they brought ended the run (old, new); `other_reason` are calls held back alike for another reason. `refused` and
    `passed` are calls that are newly held back (refused or stopped) and newly let through. `diverged` counts sessions
    that come to differ, `timelines` has the first of them. `behind` are calls after that point: they are judged as they
    were recorded, though another verdict might have led to other calls.

    What cannot be replayed stands apart: `skipped` lines by why, `broken` files with why, `without_outcome` calls that
    only one side runs and that have no recorded outcome, `unanswered` calls that one side asks about without a recorded
    answer. `tokens` and `cost` are what the recording tells of: in all, after stops of the new side alone, and after
    stops of the old side alone.
    """

    old: Counts = field(default_factory=Counts)
    new: Counts = field(default_factory=Counts)
    flips: Counter[tuple[str, str]] = field(default_factory=Counter)
    ends: Counter[tuple[bool, bool]] = field(default_factory=Counter)
    other_reason: int = 0
    refused: Moved = field(default_factory=Moved)
    passed: Moved = field(default_factory=Moved)
    endings: Counter[tuple[str, str]] = field(default_factory=Counter)
    diverged: int = 0
    timelines: list[Timeline] = field(default_factory=list)
    behind: int = 0
    skipped: Table = field(default_factory=Counter)
    broken: dict[str, str] = field(default_factory=dict)
    without_outcome: int = 0
    unanswered: int = 0
    unmatched: int = 0
    tokens: tuple[float, float, float] = (0.0, 0.0, 0.0)
    cost: tuple[float, float, float] = (0.0, 0.0, 0.0)

    @property
    def flipped(self) -> int:
        """How many calls are decided otherwise, or end the run on one side alone."""
        return self.flips.total() + self.ends.total()

    @property
    def saved(self) -> int:
        """How many calls fewer would have run: negative where more would have."""
        return self.new.saved - self.old.saved


def diverge(
    old: _core.CompiledPolicy,
    new: _core.CompiledPolicy,
    traces: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    open_sessions: int = OPEN_SESSIONS,
    began: float | None = None,
    on_progress: Callable[[Path, int], None] = lambda trace, read: None,
) -> Divergence:
    """Judge recorded sessions under two policies, each with its own full state, and tell what differs.

    Args:
        old: the policy before.
        new: the policy after.
        traces: trace files, or one; sessions of different files are different sessions.
        open_sessions: how many tasks are kept open at once; memory is bounded by these.
        began: when tasks began whose records do not say so, in seconds since 1970.
        on_progress: told, every now and then, which file is read, and how many bytes of it were.

    Returns:
        What differs; for the same files and policies the same, whenever and wherever.

    Raises:
        ValueError: `open_sessions` is no number that memory has room for.
    """
    if not 1 <= open_sessions <= MOST_OPEN:
        raise ValueError(f"`open_sessions` has to be from 1 to {MOST_OPEN:,}, found {open_sessions}")
    found = Divergence()
    for trace in path_list(traces):
        pair = _core.ReplayPair(old, new, most_open=open_sessions, began=began)
        try:
            for chunk in chunks(trace):
                found.skipped[f"a line longer than {LONGEST_LINE >> 20} MiB"] += len(chunk.too_long)
                for _, why in pair.feed(chunk.lines):
                    found.skipped[_kind(why)] += 1
                _add(found, str(trace), pair.take())
                on_progress(trace, chunk.read)
        except TraceError as error:
            found.broken[str(trace)] = str(error)
        pair.finish()
        _add(found, str(trace), pair.take())
        _count(found, pair.totals)
    found.skipped += Counter()  # drops the zeros
    return found


def _add(found: Divergence, trace: str, calls: Iterable[Mapping[str, Any]]) -> None:
    for call in calls:
        old, new = Verdict.of(call["old"]), Verdict.of(call["new"])
        if old.action != new.action:
            found.flips[old.action, new.action] += 1
        elif old.ends != new.ends:
            found.ends[old.ends, new.ends] += 1
        else:
            found.other_reason += 1
        if (new.action in HELD) != (old.action in HELD):
            moved, by = (found.refused, new) if new.action in HELD else (found.passed, old)
            moved.add(by.reason, call["tool"], call["agent"])
        if call["first"] and len(found.timelines) < MOST_TIMELINES:
            found.timelines.append(_timeline(trace, call, old, new))


def _timeline(trace: str, call: Mapping[str, Any], old: Verdict, new: Verdict) -> Timeline:
    before = [
        Moment(each["seq"], each["tool"], each["arguments"], Verdict.of(each["old"]), Verdict.of(each["new"]))
        for each in call["before"]
    ]
    here = Moment(call["seq"], call["tool"], call["arguments"], old, new)
    return Timeline(trace, call["session"], call["agent"], call["time"], (*before, here))


def _count(found: Divergence, totals: Mapping[str, Any]) -> None:
    found.old += Counts.of(totals["old"])
    found.new += Counts.of(totals["new"])
    found.diverged += totals["diverged"]
    found.behind += totals["behind"]
    found.without_outcome += totals["without_outcome"]
    found.unanswered += totals["unanswered"]
    found.unmatched += totals["unmatched"]
    for old, new, count in totals["endings"]:
        found.endings[old, new] += count
    parts = (totals["recorded"], totals["after_stop_new"], totals["after_stop_old"])
    tokens, cost = zip(*parts, strict=True)
    found.tokens = _sums(found.tokens, tokens)
    found.cost = _sums(found.cost, cost)


def _sums(one: tuple[float, float, float], other: tuple[float, ...]) -> tuple[float, float, float]:
    first, second, third = (a + b for a, b in zip(one, other, strict=True))
    return first, second, third


def _kind(why: str) -> str:
    """What is wrong with a line, without the names and numbers of that line: so that a kind is counted, not a line."""
    return re.sub(r"\d+", "…", re.sub(r"session `[^`]*`", "a session", why))
