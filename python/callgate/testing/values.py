"""The values under a failed expectation: what each part of the expressions came to that decided the call."""

from __future__ import annotations

import json
import math
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import callgate._core as _core
from callgate.policy.diagnostics import Span
from callgate.policy.faults import span_of

from .expect import Failure, Row, reasons_of
from .judge import Judge
from .play import PolicyTest, lines_of, replay_of

MOST_SHOWN: Final = 6
"""Expressions that are shown under one failure."""
# What the outcome of a call is made of, and not the verdict on it.
_OF_OUTCOMES: Final = frozenset({"grade", "gaps", "next", "status", "missing"})


class PartValue(NamedTuple):
    """A part of an expression: its text, how deep it lies in the whole, and what it came to."""

    text: str
    depth: int
    value: str


class Evaluated(NamedTuple):
    """An expression that was evaluated for a call: what it belongs to, where it is written, and its parts in order."""

    owner: str
    file: str
    span: Span
    parts: Sequence[PartValue]


class Background(NamedTuple):
    """What led to a decision: the expressions, and what was said where a call did not get through."""

    evaluated: Sequence[Evaluated] = ()
    message: str | None = None


class _Evaluation(NamedTuple):
    part: int
    document: int
    pointer: tuple[str | int, ...]
    values: Sequence[tuple[int, int, str]]


def backgrounds(
    judge: Judge, test: PolicyTest, missed: Sequence[Failure], rows: Sequence[Row]
) -> dict[int, Background]:
    """What led to the decisions that failures are about, by the position of the failure.

    The run is judged once more, by a policy that is watched; what is seen is what the engine evaluates.

    Args:
        judge: what the test was judged by.
        test: the test.
        missed: its failures.
        rows: its decisions.
    """
    wanted = {failure.row for failure in missed if failure.row is not None}
    if not wanted:
        return {}
    by_row = _evaluations(judge, test, {(rows[at]["session"], rows[at]["seq"]): at for at in wanted})
    found: dict[int, Background] = {}
    for at, failure in enumerate(missed):
        if failure.row is None:
            continue
        told, message = by_row.get(failure.row, ([], None))
        shown = [each for each in told if _concerns(judge, each, failure, rows[failure.row])]
        found[at] = Background([_evaluated(judge, each) for each in shown[:MOST_SHOWN]], message)
    return found


def _evaluations(
    judge: Judge, test: PolicyTest, wanted: Mapping[tuple[str, int], int]
) -> dict[int, tuple[list[_Evaluation], str | None]]:
    """The evaluations of the calls at some positions, and what was said of each.

    The run is fed line by line, so that it is known which of the calls they are for.
    """
    watched = _core.Coverage(judge.policy, [part.documents for part in judge.parts], values=True)
    replay = replay_of(watched.policy, test.spec)
    calls = _Calls()
    found: dict[int, tuple[list[_Evaluation], str | None]] = {}
    told: dict[str, list[_Evaluation]] = {}
    nameless: list[_Evaluation] = []

    def gather() -> None:
        for call, part, within, pointer, values in watched.take_evaluations():
            evaluation = _Evaluation(part, within, pointer, values)
            (told.setdefault(call, []) if call else nameless).append(evaluation)
        emerged = replay.take_rows(explained=True)
        for row in emerged:
            mine = told.pop(calls.id_of(row), [])
            at = wanted.get((row["session"], row["seq"]))
            if at is not None:
                message = None if row["reply"] is None else str(json.loads(row["reply"])["message"])
                found[at] = [*mine, *_nameless_of(judge, nameless, row, emerged)], message
        if emerged:
            nameless.clear()

    for line in lines_of(test):
        calls.add(line)
        replay.feed(line)
        gather()
    replay.finish()
    gather()
    return found


class _Calls:
    """The ids that a replay gives the calls of a run: `record-1` and so on, over all sessions."""

    def __init__(self) -> None:
        self._count = 0
        self._waiting: dict[str, deque[str]] = {}

    def add(self, line: bytes) -> None:
        """Take note of a line, before it is fed."""
        record = json.loads(line) if line.strip() else {"event": ""}
        if record.get("event") is None:
            self._count += 1
            self._waiting.setdefault(record["session"], deque()).append(f"record-{self._count}")

    def id_of(self, row: Row) -> str:
        """The id of a decision's call; those of a session come in the order of their lines."""
        return self._waiting[row["session"]].popleft()


