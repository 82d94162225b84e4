"""Cool-downs of what counts reads: the call that is let through is a read, not whatever else its tool does."""

from typing import Any

import pytest

from sufficiency import begin

SHELL: dict[str, Any] = {
    "bash": {
        "parameters": {"type": "object", "required": ["look", "at"]},
        "forms": [{"when": "args.look", "effect": "read", "result": {"empty_when": 'result == "none"'}}],
    }
}


@pytest.mark.parametrize(
    ("name", "rungs", "answer"),
    [
        ("same_result", {"refuse_after": 2}, "one"),
        ("empty_streak", {"refuse_after": 2}, "none"),
        ("no_gain", {"refuse_after": 1}, "one"),
        ("oscillation", {"refuse_after": 1, "arguments_at_most": 0.5, "known_records": 0.8}, "one"),
    ],
)
def test_what_is_no_read_uses_no_cool_down_up(name: str, rungs: dict[str, Any], answer: str) -> None:
    task = begin({"detectors": {name: {**rungs, "cool_down": "10s"}}}, SHELL)
    for at, now in (("a", 0.0), ("b", 5.0)):
        task.observe(task.admit("bash", {"look": True, "at": at}, now=now).call_id, result=answer, now=now)
    assert [finding.reason for finding in task.admit("bash", {"look": True, "at": "c"}, now=6.0).findings] == [name]
    make, look, again = (
        task.admit_all([{"tool": "bash", "arguments": {"look": look, "at": at}} for look, at in asked], now=20.0)
        for asked in ([(False, "a")], [(True, "a")], [(True, "c")])
    )
    assert [verdict.action for (verdict,) in (make, look)] == ["allow", "allow"]
    # one at a time
    assert [finding.reason for finding in again[0].findings] == [name]
