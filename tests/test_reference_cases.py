"""The slow engine meets the cases: what it says is what the policy language means."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from specification.replay import Judged, replay

DEFAULT: dict[str, Any] = {
    "undeclared_tools": "allow",
    "budgets": {"steps": 500, "tokens": "unlimited"},
    "time": {"task": "2h"},
    "detectors": {
        "window": 50,
        "consecutive": {"note_after": 3},
        "exact_repeat": {"note_after": 3, "refuse_after": 3, "cool_down": "5m"},
        "frequency": {},
        "cycle": {"max_period": 8, "laps": 3, "mismatches": 0},
        "oscillation": {"arguments_at_most": 0.34, "known_records": 0.8, "note_after": 3, "refuse_after": 5},
        "same_error": {"note_after": 3, "refuse_after": 5, "cool_down": "30s"},
        "same_result": {"note_after": 5, "refuse_after": 6},
        "no_gain": {"towards": "task", "note_after": 3, "refuse_after": 7, "exit_after": 10},
        "empty_streak": {"note_after": 2, "refuse_after": 3},
        "state_oscillation": {"note_after": 2, "refuse_after": 2, "cool_down": "5m"},
        "transfer_streak": {"note_after": 4, "refuse_after": 5},
        "transfer_cycle": {"laps": 3},
        "diversity": {"min_calls": 10},
        "unknown_tool": {"note_after": 1, "refuse_after": 1},
        "invalid_arguments": {"note_after": 2, "refuse_after": 2},
        "repeated_effect": {"refuse_after": 1},
        "denied": {"note_after": 1, "refuse_after": 1},
    },
    "ladder": {"reuse_reads": 2, "stop_after_refusals": 2, "deterministic_stop_after": 1},
    "resets": {"user_turn": ["repeats", "errors", "incidents"], "compaction": ["repeats"]},
}
CASES = [
    *["L01", "L02", "L03", "L04", "L06", "L08", "L10", "L12", "L14", "L15", "L18", "L20", "L22", "L25", "L26"],
    *["F01", "F02", "F05", "F07", "F10", "F11", "F13", "F15", "F16", "F20", "F23", "F25"],
]
# Their manifests need more of CEL than field paths.
BEYOND_PATHS = {"F01", "L20"}


def facts(judged: list[Judged]) -> dict[str, Any]:
    """Gather what a test may expect of a run."""

    def first(*actions: str) -> Judged | None:
        return next((each for each in judged if each.action in actions), None)

    noted = next((each for each in judged if each.notes), None)
    intervention = first("ask", "refuse", "reuse", "stop")
    stop = first("stop")
    return {
        "first_note": noted and noted.record["seq"],
        "first_intervention": intervention and intervention.record["seq"],
        "stop": stop and stop.record["seq"],
        "reasons": intervention.reasons if intervention else [],
        "refusals": sum(each.action in ("refuse", "stop") for each in judged),
        "reuses": sum(each.action == "reuse" for each in judged),
        "notes": sum(len(each.notes) for each in judged),
    }


def unmet(expect: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """Give what was expected and not found."""
    missed = {}
    for name, wanted in expect.items():
        value = found[name]
        if name == "reasons":
            met = bool(set(wanted) & set(value))
        elif isinstance(wanted, dict):
            met = value is not None and wanted.get("from", 0) <= value <= wanted.get("by", value)
        else:
            met = value == wanted
        if not met:
            missed[name] = (wanted, value)
    return missed


@pytest.mark.parametrize("name", CASES)
def test_meets_the_case(name: str, shared: Path) -> None:
    folder = shared / "cases"
    spec = yaml.safe_load((folder / f"{name}_test.yaml").read_text(encoding="utf-8"))["spec"]
    lines = (folder / spec["trace"]).read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    if name in BEYOND_PATHS:
        with pytest.raises(NotImplementedError, match="more than a field path"):
            list(replay(records, DEFAULT, spec["manifests"]))
        return
    found = facts(list(replay(records, DEFAULT, spec["manifests"])))
    assert unmet(spec["expect"], found) == {}, found
