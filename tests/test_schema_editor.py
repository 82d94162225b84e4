"""Schemas as editors use them: all is described, the modeline leads to them, and a folder of them stays current."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from callgate import _core
from callgate.cli.main import main

MODELINE = re.compile(r"# yaml-language-server: \$schema=(\S+)\n")


def parts(schema: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every part of a schema with where it stands."""
    if isinstance(schema, dict):
        yield path, schema
        for name, inner in schema.items():
            yield from parts(inner, f"{path}/{name}")
    elif isinstance(schema, list):
        for at, inner in enumerate(schema):
            yield from parts(inner, f"{path}/{at}")


@pytest.mark.parametrize("kind", _core.kinds())
def test_an_editor_has_something_to_say_of_every_key_and_every_word(kind: str) -> None:
    silent = []
    for path, part in parts(json.loads(_core.schema(kind))):
        for name, inner in (part.get("properties") or {}).items():
            if not (isinstance(inner, dict) and inner.get("description")):
                silent.append(f"{path}/properties/{name}")
        if "const" in part and not part.get("description"):
            silent.append(path)
    assert silent == []


@pytest.mark.parametrize("kind", _core.kinds())
def test_every_reference_of_a_schema_leads_somewhere_inside_it(kind: str) -> None:
    schema = json.loads(_core.schema(kind))
    names = {part["$ref"].removeprefix("#/$defs/") for _, part in parts(schema) if isinstance(part.get("$ref"), str)}
    assert names <= schema["$defs"].keys()


@pytest.mark.parametrize("kind", _core.kinds())
def test_keys_stand_in_a_schema_in_the_order_in_which_they_are_written(kind: str) -> None:
    schema = json.loads(_core.schema(kind))
    root = schema["$defs"].get(kind, schema)
    assert list(root["properties"])[:4] == ["apiVersion", "kind", "metadata", "spec"]


def test_the_modeline_of_each_file_that_init_writes_leads_to_the_schema_of_its_kind(tmp_path: Path) -> None:
    assert main(["init", str(tmp_path)]) == 0
    found = {}
    for file in tmp_path.glob("*.yaml"):
        text = file.read_text(encoding="utf-8")
        (target,) = MODELINE.findall(text)
        kind = re.search(r"^kind: (\w+)$", text, re.MULTILINE)
        assert kind is not None
        found[file.name] = kind[1]
        schema = (file.parent / target).read_text(encoding="utf-8")
        assert schema == _core.schema(kind[1])
    assert found == {"policy.yaml": "GuardPolicy", "policy_test.yaml": "GuardTest", "tools.yaml": "ToolManifest"}


def test_a_folder_of_schemas_is_compared_and_brought_up_to_date(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "deep" / "schema"
    assert main(["schema", "--write", str(folder)]) == 0
    assert main(["schema", "--check", str(folder)]) == 0
    assert capsys.readouterr().out == "5 schemas written\n5 schemas are up to date\n"
    (folder / "GuardTest.json").write_text("{}", encoding="utf-8")
    (folder / "GuardPolicy.json").unlink()
    assert main(["schema", "--check", str(folder)]) == 1
    out, err = capsys.readouterr()
    assert out.splitlines() == [
        f"{folder}/GuardPolicy.json: no such file or directory",
        f"{folder}/GuardTest.json: of another version of callgate",
    ]
    assert f"callgate schema --write {folder}" in err
    assert main(["schema", "--write", str(folder)]) == 0
    assert main(["schema", "--check", str(folder)]) == 0


@pytest.mark.parametrize(
    "argv", [[], ["GuardPolicy", "--check", "x"], ["--check", "a", "--write", "b"], ["--check", "no-such"]], ids=str
)
def test_one_thing_is_asked_for_at_a_time(
    argv: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["schema", *argv]) == 2
    assert capsys.readouterr().out == ""
    assert list(tmp_path.iterdir()) == []
