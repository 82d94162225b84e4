"""Tools that extend others: what they inherit, what they replace, and what is told where that cannot be."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from callgate import Gate
from callgate.policy.open import open_policy

TOOLS: dict[str, Any] = {
    "bash": {"effect": "unknown", "forms": [{"when": 'args.command == "ls"', "effect": "read"}], "parameters": {}},
    "mine": {"extends": "bash"},
    "its": {"extends": "mine", "effect": "external", "forms": []},
}


def written(room: Path, tools: dict[str, Any], further: dict[str, Any] | None = None) -> Path:
    """A policy with its manifests, each in a file."""
    head = {"apiVersion": "callgate/v1"}
    policy = {**head, "kind": "GuardPolicy", "metadata": {"name": "p"}, "spec": {"extends": ["default"]}}
    documents = [policy]
    for name, each in (("tools", tools), ("further", further)):
        if each is not None:
            documents.append({**head, "kind": "ToolManifest", "metadata": {"name": name}, "spec": {"tools": each}})
    for position, document in enumerate(documents):
        (room / f"{position}.yaml").write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
    return room


def actions(room: Path, tool: str) -> list[str]:
    """What comes of one look that is made four times and always brings the same."""
    task = Gate.load(room).task("t")
    found = []
    for _ in range(4):
        verdict = task.admit(tool, {"command": "ls"})
        found.append(verdict.action)
        if verdict.allowed:
            task.observe(verdict.call_id, result="a.py")
    return found


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        ("bash", ["allow", "allow", "allow", "reuse"]),  # a read is answered from its last result
        ("mine", ["allow", "allow", "allow", "reuse"]),
        ("its", ["allow", "refuse", "refuse", "stop"]),  # something external is not done twice
    ],
)
def test_a_tool_has_the_keys_of_the_one_that_it_extends_where_it_writes_none(
    tool: str, expected: list[str], tmp_path: Path
) -> None:
    assert actions(written(tmp_path, TOOLS), tool) == expected


def test_the_tool_that_is_extended_may_stand_in_another_manifest(tmp_path: Path) -> None:
    room = written(tmp_path, {"mine": {"extends": "bash"}}, {"bash": TOOLS["bash"]})
    assert actions(room, "mine") == ["allow", "allow", "allow", "reuse"]


def test_a_tool_that_is_nowhere_is_told_with_its_place_and_the_nearest_name(tmp_path: Path) -> None:
    (diagnostic,) = open_policy(written(tmp_path, {**TOOLS, "yours": {"extends": "bsh"}})).diagnostics
    assert (diagnostic.code, diagnostic.severity, diagnostic.pointer) == ("CG421", "error", "/spec/tools/yours/extends")
    assert (diagnostic.message, diagnostic.hint) == (
        "`bsh` is no tool of the manifests in force",
        "did you mean `bash`?",
    )


def test_a_circle_is_told_at_each_of_its_tools(tmp_path: Path) -> None:
    found = open_policy(written(tmp_path, {"a": {"extends": "b"}, "b": {"extends": "a"}})).diagnostics
    assert [(each.code, each.pointer, each.message) for each in found] == [
        ("CG416", "/spec/tools/a/extends", "`extends` goes round in a circle: `a` → `b` → `a`"),
        ("CG416", "/spec/tools/b/extends", "`extends` goes round in a circle: `b` → `a` → `b`"),
    ]
