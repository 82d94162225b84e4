"""A plain loop over Anthropic's messages, guarded: a response in, the messages that continue the list out."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from callgate.messages.anthropic import SHAPE
from callgate.messages.parts import plain
from callgate.runtime.side_by_side import THREADS, Approve, Tools, refuse_coroutines, run_turn
from callgate.runtime.task import Task
from callgate.runtime.turn import Said, Turn

from .fields import field, number

if TYPE_CHECKING:
    from callgate.runtime.side_by_side_async import ApproveAsync

__all__ = ["open_turn", "open_turn_async", "take_turn", "take_turn_async"]

_USED: Final = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


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
        response: what `POST /v1/messages` answered: the JSON as a dictionary, or the library's object.
        tools: functions by name, called with the judged arguments by name.
        approve: asked for each call on which a person has to decide; gets the verdict, returns whether it may run.
        threads: how many calls of the turn run at once.
        usage: tell the task the tokens that the response says were used; False where the host does that itself.

    Returns:
        The turn: continue the list with `turn.messages`, end the loop where `turn.done`, and send `turn.tool_choice`.

    Raises:
        MessageError: the response is none.
        TypeError: a tool is a coroutine function.

    Example:
        >>> from callgate import Gate
        >>> task = Gate.load("default").task("order-4711")
        >>> use = {"type": "tool_use", "id": "t1", "name": "add", "input": {"a": 1, "b": 2}}
        >>> turn = take_turn(task, {"role": "assistant", "content": [use]}, {"add": lambda a, b: a + b})
        >>> turn.messages[1]
        {'role': 'user', 'content': [{'type': 'tool_result', 'tool_use_id': 't1', 'content': '3'}]}
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
    blocks = [plain(block) for block in field(response, "content", list)]
    message = {"role": "assistant", "content": blocks}
    why = field(response, "stop_reason")
    # a call that the limit of tokens cut off comes with as much of its input as there was
    last = len(blocks) - 1 if why == "max_tokens" else None
    said = Said(
        SHAPE,
        [message] if blocks else [],
        frozenset(at for at, call in enumerate(SHAPE.calls(0, message)) if call.part == last),
        sum(number(field(response, "usage"), name) for name in _USED),
        why == "pause_turn",
    )
    return Turn(task, said, usage=usage)
