"""What a policy says with everything that it extends: merging, locked keys, where each value came from."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from callgate.policy.diagnostics import Diagnostic, Place, Span
from callgate.policy.load import load
from callgate.policy.resolve import Resolved, resolve

HEAD = "apiVersion: callgate/v1\nkind: GuardPolicy\nmetadata: {name: NAME}\nspec:\n"  # the spec begins in line 5


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def resolved(folder: Path, **layers: str) -> Resolved:
    """The policy `mine` over the others, each written as the lines of its spec."""
    for name, spec in layers.items():
        lines = "".join(f"  {line}\n" for line in spec.strip("\n").split("\n"))
        (folder / f"{name}.yaml").write_text(HEAD.replace("NAME", name) + lines, encoding="utf-8")
    loaded = load([f"{name}.yaml" for name in layers], packs=[])
    assert loaded.diagnostics == []
    mine = loaded.find("GuardPolicy", "mine")
    assert mine is not None
    return resolve(loaded, mine)


def spec(folder: Path, **layers: str) -> Any:
    found = resolved(folder, **layers)
    assert found.diagnostics == []
    return found.spec


def faults(folder: Path, **layers: str) -> list[tuple[str, str, str, Span | None]]:
    return [(d.code, d.message, d.file, d.span) for d in resolved(folder, **layers).diagnostics]


def test_maps_merge_by_key(folder: Path) -> None:
    assert spec(
        folder,
        base="budgets: {steps: 9, depth: 3}\nmode: warn",
        mine="extends: [base]\nbudgets: {steps: 4}\non_stop: end",
    ) == {"budgets": {"steps": 4, "depth": 3}, "mode": "warn", "on_stop": "end"}


def test_lists_replace(folder: Path) -> None:
    assert spec(
        folder, base="budgets: {notes_at: [0.8, 0.95]}", mine="extends: [base]\nbudgets: {notes_at: [0.5]}"
    ) == {"budgets": {"notes_at": [0.5]}}


def test_rules_and_needs_merge_by_id(folder: Path) -> None:
    base = """
rules:
  - {id: a, when: args.x, action: refuse}
  - {id: b, when: args.y, action: note, tools: [t, u]}
needs:
  - {id: n, from: [t]}
"""
    mine = """
extends: [base]
rules:
  - {id: c, when: args.z, action: ask}
  - {id: b, action: ask, tools: [v]}
needs:
  - {id: n, min_records: 2}
