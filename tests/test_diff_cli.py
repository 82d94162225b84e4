"""`callgate diff` as it is called: formats, gates, exit codes, git; and that its page lists every category."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from callgate.cli.main import main
from callgate.review.categories import CATEGORIES
from policy_pairs import PAIRS, POLICY, TOOLS

OLD = {"policy.yaml": POLICY, "tools.yaml": TOOLS}


def written(folder: Path, files: dict[str, str]) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return str(folder)


@pytest.fixture
def sides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "old", OLD)
    new = POLICY.replace("steps: 40", "steps: 50").replace("retries: 4", "retries: 3")
    written(tmp_path / "new", {"policy.yaml": new, "tools.yaml": TOOLS})


@pytest.mark.usefixtures("sides")
def test_text_has_each_change_with_both_values_and_places(capsys: pytest.CaptureFixture[str]):
    assert main(["diff", "old", "new"]) == 0
    assert capsys.readouterr().out == (
        "old → new\n\n"
        "1 looser: lets more through\n"
        "  BUDGET_RAISED  budgets.steps of policy `desk`: 40 → 50\n"
        "      old/policy.yaml:11 → new/policy.yaml:11\n\n"
        "1 stricter: lets less through\n"
        "  RETRY_LOWERED  budgets.retries of policy `desk`: 4 → 3\n"
        "      old/policy.yaml:14 → new/policy.yaml:14\n"
    )


@pytest.mark.usefixtures("sides")
def test_json_is_of_a_stable_shape(capsys: pytest.CaptureFixture[str]):
    assert main(["diff", "old", "new", "--format", "json", "--fail-on", "looser"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["changes"][0] == {
        "category": "BUDGET_RAISED", "effect": "looser", "subject": "policy `desk`", "key": "budgets.steps",
        "old": 40, "new": 50, "old_spot": {"file": "old/policy.yaml", "line": 11},
        "new_spot": {"file": "new/policy.yaml", "line": 11}, "detail": None,
    }  # fmt: skip
    del found["changes"]
    assert found == {
        "version": 1, "old": "old", "new": "new",
        "counts": {"looser": 1, "stricter": 1, "reclassified": 0, "none": 0},
        "gates": ["looser"], "held_back": 1, "replay": None, "sequences": None,
    }  # fmt: skip


@pytest.mark.usefixtures("sides")
def test_markdown_is_a_page_with_a_table_for_each_effect(capsys: pytest.CaptureFixture[str]):
    assert main(["diff", "old", "new", "--format", "markdown"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:8] == [
        "## Policy change: old → new",
        "",
        "**1 looser, 1 stricter**",
        "",
        "### 1 looser: lets more through",
        "",
        "| category | what | before | after | where |",
        "| --- | --- | --- | --- | --- |",
    ]
    assert lines[8] == (
        "| <code>BUDGET_RAISED</code> | policy <code>desk</code><br><code>budgets.steps</code> | <code>40</code> "
        "| <code>50</code> | <code>old/policy.yaml:11</code> → <code>new/policy.yaml:11</code> |"
    )


def test_nothing_in_a_policy_is_markup_in_markdown(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    hostile = '"<script>alert(1)</script> | `x` [a](http://b) @all"'
    old = written(tmp_path / "a", OLD)
    new = written(tmp_path / "b", {**OLD, "policy.yaml": POLICY.replace('"the order is large"', hostile)})
    assert main(["diff", old, new, "--format", "markdown"]) == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| <code>MESSAGE")]
    assert len(rows) == 1
    assert rows[0].count("|") == 6
    for sign in ("<script", "`", "[", "@"):
        assert sign not in rows[0]


def test_two_spellings_of_one_policy_are_no_change(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    pair = PAIRS[0]
    old, new = written(tmp_path / "a", pair.old), written(tmp_path / "b", pair.new)
    assert main(["diff", old, new, "--fail-on", "any", "--fail-on", "REFACTOR"]) == 0
    assert "no change of meaning" in capsys.readouterr().out


@pytest.mark.usefixtures("sides")
@pytest.mark.parametrize(
    ("gate", "code"),
    [("looser", 1), ("stricter", 1), ("any", 1), ("BUDGET_*", 1), ("RETRY_LOWERED,MODE_LOOSENED", 1), ("MODE_*", 0)],
)
def test_a_gate_decides_the_exit_code(gate: str, code: int):
    assert main(["diff", "old", "new", "--fail-on", gate]) == code


@pytest.mark.usefixtures("sides")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "name two sides"),
        (["old"], "name two sides"),
        (["old", "new", "old"], "name two sides"),
        (["old", "new", "--fail-on", "losser"], "did you mean `looser`?"),
        (["old", "new", "--fail-on", "BUDGT_*"], "no such effect or category"),
        (["old", "nowhere"], "no such file or folder, and no such pack"),
        (["old", "new", "--against", "git:main"], "there is one path"),
        (["--against", "main", "old"], "write `git:`"),
        (["--against", "git:main", "old"], "--against git:main"),
        (["old", "new", "--format", "yaml"], "invalid choice"),
    ],
)
def test_what_cannot_be_carried_out_is_exit_2_with_a_reason(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
):
    assert main(["diff", *arguments]) == 2
    answer = capsys.readouterr()
    assert answer.out == ""
    assert said in answer.err


@pytest.mark.usefixtures("sides")
def test_a_side_with_errors_is_not_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    written(tmp_path / "new", {"policy.yaml": POLICY.replace("steps: 40", "stepz: 40")})
    assert main(["diff", "old", "new"]) == 2
    answer = capsys.readouterr()
    assert answer.out == ""
    assert "unknown key `stepz`" in answer.err
    assert "`new` has errors: it is not compared" in answer.err


def git(folder: Path, *arguments: str) -> str:
    who = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}
    settings = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    done = subprocess.run(
        ["git", "-c", "init.defaultBranch=main", *arguments], cwd=folder, env={**os.environ, **who, **settings},
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    return done.stdout


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "repo"
    written(folder / "policies", OLD)
    written(folder / "policies" / "tests", {"x_test.yaml": "kind: GuardTest\n", "notes.txt": "no YAML"})
    (folder / "policies" / "link.yaml").symlink_to("../shared.yaml")
    written(folder, {"shared.yaml": "# nothing yet\n---\n"})
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "first")
    monkeypatch.chdir(folder)
    return folder


def test_the_work_tree_is_compared_with_what_git_has(repository: Path, capsys: pytest.CaptureFixture[str]):
    written(repository / "policies", {"policy.yaml": POLICY.replace("steps: 40", "steps: 50")})
    before = git(repository, "status", "--porcelain=v2", "--branch")
    assert main(["diff", "--against", "git:main", "policies"]) == 0
    assert capsys.readouterr().out == (
        "git:main:policies → policies\n\n"
        "1 looser: lets more through\n"
        "  BUDGET_RAISED  budgets.steps of policy `desk`: 40 → 50\n"
        "      main:policies/policy.yaml:11 → policies/policy.yaml:11\n"
    )
    assert git(repository, "status", "--porcelain=v2", "--branch") == before


def test_without_a_path_the_current_folder_is_compared(repository: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(repository / "policies")
    assert main(["diff", "--against", "git:HEAD", "--fail-on", "any"]) == 0
    written(repository / "policies", {"policy.yaml": POLICY.replace("steps: 40", "steps: 50")})
    assert main(["diff", "--against", "git:HEAD", "--fail-on", "any"]) == 1
    assert main(["diff", "--against", "git:HEAD", "policy.yaml", "--fail-on", "any"]) == 2  # its tools are elsewhere


@pytest.mark.parametrize("reference", ["no-such-branch", "--output=x", "main:policies", "", "main~7"])
def test_a_reference_that_is_no_commit_is_told(repository: Path, reference: str, capsys: pytest.CaptureFixture[str]):
    assert main(["diff", "--against", f"git:{reference}", "policies"]) == 2
    assert "git:" in capsys.readouterr().err
    assert sorted(path.name for path in repository.iterdir()) == [".git", "policies", "shared.yaml"]


def test_a_link_to_a_folder_is_that_folder(repository: Path, capsys: pytest.CaptureFixture[str]):
    (repository / "packs").symlink_to("policies")
    written(repository / "policies", {"policy.yaml": POLICY.replace("steps: 40", "steps: 50")})
    assert main(["diff", "--against", "git:main", "packs", "--fail-on", "any"]) == 1
    assert "main:policies/policy.yaml:11 → packs/policy.yaml:11" in capsys.readouterr().out


def test_errors_of_the_old_side_are_told_by_reference(repository: Path, capsys: pytest.CaptureFixture[str]):
    written(repository / "policies", {"policy.yaml": POLICY.replace("steps: 40", "stepz: 40")})
    git(repository, "commit", "--quiet", "-a", "-m", "broken")
    written(repository / "policies", {"policy.yaml": POLICY})
    assert main(["diff", "--against", "git:main", "policies"]) == 2
    assert "main:policies/policy.yaml:11:5" in capsys.readouterr().err


def test_the_page_lists_every_category(root: Path):
    page = (root / "docs" / "diff.md").read_text(encoding="utf-8")
    rows = [f"| `{each.id}` | {', '.join(each.effects)} | {each.says} |" for each in CATEGORIES.values()]
    table = page.partition("<!-- categories -->\n")[2].splitlines()
    assert table == ["| category | effect | what it says |", "|---|---|---|", *rows]


@pytest.mark.parametrize("word", ["BUDGET_RAISED", "budget_raised", "`BUDGET_RAISED`"])
def test_a_category_has_its_word_from_the_command_line(word: str, capsys: pytest.CaptureFixture[str]):
    assert main(["code", word]) == 0
    assert capsys.readouterr().out == (
        "# BUDGET_RAISED\n\nA budget is larger, `unlimited` included.\n\nAs a change of a policy: looser.\n"
    )


@pytest.mark.usefixtures("sides")
def test_sides_that_an_option_took_are_asked_for_before_it(capsys: pytest.CaptureFixture[str]):
    took = "callgate: `--traces` took the sides too: write OLD NEW before it\n"
    for words in (["--traces", "t.jsonl", "old", "new"], ["old", "--traces", "t.jsonl", "new"]):
        assert main(["diff", *words]) == 2
        assert capsys.readouterr().err == took
    assert main(["diff", "--against", "git:HEAD", "--traces", "t.jsonl", "new"]) == 2
    assert capsys.readouterr().err == "callgate: `--traces` took the path too: write PATH before it\n"
    assert main(["diff", "--help"]) == 0
    assert capsys.readouterr().out.startswith("usage: callgate diff (OLD NEW | [PATH] --against git:REF)\n")
