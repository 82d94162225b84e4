"""`callgate init` writes a folder that passes its own checks, and never overwrites anything by itself."""

import json
import re
from pathlib import Path

import pytest

from callgate import Gate, _core
from callgate.cli.init import name_for
from callgate.cli.main import main

FILES = {
    "policy.yaml",
    "policy_test.yaml",
    "schema/GuardBinding.json",
    "schema/GuardException.json",
    "schema/GuardPolicy.json",
    "schema/GuardTest.json",
    "schema/ToolManifest.json",
    "tools.yaml",
}


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = main(argv)
    out, err = capsys.readouterr()
    return code, out, err


def texts(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in files}


def test_init_writes_a_policy_its_tools_its_tests_and_the_schemas(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "deep" / "order-desk"
    code, out, err = run(capsys, "init", str(folder))
    assert (code, err) == (0, "")
    assert f"  callgate check {folder} " in out
    assert f"  callgate test {folder} " in out
    assert set(texts(folder)) == FILES
    assert {kind: json.loads(texts(folder)[f"schema/{kind}.json"]) for kind in _core.kinds()} == {
        kind: json.loads(_core.schema(kind)) for kind in _core.kinds()
    }


def test_what_init_writes_is_without_faults(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["init", str(tmp_path / "mine")])
    capsys.readouterr()
    code, out, err = run(capsys, "check", str(tmp_path / "mine"))
    assert (code, out.startswith("no faults in "), err) == (0, True, "")


def test_the_tests_that_init_writes_pass_and_leave_nothing_unasserted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["init", str(tmp_path / "mine")])
    capsys.readouterr()
    code, out, err = run(capsys, "test", str(tmp_path / "mine"))
    assert (code, out.splitlines()[-1], err) == (0, "2 passed", "")
    assert "unasserted" not in out


def test_what_init_writes_can_be_loaded_and_judges(tmp_path: Path) -> None:
    main(["init", str(tmp_path / "mine")])
    gate = Gate.load(tmp_path / "mine")
    assert (gate.policy.name, gate.warnings, sorted(gate.policy.tools)) == (
        "mine",
        (),
        ["search_orders", "send_message"],
    )
    task = gate.task("one")
    message = {"to": "ana@example.com", "text": "It is on its way."}
    verdict = task.admit("send_message", message)
    task.observe(verdict.call_id, result={"sent": True})
    assert task.admit("send_message", message).reasons == ("duplicate_effect",)


def test_every_file_names_a_schema_that_is_there(tmp_path: Path) -> None:
    main(["init", str(tmp_path)])
    for file in ("policy.yaml", "tools.yaml", "policy_test.yaml"):
        named = re.match(r"# yaml-language-server: \$schema=\./(\S+)\n", texts(tmp_path)[file])
        assert named is not None
        assert (tmp_path / named[1]).is_file()


def test_init_overwrites_nothing_and_names_what_is_in_its_way(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine").mkdir()
    Path("mine/tools.yaml").write_text("mine", encoding="utf-8")
    Path("mine/policy.yaml").symlink_to("nowhere")
    assert run(capsys, "init", "mine") == (
        2,
        "",
        (
            "callgate: nothing was written, for these are there already (`--force` overwrites them):\n"
            "  mine/policy.yaml\n  mine/tools.yaml\n"
        ),
    )
    assert texts(tmp_path) == {"mine/tools.yaml": "mine"}


def test_force_overwrites_its_own_files_and_leaves_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["init", str(tmp_path)])
    fresh = texts(tmp_path)
    (tmp_path / "tools.yaml").write_text("changed", encoding="utf-8")
    (tmp_path / "other.txt").write_text("other", encoding="utf-8")
    assert main(["init", "--force", str(tmp_path)]) == 0
    assert texts(tmp_path) == fresh | {"other.txt": "other"}


def test_init_without_a_folder_writes_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["init"]) == 0
    assert set(texts(tmp_path)) == FILES


def test_a_file_where_a_folder_is_wanted_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "file"
    place.write_text("x", encoding="utf-8")
    assert run(capsys, "init", str(place)) == (2, "", f"callgate: `{place}` is a file, and a folder is wanted\n")
    code, out, err = run(capsys, "init", str(place / "below"))
    assert (code, out) == (2, "")
    assert err.startswith("callgate: cannot write ")


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("order-desk", "order-desk"),
        ("Order Desk 2", "order-desk-2"),
        ("default", "my-default"),
        ("true", "my-true"),
        ("2024", "my-2024"),
        ("…", "my-policy"),
    ],
)
def test_the_policy_is_named_after_its_folder_in_a_way_that_yaml_and_packs_allow(folder: str, name: str) -> None:
    assert name_for(Path(folder)) == name


def test_two_starters_in_one_folder_do_not_get_into_each_others_way(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["init", str(tmp_path / "a")])
    main(["init", str(tmp_path / "b")])
    capsys.readouterr()
    code, out, _ = run(capsys, "check", str(tmp_path))
    assert (code, out.startswith("no faults in ")) == (0, True)


def test_the_policy_checked_by_itself_says_in_which_file_its_tools_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(capsys, "init", str(tmp_path / "desk"))
    code, out, _ = run(capsys, "check", str(tmp_path / "desk" / "policy.yaml"))
    assert code == 1
    assert "unknown manifest `desk-tools`" in out
    assert "= help: it is in `tools.yaml` beside this file: name the folder\n" in out


def test_a_layer_in_a_file_beside_is_told_and_a_name_that_merely_stands_in_one_is_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    head = "apiVersion: callgate/v1\nkind: GuardPolicy\nmetadata: {name: NAME}\n"
    (tmp_path / "base.yaml").write_text(head.replace("NAME", "house-rules") + "spec: {extends: [default]}\n")
    (tmp_path / "aaa.yaml").write_text("# house-rules, kind GuardPolicy\n" + head.replace("NAME", "other"))
    (tmp_path / "own.yaml").write_text(head.replace("NAME", "own") + "spec: {extends: [house-rules]}\n")
    _, out, _ = run(capsys, "check", str(tmp_path / "own.yaml"))
    assert "= help: it is in `base.yaml` beside this file: name the folder\n" in out
    (tmp_path / "base.yaml").unlink()
    _, out, _ = run(capsys, "check", str(tmp_path / "own.yaml"))
    assert "unknown policy `house-rules`" in out
    assert "beside this file" not in out
