"""What one call can become at worst: attempts of every layer, over all substitutes, each until its time-out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from .diagnostics import Diagnostic
from .faults import Found
from .resolve import Resolved
from .tool_extends import with_extended

MANY: Final = 9
"""Calls that one call may become before anything is said: three layers of three."""
_MOST_PATHS: Final = 1_000
_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_SECONDS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


class Worst(NamedTuple):
    """The worst that one call can become: calls, seconds in time-outs (None where a tool has none), the tools."""

    calls: int
    seconds: float | None
    tools: tuple[str, ...]


def worst_case(resolved: Resolved) -> list[Diagnostic]:
    """A note about the worst case of a policy (CG426), where it is many calls.

    Attempts are those of `budgets.layers`, whose numbers multiply, else one and the `retry.max` of the tool; hops are
    those of `fallback.edges`, up to `max_hops`. Budgets for calls and retries and the task's time bound them. What a
    call costs is declared nowhere, so of money the budget alone is told; waits between attempts are not counted.
    """
    spec = resolved.spec
    found = _worst(spec, _tools(resolved))
    if found is None or found.calls < MANY:
        return []
    told = [f"{found.calls} calls"]
    if found.seconds is not None:
        told.append(_told(found.seconds))
    cost = _at(spec, "budgets", "cost")
    if isinstance(cost, Mapping) and _number(cost.get("limit")) is not None:
        told.append(f"up to {cost['limit']:g} {cost.get('currency') or ''}".rstrip())
    way = " → ".join(f"`{tool}`" for tool in found.tools)
    steps = next((steps for steps in _PLACES if _at(spec, *steps) is not None), None)
    if steps is None:
        return []
    message = f"at worst one call becomes {', '.join(told)}: {way}"
    hint = "let one layer own an error, bound `budgets.retries`, or allow fewer hops"
    if found.seconds is None:
        hint += "; without a `timeout` of each tool nothing is known of the time"
    return resolved.located([Found("CG426", "note", message, ("spec", *steps), "key", hint)])


# Where the numbers stand that multiply: the first of these that is written is pointed at.
_PLACES: Final = (("budgets", "layers"), ("fallback", "max_hops"), ("fallback",), ("budgets", "retries"), ("budgets",))


def _worst(spec: Mapping[str, Any], tools: Mapping[str, Mapping[str, Any]]) -> Worst | None:
    layers = _layers(spec)
    retries, calls = _number(_at(spec, "budgets", "retries")), _number(_at(spec, "budgets", "tool_calls"))
    whole = _seconds(_at(spec, "time", "task"))
    worst: Worst | None = None
    for path in _paths(spec, tools):
        attempts = [layers or 1 + int(_number(_at(tools.get(tool), "retry", "max")) or 0) for tool in path]
        if max(attempts) == 1:  # without retries a path is as long as it is written, and nothing multiplies
            continue
        most = sum(attempts)
        if retries is not None:
            most = min(most, len(path) + int(retries))
        if calls is not None:
            most = min(most, int(calls))
        limits = [_seconds(_at(tools.get(tool), "timeout")) or _seconds(_at(spec, "time", "tool")) for tool in path]
        seconds = _slowest([(limit, count) for limit, count in zip(limits, attempts, strict=True)], most)
        if seconds is not None and whole is not None:
            seconds = min(seconds, whole)
        here = Worst(most, seconds, path)
        if worst is None or (here.calls, here.seconds or 0.0) > (worst.calls, worst.seconds or 0.0):
            worst = here
    return worst


def _slowest(attempts: list[tuple[float | None, int]], most: int) -> float | None:
    """Seconds of so many attempts, the slow ones first; None where a time-out is not known."""
    seconds = 0.0
    for limit, count in sorted(attempts, key=lambda each: -(each[0] or 0.0)):
        if limit is None:
            return None
        seconds += limit * min(count, most)
        most -= min(count, most)
    return seconds


def _layers(spec: Mapping[str, Any]) -> int:
    """What the layers that retry multiply to; 0 where none is written."""
    product = 0
    for name in ("http", "tool", "agent"):
        count = int(_number(_at(spec, "budgets", "layers", name, "retries")) or 0)
        product = (product or 1) * count if count else product
    return product


def _paths(spec: Mapping[str, Any], tools: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Each tool, followed by the substitutes that the edges offer for it, as far as hops allow."""
    edges: dict[str, list[str]] = {}
    for edge in _at(spec, "fallback", "edges") or ():
        if isinstance(edge, Mapping) and edge.get("kind", "tool") == "tool":
            edges.setdefault(str(edge.get("from")), []).append(str(edge.get("to")))
    hops = _number(_at(spec, "fallback", "max_hops"))
    most = int(hops) if hops is not None else len(edges)
    open_paths: list[tuple[str, ...]] = [(tool,) for tool in reversed([*tools])]
    given = 0
    while open_paths and given < _MOST_PATHS:
        path = open_paths.pop()
        given += 1
        yield path
        if len(path) <= most:
            open_paths += [(*path, to) for to in edges.get(path[-1], ()) if to not in path]


def _tools(resolved: Resolved) -> dict[str, dict[str, Any]]:
    tools: dict[str, Any] = {}
    for spec in resolved.manifest_specs.values():
        declared = spec.get("tools") if isinstance(spec, Mapping) else None
        tools.update(declared if isinstance(declared, Mapping) else {})
    return with_extended(tools)


def _at(data: Any, *steps: str) -> Any:
    for step in steps:
        data = data.get(step) if isinstance(data, Mapping) else None
    return data


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value)


def _seconds(value: Any) -> float | None:
    found = _DURATION.fullmatch(value) if isinstance(value, str) else None
    return float(found[1]) * _SECONDS[found[2]] if found else None


def _told(seconds: float) -> str:
    """A time in words of two units at most: `9 min`, `1 h 30 min`, `45 s`."""
    if seconds < 60:
        return f"{seconds:g} s"
    if seconds < 3600:
        minutes, rest = divmod(round(seconds), 60)
        return f"{minutes} min" + (f" {rest} s" if rest else "")
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h" + (f" {minutes} min" if minutes else "")
