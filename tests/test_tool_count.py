"""What `check` says about many, heavy, long and unused tool definitions, and what it leaves alone."""

from pathlib import Path

import pytest

from callgate.policy.check import check
from callgate.policy.load import load

POLICY = """\
apiVersion: callgate/v1
kind: GuardPolicy
metadata: {name: desk}
spec:
  extends: [default]
  tools: [desk-tools]
"""
MANIFEST = """\
apiVersion: callgate/v1
kind: ToolManifest
metadata: {name: desk-tools}
spec:
  tools:
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def manifest(count: int, keys: str = "description: Does it., definition_tokens: 100") -> str:
    return MANIFEST + "".join(f"    tool_{number}: {{{keys}}}\n" for number in range(count))


def told(folder: Path, policy: str = POLICY, tools: str = "", settings: str = "") -> list[tuple[str, str, str]]:
    (folder / "policy.yaml").write_text(policy)
    (folder / "tools.yaml").write_text(tools)
    (folder / "callgate.yaml").write_text(settings)
    return [(found.code, found.severity, found.message) for found in check(load(["."]))]


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (15, []),
        (16, [("CG801", "note", "16 tools are in front of the model: up to 15 it keeps apart best")]),
        (30, [("CG801", "note", "30 tools are in front of the model: up to 15 it keeps apart best")]),
        (31, [("CG801", "warning", "31 tools are in front of the model: above 30 it picks the wrong one often")]),
        (49, [("CG801", "warning", "49 tools are in front of the model: above 30 it picks the wrong one often")]),
        (
            50,
            [
                (
                    "CG801",
                    "warning",
                    "50 tools are in front of the model: from 50 on it picks wrong ones and invents names",
                )
            ],
        ),
    ],
)
def test_tools_are_counted_by_tier(folder: Path, count: int, expected: list[tuple[str, str, str]]) -> None:
    assert told(folder, tools=manifest(count)) == expected


def test_the_tiers_are_the_settings(folder: Path) -> None:
    settings = "tools: {few: 1, many: 2, too_many: 3}\n"
    assert [severity for _, severity, _ in told(folder, tools=manifest(2), settings=settings)] == ["note"]
    assert [severity for _, severity, _ in told(folder, tools=manifest(3), settings=settings)] == ["warning"]


def test_names_without_a_definition_are_no_definitions(folder: Path) -> None:
    assert told(folder, tools=manifest(60, "effect: read")) == []


def test_definitions_that_fill_the_window_are_a_warning(folder: Path) -> None:
    settings = "tools: {context_window: 8000}\n"
    eight = manifest(8)
    assert told(folder, tools=eight, settings=settings) == []
    nine = manifest(9)
    assert told(folder, tools=nine, settings=settings) == [
        ("CG802", "warning", "the definitions of 9 tools take about 900 tokens, 11% of a window of 8,000")
    ]


def test_one_long_definition_is_a_warning_at_its_name(folder: Path) -> None:
    tools = manifest(1, "definition_tokens: 1000") + "    long_one: {definition_tokens: 1001}\n"
    (folder / "policy.yaml").write_text(POLICY)
    (folder / "tools.yaml").write_text(tools)
    (found,) = check(load(["."]))
    assert found.code == "CG803"
    assert found.message == "the definition of `long_one` takes about 1,001 tokens"
    assert found.span is not None
    assert (found.span.line, found.span.column) == (7, 5)


def test_a_manifest_that_no_policy_uses_is_a_warning(folder: Path) -> None:
    other = manifest(2).replace("desk-tools", "other-tools")
    assert told(folder, tools=manifest(1) + "---\n" + other) == [
        ("CG804", "warning", "no policy uses the manifest `other-tools`: its 2 tools are guarded by nothing")
    ]


def test_a_policy_without_tools_uses_every_manifest(folder: Path) -> None:
    assert told(folder, policy=POLICY.replace("  tools: [desk-tools]\n", ""), tools=manifest(1)) == []


def test_manifests_alone_are_not_unused(folder: Path) -> None:
    (folder / "tools.yaml").write_text(manifest(1))
    assert check(load(["tools.yaml"])) == []


def test_a_policy_that_another_extends_is_counted_with_that_one(folder: Path) -> None:
    house = POLICY.replace("name: desk", "name: house").replace("  tools: [desk-tools]\n", "")
    policy = house + "---\n" + POLICY.replace("[default]", "[house]")
    assert [code for code, _, _ in told(folder, policy=policy, tools=manifest(16))] == ["CG801"]


def test_a_lint_can_be_switched_off_and_raised(folder: Path) -> None:
    assert told(folder, tools=manifest(16), settings="lints: {CG801: 'off'}\n") == []
    assert [severity for _, severity, _ in told(folder, tools=manifest(16), settings="lints: {CG801: error}\n")] == [
        "error"
    ]


def test_an_error_keeps_its_level(folder: Path) -> None:
    found = told(
        folder, policy=POLICY.replace("default", "defualt"), tools=manifest(1), settings="lints: {CG704: 'off'}\n"
    )
    assert [(code, severity) for code, severity, _ in found] == [("CG704", "error")]


@pytest.mark.parametrize("name", ["many-tools", "heavy-tools", "long-definition", "unused-manifest"])
def test_each_code_has_its_page_and_stands_in_the_index(root: Path, name: str) -> None:
    code = {"many-tools": "CG801", "heavy-tools": "CG802", "long-definition": "CG803", "unused-manifest": "CG804"}[name]
    page = (root / "docs" / "diagnostics" / f"{code}.md").read_text(encoding="utf-8")
    assert page.startswith(f"# {code} {name}\n")
    index = (root / "docs" / "diagnostics.md").read_text(encoding="utf-8")
    assert f"| [{code}](diagnostics/{code}.md) | {name} |" in index
