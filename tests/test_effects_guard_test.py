"""Policy tests about effects: the stored result, the call that verifies, and what a person's answer lets through."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from callgate.cli.main import main
from effects import ABSENT, FOUND, TOOLS

LOST = {"type": "timeout"}


def judged(room: Path, steps: list[dict[str, Any]]) -> int:
    spec = {"policy": "default", "manifests": [{"tools": TOOLS}], "steps": steps}
    document = {"apiVersion": "callgate/v1", "kind": "GuardTest", "metadata": {"name": "effects"}, "spec": spec}
    (room / "effects_test.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
    return main(["test", str(room)])


def order(ref: str = "r1", **step: Any) -> dict[str, Any]:
    return {"tool": "create_order", "arguments": {"ref": ref}, **step}


def look(result: dict[str, Any], time: float, **step: Any) -> dict[str, Any]:
    return {"tool": "get_order", "arguments": {"ref": "r1"}, "result": result, "time": time, **step}


def test_a_repeat_is_answered_with_what_it_brought(tmp_path: Path) -> None:
    again = {"action": "reuse", "code": "ALREADY_CREATED", "reasons": ["duplicate_effect"]}
    assert judged(tmp_path, [order(result={"id": 7}), order(expect=again)]) == 0


@pytest.mark.parametrize(
    ("answer", "after"),
    [(FOUND, {"action": "reuse", "code": "ALREADY_CREATED"}), (ABSENT, {"action": "allow"})],
)
def test_a_lost_order_is_verified(tmp_path: Path, answer: dict[str, Any], after: dict[str, Any]) -> None:
    steps = [
        order(error=LOST, time=1.0, expect={"next": {"verify": {"tool": "get_order", "arguments": {"ref": "r1"}}}}),
        order(time=2.0, expect={"action": "ask", "reasons": ["ambiguous_effect"]}),
        look(answer, 40.0),
        order(time=41.0, expect=after),
    ]
    assert judged(tmp_path, steps) == 0


def test_an_expectation_that_is_not_met_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert judged(tmp_path, [order(error=LOST, expect={"next": {"verify": "find_order"}})]) == 1
    assert "get_order" in capsys.readouterr().out