"""
    assert spec(folder, base=base, mine=mine) == {
        "rules": [
            {"id": "a", "when": "args.x", "action": "refuse"},
            {"id": "b", "when": "args.y", "action": "ask", "tools": ["v"]},
            {"id": "c", "when": "args.z", "action": "ask"},
        ],
        "needs": [{"id": "n", "from": ["t"], "min_records": 2}],
    }


def test_invariants_merge_by_id(folder: Path) -> None:
    for name, lines in {
        "base": "spec: {}\nverification: {invariants: [{id: i, assert: a, description: d}]}\n",
        "mine": "spec: {extends: [base]}\nverification: {invariants: [{id: j, assert: b}, {id: i, assert: c}]}\n",
    }.items():
        (folder / f"{name}.yaml").write_text(HEAD.replace("NAME", name).replace("spec:\n", lines), encoding="utf-8")
    loaded = load(["base.yaml", "mine.yaml"], packs=[])
    mine = loaded.find("GuardPolicy", "mine")
    assert mine is not None
    assert resolve(loaded, mine).document == {
        "apiVersion": "callgate/v1",
        "kind": "GuardPolicy",
        "metadata": {"name": "mine"},
        "spec": {},
        "verification": {
            "invariants": [{"id": "i", "assert": "c", "description": "d"}, {"id": "j", "assert": "b"}],
        },
    }


def test_null_takes_back_what_is_inherited(folder: Path) -> None:
    assert spec(
        folder,
        base="detectors: {cycle: {laps: 3}, same_error: {note_after: 3, refuse_after: 5}}\nmode: warn",
        mine="extends: [base]\ndetectors: {cycle: null, same_error: {note_after: ~}}\nmode: null",
    ) == {"detectors": {"same_error": {"refuse_after": 5}}}


def test_null_is_a_value_inside_constants_and_parameter_schemas(folder: Path) -> None:
    assert spec(
        folder,
        base="constants: {table: {a: 1}, b: 2}\nparameters: {p: {type: string}}",
        mine="extends: [base]\nconstants: {table: {a: null}, b: null}\nparameters: {p: {default: null}}",
    ) == {"constants": {"table": {"a": None}}, "parameters": {"p": {"type": "string", "default": None}}}


def test_a_layer_shared_by_two_others_is_lowest(folder: Path) -> None:
    assert spec(
        folder,
        base="budgets: {steps: 9, depth: 3, retries: 1}",
        tight="extends: [base]\nbudgets: {steps: 2}",
        wide="extends: [base]\nbudgets: {depth: 5}",
        mine="extends: [tight, wide]",
    ) == {"budgets": {"steps": 2, "depth": 5, "retries": 1}}


def test_a_refusal_below_an_inherited_note_pulls_it_down(folder: Path) -> None:
    found = resolved(
        folder,
        base="detectors:\n  same_result: {note_after: 5, refuse_after: 6}\n  same_error: {note_after: 3}",
        mine="extends: [base]\ndetectors:\n  same_result: {refuse_after: 2}\n  same_error: {refuse_after: 4}",
    )
    assert found.spec == {
        "detectors": {
            "same_result": {"note_after": 2, "refuse_after": 2},
            "same_error": {"note_after": 3, "refuse_after": 4},
        }
    }
    assert str(found.origin(("spec", "detectors", "same_result", "note_after"))) == "mine.yaml:7, pulled down from 5"
    assert str(found.origin(("spec", "detectors", "same_error", "note_after"))) == "base.yaml:7"


def test_a_note_written_beside_the_refusal_is_left_alone(folder: Path) -> None:
    """The contradiction is a fault of that file, which the core reports."""
    assert spec(
        folder,
        base="detectors: {same_error: {note_after: 3}}",
        mine="extends: [base]\ndetectors: {same_error: {note_after: 5, refuse_after: 4}}",
    ) == {"detectors": {"same_error": {"note_after": 5, "refuse_after": 4}}}


def test_a_note_above_an_inherited_refusal_is_never_reached(folder: Path) -> None:
    found = resolved(
        folder,
        base="detectors:\n  same_error: {note_after: 2, refuse_after: 3}\n  same_result: {note_after: 2}",
        mine="extends: [base]\ndetectors:\n  same_error: {note_after: 4}\n  same_result: {note_after: 9}",
    )
    assert found.diagnostics == [
        Diagnostic(
            "CG401", "error", "`note_after` of `same_error` is never reached: it refuses after 3 already", "mine.yaml",
            Span(7, 30, 7, 31), "write `note_after` at most 3, or a `refuse_after` of at least 4 beside it",
            (Place("refuses after 3", "base.yaml", Span(6, 47, 6, 48)),), "/spec/detectors/same_error/note_after",
        )
    ]  # fmt: skip


def test_a_note_for_one_tool_above_the_refusal_for_all_is_never_reached(folder: Path) -> None:
    assert faults(
        folder,
        base="detectors: {same_error: {refuse_after: 3}}",
        mine="extends: [base]\ndetectors:\n  for: {t: {same_error: {note_after: 4}}}",
    ) == [
        (
            "CG401", "`note_after` of `same_error` is never reached: it refuses after 3 already", "mine.yaml",
            Span(7, 40, 7, 41),
        )
    ]  # fmt: skip


def test_a_refusal_for_one_tool_pulls_down_the_note_for_all(folder: Path) -> None:
    assert spec(
        folder,
        base="detectors: {empty_streak: {note_after: 3, refuse_after: 5}}",
        mine="extends: [base]\ndetectors:\n"
        "  for: {t: {empty_streak: {refuse_after: 1}}, u: {empty_streak: {refuse_after: 9}}}",
    ) == {
        "detectors": {
            "empty_streak": {"note_after": 3, "refuse_after": 5},
            "for": {
                "t": {"empty_streak": {"note_after": 1, "refuse_after": 1}},
                "u": {"empty_streak": {"refuse_after": 9}},
            },
        }
    }


def test_a_preset_takes_the_place_of_inherited_budgets_that_it_stands_for(folder: Path) -> None:
    assert spec(
        folder,
        base="budgets: {steps: 500, tokens: 1, depth: 3}\ntime: {task: 2h, step: 1m}",
        mine="extends: [base]\nbudgets: {preset: medium, tokens: 7}",
    ) == {"budgets": {"preset": "medium", "tokens": 7, "depth": 3}, "time": {"step": "1m"}}


def test_every_value_knows_its_file_and_line(folder: Path) -> None:
    found = resolved(
        folder,
        base="mode: warn\nrules:\n  - id: a\n    when: args.x\n    action: note",
        mine="extends: [base]\nrules:\n  - {id: b, when: args.y}\n  - {id: a,\n     action: ask}",
    )
    assert {
        "mode": str(found.origin(("spec", "mode"))),
        "a when": str(found.origin(("spec", "rules", 0, "when"))),
        "a action": str(found.origin(("spec", "rules", 0, "action"))),
        "b when": str(found.origin(("spec", "rules", 1, "when"))),
        "nothing": str(found.origin(("spec", "rules", 1, "tools"))),
    } == {
        "mode": "base.yaml:5",
        "a when": "base.yaml:8",
        "a action": "mine.yaml:9",
        "b when": "mine.yaml:7",
        "nothing": "mine.yaml:7",
    }


def test_an_unknown_policy_is_said_with_the_nearest_name(folder: Path) -> None:
    found = resolved(folder, default="mode: warn", mine="extends: [defualt, default]")
    assert found.diagnostics == [
        Diagnostic(
            "CG704", "error", "unknown policy `defualt`", "mine.yaml", Span(5, 13, 5, 20), "did you mean `default`?",
            (), "/spec/extends/0",
        )
    ]  # fmt: skip
    assert found.spec == {"mode": "warn"}


def test_a_circle_of_policies_is_said(folder: Path) -> None:
    assert faults(folder, a="extends: [b]\nmode: warn", b="extends: [a]", mine="extends: [a]") == [
        ("CG705", "`extends` goes round in a circle: `a` → `b` → `a`", "b.yaml", Span(5, 13, 5, 14))
    ]
    assert faults(folder, mine="extends: [mine]") == [
        ("CG705", "`extends` goes round in a circle: `mine` → `mine`", "mine.yaml", Span(5, 13, 5, 17))
    ]


def test_a_looser_value_of_a_locked_key_is_an_error(folder: Path) -> None:
    found = resolved(
        folder,
        base="locked: [budgets.steps]\nbudgets: {steps: 10}",
        mine="extends: [base]\nbudgets: {steps: 11}",
    )
    assert found.diagnostics == [
        Diagnostic(
            "CG707", "error", "`budgets.steps` is locked by `base` and may only be made tighter", "mine.yaml",
            Span(6, 20, 6, 22), "leave `budgets.steps` out here, or build on another policy",
            (
                Place("the locked value", "base.yaml", Span(6, 13, 6, 18)),
                Place("locked here", "base.yaml", Span(5, 12, 5, 25)),
            ),
            "/spec/budgets/steps",
        )
    ]  # fmt: skip


LOCKED = """
locked: [mode, undeclared_tools, budgets, time.task, detectors.exact_repeat, detectors.cycle, rules.r, constants,
  ladder]
