"""Healthy sweeps: many items looked up one by one that all give the same answer, beside searches that go round."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from .judged import Judged
from .recordings import Records

ITEMS: Final = 12


class Sweep(NamedTuple):
    """A run of one tool over many items: what it shows, the tool, the argument that changes, what comes back each time,
    and whether the run is work."""

    what: str
    tool: str
    argument: str
    outcome: Mapping[str, Any]
    healthy: bool


SWEEPS: Final = (
    Sweep("12 records by id, one answer", "get_record", "id", {"result": {"status": "closed"}}, True),
    Sweep("12 records by id, none there", "get_record", "id", {"error": {"type": "http", "status": 404}}, True),
    Sweep("12 files, all empty", "read_file", "path", {"result": ""}, True),
    Sweep("12 files, none there", "read_file", "path", {"error": {"message": "no such file"}}, True),
    Sweep("12 pages, one answer", "http_get", "url", {"result": {"status": 200, "body": "ok"}}, True),
    Sweep("12 pages, none there", "http_get", "url", {"error": {"type": "http", "status": 404}}, True),
    Sweep("12 searches reworded, one answer", "web_search", "query", {"result": ["the same page"]}, False),
    Sweep("12 searches reworded, nothing found", "web_search", "query", {"result": []}, False),
    Sweep("12 filters tried, one answer", "search_records", "words", {"result": [{"id": 1}]}, False),
)


def runs() -> dict[str, Records]:
    """Write the sweeps as traces, by what they show."""
    return {sweep.what: _run(sweep) for sweep in SWEEPS}


def _run(sweep: Sweep) -> Records:
    failed = {"is_error": True} if "error" in sweep.outcome else {}
    return [
        {
            "session": sweep.what, "seq": item, "tool": sweep.tool,
            "arguments": {sweep.argument: f"item-{item}"}, **sweep.outcome, **failed,
        }
        for item in range(1, ITEMS + 1)
    ]  # fmt: skip


def rows(judged: Mapping[str, Judged]) -> list[tuple[str, str, str, str]]:
    """Tell of each sweep whether it is work, and at which item it was noted and refused, with the reasons."""
    found = []
    for sweep in SWEEPS:
        seen = judged[sweep.what]
        note, refusal = seen.noted, seen.refused
        noted = (
            "–"
            if note is None
            else f"at {note}: {', '.join(seen.notes.get(note, [seen.actions.get(note, ('', ''))[1]]))}"
        )
        refused = "–" if refusal is None else f"at {refusal}: {seen.actions[refusal][1]}"
        found.append((sweep.what, "work" if sweep.healthy else "goes round", noted, refused))
    return found
