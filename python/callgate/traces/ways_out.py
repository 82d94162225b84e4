"""What would have been allowed instead of a call: changes of its arguments and of what came before, each really asked.

Nothing is derived from the reason: a change is told if the engine, asked about the changed run, lets the call through.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final, NamedTuple

from .asking import Asking, is_allowed
from .recorded import Record

MOST_REMOVED: Final = 24
"""Earlier calls that are left out one by one."""
MOST_FEWER: Final = 8
"""Equal calls that are left out together."""
_MOST_TOOLS: Final = 8
_BISECTIONS: Final = 40


class Way(NamedTuple):
    """A change with which the call runs: its kind, the change in words, and the arguments if they are what changed."""

    kind: str
    change: str
    arguments: Mapping[str, Any] | None = None


class WriteTool(NamedTuple):
    """A tool of the policy that writes, and the arguments that it has to have."""

    name: str
    required: Sequence[str]


class Known(NamedTuple):
    """What the policy's documents say that changes are taken from.

    `parameters` is the schema of the call's tool, `writes` the tools that write, `durations` all waiting times in
    seconds that the policy knows.
    """

    parameters: Mapping[str, Any]
    writes: Sequence[WriteTool]
    durations: Sequence[float]


def ways_out(asking: Asking, records: Sequence[Record], at: int, known: Known) -> list[Way]:
    """The smallest changes that were found, of each kind one, arguments first.

    Args:
        asking: who is asked.
        records: the run, as far as it goes.
        at: the position of the call that was not allowed.
        known: where changes are taken from.
    """
    return [*_Search(asking, records, at, known).run()]


class _Search:
    def __init__(self, asking: Asking, records: Sequence[Record], at: int, known: Known) -> None:
        self.asking = asking
        self.records = list(records)
        self.at = at
        self.call = self.records[at]
        self.known = known

    def run(self) -> Iterator[Way]:
        kinds: list[Callable[[], Iterator[Way]]] = [
            self._arguments, self._approval, self._own_turn, self._wait, self._fewer, self._other_result, self._write,
            self._person,
        ]  # fmt: skip
        for kind in kinds:
            yield from kind()

    def _allows(self, records: Sequence[Record], at: int) -> bool:
        return is_allowed(self.asking.about(records, at))

    def _with(self, **changed: Any) -> list[Record]:
        return [*self.records[: self.at], {**self.call, **changed}, *self.records[self.at + 1 :]]

    def _before(self, record: Record) -> list[Record]:
        shared = {name: self.call[name] for name in ("session", "task", "agent", "time") if name in self.call}
        return [*self.records[: self.at], {**shared, **record}, *self.records[self.at :]]

    # arguments

    def _arguments(self) -> Iterator[Way]:
        given: dict[str, Any] = self.call["arguments"]
        for words, arguments in self._changes(given):
            if self._takes(arguments):
                yield Way("arguments", words, arguments)
        for name, value in given.items():
            if isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0:
                largest = self._largest(name, value)
                if largest is not None:
                    yield Way("arguments", f"`{name}` {largest:,} instead of {value:,}", {**given, name: largest})
        for name, value in given.items():
            other = _another(value)
            if other is not None and self._takes({**given, name: other}):
                yield Way("arguments", f"another `{name}`, such as {_shown(other)}", {**given, name: other})
                return

    def _takes(self, arguments: Mapping[str, Any]) -> bool:
        return self._allows(self._with(arguments=arguments), self.at)

    def _changes(self, given: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
        """Arguments left out, named as the schema names them, and values in the type or words that it wants."""
        properties = self.known.parameters.get("properties")
        properties = properties if isinstance(properties, dict) else {}
        for name, value in given.items():
            rest = {other: each for other, each in given.items() if other != name}
            yield f"without `{name}`", rest
            if name not in properties:
                for near in get_close_matches(name, [each for each in properties if each not in given], n=1):
                    yield f"`{near}` instead of `{name}`", {near: value, **rest}
            schema = properties.get(name)
            for other in _fitting(value, schema) if isinstance(schema, dict) else ():
                yield f"`{name}` {_shown(other)} instead of {_shown(value)}", {**given, name: other}

    def _largest(self, name: str, value: int | float) -> int | float | None:
        """The largest smaller value with which the call runs, if 0 is one: whole numbers, or to six digits."""
        given = self.call["arguments"]
        whole = isinstance(value, int)
        zero: int | float = 0 if whole else 0.0
        if not self._takes({**given, name: zero}):
            return None
        low, high = zero, value
        for _ in range(_BISECTIONS):
            if high - low <= (1 if whole else value * 1e-6):
                break
            middle = (low + high) // 2 if isinstance(value, int) else (low + high) / 2
            if self._takes({**given, name: middle}):
                low = middle
            else:
                high = middle
        return low if whole else float(f"{low:.6g}") if self._takes({**given, name: float(f"{low:.6g}")}) else low

    # what a person or time does

    def _approval(self) -> Iterator[Way]:
        without = {
            name: value for name, value in self.call.items() if name not in ("error", "is_error", "result_digest")
        }
        answered = [*self.records[: self.at], {**without, "result": {}}, *self.records[self.at + 1 :]]
        row = self.asking.about(answered, self.at)
        if row is not None and row["action"] == "ask" and row["runs"]:
            yield Way("approval", "a person's yes to this call")

    def _person(self) -> Iterator[Way]:
        if self._allows(self._before({"event": "user_turn", "by": "human"}), self.at + 1):
            yield Way("user_turn", "a person has said something before it")

    def _own_turn(self) -> Iterator[Way]:
        if self.call.get("round") is not None:
            alone = {name: value for name, value in self.call.items() if name != "round"}
            records = [*self.records[: self.at], *self.records[self.at + 1 :], alone]
            if self._allows(records, len(records) - 1):
                yield Way("own_turn", "in a turn of its own")

    def _wait(self) -> Iterator[Way]:
        now = max((_time(record) for record in self.records[: self.at + 1]), default=0.0)

        def allowed(seconds: float) -> bool:
            return self._allows(self._with(time=now + seconds, duration=0.0), self.at)

        failed = 0.0
        for seconds in sorted({float(each) for each in self.known.durations if each > 0}):
            if allowed(seconds):
                low, high = failed, seconds
                while high - low > 1.0:
                    middle = float(round((low + high) / 2))
                    if not low < middle < high:
                        break
                    low, high = (low, middle) if allowed(middle) else (middle, high)
                yield Way("wait", f"{high:,.0f} s later")
                return
            failed = seconds

    # what came before

    def _earlier(self) -> list[int]:
        """Positions of earlier calls of the same session, equal ones first, the latest before earlier ones."""
        same = ("tool", "arguments")
        mine = [
            each
            for each, record in enumerate(self.records[: self.at])
            if "event" not in record and record["session"] == self.call["session"]
        ]
        equal = [each for each in mine if all(self.records[each].get(key) == self.call.get(key) for key in same)]
        return [*reversed(equal), *(each for each in reversed(mine) if each not in set(equal))]

    def _fewer(self) -> Iterator[Way]:
        earlier = self._earlier()
        for each in earlier[:MOST_REMOVED]:
            if self._allows(self._without({each}), self.at - 1):
                record = self.records[each]
                yield Way("fewer_calls", f"without the call of `{record['tool']}` at seq {record['seq']}")
                return
        for count in range(2, min(len(earlier), MOST_FEWER) + 1):
            left_out = set(earlier[:count])
            if self._allows(self._without(left_out), self.at - count):
                seqs = ", ".join(str(self.records[each]["seq"]) for each in sorted(left_out))
                yield Way("fewer_calls", f"without the {count} calls at seq {seqs}")
                return

    def _without(self, left_out: set[int]) -> list[Record]:
        return [record for each, record in enumerate(self.records) if each not in left_out]

    def _other_result(self) -> Iterator[Way]:
        outcome = ("result", "result_digest", "result_truncated", "error", "is_error")
        for each in self._earlier()[:1]:
            record = self.records[each]
            if not any(name in record for name in outcome):
                return
            other = {name: value for name, value in record.items() if name not in outcome}
            other["result"] = {"something": "that no call has returned before"}
            records = [*self.records[:each], other, *self.records[each + 1 :]]
            if self._allows(records, self.at):
                what = f"the call of `{record['tool']}` at seq {record['seq']}"
                yield Way("other_result", f"if {what} had brought another result")

    def _write(self) -> Iterator[Way]:
        given = self.call["arguments"]
        for tool in self.known.writes[:_MOST_TOOLS]:
            if any(name not in given for name in tool.required):
                continue
            arguments = {name: given[name] for name in tool.required} or dict(given)
            records = self._before({"tool": tool.name, "arguments": arguments, "result": {"ok": True}})
            row = self.asking.about(records, self.at)
            if row is not None and row["runs"] and row["class"] is None and self._allows(records, self.at + 1):
                yield Way("write", f"after a `{tool.name}` that succeeded")
                return


def _time(record: Record) -> float:
    time = record.get("time")
    return float(time) if isinstance(time, (int, float)) else 0.0


def _fitting(value: Any, schema: Mapping[str, Any]) -> Iterable[Any]:
    """Values near to one that a schema takes: one of its words, or the same in another type."""
    words = schema.get("enum")
    if isinstance(words, list):
        texts = [word for word in words if isinstance(word, str)] if isinstance(value, str) else []
        near = get_close_matches(value, texts, n=1, cutoff=0.0) if texts else words[:1]
        return [word for word in near if word != value]
    kind = schema.get("type")
    found: list[Any] = []
    if kind == "array" and not isinstance(value, list):
        found = [[value]]
    elif isinstance(value, str):
        text = value.strip()
        if kind in ("integer", "number"):
            found = [read for reader in (int, float) if (read := _read(reader, text)) is not None][:1]
        elif kind == "boolean" and text.lower() in ("true", "false"):
            found = [text.lower() == "true"]
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        found = [str(value)] if kind == "string" else [int(value)] if kind == "integer" else []
    return found


def _read(reader: Callable[[str], Any], text: str) -> Any:
    try:
        return reader(text)
    except ValueError:
        return None


def _another(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + 1
    return f"{value} 2" if isinstance(value, str) else None


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:59] + "…"
