"""Everything that is wrong with loaded documents: with each by itself, and with the policies they make together."""

from __future__ import annotations

from typing import Any

import callgate._core as _core

from .diagnostics import Diagnostic, ordered
from .faults import Found, located
from .load import Document, Loaded
from .resolve import Resolved, resolve


def check(loaded: Loaded) -> list[Diagnostic]:
    """All faults of the loaded documents, and of the packs that they build on, by file and place.

    A policy is checked twice: each of its files by itself, and then all layers together, where faults show that no
    file has alone. What both find is reported once.
    """
    diagnostics: list[Diagnostic] = []
    together: list[Diagnostic] = []
    for document in loaded.documents:
        if document.kind == "GuardPolicy":
            together += _together(resolve(loaded, document), document)
        elif document.kind == "GuardTest":
            together += _of_test(loaded, document)
    for document in (*loaded.documents, *loaded.packed):
        diagnostics += _alone(document)
    alone = {(d.file, d.span, d.code) for d in diagnostics}
    broken = {d.file for d in diagnostics if d.severity == "error"}
    for diagnostic in together:
        shape = diagnostic.code.startswith(("CG2",)) and diagnostic.file in broken
        if not shape and (diagnostic.file, diagnostic.span, diagnostic.code) not in alone:
            diagnostics.append(diagnostic)
    return ordered([*loaded.diagnostics, *diagnostics])


def _alone(document: Document) -> list[Diagnostic]:
    if not isinstance(document.data, dict) or "kind" not in document.data:
        return []
    return located(document.positions, _core.validate(str(document.data["kind"]), document.data))


def _together(resolved: Resolved, document: Document) -> list[Diagnostic]:
    faults = _core.validate("GuardPolicy", resolved.document, resolved=True)
    inside = [fault for fault in faults if fault.pointer and fault.pointer[0] in ("spec", "verification")]
    return [*resolved.diagnostics, *resolved.located(inside)]


def _of_test(loaded: Loaded, document: Document) -> list[Diagnostic]:
    """What a test refers to: its policy, by name or written out, and its manifests."""
    spec: Any = document.data.get("spec")
    if not isinstance(spec, dict):
        return []
    found: list[Diagnostic] = []
    policy, manifests = spec.get("policy"), spec.get("manifests")
    if isinstance(policy, dict):
        found += resolve(loaded, document, ("spec", "policy")).diagnostics
    elif isinstance(policy, str) and loaded.find("GuardPolicy", policy) is None:
        found += _unknown(loaded, document, "CG704", "policy", "GuardPolicy", policy, ("spec", "policy"))
    for at, manifest in enumerate(manifests if isinstance(manifests, list) else []):
        if isinstance(manifest, str) and loaded.find("ToolManifest", manifest) is None:
            steps = ("spec", "manifests", at)
            found += _unknown(loaded, document, "CG708", "manifest", "ToolManifest", manifest, steps)
    return found


def _unknown(
    loaded: Loaded, document: Document, code: str, what: str, kind: str, name: str, steps: tuple[str | int, ...]
) -> list[Diagnostic]:
    hint = loaded.hint(kind, name)
    return located(document.positions, [Found(code, "error", f"unknown {what} `{name}`", steps, "value", hint)])
