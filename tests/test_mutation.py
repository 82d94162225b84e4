"""Mutation of policies: which small mistakes are made, which of them tests notice, and the test that would."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from callgate import _core
from callgate.cli.main import main
from callgate.policy.load import load
from callgate.review.mutants import mutants
from callgate.review.mutation import Mutation
from callgate.testing import run_tests
from callgate.testing.mutate import Draw

POLICY = """\
apiVersion: callgate/v1
kind: GuardPolicy
metadata: {name: pay}
spec:
  tools: [shop]
  undeclared_tools: refuse
  budgets:
    steps: 20
    tokens: {limit: unlimited, reason: none are counted}
  time: {task: 1h}
  rules:
    - {id: ceiling, tools: [pay], when: args.amount > 100 && args.currency == "EUR", action: refuse}
"""
TOOLS = """\
apiVersion: callgate/v1
kind: ToolManifest
metadata: {name: shop}
spec:
  tools:
    pay: &pay
      effect: write
      parameters:
        type: object
        required: [amount, currency]
        properties: {amount: {type: integer, minimum: 0}, currency: {type: string}}
    wire: *pay
"""
TEST = """\
apiVersion: callgate/v1
kind: GuardTest
metadata: {name: one}
spec:
  policy: pay
  steps:
    - {tool: pay, arguments: {amount: 101, currency: EUR}, expect: {action: refuse}}
    - {tool: pay, arguments: {amount: 100, currency: EUR}, expect: {action: allow}}
    - {tool: pay, arguments: {amount: 101, currency: USD}, expect: {action: allow}}
