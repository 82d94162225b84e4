"""Mending a message list: every call with its one result after it, under one id, and what is lost said to be lost."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from .arguments import read_arguments
from .pairing import Pairs, pair
from .parts import Answer, Call, Message, plain_messages, text_of
from .results import LOST
from .shape import Shape, shape_for

INVALID: Final = "INVALID_JSON"
"""The key under which arguments that are no JSON are kept, as Anthropic's documentation proposes it."""

_TAKEN: Final = re.compile(r"[^A-Za-z0-9_-]+")


def repair(messages: Iterable[Any], *, shape: str | None = None) -> list[Message]:
    """Mend a message list, so that `inspect` finds no error in it.

    Args:
        messages: as `inspect` takes them. They are not changed.
        shape: as `inspect` takes it.

    Returns:
        A new list. Results stand directly after the turn that asked for them, in the order of its calls, in one message
        where the provider wants that. A call without a result gets one that says it was lost ("Tool result lost during
        context compaction"). A result without a call is left out, and of several for one call the last is kept. Ids
        that are missing, doubled or different are made one; arguments that are no JSON are kept as text under
        `INVALID_JSON`. What is in order stays as it is, and repairing twice changes nothing.

    Raises:
        MessageError: this is no list of messages.

    Example:
        >>> call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        >>> repair([{"role": "assistant", "tool_calls": [call]}])[1]
        {'role': 'tool', 'tool_call_id': 'c1', 'content': 'Tool result lost during context compaction'}
    """
    plain = plain_messages(messages)
    using = shape_for(plain, shape)
    return _Repair(plain, using, pair(plain, using)).run()


class _Repair:
    def __init__(self, messages: Sequence[Message], shape: Shape, pairs: Pairs) -> None:
        self.messages = messages
        self.shape = shape
        self.pairs = pairs
        self.ids = _unique_ids(pairs)
        self.more: dict[tuple[int, int], list[Answer]] = {}
        for call, answer in pairs.more:
            self.more.setdefault(call.place, []).append(answer)

    def run(self) -> list[Message]:
        turns = {turn.begin: turn for turn in self.pairs.turns}
        out: list[Message] = []
        at = 0
        while at < len(self.messages):
            turn = turns.get(at)
            if turn is None:
                message: Message | None = self._without_malformed(self.messages[at])
                if message is not None and self.shape.answers(at, message):
                    message = self.shape.without_answers(message)
                out += [message] if message is not None else []
                at += 1
                continue
            out += [message for index in range(turn.begin, turn.end) if (message := self._said(index)) is not None]
            following = self._without_malformed(self.messages[turn.end]) if turn.end < len(self.messages) else None
            results, used = self.shape.laid([self._result(call) for call in turn.calls], following)
            out += results
            at = turn.end + used
        return out

    def _said(self, index: int) -> Message | None:
        """A message of the model, its calls mended, results that do not belong there taken out."""
        message = self.messages[index]
        calls: dict[int, Call | None] = dict.fromkeys(self.shape.malformed(message))
        for call in self.shape.calls(index, message):
            mended = replace(call, id=self.ids[call.place], arguments=self._arguments(call))
            if mended != call:
                calls[call.part] = mended
        changed = self.shape.with_calls(message, calls) if calls else message
        if changed is not None and self.shape.answers(index, changed):
            changed = self.shape.without_answers(changed)
        return changed

    def _without_malformed(self, message: Message) -> Message | None:
        malformed = self.shape.malformed(message)
        return self.shape.with_calls(message, dict.fromkeys(malformed)) if malformed else message

    def _arguments(self, call: Call) -> Any:
        if call.free:
            return call.arguments
        read = read_arguments(call.arguments)
        if read.value is None:
            return self.shape.arguments({INVALID: call.arguments})
        fine = isinstance(call.arguments, type(self.shape.arguments({})))
        return call.arguments if fine else self.shape.arguments(read.value)

    def _result(self, call: Call) -> Any:
        answer = self._answer(call)
        mended = replace(call, id=self.ids[call.place])
        if answer is None:
            return self.shape.result(mended, LOST, is_error=True)
        raw = self.shape.raw(self.messages[answer.index], answer.part)
        return self.shape.answering(raw, self.ids[call.place])

    def _answer(self, call: Call) -> Answer | None:
        """The last result of a call; one that says it was lost only if there is no other."""
        first = self.pairs.first.get(call.place)
        if first is None:
            return None
        answers: list[Answer] = [first, *self.more.get(call.place, ())]
        told = [answer for answer in answers if text_of(answer.content) != LOST]
        return (told or answers)[-1]


def _unique_ids(pairs: Pairs) -> dict[tuple[int, int], str]:
    """An id for each call: its own where no earlier one has it, else a new one that nobody has."""
    written = {call.id for turn in pairs.turns for call in turn.calls if call.id is not None}
    given: dict[tuple[int, int], str] = {}
    used: set[str] = set()
    for turn in pairs.turns:
        for call in turn.calls:
            name = call.id
            if name is None or name in used:
                stem = _TAKEN.sub("_", name or "call")
                number = 2 if name else 1
                while f"{stem}_{number}" in used or f"{stem}_{number}" in written:
                    number += 1
                name = f"{stem}_{number}"
            used.add(name)
            given[call.place] = name
    return given
