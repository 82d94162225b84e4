"""The self-test of policies, through `callgate check` and `Gate.load`: dead, fired, or in want of a test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from callgate import Gate, PolicyError, _core
from callgate.cli.main import main
from callgate.policy.load import load
from callgate.testing.self_test import self_test
from schema_samples import data
from test_compile import PAY, manifest, policy
from test_schema_sense import EXAMPLE

TOOLS = """\
apiVersion: callgate/v1
kind: ToolManifest
metadata: {name: shop}
spec:
  tools:
    pay:
      effect: external
      parameters: {type: object, required: [amount], properties: {amount: {type: integer}}}
"""
HEAD = """\
apiVersion: callgate/v1
kind: GuardPolicy
metadata: {name: desk}
spec:
  extends: [default]
"""
# Nothing in it tells which amount it is about.
RIDDLE = "int(args.amount) * 7919 % 10007 == 4242"
TEST = """\
apiVersion: callgate/v1
kind: GuardTest
metadata: {name: t}
spec:
  policy: desk
  steps:
    - {tool: pay, arguments: {amount: AMOUNT}, expect: {action: ACTION}}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tools.yaml").write_text(TOOLS)
    return tmp_path


def rules(*lines: str) -> str:
    return HEAD + "  rules:\n" + "".join(f"    - {{{line}}}\n" for line in lines)


def codes() -> list[str]:
    return [diagnostic.code for diagnostic in self_test(load(["."]))]


def test_what_contradicts_itself_is_neither_passed_nor_loaded(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = rules("id: never, tools: [pay], when: args.amount > 5 && args.amount < 3, action: refuse")
    (folder / "policy.yaml").write_text(text)
    assert main(["check", "."]) == 1
    assert (
        capsys.readouterr().out
        == """\
error[CG501]: the rule `never` never fires: no number is above 5 and below 3, as `args.amount` has to be
 --> policy.yaml:7:39
  |
7 |     - {id: never, tools: [pay], when: args.amount > 5 && args.amount < 3, action: refuse}
  |                                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  = help: mend its condition, or leave the rule out

1 error in 2 files
"""
    )
    with pytest.raises(PolicyError, match="CG501"):
        Gate.load(folder)


def test_what_neither_a_run_nor_a_test_fires_asks_for_a_test_and_passes(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "policy.yaml").write_text(rules(f"id: riddle, tools: [pay], when: {RIDDLE}, action: refuse"))
    assert main(["check", "."]) == 0
    assert (
        capsys.readouterr().out
        == f"""\
warning[CG502]: no run was found in which the rule `riddle` fires
 --> policy.yaml:7:40
  |
7 |     - {{id: riddle, tools: [pay], when: {RIDDLE}, action: refuse}}
  |                                        {"^" * len(RIDDLE)}
  = help: write a `GuardTest` that shows it

1 warning in 2 files
"""
    )
    assert Gate.load(folder).warnings == ()


# (n * 7919) % 10007 == 4242 has one solution below 10007, found by trying all of them
SOLUTION = next(number for number in range(10_007) if number * 7919 % 10_007 == 4242)


def test_a_test_that_fires_it_is_enough_and_one_that_does_not_is_nothing(folder: Path) -> None:
    (folder / "policy.yaml").write_text(rules(f"id: riddle, tools: [pay], when: {RIDDLE}, action: refuse"))
    test = folder / "desk_test.yaml"
    test.write_text(TEST.replace("AMOUNT", str(SOLUTION + 1)).replace("ACTION", "allow"))
    assert codes() == ["CG502"]
    test.write_text(TEST.replace("AMOUNT", str(SOLUTION)).replace("ACTION", "refuse"))
    assert codes() == []


def test_a_test_of_another_policy_shows_nothing(folder: Path) -> None:
    (folder / "policy.yaml").write_text(rules(f"id: riddle, tools: [pay], when: {RIDDLE}, action: refuse"))
    test = TEST.replace("AMOUNT", str(SOLUTION)).replace("ACTION", "allow").replace("policy: desk", "policy: default")
    (folder / "desk_test.yaml").write_text(test)
    assert codes() == ["CG502"]


def test_a_test_of_a_policy_that_builds_on_it_counts(folder: Path) -> None:
    (folder / "policy.yaml").write_text(rules(f"id: riddle, tools: [pay], when: {RIDDLE}, action: refuse"))
    above = HEAD.replace("name: desk", "name: above").replace("[default]", "[desk]") + "  budgets: {steps: 9}\n"
    (folder / "above.yaml").write_text(above)
    test = TEST.replace("AMOUNT", str(SOLUTION)).replace("ACTION", "refuse").replace("policy: desk", "policy: above")
    (folder / "desk_test.yaml").write_text(test)
    assert codes() == []


def test_a_policy_answers_for_what_it_writes_and_not_for_what_it_inherits(folder: Path) -> None:
    # no tool of the shop is a read, a transfer or has a state, and `default` has rungs for all of them
    (folder / "policy.yaml").write_text(HEAD + "  budgets: {tool_calls: 4}\n")
    assert codes() == []
    (folder / "policy.yaml").write_text(HEAD + "  detectors: {transfer_streak: {refuse_after: 3}}\n")
    [found] = self_test(load(["."]))
    said = "no run was found in which `refuse_after` of `transfer_streak` refuses"
    why = "only tools with `transfer: true` feed it"
    assert (found.code, found.severity, found.message) == ("CG502", "warning", f"{said}: {why}")


def test_an_inherited_limit_that_a_layer_makes_unreachable_is_no_fault_of_that_layer(folder: Path) -> None:
    (folder / "policy.yaml").write_text(HEAD + "  budgets: {tool_calls: 9, calls_per_tool: {pay: 6}}\n")
    above = HEAD.replace("name: desk", "name: above").replace("[default]", "[desk]") + "  budgets: {tool_calls: 4}\n"
    (folder / "above.yaml").write_text(above)
    assert Gate.load(folder, policy="above").policy.limits[1] == ("tool_calls", 4.0)
    (folder / "above.yaml").write_text(above.replace("tool_calls: 4", "tool_calls: 4, calls_per_tool: {pay: 5}"))
    with pytest.raises(PolicyError, match=r"CG501.*`calls_per_tool.pay` is never reached: 5 calls, of 4 in all"):
        Gate.load(folder, policy="above")


def told(**spec: Any) -> list[tuple[str, str]]:
    document = policy(**spec)
    _, faults = _core.compile_policy(document, [manifest(pay=PAY)])
    found = [(fault.code, fault.severity) for _, fault in faults]
    probes = _core.self_test(document, document, [manifest(pay=PAY)])
    return found or [("CG502", "warning") for probe in probes if not probe.fires]


@pytest.mark.parametrize(
    ("code", "severity"), [("CG501", "error"), ("CG502", "warning"), ("CG503", "warning"), ("CG504", "warning")]
)
def test_the_wrong_rules_of_a_page_have_that_fault_and_the_right_ones_none(
    root: Path, code: str, severity: str
) -> None:
    page = (root / "docs" / "diagnostics" / f"{code}.md").read_text(encoding="utf-8")
    found = {label: told(**data(example)) for label, _, _, example in EXAMPLE.findall(page)}
    assert found == {"Wrong": [(code, severity)], "Right": []}


def test_every_guard_of_every_shipped_pack_is_fired_by_a_run_or_a_test(root: Path) -> None:
    packs = [path for path in (root / "policies").iterdir() if path.is_dir()]
    assert {pack.name: self_test(load([pack])) for pack in packs} == {pack.name: [] for pack in packs}
