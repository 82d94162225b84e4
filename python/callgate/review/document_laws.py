"""How bindings and exceptions are compared: whom a policy applies to, and what is lifted for how long."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import callgate._core as _core
from callgate.policy.merge import Merged, Steps
from callgate.policy.resolve import Resolved

from .change import Effect, plain
from .laws import Difference, Law, block, each, names, whole, word, words_only
from .policy_laws import METADATA
from .rule_laws import Relations

_MODE: Final = ("audit", "warn", "enforce")


def compare_binding(
    old: Merged | None, new: Merged | None, relations: Relations, policy: Resolved | None
) -> Iterator[Difference]:
    """A binding on both sides, or on one.

    Args:
        old: the document before.
        new: the document after.
        relations: how the conditions of the policy's rules stand to each other with the parameters of each side put in.
        policy: the policy as it is now.
    """
    if old is None or new is None:
        category = "BINDING_ADDED" if old is None else "BINDING_REMOVED"
        was, now = (None if side is None else side.at("spec") for side in (old, new))
        yield Difference(category, "reclassified", (), was, now)
        return

    def parameter(steps: Steps, was: Merged | None, now: Merged | None) -> Iterator[Difference]:
        if plain(was) != plain(now):
            effect, detail = _through(str(steps[-1]), relations, policy)
            yield Difference("BINDING_PARAMETER_CHANGED", effect, steps, was, now, detail)

    laws: dict[str, Law] = {
        "policy": whole("BINDING_POLICY_CHANGED"),
        "match": _matching("BINDING_MATCH_CHANGED"),
        # the policy's own mode where the binding says nothing: it cannot be told by the binding alone
        "mode": _mode,
        "rollout": whole("BINDING_ROLLOUT_CHANGED", "none", default=False),
        "parameters": each(parameter),
    }
    yield from block(laws)(("spec",), old.at("spec"), new.at("spec"))
    yield from METADATA(("metadata",), old.at("metadata"), new.at("metadata"))


def _mode(steps: Steps, old: Merged | None, new: Merged | None) -> Iterator[Difference]:
    if (old is None) != (new is None):
        there = old or new
        loosens = plain(there) in ("audit", "warn")
        looser = loosens == (old is None)
        yield Difference(
            "MODE_LOOSENED" if looser else "MODE_TIGHTENED", "looser" if looser else "stricter", steps, old, new
        )
    else:
        yield from word("MODE_LOOSENED", _MODE, "enforce", "MODE_TIGHTENED")(steps, old, new)


def _through(name: str, relations: Relations, policy: Resolved | None) -> tuple[Effect, str | None]:
    """Which way a parameter goes, by the rules that fire otherwise with it; other readers keep it from being told."""
    spec = policy.spec if policy is not None else {}
    read = re.compile(rf"\bparams\s*\.\s*{re.escape(name)}\b|\bparams\b(?!\s*\.)")
    rules = spec.get("rules") or []
    variables = {key for key, text in (spec.get("variables") or {}).items() if read.search(str(text))}
    through = re.compile("|".join([read.pattern, *(rf"\bvariables\s*\.\s*{re.escape(key)}\b" for key in variables)]))
    reading = [str(rule.get("id")) for rule in rules if through.search(str(rule.get("when")))]
    elsewhere = through.search(repr([spec.get("fallback"), policy.manifest_specs if policy is not None else None]))
    detail = "read by " + ", ".join(f"`{rule}`" for rule in reading) if reading else None
    ways = {relation for rule, relation in relations.items() if relation != "equal"}
    if elsewhere or len(ways) != 1:
        return "reclassified", detail
    effects: dict[str, Effect] = {"wider": "stricter", "narrower": "looser"}
    return effects.get(ways.pop(), "reclassified"), detail


def _matching(category: str) -> Law:
    listed = names(category, "reclassified")
    return block({"agents": listed, "tenants": listed, "labels": whole(category), "tools": listed})


def compare_exception(old: Merged | None, new: Merged | None) -> Iterator[Difference]:
    """An exception on both sides, or on one."""
    if old is None or new is None:
        was, now = (None if side is None else side.at("spec") for side in (old, new))
        category = "EXCEPTION_ADDED" if old is None else "EXCEPTION_REMOVED"
        yield Difference(category, "looser" if old is None else "stricter", (), was, now)
        return
    laws: dict[str, Law] = {
        "policy": whole("EXCEPTION_CHANGED"),
        "lifts": names("EXCEPTION_CHANGED", "looser", widened="EXCEPTION_WIDENED", narrowed="EXCEPTION_NARROWED"),
        "match": _matching("EXCEPTION_CHANGED"),
        "owner": words_only,
        "justification": words_only,
        "expires": _expires,
    }
    yield from block(laws)(("spec",), old.at("spec"), new.at("spec"))
    yield from METADATA(("metadata",), old.at("metadata"), new.at("metadata"))


def _expires(steps: Steps, old: Merged | None, new: Merged | None) -> Iterator[Difference]:
    was, now = plain(old), plain(new)
    if was == now:
        return
    before, after = _moment(was), _moment(now)
    if before is None or after is None:
        yield Difference("EXCEPTION_CHANGED", "reclassified", steps, old, new)
    elif before == after:
        yield Difference("REFACTOR", "none", steps, old, new)
    else:
        later = after > before
        category = "EXCEPTION_EXTENDED" if later else "EXCEPTION_SHORTENED"
        yield Difference(category, "looser" if later else "stricter", steps, old, new)


def _moment(text: Any) -> float | None:
    try:
        return _core.moment(str(text))
    except ValueError:
        return None
