"""Incidents: how many refusals and reuses are counted against the calls that a finding names, and when that is over."""

from typing import Any

from specification.calls import Call
from specification.detectors import state_key
from specification.history import Approved, Counted, Denied, Dispatched, Entry, History, Reset, Turn


def names(incident: Any, call: Call) -> bool:
    """Tell whether the incident names the call.

    Incidents are `("session", agent, "calls", calls)`, `("session", agent, "tool", tool)`,
    `("session", agent, "reads", tool, target)`, `("task", "calls", calls)`, `("task", "members", (agent, call)s)`,
    `("task", "state", target)`, `("task", "rule", reason)` and `("task", "transfers")`. That of a rule names no call.
    """
    if incident[0] == "session":
        _, agent, kind, *of = incident
        if agent != call.agent:
            return False
        if kind == "calls":
            return call.loose in of[0]
        if kind == "tool":
            return bool(of[0] == call.tool.name)
        return of == [call.tool.name, call.target] and call.tool.effect == "read"
    kind = incident[1]
    if kind == "calls":
        return call.loose in incident[2]
    if kind == "members":
        return (call.agent, call.loose) in incident[2]
    if kind == "state":
        return "state" in call.tool.result and state_key(call) == incident[2]
    return kind == "transfers" and call.tool.transfer


def brings_news(history: History, incident: Any, turn: Turn) -> bool:
    """Tell whether a call that the incident names brought a new result."""
    earlier = history[: history.index(turn)]
    fed = [
        entry for entry in earlier if isinstance(entry, Turn) and entry.feeds == "all" and names(incident, entry.call)
    ]
    if incident[:2] == ("task", "state"):
        states = [entry.outcome.state for entry in fed]
        return turn.outcome.state is not None and turn.outcome.state not in states
    if turn.outcome.symbol is None or incident == ("task", "transfers"):
        return False
    of_tool = incident[2:3] in (("tool",), ("reads",))
    if not of_tool:
        fed = [entry for entry in fed if (entry.call.agent, entry.call.loose) == (turn.call.agent, turn.call.loose)]
    known = [entry.outcome for entry in fed if entry.outcome.symbol is not None and entry.call.agent == turn.call.agent]
    if of_tool and known:
        return known[-1].symbol != turn.outcome.symbol
    return not known or not history.equal(known[-1], turn.outcome)


def ends(incident: Any, entry: Entry) -> bool:
    """Tell whether a reset ends the incident, or a person's approval that let the one call run that it names."""
    if isinstance(entry, Reset):
        return "incidents" in entry.names
    if isinstance(entry, Dispatched) and entry.call.approved:
        return bool(incident == ("task", "calls", frozenset([entry.call.loose])))
    return False


def rules_that_denied(history: History, call: Call) -> frozenset[str]:
    """Give the rules under which the call is denied on record."""
    rules: frozenset[str] = frozenset()
    for entry in history:
        if isinstance(entry, Approved) and entry.loose == call.loose:
            rules = frozenset()
        elif isinstance(entry, Denied) and entry.loose == call.loose:
            rules |= entry.rules
    return rules


def tally_of_rule(history: History, reason: str) -> int | None:
    """Give what is counted in a rule's incident: the denials after the one that opened it, and refusals of what was
    denied under the rule; None where none is open."""
    counted: int | None = None
    gains = 0
    for entry in history:
        denied = isinstance(entry, Denied) and reason in entry.rules
        refused = isinstance(entry, Counted) and entry.incident == ("task", "rule", reason)
        if denied and counted is None:
            counted = gains = 0
        elif counted is not None and (denied or refused):
            counted, gains = counted + 1, 0
        elif isinstance(entry, Turn) and entry.feeds == "all":
            gains = gains + 1 if entry.gain else 0
            counted = None if gains == 3 else counted
        if isinstance(entry, Reset) and "incidents" in entry.names:
            counted = None
        if isinstance(entry, Approved) and reason in entry.rules:
            counted = None
    return counted


def tally(history: History, incident: Any) -> tuple[int, int]:
    """Give the refusals and reuses together, and the reuses alone, counted in the incident as it is open now."""
    counted = reused = gains = 0
    for entry in history:
        if isinstance(entry, Counted) and entry.incident == incident:
            counted += 1
            reused += entry.reuse
            gains = 0
        elif ends(incident, entry):
            counted = reused = gains = 0
        elif isinstance(entry, Turn) and entry.feeds == "all" and counted:
            if names(incident, entry.call):
                gains = 0
                closed = brings_news(history, incident, entry)
            else:
                gains = gains + 1 if entry.gain else 0
                closed = gains == 3
            if closed:
                counted = reused = gains = 0
    return counted, reused
