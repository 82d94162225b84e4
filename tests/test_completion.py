"""Completion of command lines, by the shells themselves: what each offers at a place."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from callgate import _core
from callgate.cli.completion import FILES, command_line
from callgate.cli.main import VERBS, main, parser_of
from callgate.policy.packs import packs_root
from callgate.report.completion import SHELLS, Verb

FORMATS = ["github", "json", "junit", "markdown", "sarif", "text"]
PACKS = sorted(pack.name for pack in packs_root().iterdir() if pack.is_dir())
# Values that nothing can complete. A new one is either of these, or a file, or gets its words in `cli/completion.py`.
FREE = frozenset(
    ("A", "ID", "JSON", "KEY", "KEY[=VALUE]", "N", "NAME", "PATTERN", "PERCENT", "QUERY", "S", "SEQ", "T", "TEXT",
     "TIME", "WHAT", "YYYY-MM-DD", "git:REF")
)  # fmt: skip

# Where the cursor stands behind the last word: what is offered, and whether files are.
PLACES: list[tuple[list[str], list[str]]] = [
    (["che"], ["check"]),
    (["help", "tra"], []),
    (["help", "repl"], ["replay"]),
    (["check", "--form"], ["--format"]),
    (["check", "--format", ""], FORMATS),
    (["check", "--format", "js"], ["json"]),
    (["schema", "Guard"], sorted(kind for kind in _core.kinds() if kind.startswith("Guard"))),
    (["code", "CG70"], [f"CG70{n}" for n in range(1, 10)]),
    (["escalations", "res"], ["resolve"]),
    (["escalations", "list", "--state", ""], ["all", "claimed", "open", "resolved"]),
    (["replay", "run.jsonl", "--policy", "coding"], ["coding-agent"]),
    (["completion", ""], ["bash", "fish", "zsh"]),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An own folder with a file whose name has a blank, and one below."""
    (tmp_path / "my policy.yaml").touch()
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "run.jsonl").touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The scripts as the command prints them, by their shells."""
    folder, callgate = tmp_path_factory.mktemp("scripts"), Path(sys.executable).with_name("callgate")
    found = {}
    for shell in SHELLS:
        found[shell] = folder / shell
        done = subprocess.run([callgate, "completion", shell], capture_output=True, check=True)
        found[shell].write_bytes(done.stdout)
    return found


def bash(script: Path, folder: Path, words: list[str]) -> list[str]:
    """What bash offers behind some words, by its own function and its own table of completions."""
    line = f"""
        source {script}
        complete -p callgate >/dev/null || exit 9
        COMP_WORDS=(callgate "$@"); COMP_CWORD=$#
        _callgate
        [[ ${{#COMPREPLY[@]}} -eq 0 ]] || printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(
        ["bash", "--norc", "-c", line, "bash", *words], capture_output=True, text=True, cwd=folder, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return sorted(done.stdout.splitlines())


def fish(script: Path, folder: Path, words: list[str]) -> list[str]:
    """What fish offers behind some words, without what it says of them."""
    line = " ".join(["callgate", *words])
    command = ["fish", "--no-config", "-c", f"source {script}; complete -C '{line}'"]
    environment = {**os.environ, "HOME": str(folder), "XDG_CONFIG_HOME": str(folder / ".config")}
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return sorted(line.partition("\t")[0] for line in done.stdout.splitlines())


needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
needs_fish = pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
needs_zsh = pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")


@needs_bash
@pytest.mark.parametrize(("words", "offered"), PLACES, ids=lambda each: " ".join(each[:3]))
def test_bash_offers_what_fits(scripts: dict[str, Path], folder: Path, words: list[str], offered: list[str]) -> None:
    assert bash(scripts["bash"], folder, words) == offered


@needs_bash
def test_bash_offers_every_verb(scripts: dict[str, Path], folder: Path) -> None:
    assert bash(scripts["bash"], folder, [""]) == sorted([*VERBS, "help", "--help", "--version"])


@needs_bash
def test_bash_offers_files_where_files_go(scripts: dict[str, Path], folder: Path) -> None:
    script = scripts["bash"]
    assert bash(script, folder, ["check", ""]) == ["my policy.yaml", "sub"]
    assert bash(script, folder, ["check", "my"]) == ["my policy.yaml"]
    assert bash(script, folder, ["replay", "sub/"]) == ["sub/run.jsonl"]
    assert bash(script, folder, ["prompt", ""]) == sorted(["my policy.yaml", "sub", *PACKS])
    assert bash(script, folder, ["check", "--now", ""]) == []
    assert bash(script, folder, ["nonsense", ""]) == []


@needs_bash
def test_bash_completes_behind_an_equals_sign(scripts: dict[str, Path], folder: Path) -> None:
    script = scripts["bash"]
    assert bash(script, folder, ["check", "--format", "="]) == FORMATS
    assert bash(script, folder, ["check", "--format", "=", "js"]) == ["json"]


@needs_fish
@pytest.mark.parametrize(("words", "offered"), PLACES, ids=lambda each: " ".join(each[:3]))
def test_fish_offers_what_fits(scripts: dict[str, Path], folder: Path, words: list[str], offered: list[str]) -> None:
    assert fish(scripts["fish"], folder, words) == offered


@needs_fish
def test_fish_offers_files_where_files_go(scripts: dict[str, Path], folder: Path) -> None:
    assert fish(scripts["fish"], folder, ["check", "my"]) == ["my policy.yaml"]
    assert fish(scripts["fish"], folder, ["prompt", "de"]) == ["default"]


@needs_zsh
def test_zsh_reads_the_script_and_knows_the_command(scripts: dict[str, Path], folder: Path) -> None:
    line = f"autoload -Uz compinit; compinit -u -d {folder}/.dump; source {scripts['zsh']}; print $_comps[callgate]"
    done = subprocess.run(["zsh", "-f", "-c", line], capture_output=True, text=True, cwd=folder, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "_callgate\n", "")


def test_every_argument_of_every_verb_is_in_the_scripts() -> None:
    told = dict(_verbs(command_line()))
    for name in VERBS:
        for path, parser in _parsers(name, parser_of(name)):
            flags = {flag for action in parser._actions for flag in action.option_strings}
            assert {flag for each in told[path].arguments for flag in each.flags} == flags, path


def test_every_value_is_a_file_has_words_or_is_known_to_be_free() -> None:
    unknown = {
        (name, each.shown)
        for name, verb in _verbs(command_line())
        for each in verb.arguments
        if each.takes_value and not each.words and each.shown not in FILES | FREE
    }
    assert unknown == set()


@pytest.mark.parametrize(
    ("argv", "code"), [(["completion"], 2), (["completion", "tcsh"], 2), (["completion", "bash"], 0)]
)
def test_the_exit_code_tells_whether_there_is_such_a_script(
    argv: list[str], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(argv) == code
    out, _ = capsys.readouterr()
    assert bool(out) == (code == 0)
    assert set(SHELLS) == {"bash", "zsh", "fish"}


def _verbs(verbs: list[Verb], above: str = "") -> Iterator[tuple[str, Verb]]:
    for verb in verbs:
        name = f"{above} {verb.name}".strip()
        yield name, verb
        yield from _verbs(list(verb.verbs), name)


def _parsers(name: str, parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    yield name, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below, inner in action.choices.items():
                yield from _parsers(f"{name} {below}", inner)
