"""The values under a failed expectation: what each part of the expressions came to that decided the call."""

from __future__ import annotations

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


class _Evaluation(NamedTuple):
    part: int
    document: int
    pointer: tuple[str | int, ...]
    values: Sequence[tuple[int, int, str]]


def values_under(
    judge: Judge, test: PolicyTest, missed: Sequence[Failure], rows: Sequence[Row]
) -> dict[int, Sequence[Evaluated]]:
    """What decided the calls that failures are about, by the position of the failure.

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
    found: dict[int, Sequence[Evaluated]] = {}
    for at, failure in enumerate(missed):
        if failure.row is None:
            continue
        told = by_row.get(failure.row, [])
        shown = [each for each in told if _concerns(judge, each, failure, rows[failure.row])]
        found[at] = [_evaluated(judge, each) for each in shown[:MOST_SHOWN]]
    return found


def _evaluations(judge: Judge, test: PolicyTest, wanted: Mapping[tuple[str, int], int]) -> dict[int, list[_Evaluation]]:
    """The evaluations of the calls at some positions. Line by line, so that it is known which call they are for."""
    watched = _core.Coverage(judge.policy, [part.documents for part in judge.parts], values=True)
    replay = replay_of(watched.policy, test.spec)
    found: dict[int, list[_Evaluation]] = {}
    gathered: list[tuple[str, _Evaluation]] = []

    def gather() -> None:
        for call, part, within, pointer, values in watched.take_evaluations():
            gathered.append((call, _Evaluation(part, within, pointer, values)))
        emerged = replay.take_rows()
        for place, row in enumerate(emerged):
            at = wanted.get((row["session"], row["seq"]))
            if at is not None:
                # the calls of a round are told apart by their ids, as far as expressions see one
                ids = list(dict.fromkeys(call for call, _ in gathered if call))
                mine = ids[place] if len(emerged) > 1 and len(ids) == len(emerged) else None
                found[at] = [each for call, each in gathered if mine is None or call in ("", mine)]
        if emerged:
            gathered.clear()

    for line in lines_of(test):
        replay.feed(line)
        gather()
    replay.finish()
    gather()
    return found


def _concerns(judge: Judge, each: _Evaluation, failure: Failure, row: Row) -> bool:
    """Whether an evaluation says something about a failure."""
    if failure.what in _OF_OUTCOMES:
        return each.document >= 0 or "edges" in each.pointer
    if each.document >= 0 or each.pointer[:2] != ("spec", "rules") or each.pointer[-1] != "when":
        return False
    rule = f"rule:{_rule(judge, each).get('id')}"
    told = [*reasons_of(row), *(note["reason"] for note in row["notes"])]
    # a rule that spoke, one that was to speak, and where no rule is spoken of, every one that was asked
    spoken_of = "`rule:" in failure.expected or any(it.startswith("rule:") for it in told)
    return rule in told or f"`{rule}`" in failure.expected or not spoken_of


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
