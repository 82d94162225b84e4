"""The Makefile explains itself, and says in a sentence what a machine lacks."""

import os
import re
import subprocess
from pathlib import Path

import pytest


def run(*command: str | Path, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command outside the surroundings of the make that may have started these tests."""
    kept = {name: value for name, value in os.environ.items() if name not in {"MAKEFLAGS", "MAKELEVEL", "CI"}}
    return subprocess.run(command, cwd=cwd, env={**kept, **variables}, capture_output=True, text=True)


def programs(folder: Path, **scripts: str) -> str:
    """Write small programs into `folder`, give a PATH that finds these first."""
    for name, text in scripts.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        (folder / name).chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def test_make_alone_lists_every_target(root: Path) -> None:
    done = run("make", cwd=root)
    listed = re.findall(r"^  make ([a-z-]+) +\S", done.stdout, flags=re.MULTILINE)
    [declared] = re.findall(r"^\.PHONY: (.*)$", (root / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert (done.returncode, sorted(listed)) == (0, sorted(declared.split()))


def test_an_old_python_is_refused_with_a_sentence(root: Path, tmp_path: Path) -> None:
    path = programs(tmp_path, old="exit 1")
    done = run("make", "--no-print-directory", "setup", "PYTHON=old", "VENV=target/none", cwd=root, PATH=path)
    told = "callgate needs Python 3.11 or newer, and `old` is not: `make PYTHON=/path/to/python3` names one\n"
    assert (done.returncode, done.stderr.startswith(told)) == (2, True), done.stderr
    assert not (root / "target" / "none").exists()


@pytest.mark.parametrize(("ci", "code"), [("", 0), ("true", 1)], ids=["at home", "in CI"])
def test_a_missing_part_of_rust_is_named_and_fails_in_ci_only(root: Path, tmp_path: Path, ci: str, code: int) -> None:
    path = programs(tmp_path, cargo="exit 101")
    done = run(root / ".ci" / "cargo-part", "clippy", "clippy", "--", "true", cwd=root, PATH=path, CI=ci)
    told = "`cargo clippy` is not installed, so its check was left out; `rustup component add clippy` brings it\n"
    assert (done.returncode, done.stdout, done.stderr) == (code, "", told)


def test_a_failing_check_fails_the_gate_step(root: Path, tmp_path: Path) -> None:
    path = programs(tmp_path, cargo="exit 0")
    done = run(root / ".ci" / "cargo-part", "fmt", "rustfmt", "--", "false", cwd=root, PATH=path)
    assert (done.returncode, done.stdout) == (1, "false\n")