"""


def write(folder: Path, test: str = TEST, policy: str = POLICY) -> Path:
    (folder / "policy.yaml").write_text(policy)
    (folder / "tools.yaml").write_text(TOOLS)
    (folder / "a_test.yaml").write_text(test)
    return folder


def mutated(folder: Path, draw: Draw | None = None) -> Mutation:
    run = run_tests([folder], mutation=draw or Draw())
    assert run.passed, run
    assert run.mutation is not None
    return run.mutation


def changes(folder: Path, file: str) -> list[tuple[str, str, str]]:
    loaded = load([folder])
    [document] = [it for it in loaded.documents if it.source.file.endswith(file)]
    return [(each.what, each.was, each.now) for each in mutants(document)]


@pytest.mark.parametrize(
    ("source", "changed"),
    [
        ("args.n < 5", ["args.n <= 5", "args.n < 4", "args.n < 6"]),
        ("args.n >= 5u", ["args.n > 5u", "args.n >= 4u", "args.n >= 6u"]),
        ('args.a == "x"', ['args.a != "x"']),
        ("args.a || args.b", ["false || args.b", "!(args.a) || args.b", "args.a || false", "args.a || !(args.b)"]),
        ("!has(args.a)", ["!!(has(args.a))"]),
        ("args.a in [\"x\"]", ["!(args.a in [\"x\"])"]),
        # brackets belong to what is in them
        ("(args.a || args.b) && args.c", [
            "(true) && args.c", "(false || args.b) && args.c", "(!(args.a) || args.b) && args.c",
            "(args.a || false) && args.c", "(args.a || !(args.b)) && args.c",
            "(args.a || args.b) && true", "(args.a || args.b) && !(args.c)",
        ]),
        ("args.l.exists(x, x.ok)", ["!(args.l.exists(x, x.ok))", "args.l.exists(x, !(x.ok))"]),
        ("args.a ? args.b : args.c", [
            "!(args.a) ? args.b : args.c", "args.a ? !(args.b) : args.c", "args.a ? args.b : !(args.c)",
        ]),
        ("size(", []),
        ("true", []),
    ],
)  # fmt: skip
def test_an_expression_is_changed_in_small_ways_that_it_can_be_told_from(source: str, changed: list[str]) -> None:
    found = _core.mutate_expression(source)
    assert [source[:start] + with_ + source[end:] for start, end, with_, _ in found] == changed


def test_what_a_policy_says_is_moved_dropped_and_weakened(tmp_path: Path) -> None:
    assert changes(write(tmp_path), "policy.yaml") == [
        ("weakened an action", "refuse", "allow"),
        ("moved a number", "20", "19"),
        ("moved a number", "20", "21"),
        ("moved a duration", "1h", "0h"),
        ("moved a duration", "1h", "2h"),
        ("removed a rule", "ceiling", ""),
        ("dropped a clause", "args.amount > 100", "true"),
        ("flipped a comparison", ">", ">="),
        ("moved a number", "100", "99"),
        ("moved a number", "100", "101"),
        ("dropped a clause", 'args.currency == "EUR"', "true"),
        ("flipped a comparison", "==", "!="),
        ("weakened an action", "refuse", "note"),
    ]


def test_what_no_run_can_show_is_left_alone_and_what_one_can_is_not(tmp_path: Path) -> None:
    times = POLICY.replace("time: {task: 1h}", "time: {tool: 15s, server: 60s, step: 2m, task: 1h}")
    breaker = "effect: write\n      timeout: 15s\n      breaker: {failures: 5, open_for: 30s}"
    write(tmp_path, policy=times)
    (tmp_path / "tools.yaml").write_text(TOOLS.replace("effect: write", breaker))
    moved = [(was, now) for what, was, now in changes(tmp_path, "policy.yaml") if what == "moved a duration"]
    assert moved == [("2m", "1m"), ("2m", "3m"), ("1h", "0h"), ("1h", "2h")]
    assert changes(tmp_path, "tools.yaml") == [
        ("changed the effect", "write", "read"),
        ("moved a number", "5", "4"),
        ("moved a number", "5", "6"),
        ("moved a duration", "30s", "29s"),
        ("moved a duration", "30s", "31s"),
    ]


def test_what_aliases_share_is_changed_once_and_in_all_of_them(tmp_path: Path) -> None:
    assert changes(write(tmp_path), "tools.yaml") == [("changed the effect", "write", "read")]


def test_mutants_that_a_test_fails_under_are_noticed_and_the_others_listed_with_their_place(tmp_path: Path) -> None:
    found = mutated(write(tmp_path))
    survivors = {(each.what, each.was, each.now): (each.file, each.span.line, each.tests) for each in found.survivors}
    policy, tools = str(tmp_path / "policy.yaml"), str(tmp_path / "tools.yaml")
    assert survivors == {
        ("weakened an action", "refuse", "allow"): (policy, 6, 1),
        ("moved a number", "20", "19"): (policy, 8, 1),
        ("moved a number", "20", "21"): (policy, 8, 1),
        ("moved a duration", "1h", "2h"): (policy, 10, 1),
        ("changed the effect", "write", "read"): (tools, 7, 1),
    }
    # a task without any time is refused everything
    assert (found.killed, found.void, found.of) == (9, 0, 14)
    assert found.score == 9 / 14


def test_a_mutant_that_does_not_compile_counts_for_nothing(tmp_path: Path) -> None:
    policy = POLICY.replace("steps: 20", "steps: 20\n    reserve: {tool_calls: 1, for: [pay]}\n    tool_calls: 2")
    found = mutated(write(tmp_path, policy=policy.replace("steps: 20", "steps: {limit: unlimited, reason: none}")))
    assert found.void + found.killed + len(found.survivors) == found.of


def test_it_is_the_same_every_time_and_a_draw_depends_on_its_seed_alone(tmp_path: Path) -> None:
    write(tmp_path)
    assert mutated(tmp_path) == mutated(tmp_path)
    one, again, other = (mutated(tmp_path, Draw(4, seed)) for seed in (1, 1, 2))
    assert one == again
    assert (one.tried, one.of, one.seed) == (4, 14, 1)
    assert (one.killed, one.survivors) != (other.killed, other.survivors)


def test_tests_that_fail_are_no_ground_for_mutants(tmp_path: Path) -> None:
    run = run_tests([write(tmp_path, TEST.replace("action: refuse", "action: allow"))], mutation=Draw())
    assert (run.passed, run.mutation) == (False, None)


def stubs(folder: Path) -> dict[tuple[str, str, str], str]:
    return {(each.what, each.was, each.now): each.stub for each in mutated(folder).survivors}


def test_the_stub_of_a_survivor_passes_under_the_policy_and_notices_the_mutant(tmp_path: Path) -> None:
    without = TEST[: TEST.index("    - {tool: pay, arguments: {amount: 100")]
    write(tmp_path, without)
    before = stubs(tmp_path)
    flip = ("flipped a comparison", ">", ">=")
    assert "amount: 100" in before[flip]
    for change in (flip, ("dropped a clause", 'args.currency == "EUR"', "true")):
        (tmp_path / "more_test.yaml").write_text(before[change])
        run = run_tests([tmp_path])
        assert run.passed, (before[change], run)
        assert change not in stubs(tmp_path)


def test_a_stub_that_nothing_was_found_for_says_what_to_write(tmp_path: Path) -> None:
    (tmp_path / "tools.yaml").write_text(TOOLS)
    (tmp_path / "a_test.yaml").write_text(
        "apiVersion: callgate/v1\nkind: GuardTest\nmetadata: {name: one}\nspec:\n  policy: default\n"
        "  manifests: [shop]\n  steps: [{tool: pay, arguments: {amount: 1, currency: EUR}}]\n  expect: {notes: 0}\n"
    )
    [stub] = stubs(tmp_path).values()
    assert "    # write: no policy among these files uses it\n" in stub


class TestOfTheCommand:
    @pytest.mark.parametrize(("least", "code"), [("5", 0), ("99", 1), ("-1", 2)])
    def test_it_fails_below_a_score(
        self, least: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["test", str(write(tmp_path)), f"--min-score={least}"]) == code
        told = capsys.readouterr()
        assert ("64.2 % of the mutants are noticed, and 99 % are wanted\n" in told.err) == (code == 1)

    def test_it_lists_what_no_test_notices_with_place_change_and_stub(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["test", str(write(tmp_path)), "--mutate"]) == 0
        told = capsys.readouterr().out
        assert f"  {tmp_path}/policy.yaml:8:12  moved a number: `20` to `19`; 1 test does not notice\n" in told
        assert "    kind: GuardTest\n" in told
        assert "\n64.2 % of the mutants are noticed: 9 of 14\n" in told

    def test_json_and_markdown_have_it_too(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        write(tmp_path)
        main(["test", str(tmp_path), "--mutants", "5", "--seed", "3", "--format", "json"])
        told: dict[str, Any] = json.loads(capsys.readouterr().out)["mutation"]
        assert {key: told[key] for key in ("tried", "of", "seed")} == {"tried": 5, "of": 14, "seed": 3}
        assert told["killed"] + told["survived"] + told["void"] == 5
        main(["test", str(tmp_path), "--mutate", "--format", "markdown"])
        assert "\n#### Mutation\n\n64.2 % of the mutants are noticed: 9 of 14\n" in capsys.readouterr().out


BOUND = {
    "policy.yaml": """\
