"""Why a call was decided as it was: what was looked at in which order, what was found, what would have been allowed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from .asking import Asking, Row, is_allowed
from .recorded import Record
from .ways_out import Known, Way, WriteTool, ways_out
from .written import Policies, WrittenAt

# What is looked at, in this order, and the reasons that belong there; the rest are detectors.
_ORDER: Final = (
    ("earlier stop", ("stopped",)),
    ("call id", ("bad_call_id", "duplicate_in_batch")),
    ("policy", ("unbound",)),
    ("tool", ("unknown_tool",)),
    ("arguments", ("invalid_arguments",)),
    ("denials", ("denied",)),
    ("budgets", ("budget_*",)),
    ("breaker", ("breaker_open",)),
    ("effects", ("duplicate_effect", "ambiguous_effect", "effect_in_flight", "idempotency_conflict", "store_failure")),
    ("ways out", ("hop_limit", "no_return")),
    ("detectors", ()),
    ("rules", ("rule:*", "policy_error")),
)  # fmt: skip
_BUDGETS: Final = ("steps", "tool_calls", "retries", "tokens", "cost")


class Finding(NamedTuple):
    """What was found: its reason, what it asks for, a sentence, the evidence, and where that is written."""

    reason: str
    action: str
    message: str
    evidence: Mapping[str, Any]
    written: WrittenAt | None


class Check(NamedTuple):
    """A thing that was looked at: what was found, and what there is to say if it was nothing."""

    title: str
    findings: tuple[Finding, ...]
    says: str
    written: tuple[WrittenAt, ...] = ()


class Explanation(NamedTuple):
    """A decision, explained. `ways` are changes with which the call runs, out of `asked` questions to the engine."""

    record: Record
    row: Row
    checks: tuple[Check, ...]
    ways: tuple[Way, ...]
    asked: int

    @property
    def action(self) -> str:
        """What was decided, or would have been in mode `enforce`."""
        return str(self.row["would"] or self.row["action"])


def explain(asking: Asking, policies: Policies, records: Sequence[Record], at: int) -> Explanation | None:
    """Explain what is decided of one call.

    Args:
        asking: the policy that is asked.
        policies: its documents.
        records: the run, from its beginning.
        at: the position of the call; what comes after its turn, and those that are open by then, does not count.

    Returns:
        The explanation; None where such a run cannot be judged.
    """
    run = [*records[: at + 1], *_rest_of_turns(records, at)]
    row = asking.about(run, at)
    if row is None:
        return None
    before = asking.rows(records[:at]) if at else []
    spent = before[-1]["spent"] if before else dict.fromkeys(_BUDGETS, 0.0)
    checks = tuple(_checks(asking, policies, row, spent))
    ways: list[Way] = []
    asking.asked = 0
    if not is_allowed(row):
        ways = ways_out(asking, run, at, _known(policies, row))
    return Explanation(records[at], row, checks, tuple(ways), asking.asked)


def _rest_of_turns(records: Sequence[Record], at: int) -> list[Record]:
    """The calls after this one of the turns that are not over by then: those of its own turn are judged with it."""
    last = {record["session"]: record for record in records[: at + 1]}
    open_rounds = {session: record.get("round") for session, record in last.items() if "event" not in record}
    rest: list[Record] = []
    for record in records[at + 1 :]:
        number = open_rounds.get(record["session"])
        if number is None:
            continue
        if record.get("round") == number and "event" not in record:
            rest.append(record)
        else:
            del open_rounds[record["session"]]
    return rest


def _known(policies: Policies, row: Row) -> Known:
    tools = policies.tools(row)
    parameters = tools.get(str(row["tool"]), {}).get("parameters")
    writes = []
    for name, tool in tools.items():
        if tool.get("effect") == "write" or (tool.get("effect") in ("external", "ui") and tool.get("touches")):
            required = (tool.get("parameters") or {}).get("required")
            writes.append(WriteTool(name, required if isinstance(required, list) else []))
    waits = [finding["retry_after"] for finding in row["findings"] if finding["retry_after"] is not None]
    return Known(parameters if isinstance(parameters, dict) else {}, writes, [*policies.durations(row), *waits])


def _checks(asking: Asking, policies: Policies, row: Row, spent: Mapping[str, float]) -> Iterator[Check]:
    findings = [
        Finding(each["reason"], each["action"], each["message"], each["evidence"], policies.reason(row, each))
        for each in row["findings"]
    ]
    rest = list(findings)
    by_title: dict[str, list[Finding]] = {}
    for title, reasons in _ORDER:
        mine = [finding for finding in rest if any(_is(finding.reason, reason) for reason in reasons)]
        by_title[title] = mine
        rest = [finding for finding in rest if finding not in mine]
    by_title["detectors"] = rest
    for title, _ in _ORDER:
        says, places = _nothing(title, asking, policies, row, spent)
        if by_title[title] or says:
            yield Check(title, tuple(by_title[title]), says, places)


def _is(reason: str, wanted: str) -> bool:
    return reason == wanted or (wanted.endswith("*") and reason.startswith(wanted[:-1]))


def _nothing(
    title: str, asking: Asking, policies: Policies, row: Row, spent: Mapping[str, float]
) -> tuple[str, tuple[WrittenAt, ...]]:
    """What is said of a thing about which nothing was found; nothing of what the policy has no word about."""
    if title == "earlier stop":
        return "the task was not stopped before", ()
    if title == "call id":
        return "in use by no other call", ()
    if title == "tool":
        declared = policies.tool(row)
        if declared is not None:
            return f"`{row['tool']}` is declared", (declared,)
        undeclared = policies.setting(row, "undeclared_tools")
        return f"`{row['tool']}` is declared nowhere, which the policy allows", _places([undeclared])
    if title == "arguments":
        written = policies.tool(row, "parameters")
        return ("no schema to hold them against", ()) if written is None else ("they fit", (written,))
    if title == "denials":
        return "nobody has denied this call", ()
    if title == "budgets":
        limits = dict(asking.policy.limits_of(agent=row["agent"]))
        left = [
            f"{name} {spent[name]:,g} of {limits[name]:,g} used" for name in _BUDGETS if limits.get(name) is not None
        ]
        return ", ".join(left) if left else "none is set", ()
    if title == "detectors":
        names = policies.detectors(row)
        return f"none of {', '.join(names)} has reached a rung that refuses" if names else "none can refuse", ()
    if title == "rules":
        rules = policies.rules(row)
        quiet = [(name, place) for name, place in rules if f"rule:{name}" not in row["reasons"]]
        named = ", ".join(f"`{name}`" for name, _ in quiet)
        return (f"{named} did not fire" if quiet else ""), _places(place for _, place in quiet)
    return "", ()


def _places(places: Iterable[WrittenAt | None]) -> tuple[WrittenAt, ...]:
    return tuple(place for place in places if place is not None)
