"""Loops with one fresh, unrelated read after every call: the test that a case of a loop is still caught then."""

import json
from pathlib import Path
from typing import Any, Final

import yaml

TOOL: Final = "unrelated_look"


def distracted(case: Path, room: Path) -> Path:
    """Write a case with a distractor after each of its calls, and its deadline shifted by those before it.

    Args:
        case: a `GuardTest` over a trace beside it, which expects a `first_intervention` at a `seq` or before.
        room: the folder to write test and trace to.

    Returns:
        The test. It expects the first intervention by the call that was the deadline, and nothing else. Calls of one
        round stay one round; their distractors come after it.
    """
    test = yaml.safe_load(case.read_text(encoding="utf-8"))
    spec = test["spec"]
    records = [json.loads(line) for line in (case.parent / spec["trace"]).read_text(encoding="utf-8").splitlines()]
    shifted, where = with_distractors(records)
    trace = room / spec["trace"]
    trace.write_text("".join(json.dumps(record) + "\n" for record in shifted), encoding="utf-8")
    spec["manifests"] = [*spec["manifests"], {"tools": {TOOL: {"effect": "read"}}}]
    spec["expect"] = {"first_intervention": {"by": where[spec["expect"]["first_intervention"]["by"]]}}
    written = room / case.name
    written.write_text(yaml.safe_dump(test), encoding="utf-8")
    return written


def with_distractors(records: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], dict[int, int]]:
    """Put a distractor after each call, and number everything anew.

    Args:
        records: a trace in which each record has a `seq`; calls of one `round` stand together.

    Returns:
        The new trace, and the new `seq` of each old one.
    """
    found: list[dict[str, Any]] = []
    where: dict[int, int] = {}
    waiting: list[dict[str, Any]] = []
    for position, record in enumerate(records):
        found.append({**record, "seq": len(found) + 1, "round": record.get("round", position) * 1000})
        where[record["seq"]] = len(found)
        if "tool" in record:
            waiting.append(_distractor(record, position))
        following = records[position + 1] if position + 1 < len(records) else {}
        if "round" not in record or following.get("round") != record["round"]:
            last = found[-1]["round"]
            for at, distractor in enumerate(waiting, start=1):
                found.append({**distractor, "seq": len(found) + 1, "round": last + at})
            waiting = []
    return found, where


def _distractor(record: dict[str, Any], position: int) -> dict[str, Any]:
    """A look at something that nobody looked at before, by whoever made the call, at the same time."""
    kept = {key: record[key] for key in ("session", "task", "agent", "time") if key in record}
    page = f"page-{position}"
    return {**kept, "tool": TOOL, "arguments": {"page": page}, "result": {"page": page, "words": position * 7}}
