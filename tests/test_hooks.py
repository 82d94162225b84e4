"""The hooks for pre-commit: each does, with its own command, what it is for."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from callgate.cli.main import VERBS, main

HOOKS: list[dict[str, Any]] = yaml.safe_load(
    (Path(__file__).resolve().parent.parent / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
)


def run(hook: dict[str, Any], files: list[str]) -> int:
    """Run a hook as pre-commit does: its entry, its arguments, and the files that it is for."""
    program, *words = shlex.split(hook["entry"])
    assert program == "callgate"
    return main([*words, *hook.get("args", []), *(files if hook.get("pass_filenames", True) else [])])


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """A repository with a policy, its tests, and a file of another program; its YAML files."""
    assert main(["init", str(tmp_path / "desk")]) == 0
    (tmp_path / "callgate.yaml").write_text("paths: [desk]\n", encoding="utf-8")
    (tmp_path / "compose.yaml").write_text("services:   {}\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.yaml"))


def test_there_is_a_hook_each_for_form_faults_and_tests() -> None:
    assert [hook["id"] for hook in HOOKS] == ["callgate-fmt", "callgate-check", "callgate-test"]
    for hook in HOOKS:
        assert hook["entry"].split()[1] in VERBS
        assert {"id", "name", "description", "entry", "language"} <= set(hook)


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook["id"])
def test_a_hook_passes_where_all_is_well(hook: dict[str, Any], desk: list[str]) -> None:
    before = {file: Path(file).read_bytes() for file in desk}
    assert run(hook, desk) == 0
    assert {file: Path(file).read_bytes() for file in desk} == before


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook["id"])
def test_a_hook_fails_on_a_fault(hook: dict[str, Any], desk: list[str]) -> None:
    policy = Path("desk", "policy.yaml")
    policy.write_text(policy.read_text(encoding="utf-8") + "  mode: warm\n", encoding="utf-8")
    assert run(hook, desk) == 1


def test_the_hook_for_form_changes_files_which_is_how_pre_commit_sees_it(desk: list[str]) -> None:
    policy = Path("desk", "policy.yaml")
    fine = policy.read_text(encoding="utf-8")
    policy.write_text(fine.replace("  time:\n    task: 30m", "  time:\n        task:   30m"), encoding="utf-8")
    assert run(HOOKS[0], desk) == 0
    assert policy.read_text(encoding="utf-8") == fine