mode: warn
undeclared_tools: refuse
budgets: {steps: 10, calls_per_tool: {t: 3}, tokens: {limit: unlimited, reason: free}, notes_at: [0.8]}
time: {task: 10m}
detectors: {exact_repeat: {note_after: 3, refuse_after: 4, cool_down: 5m}, cycle: {laps: 3, max_period: 8}}
rules: [{id: r, when: args.x, action: ask}]
constants: {c: 1}
"""


@pytest.mark.parametrize(
    "tighter",
    [
        "mode: enforce", "budgets: {steps: 0}", "budgets: {steps: {limit: 5, reason: less}}", "budgets: {tokens: 5}",
        "budgets: {calls_per_tool: {t: 2, u: 9}}", "budgets: {retries: 3}", "time: {task: 599s}", "time: {step: 2h}",
        "detectors: {exact_repeat: {refuse_after: 1}}", "detectors: {exact_repeat: {cool_down: 6m}}",
        "detectors: {cycle: {laps: 2, max_period: 9}}", "detectors: {same_error: {refuse_after: 99}}",
        "detectors: {for: {t: {exact_repeat: {refuse_after: 2}}}}", "rules: [{id: r, action: stop}]",
        "rules: [{id: s, when: args.y, action: note}]", "budgets: {steps: 10}", "ladder: {reuse_reads: 1}",
    ],
)  # fmt: skip
def test_a_locked_key_may_be_tightened(folder: Path, tighter: str) -> None:
    assert faults(folder, base=LOCKED, mine=f"extends: [base]\n{tighter}") == []


@pytest.mark.parametrize(
    ("looser", "key"),
    [
        ("mode: audit", "mode"), ("mode: null", "mode"), ("undeclared_tools: allow", "undeclared_tools"),
        ("budgets: {steps: 11}", "budgets.steps"), ("budgets: {steps: unlimited}", "budgets.steps"),
        ("budgets: null", "budgets"), ("budgets: {preset: simple}", "budgets.steps"),
        ("budgets: {calls_per_tool: {t: 4}}", "budgets.calls_per_tool.t"),
        ("budgets: {notes_at: [0.9]}", "budgets.notes_at"),
        ("time: {task: 11m}", "time.task"), ("time: {task: 1h}", "time.task"),
        ("detectors: {exact_repeat: null}", "detectors.exact_repeat"),
        ("detectors: {exact_repeat: {note_after: 4}}", "detectors.exact_repeat.note_after"),
        ("detectors: {exact_repeat: {cool_down: 299s}}", "detectors.exact_repeat.cool_down"),
        ("detectors: {cycle: {max_period: 7}}", "detectors.cycle.max_period"),
        ("detectors: {for: {t: {exact_repeat: {refuse_after: 5}}}}", "detectors.for.t.exact_repeat.refuse_after"),
        ("rules: [{id: r, action: note}]", "rules.r.action"), ("rules: [{id: r, when: args.y}]", "rules.r.when"),
        ("rules: null", "rules.r"), ("constants: {c: 2}", "constants.c"), ("constants: {d: 2}", "constants.d"),
    ],
)  # fmt: skip
def test_a_locked_key_may_not_be_loosened(folder: Path, looser: str, key: str) -> None:
    found = faults(folder, base=LOCKED, mine=f"extends: [base]\n{looser}")
    assert found != []
    assert all(
        code == "CG707" and f"`{key}`" in message and file == "mine.yaml" for code, message, file, _ in found[:1]
    )


def test_nobody_unlocks_what_a_layer_below_has_locked(folder: Path) -> None:
    layers = {
        "base": "locked: [mode]\nmode: enforce",
        "between": "extends: [base]\nlocked: [on_stop]\non_stop: end",
        "mine": "extends: [between]\nlocked: []\nmode: audit",
    }
    found = resolved(folder, **layers)
    assert [(d.code, d.message) for d in found.diagnostics] == [
        ("CG707", "`mode` is locked by `base` and may only be made tighter")
    ]
    assert found.spec["locked"] == ["mode", "on_stop"]


def test_a_policy_sees_the_manifests_that_it_names(folder: Path) -> None:
    text = "kind: ToolManifest\nmetadata: {name: NAME}\nspec: {tools: {NAME: {}}}\n"
    (folder / "all.yaml").write_text("---\n".join(text.replace("NAME", name) for name in "ab"), encoding="utf-8")
    for name, tools in {"one": "tools: [a]", "none": "tools: []", "rest": "mode: warn", "bad": "tools: [c]"}.items():
        (folder / f"{name}.yaml").write_text(HEAD.replace("NAME", name) + f"  {tools}\n", encoding="utf-8")
    loaded = load([folder], packs=[])
    found = {document.name: resolve(loaded, document) for document in loaded.of_kind("GuardPolicy")}
    assert {name: (list(r.manifests), [d.message for d in r.diagnostics]) for name, r in found.items()} == {
        "one": (["a"], []),
        "none": ([], []),
        "rest": (["a", "b"], []),
        "bad": ([], ["unknown manifest `c`"]),
    }
    assert found["one"].manifest_specs == {"a": {"tools": {"a": {}}}}


def test_a_policy_written_inside_a_test_resolves_too(folder: Path) -> None:
    (folder / "base.yaml").write_text(HEAD.replace("NAME", "base") + "  mode: warn\n", encoding="utf-8")
    text = "kind: GuardTest\nmetadata: {name: t}\nspec:\n  policy:\n    extends: [base]\n    on_stop: end\n"
    (folder / "t_test.yaml").write_text(text, encoding="utf-8")
    loaded = load([folder], packs=[])
    (test,) = loaded.of_kind("GuardTest")
    found = resolve(loaded, test, ("spec", "policy"))
    assert found.spec == {"mode": "warn", "on_stop": "end"}
    assert str(found.origin(("spec", "on_stop"))) == f"{loaded.of_kind('GuardTest')[0].source.label}:6"


def test_the_digest_is_that_of_spec_and_manifests_alone(folder: Path) -> None:
    one = resolved(folder, base="mode: warn", mine="extends: [base]\nbudgets: {steps: 9}")
    text = "metadata: {name: mine, revision: '2'}\nspec: {budgets: {steps: 9.0}, mode: warn}\n"
    text += "verification: {invariants: []}\n"
    (folder / "other.yaml").write_text("apiVersion: callgate/v1\nkind: GuardPolicy\n" + text, encoding="utf-8")
    loaded = load(["other.yaml"], packs=[])
    other = resolve(loaded, loaded.documents[0])
    # printf '{"manifests":{},"spec":{"budgets":{"steps":9},"mode":"warn"}}' | sha256sum
    assert one.digest == other.digest == "3281c8a71105f30c954021c90f9fe0fd8b4556c0001a83ca8e8f8b70bf659cb6"


def test_a_resolved_policy_is_plain_yaml_data(folder: Path) -> None:
    found = resolved(folder, base="mode: warn", mine="extends: [base]")
    assert yaml.safe_load(yaml.safe_dump(found.document)) == found.document
