"""Anthropic's messages: `tool_use` blocks of the assistant, their `tool_result`s at the head of the next message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from .parts import Answer, Call, Message, Turn, as_id
from .shape import Place, Shape, Speaker
from .written import result_text


class Anthropic:
    """The shape of `messages` of `POST /v1/messages`."""

    name = "anthropic"
    merges = True

    def speaker(self, message: Message) -> Speaker:
        """By role; results come in messages of the user."""
        role = message.get("role")
        return "model" if role == "assistant" else "system" if role == "system" else "user"

    def calls(self, index: int, message: Message) -> list[Call]:
        """The `tool_use` blocks of the assistant that name a tool."""
        if message.get("role") != "assistant":
            return []
        return [
            Call(index, part, as_id(block.get("id")), block["name"], block.get("input"))
            for part, block in _blocks(message, "tool_use")
            if as_id(block.get("name")) is not None
        ]

    def malformed(self, message: Message) -> dict[int, str]:
        """Blocks without a tool's name, and calls that somebody else makes."""
        found = {}
        for part, block in _blocks(message, "tool_use"):
            if message.get("role") != "assistant":
                found[part] = "a call stands in a message that is not the assistant's"
            elif as_id(block.get("name")) is None:
                found[part] = "the call names no tool"
        return found

    def answers(self, index: int, message: Message) -> list[Answer]:
        """The `tool_result` blocks."""
        return [
            Answer(index, part, as_id(block.get("tool_use_id")), block.get("content"), block.get("is_error") is True)
            for part, block in _blocks(message, "tool_result")
        ]

    def place(self, messages: Sequence[Message], turn: Turn, answer: Answer) -> Place:
        """Right is at the head of the message directly after the assistant's."""
        run = messages[turn.end : answer.index + 1]
        if answer.index < turn.end or any(self.speaker(message) != "user" for message in run):
            return "misplaced"
        for message in run:
            content = message.get("content")
            before = content if message is not run[-1] else _listed(content)[: answer.part]
            if any(not _is(block, "tool_result") for block in _listed(before)):
                return "after_text"
        return "right" if answer.index == turn.end else "split"

    def with_calls(self, message: Message, calls: Mapping[int, Call | None]) -> Message | None:
        """The message with changed or without some `tool_use` blocks."""
        blocks = []
        for part, block in enumerate(_listed(message.get("content"))):
            call = calls.get(part)
            if part not in calls:
                blocks.append(block)
            elif call is not None:
                blocks.append({**block, "id": call.id, "name": call.tool, "input": call.arguments})
        return {**message, "content": blocks} if blocks else None

    def without_answers(self, message: Message) -> Message | None:
        """The message without its `tool_result` blocks."""
        blocks = [block for block in _listed(message.get("content")) if not _is(block, "tool_result")]
        return {**message, "content": blocks} if blocks else None

    def raw(self, message: Message, part: int) -> Any:
        """The block."""
        return _listed(message.get("content"))[part]

    def answering(self, raw: Any, call_id: str) -> Any:
        """The block for another call."""
        return raw if raw.get("tool_use_id") == call_id else {**raw, "tool_use_id": call_id}

    def result(self, call: Call, content: Any, *, is_error: bool) -> Any:
        """A `tool_result` block; blocks of content are kept as they are."""
        kept = content if _is_content(content) else result_text(content)
        block = {"type": "tool_result", "tool_use_id": call.id, "content": kept}
        return {**block, "is_error": True} if is_error else block

    def laid(self, raws: Sequence[Any], following: Message | None) -> tuple[list[Message], bool]:
        """One message with all of them at its head; what else stood beside results in the next one comes after."""
        if following is None or self.speaker(following) != "user" or not self.answers(0, following):
            return [{"role": "user", "content": list(raws)}], False
        rest = self.without_answers(following)
        blocks = [*raws, *(rest["content"] if rest is not None else ())]
        return [following if blocks == following["content"] else {**following, "content": blocks}], True

    def said(self, role: Literal["user"], text: str) -> Message:
        """A message of plain text."""
        return {"role": role, "content": text}

    def arguments(self, value: Mapping[str, Any]) -> Any:
        """As an object."""
        return dict(value)


def _listed(content: Any) -> list[Any]:
    """The blocks of a content; a plain text is one block of text."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return list(content) if isinstance(content, Sequence) else []


def _blocks(message: Message, kind: str) -> list[tuple[int, Mapping[str, Any]]]:
    return [(part, block) for part, block in enumerate(_listed(message.get("content"))) if _is(block, kind)]


def _is(block: Any, kind: str) -> bool:
    return isinstance(block, Mapping) and block.get("type") == kind


def _is_content(content: Any) -> bool:
    """Whether a result is a list of content blocks already."""
    if not isinstance(content, list) or not content:
        return False
    kinds = ("text", "image", "document", "search_result")
    return all(isinstance(block, Mapping) and block.get("type") in kinds for block in content)


SHAPE: Final[Shape] = Anthropic()
