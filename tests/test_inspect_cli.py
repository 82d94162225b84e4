"""`callgate inspect`: what it reads, prints and writes, and its exit codes."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from callgate.cli.main import main
from message_lists import BROKEN, HEALTHY, asked, said, told


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = main(["inspect", *argv])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def write(name: str, body: Any) -> str:
    Path(name).write_text(body if isinstance(body, str) else json.dumps(body), encoding="utf-8")
    return name


def test_a_healthy_list_is_said_to_be_one(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, messages = HEALTHY["two turns, one of them parallel"]
    assert run(capsys, write("m.json", messages)) == (0, "no faults in 7 messages (openai_chat)\n", "")


@pytest.mark.parametrize("name", ["m.json", "m.jsonl", "-"])
def test_a_byte_order_mark_before_a_list_is_no_fault(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    _, messages = HEALTHY["two turns, one of them parallel"]
    lines = "\n".join(map(json.dumps, messages))
    text = "\ufeff" + (lines if name == "m.jsonl" else json.dumps(messages))
    if name == "-":
        monkeypatch.setattr("sys.stdin", io.StringIO(text))
    else:
        write(name, text)
    assert run(capsys, name) == (0, "no faults in 7 messages (openai_chat)\n", "")


def test_findings_are_printed_with_place_and_help(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, write("m.json", BROKEN["a call is answered twice"].messages))
    assert (code, err) == (1, "")
    assert (
        out
        == """\
error[duplicate_result]: the call `c1` of `run` is answered once more
  --> m.json: messages[3], id c1
      with messages[2]
  = help: keep one result for a call: the one that is true

1 error in 4 messages (openai_chat)
"""
    )


def test_json_for_programs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write("m.json", BROKEN["an id comes again in a later turn"].messages)
    code, out, _ = run(capsys, "m.json", "--format", "json")
    assert code == 1
    assert json.loads(out) == {
        "version": 1,
        "file": "m.json",
        "shape": "anthropic",
        "messages": 5,
        "errors": 1,
        "warnings": 0,
        "findings": [
            {
                "kind": "duplicate_call_id",
                "severity": "error",
                "index": 3,
                "call_id": "t1",
                "message": "the id `t1` is used again, for a call of `get_order`",
                "hint": "give each call an id of its own, and its result the same one",
                "related": 1,
            }
        ],
    }


def test_warnings_are_fine_unless_strict(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write("m.json", BROKEN["a call made again though its answer stands there"].messages)
    code, out, _ = run(capsys, "m.json")
    assert code == 0
    assert out.endswith("1 warning in 5 messages (openai_chat)\n")
    assert run(capsys, "m.json", "--strict")[0] == 1


@pytest.mark.parametrize(
    ("body", "shape"),
    [
        ({"model": "m", "messages": [said("hello")]}, "openai_chat"),
        ({"model": "m", "input": [said("hello")]}, "openai_responses"),
    ],
)
def test_a_whole_request_is_read(folder: Path, capsys: pytest.CaptureFixture[str], body: Any, shape: str) -> None:
    assert run(capsys, write("m.json", body)) == (0, f"no faults in 1 message ({shape})\n", "")


def test_standard_input_is_read(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO('[{"role": "user", "content": "hello"}]'))
    assert run(capsys, "-") == (0, "no faults in 1 message (openai_chat)\n", "")


def test_the_mended_list_is_written_inside_its_request(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write("m.json", {"model": "m", "messages": [asked(("c1", "run", "{}")), told("x", "done")]})
    assert run(capsys, "m.json", "--repair", "out.json")[0] == 1
    mended = {"model": "m", "messages": [asked(("c1", "run", "{}")), told("c1", "done")]}
    assert json.loads(Path("out.json").read_text()) == mended
    code, out, _ = run(capsys, "m.json", "--repair", "-")
    assert (code, json.loads(out)) == (1, mended)


def test_a_message_a_line_is_read_too(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = "".join(json.dumps(message) + "\n" for message in [said("Go."), asked(("c1", "run", "{}"))])
    code, out, _ = run(capsys, write("m.jsonl", lines))
    assert (code, "1 error in 2 messages (openai_chat)" in out) == (1, True)
    code, _, err = run(capsys, write("m.jsonl", lines + "\n{\n"))
    assert (code, err) == (
        2,
        "callgate: m.jsonl:4:2: this is no JSON: expecting property name enclosed in double quotes\n",
    )


def test_half_a_character_is_written_as_it_was_read(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(
        "m.json",
        r'[{"role": "user", "content": "\ud800 \u00e9"}, {"role": "tool", "tool_call_id": "\udfff", "content": ""}]',
    )
    code, out, _ = run(capsys, "m.json", "--repair", "out.json")
    assert (code, "id \\udfff" in out) == (1, True)
    assert json.loads(Path("out.json").read_text()) == [{"role": "user", "content": "\ud800 é"}]


def test_an_open_turn_may_be_waiting(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write("m.json", [said("Go."), asked(("c1", "run", "{}"))])
    assert run(capsys, "m.json")[0] == 1
    assert run(capsys, "m.json", "--open-turn")[0] == 0


def test_a_policy_says_which_calls_are_the_same(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    head = "apiVersion: callgate/v1\nkind: "
    policy = head + "GuardPolicy\nmetadata: {name: p}\nspec: {extends: [default], tools: [t]}\n---\n"
    find = "{find: {effect: read, identity: {trim: true}}}"
    write("p.yaml", policy + head + "ToolManifest\nmetadata: {name: t}\nspec: {tools: " + find + "}\n")
    write("m.json", [
        said("Go."), asked(("c1", "find", '{"q": "a"}')), told("c1", "x"), asked(("c2", "find", '{"q": " a "}')),
        told("c2", "x"),
    ])  # fmt: skip
    assert run(capsys, "m.json", "--strict")[0] == 0
    assert run(capsys, "m.json", "--strict", "--policy", "p.yaml")[0] == 1


@pytest.mark.parametrize(
    ("body", "argv", "why"),
    [
        ("[1, 2", (), "m.json:1:6: this is no JSON: expecting ',' delimiter"),
        ("7", (), "m.json: a list of messages is wanted, not a number"),
        ('["a"]', (), "m.json: messages[0] is a text, and an object is wanted"),
        ("{}", (), "m.json: a list of messages is wanted, not an object"),
        ("[" * 100_000, (), "m.json: this JSON cannot be read: "),
        ("[]", ("--policy", "no-such-pack"), "the policy `no-such-pack` cannot be used"),
        ("[]", ("--repair", "no/such/folder.json"), "cannot write `no/such/folder.json`: no such file or directory"),
    ],
)
def test_what_is_no_message_list_is_said_in_a_line(
    folder: Path, capsys: pytest.CaptureFixture[str], body: str, argv: tuple[str, ...], why: str
) -> None:
    code, _, err = run(capsys, write("m.json", body), *argv)
    assert code == 2
    assert f"callgate: {why}" in err


@pytest.mark.parametrize("argv", [["nowhere.json"], [], ["m.json", "--shape", "gemini"], ["m.json", "--wrong"]])
def test_a_wrong_command_ends_with_two(folder: Path, capsys: pytest.CaptureFixture[str], argv: list[str]) -> None:
    assert run(capsys, *argv)[0] == 2
