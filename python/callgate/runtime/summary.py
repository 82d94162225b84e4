"""The state of a task as a short text for its model: for the next turn, or after the conversation was compacted."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from callgate.counted import counted
from callgate.tokens import estimate_tokens

_LONGEST: Final = 160
"""Characters of a value or of arguments that are told."""
_MOST_REFUSALS: Final = 12
_DID_NOT_RUN: Final = ("refuse", "stop", "ask")


class _Line(NamedTuple):
    """A line of the summary: what matters more has a lower rank; `section` and the order of making place it."""

    rank: int
    section: str
    text: str


def summarise(report: Mapping[str, Any], max_tokens: int) -> str:
    """Tell what a model has to know of a task to go on with it.

    What is known with its values, what is missing, what was refused and why, what is left of the budgets, and the last
    calls with what they came to. Where the limit does not allow all of it, the oldest calls go first, then refusals,
    then values; how the task stands and what is missing go last.

    Args:
        report: what `Task.report` gives.
        max_tokens: the longest that the text may be, as `callgate.tokens.estimate_tokens` counts.

    Returns:
        The text; empty where not even its first line fits.

    Raises:
        ValueError: `max_tokens` is negative.
    """
    if max_tokens < 0:
        raise ValueError("`max_tokens` is negative")
    lines = list(_lines(report))
    kept: list[int] = []
    for place in sorted(range(len(lines)), key=lambda place: (lines[place].rank, place)):
        if estimate_tokens(_text([lines[at] for at in sorted([*kept, place])])) > max_tokens:
            break
        kept.append(place)
    return _text([lines[at] for at in sorted(kept)])


def _text(lines: list[_Line]) -> str:
    found, section = [], ""
    for line in lines:
        if line.section != section:
            section = line.section
            found.append(f"{section}:")
        found.append(line.text if not section else f"- {line.text}")
    return "\n".join(found)


def _lines(report: Mapping[str, Any]) -> Iterator[_Line]:
    yield _Line(0, "", _standing(report))
    for rank, fields in enumerate(_missing(report["missing"])):
        yield _Line(1 + rank, "Missing", fields)
    for need in report["needs"]:
        for record in need["records"]:
            yield _Line(100, "Known", _record(record))
    for rank, text in enumerate(_refusals(report["calls"])):
        yield _Line(200 + rank, "Do not repeat", text)
    for name, used in report["spent"].items():
        limit = report["limits"].get(name)
        if limit is not None:
            yield _Line(50, "Budget left", f"{name}: {max(limit - used, 0):g} of {limit:g}")
    for hop in report["hops"]:
        yield _Line(150, "Substitutes taken", f"{hop['to']} instead of {hop['from']}")
    for each in report["degradations"]:
        if each["kind"] == "skip":
            yield _Line(150, "Not available", each["what"])
    calls = [call for call in report["calls"] if call["action"] not in _DID_NOT_RUN]
    for age, call in enumerate(calls[::-1]):
        yield _Line(300 + age, "Calls, latest first", _call(call))


def _standing(report: Mapping[str, Any]) -> str:
    counters, cells = report["counters"], report["cells"]
    parts = [f"Task {report['task']}: {counted(counters['calls'], 'tool call')} so far"]
    if cells["all"]:
        parts.append(f"{cells['filled']} of {counted(cells['all'], 'fact')} known")
    if report["stop"] is not None:
        ends = {
            "finish": "answer",
            "finish_with_gaps": "answer, and say what is missing",
            "escalate": "a person goes on",
        }
        parts.append(f"stopped ({report['stop']['reason']}): {ends[report['exit']]}")
    return ", ".join(parts) + "."


def _missing(cells: list[Any]) -> list[str]:
    fields: dict[str, list[str]] = {}
    for key, name in cells:
        fields.setdefault("another record" if key is None else _key(key), []).append(name)
    return [f"{key}: {', '.join(dict.fromkeys(names))}" for key, names in fields.items()]


def _record(record: Mapping[str, Any]) -> str:
    values = {name: cell["value"] for name, cell in record["fields"].items() if cell["value"] is not None}
    return _cut(json.dumps(values, ensure_ascii=False, default=str))


def _refusals(calls: list[Any]) -> list[str]:
    """Refused calls, the latest first, each once with its reasons."""
    found: dict[str, None] = {}
    for call in reversed(calls):
        if call["action"] in _DID_NOT_RUN:
            found[f"{_named(call)}: {', '.join(call['reasons'])}"] = None
    return list(found)[:_MOST_REFUSALS]


def _call(call: Mapping[str, Any]) -> str:
    if "grade" not in call:
        return f"{_named(call)}: {'answered with an earlier result' if call['action'] == 'reuse' else 'still out'}"
    if call["error"] is not None:
        return f"{_named(call)}: failed, {_cut(str(call['error']['message'] or call['error']['type']))}"
    return f"{_named(call)}: {call['grade']}"


def _named(call: Mapping[str, Any]) -> str:
    return f"{call['tool']} {_cut(json.dumps(call['arguments'], ensure_ascii=False, default=str))}"


def _key(key: list[Any]) -> str:
    return _cut(" / ".join(str(part) for part in key))


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
