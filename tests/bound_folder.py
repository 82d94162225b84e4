"""Folders of policies, bindings and exceptions for tests, written as JSON, which is YAML."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from callgate import Gate, PolicyError, Task
from callgate._core import Verdict
from callgate.policy.diagnostics import Diagnostic
from callgate.testing import FakeClock

TOOLS = {"look": {"effect": "read", "groups": ["search"]}, "put": {"effect": "write"}, "pay": {"effect": "external"}}
BUDGETS = {"steps": 1000, "tokens": 10**9}
REPEAT = {"exact_repeat": {"note_after": 3, "refuse_after": 3}}
NOW = 1_800_000_000.0
"""15 January 2027, 08:00 UTC: when the tasks of these tests begin."""


def write(folder: Path, kind: str, name: str, spec: dict[str, Any]) -> None:
    """One document as a file of its own, named after it."""
    head = {"apiVersion": "callgate/v1", "kind": kind, "metadata": {"name": name}}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{kind}-{name}.yaml").write_text(json.dumps({**head, "spec": spec}, indent=1))


def policy(folder: Path, name: str = "p", **spec: Any) -> None:
    """A policy with wide budgets, and the tools that all of these tests use."""
    write(folder, "ToolManifest", "t", {"tools": TOOLS})
    body = {"budgets": BUDGETS | spec.pop("budgets", {}), "time": {"task": "24h"}, "ladder": {}, "tools": ["t"], **spec}
    write(folder, "GuardPolicy", name, body)


def binding(folder: Path, name: str, policy: str = "p", **spec: Any) -> None:
    """A binding of a policy."""
    write(folder, "GuardBinding", name, {"policy": policy, **spec})


def exception(folder: Path, name: str, lifts: list[str], policy: str = "p", **spec: Any) -> None:
    """An exception from a policy, until 2027-02-01 where nothing else is said."""
    answered = {"owner": "ops", "justification": "agreed", "expires": "2027-01-31"}
    write(folder, "GuardException", name, {"policy": policy, "lifts": lifts, **answered, **spec})


def gate(folder: Path, **keywords: Any) -> Gate:
    """The gate of a folder; its wall clock stands at NOW."""
    return Gate.load(folder, clock=FakeClock(wall=NOW), **keywords)


def errors(error: PolicyError) -> list[Diagnostic]:
    """What is wrong, warnings left out."""
    return [diagnostic for diagnostic in error.diagnostics if diagnostic.severity == "error"]


def repeat(task: Task, times: int, tool: str = "look", **arguments: Any) -> list[Verdict]:
    """The same call so many times, each observed with the same result where it ran."""
    verdicts = []
    for _ in range(times):
        verdict = task.admit(tool, arguments)
        verdicts.append(verdict)
        if verdict.allowed:
            task.observe(verdict.call_id, result={"same": 1})
    return verdicts


def actions(verdicts: list[Verdict]) -> str:
    """The first letters of their actions: a allow, r refuse, s stop, k ask, u reuse."""
    letters = {"allow": "a", "refuse": "r", "stop": "s", "ask": "k", "reuse": "u"}
    return "".join(letters[verdict.action] for verdict in verdicts)
