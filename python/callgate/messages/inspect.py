"""Looking through a message list for what makes models call again: results lost, torn off, cut short or misplaced."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from .arguments import read_arguments
from .finding import Finding, finding
from .pairing import Pairs, pair
from .parts import Message, Turn, plain_messages
from .repeats import repeated_calls
from .results import weak_results
from .shape import Shape, shape_for

if TYPE_CHECKING:
    from callgate._core import CompiledPolicy


def inspect(
    messages: Iterable[Any],
    *,
    shape: str | None = None,
    policy: CompiledPolicy | None = None,
    open_turn: bool = False,
) -> list[Finding]:
    """Find what is wrong with a message list.

    Args:
        messages: the list as it would be sent: `messages` of OpenAI's chat completions or of Anthropic, or `input` of
            OpenAI's responses. Maps, or objects of a provider's library.
        shape: `openai_chat`, `openai_responses` or `anthropic`; told by the list itself where it is left out.
        policy: a compiled policy (`gate.policy`); then calls are the same by its loose identity, and its effects say
            what may have changed between two of them. Without one they are the same by `callgate.fingerprint`.
        open_turn: the calls of the last turn are still running, so that their results may be missing.

    Returns:
        The findings, by message. Nothing is changed; `repair` mends what can be mended.

    Raises:
        MessageError: this is no list of messages.

    Example:
        >>> call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        >>> found = inspect([{"role": "assistant", "tool_calls": [call]}, {"role": "user", "content": "and?"}])
        >>> [(each.kind, each.index, each.call_id) for each in found]
        [('missing_result', 0, 'c1')]
    """
    plain = plain_messages(messages)
    using = shape_for(plain, shape)
    pairs = pair(plain, using)
    found = [
        *_malformed(plain, using),
        *_ids(pairs),
        *_arguments(pairs, using),
        *_missing(plain, pairs, open_turn),
        *_strays(pairs),
        *_places(plain, using, pairs),
        *weak_results(pairs),
        *repeated_calls(plain, using, pairs, policy),
    ]
    return sorted(found, key=lambda each: each.index)


def _malformed(messages: Sequence[Message], shape: Shape) -> Iterator[Finding]:
    for index, message in enumerate(messages):
        for why in shape.malformed(message).values():
            yield finding("malformed_call", index, None, why, "take it out, or write the call as the provider does")


def _ids(pairs: Pairs) -> Iterator[Finding]:
    seen: dict[str, int] = {}
    for turn in pairs.turns:
        for call in turn.calls:
            if call.id is None:
                hint = "give the call an id, and its result the same one"
                yield finding("missing_id", call.index, None, f"a call of `{call.tool}` has no id", hint)
            elif call.id in seen:
                message = f"the id `{call.id}` is used again, for a call of `{call.tool}`"
                hint = "give each call an id of its own, and its result the same one"
                yield finding("duplicate_call_id", call.index, call.id, message, hint, related=seen[call.id])
            else:
                seen[call.id] = call.index
    for turn in pairs.turns:
        for call in turn.calls:
            answer = pairs.first.get(call.place)
            if answer is None or call.place not in pairs.guessed:
                continue
            if answer.id is None:
                message, hint = f"a result has no id; it seems to be that of `{call.tool}`", f"write the id `{call.id}`"
                yield finding("missing_id", answer.index, call.id, message, hint, related=call.index)
            elif call.id is not None:
                message = f"the result is for `{answer.id}`, and the call of `{call.tool}` before it is `{call.id}`"
                hint = "give the result the id of its call; as it is, the model does not see it"
                yield finding("mismatched_id", answer.index, answer.id, message, hint, related=call.index)


def _arguments(pairs: Pairs, shape: Shape) -> Iterator[Finding]:
    for turn in pairs.turns:
        for call in turn.calls:
            if call.free:
                continue
            read = read_arguments(call.arguments)
            if read.fault == "cut_off":
                message = f"the arguments of `{call.tool}` are cut off: {read.why}"
                hint = "the model ran out of output tokens: raise the limit; never run such a call"
                yield finding("arguments_cut_off", call.index, call.id, message, hint)
            elif read.fault is not None:
                message = f"the arguments of `{call.tool}` are no JSON object: {read.why}"
                hint = "answer the call with an error that says so; never guess what was meant"
                yield finding("arguments_not_json", call.index, call.id, message, hint)
            elif not isinstance(call.arguments, type(shape.arguments({}))):
                wanted = "an object" if isinstance(shape.arguments({}), dict) else "JSON text"
                message = f"the arguments of `{call.tool}` are not written as {wanted}, as the provider wants them"
                yield finding("arguments_not_json", call.index, call.id, message, "write them as the provider does")


def _missing(messages: Sequence[Message], pairs: Pairs, open_turn: bool) -> Iterator[Finding]:
    for turn in pairs.turns:
        waiting = open_turn and turn is pairs.turns[-1] and turn.end == len(messages)
        for call in turn.calls:
            if call.place not in pairs.first and not waiting:
                at_end = turn.end == len(messages)
                message = f"the call of `{call.tool}` has no result" + (", and the list ends" if at_end else "")
                hint = "put the result after it; where it is lost, an error that says so (`repair` does)"
                yield finding("missing_result", call.index, call.id, message, hint)


def _strays(pairs: Pairs) -> Iterator[Finding]:
    begun = pairs.turns[0].begin if pairs.turns else None
    for answer in pairs.orphans:
        named = f"`{answer.id}`" if answer.id else "no id"
        if begun is None or answer.index < begun:
            message = f"the result for {named} stands before the first call: its call was trimmed away"
            hint = "trim a call and its result together, or not at all"
            yield finding("trimmed_call", answer.index, answer.id, message, hint)
        else:
            message = f"the result for {named} answers no call of the list"
            hint = "keep the call that it belongs to, or take the result out"
            yield finding("orphan_result", answer.index, answer.id, message, hint)
    for call, answer in pairs.more:
        message = f"the call `{call.id}` of `{call.tool}` is answered once more"
        hint = "keep one result for a call: the one that is true"
        yield finding("duplicate_result", answer.index, answer.id, message, hint, related=pairs.first[call.place].index)


def _places(messages: Sequence[Message], shape: Shape, pairs: Pairs) -> Iterator[Finding]:
    for turn in pairs.turns:
        answers = [(call, pairs.first[call.place]) for call in turn.calls if call.place in pairs.first]
        split = False
        for call, answer in answers:
            where = shape.place(messages, turn, answer)
            if where == "misplaced":
                message = f"the result of `{call.tool}` does not stand directly after its call"
                hint = "put the results of a turn directly after it, before anything else is said"
                level: Any = "warning" if shape.name == "openai_responses" and answer.index >= turn.end else None
                yield finding(
                    "misplaced_result", answer.index, call.id, message, hint, related=call.index, severity=level
                )
            elif where == "after_text":
                message = f"something else stands before the result of `{call.tool}`"
                hint = "put the results first, and what else is said after them"
                yield finding("text_before_result", answer.index, call.id, message, hint, related=call.index)
            elif where == "split" and not split:
                split = True
                message = "the results of one turn are split over several messages"
                hint = "put them into one message: split, they teach the model not to call in parallel"
                yield finding("split_results", answer.index, call.id, message, hint, related=turn.end)
        yield from _order(turn, pairs)


def _order(turn: Turn, pairs: Pairs) -> Iterator[Finding]:
    answers = [pairs.first[call.place] for call in turn.calls if call.place in pairs.first]
    for before, after in pairwise(answers):
        if after.place < before.place:
            message = "the results of one turn stand in another order than its calls"
            yield finding("results_out_of_order", after.index, after.id, message, "put them in the order of the calls")
            return
