"""Whatever of a test's expectations its run does not meet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import callgate._core as _core
from callgate.policy.faults import Steps, span_of

from .expect import Failure, Row, unmet_of_run, unmet_of_step
from .play import Played, PolicyTest


def unmet(policy: _core.CompiledPolicy, test: PolicyTest, played: Played) -> list[Failure]:
    """Hold what a test expects against its run.

    Args:
        policy: what the run was judged by.
        test: the test.
        played: its run.

    Returns:
        Every expectation that is not met, first those of the whole run, then those of the steps in their order.
    """
    rows, steps, endings = played
    missed = list(unmet_of_run(test.spec.get("expect") or {}, rows, endings))
    of_step: dict[int | None, list[tuple[int, Row]]] = {}
    for place, row in enumerate(rows):
        of_step.setdefault(steps.get(row["seq"]), []).append((place, row))
    for at, (step, document, pointer, _, used) in enumerate(test.steps):
        if step.get("expect"):
            limits = _limits(policy, test.spec, step)
            found = unmet_of_step(step["expect"], (*pointer, "expect"), of_step.get(at, []), limits)
            for failure in found:
                actual = failure.actual if used is None else f"{failure.actual}{_use(test, used, rows, failure)}"
                missed.append(failure._replace(document=document, actual=actual))
    return missed


def _use(test: PolicyTest, used: Steps, rows: Sequence[Row], failure: Failure) -> str:
    """Which of the uses of a fixture a failure is about: all of them point at the same line."""
    seq = "" if failure.row is None else f"at seq {rows[failure.row]['seq']}, "
    return f" ({seq}used in line {span_of(test.document.positions, used, 'key').line})"


def _limits(policy: _core.CompiledPolicy, spec: Mapping[str, Any], step: Mapping[str, Any]) -> dict[str, float | None]:
    agent, tenant, labels = step.get("agent") or "root", spec.get("tenant"), spec.get("labels")
    return dict(policy.limits_of(agent=agent, tenant=tenant, labels=labels))
