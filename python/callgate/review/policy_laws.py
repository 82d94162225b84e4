"""Which law each key of a policy is compared by: mode, budgets, times, ladder, resets, fallback, exits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from callgate.policy.locked import limit_value
from callgate.policy.merge import Merged, Steps

from .change import plain
from .detector_laws import compare_detectors
from .laws import (
    NO_LIMIT,
    Difference,
    Law,
    block,
    children,
    each,
    expressions,
    items,
    names,
    nothing,
    number,
    whole,
    word,
    words_only,
)

_EVERY_CLASS: Final = "RETRY_CLASSES_CHANGED"


def calls_of(steps: Steps, old: Merged | None, new: Merged | None) -> Iterator[Difference]:
    """Limits by name, of which `*` holds for every name without a line of its own."""
    before, after = children(old), children(new)
    for name in (*before, *(name for name in after if name not in before)):
        was, now = before.get(name), after.get(name)
        here = (*steps, name)
        if was is not None and now is not None:
            yield from number("BUDGET")(here, was, now)
            continue
        other = (before if was is None else after).get("*") if name != "*" else None
        found = list(number("BUDGET", absent=_limit(other))(here, was, now))
        if not found or found[0].effect == "none":
            continue  # it says what `*` says
        detail = None if other is None else f"`*` {'allowed' if was is None else 'allows'} {_shown(other)}"
        yield found[0]._replace(detail=detail)


def _limit(value: Merged | None) -> float:
    found = None if value is None else limit_value(plain(value))
    return NO_LIMIT if found is None else found


def _shown(value: Merged) -> str:
    limit = _limit(value)
    return "any number" if limit == NO_LIMIT else f"{limit:g}"


def cost(steps: Steps, old: Merged | None, new: Merged | None) -> Iterator[Difference]:
    """A cost: in two currencies no number says which is more."""
    was, now = plain(old), plain(new)
    currencies = {value["currency"] for value in (was, now) if isinstance(value, dict) and "currency" in value}
    if len(currencies) > 1:
        yield Difference("BUDGET_CURRENCY_CHANGED", "reclassified", steps, old, new)
    else:
        yield from number("BUDGET")(steps, old, new)


def children_share(steps: Steps, old: Merged | None, new: Merged | None) -> Iterator[Difference]:
    """What agents below an agent may use: all of it, or a share."""
    was, now = plain(old), plain(new)
    if was == now:
        return
    before, after = _share(was), _share(now)
    if before == after:
        yield Difference("REFACTOR", "none", steps, old, new)
    elif before is None or after is None:
        yield Difference("BUDGET_CHILDREN_CHANGED", "reclassified", steps, old, new)
    else:
        yield Difference("BUDGET_CHILDREN_CHANGED", "stricter" if after < before else "looser", steps, old, new)


def _share(value: Any) -> float | None:
    if value is None or value == "share":
        return NO_LIMIT  # the same pool, which is more than any share of it
    own = value.get("own") if isinstance(value, dict) else None
    return None if own is None else limit_value(own)


def on_error(steps: Steps, old: Merged | None, new: Merged | None) -> Iterator[Difference]:
    """What becomes of a call whose decision fails: one word, or one for reads and one for the rest."""
    was, now = plain(old), plain(new)
    if was == now:
        return
    before, after = _by_effect(was), _by_effect(now)
    looser = any(b == "refuse" and a == "allow" for b, a in zip(before, after, strict=True))
    stricter = any(b == "allow" and a == "refuse" for b, a in zip(before, after, strict=True))
    if looser and stricter:
        yield Difference("OTHER_CHANGED", "reclassified", steps, old, new)
    elif looser:
        yield Difference("DECISION_ON_ERROR_LOOSENED", "looser", steps, old, new)
    elif stricter:
        yield Difference("DECISION_ON_ERROR_TIGHTENED", "stricter", steps, old, new)
    else:
        yield Difference("REFACTOR", "none", steps, old, new)


def _by_effect(value: Any) -> tuple[str, str]:
    if isinstance(value, dict):
        return value.get("reads") or "refuse", value.get("else") or "refuse"
    return (value or "refuse",) * 2


def _lock(steps: Steps, old: Merged | None, new: Merged | None) -> Iterator[Difference]:
    before, after = ({item.value: item for item in items(side)} for side in (old, new))
    for key in (*before, *after):
        if key not in after:
            yield Difference("LOCK_REMOVED", "looser", steps, before[key], None)
        elif key not in before:
            yield Difference("LOCK_ADDED", "stricter", steps, None, after[key])


_FAILURE: Final = word("DECISION_ON_FAILURE_LOOSENED", ("allow", "refuse"), "refuse", "DECISION_ON_FAILURE_TIGHTENED")
_RESETS: Final = names("RESETS_CHANGED", "looser", widened="RESETS_WIDENED", narrowed="RESETS_NARROWED")
_LAYER: Final = block({"retries": number("RETRY", absent=0), "for": names(_EVERY_CLASS, "looser")})
_BUDGETS: Final = block(
    {
        "preset": nothing,  # what it stands for is put in before
        "steps": number("BUDGET"),
        "tool_calls": number("BUDGET"),
        "calls_per_tool": calls_of,
        "calls_per_group": each(number("BUDGET")),
        "retries": number("RETRY"),
        "tokens": number("BUDGET"),
        "cost": cost,
        "depth": number("BUDGET"),
        "notes_at": names("BUDGET_NOTES_CHANGED", "reclassified"),
        "reserve": block(
            {
                "tool_calls": number("BUDGET", "more", absent=0, category="BUDGET_RESERVE_CHANGED"),
                "for": names("BUDGET_RESERVE_CHANGED", "looser"),
            }
        ),
        "batch": word("BUDGET_BATCH_CHANGED", ("admit_prefix", "all_or_nothing"), "admit_prefix"),
        "children": children_share,
        "layers": block({"http": _LAYER, "tool": _LAYER, "agent": _LAYER, "at_most": number("RETRY")}),
    }
)
_FALLBACK: Final = block(
    {
        "order": whole("FALLBACK_ORDER_CHANGED", default=["cache", "substitute", "provider", "skip"]),
        "max_hops": number("HOPS", absent=2),
        "closed": word("FALLBACK_CLOSED_CHANGED", (False, True), False),
        "edges": nothing,  # in `edges`
        "then": block(
            {
                "partial": whole("EXIT_CHANGED", default="finish_with_gaps"),
                "insufficient": whole("EXIT_CHANGED", default="escalate"),
                "queue": whole("EXIT_CHANGED"),
            }
        ),
    }
)
POLICY: Final[Law] = block(
    {
        "locked": _lock,
        "mode": word("MODE_LOOSENED", ("audit", "warn", "enforce"), "enforce", "MODE_TIGHTENED"),
        "tools": nothing,  # the tools of the manifests are compared
        "undeclared_tools": word(
            "DECISION_UNDECLARED_LOOSENED", ("allow", "refuse"), "allow", "DECISION_UNDECLARED_TIGHTENED"
        ),
        "on_error": on_error,
        "on_failure": block({"store": _FAILURE, "audit": _FAILURE}),
        "on_stop": whole("DECISION_ON_STOP_CHANGED", default="final_answer"),
        "parameters": each(whole("DECISION_PARAMETER_CHANGED")),
        "constants": nothing,  # in `conditions`, with what reads them
        "variables": nothing,
        "budgets": _BUDGETS,
        "time": each(number("TIME")),
        "detectors": compare_detectors,
        "ladder": block(
            {
                "reuse_reads": number("LADDER", absent=0),
                "stop_after_refusals": number("LADDER"),
                "deterministic_stop_after": number("LADDER"),
            }
        ),
        "resets": block({"user_turn": _RESETS, "compaction": _RESETS}),
        "rules": nothing,  # in `rules`
        "needs": nothing,  # in `needs`
        "fallback": _FALLBACK,
    }
)
METADATA: Final[Law] = block(
    {
        "name": nothing,
        "revision": words_only,
        "owner": words_only,
        "description": words_only,
        "labels": words_only,
    }
)
INVARIANTS: Final[Law] = expressions("INVARIANT_CHANGED", "none")
