"""The shapes in which providers take message lists, and how to tell which one a list has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Final, Literal, Protocol

from .parts import Answer, Call, Message, Turn

Speaker = Literal["system", "user", "model", "result"]
Place = Literal["right", "split", "after_text", "misplaced"]


class Shape(Protocol):
    """How one provider writes calls and results."""

    name: str
    merges: bool
    """Whether messages of the model that follow each other are one turn."""

    def speaker(self, message: Message) -> Speaker:
        """Whose message it is."""

    def calls(self, index: int, message: Message) -> list[Call]:
        """The calls in a message."""

    def answers(self, index: int, message: Message) -> list[Answer]:
        """The results in a message."""

    def malformed(self, message: Message) -> dict[int, str]:
        """The parts of a message that stand where calls do and are none, with what is wrong."""

    def place(self, messages: Sequence[Message], turn: Turn, answer: Answer) -> Place:
        """Whether a result stands where the provider wants those of a turn."""

    def with_calls(self, message: Message, calls: Mapping[int, Call | None]) -> Message | None:
        """The message with some parts replaced by other calls, or taken out; None if nothing is left of it."""

    def without_answers(self, message: Message) -> Message | None:
        """The message without its results; None if nothing is left of it."""

    def raw(self, message: Message, part: int) -> Any:
        """A result as it is written in its message."""

    def answering(self, raw: Any, call_id: str) -> Any:
        """A result as written, with another id."""

    def result(self, call: Call, content: Any, *, is_error: bool) -> Any:
        """A new result for a call."""

    def laid(self, raws: Sequence[Any], following: Message | None) -> tuple[list[Message], bool]:
        """The results of a turn as the messages that come next, and whether `following` is one of them now."""

    def said(self, role: Literal["user"], text: str) -> Message:
        """A message of plain text."""

    def arguments(self, value: Mapping[str, Any]) -> Any:
        """Arguments as this shape writes them."""


SHAPES: Final = {
    "openai_chat": "callgate.messages.openai_chat",
    "openai_responses": "callgate.messages.openai_responses",
    "anthropic": "callgate.messages.anthropic",
}
"""A shape is a module with `SHAPE`. To add one, write the module and add its line, and tell it apart in `detect`."""


def shape_named(name: str) -> Shape:
    """The shape of a name in `SHAPES`.

    Raises:
        ValueError: there is no such shape.
    """
    if name not in SHAPES:
        raise ValueError(f"unknown shape `{name}`: there are " + ", ".join(f"`{known}`" for known in SHAPES))
    shape: Shape = import_module(SHAPES[name]).SHAPE
    return shape


def shape_for(messages: Sequence[Message], name: str | None) -> Shape:
    """The shape that was named, else the one that the list has."""
    return shape_named(detect(messages) if name is None else name)


def detect(messages: Sequence[Message]) -> str:
    """Which shape a list has. One without calls and results fits several; it counts as `openai_chat`.

    Example:
        >>> detect([{"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]}])
        'anthropic'
        >>> detect([{"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}])
        'openai_responses'
    """
    for message in messages:
        if message.get("role") == "tool" or "tool_calls" in message or "tool_call_id" in message:
            return "openai_chat"
        kind, content = message.get("type"), message.get("content")
        if isinstance(kind, str) and ("role" not in message or kind.endswith(("_call", "_output"))):
            return "openai_responses"
        for block in content if isinstance(content, (list, tuple)) else ():
            kind = block.get("type") if isinstance(block, Mapping) else None
            if kind in ("tool_use", "tool_result"):
                return "anthropic"
            if kind in ("input_text", "output_text", "input_image", "input_file"):
                return "openai_responses"
    return "openai_chat"
