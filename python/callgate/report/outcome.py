"""A task's report for people: how it ended, what is known and missing, what was called, why it was stopped."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from callgate.counted import counted

from .snippet import printable

Report = Mapping[str, Any]
_LONGEST: Final = 100


def render(report: Report, style: str = "text") -> str:
    """Render what `Task.report` gives.

    Args:
        report: the report.
        style: `text`, `markdown` or `json`.

    Returns:
        The text, a line break at its end.

    Raises:
        KeyError: there is no such style.

    Example:
        >>> from callgate import Gate
        >>> print(render(Gate.load("default").task("order-4711").report()).splitlines()[0])
        order-4711: nothing tells how far it got
    """
    return FORMATS[style](report)


def _text(report: Report) -> str:
    lines = [_headline(report)]
    if report["note"]:
        lines.append(f"  {printable(report['note'])}")
    for title, entries in _sections(report):
        lines += ["", title, *(f"  {entry}" for entry in entries)]
    return "\n".join(lines) + "\n"


def _markdown(report: Report) -> str:
    lines = [f"# {_plain(_headline(report))}"]
    if report["note"]:
        lines += ["", _plain(report["note"])]
    for title, entries in _sections(report):
        lines += ["", f"## {title.capitalize()}", "", *(f"- {_plain(entry)}" for entry in entries)]
    return "\n".join(lines) + "\n"


def _json(report: Report) -> str:
    return json.dumps(report, indent=2, ensure_ascii=False, default=str) + "\n"


FORMATS: Final[Mapping[str, Callable[[Report], str]]] = {"text": _text, "markdown": _markdown, "json": _json}
"""What `render` can make of a report."""


def _headline(report: Report) -> str:
    task = printable(str(report["task"]))
    words = {"finish": "finish", "finish_with_gaps": "finish with gaps", "escalate": "hand over to a person"}
    status = report["status"] or "nothing tells how far it got"
    if report["exit"] is None:
        return f"{task}: {status}"
    queue = f", queue `{printable(report['queue'])}`" if report["queue"] else ""
    return f"{task}: {status}, {words[report['exit']]}{queue}"


def _sections(report: Report) -> list[tuple[str, list[str]]]:
    found = [
        ("stopped", _stop(report["stop"])),
        ("known", [line for need in report["needs"] for line in _known(need)]),
        ("missing", _missing(report["missing"])),
        ("hops", [_hop(hop) for hop in report["hops"]]),
        ("degraded", [_degraded(each) for each in report["degradations"]]),
        ("calls", _calls(report)),
        ("used", _used(report)),
    ]
    return [(title, lines) for title, lines in found if lines]


def _stop(stop: Mapping[str, Any] | None) -> list[str]:
    if stop is None:
        return []
    facts = ", ".join(f"{name} {_short(value)}" for name, value in stop["evidence"].items())
    return [
        f"{stop['reason']} at {stop['at']:.1f} s, call {printable(stop['call_id'])}" + (f": {facts}" if facts else "")
    ]


def _known(need: Mapping[str, Any]) -> list[str]:
    lines = [f"{printable(need['id'])}: {need['filled']} of {counted(need['cells'], 'cell')}"]
    for record in need["records"]:
        lines.append(f"  {_key(record['key'])}")
        lines += [f"    {printable(name)}: {_cell(cell)}" for name, cell in record["fields"].items()]
    return lines


def _cell(cell: Mapping[str, Any]) -> str:
    marks = [f"{printable(cell['tool'])}, call {printable(cell['call_id'])}"]
    if cell["substitute"]:
        marks.append("a substitute")
    if cell["cached"] is not None:
        marks.append(f"from a cache, {cell['cached']:g} s old")
    if cell["disputed_by"] is not None:
        marks.append(f"call {printable(cell['disputed_by'])} says otherwise")
    value = "(too long to keep)" if cell["value"] is None else _short(cell["value"])
    return f"{value} ({'; '.join(marks)})"


def _missing(cells: Sequence[Sequence[Any]]) -> list[str]:
    """Each record once, with its fields; records that are not there with how often."""
    fields: dict[str, list[str]] = {}
    for key, name in cells:
        fields.setdefault(_key(key), []).append(printable(name))
    lines = []
    for key, names in fields.items():
        distinct = list(dict.fromkeys(names))
        times = len(names) // len(distinct)
        lines.append(f"{key}{f' (× {times})' if times > 1 else ''}: {', '.join(distinct)}")
    return lines


def _key(key: Any) -> str:
    if key is None:
        return "a record"
    return printable(" / ".join(str(part) for part in key))


def _hop(hop: Mapping[str, Any]) -> str:
    need = f" for {printable(hop['need'])}" if hop["need"] else ""
    way = f"{printable(hop['from'])} → {printable(hop['to'])}"
    return f"{way}{need}, call {printable(hop['call_id'])} at {hop['at']:.1f} s"


def _degraded(each: Mapping[str, Any]) -> str:
    words = {"cache": "answered with an earlier result", "skip": "done without", "provider": "another provider"}
    call = f", call {printable(each['call_id'])}" if each["call_id"] else ""
    return f"{printable(each['what'])}: {words.get(each['kind'], each['kind'])}{call} at {each['at']:.1f} s"


def _calls(report: Report) -> list[str]:
    counters = report["counters"]
    parts = [
        f"{counters[name]} {name}"
        for name in ("allowed", "reused", "asked", "denied", "refused", "stopped", "failed", "empty", "out", "lost")
        if counters[name]
    ]
    if not counters["calls"]:
        return []
    lines = [f"{counters['calls']} in all: {', '.join(parts)}"]
    if report["earlier_calls"]:
        lines.append(f"({counted(report['earlier_calls'], 'earlier one is', 'earlier ones are')} not told)")
    for call in report["calls"]:
        brought = call.get("grade") or ", ".join(call["reasons"])
        more = f", {counted(call['cells'], 'cell')}" if call.get("cells") else ""
        lines.append(
            f"{call['at']:>7.1f} s  {call['action']:<7} {printable(call['tool'])} {_short(call['arguments'])}"
            + (f"  {printable(brought)}{more}" if brought else "")
        )
    return lines


def _used(report: Report) -> list[str]:
    limits = report["limits"]
    used = [(name, amount, limits.get(name)) for name, amount in report["spent"].items() if amount]
    return [f"{name} {amount:g}" + (f" of {limit:g}" if limit is not None else "") for name, amount, limit in used]


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    text = printable(text)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _plain(text: str) -> str:
    """Text for Markdown: what would begin markup is escaped, spaces that align columns are one."""
    for sign in ("\\", "*", "_", "[", "]", "<", "|"):
        text = text.replace(sign, "\\" + sign)
    return " ".join(text.split())
