"""`python -m callgate` is the command `callgate`: the same words, the same exit codes."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = [str(Path(sys.executable).with_name("callgate"))]
MODULE = [sys.executable, "-m", "callgate"]


def run(command: list[str], *arguments: str, folder: Path) -> tuple[int, str, str]:
    done = subprocess.run([*command, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--version"], 0),
        (["check", "--help"], 0),
        (["check", "good.yaml"], 0),
        (["check", "bad.yaml"], 1),
        (["chek"], 2),
        ([], 2),
    ],
)
def test_the_module_does_what_the_command_does(arguments: list[str], code: int, tmp_path: Path) -> None:
    head = "apiVersion: callgate/v1\nkind: GuardPolicy\nmetadata: {name: mine}\nspec: "
    (tmp_path / "good.yaml").write_text(head + "{extends: [default]}\n")
    (tmp_path / "bad.yaml").write_text(head + "{extends: [defualt]}\n")
    found = run(MODULE, *arguments, folder=tmp_path)
    assert found[0] == code
    assert found == run(COMMAND, *arguments, folder=tmp_path)


def test_importing_the_module_runs_nothing() -> None:
    assert callable(runpy.run_module("callgate.__main__", run_name="imported")["main"])
