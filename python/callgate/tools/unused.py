"""Which tools were not called for some time, from recorded runs: definitions that cost tokens and do nothing."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

from callgate.path_list import path_list
from callgate.traces.lines import chunks

from .definitions import ToolDefinition

_IN_NAME: Final = re.compile(r"(?<!\d)(20\d\d)-?(0[1-9]|1[0-2])-?(0[1-9]|[12]\d|3[01])(?!\d)")


class Uses(NamedTuple):
    """How often a tool was called in all, how often within the time that is looked back, and on which day at last."""

    calls: int
    lately: int
    last: date | None


class Unused(NamedTuple):
    """What recorded runs say about tools.

    `unused` are definitions without a call since `since`, in their order, `uses` what is known of every tool by name,
    `lately` the calls since then of all tools, `skipped` the lines that are no records.
    """

    since: date
    unused: list[ToolDefinition]
    uses: dict[str, Uses]
    lately: int
    skipped: int
    tokens: int
    tokens_of_all: int


def unused_tools(
    definitions: Sequence[ToolDefinition],
    traces: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    days: int,
    today: date | None = None,
) -> Unused:
    """Find the definitions that nobody called.

    The day of a call is the `date` among the labels of its record (an ISO date or time); else the date in the name of
    its file (`runs-2026-03-14.jsonl`); else the day on which the file was written last.

    Args:
        definitions: the tools in question.
        traces: files in the trace format, or one.
        days: how far to look back, from 1.
        today: the day from which is looked back; the machine's, in UTC, where it is left out.

    Returns:
        What was found. Where `lately` is 0 nothing can be said: nobody called anything.

    Raises:
        TraceError: a file cannot be read, or not to its end.
    """
    since = (today or datetime.now(UTC).date()) - timedelta(days=days)
    uses: dict[str, Uses] = {}
    skipped = 0
    for trace in path_list(traces):
        day = _day_of_file(trace)
        for record in _records(trace):
            if record is None:
                skipped += 1
            elif isinstance(name := record.get("tool"), str):
                on = _day_of(record) or day
                before = uses.get(name, Uses(0, 0, None))
                last = on if before.last is None else max(before.last, on)
                uses[name] = Uses(before.calls + 1, before.lately + (on >= since), last)
    unused = [tool for tool in definitions if uses.get(tool.name, Uses(0, 0, None)).lately == 0]
    return Unused(
        since, unused, uses, sum(each.lately for each in uses.values()), skipped,
        sum(tool.tokens for tool in unused), sum(tool.tokens for tool in definitions),
    )  # fmt: skip


def _records(trace: Path) -> Iterator[dict[str, Any] | None]:
    for chunk in chunks(trace):
        for line in chunk.lines.splitlines():
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                record = None
            yield record if isinstance(record, dict) else None


def _day_of(record: dict[str, Any]) -> date | None:
    labels = record.get("labels")
    written = labels.get("date") if isinstance(labels, dict) else None
    try:
        return datetime.fromisoformat(written).date() if isinstance(written, str) else None
    except ValueError:
        return None


def _day_of_file(trace: Path) -> date:
    for found in _IN_NAME.finditer(trace.name):
        try:
            return date(*(int(part) for part in found.groups()))
        except ValueError:  # 31st of a shorter month: no date after all
            continue
    return datetime.fromtimestamp(trace.stat().st_mtime, UTC).date()
