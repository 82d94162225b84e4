"""Replaying a recorded trace: what would have been decided of each call, the recorded run going on regardless."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, groupby
from typing import Any

from reference import Reference, Task
from specification.text import ABSENT

Record = dict[str, Any]


@dataclass
class Judged:
    """A record as it was judged; `action` is `stop` too where the outcome, and not the call, ended the task."""

    record: Record
    action: str
    reasons: list[str]
    notes: list[str]


def replay(records: list[Record], policy: dict[str, Any], manifests: list[dict[str, Any]]) -> Iterator[Judged]:
    """Judge the records of any number of sessions, round by round in the order in which these begin in the records."""
    reference = Reference(policy, manifests)
    sessions: dict[str, list[tuple[int, Record]]] = {}
    tasks: dict[str, Task] = {}
    for at, record in enumerate(records):
        sessions.setdefault(record["session"], []).append((at, record))
        tasks.setdefault(task_of(record), reference.task(record.get("agent") or "root"))
    rounds: list[tuple[int, list[Record]]] = []
    for session, own in sessions.items():
        own.sort(key=lambda each: each[1].get("seq", 0))
        first = list(accumulate((at for at, _ in own), max))
        for _, batch in groupby(enumerate(record for _, record in own), key=batch_of):
            placed = list(batch)
            calls = [{"call_id": f"{session}-{place + 1}", **record} for place, record in placed]
            rounds.append((first[placed[0][0]], calls))
    for _, calls in sorted(rounds, key=lambda each: each[0]):
        yield from judge(tasks, calls)


def task_of(record: Record) -> str:
    return str(record.get("task") or record["session"])


def batch_of(placed: tuple[int, Record]) -> Any:
    """The records of one round stand together; without a round each stands alone."""
    place, record = placed
    alone = "event" in record or record.get("round") is None
    return task_of(record), record.get("agent"), place if alone else None, record.get("round")


def judge(tasks: dict[str, Task], batch: list[Record]) -> Iterator[Judged]:
    task = tasks[task_of(batch[0])]
    if "event" in batch[0]:
        event = batch[0]
        if event["event"] not in ("snapshot", "restore", "approved", "denied"):
            task.event(event["event"], event.get("by"), event.get("tokens", 0), event.get("cost", 0))
        return
    started = [record["time"] - record.get("duration", 0) for record in batch if "time" in record]
    agent = batch[0].get("agent") or "root"
    verdicts = task.admit_all(batch, now=min(started, default=None), agent=agent)
    judged = {
        record["call_id"]: Judged(record, verdict.action, verdict.reasons, [reason for _, reason in verdict.notes])
        for record, verdict in zip(batch, verdicts, strict=True)
    }
    for record, verdict in zip(batch, verdicts, strict=True):
        entry = judged[record["call_id"]]
        error = record.get("error")
        allowed = verdict.action == "allow"
        if verdict.action == "ask" and error and error.get("type") == "denied":
            entry.notes += [reason for _, reason in task.deny(verdict.call_id, record.get("time"))]
        elif verdict.action == "ask":
            again = task.approve(verdict.call_id, record.get("time"))
            while again.action == "ask":  # for a reason that came up since
                again = task.approve(verdict.call_id, record.get("time"))
            allowed = again.action == "allow"
        if not allowed:
            continue
        assessment = task.observe(
            verdict.call_id,
            record.get("time"),
            record.get("result", ABSENT),
            error,
            record.get("is_error", False),
            record.get("result_digest"),
        )
        for call_id, reason in assessment.notes:
            judged[call_id].notes.append(reason)
        if assessment.stop:
            entry.action, entry.reasons = "stop", assessment.stop
    yield from judged.values()
