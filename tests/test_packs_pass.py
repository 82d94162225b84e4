"""The shipped packs are without faults, pass their own tests, and nothing in them is left without one."""

import re
from pathlib import Path

import pytest
import yaml

from callgate.cli.main import main

# Those that say what the tools of a family do have a manifest of their own name.
FAMILIES = ["browser", "control", "files", "http", "mail", "shell", "sql", "tickets", "web-search"]
PACKS = sorted([*FAMILIES, "coding-agent", "default", "order-lookup", "payments", "procurement", "strict"])


def test_the_packs_are_the_folders_of_policies(root: Path) -> None:
    folders = sorted(path.name for path in (root / "policies").iterdir() if path.is_dir())
    assert folders == PACKS


def test_the_packs_are_checked_without_an_error_or_a_warning(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["check", str(root / "policies")])
    assert (code, capsys.readouterr().out[:13]) == (0, "no faults in ")


def test_the_packs_pass_their_own_tests(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["test", str(root / "policies")])
    out = capsys.readouterr().out
    assert code == 0, out
    assert re.search(r"^\d{3} passed$", out, re.MULTILINE)


@pytest.mark.parametrize("pack", PACKS)
def test_each_pack_has_a_policy_tests_and_a_page_that_the_index_names(root: Path, pack: str) -> None:
    folder = root / "policies" / pack
    assert (folder / "policy.yaml").is_file()
    assert list((folder / "tests").glob("*_test.yaml"))
    assert (folder / "README.md").read_text(encoding="utf-8").startswith(f"# The pack `{pack}`\n")
    assert f"({pack}/README.md)" in (root / "policies" / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("pack", FAMILIES)
def test_the_page_of_a_family_names_each_of_its_tools_and_says_how_they_are_used(root: Path, pack: str) -> None:
    tools = yaml.safe_load((root / "policies" / pack / "tools.yaml").read_text(encoding="utf-8"))["spec"]["tools"]
    page = (root / "policies" / pack / "README.md").read_text(encoding="utf-8")
    assert {name for name in tools if f"`{name}`" not in page} == set()
    assert f"({pack}/README.md)" in (root / "docs" / "packs.md").read_text(encoding="utf-8").replace("../policies/", "")


def test_no_two_families_declare_one_tool(root: Path) -> None:
    owners: dict[str, list[str]] = {}
    for pack in FAMILIES:
        manifest = yaml.safe_load((root / "policies" / pack / "tools.yaml").read_text(encoding="utf-8"))
        for tool in manifest["spec"]["tools"]:
            owners.setdefault(tool, []).append(pack)
    assert {tool: packs for tool, packs in owners.items() if len(packs) > 1} == {}
    assert len(owners) > 100


def test_each_detector_of_default_fires_in_a_test_of_the_pack(root: Path) -> None:
    policy = (root / "policies" / "default" / "policy.yaml").read_text(encoding="utf-8")
    block = policy.partition("\n  detectors:\n")[2].partition("\n  ladder:")[0]
    detectors = set(re.findall(r"^    (\w+): \{", block, re.MULTILINE))
    # evidence only: no rung is written, so nothing of them fires
    detectors -= {"frequency", "diversity"}
    reason = {"repeated_effect": "duplicate_effect"}
    tests = [path.read_text(encoding="utf-8") for path in (root / "policies" / "default" / "tests").glob("*_test.yaml")]
    fired = {
        name
        for text in tests
        for names in re.findall(r"(?:reasons|notes): \[([^\]]*)\]", text)
        for name in names.split(", ")
    }
    assert {reason.get(detector, detector) for detector in detectors} - fired == set()
