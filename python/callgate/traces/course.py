"""The course of a session: each decision, the arguments, the result, and what the model gets to read next."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from .asking import Row
from .recorded import Record, Recorded


class Step(NamedTuple):
    """A call of the session with what was decided of it, or an event (`event` says which, and the rest is empty).

    `action` is the verdict's, `would` what it would have been in mode `enforce`, where that is stronger. `result` is
    what was recorded, if the call ran; `reads` is what the model gets to read beside it, or instead.
    """

    seq: int
    time: float | None
    event: str | None = None
    tool: str = ""
    arguments: Mapping[str, Any] = {}
    round: int | None = None
    action: str = "allow"
    would: str | None = None
    because: Sequence[tuple[str, str]] = ()
    ran: bool = False
    result: Any = None
    failure: str | None = None
    reads: Sequence[str] = ()
    next: str | None = None


def course(recorded: Recorded, rows: Sequence[Row]) -> list[Step]:
    """The steps of a session.

    Args:
        recorded: the session.
        rows: what was decided of the calls of its task, as `Asking.rows` tells: `seq` is the position of the record.
    """
    by_position = {row["seq"]: row for row in rows}
    return [*_steps(recorded, by_position)]


def _steps(recorded: Recorded, rows: Mapping[int, Row]) -> Iterator[Step]:
    for position, record in enumerate(recorded.records, 1):
        if record["session"] != recorded.session:
            continue
        time = record.get("time")
        seconds = float(time) if isinstance(time, (int, float)) else None
        if "event" in record:
            yield Step(record["seq"], seconds, event=_event(record))
        elif position in rows:
            yield _step(record, rows[position], seconds)


def _event(record: Record) -> str:
    """An event in words: its name, who it was by, and what was said, where that is recorded."""
    words = [str(record["event"])]
    if isinstance(record.get("by"), str):
        words.append(f"by {record['by']}")
    text = record.get("text")
    return " ".join(words) + (f": {text}" if isinstance(text, str) else "")


def _step(record: Record, row: Row, time: float | None) -> Step:
    because = [(each["reason"], each["message"]) for each in row["findings"]]
    notes = [each["message"] for each in row["notes"]]
    error = record.get("error")
    failure = None
    if isinstance(error, dict):
        failure = str(error.get("message") or error.get("type") or error.get("status") or "an error")
    elif record.get("is_error"):
        failure = "an error"
    return Step(
        record["seq"], time, None, record["tool"], record["arguments"], row["round"], row["action"], row["would"],
        because, row["runs"], record.get("result") if row["runs"] else None, failure if row["runs"] else None,
        [*([] if row["reply"] is None else [_message(row["reply"])]), *notes], row["next"],
    )  # fmt: skip


def _message(reply: str) -> str:
    """What a reply says; the rest of it is for programs."""
    body = json.loads(reply)
    data = body.get("data")
    message = str(body.get("message") or "")
    return message if data is None else f"{message} {json.dumps(data, ensure_ascii=False)}".strip()
