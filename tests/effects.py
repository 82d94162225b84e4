"""A gate over tools that do something: what tests of effects, verification and breakers share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from callgate import Gate
from callgate.testing import FakeClock

ORDER = {
    "effect": "external",
    "parameters": {
        "type": "object",
        "required": ["ref"],
        "properties": {"ref": {"type": "string"}, "trace": {"type": "string"}, "amount": {"type": "number"}},
    },
    "identity": {"ignore": ["trace"], "target": ["ref"]},
    "idempotency": {"key": '[task.id, "create_order", args.ref, string(task.confirmation)]', "pass_as": "key"},
    "verify": {
        "tool": "get_order",
        "arguments": {"ref": "args.ref"},
        "landed_when": "result.found",
        "absent_when": "!result.found && result.settled",
        "after": "30s",
        "attempts": 2,
    },
}
TOOLS: dict[str, Any] = {
    "create_order": ORDER,
    "get_order": {"effect": "read"},
    "mail": {"effect": "external"},
    "save": {"effect": "write", "identity": {"target": ["path"]}},
}
ABSENT = {"found": False, "settled": True}
PENDING = {"found": False, "settled": False}
FOUND = {"found": True, "settled": True}


def effects_gate(room: Path, tools: dict[str, Any] | None = None, *, server: str | None = None, **spec: Any) -> Gate:
    """A gate whose clock stands still: `gate.clock.advance(seconds)` moves it."""
    head = {"apiVersion": "callgate/v1", "metadata": {"name": "effects"}}
    body = {"extends": ["default"], "tools": ["effects-tools"], **spec}
    manifest: dict[str, Any] = {"tools": TOOLS if tools is None else tools}
    if server is not None:
        manifest["server"] = server
    documents = [
        {**head, "kind": "GuardPolicy", "spec": body},
        {**head, "kind": "ToolManifest", "metadata": {"name": "effects-tools"}, "spec": manifest},
    ]
    room.mkdir(exist_ok=True)
    (room / "effects.yaml").write_text(yaml.safe_dump_all(documents), encoding="utf-8")
    return Gate.load(room / "effects.yaml", clock=FakeClock())
