"""Which result answers which call: by id where that works, by place where it is safe, else not at all."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from .parts import Answer, Call, Message, Turn
from .shape import Shape

Place = tuple[int, int]


class Pairs(NamedTuple):
    """The turns of a list and their results.

    `first` is the result of each call that has one, by the call's place, and `more` those that answer it again;
    `guessed` are places of calls that were paired with a result of another id; `orphans` answer nothing in the list.
    """

    turns: list[Turn]
    first: dict[Place, Answer]
    more: list[tuple[Call, Answer]]
    guessed: set[Place]
    orphans: list[Answer]


def turns_of(messages: Sequence[Message], shape: Shape) -> list[Turn]:
    """The turns in which the model made at least one call."""
    turns: list[Turn] = []
    at = 0
    while at < len(messages):
        end = at + 1
        if shape.speaker(messages[at]) == "model":
            while shape.merges and end < len(messages) and shape.speaker(messages[end]) == "model":
                end += 1
            calls = [call for index in range(at, end) for call in shape.calls(index, messages[index])]
            if calls:
                turns.append(Turn(at, end, tuple(calls)))
        at = end
    return turns


def pair(messages: Sequence[Message], shape: Shape) -> Pairs:
    """Find out which result answers which call.

    A result answers the nearest call before it that has its id: where a provider counts ids anew in each turn, the one
    after it is another call. Of calls of one turn with one id, the first that has no result yet. What is left in a
    turn's reach is paired by place where only one call and one result are left, or as many of both and one side has no
    ids at all.
    """
    turns = turns_of(messages, shape)
    first: dict[Place, Answer] = {}
    more: list[tuple[Call, Answer]] = []
    orphans: list[Answer] = []
    by_id: dict[str, list[tuple[Turn, list[Call]]]] = {}
    for turn in turns:
        for call in turn.calls:
            if call.id is not None:
                known = by_id.setdefault(call.id, [])
                if not known or known[-1][0] is not turn:
                    known.append((turn, []))
                known[-1][1].append(call)
    for index, message in enumerate(messages):
        for answer in shape.answers(index, message):
            calls = _nearest(by_id.get(answer.id or "", []), index)
            free = next((call for call in calls if call.place not in first), None)
            if free is not None:
                first[free.place] = answer
            elif calls:
                more.append((calls[-1], answer))
            else:
                orphans.append(answer)
    guessed = _by_place(turns, first, orphans)
    return Pairs(turns, first, more, guessed, orphans)


def _nearest(known: list[tuple[Turn, list[Call]]], index: int) -> list[Call]:
    before = [calls for turn, calls in known if turn.begin < index]
    return before[-1] if before else []


def _by_place(turns: list[Turn], first: dict[Place, Answer], orphans: list[Answer]) -> set[Place]:
    """Pair what is left, as far as that is safe; takes what it pairs out of `orphans`."""
    guessed: set[Place] = set()
    paired: set[Place] = set()
    begins = [turn.begin for turn in turns]
    near: dict[int, list[Answer]] = {}
    for answer in orphans:
        near.setdefault(bisect_right(begins, answer.index) - 1, []).append(answer)
    for at, turn in enumerate(turns):
        answers = near.get(at, [])
        open_calls = [call for call in turn.calls if call.place not in first] if answers else []
        nameless = all(call.id is None for call in open_calls) or all(answer.id is None for answer in answers)
        if open_calls and len(open_calls) == len(answers) and (len(answers) == 1 or nameless):
            for call, answer in zip(open_calls, answers, strict=True):
                first[call.place] = answer
                guessed.add(call.place)
                paired.add(answer.place)
    orphans[:] = [answer for answer in orphans if answer.place not in paired]
    return guessed
