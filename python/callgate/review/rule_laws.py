"""How rules, needs and edges are compared: each with the one of its name, in whatever order they are written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from callgate.policy.merge import Merged, Steps, identity

from .change import Effect, plain
from .laws import (
    Difference,
    block,
    children,
    expression_meaning,
    expressions,
    items,
    message,
    names,
    nothing,
    number,
    whole,
    words_only,
)

# From doing less to doing more; what is in no order with the rest is left out.
_ACTIONS: Final = ("note", "ask", "refuse", "stop")
_OUTCOME_ACTIONS: Final = ("note", "exit")

Relations = Mapping[str, str]
"""By rule: `equal`, `wider`, `narrower` or `unknown`, as `condition_relations` of the core tells it."""


def compare_rules(steps: Steps, old: Merged | None, new: Merged | None, relations: Relations) -> Iterator[Difference]:
    """The author's rules, by id."""
    before, after = _by_id(old), _by_id(new)
    for name in (*before, *(name for name in after if name not in before)):
        here = (*steps, name)
        was, now = before.get(name), after.get(name)
        if was is None or now is None:
            there = now if was is None else was
            retries = there is not None and _value(there, "action") == "retry"
            effect: Effect = "reclassified" if retries else "stricter" if was is None else "looser"
            yield Difference(f"DECISION_RULE_{'ADDED' if was is None else 'REMOVED'}", effect, here, was, now)
        else:
            yield from _rule(here, was, now, relations.get(name, "unknown"))
    yield from _order(steps, before, after)


def _rule(steps: Steps, old: Merged, new: Merged, relation: str) -> Iterator[Difference]:
    yield from _action((*steps, "action"), old, new)
    yield from whole("DECISION_PHASE_CHANGED", default="admit")((*steps, "phase"), old.at("phase"), new.at("phase"))
    yield from _tools((*steps, "tools"), old.at("tools"), new.at("tools"))
    yield from _condition((*steps, "when"), old.at("when"), new.at("when"), relation)
    code = (_code(old), _code(new))
    if code[0] != code[1]:
        yield Difference("DECISION_CODE_CHANGED", "reclassified", (*steps, "code"), old.at("code"), new.at("code"))
    elif plain(old.at("code")) != plain(new.at("code")):
        yield Difference("REFACTOR", "none", (*steps, "code"), old.at("code"), new.at("code"))
    rest = block({**dict.fromkeys(("id", "action", "phase", "tools", "when", "code"), nothing),
                  "message": message, "severity": words_only})  # fmt: skip
    yield from rest(steps, old, new)


def _action(steps: Steps, old: Merged, new: Merged) -> Iterator[Difference]:
    was, now = (_value(rule, "action") or "note" for rule in (old, new))
    if was == now:
        return
    for order in (_ACTIONS, _OUTCOME_ACTIONS):
        if was in order and now in order:
            up = order.index(now) > order.index(was)
            category = "DECISION_ACTION_TIGHTENED" if up else "DECISION_ACTION_LOOSENED"
            yield Difference(category, "stricter" if up else "looser", steps, old.at("action"), new.at("action"))
            return
    yield Difference("DECISION_ACTION_CHANGED", "reclassified", steps, old.at("action"), new.at("action"))


def _tools(steps: Steps, old: Merged | None, new: Merged | None) -> Iterator[Difference]:
    """The tools that a rule is about: without any it is about all."""
    if bool(items(old)) != bool(items(new)):
        wider = not items(new)
        category = "DECISION_TOOLS_WIDENED" if wider else "DECISION_TOOLS_NARROWED"
        yield Difference(
            category, "stricter" if wider else "looser", steps, old, new, None if not wider else "all tools"
        )
        return
    compare = names(
        "DECISION_TOOLS_CHANGED", "stricter", widened="DECISION_TOOLS_WIDENED", narrowed="DECISION_TOOLS_NARROWED"
    )
    yield from compare(steps, old, new)


def _condition(steps: Steps, old: Merged | None, new: Merged | None, relation: str) -> Iterator[Difference]:
    was, now = plain(old), plain(new)
    if was == now:
        return  # what it reads may be another: that is told where it is written
    if isinstance(was, str) and isinstance(now, str) and expression_meaning(was) == expression_meaning(now):
        yield Difference("REFACTOR", "none", steps, old, new)
    elif relation == "equal":
        yield Difference("REFACTOR", "none", steps, old, new, "proved to fire on the same calls")
    elif relation == "wider":
        yield Difference("DECISION_CONDITION_WIDENED", "stricter", steps, old, new)
    elif relation == "narrower":
        yield Difference("DECISION_CONDITION_NARROWED", "looser", steps, old, new)
    else:
        yield Difference("DECISION_CONDITION_CHANGED", "reclassified", steps, old, new)


def _code(rule: Merged) -> str:
    """The code that the model gets: the one written, else one made of the id."""
    written = _value(rule, "code")
    if isinstance(written, str):
        return written
    return "".join(letter.upper() if letter.isalnum() else "_" for letter in identity(rule) or "")


