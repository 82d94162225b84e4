"""The structural diff: what two sets of policies mean differently, document by document, key by key, by meaning."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import callgate._core as _core
from callgate.policy.bindings import Bound, compile_bound
from callgate.policy.compile import compile_policy
from callgate.policy.layers import OF_PRESET
from callgate.policy.load import Document
from callgate.policy.merge import Merged, Origin, annotate
from callgate.policy.resolve import Resolved
from callgate.policy.tool_extends import with_extended

from .change import Change, Spot, ordered, plain, spot
from .document_laws import compare_binding, compare_exception
from .laws import Difference, children
from .policy_laws import INVARIANTS, METADATA, POLICY
from .rule_laws import Relations, compare_edges, compare_needs, compare_rules
from .sides import Side
from .tool_laws import compare_tools
from .value_laws import compare_values

_PRESETS: Final = {"simple": (10, 50_000, "10m"), "medium": (32, 200_000, "10m"), "complex": (100, 1_000_000, "30m")}

MOST_OTHERS: Final = 6


def compare(old: Side, new: Side) -> list[Change]:
    """All that two sides mean differently.

    Args:
        old: the policies before, without errors.
        new: the policies after, without errors.

    Returns:
        The changes, what lets more through first; none where both mean the same, however they are written.
    """
    found: list[Change] = []
    pairs = _paired(old, new)
    for before, after in pairs:
        if before is None or after is None:
            there = before or after
            assert there is not None
            found.append(_whole(there, "POLICY", before is None))
        else:
            found += _policies(before, after)
    found += _shared_lines(_tools(pairs))
    found += _bindings(old, new)
    found += _exceptions(old, new)
    return ordered(_once(found))


def _once(changes: Iterable[Change]) -> list[Change]:
    """A tool that several policies have in common is told of once."""
    return list({repr(change): change for change in changes}.values())


def _paired(old: Side, new: Side) -> list[tuple[Resolved | None, Resolved | None]]:
    """Policies by name; the only one of each side with the only one of the other, whatever they are called."""
    if len(old.policies) == len(new.policies) == 1:
        return list(zip(old.policies.values(), new.policies.values(), strict=True))
    names = (*old.policies, *(name for name in new.policies if name not in old.policies))
    return [(old.policies.get(name), new.policies.get(name)) for name in names]


def _whole(policy: Resolved, kind: str, added: bool) -> Change:
    place = spot(policy.origin(("spec",)))
    sides = (None, place) if added else (place, None)
    values = (None, policy.name) if added else (policy.name, None)
    category = f"{kind}_{'ADDED' if added else 'REMOVED'}"
    return Change(category, "reclassified", f"policy `{policy.name}`", "", *values, *sides)


def _policies(old: Resolved, new: Resolved) -> Iterator[Change]:
    subject = f"policy `{new.name}`"
    trees = (_expanded(old.tree), _expanded(new.tree))
    specs = _at(trees, "spec")
    relations = _relations(old, new)
    found = [
        *compare_specs(specs[0], specs[1], relations, new.manifest_specs),
        *INVARIANTS(("verification",), *_at(trees, "verification")),
        *METADATA(("metadata",), *(_metadata(side) for side in (old, new))),
    ]
    if old.name != new.name:
        names = _at((_metadata(old), _metadata(new)), "name")
        found.append(Difference("POLICY_RENAMED", "none", ("metadata", "name"), *names))
    for difference in found:
        yield _change(subject, difference, old.tree, new.tree)


def compare_specs(
    old: Merged | None, new: Merged | None, relations: Relations, manifests: Any = None
) -> Iterator[Difference]:
    """Two specs of policies, presets put in: see `compare_rules` and `compare_values` for the rest."""
    specs = (old, new)
    yield from POLICY(("spec",), *specs)
    yield from compare_rules(("spec", "rules"), *_at(specs, "rules"), relations)
    yield from compare_values(old, new, relations, manifests)
    yield from compare_needs(("spec", "needs"), *_at(specs, "needs"))
    yield from compare_edges(("spec", "fallback", "edges"), *_at(specs, "fallback", "edges"))


def _at(trees: Iterable[Merged | None], *steps: str) -> tuple[Merged | None, Merged | None]:
    before, after = (None if tree is None else tree.at(*steps) for tree in trees)
    return before, after


def _metadata(resolved: Resolved) -> Merged:
    return annotate(resolved.layers[-1], resolved.metadata, ("metadata",))


def _expanded(tree: Merged) -> Merged:
    """The tree with what a preset stands for, where nothing more specific is written."""
    spec = tree.at("spec")
    preset = tree.at("spec", "budgets", "preset")
    if spec is None or preset is None or preset.value not in _PRESETS:
        return tree
    blocks = dict(children(spec))
    for (block, key), value in zip(OF_PRESET, _PRESETS[preset.value], strict=True):
        inner = children(blocks.get(block))
        if key not in inner:
            around = blocks[block].origin if block in blocks else preset.origin
            blocks[block] = Merged({**inner, key: Merged(value, preset.origin)}, around)
    return Merged({**children(tree), "spec": Merged(blocks, spec.origin)}, tree.origin)


def _relations(old: Resolved, new: Resolved) -> Relations:
    """How the conditions of the rules that both have stand to each other."""
    before, after = compile_policy(old)[0], compile_policy(new)[0]
    if before is None or after is None:
        return {}
    return dict(_core.condition_relations(before, after, _shared(old, new)))


def _shared(old: Resolved, new: Resolved) -> list[tuple[str, Any]]:
    """The manifests that declare their tools alike on both sides."""
    both = {name: document for name, document in new.manifests.items() if name in old.manifests}
    return [
        (name, doc.data) for name, doc in both.items() if doc.data.get("spec") == old.manifests[name].data.get("spec")
    ]


def _tools(pairs: Iterable[tuple[Resolved | None, Resolved | None]]) -> Iterator[Change]:
    for old, new in pairs:
        if old is None or new is None:
            continue
        before, after = _declared(old), _declared(new)
        refused = [plain(side.tree.at("spec", "undeclared_tools")) == "refuse" for side in (old, new)]
        for name in (*before, *(name for name in after if name not in before)):
            was, now = before.get(name), after.get(name)
            steps = ("tools", name)
            subject = f"tool `{name}`"
            if was is None or now is None:
                way = "ADDED" if was is None else "REMOVED"
                known = refused[1] if was is None else refused[0]
                effect = ("looser" if was is None else "stricter") if known else "reclassified"
                gone = Difference(f"TOOL_{way}", effect, steps, was, now)  # type: ignore[arg-type]
                yield _change(subject, gone, old.tree, new.tree)
                continue
            for difference in compare_tools(steps, was, now):
                yield _change(subject, difference, was, now)
        yield from _servers(old, new)


def _declared(resolved: Resolved) -> dict[str, Merged]:
    """The tools in force by name, each with what it extends, its values with the places where they are written."""
    raw: dict[str, Any] = {}
    where: dict[str, dict[str, Merged]] = {}
    for document in resolved.manifests.values():
        tools = annotate(document, (document.data.get("spec") or {}).get("tools") or {}, ("spec", "tools"))
        for name, tool in children(tools).items():
            raw.setdefault(name, plain(tool))
            where.setdefault(name, {"": tool, **children(tool)})
    found = {}
    for name, whole in with_extended(raw).items():
        keys = {}
        for key in whole:
            here: Any = name
            while raw[here].get(key) is None:
                here = raw[here]["extends"]
            keys[key] = where[here][key]
        found[name] = Merged(keys, where[name][""].origin)
    return found


def _shared_lines(changes: Iterable[Change]) -> list[Change]:
    """Changes of tools, those of one line that several tools have in common, as aliases have, told once."""
    found: dict[str, list[Change]] = {}
    for change in changes:
        found.setdefault(repr(change._replace(subject="")), []).append(change)
    return [
        _with_others(together[0], list(dict.fromkeys(each.subject for each in together))) for together in found.values()
    ]


def _with_others(change: Change, subjects: list[str]) -> Change:
    others = [subject.removeprefix("tool ") for subject in subjects[1:]]
    if not others:
        return change
    shown = ", ".join(others[:MOST_OTHERS]) + (
        f" and {len(others) - MOST_OTHERS} more" if len(others) > MOST_OTHERS else ""
    )
    also = f"also of {shown}"
    return change._replace(detail=also if change.detail is None else f"{change.detail}; {also}")


def _servers(old: Resolved, new: Resolved) -> Iterator[Change]:
    for name in sorted(old.manifests.keys() & new.manifests.keys()):
        trees = (_tree(old.manifests[name]), _tree(new.manifests[name]))
        was, now = _at(trees, "spec", "server")
        if plain(was) != plain(now):
            difference = Difference("TOOL_SERVER_CHANGED", "reclassified", ("server",), was, now)
            yield _change(f"manifest `{name}`", difference, *trees)
        for found in METADATA(("metadata",), *_at(trees, "metadata")):
            yield _change(f"manifest `{name}`", found, *trees)


def _bindings(old: Side, new: Side) -> Iterator[Change]:
    for name in (*old.bindings, *(name for name in new.bindings if name not in old.bindings)):
        before, after = old.bindings.get(name), new.bindings.get(name)
        relations = _bound_relations(before, after)
        was, now = (None if each is None else _tree(each.binding) for each in (before, after))
        policy = after.resolved if after is not None else None
        for found in compare_binding(was, now, relations, policy):
            yield _change(f"binding `{name}`", found, was, now)


def _bound_relations(old: Bound | None, new: Bound | None) -> Relations:
    if old is None or new is None:
        return {}
    before, after = compile_bound(old)[0], compile_bound(new)[0]
    if before is None or after is None:
        return {}
    return dict(_core.condition_relations(before, after, _shared(old.resolved, new.resolved), with_params=True))


def _exceptions(old: Side, new: Side) -> Iterator[Change]:
    for name in (*old.exceptions, *(name for name in new.exceptions if name not in old.exceptions)):
        trees = [_tree(side.exceptions.get(name)) for side in (old, new)]
        for found in compare_exception(*trees):
            yield _change(f"exception `{name}`", found, *trees)


def _tree(document: Document | None) -> Merged | None:
    return None if document is None else annotate(document, document.data, ())


def _change(subject: str, difference: Difference, old: Merged | None, new: Merged | None) -> Change:
    steps = difference.steps
    shown = steps[1:] if steps[:1] == ("spec",) else steps[2:] if steps[:1] == ("tools",) else steps
    below = steps[2:] if steps[:1] == ("tools",) else steps  # a tool is a tree of its own
    spots = (_spot(difference.old, old, below), _spot(difference.new, new, below))
    key = ".".join(str(step) for step in shown)
    values = (plain(difference.old), plain(difference.new))
    return Change(difference.category, difference.effect, subject, key, *values, *spots, difference.detail)


def _spot(value: Merged | None, tree: Merged | None, steps: Iterable[str | int]) -> Spot | None:
    """Where a value is written; of what is not there, what is around it."""
    if value is not None:
        return spot(value.origin)
    here, origin = tree, None if tree is None else tree.origin
    for step in steps:
        here = None if here is None else _below(here, step)
        if here is None:
            break
        origin = here.origin
    return spot(origin) if isinstance(origin, Origin) else None


def _below(value: Merged, step: str | int) -> Merged | None:
    if isinstance(value.value, list) and isinstance(step, str):
        return next((item for item in value.value if plain(item.at("id")) == step), None)
    return value.at(step)
