"""The exit codes of every verb: 0 fine, 1 findings, 2 a wrong command or an internal error, 3 inconclusive."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from callgate.cli.main import VERBS, main, parser_of
from callgate.stores.escalations import Escalations

FAULTY = """\
apiVersion: callgate/v1
kind: GuardPolicy
metadata: {name: faulty}
spec: {extends: [default], mode: warm}
"""
FAILING = """\
apiVersion: callgate/v1
kind: GuardTest
metadata: {name: failing, description: it expects what does not happen}
spec: {policy: default, steps: [{tool: t, arguments: {}, result: 1, expect: {action: refuse}}]}
"""
TEST = FAILING.replace("refuse", "allow").replace("failing", "passing")
LOOSER = """\
apiVersion: callgate/v1
kind: GuardPolicy
metadata: {name: desk}
spec: {extends: [default], budgets: {steps: %d}}
"""
RECORD = {"session": "s", "tool": "search_orders", "arguments": {"words": "x"}, "result": {"orders": []}}
LOST = [
    {"role": "user", "content": "go"},
    {"role": "assistant", "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}},
    ]},
    {"role": "user", "content": "well?"},
]  # fmt: skip

# A command line in the folder below, and its exit code. Each verb has what it can answer, and every kind of wrong.
TABLE: list[tuple[str, int]] = [
    ("", 2), ("help", 0), ("--help", 0), ("help check", 0), ("version", 0), ("--version", 0),
    ("nonsense", 2), ("Check", 2), ("--nonsense", 2), ("help nonsense", 2),
    ("demo", 0), ("demo extra", 2),
    ("init new", 0), ("init desk", 2), ("init desk --force", 0), ("init one two", 2), ("init desk/policy.yaml", 2),
    ("check desk", 0), ("check faulty.yaml", 1), ("check no-such", 2), ("check empty", 2), ("check", 2),
    ("check desk --format xml", 2), ("check desk --policy desk", 2), ("check --resolved desk", 0),
    ("check desk --now yesterday", 2), ("check --resolved --policy nobody", 2),
    ("fmt desk", 0), ("fmt --check desk", 0), ("fmt --check ugly.yaml", 1), ("fmt --diff ugly.yaml", 1),
    ("fmt broken.yaml", 1),
    ("fmt no-such", 2), ("fmt", 2), ("fmt - desk", 2),
    ("test desk", 0), ("test failing_test.yaml", 1), ("test faulty.yaml", 1), ("test no-such", 2), ("test", 2),
    ("test desk --filter no-such", 3), ("test desk --format xml", 2), ("test desk --min-coverage x", 2),
    ("replay run.jsonl --policy default", 0), ("replay broken.jsonl --policy default", 0),
    ("replay broken.jsonl --policy default --strict", 1), ("replay run.jsonl --policy faulty.yaml", 1),
    ("replay run.jsonl --policy no-such", 2), ("replay no-such --policy default", 2), ("replay run.jsonl", 2),
    ("replay empty.jsonl --policy default", 3), ("replay run.jsonl --policy default --open-sessions 0", 2),
    ("diff old.yaml old.yaml", 0), ("diff old.yaml new.yaml", 0), ("diff old.yaml new.yaml --fail-on looser", 1),
    ("diff old.yaml new.yaml --fail-on stricter", 0), ("diff old.yaml faulty.yaml", 2), ("diff old.yaml no-such", 2),
    ("diff old.yaml new.yaml --fail-on nonsense", 2), ("diff", 2),
    ("diff old.yaml new.yaml --traces run.jsonl", 0), ("diff old.yaml new.yaml --traces no-such", 2),
    ("report run.jsonl --policy default", 0), ("report run.jsonl --policy faulty.yaml", 1), ("report run.jsonl", 2),
    ("report no-such --policy default", 2), ("report run.jsonl --policy no-such", 2),
    ("report run.jsonl --policy default --session nobody", 2), ("report empty.jsonl --policy default", 3),
    ("explain run.jsonl --policy default", 0), ("explain default --tool t", 0),
    ("explain desk --tool t --after run.jsonl", 0),
    ("explain run.jsonl --policy faulty.yaml", 1), ("explain default", 2), ("explain no-such --policy default", 2),
    ("explain run.jsonl --policy default --at 99", 2), ("explain default --tool t --args []", 2),
    ("explain events.jsonl --policy default", 3), ("explain empty.jsonl --policy default", 3),
    ("inspect fine.json", 0), ("inspect lost.json", 1), ("inspect no-such", 2), ("inspect run.jsonl --shape xml", 2),
    ("inspect faulty.yaml", 2), ("inspect fine.json --policy no-such", 2),
    ("prompt default", 0), ("prompt faulty.yaml", 1), ("prompt no-such", 2), ("prompt default --language de", 2),
    ("prompt", 2),
    ("tools search orders desk", 0), ("tools search zzzzzz desk", 3), ("tools search orders no-such", 2), ("tools", 2),
    ("tools unused desk run.jsonl --days 0", 2), ("tools nonsense", 2),
    ("import tools.json", 0), ("import run.jsonl --output drafted.yaml", 0),
    ("import tools.json --output desk/tools.yaml", 2),
    ("import no-such", 2), ("import faulty.yaml", 2), ("import", 2),
    ("code", 0), ("code CG101", 0), ("code exact_repeat", 0), ("code nonsense", 2), ("code a b", 2),
    ("escalations list --store desk.db", 0), ("escalations show e1 --store desk.db", 0),
    ("escalations show nobody --store desk.db", 1), ("escalations claim --queue none --store desk.db", 3),
    ("escalations list --store no-such", 2), ("escalations list --store faulty.yaml", 2), ("escalations", 2),
    ("escalations list --store desk.db --limit 0", 2),
    ("ledger list --store desk.db", 0), ("ledger show nobody --store desk.db", 3), ("ledger list --store no-such", 2),
    ("ledger", 2),
    ("schema GuardPolicy", 0), ("schema --check desk/schema", 0), ("schema --check desk", 1),
    ("schema --check no-such", 2),
    ("schema Nonsense", 2), ("schema", 2),
    ("completion bash", 0), ("completion tcsh", 2), ("completion", 2),
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Everything that the command lines name."""
    folder = tmp_path_factory.mktemp("exit-codes")
    assert main(["init", str(folder / "desk")]) == 0
    texts = {
        "faulty.yaml": FAULTY, "broken.yaml": "kind: GuardPolicy\nkind: GuardTest\n",
        "ugly.yaml": "kind:   GuardPolicy\n",
        "failing_test.yaml": FAILING, "old.yaml": LOOSER % 5, "new.yaml": LOOSER % 6, "empty.jsonl": "",
        "run.jsonl": json.dumps(RECORD) + "\n", "broken.jsonl": "{\n" + json.dumps(RECORD) + "\n",
        "events.jsonl": '{"session": "s", "event": "compaction"}\n', "fine.json": json.dumps(LOST[:1]),
        "lost.json": json.dumps(LOST), "tools.json": '{"tools": [{"name": "f", "inputSchema": {}}]}',
    }  # fmt: skip
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "broken.jsonl").write_text('{"session": 1}\n' + json.dumps(RECORD) + "\n", encoding="utf-8")
    (folder / "empty").mkdir()
    (folder / ".git").mkdir()  # settings further up are not these ones
    Escalations(folder / "desk.db").push("e1", {"status": "incomplete"}, task="t", queue="desk")
    return folder


