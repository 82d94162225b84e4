"""One session with what was decided of it, and how it went: repeats, entropy, gain, budgets, needs, exit."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import callgate._core as _core

from .asking import Asking, Row
from .course import Step, course
from .recorded import Recorded

WINDOW: Final = 50
"""Calls that entropy and diversity look back upon."""


class Repeat(NamedTuple):
    """A call that was made before: the `seq` of its first time, and which time this is, from 2."""

    first: int
    times: int


class Point(NamedTuple):
    """How the session stood after a call.

    `entropy` is that of the last `WINDOW` calls, in bits; `distinct` the share of different calls among them; `gain`
    the items that the call brought and the task did not know, `cells` the missing cells of its needs that it filled;
    `left` the share of each limited budget that was left.
    """

    seq: int
    action: str
    entropy: float
    distinct: float
    gain: int
    cells: int
    left: Mapping[str, float]


class SessionReport(NamedTuple):
    """A session under a policy.

    `steps` are its calls and events in order, `points` has one for each call, `repeats` the calls that were made
    before, by `seq`; `findings` the reasons of verdicts and notes of a call, by `seq`. `limits` are the budgets that
    are limited, `missing` the cells of the task's needs that stayed empty, `status` and `exit` how the task ended,
    `stop` why it was stopped, where it was.
    """

    policy: _core.CompiledPolicy
    session: str
    task: str
    steps: Sequence[Step]
    points: Sequence[Point]
    repeats: Mapping[int, Repeat]
    findings: Mapping[int, Sequence[str]]
    limits: Mapping[str, float]
    missing: Sequence[tuple[Any, str]]
    status: str | None
    exit: str | None
    stop: Mapping[str, Any] | None

    def count(self, *actions: str) -> int:
        """How many calls have one of the actions."""
        return sum(point.action in actions for point in self.points)


def session_report(policy: _core.CompiledPolicy, recorded: Recorded, *, began: float | None = None) -> SessionReport:
    """Judge a recorded session and tell how it went.

    Args:
        policy: what it is judged by.
        recorded: the session, with all records of its task.
        began: when the task began, if its first record does not say so, in seconds since 1970.

    Raises:
        TraceError: a record cannot follow those before it.
    """
    rows, endings = Asking(policy, began=began).judged(recorded.records)
    own = [row for row in rows if recorded.records[row["seq"] - 1]["session"] == recorded.session]
    seqs = [recorded.records[row["seq"] - 1]["seq"] for row in own]
    first = recorded.records[0] if recorded.records else {}
    agent = own[0]["agent"] if own else "root"
    of_agent = policy.limits_of(agent=agent, tenant=first.get("tenant"), labels=first.get("labels"))
    limits = {name: limit for name, limit in of_agent if limit is not None}
    ending = next((ending for ending in endings if ending["task"] == recorded.task), {})
    return SessionReport(
        policy, recorded.session, recorded.task, course(recorded, rows), [*_points(own, seqs, limits)],
        _repeats(own, seqs), {seq: _reasons(row) for seq, row in zip(seqs, own, strict=True)}, limits,
        [(record, field) for record, field in ending.get("missing", [])], ending.get("status"), ending.get("exit"),
        next((row["stop"] for row in own if row["stop"] is not None), None),
    )  # fmt: skip


def _points(rows: Sequence[Row], seqs: Sequence[int], limits: Mapping[str, float]) -> Iterator[Point]:
    window: deque[str] = deque()
    counts: Counter[str] = Counter()
    for row, seq in zip(rows, seqs, strict=True):
        window.append(row["fingerprint"])
        counts[row["fingerprint"]] += 1
        if len(window) > WINDOW:
            gone = window.popleft()
            counts[gone] -= 1
            if not counts[gone]:
                del counts[gone]
        shares = [count / len(window) for count in counts.values()]
        left = {name: _left(row["spent"].get(name, 0.0), limit) for name, limit in limits.items()}
        yield Point(
            seq, row["would"] or row["action"], -sum(share * math.log2(share) for share in shares) + 0.0,
            len(counts) / len(window), row["gain"] or 0, row["cells"] or 0, left,
        )  # fmt: skip


def _left(used: float, limit: float) -> float:
    return max(0.0, 1.0 - used / limit) if limit else 0.0


def _repeats(rows: Sequence[Row], seqs: Sequence[int]) -> dict[int, Repeat]:
    seen: dict[str, list[int]] = {}
    found = {}
    for row, seq in zip(rows, seqs, strict=True):
        times = seen.setdefault(row["fingerprint"], [])
        times.append(seq)
        if len(times) > 1:
            found[seq] = Repeat(times[0], len(times))
    return found


def _reasons(row: Row) -> list[str]:
    named = [each["reason"] for each in (*row["findings"], *row["notes"])]
    return list(dict.fromkeys([*named, *([row["stop"]["reason"]] if row["stop"] is not None else [])]))
