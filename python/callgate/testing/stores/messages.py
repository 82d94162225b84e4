"""Claims and settlements as the core would write them, for checks of stores."""

from __future__ import annotations

import json
from typing import Any

from callgate.stores import Store

START = 1_000.0
"""The time at which checks begin, in seconds since 1970."""
LEASE = 10.0
"""Seconds that a claim of a check is given."""


def claim(
    claim_id: str,
    *,
    task: str = "t",
    limit: float | None = None,
    amount: float = 1.0,
    key: str | None = None,
    call: str = "call",
    target: str | None = None,
    again: bool = False,
    retain: float | None = None,
    breaker: dict[str, Any] | None = None,
    denials: tuple[str, ...] = (),
    lease: float = LEASE,
) -> str:
    """A claim.

    Args:
        claim_id: its id.
        task: whose it is.
        limit: what `tool_calls` may stand at afterwards; None: nothing is taken of it.
        amount: how much of `tool_calls` it takes.
        key: the key of an effect that must happen once; None: it has no effect.
        call: which call stands behind the key.
        target: what the effect acts upon.
        again: a person lets it run in spite of a doubt.
        retain: seconds for which the effect is remembered.
        breaker: a breaker that it has to pass.
        denials: denials that speak against it.
        lease: seconds after which its owner counts as dead.
    """
    body: dict[str, Any] = {"id": claim_id, "task": task, "denials": denials, "lease": lease}
    if limit is not None:
        body["amounts"] = [{"counter": "tool_calls", "amount": amount, "limit": limit}]
    if key is not None:
        effect = {"key": key, "declared": True, "once": True, "tool": "pay", "target": target, "call": call}
        body["effect"] = {**effect, "again": again, "retain": retain}
    if breaker is not None:
        body["breakers"] = [breaker]
    return json.dumps(body)


def settlement(
    settlement_id: str, *, task: str = "t", effect: str | None = None, result: Any = None, **keys: Any
) -> str:
    """A settlement.

    Args:
        settlement_id: the claim that it ends, or an id of its own.
        task: whose it is.
        effect: `completed`, `free` or `unknown`; None: it says nothing of one.
        result: what a completed effect brought.
        **keys: what else it says: `amounts`, `breakers`, `resolve`, `deny`, `lift`.
    """
    body: dict[str, Any] = {"id": settlement_id, "task": task, **keys}
    if effect is not None:
        body["effect"] = {"state": effect, **({"result": json.dumps(result)} if effect == "completed" else {})}
    return json.dumps(body)


def late(settlement_id: str, claimed: str, effect: str, *, result: Any = None) -> str:
    """A settlement of what a call brought that was given up before.

    Args:
        settlement_id: its own id.
        claimed: the claim of the call.
        effect: `completed`, `free` or `unknown`.
        result: what a completed effect brought.
    """
    body = json.loads(claimed)
    end = json.loads(settlement("", effect=effect, result=result))["effect"]
    return settlement(
        settlement_id, task=body["task"], late={"owner": body["id"], "effect": body["effect"], "end": end}
    )


def answer(store: Store, text: str, now: float = START) -> Any:
    """What a store says to a claim, as data."""
    return json.loads(store.commit(text, now))


def taken(store: Store, text: str, now: float = START) -> bool:
    """Whether a claim was taken."""
    return bool(answer(store, text, now)["taken"])


def state(store: Store, text: str, now: float = START) -> str:
    """What the ledger says to a claim on an effect."""
    return str(answer(store, text, now)["effect"]["state"])


def same(what: str, got: object, wanted: object) -> None:
    """Say what a store did wrong.

    Raises:
        AssertionError: it is not what is wanted.
    """
    if got != wanted:
        raise AssertionError(f"{what}: {got!r} came, {wanted!r} was wanted")
