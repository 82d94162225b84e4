"""What a policy test expects, held against what was decided: every expectation that is not met, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from callgate._core import canonical_json
from callgate.counted import counted
from callgate.policy.load import Document

Row = dict[str, Any]
Steps = tuple[str | int, ...]

INTERVENTIONS: Final = ("reuse", "ask", "refuse", "stop")
_EXPECT: Final[Steps] = ("spec", "expect")


class Failure(NamedTuple):
    """An expectation that was not met.

    `pointer` leads to it in its document, `what` is its name, `expected` and `actual` are words, and `row` is the
    position of the decision that it is about, None where it is about the run as a whole. `document` is the one that it
    is written in, for one of a step: a fixture may stand in another document of the file.
    """

    pointer: Steps
    what: str
    expected: str
    actual: str
    row: int | None = None
    document: Document | None = None


def action_of(row: Row) -> str:
    """What happened to a call; `stop` too where what it brought stopped the run."""
    return "stop" if row["stop"] is not None else str(row["action"])


def reasons_of(row: Row) -> list[str]:
    """Why; the reason of the stop too, where what the call brought stopped the run."""
    reasons: list[str] = list(row["reasons"])
    if row["stop"] is not None and row["stop"]["reason"] not in reasons:
        reasons.append(row["stop"]["reason"])
    return reasons


def unmet_of_run(
    expect: Mapping[str, Any], rows: Sequence[Row], endings: Sequence[Mapping[str, Any]]
) -> Iterator[Failure]:
    """What a whole run lacks of `spec.expect`; `endings` tell how its tasks ended."""
    firsts = {
        "first_note": _first(rows, lambda row: bool(row["notes"])),
        "first_intervention": _first(rows, lambda row: action_of(row) in INTERVENTIONS),
        "stop": _first(rows, lambda row: action_of(row) == "stop"),
    }
    counts = {
        "refusals": sum(action_of(row) in ("refuse", "stop") for row in rows),
        "reuses": sum(row["action"] == "reuse" for row in rows),
        "notes": sum(len(row["notes"]) for row in rows),
    }
    for name, wanted in expect.items():
        if name in firsts:
            yield from _span(name, wanted or {}, firsts[name], rows)
        elif name in counts and counts[name] != wanted:
            found = counts[name]
            at = _first(rows, lambda row, name=name: _counted(row, name))
            yield Failure(
                (*_EXPECT, name), name, counted(wanted, name.removesuffix("s")), _tally(name, found, rows), at
            )
        elif name == "reasons":
            yield from _reasons(wanted, firsts["first_intervention"], rows)
        elif name in ("status", "exit", "missing"):
            yield from _end(name, wanted, firsts["stop"], endings)


def _span(name: str, wanted: Mapping[str, int], at: int | None, rows: Sequence[Row]) -> Iterator[Failure]:
    words = {"first_note": "note", "first_intervention": "ask, refusal, reuse or stop", "stop": "stop"}[name]
    seq = None if at is None else rows[at]["seq"]
    start, end = wanted.get("from"), wanted.get("by")
    actual = f"no {words}" if seq is None else f"at seq {seq}"
    if end is not None and (seq is None or seq > end):
        yield Failure((*_EXPECT, name, "by"), name, f"at seq {end} or before", actual, at)
    if start is not None and (seq is None or seq < start):
        yield Failure((*_EXPECT, name, "from"), name, f"not before seq {start}", actual, at)
    if start is None and end is None and seq is None:
        yield Failure((*_EXPECT, name), name, "at any seq", actual, at)


def _reasons(wanted: Sequence[str], at: int | None, rows: Sequence[Row]) -> Iterator[Failure]:
    pointer, expected = (*_EXPECT, "reasons"), f"one of {_listed(wanted)} at the first intervention"
    if at is None:
        yield Failure(pointer, "reasons", expected, "no intervention")
    elif not set(wanted) & set(reasons_of(rows[at])):
        yield Failure(pointer, "reasons", expected, _listed(reasons_of(rows[at])), at)


def _end(name: str, wanted: Any, stop: int | None, endings: Sequence[Mapping[str, Any]]) -> Iterator[Failure]:
    """How the run ended; where it has several tasks, each of them."""
    pointer = (*_EXPECT, name)
    if name == "missing":
        missing = [cell for ending in endings for cell in ending["missing"]]
        if sorted(map(_cell, wanted)) != sorted(map(_cell, missing)):
            yield Failure(pointer, name, _cells(wanted), _cells(missing))
        return
    unknown = {
        "exit": "the run was not stopped, and so has no exit decision",
        "status": "unknown: the policy declares no `needs`, so nothing tells how far a run got that was not stopped",
    }[name]
    for ending in endings:
        if ending[name] != wanted:
            found = unknown if ending[name] is None else f"`{ending[name]}`"
            yield Failure(pointer, name, f"`{wanted}`", found, stop)
            return


def _cell(cell: Sequence[Any]) -> str:
    """A missing cell, comparable: a key of one field may be written without its list."""
    key, name = cell
    return canonical_json([key if key is None or isinstance(key, list) else [key], name])


def _cells(cells: Sequence[Sequence[Any]]) -> str:
    return f"{len(cells)} missing: {', '.join(sorted(map(_cell, cells)))}" if cells else "nothing missing"


def unmet_of_step(
    expect: Mapping[str, Any], pointer: Steps, rows: Sequence[tuple[int, Row]], limits: Mapping[str, float | None]
) -> Iterator[Failure]:
    """What the calls of one step lack of its `expect`. Every repetition has to show it; `budget` counts after the last.

    Args:
        expect: the expectations.
        pointer: where they stand.
        rows: the decisions of the step's calls, each with its position in the run.
        limits: the policy's plain budgets.
    """
    if not rows:
        yield Failure(pointer, "expect", "a call", "the step is no call: nothing was decided")
        return
    for name, wanted in expect.items():
        if name == "budget":
            yield from _budgets(wanted or {}, (*pointer, name), rows[-1], limits)
            continue
        for at, row in rows:
            unmet = _of_row(name, wanted, row)
            if unmet is not None:
                yield Failure((*pointer, name), name, *unmet, at)
                break


def _of_row(name: str, wanted: Any, row: Row) -> tuple[str, str] | None:
    """What was expected and what came, if they differ."""
    if name == "action":
        met = wanted in (row["action"], action_of(row))
        return None if met else (f"`{wanted}`", f"`{action_of(row)}`")
    if name == "reasons":
        met = set(wanted) <= set(reasons_of(row))
        return None if met else (f"all of {_listed(wanted)}", _listed(reasons_of(row)))
    if name in ("code", "grade"):
        return None if row[name] == wanted else (f"`{wanted}`", _told(row, row[name]))
    if name == "gaps":
        met = sorted(map(canonical_json, wanted)) == sorted(map(canonical_json, row["gaps"]))
        return None if met else (str(wanted), str(row["gaps"]))
    if name == "next":
        return _next(wanted, row)
    if isinstance(wanted, int):
        found = len(row["notes"])
        return None if found == wanted else (counted(wanted, "note"), _notes_of(row))
    noted = [note["reason"] for note in row["notes"]]
    return None if set(noted) == set(wanted) else (f"notes {_listed(wanted)}", _notes_of(row))


def _next(wanted: Any, row: Row) -> tuple[str, str] | None:
    if isinstance(wanted, str):
        return None if row["next"] == wanted else (f"`{wanted}`", _told(row, row["next"]))
    for kind, details in wanted.items():
        found = _details(kind, row)
        if found is None or not any(_same_details(details, each) for each in found):
            return f"`{kind}: {canonical_json(details)}`", _told_next(row)
    return None


def _details(kind: str, row: Row) -> list[Any] | None:
    """What a kind of `next` came with: tools and their calls, seconds, or the exit decision; None for another kind."""
    if kind == "exit":
        return [row["stop"]["exit"]] if row["stop"] is not None else None
    proposals = [proposal for proposal in row["proposals"] if proposal["kind"] == kind]
    if not proposals or row["next"] != kind:
        return None
    return [proposal["after"] for proposal in proposals] if kind == "retry" else proposals


def _same_details(wanted: Any, found: Any) -> bool:
    if not isinstance(found, dict):
        return bool(wanted == found)
    if isinstance(wanted, dict):
        return all(canonical_json(found.get(name)) == canonical_json(value) for name, value in wanted.items())
    return bool(wanted == found["tool"])


def _told_next(row: Row) -> str:
    if row["proposals"]:
        shown = [{name: value for name, value in each.items() if name != "kind"} for each in row["proposals"]]
        return f"`{row['next']}`: {canonical_json(shown)}"
    return _told(row, row["next"]) + (f": `{row['stop']['exit']}`" if row["stop"] is not None else "")


def _budgets(
    wanted: Mapping[str, Any], pointer: Steps, last: tuple[int, Row], limits: Mapping[str, float | None]
) -> Iterator[Failure]:
    at, row = last
    for name, amounts in wanted.items():
        if name not in limits:
            known = _listed(list(limits))
            yield Failure((*pointer, name), "budget", "a budget", f"not yet: only {known} can be tested", at)
            continue
        used, limit = row["spent"][name], limits[name]
        found = {
            "used": used,
            "left": None if limit is None else max(limit - used, 0.0),
            "share": None if limit is None else used / limit if limit else 1.0,
        }
        for key, amount in (amounts or {}).items():
            actual = found[key]
            if actual is None:
                yield Failure((*pointer, name, key), "budget", f"{amount:g}", f"`{name}` has no limit", at)
            elif abs(actual - amount) > 1e-9 * max(abs(actual), abs(amount)):
                yield Failure((*pointer, name, key), "budget", f"`{name}` {key} {amount:g}", f"{actual:g}", at)


def _first(rows: Sequence[Row], is_it: Any) -> int | None:
    return next((at for at, row in enumerate(rows) if is_it(row)), None)


def _counted(row: Row, name: str) -> bool:
    if name == "notes":
        return bool(row["notes"])
    return row["action"] == "reuse" if name == "reuses" else action_of(row) in ("refuse", "stop")


def _tally(name: str, found: int, rows: Sequence[Row]) -> str:
    if found == 0:
        return "none"
    seqs = [str(row["seq"]) for row in rows if _counted(row, name)]
    shown = ", ".join(seqs[:8]) + (", …" if len(seqs) > 8 else "")
    return f"{found}, at seq {shown}"


def _told(row: Row, value: str | None) -> str:
    if value is not None:
        return f"`{value}`"
    return "none" if row["grade"] is not None else f"none: the call did not run ({action_of(row)})"


def _notes_of(row: Row) -> str:
    return _listed([note["reason"] for note in row["notes"]]) if row["notes"] else "no notes"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) if names else "none"
