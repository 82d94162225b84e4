"""Which refusals of a round count towards a stop."""

import json
from pathlib import Path

from callgate import Gate

POLICY = {
    "budgets": {"steps": 100, "tokens": 1000},
    "time": {"task": "1h"},
    "detectors": {"exact_repeat": {"note_after": 2, "refuse_after": 2}},
    "ladder": {"reuse_reads": 0, "stop_after_refusals": 1},
}


def test_a_refusal_for_a_doubled_id_counts_not_where_the_other_call_of_that_id_brings_gain(tmp_path: Path) -> None:
    tools = {"tools": {"look": {"effect": "read"}, "other": {"effect": "read"}}}
    for kind, name, spec in (("GuardPolicy", "p", POLICY), ("ToolManifest", "m", tools)):
        document = {"apiVersion": "callgate/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}
        (tmp_path / f"{name}.yaml").write_text(json.dumps(document))
    task = Gate.load(tmp_path).task("t1")
    look = {"tool": "look", "arguments": {"at": 1}}
    for call_id in ("c1", "c2"):
        assert task.admit(**look, call_id=call_id, now=0.0).allowed
        task.observe(call_id, result="one", now=0.0)
    twins = task.admit_all([{"tool": "other", "arguments": {}, "call_id": "c3"}, {**look, "call_id": "c3"}], now=1.0)
    assert [verdict.reasons for verdict in twins] == [(), ("bad_call_id", "exact_repeat")]
    task.observe("c3", result="something new", now=1.0)
    # nothing was counted yet: this one is the first, and the next is the stop
    assert [task.admit(**look, now=2.0).action for _ in range(2)] == ["refuse", "stop"]
