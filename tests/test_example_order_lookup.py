"""The order that is looked up again and again: once under its pack, for ever without a guard."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from callgate import Gate


@pytest.fixture
def story(root: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(root / "examples" / "order_lookup"))
    yield import_module("main")
    sys.modules.pop("main")


def test_the_order_is_looked_up_once_and_answered(story: Any) -> None:
    desk, model = story.OrderDesk(), story.ScriptedModel()
    task = Gate.load("order-lookup").task("question-1")
    results = story.run(task, desk, model)
    assert [result.verdict.action for result in results] == ["allow", "reuse", "refuse", "stop"]
    assert (desk.asked, model.answer()) == (1, "Order A-4711 is shipped.")
    assert results[1].value() == results[0].value()
    assert task.spent["tool_calls"] == 1.0


def test_without_a_guard_it_goes_on_for_ever(story: Any) -> None:
    desk, model = story.OrderDesk(), story.ScriptedModel()
    wanted = model.calls()
    for _ in range(100):
        desk.order_lookup(**next(wanted))
    assert desk.asked == 100


def test_one_command_runs_it(root: Path) -> None:
    program = str(root / "examples" / "order_lookup" / "main.py")
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("the model asked 4 times, the order was looked up once\n")
