"""The rules of a resolved policy as points, and those as text: when to stop, what may be used, what a refusal means."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from callgate.policy.tool_extends import with_extended

if TYPE_CHECKING:
    from callgate.policy.resolve import Resolved

LANGUAGES: Final = ("en", "zh")
_PRESETS: Final = {"simple": (10, 50_000, "10m"), "medium": (32, 200_000, "10m"), "complex": (100, 1_000_000, "30m")}
"""What presets of budgets stand for: steps, tokens, time of the task."""
_SEVERAL: Final = (
    "exact_repeat", "consecutive", "cycle", "same_error", "same_result", "oscillation", "no_gain", "empty_streak",
    "state_oscillation",
)  # fmt: skip
_BOUND: Final = {"cycle": "laps"}
"""The key that says when a detector refuses, where it is not `refuse_after`."""
_BLIND: Final = frozenset(("exact_repeat", "cycle"))
"""What is refused for tools of which nothing is declared."""
_MISSING: Final = r"""["'](\w+)["'] in gaps"""
_TEXT: Final = r"""(["'])([^"'\\]*)\1"""
_MOST_NAMES: Final = 12


def rules_of(resolved: Resolved, language: str = "en") -> str:
    """The rules of a resolved policy as text, see `callgate.prompt_text`."""
    tools: dict[str, Any] = {}
    for spec in resolved.manifest_specs.values():
        tools.update((spec or {}).get("tools") or {})
    return rules_as_text(resolved.spec, tools, language)


def rules_as_text(spec: Mapping[str, Any], tools: Mapping[str, Any], language: str = "en") -> str:
    """The rules of a resolved spec, with the tools of the manifests in force, as text.

    Example:
        >>> spec = {"budgets": {"steps": 8}, "detectors": {"cycle": {"laps": 3}}}
        >>> "- Steps: 8." in rules_as_text(spec, {})
        True
    """
    if language not in LANGUAGES:
        raise ValueError(f"unknown language `{language}`: there are " + ", ".join(f"`{known}`" for known in LANGUAGES))
    if language == "zh":
        from .prompt_zh import WORDS
    else:
        from .prompt_en import WORDS
    rules = _Rules(spec, tools, WORDS)
    mode = rules.mode
    lines = [WORDS["title"], "", WORDS["intro" if mode == "enforce" else f"intro_{mode}"]]
    sections = {"stop": rules.stop(), "budget": rules.budget(), "refusal": rules.refusal(), "instead": rules.instead()}
    for title, points in sections.items():
        told = [f"- {rules.said(point)}" for point in points]
        if told:
            lines += ["", WORDS[title], "", *told]
    return "\n".join(lines) + "\n"


class _Point(NamedTuple):
    """A sentence by its key, and what is filled in."""

    key: str
    values: dict[str, Any]


def _point(key: str, **values: Any) -> _Point:
    return _Point(key, values)


class _Rules:
    """What a policy says, as points in the order in which a model reads them."""

    def __init__(self, spec: Mapping[str, Any], tools: Mapping[str, Any], words: Mapping[str, str]) -> None:
        self.spec = spec
        self.tools = with_extended(tools)
        self.words = words
        self.mode: str = spec.get("mode") or "enforce"
        self.enforced = self.mode == "enforce"
        self.detectors = _map(spec, "detectors")

    def said(self, point: _Point) -> str:
        return self.words[point.key].format(**point.values)

    def stop(self) -> Iterator[_Point]:
        yield _point("enough")
        for need in self.spec.get("needs") or ():
            if need.get("fields"):
                yield self._need(need)
        for name in _SEVERAL:
            yield from self._detector(name)
            block = _map(self.detectors, name)
            reads = _map(block, "sufficient_reads").get("refuse_after")
            if reads and self.enforced and self.tools:
                yield _point("sufficient_reads+", **self._often(reads))
            if name == "no_gain" and block.get("exit_after") and self._refuses(name):
                yield _point("no_gain_exit", **self._often(block["exit_after"]))
        if any(tool.get("transfer") is True for tool in self.tools.values()) and self.detectors.get("transfer_streak"):
            yield self._bounded("transfer", _map(self.detectors, "transfer_streak").get("refuse_after"))
        below = _map(self.detectors, "diversity").get("refuse_below")
        if below and self._refuses("diversity"):
            yield _point("diversity+", share=_share(below))
        yield from self._waiting()
        yield from self._others()

    def budget(self) -> Iterator[_Point]:
        budgets, time = _map(self.spec, "budgets"), _map(self.spec, "time")
        steps, tokens, task = _PRESETS.get(budgets.get("preset") or "", (None, None, None))
        plain = {"steps": steps, "tool_calls": None, "retries": None, "tokens": tokens, "depth": None}
        for name, preset in plain.items():
            limit = _limit(budgets.get(name, preset))
            yield from [_point(name, limit=f"{limit:,}")] if limit is not None else []
            if name == "tool_calls":
                yield from self._per_tool(budgets)
        cost = budgets.get("cost")
        if isinstance(cost, Mapping) and (limit := _limit(cost.get("limit"))) is not None:
            yield _point("cost", limit=limit, currency=cost.get("currency") or "")
        for key, written in (("time_task", time.get("task", task)), ("time_step", time.get("step"))):
            duration = self._duration(_limit(written))
            yield from [_point(key, duration=duration)] if duration else []
        reserve = _map(budgets, "reserve")
        if reserve.get("tool_calls") and reserve.get("for"):
            kept, tools = reserve["tool_calls"], self._names(reserve["for"])
            yield _point("reserve_one" if kept == 1 else "reserve", limit=kept, tools=tools)
        shares = budgets.get("notes_at")
        if shares and self.mode != "audit":
            yield _point("notes_at", shares=self._listed([_share(share) for share in shares]))

    def refusal(self) -> Iterator[_Point]:
        if not self.enforced:
            return
        yield _point("refused")
        if self._waiting_tools():
            yield _point("retry_after")
        ladder = _map(self.spec, "ladder")
        if ladder.get("reuse_reads"):
            yield _point("reuse")
        if self.detectors.get("invalid_arguments") and any(tool.get("parameters") for tool in self.tools.values()):
            yield _point("invalid")
        if self.spec.get("undeclared_tools") == "refuse":
            yield _point("unknown")
        once = [
            name for name, tool in self.tools.items() if tool.get("effect") == "external" and not tool.get("idempotent")
        ]
        if once and self.detectors.get("repeated_effect"):
            yield _point("effects", tools=self._names(once))
        asks = False
        for rule in self.spec.get("rules") or ():
            if rule.get("action") in ("ask", "refuse", "stop") and rule.get("phase", "admit") == "admit":
                asks = asks or rule["action"] == "ask"
                yield self._rule(rule)
        if asks:
            yield _point("asked")
        refusals = ladder.get("stop_after_refusals")
        if isinstance(refusals, int):
            yield _point("ladder", times=self._times(refusals))
        yield _point("end" if self.spec.get("on_stop") == "end" else "final_answer")

    def instead(self) -> Iterator[_Point]:
        fallback = _map(self.spec, "fallback")
        edges = [edge for edge in fallback.get("edges") or () if edge.get("kind", "tool") == "tool"]
        for edge in edges:
            condition = edge.get("when")
            field = re.fullmatch(_MISSING, condition) if isinstance(condition, str) else None
            ends = {"source": edge["from"], "target": edge["to"]}
            if field is not None:
                yield _point("substitute", field=field[1], **ends)
            elif condition is not None:
                yield _point("substitute_when", condition=condition, **ends)
            else:
                yield _point("substitute_any", **ends)
        if edges and fallback.get("max_hops") is not None:
            hops = fallback["max_hops"]
            yield _point("hops_one" if hops == 1 else "hops", count=hops)
        then = _map(fallback, "then")
        if then.get("partial") == "finish_with_gaps":
            yield _point("partial")
        if then.get("insufficient") == "escalate":
            yield _point("insufficient")

    def _detector(self, name: str) -> Iterator[_Point]:
        block = _map(self.detectors, name)
        bound = block.get(_BOUND.get(name, "refuse_after"))
        if bound is not None or block.get("note_after") is not None:
            yield self._bounded(name, bound)

    def _bounded(self, name: str, bound: Any) -> _Point:
        if bound is None or not self._refuses(name):
            return _point(name)
        return _point(f"{name}+", **self._often(bound))

    def _refuses(self, name: str) -> bool:
        """Whether a detector refuses: of undeclared tools it does only where it is safe to judge them blind."""
        return self.enforced and (bool(self.tools) or name in _BLIND)

    def _others(self) -> Iterator[_Point]:
        """The thresholds of single tools and groups, where they differ."""
        for name, blocks in _map(self.detectors, "for").items() if self.enforced else ():
            numbers = []
            for detector in _SEVERAL:
                rung = _BOUND.get(detector, "refuse_after")
                if not isinstance(blocks, Mapping) or detector not in blocks:
                    continue
                block = blocks[detector]
                if block is not None and rung not in block:
                    continue
                bound = None if block is None else block[rung]
                if bound != _map(self.detectors, detector).get(rung):
                    limit = self.words["for_none"] if bound is None else bound
                    numbers.append(f"{self.words[f'label.{detector}']} {limit}")
            members = [tool for tool, declared in self.tools.items() if name in (declared.get("groups") or ())]
            if numbers:
                yield _point("for", tools=self._names(members or [name]), numbers=self._listed(numbers))

    def _often(self, count: Any) -> dict[str, str]:
        """How often, for each of the ways in which sentences go on: one time stands in no row."""
        times = self._times(count)
        row = self.words["in_a_row"].format(times=times)
        if count == 1:
            return {"times": times, "often": times, "row": self.words["first_time"]}
        return {"times": times, "often": row, "row": row}

    def _times(self, count: Any) -> str:
        return self.words[{1: "once", 2: "twice"}.get(count, "times")].format(count=count)

    def _need(self, need: Mapping[str, Any]) -> _Point:
        least = need.get("min_records") or 1
        values = {
            "id": need.get("id"), "records": self.words["record" if least == 1 else "records"].format(count=least),
            "fields": self._names(need["fields"], most=len(need["fields"])),
        }  # fmt: skip
        essential = need.get("essential")
        if not essential:
            return _Point("need", values)
        return _Point("need_essential", {**values, "essential": self._names(essential, most=len(essential))})

    def _waiting_tools(self) -> list[tuple[str, Mapping[str, Any]]]:
        waits = [(name, tool["waiting"]) for name, tool in self.tools.items() if tool.get("waiting")]
        return [(name, wait if isinstance(wait, Mapping) else {}) for name, wait in waits]

    def _waiting(self) -> Iterator[_Point]:
        for name, wait in self._waiting_tools():
            every, most = self._duration(wait.get("min_interval")), _limit(wait.get("max_unchanged"))
            interval = self.words["waiting_interval"].format(duration=every) if every else ""
            unchanged = self.words["waiting_unchanged"].format(times=self._times(most)) if most is not None else ""
            yield _point("waiting", tools=f"`{name}`", interval=interval, unchanged=unchanged)

    def _per_tool(self, budgets: Mapping[str, Any]) -> Iterator[_Point]:
        per_tool = _map(budgets, "calls_per_tool")
        for name, written in per_tool.items():
            if name != "*" and (limit := _limit(written)) is not None:
                yield _point("per_tool", tool=name, limit=f"{limit:,}")
        if (limit := _limit(per_tool.get("*"))) is not None:
            others = any(name != "*" for name in per_tool)
            yield _point("per_other_tool" if others else "per_any_tool", limit=f"{limit:,}")
        for group, written in _map(budgets, "calls_per_group").items():
            members = [name for name, tool in self.tools.items() if group in (tool.get("groups") or ())]
            if (limit := _limit(written)) is not None:
                yield _point("per_group", tools=self._names(members or [group]), limit=f"{limit:,}")

    def _rule(self, rule: Mapping[str, Any]) -> _Point:
        literal = re.fullmatch(_TEXT, rule["message"].strip()) if isinstance(rule.get("message"), str) else None
        message = f": {literal[2]}" if literal is not None else ""
        tools = self._names(rule["tools"]) if rule.get("tools") else self.words["all_tools"]
        return _point(f"rule_{rule['action']}", tools=tools, id=rule.get("id"), message=message)

    def _names(self, names: Sequence[str], most: int = _MOST_NAMES) -> str:
        quoted = [f"`{name}`" for name in names[:most]]
        if len(names) <= most:
            return self._listed(quoted)
        return self.words["more"].format(names=self.words["comma"].join(quoted))

    def _listed(self, words: Sequence[str]) -> str:
        if len(words) < 2:
            return "".join(words)
        return self.words["comma"].join(words[:-1]) + self.words["and"] + words[-1]

    def _duration(self, written: Any) -> str | None:
        """A duration as written in a policy, in words."""
        found = re.fullmatch(r"([0-9.]+)(ms|s|m|h)", written) if isinstance(written, str) else None
        if found is None:
            return None
        number, unit = found.groups()
        if unit == "ms":
            number, unit = f"{float(number) / 1000:g}", "s"
        return self.words[{"h": "hours", "m": "minutes", "s": "seconds"}[unit]].format(count=number)


def _map(holder: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = holder.get(key)
    return found if isinstance(found, Mapping) else {}


def _limit(written: Any) -> Any:
    """A limit, or None where there is none: `unlimited`, `{limit: unlimited, reason: …}`, nothing."""
    value = written.get("limit") if isinstance(written, Mapping) else written
    return None if value == "unlimited" else value


def _share(value: float) -> str:
    return f"{value:.0%}"
