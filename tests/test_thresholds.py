"""Thresholds for single tools: what `detectors.for` changes, and what it switches off."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from callgate import Gate

HEAD = {"apiVersion": "callgate/v1"}


@pytest.fixture
def told(tmp_path: Path) -> Any:
    """The notes and refusals of five equal reads of `look` and of `find`, under `for`."""

    def run(special: dict[str, Any]) -> dict[str, list[list[str]]]:
        spec = {"extends": ["default"], "detectors": {"for": special}}
        policy = {**HEAD, "kind": "GuardPolicy", "metadata": {"name": "p"}, "spec": spec}
        tools = {"look": {"effect": "unknown", "groups": ["eyes"]}, "find": {"effect": "unknown"}}
        manifest = {**HEAD, "kind": "ToolManifest", "metadata": {"name": "t"}, "spec": {"tools": tools}}
        (tmp_path / "p.yaml").write_text(json.dumps(policy))
        (tmp_path / "t.yaml").write_text(json.dumps(manifest))
        gate = Gate.load(tmp_path)
        found: dict[str, list[list[str]]] = {}
        for tool in tools:
            task = gate.task(tool)
            found[tool] = []
            for _ in range(5):
                verdict = task.admit(tool, {"q": "x"})
                notes = task.observe(verdict.call_id, result="y").notes if verdict.allowed else ()
                found[tool].append([*verdict.reasons, *(f"note {note.reason}" for note in notes)])
        return found

    return run


USUAL = [[], [], ["note exact_repeat", "note cycle"], ["exact_repeat", "cycle"], ["exact_repeat", "cycle"]]


def test_without_special_thresholds_all_tools_are_alike(told: Any) -> None:
    assert told({}) == {"look": USUAL, "find": USUAL}


def test_a_tool_or_its_group_gets_thresholds_of_its_own_and_inherits_the_rest(told: Any) -> None:
    later = [[], [], ["note exact_repeat", "note cycle"], ["cycle"], ["cycle"]]
    for name in ("look", "eyes"):
        assert told({name: {"exact_repeat": {"refuse_after": 9}}}) == {"look": later, "find": USUAL}


def test_null_switches_a_detector_off_for_one_tool(told: Any) -> None:
    off = [[], [], ["note exact_repeat"], ["exact_repeat"], ["exact_repeat"]]
    assert told({"look": {"cycle": None}}) == {"look": off, "find": USUAL}
    assert told({"look": {"cycle": None, "exact_repeat": None}}) == {"look": [[]] * 5, "find": USUAL}