apiVersion: callgate/v1
kind: GuardPolicy
metadata: {name: pay}
spec:
  undeclared_tools: allow
  budgets: {steps: {limit: unlimited, reason: none}, tokens: {limit: unlimited, reason: none}}
  time: {task: {limit: unlimited, reason: none}}
  parameters: {ceiling: {type: number}}
  rules:
    - {id: ceiling, tools: [pay], when: args.amount > params.ceiling, action: refuse}
""",
    "bindings.yaml": """\
apiVersion: callgate/v1
kind: GuardBinding
metadata: {name: acme}
spec: {policy: pay, match: {tenants: [acme]}, parameters: {ceiling: 100}}
---
apiVersion: callgate/v1
kind: GuardBinding
metadata: {name: others}
spec: {policy: pay, match: {tenants: [other]}, mode: enforce, parameters: {ceiling: 5}}
""",
    "a_test.yaml": """\
apiVersion: callgate/v1
kind: GuardTest
metadata: {name: one}
spec:
  tenant: acme
  steps:
    - {tool: pay, arguments: {amount: 101}, expect: {action: refuse}}
    - {tool: pay, arguments: {amount: 100}, expect: {action: allow}}
""",
}


def test_tests_that_run_under_bindings_notice_the_mutants_of_what_is_bound(tmp_path: Path) -> None:
    for name, text in BOUND.items():
        (tmp_path / name).write_text(text)
    found = mutated(tmp_path)
    # of the policy: a removed rule, a flipped comparison, a weaker action; of the binding of `acme` its ceiling
    assert (found.killed, found.void, found.of) == (5, 0, 8)
    left = [(Path(each.file).name, each.pointer, each.was, each.now, each.tests) for each in found.survivors]
    of_others = ("bindings.yaml", "/spec/parameters/ceiling", "5")
    assert left == [
        ("bindings.yaml", "/spec/mode", "enforce", "warn", 1), (*of_others, "4", 1), (*of_others, "6", 1),
    ]  # fmt: skip
    assert found.survivors[0].stub == (
        "apiVersion: callgate/v1\nkind: GuardTest\nmetadata: {name: mode, "
        'description: "line 9: weakened an action: enforce -> warn"}\nspec:\n  tenant: other\n  steps:\n'
        "    # write: a run of those whom the binding names, decided otherwise than with `warn`\n"
        "    - {tool: ..., expect: {action: ...}}\n"
    )


def test_tests_under_bindings_and_tests_that_name_the_policy_notice_together(tmp_path: Path) -> None:
    for name, text in BOUND.items():
        (tmp_path / name).write_text(text.replace("{type: number}", "{type: number, default: 50}"))
    named = BOUND["a_test.yaml"].replace("  tenant: acme", "  policy: pay").replace("name: one", "name: two")
    (tmp_path / "b_test.yaml").write_text(named.replace("101", "51").replace("100", "50"))
    both = mutated(tmp_path)
    (tmp_path / "b_test.yaml").unlink()
    alone = mutated(tmp_path)
    # the default holds where no binding says otherwise
    moved = {("/spec/parameters/ceiling/default", "50", "49"), ("/spec/parameters/ceiling/default", "50", "51")}
    left = [{(each.pointer, each.was, each.now) for each in found.survivors} for found in (alone, both)]
    assert left[0] - left[1] == moved
    assert moved <= left[0]
