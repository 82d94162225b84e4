"""What a message list is made of, whatever its shape: calls, the results that answer them, and the model's turns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

Message = Mapping[str, Any]


class MessageError(ValueError):
    """This is no list of messages; the text says why, and `index` which message is none, if it is one of them."""

    def __init__(self, text: str, index: int | None = None) -> None:
        self.index = index
        super().__init__(text)


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool that a model asked for.

    `index` is that of its message, `part` its place among the calls or blocks of that message; `id` is None where the
    message has none; `arguments` are as they are written: a JSON text in OpenAI's shapes, an object in Anthropic's;
    `free` says that they are a text of the tool's own, which no one reads as JSON.
    """

    index: int
    part: int
    id: str | None
    tool: str
    arguments: Any
    free: bool = False

    @property
    def place(self) -> tuple[int, int]:
        """Message and place in it: tells calls apart, whatever their ids."""
        return self.index, self.part


@dataclass(frozen=True, slots=True)
class Answer:
    """A result that was handed to the model: its message, its place in it, the id that it answers, what it says."""

    index: int
    part: int
    id: str | None
    content: Any
    is_error: bool = False

    @property
    def place(self) -> tuple[int, int]:
        """Message and place in it."""
        return self.index, self.part


class Turn(NamedTuple):
    """What a model said in one go, with at least one call: `messages[begin:end]`, and the calls in it in order."""

    begin: int
    end: int
    calls: tuple[Call, ...]


def plain_messages(messages: Iterable[Any]) -> list[Message]:
    """The messages as maps: maps as they are, objects of a provider's library by what they dump.

    Raises:
        MessageError: it is no list, or a message is neither a map nor such an object.

    Example:
        >>> plain_messages([{"role": "user", "content": "hello"}])
        [{'role': 'user', 'content': 'hello'}]
    """
    if isinstance(messages, (str, bytes, Mapping)) or not isinstance(messages, Iterable):
        raise MessageError(f"a list of messages is wanted, not {_what(messages)}")
    return [_plain_message(message, index) for index, message in enumerate(messages)]


def _plain_message(message: Any, index: int) -> Message:
    found: Any = plain(message)
    if not isinstance(found, Mapping):
        raise MessageError(f"messages[{index}] is {_what(message)}, and an object is wanted", index)
    for key in ("content", "tool_calls"):
        parts = found.get(key)
        if isinstance(parts, list) and any(hasattr(part, "model_dump") for part in parts):
            found = {**found, key: [plain(part) for part in parts]}
    return cast("Message", found)


def plain(value: Any) -> Any:
    """An object of a provider's library as plain data, told by its `model_dump` so that none has to be imported."""
    dump = None if isinstance(value, Mapping) else getattr(value, "model_dump", None)
    return dump(mode="json", exclude_none=True) if callable(dump) else value


def _what(value: object) -> str:
    names = {str: "a text", bytes: "bytes", int: "a number", float: "a number", list: "a list", type(None): "null"}
    return "an object" if isinstance(value, Mapping) else names.get(type(value), f"a {type(value).__name__}")


def as_id(value: Any) -> str | None:
    """An id, or None for what cannot be one: absent, empty, no text."""
    return value if isinstance(value, str) and value else None


def text_of(content: Any) -> str:
    """The text of a content: itself, or the texts of its blocks joined by line breaks.

    >>> text_of([{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}])
    'a\\nb'
    """
    if isinstance(content, str):
        return content
    if not isinstance(content, Sequence):
        return ""
    texts = [block.get("text") for block in content if isinstance(block, Mapping)]
    return "\n".join(text for text in texts if isinstance(text, str))
