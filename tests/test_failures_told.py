"""What the model reads of failures with writes between: how often it was, and not how much of that counts."""

from __future__ import annotations

import json
from pathlib import Path

from callgate import Gate

HEAD = {"apiVersion": "callgate/v1"}


def test_the_note_and_the_refusal_tell_all_failures(tmp_path: Path) -> None:
    policy = {
        **HEAD,
        "kind": "GuardPolicy",
        "metadata": {"name": "p"},
        "spec": {"extends": ["default"], "tools": ["t"]},
    }
    tools = {"fetch": {"effect": "read"}, "write_log": {"effect": "write"}}
    manifest = {**HEAD, "kind": "ToolManifest", "metadata": {"name": "t"}, "spec": {"tools": tools}}
    (tmp_path / "p.yaml").write_text(json.dumps(policy))
    (tmp_path / "t.yaml").write_text(json.dumps(manifest))
    task = Gate.load(tmp_path).task("t")
    notes = {}
    for attempt in range(1, 21):
        verdict = task.admit("fetch", {"page": 1}, now=attempt)
        notes[attempt] = [
            note.message for note in task.observe(verdict.call_id, error={"type": "http", "status": 404}).notes
        ]
        # ever another line, so that no other detector speaks
        task.observe(task.admit("write_log", {"line": attempt}).call_id, result="written")
    refused = task.admit("fetch", {"page": 1})
    # one in four counts: a note at the third that does, refusal after the fifth
    assert [attempt for attempt, said in notes.items() if said] == list(range(12, 21))
    assert notes[12][0].startswith("`fetch` has failed in the same way 12 times.")
    assert refused.reasons == ("same_error",)
    assert json.loads(refused.reply)["message"].startswith("`fetch` has failed in the same way 20 times.")
