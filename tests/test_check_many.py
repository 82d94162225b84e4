"""Thousands of documents and faults: the work grows with them, not with their pairs. Counted, never timed."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from callgate import _core
from callgate.policy import check as checking
from callgate.policy import load as loading
from callgate.policy import resolve as resolving
from callgate.policy.check import check
from callgate.policy.load import load

HEAD = "apiVersion: callgate/v1\nkind: {}\nmetadata: {{name: {}}}\nspec:\n"
TEST = "  policy: {}\n  steps: [{{tool: f}}]\n  expect: {{notes: 0}}\n"
FULL = "  budgets: {steps: 9, tokens: 9}\n  time: {task: 1m}\n"


def write(path: Path, *documents: str) -> Path:
    path.write_text("---\n".join(documents), encoding="utf-8")
    return path


def test_the_policy_of_many_tests_is_resolved_and_compiled_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: Counter[str] = Counter()

    def counted(name: str, function: Any) -> Any:
        def call(*arguments: Any, **named: Any) -> Any:
            calls[name] += 1
            return function(*arguments, **named)

        return call

    monkeypatch.setattr(resolving._Resolver, "run", counted("resolve", resolving._Resolver.run))
    monkeypatch.setattr(checking, "compile_policy", counted("compile", checking.compile_policy))
    write(tmp_path / "p.yaml", HEAD.format("GuardPolicy", "mine") + FULL)
    tests = [HEAD.format("GuardTest", f"t{at}") + TEST.format("mine") for at in range(200)]
    write(tmp_path / "a_test.yaml", *tests)
    assert check(load([tmp_path])) == []
    assert calls == {"resolve": 1, "compile": 1}


def test_names_are_looked_up_and_not_searched_for(tmp_path: Path) -> None:
    class Watched(list[loading.Document]):
        walks = 0

        def __iter__(self) -> Any:
            Watched.walks += 1
            return super().__iter__()

    policies = [HEAD.format("GuardPolicy", f"p{at}") + FULL for at in range(300)]
    tests = [HEAD.format("GuardTest", f"t{at}") + TEST.format(f"p{at}") for at in range(300)]
    write(tmp_path / "p.yaml", *policies)
    write(tmp_path / "a_test.yaml", *tests)
    loaded = load([tmp_path])
    loaded.documents = Watched(loaded.documents)
    assert check(loaded) == []
    assert Watched.walks < 10


def test_the_nearest_name_is_looked_for_as_often_as_anybody_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    monkeypatch.setattr(loading, "did_you_mean", lambda name, known: asked.append(name))
    for at in range(150):
        write(tmp_path / f"t{at}_test.yaml", HEAD.format("GuardTest", f"t{at}") + TEST.format(f"nowhere{at}"))
    found = check(load([tmp_path]))
    assert ([each.code for each in found], len(asked)) == (["CG704"] * 150, loading.MOST_HINTS)
    hints = Counter(each.hint for each in found)
    assert hints["`metadata.name` of a document is its name"] == 50


def test_of_many_known_names_the_first_are_shown(tmp_path: Path) -> None:
    manifests = [HEAD.format("ToolManifest", f"m{at:02}") + "  tools: {}\n" for at in range(30)]
    policy = HEAD.format("GuardPolicy", "mine") + FULL + "  tools: [zzzzzz]\n"
    write(tmp_path / "p.yaml", policy, *manifests)
    (found,) = [each for each in check(load([tmp_path])) if each.code == "CG708"]
    assert found.hint == "known here: " + ", ".join(f"`m{at:02}`" for at in range(12)) + ", and 18 more"


def test_a_chain_of_policies_ends_in_a_fault_and_not_in_a_fault_of_ours(tmp_path: Path) -> None:
    chain = [HEAD.format("GuardPolicy", f"p{at}") + f"  extends: [p{at + 1}]\n" for at in range(1200)]
    write(tmp_path / "p.yaml", *chain, HEAD.format("GuardPolicy", "p1200") + FULL)
    found = check(load([tmp_path]))
    message = "`extends` leads through more than 64 policies, one below the other"
    told = Counter((each.code, each.message) for each in found)
    assert told == {("CG106", message): 101, ("CG106", "1,035 further faults are not shown"): 1}


def test_sixty_four_layers_are_fine(tmp_path: Path) -> None:
    chain = [HEAD.format("GuardPolicy", f"p{at}") + f"  extends: [p{at + 1}]\n" for at in range(64)]
    write(tmp_path / "p.yaml", *chain, HEAD.format("GuardPolicy", "p64") + FULL)
    assert check(load([tmp_path])) == []


def test_thousands_of_misspelt_tools_get_a_hint_as_far_as_reports_show_them() -> None:
    tools = {f"tool_{at}": {"effect": "read"} for at in range(300)}
    manifest = {
        "apiVersion": "callgate/v1",
        "kind": "ToolManifest",
        "metadata": {"name": "m"},
        "spec": {"tools": tools},
    }
    limits = {f"tol_{at}": 1 for at in range(300)}
    spec = {"budgets": {"steps": 9, "tokens": 9, "calls_per_tool": limits}, "time": {"task": "1m"}}
    policy = {"apiVersion": "callgate/v1", "kind": "GuardPolicy", "metadata": {"name": "p"}, "spec": spec}
    _, faults = _core.compile_policy(policy, [("m", manifest)])
    hints = [fault.hint for _, fault in faults if fault.code == "CG421"]
    assert (len(hints), hints[0], sum(hint is not None for hint in hints)) == (300, "did you mean `tool_0`?", 100)
