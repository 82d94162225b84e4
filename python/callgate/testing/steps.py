"""The run of a policy test that is written out, as lines of the trace format."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from callgate.policy.fixtures import MOST_STEPS, PlacedStep

_UNITS: Final = {"s": 1.0, "m": 60.0, "h": 3600.0}
_SAME: Final[tuple[str, ...]] = (
    "result", "is_error", "result_digest", "result_truncated", "round", "session", "task", "agent", "tokens", "cost",
    "call_id", "hints", "event", "by",
)  # fmt: skip


class Written(NamedTuple):
    """Lines of a trace; and for each, by its `seq` (1 for the first), the position of the step that it comes from."""

    lines: bytes
    steps: dict[int, int]


def written(steps: Sequence[PlacedStep], session: str) -> Written:
    """Write steps as trace lines, numbered from 1 over all sessions, each as often as it says.

    Args:
        steps: the steps of a GuardTest that was checked.
        session: the session of the steps that name none.

    Raises:
        ValueError: a step holds what a trace has no form for, or they happen too often.
    """
    lines: list[str] = []
    origin: dict[int, int] = {}
    rounds: dict[tuple[int, int], int] = {}
    beyond = 1 + max((each.step.get("round") or 0 for each in steps if each.use == 0), default=0)
    now = 0.0
    for at, (step, _, _, use, _) in enumerate(steps):
        record: dict[str, Any] = {name: step[name] for name in _SAME if name in step}
        record.setdefault("session", session)
        if "event" not in step:
            if "cost" in step:
                raise ValueError("`cost` counts on a step with `event: model_usage`, not on a call")
            record |= {"tool": step["tool"], "arguments": step.get("arguments") or {}}
        if isinstance(step.get("error"), dict):
            record["error"] = step["error"]
        for name in ("time", "duration"):
            if step.get(name) is not None:
                record[name] = seconds(step[name])
        if use and "round" in record:
            # a batch of a fixture is one by itself, wherever the fixture is used
            record["round"] = rounds.setdefault((use, record["round"]), beyond + len(rounds))
        wait = step.get("wait")
        for _ in range(step.get("times") or 1):
            if wait is not None:  # from the end of the step before to the beginning of this one
                record["time"] = now + seconds(wait) + record.get("duration", 0.0)
            now = record.get("time", now)
            seq = len(lines) + 1
            if seq > MOST_STEPS:
                raise ValueError(f"the run has more than {MOST_STEPS:,} steps")
            origin[seq] = at
            lines.append(json.dumps({**record, "seq": seq}, allow_nan=False))
    return Written("\n".join(lines).encode(), origin)


def seconds(value: float | str) -> float:
    """Seconds as a test writes them: a number, or a duration with a unit.

    >>> seconds(2), seconds("500ms"), seconds("5m")
    (2.0, 0.5, 300.0)
    """
    if not isinstance(value, str):
        return float(value)
    found = re.fullmatch(r"([0-9.]+)(ms|s|m|h)", value.strip())
    if found is None:
        raise ValueError(f"`{value}` is no duration")
    number = float(found[1])
    return number / 1000.0 if found[2] == "ms" else number * _UNITS[found[2]]
