"""`callgate fmt` through the command: what it writes, what it prints, its exit codes, and that nothing is ever lost."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from callgate.cli.main import main

UGLY = "kind:   GuardPolicy\nspec: {time: {task: 2h},mode: warn}\n"
FINE = "kind: GuardPolicy\nspec: {mode: warn, time: {task: 2h}}\n"
DIFF = """\
--- {file}
+++ {file}
@@ -1,2 +1,2 @@
-kind:   GuardPolicy
-spec: {{time: {{task: 2h}},mode: warn}}
+kind: GuardPolicy
+spec: {{mode: warn, time: {{task: 2h}}}}
"""


def run(capsys: pytest.CaptureFixture[str], *argv: str | Path) -> tuple[int, str, str]:
    code = main(["fmt", *map(str, argv)])
    out, err = capsys.readouterr()
    return code, out, err


def command(*argv: str | Path, text: bytes = b"", **more: object) -> subprocess.CompletedProcess[bytes]:
    line = [Path(sys.executable).with_name("callgate"), "fmt", *argv]
    return subprocess.run(line, input=text, capture_output=True, check=False, **more)  # type: ignore[call-overload,no-any-return]


@pytest.fixture
def ugly(tmp_path: Path) -> Path:
    file = tmp_path / "policy.yaml"
    file.write_text(UGLY, encoding="utf-8")
    return file


def test_a_folder_is_formatted_whole_and_a_second_time_changes_nothing(
    ugly: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (ugly.parent / "deep").mkdir()
    (ugly.parent / "deep" / "other.yml").write_text(FINE, encoding="utf-8")
    told = f"formatted: {ugly.as_posix()}\n1 file formatted, 1 file left as it is\n"
    assert run(capsys, ugly.parent) == (0, told, "")
    assert ugly.read_text(encoding="utf-8") == FINE
    assert run(capsys, ugly.parent) == (0, "0 files formatted, 2 files left as they are\n", "")


def test_check_names_what_would_change_and_writes_nothing(ugly: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = f"would be formatted: {ugly.as_posix()}\n1 file would be formatted, 0 files left as they are\n"
    assert run(capsys, "--check", ugly) == (1, told, "")
    assert ugly.read_text(encoding="utf-8") == UGLY


def test_diff_prints_what_would_change_and_writes_nothing(ugly: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "--diff", ugly) == (1, DIFF.format(file=ugly.as_posix()), "")
    assert ugly.read_text(encoding="utf-8") == UGLY
    ugly.write_text(FINE, encoding="utf-8")
    assert run(capsys, "--diff", ugly) == (0, "", "")


def test_standard_input_goes_formatted_to_standard_output() -> None:
    done = command("-", text=UGLY.replace("\n", "\r\n").encode())
    assert (done.returncode, done.stdout, done.stderr) == (0, FINE.replace("\n", "\r\n").encode(), b"")
    done = command("--diff", "-", text=UGLY.encode())
    assert (done.returncode, done.stdout.decode()) == (1, DIFF.format(file="<stdin>"))
    done = command("--check", "-", text=FINE.encode())
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_standard_input_with_a_fault_prints_the_fault_and_no_text() -> None:
    done = command("-", text=b"kind: [GuardPolicy\n")
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"error[CG101]" in done.stderr


def test_a_faulty_file_is_left_alone_and_the_others_are_formatted(
    ugly: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = ugly.with_name("broken.yaml")
    broken.write_text("kind: GuardPolicy\nx:   1\nx: 2\n", encoding="utf-8")
    code, out, err = run(capsys, ugly.parent)
    assert (code, out) == (1, f"formatted: {ugly.as_posix()}\n1 file formatted, 1 file left as it is\n")
    assert "error[CG102]: duplicate key `x`" in err
    assert broken.read_text(encoding="utf-8") == "kind: GuardPolicy\nx:   1\nx: 2\n"


def test_a_file_of_another_program_is_named_and_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "compose.yaml"
    file.write_text("services:   {}\n", encoding="utf-8")
    code, out, err = run(capsys, file)
    assert (code, out) == (0, "0 files formatted, 1 file left as it is\n")
    assert err == f"callgate: {file.as_posix()} holds no document of callgate: left as it is\n"
    assert file.read_text(encoding="utf-8") == "services:   {}\n"


def test_the_mode_of_a_file_stays_and_a_link_stays_a_link(ugly: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ugly.chmod(0o640)
    link = ugly.with_name("link.yaml")
    link.symlink_to(ugly.name)
    assert run(capsys, link)[0] == 0
    assert link.is_symlink()
    assert ugly.read_text(encoding="utf-8") == FINE
    assert stat.S_IMODE(ugly.stat().st_mode) == 0o640
    assert sorted(path.name for path in ugly.parent.iterdir()) == ["link.yaml", "policy.yaml"]


@pytest.mark.skipif(os.name != "posix", reason="limits on the size of files are POSIX")
def test_a_full_disk_is_told_and_loses_nothing(tmp_path: Path) -> None:
    import resource

    file = tmp_path / "policy.yaml"
    text = "kind: GuardPolicy\n" + "".join(f"k{at}:   1\n" for at in range(2000))
    file.write_text(text, encoding="utf-8")
    done = command(file, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)))
    told = f"callgate: cannot write `{file.as_posix()}`, which is as it was: file too large\n"
    assert (done.returncode, done.stderr.decode()) == (2, told)
    assert file.read_text(encoding="utf-8") == text
    assert [path.name for path in tmp_path.iterdir()] == ["policy.yaml"]


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="nothing forbids root to write")
def test_a_folder_or_file_that_must_not_be_written_is_told_and_loses_nothing(
    ugly: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = f"callgate: cannot write `{ugly.as_posix()}`, which is as it was: permission denied\n"
    ugly.parent.chmod(0o555)
    try:
        assert run(capsys, ugly) == (2, "0 files formatted, 1 file left as it is\n", told)
    finally:
        ugly.parent.chmod(0o755)
    ugly.chmod(0o444)
    assert run(capsys, ugly) == (2, "0 files formatted, 1 file left as it is\n", told)
    assert ugly.read_text(encoding="utf-8") == UGLY


def test_a_file_that_cannot_be_read_keeps_no_other_from_being_formatted(
    ugly: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = ugly.with_name("gone.yaml")
    gone.write_text(UGLY, encoding="utf-8")
    opened = Path.open

    def vanishing(path: Path, *given: Any, **more: Any) -> Any:
        gone.unlink(missing_ok=True)
        return opened(path, *given, **more)

    monkeypatch.setattr(Path, "open", vanishing)
    told = f"callgate: cannot read `{gone.as_posix()}`: no such file or directory\n"
    assert run(capsys, gone, ugly) == (
        2,
        f"formatted: {ugly.as_posix()}\n1 file formatted, 0 files left as they are\n",
        told,
    )
    assert ugly.read_text(encoding="utf-8") == FINE


def test_what_somebody_else_writes_meanwhile_stays(
    ugly: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = os.fsync

    def slow(descriptor: int) -> None:
        ugly.write_text("kind: ToolManifest\n", encoding="utf-8")
        synced(descriptor)

    monkeypatch.setattr(os, "fsync", slow)
    told = f"callgate: `{ugly.as_posix()}` was changed while it was formatted, and is left as it is now\n"
    assert run(capsys, ugly) == (2, "0 files formatted, 1 file left as it is\n", told)
    assert ugly.read_text(encoding="utf-8") == "kind: ToolManifest\n"
    assert [path.name for path in ugly.parent.iterdir()] == ["policy.yaml"]


def test_an_interrupt_leaves_each_file_whole_and_tells_what_was_written(
    ugly: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = ugly.with_name("first.yaml")
    first.write_text(UGLY, encoding="utf-8")
    synced = os.fsync

    def interrupted(descriptor: int) -> None:
        if first.read_text(encoding="utf-8") == FINE:
            raise KeyboardInterrupt
        synced(descriptor)

    monkeypatch.setattr(os, "fsync", interrupted)
    told = f"formatted: {first.as_posix()}\n1 file formatted, 1 file left as it is\n"
    assert run(capsys, ugly.parent) == (130, told, "")
    assert ugly.read_text(encoding="utf-8") == UGLY
    assert sorted(path.name for path in ugly.parent.iterdir()) == ["first.yaml", "policy.yaml"]


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there is no /dev/zero")
def test_a_device_without_an_end_is_too_large(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "--check", "/dev/zero")
    assert (code, err.splitlines()[0]) == (1, "error[CG106]: file is larger than 1,048,576 bytes")


def test_without_a_path_the_paths_of_the_settings_are_formatted(
    ugly: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (ugly.parent / "callgate.yaml").write_text("paths:   [policy.yaml]\n", encoding="utf-8")
    monkeypatch.chdir(ugly.parent)
    assert run(capsys, "--check") == (
        1, "would be formatted: policy.yaml\n1 file would be formatted, 0 files left as they are\n", "",
    )  # fmt: skip
    assert run(capsys, ".")[0] == 0
    assert (ugly.parent / "callgate.yaml").read_text(encoding="utf-8") == "paths: [policy.yaml]\n"


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["no/such.yaml"], "callgate: no such file or folder: `no/such.yaml`\n"),
        (["empty"], "callgate: the folder `empty` holds no YAML file\n"),
        (["-", "x.yaml"], "callgate: `-` goes alone: standard input is formatted to standard output\n"),
        ([], "callgate: name a file or folder to format: `callgate fmt policies`\n"),
    ],
)
def test_what_cannot_be_meant_is_a_usage_error(
    argv: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / ".git").mkdir()  # settings further up are not these ones
    monkeypatch.chdir(tmp_path)
    assert run(capsys, *argv) == (2, "", told)


def test_what_ships_is_formatted(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "--check", root / "policies", root / "python" / "callgate" / "cli" / "starter")
    assert (code, out.splitlines()[-1].split(",")[0]) == (0, "0 files would be formatted")
