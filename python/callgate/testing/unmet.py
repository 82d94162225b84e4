"""Whatever of a test's expectations its run does not meet."""

from __future__ import annotations

from typing import Any

import callgate._core as _core
from callgate.policy.load import Document

from .expect import Failure, unmet_of_run, unmet_of_step
from .play import Played


def unmet(policy: _core.CompiledPolicy, document: Document, played: Played) -> list[Failure]:
    """Hold what a test expects against its run.

    Args:
        policy: what the run was judged by.
        document: the test.
        played: its run.

    Returns:
        Every expectation that is not met, first those of the whole run, then those of the steps in their order.
    """
    spec: dict[str, Any] = document.data["spec"]
    rows, steps, endings = played
    missed = list(unmet_of_run(spec.get("expect") or {}, rows, endings))
    for at, step in enumerate(spec.get("steps") or []):
        if step.get("expect"):
            mine = [(place, row) for place, row in enumerate(rows) if steps.get(row["seq"]) == at]
            pointer = ("spec", "steps", at, "expect")
            missed += unmet_of_step(step["expect"], pointer, mine, _limits(policy, spec, step))
    return missed


def _limits(policy: _core.CompiledPolicy, spec: dict[str, Any], step: dict[str, Any]) -> dict[str, float | None]:
    agent, tenant, labels = step.get("agent") or "root", spec.get("tenant"), spec.get("labels")
    return dict(policy.limits_of(agent=agent, tenant=tenant, labels=labels))
