"""What one call can become at worst: attempts of every layer, over all substitutes, their time-outs and pauses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, overload

from .diagnostics import Diagnostic
from .faults import Found
from .resolve import Resolved
from .tool_extends import with_extended

MANY: Final = 9
"""Calls that one call may become before anything is said: three layers of three."""
RETRIES: Final = 3
"""`retry.max`, where it is left out."""
LONGEST_PAUSE: Final = 60.0
"""`retry.backoff.max` in seconds, where it is left out."""
_MOST_PATHS: Final = 1_000
_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_SECONDS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


class Worst(NamedTuple):
    """The worst that one call can become: calls, seconds (None where a tool has no time-out), the tools."""

    calls: int
    seconds: float | None
    tools: tuple[str, ...]


def worst_case(resolved: Resolved) -> list[Diagnostic]:
    """A note about the worst case of a policy (CG426), where it is many calls.

    Attempts are those of `budgets.layers`, whose numbers multiply, else one and the `retry.max` of the tool, each after
    the longest pause of its backoff; hops are those of `fallback.edges`, up to `max_hops`. Budgets for calls and
    retries and the times of step, task and workflow bound them. What a call costs is declared nowhere, so of money the
    budget alone is told.
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


class _Tool(NamedTuple):
    """What one tool of a way can take: attempts, of which `waiting` come after a pause, and seconds for each.

    `limit` is the time-out of an attempt, None where there is none; `pause` the longest pause before a further one;
    `most` all the time that its attempts can take.
    """

    attempts: int
    waiting: int
    limit: float | None
    pause: float
    most: float | None


def _worst(spec: Mapping[str, Any], tools: Mapping[str, Mapping[str, Any]]) -> Worst | None:
    layers = _layers(spec)
    retries, calls = _number(_at(spec, "budgets", "retries")), _number(_at(spec, "budgets", "tool_calls"))
    whole = _shortest(_seconds(_at(spec, "time", "task")), _seconds(_at(spec, "time", "workflow")))
    worst: Worst | None = None
    for path in _paths(spec, tools):
        taken = [_tool(spec, tools.get(tool, {}), layers) for tool in path]
        if max(each.attempts for each in taken) == 1:  # without retries a path is as long as it is written
            continue
        most = sum(each.attempts for each in taken)
        if retries is not None:
            most = min(most, len(path) + int(retries))
        if calls is not None:
            most = min(most, int(calls))
        seconds = _slowest(taken, most, retries)
        if seconds is not None and whole is not None:
            seconds = min(seconds, whole)
        here = Worst(most, seconds, path)
        if worst is None or (here.calls, here.seconds or 0.0) > (worst.calls, worst.seconds or 0.0):
            worst = here
    return worst


def _tool(spec: Mapping[str, Any], tool: Mapping[str, Any], layers: Mapping[str, int]) -> _Tool:
    """What a tool can take. Layers multiply to all of its attempts; without them the tool's own retries are all.

    A pause is as long as `backoff.max` at most, whatever the jitter, and so is a `Retry-After` that is waited for.
    Pauses are known of the layer that makes the tool's own retries. What tries again below, such as an HTTP client,
    does so within an attempt, and what is above, an agent, begins anew.
    """
    retry = tool.get("retry")
    own = 0 if not isinstance(retry, Mapping) else int(_number(retry.get("max"), RETRIES))
    pause = _seconds(_at(retry, "backoff", "max"), LONGEST_PAUSE)
    limit = _seconds(tool.get("timeout")) or _seconds(_at(spec, "time", "tool"))
    step = _seconds(_at(spec, "time", "step"))
    if not layers:
        return _Tool(1 + own, own, limit, pause, step)
    above = layers.get("agent", 1)
    product = above * layers.get("tool", 1) * layers.get("http", 1)
    waiting = above * (layers.get("tool", 1) - 1) if isinstance(retry, Mapping) else 0
    return _Tool(product, waiting, limit, pause, None if step is None else above * step)


def _slowest(way: Sequence[_Tool], most: int, retries: float | None) -> float | None:
    """Seconds of the slowest so many attempts along a way; None where a time-out is not known.

    However far it is gone, each tool on the way is called once; what is left of the attempts goes to the slowest.
    """
    if any(each.limit is None for each in way):
        return None
    worst = 0.0
    for length in range(1, min(len(way), most) + 1):
        on_it = way[:length]
        left = most - length if retries is None else min(most - length, int(retries))
        seconds = sum(_bounded(each, each.limit or 0.0) for each in on_it)
        for gain, count in sorted((part for each in on_it for part in _further(each)), reverse=True):
            seconds += gain * min(count, left)
            left -= min(count, left)
        worst = max(worst, seconds)
    return worst


def _further(tool: _Tool) -> Iterator[tuple[float, int]]:
    """What further attempts add in seconds, and how many add so much: those after a pause first."""
    limit = tool.limit or 0.0
    spent = _bounded(tool, limit)
    for each, count in ((limit + tool.pause, tool.waiting), (limit, tool.attempts - 1 - tool.waiting)):
        whole = count if tool.most is None or each <= 0.0 else min(count, int((tool.most - spent) / each))
        yield each, whole
        spent += each * whole
        if whole < count and tool.most is not None:  # one that the step's time cuts off
            yield tool.most - spent, 1
            return


def _bounded(tool: _Tool, seconds: float) -> float:
    return seconds if tool.most is None else min(seconds, tool.most)


def _shortest(first: float | None, second: float | None) -> float | None:
    return first if second is None or (first is not None and first < second) else second


def _layers(spec: Mapping[str, Any]) -> dict[str, int]:
    """How often each layer tries, of those that retry."""
    found = {}
    for name in ("http", "tool", "agent"):
        count = int(_number(_at(spec, "budgets", "layers", name, "retries")) or 0)
        if count:
            found[name] = count
    return found


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


@overload
def _number(value: Any) -> float | None: ...
@overload
def _number(value: Any, default: float) -> float: ...
def _number(value: Any, default: float | None = None) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return default
    return float(value)


@overload
def _seconds(value: Any) -> float | None: ...
@overload
def _seconds(value: Any, default: float) -> float: ...
def _seconds(value: Any, default: float | None = None) -> float | None:
    found = _DURATION.fullmatch(value) if isinstance(value, str) else None
    return float(found[1]) * _SECONDS[found[2]] if found else default


def _told(seconds: float) -> str:
    """A time in words of two units at most: `9 min`, `1 h 30 min`, `45 s`."""
    if seconds < 60:
        return f"{seconds:g} s"
    if seconds < 3600:
        minutes, rest = divmod(round(seconds), 60)
        return f"{minutes} min" + (f" {rest} s" if rest else "")
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h" + (f" {minutes} min" if minutes else "")
