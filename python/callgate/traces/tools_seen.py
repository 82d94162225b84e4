"""The tools that a recorded run shows, as drafts for a manifest: all of it guesses, each with what it rests on."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from callgate.counted import counted, times
from callgate.policy.draft import Draft, Guess, ImportFault, refuse_odd_name
from callgate.policy.tool_guesses import WAITING

from .lines import Chunk

# New in each call by their look: a UUID, a time, milliseconds since 1970.
_FLEETING: Final = re.compile(
    r"[0-9a-fA-F]{8}(-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}|\d{4}-\d\d-\d\d[T ]\d\d:\d\d.*|1\d{9}(\d{3})?(\.\d+)?"
)
_FEWEST_PAIRS: Final = 3
"""Calls alike but for one argument that are wanted before that argument is called volatile."""
_FEWEST_RESULTS: Final = 3
_MOST_KEPT: Final = 20_000
"""Calls of one tool whose arguments are kept for comparing; later ones only add to the counts."""
_NEVER_THERE: Final = ("unknown_tool", "invalid_arguments")
_FIELD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RESERVED: Final = re.compile(
    "as|break|const|continue|else|false|for|function|if|import|in|let|loop|namespace|null|package|return|true|var|void|while"
)
_TYPES: Final = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}


class Seen(NamedTuple):
    """Drafts of the tools of a trace, nothing guessed from names yet; and what was left out, in words."""

    drafts: list[Draft]
    remarks: list[str]


def tools_seen(chunks: Iterable[Chunk]) -> Seen:
    """Look at all calls of a trace.

    Args:
        chunks: the lines of the trace.

    Returns:
        A draft of each tool that was called, in the order of their first calls.

    Raises:
        ImportFault: there is no call in it.

    Example:
        >>> from callgate.traces.lines import Chunk
        >>> line = b'{"session": "s", "tool": "f", "arguments": {"x": 1}}'
        >>> [draft.name for draft in tools_seen([Chunk(line, 1, len(line))]).drafts]
        ['f']
    """
    tools: dict[str, _Tool] = {}
    streams: dict[str, _Stream] = {}
    broken = 0
    for record in _records(chunks):
        if record is None:
            broken += 1
        elif "event" not in record:
            name, arguments, session = record.get("tool"), record.get("arguments"), record.get("session")
            if not (isinstance(name, str) and isinstance(arguments, dict) and isinstance(session, str)):
                broken += 1
                continue
            tool = tools.setdefault(name, _Tool())
            if not tool.add(record, arguments):
                continue
            streams.setdefault(session, _Stream()).add(tool, name, record, arguments)
    one, several = "of its lines is left out: it is no record", "of its lines are left out: they are no records"
    remarks = [counted(broken, f"{one} of a call or event", f"{several} of calls or events")] if broken else []
    drafts: list[Draft] = []
    for name, tool in tools.items():
        if tool.calls == 0:
            remarks.append(f"`{name}` is left out: no call of it reached a tool")
            continue
        try:
            refuse_odd_name(name, "a tool")
        except ImportFault as fault:
            remarks.append(f"a tool is left out: {fault}")
            continue
        drafts.append(tool.draft(name))
    if not drafts:
        raise ImportFault("there is no call in this trace")
    return Seen(drafts, remarks)


def _records(chunks: Iterable[Chunk]) -> Iterator[dict[str, Any] | None]:
    """The records of the lines, None for one that is none; empty lines are passed over."""
    for chunk in chunks:
        yield from [None] * len(chunk.too_long)
        for line in chunk.lines.split(b"\n"):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                record = None
            yield record if isinstance(record, dict) else None


def _digest(value: Any) -> bytes:
    return blake2b(json.dumps(value, sort_keys=True).encode("utf-8", "surrogatepass"), digest_size=8).digest()


class _Argument:
    def __init__(self) -> None:
        self.calls = 0
        self.types: dict[str, None] = {}
        self.fleeting = True
        self.pairs = self.again = 0
        self._values: dict[bytes, set[bytes]] = {}

    def add(self, value: Any, others: Any) -> None:
        self.calls += 1
        self.types[_TYPES.get(type(value), "null")] = None
        text = str(value) if isinstance(value, (str, int, float)) else ""
        self.fleeting = self.fleeting and _FLEETING.fullmatch(text) is not None
        if self.fleeting and self.calls <= _MOST_KEPT:
            values, own = self._values.setdefault(_digest(others), set()), _digest(value)
            self.again += own in values
            self.pairs += bool(values) and own not in values
            values.add(own)

    @property
    def volatile(self) -> bool:
        return self.fleeting and self.again == 0 and self.pairs >= _FEWEST_PAIRS

    def schema(self) -> dict[str, Any]:
        types = [each for each in self.types if each != "integer" or "number" not in self.types]
        return {"type": types[0] if len(types) == 1 else types}


class _Tool:
    def __init__(self) -> None:
        self.calls = self.waits = self.stuck = 0
        self.arguments: dict[str, _Argument] = {}
        self.results = 0
        self.lists: set[str] | None = None

    def add(self, record: dict[str, Any], arguments: dict[str, Any]) -> bool:
        """Count a call; one that reached no tool tells nothing of it, and false is returned."""
        error = record.get("error")
        if isinstance(error, dict) and error.get("type") in _NEVER_THERE:
            return False
        self.calls += 1
        for name, value in arguments.items():
            if 0 < len(name) <= 256 and name.isprintable():
                others = {other: each for other, each in arguments.items() if other != name}
                self.arguments.setdefault(name, _Argument()).add(value, others)
        if "result" in record and not record.get("is_error") and not error:
            self._result(record["result"])
        return True

    def _result(self, result: Any) -> None:
        """Keep what holds a list in every result: the result itself (named ``), or fields of it."""
        lists: set[str] = set()
        if isinstance(result, list):
            lists = {""}
        elif isinstance(result, dict):
            lists = {name for name, value in result.items() if isinstance(value, list)}
        self.results += 1
        self.lists = lists if self.lists is None else self.lists & lists

    def draft(self, name: str) -> Draft:
        calls = f"{self.calls:,} calls" if self.calls > 1 else "a single call"
        draft = Draft(name, {"parameters": Guess(self._parameters(calls), f"names and types as seen in {calls}")})
        volatile = [argument for argument, seen in self.arguments.items() if seen.volatile]
        if volatile and len(volatile) < len(self.arguments):
            draft.keys["identity"] = {"ignore": Guess(volatile, "new in each call, also where all else was the same")}
        records = sorted(self.lists or ())
        if self.results >= _FEWEST_RESULTS and len(records) == 1 and _is_path(records[0]):
            path = f"result.{records[0]}" if records[0] else "result"
            why = f"the one list in each of {self.results:,} results"
            draft.keys["result"] = {"records": Guess(path, why)}
        if self.waits > self.stuck:
            why = f"{times(self.waits)} asked again with no change, until the answer changed"
            draft.keys["waiting"] = Guess(WAITING, why)
        return draft

    def _parameters(self, calls: str) -> dict[str, Any]:
        always = [name for name, seen in self.arguments.items() if seen.calls == self.calls]
        found: dict[str, Any] = {"type": "object"}
        if always:
            found["required"] = Guess(always, f"there in {calls if self.calls == 1 else 'each of ' + calls}")
        if self.arguments:
            found["properties"] = {name: seen.schema() for name, seen in self.arguments.items()}
        return found


def _is_path(field: str) -> bool:
    """Whether an expression can name a field of the result by itself; the empty name is the result as a whole."""
    return not field or (_FIELD.fullmatch(field) is not None and _RESERVED.fullmatch(field) is None)


class _Stream:
    """The last call of a session: whether the next one asks the same again."""

    def __init__(self) -> None:
        self._tool: _Tool | None = None
        self._last: tuple[str, bytes] | None = None
        self._answer: bytes | None = None
        self._unchanged = 0

    def add(self, tool: _Tool, name: str, record: dict[str, Any], arguments: dict[str, Any]) -> None:
        call = (name, _digest(arguments))
        answer = _digest(record["result"]) if "result" in record else None
        if call != self._last or answer is None:
            if self._unchanged >= 2 and self._tool is not None:  # given up: a loop rather than a poll
                self._tool.stuck += 1
            self._unchanged = 0
        elif answer == self._answer:
            self._unchanged += 1
        else:  # three equal answers and then another: waiting was worth it
            tool.waits += self._unchanged >= 2
            self._unchanged = 0
        self._tool, self._last, self._answer = tool, call, answer
