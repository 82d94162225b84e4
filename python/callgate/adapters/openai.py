"""A plain loop over OpenAI's chat completions or responses, guarded: a response in, the list's continuation out."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from callgate.messages.openai_chat import SHAPE as CHAT
from callgate.messages.openai_responses import SHAPE as RESPONSES
from callgate.messages.parts import MessageError, plain
from callgate.runtime.side_by_side import THREADS, Approve, Tools, refuse_coroutines, run_turn
from callgate.runtime.task import Task
from callgate.runtime.turn import Said, Turn

from .fields import field, number

if TYPE_CHECKING:
    from callgate.runtime.side_by_side_async import ApproveAsync

__all__ = ["open_turn", "open_turn_async", "take_turn", "take_turn_async"]

# One of these has to be in a message of the assistant, or the provider refuses the next request.
_SAYING: Final = ("content", "tool_calls", "refusal", "audio")


def take_turn(
    task: Task,
    response: Any,
    tools: Tools,
    *,
    approve: Approve | None = None,
    threads: int = THREADS,
    usage: bool = True,
) -> Turn:
    """Judge, run and answer the calls of a response.

    Args:
        task: the task that the loop works on.
        response: what `POST /v1/chat/completions` or `POST /v1/responses` answered, as a dictionary or the library's
            object; which of the two it is, it says itself. Of several choices the first counts.
        tools: functions by name, called with the judged arguments by name.
        approve: asked for each call on which a person has to decide; gets the verdict, returns whether it may run.
        threads: how many calls of the turn run at once.
        usage: tell the task the tokens that the response says were used; False where the host does that itself.

    Returns:
        The turn: continue `messages` (or `input`) with `turn.messages`, end the loop where `turn.done`, and send
        `turn.tool_choice`.

    Raises:
        MessageError: the response is none.
        TypeError: a tool is a coroutine function.

    Example:
        >>> from callgate import Gate
        >>> task = Gate.load("default").task("order-4711")
        >>> call = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1, "b": 2}'}}
        >>> message = {"role": "assistant", "content": None, "tool_calls": [call]}
        >>> turn = take_turn(task, {"choices": [{"message": message}]}, {"add": lambda a, b: a + b})
        >>> turn.messages[1]
        {'role': 'tool', 'tool_call_id': 'c1', 'content': '3'}
    """
    refuse_coroutines(tools)
    turn = open_turn(task, response, usage=usage)
    run_turn(turn, tools, approve=approve, threads=threads)
    return turn


async def take_turn_async(
    task: Task, response: Any, tools: Tools, *, approve: ApproveAsync | None = None, usage: bool = True
) -> Turn:
    """`take_turn` for coroutine functions; plain ones run in threads, and so does what asks a store."""
    from callgate.runtime.side_by_side_async import run_turn_async

    turn = await open_turn_async(task, response, usage=usage)
    await run_turn_async(turn, tools, approve=approve)
    return turn


async def open_turn_async(task: Task, response: Any, *, usage: bool = True) -> Turn:
    """`open_turn` in an event loop, which goes on where a store has to be waited for."""
    from callgate.runtime.side_by_side_async import opened

    return await opened(task, partial(open_turn, task, response, usage=usage))


def open_turn(task: Task, response: Any, *, usage: bool = True) -> Turn:
    """Judge the calls of a response and leave it to the host to run them (`turn.open`) and to answer them."""
    return Turn(task, _chat(response) if field(response, "choices") is not None else _responses(response), usage=usage)


def _chat(response: Any) -> Said:
    choices = field(response, "choices", list)
    message = plain(field(choices[0], "message")) if choices else None
    if not isinstance(message, dict):
        raise MessageError("this is no response: its first choice has no message")
    # what the provider adds to its answers and has nothing in is not sent back: `annotations: []`, `refusal: null`
    kept = {key: value for key, value in message.items() if key == "content" or value not in (None, [])}
    said = [{"role": "assistant", **kept}] if any(kept.get(key) for key in _SAYING) else []
    return Said(CHAT, said, tokens=_tokens(field(response, "usage"), "prompt_tokens", "completion_tokens"))


def _responses(response: Any) -> Said:
    items = [plain(item) for item in field(response, "output", list)]
    if not all(isinstance(item, dict) for item in items):
        raise MessageError("this is no response: its `output` holds something that is no item")
    calls = [item for at, item in enumerate(items) if RESPONSES.calls(at, item)]
    cut = frozenset(position for position, item in enumerate(calls) if item.get("status") == "incomplete")
    return Said(RESPONSES, items, cut, _tokens(field(response, "usage"), "input_tokens", "output_tokens"))


def _tokens(usage: Any, sent: str, written: str) -> float:
    return number(usage, "total_tokens") or number(usage, sent) + number(usage, written)
