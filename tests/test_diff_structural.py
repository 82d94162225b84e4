"""What a change of a policy means, by hand for twenty pairs; and that no change of any key goes untold."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from callgate.policy.merge import annotate
from callgate.policy.packs import packs_root
from callgate.review.categories import CATEGORIES, family, is_gate
from callgate.review.change import Change, Spot, held_back
from callgate.review.laws import Difference
from callgate.review.sides import Side, side_of
from callgate.review.structural import compare, compare_specs
from callgate.review.tool_laws import compare_tools
from policy_pairs import PAIRS, POLICY, TOOLS, Pair
from schema_samples import GOOD, data


def side(folder: Path, files: dict[str, str]) -> Side:
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    found = side_of(str(folder))
    assert [each for each in found.diagnostics if each.severity == "error"] == []
    return found


def changes(folder: Path, old: dict[str, str], new: dict[str, str]) -> list[Change]:
    return compare(side(folder / "old", old), side(folder / "new", new))


def test_there_are_twenty_pairs():
    assert len(PAIRS) == 20


@pytest.mark.parametrize("pair", PAIRS, ids=[pair.name for pair in PAIRS])
def test_a_change_is_told_by_what_it_means_and_the_way_back_as_the_contrary(pair: Pair, tmp_path: Path):
    old, new = side(tmp_path / "old", pair.old), side(tmp_path / "new", pair.new)
    there, back = compare(old, new), compare(new, old)
    assert [(change.category, change.effect, change.key) for change in there] == pair.expected
    contrary = {"looser": "stricter", "stricter": "looser"}
    turned = sorted((change.key, contrary.get(change.effect, change.effect)) for change in there)
    assert sorted((change.key, change.effect) for change in back) == turned
    for change in (*there, *back):
        assert change.effect in CATEGORIES[change.category].effects, change


def test_a_change_has_its_values_and_places_on_both_sides(tmp_path: Path):
    new = POLICY.replace("steps: 40", "steps: 50")
    (found,) = changes(tmp_path, {"p.yaml": POLICY, "t.yaml": TOOLS}, {"p.yaml": new, "t.yaml": TOOLS})
    places = (Spot(f"{tmp_path}/old/p.yaml", 11), Spot(f"{tmp_path}/new/p.yaml", 11))
    assert found == Change("BUDGET_RAISED", "looser", "policy `desk`", "budgets.steps", 40, 50, *places)


def test_what_is_not_there_has_the_place_of_what_is_around_it(tmp_path: Path):
    new = POLICY.replace("    retries: 4\n", "")
    (found,) = changes(tmp_path, {"p.yaml": POLICY, "t.yaml": TOOLS}, {"p.yaml": new, "t.yaml": TOOLS})
    places = (Spot(f"{tmp_path}/old/p.yaml", 14), Spot(f"{tmp_path}/new/p.yaml", 10))
    assert found == Change("RETRY_REMOVED", "looser", "policy `desk`", "budgets.retries", 4, None, *places)


def test_a_preset_is_what_it_stands_for(tmp_path: Path):
    policy = """\
apiVersion: callgate/v1
kind: GuardPolicy
metadata: {name: p}
spec:
  budgets: {preset: medium}
"""
    plain = policy.replace("{preset: medium}", "{steps: 32, tokens: 200000}\n  time: {task: 10m}")
    more = policy.replace("medium", "complex")
    assert compare(side(tmp_path / "preset", {"p.yaml": policy}), side(tmp_path / "plain", {"p.yaml": plain})) == []
    found = compare(side_of(str(tmp_path / "preset")), side(tmp_path / "more", {"p.yaml": more}))
    assert [(change.category, change.key, change.old, change.new) for change in found] == [
        ("BUDGET_RAISED", "budgets.steps", 32, 100),
        ("BUDGET_RAISED", "budgets.tokens", 200_000, 1_000_000),
        ("TIME_RAISED", "time.task", "10m", "30m"),
    ]


def test_a_parameter_of_a_binding_goes_the_way_of_the_rules_that_read_it(tmp_path: Path):
    policy = POLICY.replace("args.amount > 1000", "args.amount > params.ceiling").replace(
        "  constants:", "  parameters: {ceiling: {type: number, default: 1000}}\n  constants:"
    )
    binding = """\
apiVersion: callgate/v1
kind: GuardBinding
metadata: {name: desks}
spec:
  policy: desk
  parameters: {ceiling: 800}
