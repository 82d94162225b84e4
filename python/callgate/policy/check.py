"""Everything that is wrong with loaded documents: with each by itself, and with the policies they make together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import callgate._core as _core

from .diagnostics import Diagnostic, ordered
from .faults import Found, located
from .load import Document, Loaded
from .resolve import Resolved, resolve

REFERRING = frozenset({"GuardTest", "GuardBinding", "GuardException"})
FAULTS_OF_A_FILE = 101  # the hundred that reading stops at, and the word that it did


def check(loaded: Loaded) -> list[Diagnostic]:
    """All faults of the loaded documents, and of the packs that they build on, by file and place.

    A policy is checked twice: each of its documents by itself, and then, if those are in order, all layers together,
    where faults show that no layer has alone.
    """
    resolved = [resolve(loaded, document) for document in loaded.of_kind("GuardPolicy")]
    diagnostics = list(loaded.diagnostics)
    diagnostics += [found for policy in resolved for found in policy.diagnostics]
    for document in loaded.documents:
        if document.kind in REFERRING:
            diagnostics += _references(loaded, document)
    broken = {found.file for found in loaded.diagnostics if found.severity == "error"}
    faulty: list[Document] = []
    for document in (*loaded.documents, *loaded.packed):
        found_alone = _alone(document)
        diagnostics += found_alone
        if document.source.file in broken or any(found.severity == "error" for found in found_alone):
            faulty.append(document)
    for policy in resolved:
        if not any(layer is other for layer in policy.layers for other in faulty):
            diagnostics += together(policy)
    return _first_of_each_file(ordered(diagnostics))


def _first_of_each_file(diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    """At most a hundred of a file: nobody reads more, and a hostile file could have a hundred thousand."""
    kept: list[Diagnostic] = []
    counts: dict[str, int] = {}
    for diagnostic in diagnostics:
        counts[diagnostic.file] = counts.get(diagnostic.file, 0) + 1
        if counts[diagnostic.file] <= FAULTS_OF_A_FILE:
            kept.append(diagnostic)
    more = [(file, count - FAULTS_OF_A_FILE) for file, count in counts.items() if count > FAULTS_OF_A_FILE]
    kept += [Diagnostic("CG106", "error", f"{count} further faults are not shown", file, None) for file, count in more]
    return ordered(kept)


def _alone(document: Document) -> list[Diagnostic]:
    if not isinstance(document.data, dict) or "kind" not in document.data:
        return []
    return located(document.positions, _core.validate(str(document.data["kind"]), document.data))


def together(policy: Resolved) -> list[Diagnostic]:
    """What the core finds in all layers of a policy together, at the places where the values were written."""
    faults = _core.validate("GuardPolicy", policy.document, resolved=True)
    return policy.located(fault for fault in faults if fault.pointer and fault.pointer[0] in policy.tree.value)


def _references(loaded: Loaded, document: Document) -> list[Diagnostic]:
    """What a test, a binding or an exception refers to: a policy by name or written out, manifests, a trace."""
    spec: Any = document.data.get("spec")
    if not isinstance(spec, dict):
        return []
    found: list[Diagnostic] = []
    policy, manifests, trace = spec.get("policy"), spec.get("manifests"), spec.get("trace")
    if isinstance(policy, dict):
        found += resolve(loaded, document, ("spec", "policy")).diagnostics
    elif isinstance(policy, str) and loaded.find("GuardPolicy", policy) is None:
        found += _unknown(loaded, document, "CG704", "policy", "GuardPolicy", policy, ("spec", "policy"))
    for at, manifest in enumerate(manifests if isinstance(manifests, list) else []):
        if isinstance(manifest, str) and loaded.find("ToolManifest", manifest) is None:
            steps = ("spec", "manifests", at)
            found += _unknown(loaded, document, "CG708", "manifest", "ToolManifest", manifest, steps)
    if isinstance(trace, str) and not (Path(document.source.file).parent / trace).is_file():
        hint = "a trace is looked for beside the file that names it"
        missing = Found("CG710", "error", f"no such trace file: `{trace}`", ("spec", "trace"), "value", hint)
        found += located(document.positions, [missing])
    return found


def _unknown(
    loaded: Loaded, document: Document, code: str, what: str, kind: str, name: str, steps: tuple[str | int, ...]
) -> list[Diagnostic]:
    hint = loaded.hint(kind, name)
    return located(document.positions, [Found(code, "error", f"unknown {what} `{name}`", steps, "value", hint)])