def _order(steps: Steps, before: Mapping[str, Merged], after: Mapping[str, Merged]) -> Iterator[Difference]:
    """Two rules of equal strength that may hold one call and changed places: the first of them gives the reply."""
    place = {name: at for at, name in enumerate(after)}
    kept = [name for name in before if name in after]
    for at, first in enumerate(kept):
        for second in kept[at + 1 :]:
            if place[second] < place[first] and all(_compete(side[first], side[second]) for side in (before, after)):
                detail = f"`{second}` is asked before `{first}` now"
                yield Difference("DECISION_ORDER_CHANGED", "reclassified", steps, None, None, detail)


def _compete(one: Merged, two: Merged) -> bool:
    phase = [_value(rule, "phase") or "admit" for rule in (one, two)]
    actions = [_value(rule, "action") or "note" for rule in (one, two)]
    tools = [{item.value for item in items(rule.at("tools"))} for rule in (one, two)]
    meet = not tools[0] or not tools[1] or bool(tools[0] & tools[1])
    return phase[0] == phase[1] == "admit" and actions[0] == actions[1] and actions[0] != "note" and meet


def compare_needs(steps: Steps, old: Merged | None, new: Merged | None) -> Iterator[Difference]:
    """What the task has to find out, by id."""
    before, after = _by_id(old), _by_id(new)
    wanted = names("NEEDS_CHANGED", "stricter", widened="NEEDS_ADDED", narrowed="NEEDS_REMOVED")
    for name in (*before, *(name for name in after if name not in before)):
        here, was, now = (*steps, name), before.get(name), after.get(name)
        if was is None or now is None:
            category = "NEEDS_ADDED" if was is None else "NEEDS_REMOVED"
            yield Difference(category, "stricter" if was is None else "looser", here, was, now)
            continue
        keys = {
            "id": nothing,
            "from": names("NEEDS_CHANGED", "reclassified"),
            "min_records": number("NEEDS", "more", absent=1, category=_raised(was, now)),
            "key": names("NEEDS_CHANGED", "reclassified"),
            "resolve": whole("NEEDS_CHANGED", default="first"),
            "fields": wanted,
            "essential": nothing,
        }
        yield from block(keys)(here, was, now)
        yield from _essential((*here, "essential"), was, now)


def _essential(steps: Steps, old: Merged, new: Merged) -> Iterator[Difference]:
    """Fields without which a record is worth nothing: all of them, where none are named."""
    was, now = old.at("essential"), new.at("essential")
    if {*(plain(was) or ())} == {*(plain(now) or ())} and (was is None) == (now is None):
        return
    before, after = _fields(old), _fields(new)
    effect: Effect = "stricter" if before < after else "looser" if after < before else "reclassified"
    same = before == after
    yield Difference("REFACTOR" if same else "NEEDS_CHANGED", "none" if same else effect, steps, was, now)


def _raised(old: Merged, new: Merged) -> str:
    was, now = (_value(need, "min_records") or 1 for need in (old, new))
    return "NEEDS_RAISED" if now > was else "NEEDS_LOWERED"


def _fields(need: Merged) -> frozenset[str]:
    chosen = plain(need.at("essential"))
    return frozenset(plain(need.at("fields")) or () if chosen is None else chosen)


def compare_edges(steps: Steps, old: Merged | None, new: Merged | None) -> Iterator[Difference]:
    """Ways out, by where they lead from and to; of several of one pair, in their order."""
    before, after = _by_way(old), _by_way(new)
    keys = {
        **dict.fromkeys(("from", "to"), nothing),
        "kind": whole("OTHER_CHANGED", default="tool"),  # another kind is another way
        "when": expressions("FALLBACK_EDGE_CONDITION_CHANGED"),
        "arguments": expressions("FALLBACK_EDGE_ARGUMENTS_CHANGED"),
    }
    for way in (*before, *(way for way in after if way not in before)):
        here, was, now = (*steps, way), before.get(way), after.get(way)
        if was is None:
            yield Difference("FALLBACK_EDGE_ADDED", "looser", here, None, now)
        elif now is None:
            yield Difference("FALLBACK_EDGE_REMOVED", "stricter", here, was, None)
        else:
            yield from block(keys)(here, was, now)
    for tool in {way.partition(" → ")[0] for way in before}:
        orders = [[way for way in side if way.partition(" → ")[0] == tool and way in before and way in after]
                  for side in (before, after)]  # fmt: skip
        if orders[0] != orders[1]:
            yield Difference("FALLBACK_EDGE_ORDER_CHANGED", "reclassified", (*steps, tool), old, new)


def _by_way(edges: Merged | None) -> dict[str, Merged]:
    found: dict[str, Merged] = {}
    for edge in items(edges):
        way = f"{_value(edge, 'from')} → {_value(edge, 'to')}"
        kind = _value(edge, "kind") or "tool"
        way = way if kind == "tool" else f"{way} ({kind})"
        name, again = way, 1
        while name in found:
            again += 1
            name = f"{way} #{again}"
        found[name] = edge
    return found


def _by_id(listed: Merged | None) -> dict[str, Merged]:
    return {identity(item) or "": item for item in items(listed)}


def _value(item: Merged, key: str) -> Any:
    found = children(item).get(key)
    return None if found is None else found.value
