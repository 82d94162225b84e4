"""Where in the YAML the things are written that decided about a call: detectors, budgets, rules, what a tool takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from callgate.policy.bindings import bound_policies
from callgate.policy.load import Document
from callgate.policy.open import Opened
from callgate.policy.resolve import Resolved

Steps = tuple[str | int, ...]

_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
# Detectors whose reason has another name; those of `_OF_THE_TOOL` are rather matters of the manifest.
_DETECTORS: Final = {"duplicate_effect": "repeated_effect", "low_diversity": "diversity"}
_OF_THE_TOOL: Final = {
    "invalid_arguments": "parameters", "stale_wait": "waiting", "breaker_open": "breaker", "timeout": "timeout",
    "idempotency_conflict": "idempotency", "effect_in_flight": "idempotency", "ambiguous_effect": "verify",
}  # fmt: skip
_WAYS_OUT: Final = {"hop_limit": "max_hops", "no_return": "edges"}


class WrittenAt(NamedTuple):
    """A place in a file: its line from 1, and the text of that line without indentation."""

    file: str
    line: int
    text: str


class Policies:
    """The policies that an explanation is about, with the manifests that they are written against."""

    def __init__(self, opened: Opened) -> None:
        if opened.resolved is not None:
            self._resolved: dict[str | None, Resolved] = {None: opened.resolved}
        else:
            bound = bound_policies(opened.loaded, opened.loaded.of_kind("GuardBinding"))
            self._resolved = {each.binding.name: each.resolved for each in bound}
        self._beside = [document for document in opened.loaded.of_kind("ToolManifest") if document.name]

    def in_force(self, row: Mapping[str, Any]) -> list[Resolved]:
        """The policies that a decision was made by."""
        names = [each["binding"] for each in row["bindings"]]
        found = [self._resolved[name] for name in names if name in self._resolved]
        return found or list(self._resolved.values())

    def reason(self, row: Mapping[str, Any], finding: Mapping[str, Any]) -> WrittenAt | None:
        """Where that is written for which a finding came, if anywhere."""
        name, evidence = finding["reason"], finding["evidence"]
        if name == "stopped" and isinstance(evidence.get("stopped_by"), str):
            name = evidence["stopped_by"]
        if name in _OF_THE_TOOL and (found := self.tool(row, _OF_THE_TOOL[name])) is not None:
            return found
        for resolved in self.in_force(row):
            for steps in _steps(resolved, name, str(row["tool"]), self.groups(row), evidence):
                if (place := _place(resolved, steps)) is not None:
                    return place
        return None

    def setting(self, row: Mapping[str, Any], *steps: str) -> WrittenAt | None:
        """Where a setting of the policy is written."""
        found = (_place(resolved, ("spec", *steps)) for resolved in self.in_force(row))
        return next((place for place in found if place is not None), None)

    def rules(self, row: Mapping[str, Any]) -> list[tuple[str, WrittenAt | None]]:
        """The rules that look at calls of the tool before they run, each with its place."""
        found = []
        for resolved in self.in_force(row):
            for at, rule in enumerate(resolved.spec.get("rules") or []):
                tools = rule.get("tools")
                if rule.get("phase", "admit") == "admit" and (
                    not tools or _covers(tools, row["tool"], self.groups(row))
                ):
                    found.append((str(rule["id"]), _place(resolved, ("spec", "rules", at))))
        return found

    def detectors(self, row: Mapping[str, Any]) -> list[str]:
        """The detectors that can refuse."""
        found: dict[str, None] = {}
        for resolved in self.in_force(row):
            for name, block in (resolved.spec.get("detectors") or {}).items():
                if isinstance(block, dict) and any(key.startswith("refuse") for key in block):
                    found[name] = None
        return list(found)

    def tool(self, row: Mapping[str, Any], *keys: str) -> WrittenAt | None:
        """Where a tool, or a key of it, is written in a manifest."""
        for document in self._manifests(row):
            steps = ("spec", "tools", str(row["tool"]), *keys)
            if document.positions.find(steps) is not None:
                return _line(document, steps)
        return None

    def tools(self, row: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """The declarations of all tools, by name, those that extend another one with its keys."""
        found: dict[str, dict[str, Any]] = {}
        for document in self._manifests(row):
            for name, tool in ((document.data.get("spec") or {}).get("tools") or {}).items():
                found.setdefault(name, tool or {})
        return {name: _extended(tool, found) for name, tool in found.items()}

    def groups(self, row: Mapping[str, Any]) -> list[str]:
        """The groups that the tool is in."""
        groups = self.tools(row).get(str(row["tool"]), {}).get("groups")
        return [str(group) for group in groups] if isinstance(groups, list) else []

    def durations(self, row: Mapping[str, Any]) -> list[float]:
        """All durations of the policies and of the tool, in seconds."""
        values: list[Any] = [resolved.spec for resolved in self.in_force(row)]
        values.append(self.tools(row).get(str(row["tool"]), {}))
        return sorted({seconds for value in values for seconds in _durations(value)})

    def _manifests(self, row: Mapping[str, Any]) -> Iterator[Document]:
        for resolved in self.in_force(row):
            yield from resolved.manifests.values()
        yield from self._beside


def _steps(
    resolved: Resolved, reason: str, tool: str, groups: Sequence[str], evidence: Mapping[str, Any]
) -> Iterator[Steps]:
    """Where the thing for which a reason stands may be written, the most special first."""
    spec = resolved.spec
    if reason.startswith("rule:"):
        for at, rule in enumerate(spec.get("rules") or []):
            if rule.get("id") == reason.removeprefix("rule:"):
                yield ("spec", "rules", at)
        return
    if reason.startswith("budget_"):
        yield from _budget(reason.removeprefix("budget_"), tool, evidence)
        return
    if reason in _WAYS_OUT:
        yield ("spec", "fallback", _WAYS_OUT[reason])
        yield ("spec", "fallback")
        return
    if reason == "unknown_tool":
        yield ("spec", "undeclared_tools")
    name = _DETECTORS.get(reason, reason)
    for whom in (tool, *groups):
        yield ("spec", "detectors", "for", whom, name)
    yield ("spec", "detectors", name)


def _budget(name: str, tool: str, evidence: Mapping[str, Any]) -> Iterator[Steps]:
    if name == "time":
        which = evidence.get("scope", evidence.get("which"))
        if isinstance(which, str):
            yield ("spec", "time", which)
        yield from (("spec", "time", each) for each in ("task", "workflow", "step"))
    elif name == "calls_per_tool":
        yield ("spec", "budgets", name, tool)
        yield ("spec", "budgets", name, "*")
    elif name == "calls_per_group":
        yield ("spec", "budgets", name, str(evidence.get("group")))
    elif name == "reserved":
        yield ("spec", "budgets", "reserve")
    yield ("spec", "budgets", name)
    yield ("spec", "budgets", "preset")


def _place(resolved: Resolved, steps: Steps) -> WrittenAt | None:
    here = resolved.tree
    for step in steps:
        below = here.at(step)
        if below is None:
            return None
        here = below
    return _line(here.origin.document, here.origin.steps)


def _line(document: Document, steps: Steps) -> WrittenAt:
    span = document.positions.key(steps) or document.positions.value(steps)
    line = span.line if span is not None else 1
    return WrittenAt(document.source.file, line, document.source.line(line).strip())


def _covers(tools: Iterable[str], tool: Any, groups: Sequence[str]) -> bool:
    return any(each == tool or each in groups or each == "*" for each in tools)


def _extended(tool: Mapping[str, Any], tools: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    whole, below, seen = dict(tool), tool.get("extends"), set()
    while isinstance(below, str) and below in tools and below not in seen:
        seen.add(below)
        whole = {**tools[below], **whole}
        below = tools[below].get("extends")
    return whole


def _durations(value: Any) -> Iterator[float]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from _durations(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _durations(inner)
    elif isinstance(value, str):
        unit = next((unit for unit in _UNITS if value.endswith(unit)), None)
        if unit is not None and value.removesuffix(unit).replace(".", "", 1).isdigit():
            yield float(value.removesuffix(unit)) * _UNITS[unit]
