"""Effects of the ledger as text for people: one a line, or one with all that is known of it."""

from __future__ import annotations

import json
from typing import Any

from callgate.report.moment import when
from callgate.report.snippet import printable
from callgate.stores import Entry
from callgate.stores.entry import LateWord


def line(entry: Entry) -> str:
    """An effect in a line: its key, how it stands, whose it is, since when, and the call that would end a doubt.

    Args:
        entry: the effect.
    """
    since = entry.began if entry.ended is None else entry.ended
    parts = [entry.key, entry.state.replace("_", " "), f"{entry.tool} of task {entry.task}", when(since)]
    if entry.state == "unknown" and entry.verify is not None:
        parts.append(f"{_call(entry.verify)} would tell")
    return "  ".join(map(printable, parts)) + "\n"


def shown(entry: Entry) -> str:
    """An effect with all that is known of it, a line each.

    Args:
        entry: the effect.
    """
    rows: list[tuple[str, str | None]] = [
        ("key", entry.key),
        ("state", entry.state.replace("_", " ")),
        ("tool", entry.tool),
        ("task", entry.task),
        ("begun by", entry.owner),
        ("began", when(entry.began)),
        ("lease until", when(entry.lease_until)),
        ("in doubt since" if entry.state == "unknown" else "ended", _when(entry.ended)),
        ("would tell", None if entry.verify is None else _call(entry.verify)),
        ("asked in vain", str(entry.checked) if entry.checked else None),
        ("resolved by", entry.by),
        ("its call said", None if entry.late is None else _word(entry.late)),
        ("remembered until", _when(entry.retain_until)),
        ("result", None if entry.result is None else json.dumps(entry.result, ensure_ascii=False)),
    ]
    return "".join(f"{name:<17} {printable(value)}\n" for name, value in rows if value is not None)


def _word(late: LateWord) -> str:
    return f"{'it took place' if late.landed else 'it did not take place'}, {when(late.at)}"


def _when(seconds: float | None) -> str | None:
    return None if seconds is None else when(seconds)


def _call(verify: Any) -> str:
    if isinstance(verify, dict) and isinstance(verify.get("tool"), str):
        return f"{verify['tool']} {json.dumps(verify.get('arguments'), ensure_ascii=False)}"
    return json.dumps(verify, ensure_ascii=False)
