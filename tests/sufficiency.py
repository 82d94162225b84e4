"""Policies with needs and fallbacks for tests, compiled from what a test writes out."""

from typing import Any

from callgate import MISSING, Gate, Task, _core
from callgate.testing import FakeClock

UNLIMITED = {"limit": "unlimited", "reason": "none is under test"}
# Three suppliers with five fields each are fifteen cells.
QUOTES: dict[str, Any] = {
    "id": "quotes",
    "from": ["supplier_search", "quote_search"],
    "min_records": 3,
    "key": ["supplier"],
    "fields": ["supplier", "model", "unit_price", "lead_time", "valid_until"],
    "essential": ["supplier", "model"],
}
TOOLS: dict[str, Any] = {
    "supplier_search": {
        "effect": "read",
        "result": {
            "records": "result.items",
            "key": ["supplier", "model"],
            "required_fields": ["supplier", "model"],
            "wanted_fields": ["unit_price", "lead_time", "valid_until"],
        },
    },
    "quote_search": {"effect": "read", "result": {"records": "result.quotes"}},
    "weather": {"effect": "read"},
    "note": {"effect": "write"},
}
EDGE: dict[str, Any] = {
    "kind": "tool",
    "from": "supplier_search",
    "to": "quote_search",
    "when": '"unit_price" in gaps',
    "arguments": {"supplier": "records[0].supplier"},
}


def documents(spec: dict[str, Any], tools: dict[str, Any] | None = None) -> tuple[Any, list[tuple[str, Any]]]:
    """A policy document and its manifest, as `compile_policy` takes them."""
    budgets = {"budgets": {"steps": UNLIMITED, "tokens": UNLIMITED}, "time": {"task": UNLIMITED}}
    head = {"apiVersion": "callgate/v1", "metadata": {"name": "test", "revision": "1"}}
    policy = {**head, "kind": "GuardPolicy", "spec": {**budgets, **spec}}
    return policy, [("tools", {**head, "kind": "ToolManifest", "spec": {"tools": TOOLS if tools is None else tools}})]


def gate(spec: dict[str, Any], tools: dict[str, Any] | None = None) -> Gate:
    """The gate of a policy that must have no errors."""
    policy, faults = _core.compile_policy(*documents(spec, tools))
    assert policy is not None, faults
    return Gate(policy, clock=FakeClock())


def begin(spec: dict[str, Any], tools: dict[str, Any] | None = None) -> Task:
    """A task under it."""
    return gate(spec, tools).task("t")


def search(*records: dict[str, Any]) -> dict[str, Any]:
    """What `supplier_search` returns."""
    return {"items": list(records)}


def made(task: Task, tool: str, result: Any = MISSING, arguments: Any = None, **outcome: Any) -> Any:
    """Make a call that must be let through, tell its outcome, and give the assessment."""
    number = task.report()["counters"]["calls"]
    verdict = task.admit(tool, {"n": number} if arguments is None else arguments)
    assert verdict.allowed, verdict
    return task.observe(verdict.call_id, result=result, **outcome)


def cells(task: Task) -> tuple[int, int]:
    """Filled cells, and missing ones."""
    report = task.report()
    return report["cells"]["filled"], len(report["missing"])