@pytest.mark.parametrize(("line", "code"), TABLE, ids=[line or "nothing" for line, _ in TABLE])
def test_a_command_line_ends_with_its_code(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], line: str, code: int
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("CALLGATE_STORE", raising=False)
    found = main(shlex.split(line))
    out, err = capsys.readouterr()
    assert (found, "internal error" in err) == (code, False), out + err
    assert code == 0 or err or out  # whatever is wrong is told


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_answers_help_with_0_and_an_unknown_flag_with_2(
    verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([verb, "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"usage: callgate {verb}")
    assert main([verb, "--no-such-flag"]) == 2
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("verb", VERBS)
def test_every_choice_of_a_verb_refuses_another_word(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    for action in parser_of(verb)._actions:
        if action.choices is not None and action.option_strings:
            assert main([verb, action.option_strings[-1], "no-such-word"]) == 2
    capsys.readouterr()


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["fmt", ""], "`PATH` is empty"), (["check", "desk", ""], "`PATH` is empty"), (["test", ""], "`PATH` is empty"),
        (["check", "desk", "--now="], "`--now` is empty"), (["init", ""], "`DIR` is empty"),
        (["explain", "default", "--tool", ""], "`--tool` is empty"), (["diff", "", "desk"], "`PATH` is empty"),
    ],
)  # fmt: skip
def test_an_empty_argument_is_no_path(
    argv: list[str], told: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    assert main(argv) == 2
    out, err = capsys.readouterr()
    assert (out, err) == ("", f"callgate: {told}: is there a variable that is not set?\n")


@pytest.mark.parametrize("verb", ["fmt", "inspect", "import", "test", "check", "prompt"])
def test_a_name_steers_no_terminal(verb: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([verb, str(folder / "no\x1b]0;title\x07\nsuch.yaml")]) == 2
    out, err = capsys.readouterr()
    assert not {"\x1b", "\x07"} & set(out + err)
    assert r"no\x1b]0;title\x07\nsuch.yaml" in out + err


def test_the_table_has_every_verb() -> None:
    lines = {line.split(" ")[0] for line, _ in TABLE}
    assert set(VERBS) <= lines
    fine = {line.split(" ")[0] for line, code in TABLE if code == 0}
    assert set(VERBS) <= fine


def test_an_internal_error_is_2_and_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from callgate.cli import code

    def fails() -> None:
        raise RuntimeError("the pages are gone")

    monkeypatch.setattr(code, "pages", fails)
    monkeypatch.delenv("CALLGATE_DEBUG", raising=False)
    assert main(["code"]) == 2
    assert "internal error: RuntimeError: the pages are gone" in capsys.readouterr().err


def test_the_process_ends_with_the_code(folder: Path) -> None:
    callgate = Path(sys.executable).with_name("callgate")
    for line, code in (("check desk", 0), ("check faulty.yaml", 1), ("check no-such", 2), ("test desk --filter no", 3)):
        done = subprocess.run(
            [callgate, *line.split()], cwd=folder, capture_output=True, check=False, env={**os.environ, "NO_COLOR": "1"}
        )
        assert done.returncode == code, line
