"""OpenAI's chat completions: `tool_calls` in the assistant's message, then a message of role `tool` for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from .parts import Answer, Call, Message, Turn, as_id
from .shape import Place, Shape, Speaker
from .written import arguments_text, result_text

_SPEAKERS: Final[dict[str, Speaker]] = {
    "system": "system", "developer": "system", "assistant": "model", "tool": "result",
}  # fmt: skip


class OpenAIChat:
    """The shape, as documented for `POST /v1/chat/completions`."""

    name = "openai_chat"
    merges = False

    def speaker(self, message: Message) -> Speaker:
        """By role; whatever is unknown counts as the user's."""
        return _SPEAKERS.get(str(message.get("role")), "user")

    def calls(self, index: int, message: Message) -> list[Call]:
        """The entries of `tool_calls` that name a tool."""
        found = []
        for part, entry in enumerate(_entries(message)):
            named = _named(entry)
            if named is not None:
                free = "custom" in entry and "function" not in entry
                written = named.get("input") if free else named.get("arguments")
                found.append(Call(index, part, as_id(entry.get("id")), named["name"], written, free))
        return found

    def malformed(self, message: Message) -> dict[int, str]:
        """Entries without a tool's name, and a list without entries, which the provider refuses."""
        entries = _entries(message)
        if not entries:
            return {-1: "`tool_calls` is empty"} if message.get("tool_calls") == [] else {}
        return {part: "the call names no tool" for part, entry in enumerate(entries) if _named(entry) is None}

    def answers(self, index: int, message: Message) -> list[Answer]:
        """The message itself, if it is a tool's."""
        if message.get("role") != "tool":
            return []
        return [Answer(index, 0, as_id(message.get("tool_call_id")), message.get("content"))]

    def place(self, messages: Sequence[Message], turn: Turn, answer: Answer) -> Place:
        """Right is among the tools' messages directly after the assistant's."""
        between = messages[turn.end : answer.index]
        directly = answer.index >= turn.end and all(self.speaker(message) == "result" for message in between)
        return "right" if directly else "misplaced"

    def with_calls(self, message: Message, calls: Mapping[int, Call | None]) -> Message | None:
        """The message with changed entries of `tool_calls`; without the key where none is left."""
        entries = []
        for part, entry in enumerate(_entries(message)):
            call = calls.get(part)
            if part not in calls:
                entries.append(entry)
            elif call is not None:
                key, written = ("custom", "input") if call.free else ("function", "arguments")
                inner = {**entry[key], "name": call.tool, written: call.arguments}
                entries.append({**entry, "id": call.id, key: inner})
        rest = {key: value for key, value in message.items() if key != "tool_calls"}
        if entries:
            return {**rest, "tool_calls": entries}
        return rest if rest.get("content") or rest.get("refusal") else None

    def without_answers(self, message: Message) -> Message | None:
        """Nothing is left of a tool's message."""
        return None

    def raw(self, message: Message, part: int) -> Any:
        """The message is the result."""
        return message

    def answering(self, raw: Any, call_id: str) -> Any:
        """The message for another call."""
        return raw if raw.get("tool_call_id") == call_id else {**raw, "tool_call_id": call_id}

    def result(self, call: Call, content: Any, *, is_error: bool) -> Any:
        """A tool's message. The shape has no flag for errors: the text has to say it."""
        return {"role": "tool", "tool_call_id": call.id, "content": result_text(content)}

    def laid(self, raws: Sequence[Any], following: Message | None) -> tuple[list[Message], bool]:
        """A message each."""
        return list(raws), False

    def said(self, role: Literal["user"], text: str) -> Message:
        """A message of plain text."""
        return {"role": role, "content": text}

    def arguments(self, value: Mapping[str, Any]) -> Any:
        """As JSON text."""
        return arguments_text(value)


def _entries(message: Message) -> list[Any]:
    entries = message.get("tool_calls")
    return list(entries) if isinstance(entries, Sequence) and not isinstance(entries, str) else []


def _named(entry: Any) -> Mapping[str, Any] | None:
    """The part of an entry that has the tool's name."""
    if not isinstance(entry, Mapping):
        return None
    for key in ("function", "custom"):
        inner = entry.get(key)
        if isinstance(inner, Mapping) and as_id(inner.get("name")) is not None:
            return inner
    return None


SHAPE: Final[Shape] = OpenAIChat()