def _nameless_of(judge: Judge, nameless: Sequence[_Evaluation], row: Row, emerged: Sequence[Row]) -> list[_Evaluation]:
    """Those evaluations without a call's id that are surely of one of the calls that were judged together."""
    groups: dict[object, list[_Evaluation]] = {}
    for each in nameless:
        groups.setdefault((each.part, each.document, each.pointer), []).append(each)
    found: list[_Evaluation] = []
    for group in groups.values():
        of_outcome = "forms" not in group[0].pointer
        may_be = [it for it in emerged if _may_be_of(judge, group[0], it) and (it["grade"] or not of_outcome)]
        if len(may_be) == 1:
            found += group if may_be[0] is row else []
        elif of_outcome and len(group) == len(may_be) and len({(it["session"], it["round"]) for it in may_be}) == 1:
            # outcomes of a round are looked at in the order in which they came
            may_be.sort(key=lambda it: -math.inf if it["time"] is None else it["time"])
            found += [each for each, it in zip(group, may_be, strict=True) if it is row]
    return found


def _may_be_of(judge: Judge, each: _Evaluation, row: Row) -> bool:
    """Whether an expression may have been evaluated for a call: one of a tool for that tool, or for one built on it."""
    if each.document < 0 or each.pointer[:2] != ("spec", "tools"):
        return True
    _, manifests = judge.parts[each.part].documents
    declared = [manifest["spec"]["tools"].get(row["tool"]) or {} for _, manifest in manifests]
    return row["tool"] == each.pointer[2] or any("extends" in tool for tool in declared)


def _concerns(judge: Judge, each: _Evaluation, failure: Failure, row: Row) -> bool:
    """Whether an evaluation says something about a failure."""
    if failure.what in _OF_OUTCOMES:
        return each.document >= 0 or "edges" in each.pointer
    if each.document >= 0 or each.pointer[:2] != ("spec", "rules") or each.pointer[-1] != "when":
        return False
    rule = f"rule:{_rule(judge, each).get('id')}"
    told = [*reasons_of(row), *(note["reason"] for note in row["notes"])]
    # a rule that spoke or failed, one that was to speak, and where nothing held the call back, every one that was asked
    spoken_of = "`rule:" in failure.expected or any(it.startswith("rule:") for it in told)
    _, _, came = max(each.values, key=lambda value: value[1] - value[0], default=(0, 0, ""))
    failed = came.startswith("error: ")  # a text that says so is in quotes
    return rule in told or failed or f"`{rule}`" in failure.expected or not (spoken_of or reasons_of(row))


def _rule(judge: Judge, each: _Evaluation) -> dict[str, Any]:
    rule: dict[str, Any] = judge.parts[each.part].resolved.spec["rules"][each.pointer[2]]
    return rule


def _evaluated(judge: Judge, each: _Evaluation) -> Evaluated:
    document, steps = judge.parts[each.part].origin(each.document, each.pointer)
    child = document.positions.find(steps)
    source = str(child.node.data) if child is not None else ""
    if each.document < 0 and each.pointer[:2] == ("spec", "rules"):
        owner = f"rule `{_rule(judge, each).get('id')}`"
    else:
        owner = "`" + ".".join(str(step) for step in each.pointer[1:]) + "`"
    span = span_of(document.positions, steps, "value")
    return Evaluated(owner, document.source.file, span, _nested(source, each.values))


def _nested(source: str, values: Sequence[tuple[int, int, str]]) -> list[PartValue]:
    """The parts as they lie in each other; of what was evaluated several times, as in a comprehension, the last."""
    last = {(start, end): value for start, end, value in values}
    found: list[PartValue] = []
    around: list[int] = []
    for (start, end), value in sorted(last.items(), key=lambda item: (item[0][0], -item[0][1])):
        while around and around[-1] <= start:
            around.pop()
        found.append(PartValue(" ".join(source[start:end].split()), len(around), value))
        around.append(end)
    return found
