"""Opening one policy by file, folder or pack name, and what is said where that cannot be."""

from pathlib import Path

import pytest

from callgate.policy.open import open_policy

HEAD = "apiVersion: callgate/v1\nkind: GuardPolicy\nmetadata: {name: NAME}\nspec:\n"
FULL = HEAD + "  budgets: {steps: 9, tokens: 9}\n  time: {task: 1m}\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("one", "packs/base", "two"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "packs/base/policy.yaml").write_text(FULL.replace("NAME", "base"))
    (tmp_path / "one/p.yaml").write_text(HEAD.replace("NAME", "mine") + "  extends: [base]\n")
    (tmp_path / "one/tools.yaml").write_text(
        "apiVersion: callgate/v1\nkind: ToolManifest\nmetadata: {name: t}\nspec: {tools: {search: {effect: read}}}\n"
    )
    (tmp_path / "two/p.yaml").write_text(FULL.replace("NAME", "a") + "---\n" + FULL.replace("NAME", "b"))
    return tmp_path


def refused(where: str, folder: Path, name: str | None = None) -> str:
    found = open_policy(where, name=name, packs=[folder / "packs"])
    assert found.compiled is None
    lines = []
    for each in found.diagnostics:
        place = each.file + (f":{each.span.line}:{each.span.column}" if each.span else "")
        lines.append(f"{place}: {each.severity}[{each.code}]: {each.message} ({each.hint})")
    return "\n".join(lines)


def test_an_empty_name_is_not_the_current_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder / "one")
    assert open_policy(".", packs=[folder / "packs"]).compiled is not None
    found = open_policy("", packs=[folder / "packs"])
    assert (found.compiled, [each.code for each in found.diagnostics]) == (None, ["CG701"])


@pytest.mark.parametrize(("where", "name"), [("one", None), ("one/p.yaml", None), ("one", "mine")])
def test_a_file_or_folder_is_opened_with_what_it_extends(where: str, name: str | None, folder: Path) -> None:
    opened = open_policy(where, name=name, packs=[folder / "packs"])
    found = opened.resolved
    assert found is not None and opened.compiled is not None and opened.diagnostics == []
    assert opened.compiled.digest == found.digest
    assert (found.name, found.spec) == ("mine", {"budgets": {"steps": 9, "tokens": 9}, "time": {"task": "1m"}})
    assert found.manifest_specs == ({"t": {"tools": {"search": {"effect": "read"}}}} if where == "one" else {})


def test_a_pack_is_opened_by_its_name(folder: Path) -> None:
    compiled = open_policy("base", packs=[folder / "packs"]).compiled
    assert compiled is not None and compiled.name == "base"


def test_one_of_several_is_opened_by_its_name(folder: Path) -> None:
    compiled = open_policy("two", name="b", packs=[folder / "packs"]).compiled
    assert compiled is not None and compiled.name == "b"
    assert refused("two", folder) == "two: error[CG711]: several policies, and none was named (there are `a`, `b`)"
    assert refused("two", folder, "c") == "two: error[CG704]: unknown policy `c` (known here: `a`, `b`, `base`)"


def test_what_is_not_there_is_said(folder: Path) -> None:
    hint = "a policy is a document with `kind: GuardPolicy`"
    assert refused("one/tools.yaml", folder) == f"one/tools.yaml: error[CG711]: no policy ({hint})"
    assert (
        refused("bsae", folder) == "bsae: error[CG701]: no such file or folder, and no such pack (did you mean `base`?)"
    )


def test_a_faulty_policy_is_refused_with_all_its_faults(folder: Path) -> None:
    (folder / "bad.yaml").write_text(FULL.replace("NAME", "bad") + "  modus: warn\n  on_stop: ende\n")
    assert refused("bad.yaml", folder).split("\n") == [
        "bad.yaml:7:3: error[CG201]: unknown key `modus` in `spec` (did you mean `mode`?)",
        "bad.yaml:8:12: error[CG204]: expected one of `final_answer`, `end`, found `ende` (did you mean `end`?)",
    ]


def test_a_faulty_pack_is_refused_too(folder: Path) -> None:
    (folder / "packs/base/policy.yaml").write_text(HEAD.replace("NAME", "base") + "  time: {task: 1}\n")
    assert refused("base", folder).startswith("packs/base/policy.yaml:5:16: error[CG203]: ")
    assert refused("one", folder).startswith("packs/base/policy.yaml:5:16: error[CG203]: ")


def test_a_pack_that_lacks_a_budget_is_refused_when_it_is_run(folder: Path) -> None:
    (folder / "packs/base/policy.yaml").write_text(HEAD.replace("NAME", "base") + "  mode: warn\n")
    assert "error[CG406]" in refused("base", folder)
