"""`callgate replay`: recorded runs judged from files, and what is said where a file is not what it should be."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from callgate.cli.main import main
from callgate.traces.lines import chunks

POLICY = """\
apiVersion: callgate/v1
kind: GuardPolicy
metadata: {name: mine, revision: "4"}
spec:
  undeclared_tools: allow
  budgets: {steps: 100, tokens: 1000}
  time: {task: 1h}
  detectors: {exact_repeat: {note_after: 2, refuse_after: 2}}
  ladder: {reuse_reads: 0, stop_after_refusals: 1, deterministic_stop_after: 1}
"""


def record(session: str, tool: str = "t", **more: Any) -> dict[str, Any]:
    return {"session": session, "tool": tool, "arguments": {}, "result": "r", **more}


def write(path: Path, *records: dict[str, Any] | str) -> Path:
    lines = [each if isinstance(each, str) else json.dumps(each) for each in records]
    text = "".join(line + "\n" for line in lines).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.yaml").write_text(POLICY)
    return tmp_path


def replay(*arguments: str) -> int:
    return main(["replay", "--policy", "p.yaml", *arguments])


def replayed(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert replay("--format", "json", *arguments) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_counts_are_per_file_and_in_all(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # five equal calls: a note at the second, then refused, stopped, and two more after the stop
    write(folder / "a.jsonl", *[record("s") for _ in range(5)], {"session": "s", "event": "user_turn", "by": "human"})
    write(folder / "b.jsonl.gz", record("s"), record("other"))
    found = replayed(capsys, "a.jsonl", "b.jsonl.gz")
    looping = {
        "sessions": 1, "calls": 5, "events": 1, "saved": 3, "sessions_with": {"noted": 1, "touched": 1, "stopped": 1},
        "notes": {"exact_repeat": 1}, "reuses": {}, "asks": {}, "refusals": {"exact_repeat": 1, "stopped": 1},
        "stops": {"exact_repeat": 1}, "lifted": {}, "skipped": 0,
    }  # fmt: skip
    healthy = {
        "sessions": 2, "calls": 2, "events": 0, "saved": 0, "sessions_with": {"noted": 0, "touched": 0, "stopped": 0},
        "notes": {}, "reuses": {}, "asks": {}, "refusals": {}, "stops": {}, "lifted": {}, "skipped": 0,
    }  # fmt: skip
    both = {**looping, "sessions": 3, "calls": 7}
    seconds = [each.pop("seconds") for each in [*found["files"], found["total"]]]
    digest = found["policy"].pop("digest")
    assert found == {
        "version": 1,
        "policy": {"name": "mine", "revision": "4", "mode": "enforce"},
        "files": [{"file": "a.jsonl", **looping, "broken": None}, {"file": "b.jsonl.gz", **healthy, "broken": None}],
        "total": both,
        "faults": [],
    }
    assert len(digest) == 64 and all(isinstance(each, float) for each in seconds)


def test_a_session_of_one_file_is_no_session_of_another(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        write(folder / name, record("s"), record("s"))
    assert replayed(capsys, "a.jsonl", "b.jsonl")["total"]["refusals"] == {}
    write(folder / "c.jsonl", *[record("s") for _ in range(4)])
    assert replayed(capsys, "c.jsonl")["total"]["refusals"] == {"exact_repeat": 1}


def test_the_table_is_for_people(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder / "a.jsonl", *[record("s") for _ in range(4)])
    assert replay("a.jsonl") == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith("policy mine, revision 4, digest ") and out[0].endswith(", enforce")
    head, row = out[2].split(), out[3].split()
    assert dict(zip(head[:-1], row[:-1], strict=True)) == {
        "trace": "a.jsonl", "sessions": "1", "calls": "4", "events": "0", "noted": "1", "touched": "1", "stopped": "1",
        "saved": "2", "skipped": "0",
    }  # fmt: skip
    assert "2 of 4 calls would not have run" in out


def test_broken_lines_are_told_counted_and_skipped(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = ["{", '{"session": "s"}', "[]", '{"session": "s", "event": "nap"}']
    write(folder / "a.jsonl", record("s", seq=2), *bad, "", record("s", seq=2), record("s", seq=3))
    assert replay("--format", "json", "a.jsonl") == 0
    told = capsys.readouterr()
    assert [line.partition(": ")[0] for line in told.err.splitlines()] == [f"a.jsonl:{n}" for n in (2, 3, 4, 5, 7)]
    assert told.err.splitlines()[-1] == "a.jsonl:7: `seq` 2 does not rise after 2 in session `s`: skipped"
    found = json.loads(told.out)
    assert (found["total"]["calls"], found["total"]["skipped"]) == (2, 5)
    assert found["faults"][2] == {"file": "a.jsonl", "line": 4, "why": "a record is a JSON object"}
    assert replay("--strict", "a.jsonl") == 1


def test_of_many_broken_lines_the_first_are_told_and_the_rest_counted(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "a.jsonl").write_bytes(b"\xff\x00\xfe\n" * 500)
    assert replay("a.jsonl") == 3
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 22
    assert told[-2:] == ["a.jsonl: 480 more lines skipped", "callgate: there is no record in these traces"]


def test_a_session_that_comes_again_after_it_was_closed_is_an_error(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(folder / "a.jsonl", record("s1"), record("s2"), record("s1"))
    assert replayed(capsys, "a.jsonl")["total"]["skipped"] == 0
    assert replay("--strict", "--open-sessions", "1", "a.jsonl") == 1
    assert "a.jsonl:3: session `s1` appears again after it was closed" in capsys.readouterr().err
    assert replay("--open-sessions", "0", "a.jsonl") == 2


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("none.jsonl", None, "none.jsonl: cannot read the file: no such file or directory"),
        ("folder", "", "folder: this is a folder: name the trace files in it"),
        ("a.jsonl.gz", b"{}\n", "a.jsonl.gz: the name ends with `.gz`, but this is no gzip file"),
        ("a.jsonl.gz", b"", "a.jsonl.gz: the file is empty"),
    ],
)
def test_a_file_that_cannot_be_read_is_a_usage_error_before_anything_is_judged(
    folder: Path, name: str, content: bytes | str | None, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if isinstance(content, bytes):
        (folder / name).write_bytes(content)
    elif content is not None:
        (folder / name).mkdir()
    write(folder / "good.jsonl", record("s"))
    assert replay("good.jsonl", name) == 2
    assert capsys.readouterr() == ("", f"callgate: {said}\n")


@pytest.mark.parametrize("cut", [1, 40])
def test_a_cut_gzip_file_is_judged_as_far_as_it_goes_and_fails(
    folder: Path, cut: int, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = write(folder / "a.jsonl.gz", *[record(f"s{n}", result=os.urandom(64).hex()) for n in range(3000)])
    whole.write_bytes(whole.read_bytes()[:-cut])
    assert replay("a.jsonl.gz") == 2
    told = capsys.readouterr()
    assert "a.jsonl.gz: the file is cut off: its gzip stream has no end" in told.err
    assert "a.jsonl.gz: judged only in part: the file is cut off" in told.out


def test_a_garbled_gzip_file_fails(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = write(folder / "a.jsonl.gz", *[record(f"s{n}", result=os.urandom(64).hex()) for n in range(3000)])
    data = bytearray(whole.read_bytes())
    data[len(data) // 2] ^= 0xFF
    whole.write_bytes(data)
    assert replay("a.jsonl.gz") == 2
    assert "a.jsonl.gz: " in capsys.readouterr().err


def test_an_empty_trace_is_inconclusive(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.jsonl").write_bytes(b"")
    assert replay("a.jsonl") == 3
    assert capsys.readouterr().err == "callgate: there is no record in these traces\n"


def test_a_line_beyond_the_limit_is_skipped_and_what_follows_is_judged(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with (folder / "a.jsonl").open("wb") as file:
        file.write(json.dumps(record("s")).encode() + b"\n")
        for _ in range(100):
            file.write(b"x" * (1 << 20))
        file.write(b"\n" + json.dumps(record("s")).encode() + b"\n")
    assert replay("--format", "json", "a.jsonl") == 0
    told = capsys.readouterr()
    assert told.err == "a.jsonl:2: longer than 64 MiB: skipped\n"
    assert json.loads(told.out)["total"]["calls"] == 2


def test_a_policy_with_a_fault_is_shown_with_its_place(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder / "a.jsonl", record("s"))
    (folder / "p.yaml").write_text(POLICY.replace("exact_repeat", "exact_repeats"))
    assert replay("a.jsonl") == 1
    assert "p.yaml:8:15" in capsys.readouterr().err
    assert main(["replay", "a.jsonl", "--policy", "defualt"]) == 2
    assert "did you mean `default`?" in capsys.readouterr().err


def test_a_manifest_of_the_command_line_is_in_force(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "m.yaml").write_text(
        "apiVersion: callgate/v1\nkind: ToolManifest\nmetadata: {name: m}\n"
        "spec: {tools: {t: {effect: read, waiting: {max_unchanged: 9}}}}\n"
    )
    write(folder / "a.jsonl", *[record("s") for _ in range(4)])
    assert replayed(capsys, "a.jsonl")["total"]["saved"] == 2
    assert replayed(capsys, "a.jsonl", "--manifest", "m.yaml")["total"]["saved"] == 0


class TestDecisions:
    def test_each_decision_is_a_line(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        more = {"time": 3.5, "duration": 0.5, "call_id": "c", "tokens": 7, "round": 1}
        write(folder / "a.jsonl", record("s"), record("s", **more), record("s", seq=9))
        found = replayed(capsys, "a.jsonl", "--decisions", "out.jsonl")
        first, second, third = map(json.loads, (folder / "out.jsonl").read_text().splitlines())
        fingerprint = first["fingerprint"]
        noted = second.pop("notes")
        assert [note["reason"] for note in noted] == ["exact_repeat"]
        assert second == {
            "trace": "a.jsonl", "policy": "mine", "revision": "4", "digest": found["policy"]["digest"],
            "mode": "enforce", "session": "s", "task": "s", "agent": "root", "seq": 2, "round": 1, "call_id": "c",
            "tool": "t", "fingerprint": fingerprint, "key": None, "time": 3.5, "duration": 0.5, "action": "allow",
            "would": None, "code": None, "reasons": [], "evidence": {}, "bindings": [], "lifted": [],
            "grade": "sufficient", "class": None, "gaps": [],
            "gain": 0, "cells": 0, "next": "continue", "proposals": [], "from_cache": False, "stop": None,
            "spent": {"steps": 2.0, "tool_calls": 2.0, "retries": 0.0, "tokens": 7.0, "cost": 0.0},
        }  # fmt: skip
        assert (third["seq"], third["action"], third["reasons"], third["grade"]) == (
            9,
            "refuse",
            ["exact_repeat"],
            None,
        )
        assert third["code"] == "DUPLICATE_TOOL_CALL_BLOCKED"
        assert [path.name for path in folder.iterdir() if path.name.startswith(".")] == []

    def test_a_disk_without_room_leaves_what_was_there_and_nothing_beside_it(self, folder: Path) -> None:
        write(folder / "a.jsonl", *[record(f"s{n}") for n in range(500)])
        (folder / "out.jsonl").write_text("before\n")
        code = "import sys; from callgate.cli.main import main; sys.exit(main(sys.argv[1:]))"
        done = subprocess.run(
            [sys.executable, "-c", code, "replay", "a.jsonl", "--policy", "p.yaml", "--decisions", "out.jsonl"],
            cwd=folder, capture_output=True, text=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000)),
        )  # fmt: skip
        said = "callgate: cannot write `out.jsonl`: file too large\n"
        assert (done.returncode, done.stdout, done.stderr) == (2, "", said)
        assert (folder / "out.jsonl").read_text() == "before\n"
        assert sorted(path.name for path in folder.iterdir()) == ["a.jsonl", "out.jsonl", "p.yaml"]

    @pytest.mark.parametrize(
        ("out", "said"),
        [
            ("/dev/full", "cannot write `/dev/full`: no space left on device"),
            ("no/such/out.jsonl", "cannot write `no/such/out.jsonl`: no such file or directory"),
            (".", "cannot write `.`: it is a folder"),
            ("a.jsonl", "`--decisions` would overwrite the trace `a.jsonl`"),
        ],
    )
    def test_where_it_cannot_be_written_is_said(
        self, folder: Path, out: str, said: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        write(folder / "a.jsonl", record("s"))
        assert replay("a.jsonl", "--decisions", out) == 2
        assert capsys.readouterr() == ("", f"callgate: {said}\n")


def test_the_recorded_data_sets_go_through_without_an_error(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    traces = sorted(str(path) for path in (shared / "traces").glob("*.jsonl.gz"))
    assert main(["replay", *traces, "--policy", "default", "--format", "json", "--strict"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (len(found["files"]), found["total"]["sessions"], found["total"]["calls"]) == (10, 17_026, 122_042)


class TestWhatIsNoTrace:
    @pytest.mark.parametrize(
        ("text", "told"),
        [
            (json.dumps([record("s"), record("s")]), "this is one JSON list, and a trace has a record a line"),
            (json.dumps([record("s")], indent=1), "this is one JSON list, and a trace has a record a line"),
            ("\n [ [1]]", "this is one JSON list, and a trace has a record a line"),
            (json.dumps(record("s"), indent=1), "this is JSON over several lines, and a trace has a record a line"),
        ],
    )
    def test_json_that_is_no_json_lines_is_told_once(
        self, text: str, told: str, folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (folder / "a.jsonl").write_text(text)
        assert replay("a.jsonl") == 2
        out, err = capsys.readouterr()
        assert (err.startswith(f"a.jsonl: {told}: `jq -c "), err.count("\n")) == (True, 1)
        assert "judged only in part" in out

    def test_a_broken_first_line_is_a_broken_line(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        write(folder / "a.jsonl", "[2025-01-01] started", "{broken", record("s"))
        assert replayed(capsys, "a.jsonl")["total"]["skipped"] == 2


def test_a_broken_line_is_told_by_the_line_of_the_file_and_its_column(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(folder / "a.jsonl", record("s"), '{"session": "s" "tool": "t"}')
    assert replay("a.jsonl") == 0
    assert capsys.readouterr().err == "a.jsonl:2: expected `,` or the closing bracket (column 17): skipped\n"


def test_a_trace_is_read_from_standard_input(folder: Path) -> None:
    lines = "".join(json.dumps(record("s")) + "\n" for _ in range(5))
    for data in (lines.encode(), gzip.compress(lines.encode())):
        command = [
            str(Path(sys.executable).with_name("callgate")),
            "replay",
            "--policy",
            "p.yaml",
            "--format",
            "json",
            "-",
        ]
        done = subprocess.run(command, input=data, capture_output=True, cwd=folder, check=True)
        assert done.stderr == b""
        (file,) = json.loads(done.stdout)["files"]
        assert (file["file"], file["calls"], file["broken"]) == ("-", 5, None)


def test_standard_input_is_named_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert replay("-", "-") == 2
    assert capsys.readouterr().err == "callgate: standard input can be read once: name `-` once\n"


@pytest.mark.parametrize("number", ["0", "-1", "1000001", "9" * 30, "-" + "9" * 30, "1e3", "many", "٣", ""])
def test_a_number_of_open_sessions_that_cannot_be_is_a_usage_error(
    number: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert replay(f"--open-sessions={number}", "a.jsonl") == 2
    assert "argument --open-sessions: expected a " in capsys.readouterr().err


def test_every_number_on_a_command_line_has_its_range() -> None:
    folder = Path(main.__code__.co_filename).parent
    bare = [path.name for path in folder.glob("*.py") if re.search(r"type=(int|float)\b", path.read_text("utf-8"))]
    assert bare == []


def test_a_table_that_is_too_wide_is_turned(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder / "a.jsonl", record("s"))
    monkeypatch.setenv("COLUMNS", "50")
    assert replay("a.jsonl") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2:11] == [
        "a.jsonl", "  sessions     1", "  calls        1", "  events       0", "  noted        0", "  touched      0",
        "  stopped      0", "  saved        0", "  skipped      0",
    ]  # fmt: skip
    assert max(map(len, lines[2:])) <= 50
    monkeypatch.setenv("COLUMNS", "120")
    assert replay("a.jsonl") == 0
    assert capsys.readouterr().out.splitlines()[2].split()[:3] == ["trace", "sessions", "calls"]


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_a_byte_order_mark_is_no_part_of_the_first_line(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    write(folder / name, "\ufeff" + json.dumps(record("s")), record("s"))
    found = replayed(capsys, name)
    assert (found["total"]["calls"], found["total"]["skipped"]) == (2, 0)


@pytest.mark.parametrize("data", [b"", b"\xef", b"\xef\xbb\xbf", b"\xef\xbb\xbf{}\n", b"{}\n"])
def test_a_byte_order_mark_is_found_however_few_bytes_come_at_once(data: bytes) -> None:
    class Trickle(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            return super().read(min(1, -1 if size is None else size))

    lines = b"".join(chunk.lines for chunk in chunks(Trickle(data)))
    assert lines == data.removeprefix(b"\xef\xbb\xbf")


@pytest.mark.parametrize("timed", [False, True])
def test_a_file_with_rounds_of_several_agents_is_judged_as_the_run_that_it_records(
    folder: Path, capsys: pytest.CaptureFixture[str], timed: bool
) -> None:
    (folder / "m.yaml").write_text(
        "apiVersion: callgate/v1\nkind: ToolManifest\nmetadata: {name: m}\n"
        "spec: {tools: {check: {effect: read}, edit: {effect: write}}}\n"
    )
    (folder / "t_test.yaml").write_text(
        "apiVersion: callgate/v1\nkind: GuardTest\nmetadata: {name: t, description: d}\n"
        "spec: {policy: mine, trace: a.jsonl, expect: {refusals: 0}}\n"
    )
    calls = [("tester", "check", 1), ("tester", "check", 2), ("coder", "edit", 1), ("tester", "check", 3)]
    write(
        folder / "a.jsonl",
        *[
            record(
                agent,
                tool,
                task="job",
                agent=agent,
                round=number,
                **({"time": at + 1.0, "duration": 0.5} if timed else {}),
            )
            for at, (agent, tool, number) in enumerate(calls)
        ],
    )
    # two equal checks, an edit by somebody else that landed, and the check again: no repeat
    found = replayed(capsys, "a.jsonl", "--manifest", "m.yaml")["total"]
    assert (found["calls"], found["refusals"], found["notes"]) == (4, {}, {"exact_repeat": 1})
    assert main(["test", str(folder)]) == 0
