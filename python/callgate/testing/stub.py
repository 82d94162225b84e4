"""The beginning of a policy test that would notice a mutant: a run that tells it apart, if one is found."""

from __future__ import annotations

import json
import re
from typing import Any, Final

import callgate._core as _core
from callgate.policy.bindings import scope_of
from callgate.policy.load import Document, Loaded
from callgate.policy.resolve import Resolved, resolve
from callgate.review.mutants import Mutant
from callgate.review.parts import Part, places_of

from .steps import seconds

# What stands in for tools where no manifest is in force, as the core has it.
_STAND_INS: Final = """\
    - tools:
        a_read: {effect: read, result: {records: result.items}}
        a_write: {effect: write, result: {state: result.state}}
        an_effect: {effect: external}
        a_transfer: {effect: control, transfer: true}
"""
_OF_STEP: Final = ("tool", "arguments", "result", "error", "time")


def stub_of(loaded: Loaded, mutant: Mutant) -> str:
    """A policy test, in YAML, that a mutant fails: whole where a run was found that tells it apart, else to be filled.

    Args:
        loaded: the documents that the mutant's is one of.
        mutant: what no test notices.
    """
    if mutant.document.kind == "GuardBinding":
        told = f"a run of those whom the binding names, decided otherwise than with `{mutant.now}`"
        return _head(mutant, _named(mutant.document)) + _unwritten(told)
    resolved = _policy(loaded, mutant)
    if resolved is None:
        return _empty(mutant, "no policy among these files uses it")
    part = Part.of(resolved, None)
    child = mutant.document.positions.find(mutant.steps)
    places = [] if child is None else places_of(part, {id(mutant.document.positions)}).get(id(child.node), [])
    edits = [(document, pointer, mutant.removed, mutant.value) for document, pointer in places]
    document, manifests = part.documents
    found = _core.tell_apart(document, manifests, edits, _moment(mutant)) if edits else None
    if found is None:
        return _empty(
            mutant, f"a run on which `{resolved.name}` decides otherwise than with `{mutant.now or 'nothing'}`"
        )
    steps, row, other, stood_in = found
    lines = [_head(mutant, f"  policy: {_text(resolved.name)}\n")]
    if stood_in:
        lines.append("  manifests:\n" + _STAND_INS)
    lines.append("  steps:\n" + "".join(_steps(steps, row)))
    lines.append(f"  # the mutant: {_decided(other)}\n")
    return "".join(lines)


def _policy(loaded: Loaded, mutant: Mutant) -> Resolved | None:
    """The policy that a mutant is in: its own, or the first that its manifest is in force for."""
    if mutant.document.kind == "GuardPolicy":
        return resolve(loaded, mutant.document)
    for document in loaded.of_kind("GuardPolicy"):
        resolved = resolve(loaded, document)
        if any(manifest.positions is mutant.document.positions for manifest in resolved.manifests.values()):
            return resolved
    return None


def _moment(mutant: Mutant) -> float | None:
    """For a moved duration a time between both."""
    if mutant.what != "moved a duration":
        return None
    return (seconds(mutant.was) + seconds(mutant.now)) / 2


def _head(mutant: Mutant, judged_by: str) -> str:
    name = re.sub(r"[^A-Za-z0-9]+", " ", ".".join(str(step) for step in mutant.steps[1:])).strip()
    place = f"line {mutant.span.line}: {mutant.what}: {mutant.was} -> {mutant.now or 'nothing'}"
    return (
        "apiVersion: callgate/v1\nkind: GuardTest\n"
        f"metadata: {{name: {_text(name)}, description: {_text(place)}}}\nspec:\n{judged_by}"
    )


def _named(binding: Document) -> str:
    """Somebody whom a binding names: without a `policy`, that is what says who judges."""
    _, _, tenants, labels, _ = scope_of(binding)
    lines = [f"  tenant: {_text(tenants[0])}\n"] if tenants else []
    return "".join([*lines, f"  labels: {_flow(labels)}\n"] if labels else lines)


def _empty(mutant: Mutant, wanted: str) -> str:
    policy = mutant.document.name or "" if mutant.document.kind == "GuardPolicy" else ""
    judged_by = f"  policy: {_text(policy or 'the policy that the manifest is for')}\n"
    return _head(mutant, judged_by) + _unwritten(wanted)


def _unwritten(wanted: str) -> str:
    return f"  steps:\n    # write: {' '.join(wanted.split())}\n    - {{tool: ..., expect: {{action: ...}}}}\n"


def _steps(steps: list[dict[str, Any]], row: dict[str, Any]) -> list[str]:
    """The steps, equal ones that follow each other as one; the last with what the policy decides."""
    *before, last = [{key: step[key] for key in _OF_STEP if key in step} for step in steps]
    lines: list[str] = []
    count = 0
    for at, step in enumerate(before):
        count += 1
        if at + 1 < len(before) and before[at + 1] == step:
            continue
        lines.append(f"    - {_flow(step if count == 1 else {**step, 'times': count})}\n")
        count = 0
    expect: dict[str, Any] = {"action": "stop" if row["stop"] is not None else row["action"]}
    if row["reasons"]:
        expect["reasons"] = row["reasons"]
    notes = list(dict.fromkeys(note["reason"] for note in row["notes"]))
    expect["notes"] = notes or 0
    if row["grade"] is not None:
        expect["grade"] = row["grade"]
    return [*lines, f"    - {_flow({**last, 'expect': expect})}\n"]


def _decided(row: dict[str, Any]) -> str:
    notes = ", ".join(dict.fromkeys(note["reason"] for note in row["notes"]))
    action = "stop" if row["stop"] is not None else row["action"]
    reasons = f" for {', '.join(row['reasons'])}" if row["reasons"] else ""
    return f"{action}{reasons}" + (f", with notes for {notes}" if notes else "")


def _flow(value: Any) -> str:
    """A value as one line of YAML: JSON is that."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_text(str(key))}: {_flow(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    return _text(value) if isinstance(value, str) else json.dumps(value)


def _text(text: str) -> str:
    """A text as YAML: plain where it is a word, else in quotes."""
    return text if re.fullmatch(r"[a-z_][a-z_0-9]*(:[a-z_0-9-]+)?", text) and text not in _WORDS else json.dumps(text)


_WORDS: Final = frozenset({"true", "false", "null"})
