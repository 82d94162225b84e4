"""What the engine's row runs on both sides: a policy, and calls with their results as an agent makes them.

The calls are alike for both: four tools, arguments of 60 bytes, results of 1 KB, half of the calls new, the others
of a few files that are read and edited again with another result each time, so that neither side refuses anything.
"""

import dataclasses
import json
import random
from pathlib import Path
from typing import Any

CALLS = 400

MANIFEST = """\
apiVersion: callgate/v1
kind: ToolManifest
metadata: {name: desk, revision: "1", owner: bench}
spec:
  tools:
    read_file:
      effect: read
      groups: [files]
      identity: {target: [path]}
    find_parts:
      effect: read
      groups: [lookups]
      identity: {ignore: [request_id]}
      result: {records: result.rows, key: [sku], required_fields: [sku], wanted_fields: [price]}
    edit_file:
      effect: write
      groups: [files]
      identity: {target: [path]}
    run: {effect: unknown}
"""

POLICY = """\
apiVersion: callgate/v1
kind: GuardPolicy
metadata: {name: bench, revision: "1", owner: bench}
spec:
  extends: [default]
  tools: [desk]
  budgets:
    steps: 100000
    tool_calls: 100000
    retries: 100
    cost: {limit: 100, currency: USD}
    calls_per_tool: {read_file: 50000, find_parts: 50000, edit_file: 50000}
    calls_per_group: {files: 90000, lookups: 90000}
    reserve: {tool_calls: 1, for: [edit_file]}
  detectors:
    frequency: {refuse_after: 50}
    diversity: {min_calls: 10, refuse_below: 0.01, note_below: 0.01}
  rules:
    - {id: protected, phase: admit, tools: [edit_file], when: 'args.path.startsWith("/etc/")', action: refuse}
    - {id: late, phase: admit, when: 'task.elapsed > 100000.0', action: stop}
    - {id: busy, phase: admit, when: 'budget.tool_calls.share > 0.9 && tool.effect != "read"', action: ask}
    - {id: dangerous, phase: admit, when: 'call.tool == "run" && args.command.contains("rm -rf")', action: refuse}
    - {id: costly, phase: observe, when: 'grade == "failed" && call.tool == "edit_file"', action: note}
"""


@dataclasses.dataclass(frozen=True, slots=True)
class Step:
    tool: str
    arguments: dict[str, Any]
    result: Any


def write_policy(folder: Path) -> Path:
    """Write the documents into a folder, which `Gate.load` takes."""
    (folder / "tools.yaml").write_text(MANIFEST, encoding="utf-8")
    (folder / "policy.yaml").write_text(POLICY, encoding="utf-8")
    return folder


def steps() -> list[Step]:
    """Make the calls and what comes back from them."""
    dice = random.Random(15)
    made = []
    for n in range(CALLS):
        # a few files: read or edited again and again, and never the same when they come back
        path = f"/repo/src/module_{dice.randrange(24):03d}.py"
        tool = dice.choice(("find_parts", "read_file", "edit_file", "run"))
        if tool == "find_parts":
            made.append(Step(tool, {"keyword": f"bearing {n:05d}", "limit": 10, "request_id": f"r-{n:07d}"}, _rows(n)))
        elif tool == "read_file":
            made.append(Step(tool, {"path": path, "offset": 0, "limit": 200}, {"text": _text(n), "lines": 21}))
        elif tool == "edit_file":
            made.append(Step(tool, {"path": path, "line": n, "text": f"x = {n}"}, {"ok": True, "text": _text(n)}))
        else:
            made.append(Step(tool, {"command": f"python -m pytest tests/test_{n:05d}.py -q"}, _text(n)))
    for step in made:
        size = len(json.dumps(step.result, separators=(",", ":")))
        assert 950 <= size <= 1150, (step.tool, size)
    return made


def _rows(n: int) -> dict[str, Any]:
    row = [
        {"sku": f"SKU-{n:05d}-{k}", "name": f"Deep groove ball bearing {k}", "price": 12.5 + k, "qty": n + k}
        for k in range(12)
    ]
    return {"query_id": f"q{n}", "rows": row}


def _text(n: int) -> str:
    return "\n".join(f"line {n + k}: def function_{k}(value): return value" for k in range(21))
