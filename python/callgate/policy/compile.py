"""From a resolved policy to the compiled one that decisions read; every fault at the place where it was written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

import callgate._core as _core

from .diagnostics import Diagnostic, ordered
from .faults import located
from .load import Document
from .resolve import Resolved

# Said of tools that run: the arguments and results of a test's own tools stand beside them.
OF_REAL_TOOLS: Final = frozenset({"CG319", "CG423"})


# Said of what a policy writes itself: what it inherits may fire under others, and is looked at where it stands.
OF_OWN: Final = frozenset({"CG501", "CG503"})


class Manifest(NamedTuple):
    """A manifest in force: its name, the document that it is in, and the steps to its `spec` there."""

    name: str
    document: Document
    steps: tuple[str | int, ...] = ("spec",)


def compile_policy(
    resolved: Resolved, manifests: Sequence[tuple[str, Document, tuple[str | int, ...]]] | None = None
) -> tuple[_core.CompiledPolicy | None, list[Diagnostic]]:
    """Compile a resolved policy against manifests.

    Args:
        resolved: the policy.
        manifests: the manifests in force, each with its name, its document, and the steps to its `spec` there; None for
            those that the policy was resolved with.

    Returns:
        The compiled policy, None if something is an error; and all that is wrong, warnings included, in order.
    """
    if any(diagnostic.severity == "error" for diagnostic in resolved.diagnostics):
        return None, ordered(resolved.diagnostics)  # what is missing below would only be found missing again
    if manifests is None:
        manifests = [(name, document, ("spec",)) for name, document in resolved.manifests.items()]
    documents = plain(manifests)
    compiled, faults = _core.compile_policy(resolved.document, documents)
    found: list[Diagnostic] = [*resolved.diagnostics]
    about_it = [fault for at, fault in faults if at < 0 and fault.pointer[:1] != ("metadata",)]
    found += resolved.located(f for f in about_it if f.code not in OF_OWN or resolved.is_own(f.pointer))
    for position, (_, document, steps) in enumerate(manifests):
        mine = [fault for at, fault in faults if at == position and fault.pointer[:1] == ("spec",)]
        if tuple(steps) != ("spec",):  # a test writes down what its tools are given and what they answer
            mine = [fault for fault in mine if fault.code not in OF_REAL_TOOLS]
        found += located(document.positions, [_moved(fault, steps) for fault in mine])
    errors = any(diagnostic.severity == "error" for diagnostic in found)
    return None if errors else compiled, ordered(found)


def plain(manifests: Iterable[tuple[str, Document, tuple[str | int, ...]]]) -> list[tuple[str, dict[str, Any]]]:
    """Manifests as the core takes them: each with its name, as a document of its own."""
    return [(name, _manifest(name, document, steps)) for name, document, steps in manifests]


def _manifest(name: str, document: Document, steps: Iterable[str | int]) -> dict[str, Any]:
    """The manifest as a document of its own, wherever its spec is written."""
    if tuple(steps) == ("spec",) and isinstance(document.data, dict):
        return document.data
    spec: Any = document.data
    for step in steps:
        spec = spec[step]
    envelope = {"apiVersion": "callgate/v1", "kind": "ToolManifest", "metadata": {"name": name or "inline"}}
    return {**envelope, "spec": spec}


def _moved(fault: _core.Fault, steps: tuple[str | int, ...]) -> Any:
    from .faults import Found

    pointer = (*steps, *fault.pointer[1:])
    return Found(fault.code, fault.severity, fault.message, pointer, fault.part, fault.hint, span=fault.span)
