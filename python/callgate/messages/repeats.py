"""Calls that are made again although their answer stands in the list, and nothing between may have changed it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from callgate._core import ArgumentError, fingerprint

from .arguments import read_arguments
from .finding import Finding, finding
from .pairing import Pairs
from .parts import Call, Message, Turn, text_of
from .results import LOST, how_weak
from .shape import Shape

if TYPE_CHECKING:
    from callgate._core import CompiledPolicy

_CHANGING = frozenset(("write", "external", "ui"))


class _Kind(NamedTuple):
    """What is known of a call: what makes it the same as another one, what it may change, whether it waits."""

    identity: str
    effect: str
    waiting: bool


class _Answered(NamedTuple):
    """A call whose answer stands in the list, and the text of it."""

    call: Call
    text: str


def repeated_calls(
    messages: Sequence[Message], shape: Shape, pairs: Pairs, policy: CompiledPolicy | None
) -> Iterator[Finding]:
    """Findings about repeated calls.

    A call is repeated if an earlier turn made the same call, its result stands in the list and is neither a failure nor
    cut off nor cleared, and since then nobody spoke and nothing may have changed it: no write, and no call of unknown
    effect that is new to the list. These are the engine's words for a possible write. Where the call brought something
    else than before, something did change.
    """
    answered: dict[str, _Answered] = {}
    seen: set[str] = set()
    spoken = [index for index, message in enumerate(messages) if _is_said(shape, index, message)]
    last = -1
    for turn in pairs.turns:
        if bisect_left(spoken, turn.begin) > bisect_right(spoken, last):
            answered.clear()
        last = turn.begin
        kinds = [(call, kind) for call in turn.calls if (kind := _kind(call, policy)) is not None]
        for call, kind in kinds:
            earlier = answered.get(kind.identity)
            if earlier is not None and not kind.waiting and _text(pairs, call) in (None, earlier.text):
                index = earlier.call.index
                message = f"`{call.tool}` is called again with the same arguments as in messages[{index}]"
                hint = "its answer stands in the list: give the model a note, or guard the loop with a policy"
                yield finding("repeated_call", call.index, call.id, message, hint, related=index)
        _take(turn, kinds, pairs, answered, seen)


def _take(
    turn: Turn, kinds: list[tuple[Call, _Kind]], pairs: Pairs, answered: dict[str, _Answered], seen: set[str]
) -> None:
    """What the turn's results make known, and which earlier answers may no longer hold after it."""
    for _, kind in kinds:
        may_change = kind.effect in _CHANGING or (kind.effect == "unknown" and kind.identity not in seen)
        if may_change:
            for other in [identity for identity in answered if identity != kind.identity]:
                del answered[other]
        seen.add(kind.identity)
    for call, kind in kinds:
        answer = pairs.first.get(call.place)
        if answer is None:
            continue
        text = text_of(answer.content)
        before = answered.get(kind.identity)
        if answer.is_error or text == LOST or how_weak(text) is not None:
            answered.pop(kind.identity, None)
        elif before is None or before.text != text:
            answered[kind.identity] = _Answered(call, text)


def _text(pairs: Pairs, call: Call) -> str | None:
    """What a call brought, None where that is not in the list."""
    answer = pairs.first.get(call.place)
    return None if answer is None else text_of(answer.content)


def _is_said(shape: Shape, index: int, message: Message) -> bool:
    """Whether somebody other than the model speaks in a message, results aside."""
    if shape.speaker(message) != "user":
        return False
    return not shape.answers(index, message) or shape.without_answers(message) is not None


def _kind(call: Call, policy: CompiledPolicy | None) -> _Kind | None:
    """None for a call whose arguments nobody can read."""
    arguments = {"input": call.arguments} if call.free else read_arguments(call.arguments).value
    if arguments is None:
        return None
    try:
        if policy is not None:
            return _Kind(*policy.identify(call.tool, arguments))
        return _Kind(fingerprint(call.tool, arguments), "unknown", False)
    except ArgumentError:
        return None
