"""Loading files and folders: what is found, and what is said where nothing or too much is."""

from pathlib import Path

import pytest

from callgate.policy.diagnostics import Diagnostic, Place, Span
from callgate.policy.limits import Limits
from callgate.policy.load import Loaded, load

POLICY = "apiVersion: callgate/v1\nkind: GuardPolicy\nmetadata: {name: NAME}\nspec: {}\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def named(loaded: Loaded) -> list[tuple[str | None, str | None, str]]:
    return [(document.kind, document.name, document.source.file) for document in loaded.documents]


def test_a_folder_is_loaded_whole_in_the_order_of_its_paths(folder: Path) -> None:
    write(folder, {
        "p/b.yaml": POLICY.replace("NAME", "b"),
        "p/a/z.yml": POLICY.replace("NAME", "z") + "---\n" + POLICY.replace("NAME", "y"),
        "p/a/x_test.yaml": "kind: GuardTest\nmetadata: {name: x}\n",
        "p/callgate.yaml": "paths: [p]\n",
        "p/.hidden/c.yaml": POLICY,
        "p/notes.md": "# no policy",
    })  # fmt: skip
    loaded = load(["p"])
    assert loaded.diagnostics == []
    assert named(loaded) == [
        ("GuardTest", "x", "p/a/x_test.yaml"),
        ("GuardPolicy", "z", "p/a/z.yml"),
        ("GuardPolicy", "y", "p/a/z.yml"),
        ("GuardPolicy", "b", "p/b.yaml"),
    ]


def test_a_file_named_twice_is_read_once(folder: Path) -> None:
    write(folder, {"p/a.yaml": POLICY})
    assert len(load(["p", "p/a.yaml", folder / "p"]).documents) == 1


def test_a_missing_file_and_an_empty_folder_are_said(folder: Path) -> None:
    (folder / "empty").mkdir()
    hint = "policies are read from files named `*.yaml` or `*.yml`"
    assert load(["nowhere.yaml", "empty"]).diagnostics == [
        Diagnostic("CG701", "error", "no such file or folder", "nowhere.yaml", None),
        Diagnostic("CG702", "error", "the folder holds no YAML file", "empty", None, hint),
    ]


def test_a_broken_file_hides_no_other(folder: Path) -> None:
    write(folder, {"p/a.yaml": "a: [\n", "p/b.yaml": POLICY})
    (folder / "p/c.yaml").write_bytes(b"a: \xff")
    loaded = load(["p"])
    assert [(d.code, d.file) for d in loaded.diagnostics] == [("CG101", "p/a.yaml"), ("CG107", "p/c.yaml")]
    assert len(loaded.documents) == 1


def test_a_document_without_a_kind_is_a_warning(folder: Path) -> None:
    write(folder, {"a.yaml": "# values\nreplicas: 3\n"})
    hint = "say what it is with `kind:`, or move it out of this folder"
    assert load(["a.yaml"]).diagnostics == [
        Diagnostic("CG110", "warning", "document without a `kind`: it is ignored", "a.yaml", Span(2, 1, 2, 9), hint)
    ]


def test_a_file_without_a_document_is_a_warning(folder: Path) -> None:
    write(folder, {"a.yaml": "# nothing yet\n", "b.yaml": ""})
    assert [(d.code, d.severity, d.file) for d in load(["a.yaml", "b.yaml"]).diagnostics] == [
        ("CG709", "warning", "a.yaml"), ("CG709", "warning", "b.yaml"),
    ]  # fmt: skip


def test_a_document_that_is_no_map_is_an_error(folder: Path) -> None:
    write(folder, {"a.yaml": "- a\n---\ntext\n---\n"})
    assert [(d.code, d.message, d.span) for d in load(["a.yaml"]).diagnostics] == [
        ("CG112", "a document has to be a map, not a list", Span(1, 1, 1, 4)),
        ("CG112", "a document has to be a map, not a single value", Span(3, 1, 3, 5)),
    ]


def test_two_documents_of_one_kind_cannot_share_a_name(folder: Path) -> None:
    write(folder, {"a.yaml": POLICY, "b.yaml": POLICY, "c.yaml": POLICY.replace("GuardPolicy", "ToolManifest")})
    first = Place("the first one", "a.yaml", Span(3, 18, 3, 22))
    assert load(["a.yaml", "b.yaml", "c.yaml"]).diagnostics == [
        Diagnostic(
            "CG706", "error", "a second GuardPolicy named `NAME`", "b.yaml", Span(3, 18, 3, 22),
            "give each its own name", (first,), "/metadata/name",
        )
    ]  # fmt: skip


def test_a_file_beyond_the_cap_is_not_read_whole(folder: Path) -> None:
    write(folder, {"a.yaml": "a: 1\n" * 100})
    loaded = load(["a.yaml"], limits=Limits(bytes=7))
    assert [(d.code, d.span) for d in loaded.diagnostics] == [("CG106", Span(2, 3, 2, 3))]
    assert loaded.sources["a.yaml"].text == "a: 1\na:"


def test_a_pack_is_found_by_its_name(folder: Path) -> None:
    write(folder, {
        "packs/base/policy.yaml": POLICY.replace("NAME", "base"),
        "packs/base/tools.yaml": "kind: ToolManifest\nmetadata: {name: base-tools}\n",
        "packs/base/base_test.yaml": "kind: GuardTest\nmetadata: {name: t}\n",
        "secret/policy.yaml": POLICY.replace("NAME", "../secret"),
        "mine.yaml": POLICY.replace("NAME", "mine"),
    })  # fmt: skip
    loaded = load(["mine.yaml"], packs=[folder / "packs"])
    base = loaded.find("GuardPolicy", "base")
    assert base is not None
    assert (base.source.file, base.source.label) == ("packs/base/policy.yaml", "base/policy.yaml")
    assert loaded.find("ToolManifest", "base-tools") is not None
    assert loaded.find("GuardTest", "t") is None
    assert loaded.find("GuardPolicy", "../secret") is None
    assert loaded.names("GuardPolicy") == ["base", "mine"]
    assert named(loaded) == [("GuardPolicy", "mine", "mine.yaml")]
