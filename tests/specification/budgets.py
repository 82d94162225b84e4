"""Budgets: what a task may use up, what it has used, and the notes at shares of a limit."""

import math
from typing import Any

from specification.calls import Call
from specification.history import Dispatched, Ended, History
from specification.text import seconds

PRESETS: dict[str, dict[str, Any]] = {
    "simple": {"steps": 10, "tokens": 50_000, "time": "10m"},
    "medium": {"steps": 32, "tokens": 200_000, "time": "10m"},
    "complex": {"steps": 100, "tokens": 1_000_000, "time": "30m"},
}


def limit(value: Any) -> float | None:
    """Read a limit: a number, `{limit: …}`, or `unlimited` in either form."""
    if isinstance(value, dict):
        value = value.get("limit")
    return None if value is None or value == "unlimited" else value


class Budgets:
    """The limits of a policy, and what has been used of them in one task."""

    def __init__(self, spec: dict[str, Any]) -> None:
        budgets: dict[str, Any] = spec.get("budgets") or {}
        preset: dict[str, Any] = PRESETS.get(budgets.get("preset", ""), {})
        budgets = {key: preset[key] for key in ("steps", "tokens") if key in preset} | budgets
        self.one = {name: limit(budgets.get(name)) for name in ("steps", "tool_calls", "retries", "tokens", "cost")}
        self.per_tool = {name: limit(value) for name, value in (budgets.get("calls_per_tool") or {}).items()}
        self.per_group = {name: limit(value) for name, value in (budgets.get("calls_per_group") or {}).items()}
        self.shares: list[float] = budgets.get("notes_at") or []
        self.reserve: dict[str, Any] = budgets.get("reserve") or {}
        self.all_or_nothing = budgets.get("batch") == "all_or_nothing"
        times = ({"task": preset["time"]} if preset else {}) | (spec.get("time") or {})
        self.times = {name: seconds(value) for name, value in times.items() if limit(value) is not None}
        self.steps = 0
        self.reported = {"tokens": 0.0, "cost": 0.0}
        self.noted: set[tuple[str, float]] = set()

    def reserved_for(self, tool: str) -> bool:
        return tool in self.reserve.get("for", [])

    def steps_spent(self) -> bool:
        steps = self.one["steps"]
        return steps is not None and self.steps >= steps

    def tool_limit(self, tool: str) -> float | None:
        return self.per_tool.get(tool, self.per_tool.get("*"))

    def reasons(self, history: History, call: Call) -> list[str]:
        """Give the budgets (steps and times are the round's matter) that the call would overdraw."""
        used = Used(history)
        reasons = []
        calls = self.one["tool_calls"]
        if calls is not None and used.calls >= calls:
            reasons.append("budget_tool_calls")
        kept_back = 0 if self.reserved_for(call.tool.name) else self.reserve.get("tool_calls", 0)
        if calls is not None and kept_back and calls - used.calls < kept_back + 1:
            reasons.append("budget_reserved")
        tool = self.tool_limit(call.tool.name)
        if tool is not None and used.of_tool(call.tool.name) >= tool:
            reasons.append("budget_calls_per_tool")
        groups = [(name, self.per_group.get(name)) for name in call.tool.groups]
        if any(most is not None and used.of_group(name) >= most for name, most in groups):
            reasons.append("budget_calls_per_group")
        retries = self.one["retries"]
        if call.retry and retries is not None and used.retries >= retries:
            reasons.append("budget_retries")
        for name, amount in self.reported.items():
            most = self.one[name]
            if most is not None and amount >= most:
                reasons.append(f"budget_{name}")
        return reasons

    def notes(self, history: History, call: Call) -> list[str]:
        """Give the notes at shares that the call, just dispatched, is due."""
        calls = Used(history)
        tool = call.tool.name
        due = [
            self.crossed("budget_tool_calls", "", calls.calls, self.one["tool_calls"]),
            self.crossed("budget_calls_per_tool", tool, calls.of_tool(tool), self.tool_limit(tool)),
        ]
        due += [
            self.crossed("budget_calls_per_group", name, calls.of_group(name), self.per_group[name])
            for name in call.tool.groups
            if name in self.per_group
        ]
        if call.retry:
            due.append(self.crossed("budget_retries", "", calls.retries, self.one["retries"]))
        return [reason for reason in due if reason]

    def shares_of_amounts(self, now: float, began: dict[str, float]) -> list[str]:
        """Give the notes at shares of tokens, cost and times, which nobody takes one by one."""
        due = [self.crossed(f"budget_{name}", "", used, self.one[name]) for name, used in self.reported.items()]
        due += [
            self.crossed("budget_time", name, now - at, self.times.get(name))
            for name, at in began.items()
            if name != "step"
        ]
        return [reason for reason in due if reason]

    def crossed(self, reason: str, of: str, used: float, most: float | None) -> str | None:
        """Give the reason if this many used crosses a share of the limit for the first time."""
        if most is None:
            return None
        new = {
            (reason + of, share)
            for share in self.shares
            if used >= (max(1, math.floor(share * most)) if isinstance(used, int) else share * most)
            and (reason + of, share) not in self.noted
        }
        self.noted |= new
        return reason if new else None


class Used:
    """What the calls of a task have used so far; an abandoned call gives back what it took."""

    def __init__(self, history: History) -> None:
        dispatched = [entry.call for entry in history if isinstance(entry, Dispatched)]
        given_back = {id(entry.call) for entry in history if isinstance(entry, Ended) and entry.outcome is None}
        kept = [call for call in dispatched if id(call) not in given_back]
        self.kept = kept
        self.calls = len(kept)
        self.retries = sum(call.retry for call in kept)

    def of_tool(self, tool: str) -> int:
        return sum(call.tool.name == tool for call in self.kept)

    def of_group(self, group: str) -> int:
        return sum(group in call.tool.groups for call in self.kept)
