"""Judge a recorded looping run that ships with callgate, and tell where it was noted, refused and stopped, and why."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from callgate.policy.packs import packs_root
from callgate.report.color import paint, wanted
from callgate.report.timeline import Moment, Remark, render
from callgate.runtime.gate import Gate
from callgate.runtime.missing import MISSING
from callgate.runtime.task import Task

PACK: Final = "default"
RUN: Final = Path(PACK, "demo", "where-is-my-order.jsonl")
_WIDEST: Final = 120


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`callgate demo` takes nothing."""


def run(arguments: argparse.Namespace) -> int:
    """Judge the run and print it."""
    recorded = (packs_root() / RUN).resolve()
    records = [json.loads(line) for line in recorded.read_text(encoding="utf-8").splitlines()]
    moments = judged(records, Gate.load(PACK))
    width = min(shutil.get_terminal_size((100, 24)).columns, _WIDEST)
    sys.stdout.write(tell(moments, recorded, width, wanted(sys.stdout)))
    return 0


def judged(records: Iterable[dict[str, Any]], gate: Gate) -> list[Moment | Remark]:
    """Judge recorded calls one after the other, as a service would have done while they happened.

    Args:
        records: records of the trace format, one session in order; of events only user turns.
        gate: the policy.

    Returns:
        What was decided of each. A call that did not get through is not observed, and the next record follows.
    """
    task = gate.task("demo")
    return [_remark(record, task) if "event" in record else _moment(record, task) for record in records]


def _remark(record: dict[str, Any], task: Task) -> Remark:
    task.user_turn(by=record["by"], now=record["time"])
    return Remark(record["seq"], record["time"], {"human": "user"}.get(record["by"], "agent"), record["text"])


def _moment(record: dict[str, Any], task: Task) -> Moment:
    tool, arguments, error = record["tool"], record["arguments"], record.get("error")
    verdict = task.admit(tool, arguments, call_id=record["call_id"], now=record["time"] - record["duration"])
    notes = list(verdict.notes)
    if verdict.allowed:
        result = record.get("result", MISSING)
        notes += task.observe(verdict.call_id, result=result, error=error, now=record["time"]).notes
    return Moment(
        seq=record["seq"],
        time=record["time"],
        tool=tool,
        arguments=arguments,
        action=verdict.action,
        why=tuple((finding.reason, finding.message) for finding in verdict.findings),
        notes=tuple((note.reason, note.message) for note in notes),
        reply=verdict.reply,
        failure=None if error is None else f"fails: {error.get('status') or error['type']}",
    )


def tell(run: Sequence[Moment | Remark], recorded: Path, width: int, color: bool) -> str:
    """The whole demo as text: what it is, the timeline, what the model read, what came of it, and what to try next."""
    calls = [item for item in run if isinstance(item, Moment)]
    head = (
        "A support agent was asked about an order, and began to go round in circles. The run was recorded; here its "
        f"{len(calls)} calls are judged under the policy `{PACK}`, as if the guard had stood between agent and tools."
    )
    parts = [textwrap.fill(head, width), render(run, width, color).rstrip()]
    parts += [*_read(calls, width, color), _outcome(calls, width, color), _next(recorded, color)]
    return "\n\n".join(parts) + "\n"


def _read(calls: Sequence[Moment], width: int, color: bool) -> Iterator[str]:
    noted = next(call for call in calls if call.notes)
    yield _titled(f"What the model read at seq {noted.seq}, beside the result", [("", noted.notes[0][1])], width, color)
    refused = next(call for call in calls if call.reply is not None)
    fields: dict[str, Any] = json.loads(refused.reply or "{}")
    rows = [(name, value if isinstance(value, str) else json.dumps(value)) for name, value in fields.items()]
    yield _titled(f"What it read at seq {refused.seq}, instead of a result (as JSON)", rows, width, color)


def _outcome(calls: Sequence[Moment], width: int, color: bool) -> str:
    kept = [call for call in calls if call.action in ("allow", "reuse")]
    late = [call for call in calls if any(reason == "stopped" for reason, _ in call.why)]
    groups = [
        ("allowed", [call for call in kept if not call.notes], "the tool ran; a retry after a failure is no loop"),
        ("noted", [call for call in kept if call.notes], "the tool ran, and a note stood beside its result"),
        ("refused", [call for call in calls if call.action == "refuse" and call not in late], "the tool did not run"),
        ("stopped", [call for call in calls if call.action == "stop"], "refused twice, tried again: the task is over"),
        ("after it", late, "the recording went on; a real agent gives its answer instead"),
    ]
    rows = [
        (f"{word} {len(members)}", f"{meaning} (seq {', '.join(str(member.seq) for member in members)})")
        for word, members, meaning in groups
    ]
    saved = f"{len(calls) - len(kept)} of {len(calls)} calls did not run"
    return _titled("What came of it", [*rows, ("saved", saved)], width, color)


def _titled(title: str, rows: Sequence[tuple[str, str]], width: int, color: bool) -> str:
    """A title, and rows of a name and a text that is wrapped beside it."""
    names = max(len(name) for name, _ in rows)
    lead = "  " + " " * (names + 2 if names else 0)
    lines = [paint(title, "bold", color)]
    for name, text in rows:
        first = f"  {name:{names}}  " if names else lead
        lines.append(textwrap.fill(text, width, initial_indent=first, subsequent_indent=lead, break_on_hyphens=False))
    return "\n".join(lines)


def _next(recorded: Path, color: bool) -> str:
    trace = shlex.quote(min(os.path.relpath(recorded), str(recorded), key=len))
    commands = [
        ("a policy of your own, with its tools and its test", "callgate init my-policy"),
        ("run that test: a loop, and a healthy run left alone", "callgate test my-policy"),
        ("judge this or any other recording", f"callgate replay {trace} --policy {PACK}"),
    ]
    lines = [paint("Try next", "bold", color)]
    for meaning, command in commands:
        lines += ["  " + paint(f"# {meaning}", "faint", color), f"  {command}"]
    return "\n".join(lines)