"""
    old = {"p.yaml": policy, "t.yaml": TOOLS, "b.yaml": binding}
    found = changes(tmp_path, old, {**old, "b.yaml": binding.replace("800", "900")})
    assert [(change.category, change.effect, change.subject, change.key, change.detail) for change in found] == [
        ("BINDING_PARAMETER_CHANGED", "looser", "binding `desks`", "parameters.ceiling", "read by `order-ceiling`")
    ]


def test_a_line_that_aliases_have_in_common_is_told_once(tmp_path: Path):
    tools = TOOLS + "    part_search: {extends: find_part}\n"
    old = {"p.yaml": POLICY, "t.yaml": tools}
    found = changes(tmp_path, old, {**old, "t.yaml": tools.replace("trim: [part], ", "")})
    assert [(change.category, change.subject, change.detail) for change in found] == [
        ("IDENTITY_NARROWED", "tool `find_part`", "fewer: `part`; also of `part_search`")
    ]


@pytest.mark.parametrize(
    ("gates", "held"),
    [
        (["looser"], ["a"]),
        (["stricter"], ["b"]),
        (["any"], ["a", "b", "c"]),
        (["BUDGET_*"], ["a", "b"]),
        (["BUDGET_RAISED"], ["a"]),
        (["MESSAGE_ONLY", "looser"], ["a", "d"]),
        ([], []),
    ],
)
def test_a_gate_holds_back_what_it_is_about(gates: list[str], held: list[str]):
    def change(key, category, effect):
        return Change(category, effect, "policy `p`", key, None, None, None, None)

    all_four = [
        change("a", "BUDGET_RAISED", "looser"),
        change("b", "BUDGET_LOWERED", "stricter"),
        change("c", "EXIT_CHANGED", "reclassified"),
        change("d", "MESSAGE_ONLY", "none"),
    ]
    assert [each.key for each in held_back(all_four, gates)] == held


def test_gates_are_effects_categories_and_families():
    gates = ("looser", "stricter", "any", "BUDGET_RAISED", "BUDGET_*")
    others = ("*", "none", "BUDGT_*", "budget_raised", "")
    assert [gate for gate in (*gates, *others) if is_gate(gate)] == [*gates]
    asked = ("DECISION", "BUDGET", "RETRY", "HOPS", "FALLBACK", "IDENTITY", "DETECTOR", "TOOL", "EXCEPTION")
    assert {*asked, "MESSAGE", "REFACTOR"} <= {family(category) for category in CATEGORIES}


def leaves(value: Any, steps: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if entries is None:
        if value is not None:  # null takes back, and is gone once layers are laid over each other
            yield steps
        return
    for key, child in entries:
        yield from leaves(child, (*steps, key))


def changed(value: Any, steps: tuple[str | int, ...]) -> Any:
    """The same data with another value at one place."""
    if steps:
        other = copy.copy(value)
        other[steps[0]] = changed(value[steps[0]], steps[1:])
        return other
    if isinstance(value, bool):
        return not value
    return value + 1 if isinstance(value, int | float) else f"{value}9"


def without(value: Any, steps: tuple[str | int, ...]) -> Any:
    """The same data without what stands at one place."""
    other = copy.copy(value)
    if len(steps) == 1:
        del other[steps[0]]
    else:
        other[steps[0]] = without(value[steps[0]], steps[1:])
    return other


def refuse_unforeseen(found: list[Difference], at: object) -> None:
    """Each difference has a category that there is, and goes a way that the category says."""
    for difference in found:
        assert difference.effect in CATEGORIES[difference.category].effects, (
            at,
            difference.category,
            difference.effect,
        )


PACKS = sorted(folder.name for folder in packs_root().iterdir() if folder.is_dir())


@pytest.mark.parametrize("pack", PACKS)
def test_no_value_of_a_policy_changes_without_being_told(pack: str):
    (policy,) = side_of(pack).policies.values()
    document, spec = policy.layers[-1], policy.spec
    places = [at for at in leaves(spec) if at[0] != "tools"]
    assert len(places) > 40
    for at in places:
        for other in (changed(spec, at), without(spec, at)):
            one, two = (annotate(document, data, ("spec",)) for data in (spec, other))
            for found in (list(compare_specs(one, two, {})), list(compare_specs(two, one, {}))):
                assert found != [], at
                refuse_unforeseen(found, at)


@pytest.mark.parametrize("pack", PACKS)
def test_no_value_of_a_tool_changes_without_being_told(pack: str):
    (policy,) = side_of(pack).policies.values()
    for document in policy.manifests.values():
        for name, tool in document.data["spec"]["tools"].items():
            for at in leaves({key: value for key, value in tool.items() if key != "extends"}):
                for other in (changed(tool, at), without(tool, at)):
                    one, two = (annotate(document, data, ("spec", "tools", name)) for data in (tool, other))
                    for sides in ((one, two), (two, one)):
                        found = list(compare_tools(("tools", name), *sides))
                        assert found != [], (name, at)
                        refuse_unforeseen(found, (name, at))


SAMPLES = {kind: [name for name, (of, _) in GOOD.items() if of == kind] for kind in ("GuardPolicy", "ToolManifest")}


@pytest.mark.parametrize("name", SAMPLES["GuardPolicy"])
def test_no_key_of_the_policy_language_changes_without_being_told(name: str):
    (policy,) = side_of("default").policies.values()
    spec = data(GOOD[name][1])
    for at in leaves(spec):
        if not at or at[0] in ("extends", "tools") or at[-1] in ("preset", "id"):
            continue  # put in, or compared as something else, before
        for other in (changed(spec, at), without(spec, at)):
            one, two = (annotate(policy.layers[-1], side, ("spec",)) for side in (spec, other))
            for found in (list(compare_specs(one, two, {})), list(compare_specs(two, one, {}))):
                assert found != [], at
                refuse_unforeseen(found, at)


@pytest.mark.parametrize("name", SAMPLES["ToolManifest"])
def test_no_key_of_a_tool_changes_without_being_told(name: str):
    (policy,) = side_of("default").policies.values()
    for tool in ((data(GOOD[name][1]) or {}).get("tools") or {}).values():
        for at in leaves(tool):
            if not at or at[0] == "extends":
                continue
            for other in (changed(tool, at), without(tool, at)):
                one, two = (annotate(policy.layers[-1], side, ("spec", "tools", "x")) for side in (tool, other))
                for sides in ((one, two), (two, one)):
                    found = list(compare_tools(("tools", "x"), *sides))
                    assert found != [], at
                    refuse_unforeseen(found, at)
