"""Exceptions: findings that are lifted for a while, which stand at a moment, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import callgate._core as _core

from .diagnostics import Diagnostic, Place, did_you_mean
from .faults import Found, located
from .load import Document, Loaded
from .resolve import resolve


class Standing(NamedTuple):
    """An exception that stands: its name, policy and reasons, who answers for it, and until when."""

    name: str
    policy: str
    lifts: tuple[str, ...]
    owner: str
    expires: str


def lifting(loaded: Loaded, policy: str) -> list[Any]:
    """The exceptions of a policy, as documents, those with faults of their own left out. When each ends is decided at
    each decision, on the time of that decision."""
    found = [document for document in loaded.of_kind("GuardException") if _spec(document).get("policy") == policy]
    return [document.data for document in found if _is_clean(document)]


def standing(loaded: Loaded, now: float) -> list[Standing]:
    """The exceptions that stand at a moment, in seconds since 1970."""
    found = []
    for document in loaded.of_kind("GuardException"):
        if not _is_clean(document) or _core.moment(_spec(document)["expires"]) <= now:
            continue
        spec = _spec(document)
        found.append(
            Standing(document.name or "", spec["policy"], tuple(spec["lifts"]), spec["owner"], spec["expires"])
        )
    return found


def exception_faults(loaded: Loaded, document: Document, now: float | None) -> list[Diagnostic]:
    """What is wrong between an exception and its policy; and, where `now` is given, that it has expired."""
    spec = _spec(document)
    found: list[Diagnostic] = []
    policy = spec.get("policy")
    of = loaded.find("GuardPolicy", policy) if isinstance(policy, str) else None
    lifts = spec.get("lifts")
    if of is not None and isinstance(lifts, list):
        ids = [rule.get("id") for rule in _rules(resolve(loaded, of).spec)]
        known = [rule for rule in ids if isinstance(rule, str)]
        found += _unknown_rules(document, of, lifts, known)
    if now is not None and _is_clean(document) and _core.moment(spec["expires"]) <= now:
        hint = "take the exception away, or have it decided anew; until then what it lifted is found again"
        message = f"the exception has expired on {spec['expires']}"
        found += located(document.positions, [Found("CG723", "error", message, ("spec", "expires"), "value", hint)])
    return found


def _unknown_rules(document: Document, policy: Document, lifts: list[Any], known: list[str]) -> list[Diagnostic]:
    found: list[Diagnostic] = []
    for at, reason in enumerate(lifts):
        if not isinstance(reason, str) or not reason.startswith("rule:") or reason.removeprefix("rule:") in known:
            continue
        rule = reason.removeprefix("rule:")
        hint = did_you_mean(rule, known) or (
            "it has " + ", ".join(f"`{other}`" for other in known) if known else "it has none"
        )
        message = f"the policy `{policy.name}` has no rule `{rule}`"
        place: Place = policy.place("the policy")
        fault = located(document.positions, [Found("CG722", "error", message, ("spec", "lifts", at), "value", hint)])
        found += [diagnostic._replace(related=(place,)) for diagnostic in fault]
    return found


def _rules(spec: dict[str, Any]) -> Iterable[dict[str, Any]]:
    rules = spec.get("rules")
    return [rule for rule in rules if isinstance(rule, dict)] if isinstance(rules, list) else []


def _is_clean(document: Document) -> bool:
    faults = _core.validate("GuardException", document.data)
    return document.name is not None and all(fault.severity != "error" for fault in faults)


def _spec(document: Document) -> dict[str, Any]:
    spec = document.data.get("spec")
    return spec if isinstance(spec, dict) else {}
