"""What a task has to find out: tables of records by fields, worked out anew from the history each time it is asked."""

from typing import Any

from specification.history import Ended, History, Turn
from specification.outcomes import Outcome, carries
from specification.text import canonical

Need = dict[str, Any]
Table = dict[str, dict[str, Any]]


def takes(need: Need, outcome: Outcome) -> bool:
    tool = outcome.call.tool
    return tool.name in need["from"] if "from" in need else "records" in tool.result


def records(need: Need, outcome: Outcome) -> list[dict[str, Any]]:
    """The records of an outcome that can be placed: maps that carry their whole key, and something."""
    if outcome.failed or outcome.erred or not outcome.known or not takes(need, outcome):
        return []
    found = outcome.raw_records if "records" in outcome.call.tool.result else [outcome.result]
    return [
        record
        for record in found or []
        if isinstance(record, dict)
        and all(carries(record, name) for name in need.get("key", []))
        and any(carries(record, name) for name in need["fields"])
    ]


def table(need: Need, outcomes: list[Outcome]) -> Table:
    """Records by key, each with the value of every field that some outcome carries.

    Of several values the one counts whose call was asked for first, or last; inside one result the first.
    """
    filled: Table = {}
    last = need.get("resolve") == "last"
    for outcome in sorted(outcomes, key=lambda outcome: outcome.call.number, reverse=last):
        for record in records(need, outcome):
            row = filled.setdefault(canonical([record[name] for name in need.get("key", [])]), {})
            for name in need["fields"]:
                if carries(record, name):
                    row.setdefault(name, record[name])
    return filled


def chosen(need: Need, filled: Table) -> list[tuple[str, dict[str, Any]]]:
    """The records that count: most filled cells first; of equals those with more essential ones, then by key."""
    essential = need.get("essential", need["fields"])
    rows = sorted(
        filled.items(), key=lambda item: (-len(item[1]), -len(set(item[1]) & set(essential)), item[0].encode())
    )
    return rows[: need.get("min_records", 1)]


def count(need: Need, filled: Table) -> int:
    return sum(len(row) for _, row in chosen(need, filled))


def missing(need: Need, filled: Table) -> list[tuple[str | None, str]]:
    """The missing cells as (canonical key, field); the key is None for records that are not there, or have none."""
    rows = [(key if need.get("key") else None, row) for key, row in chosen(need, filled)]
    rows += [(None, {})] * (need.get("min_records", 1) - len(rows))
    return [(key, name) for key, row in rows for name in need["fields"] if name not in row]


class Needs:
    """The needs of a policy, asked about a history."""

    def __init__(self, policy: dict[str, Any]) -> None:
        self.needs: list[Need] = policy.get("needs") or []
        then = (policy.get("fallback") or {}).get("then") or {}
        self.ends = {
            "complete": "finish",
            "partial": then.get("partial", "finish_with_gaps"),
            "incomplete": then.get("insufficient", "escalate"),
        }

    def feeds(self, outcome: Outcome) -> bool:
        return any(takes(need, outcome) for need in self.needs)

    def tables(self, history: History) -> list[tuple[Need, Table]]:
        outcomes = [entry.outcome for entry in history if isinstance(entry, Ended) and entry.outcome is not None]
        return [(need, table(need, outcomes)) for need in self.needs]

    def missing(self, history: History) -> list[tuple[str | None, str]]:
        return [cell for need, filled in self.tables(history) for cell in missing(need, filled)]

    def status(self, history: History, stopped: bool) -> str | None:
        """How far the run got; None where nothing tells."""
        if not self.needs:
            return "incomplete" if stopped else None
        found = []
        for need, filled in self.tables(history):
            essential = need.get("essential", need["fields"])
            worth = [row for row in filled.values() if set(essential) <= set(row)]
            if not missing(need, filled):
                found.append("complete")
            elif len(worth) >= need.get("min_records", 1):
                found.append("partial")
            else:
                found.append("incomplete")
        return max(found, key=["complete", "partial", "incomplete"].index)

    def exit(self, history: History) -> str:
        return self.ends[self.status(history, True) or "incomplete"]

    def cells(self, history: History, outcome: Outcome) -> int:
        """The missing cells that an outcome is the first to fill, in the order in which outcomes feed the detectors."""
        before = [entry.outcome for entry in history if isinstance(entry, Turn)]
        return sum(
            count(need, table(need, [*before, outcome])) - count(need, table(need, before)) for need in self.needs
        )
