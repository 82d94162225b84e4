"""OpenAI's responses: a flat list of items, `function_call` and `function_call_output` joined by `call_id`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from .parts import Answer, Call, Message, Turn, as_id
from .shape import Place, Shape, Speaker
from .written import arguments_text, result_text

# Calls that a host answers with text; what the provider runs itself, or wants pictures for, is left alone.
_CALLS: Final = {"function_call": "arguments", "custom_tool_call": "input"}
_ANSWERS: Final = frozenset(f"{kind}_output" for kind in _CALLS)


class OpenAIResponses:
    """The shape of `input` and `output` of `POST /v1/responses`."""

    name = "openai_responses"
    merges = True

    def speaker(self, message: Message) -> Speaker:
        """By role where there is one, else by type: what does not come in from outside is the model's."""
        role, kind = message.get("role"), _kind(message)
        if role in ("system", "developer"):
            return "system"
        if isinstance(role, str):
            return "model" if role == "assistant" else "user"
        if kind.endswith("_output"):
            return "result"
        return "user" if kind.endswith("_response") or kind in ("", "message") else "model"

    def calls(self, index: int, message: Message) -> list[Call]:
        """The item itself, if it is a call that names a tool."""
        kind, name = _kind(message), as_id(message.get("name"))
        if kind not in _CALLS or name is None:
            return []
        written = message.get(_CALLS[kind])
        return [Call(index, 0, as_id(message.get("call_id")), name, written, kind == "custom_tool_call")]

    def malformed(self, message: Message) -> dict[int, str]:
        """A call without a tool's name."""
        nameless = _kind(message) in _CALLS and as_id(message.get("name")) is None
        return {0: "the call names no tool"} if nameless else {}

    def answers(self, index: int, message: Message) -> list[Answer]:
        """The item itself, if it is an output."""
        if _kind(message) not in _ANSWERS:
            return []
        return [Answer(index, 0, as_id(message.get("call_id")), message.get("output"))]

    def place(self, messages: Sequence[Message], turn: Turn, answer: Answer) -> Place:
        """Right is among the outputs directly after what the model said."""
        between = messages[turn.end : answer.index]
        directly = answer.index >= turn.end and all(self.speaker(message) == "result" for message in between)
        return "right" if directly else "misplaced"

    def with_calls(self, message: Message, calls: Mapping[int, Call | None]) -> Message | None:
        """The item as another call, or nothing."""
        if 0 not in calls:
            return message
        call = calls[0]
        if call is None:
            return None
        return {**message, "call_id": call.id, "name": call.tool, _CALLS[_kind(message)]: call.arguments}

    def without_answers(self, message: Message) -> Message | None:
        """Nothing is left of an output."""
        return None

    def raw(self, message: Message, part: int) -> Any:
        """The item is the result."""
        return message

    def answering(self, raw: Any, call_id: str) -> Any:
        """The output for another call."""
        return raw if raw.get("call_id") == call_id else {**raw, "call_id": call_id}

    def result(self, call: Call, content: Any, *, is_error: bool) -> Any:
        """An output. The shape has no flag for errors: the text has to say it."""
        kind = "custom_tool_call_output" if call.free else "function_call_output"
        return {"type": kind, "call_id": call.id, "output": result_text(content)}

    def laid(self, raws: Sequence[Any], following: Message | None) -> tuple[list[Message], bool]:
        """An item each."""
        return list(raws), False

    def said(self, role: Literal["user"], text: str) -> Message:
        """A message of plain text."""
        return {"role": role, "content": text}

    def arguments(self, value: Mapping[str, Any]) -> Any:
        """As JSON text."""
        return arguments_text(value)


def _kind(message: Message) -> str:
    kind = message.get("type")
    return kind if isinstance(kind, str) else ""


SHAPE: Final[Shape] = OpenAIResponses()
