"""The policy that a test is judged by, with the documents that it was compiled from; each compiled once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import callgate._core as _core
from callgate.policy.bindings import UNSET_PARAMETER, bound_policies, compile_bindings, names_of_bound
from callgate.policy.check import missing_from_test, policy_of_test
from callgate.policy.compile import Manifest, compile_policy
from callgate.policy.diagnostics import Diagnostic, ordered
from callgate.policy.exceptions import lifting
from callgate.policy.faults import Found, located
from callgate.policy.load import Document, Loaded
from callgate.policy.resolve import Resolved
from callgate.review.parts import Part

_WITHOUT_BINDING: Final = (
    "a test that names its policy has no binding's parameters: leave `policy` out and say whose task it is with "
    "`tenant` or `labels`, or give the parameter a `default`"
)


class Judge(NamedTuple):
    """A compiled policy, or several that are bound, and what each was compiled from, in the order of the core.

    `bindings` are those of the parts; there are none where one policy judges by itself.
    """

    policy: _core.CompiledPolicy
    parts: Sequence[Part]
    bindings: Sequence[Document] = ()


class Judges:
    """The judges of some tests. Tests of one policy with the same manifests share one."""

    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded
        self._known: dict[object, tuple[Judge | None, list[Diagnostic]]] = {}

    def of(self, document: Document) -> tuple[Judge | None, list[Diagnostic]]:
        """The judge of a test, None where it has none; and the errors that kept it from being made."""
        whole = policy_of_test(self._loaded, document)
        if whole is None and (missing := missing_from_test(self._loaded, document)):
            # a name that is not known is told already; what hides behind a file that cannot be read is told here
            return None, ordered(found for name in missing for found in self._loaded.hidden(name))
        if whole is None:
            return self._bound(document)
        named = isinstance(document.data["spec"].get("policy"), str)
        own = whole.manifests
        manifests = None if own is None else tuple((id(each.document.positions), each.steps) for each in own)
        key = (id(whole.resolved), named, manifests)
        if key not in self._known:
            self._known[key] = self._compiled(whole.resolved, own, named)
        return self._known[key]

    def _compiled(
        self, resolved: Resolved, manifests: list[Manifest] | None, named: bool
    ) -> tuple[Judge | None, list[Diagnostic]]:
        policy, found = compile_policy(resolved, manifests)
        errors = [diagnostic for diagnostic in found if diagnostic.severity == "error"]
        if named and resolved.name in names_of_bound(self._loaded):
            errors = [each._replace(hint=_WITHOUT_BINDING) if each.code == UNSET_PARAMETER else each for each in errors]
        if policy is None:
            return None, errors
        if named:
            policy = policy.with_exceptions(lifting(self._loaded, resolved.name))
        return Judge(policy, [Part.of(resolved, manifests)]), errors

    def _bound(self, document: Document) -> tuple[Judge | None, list[Diagnostic]]:
        bindings = self._bindings(document)
        if not bindings:
            hint = "name one with `policy:`, or write its spec there; bindings in a folder around it count too"
            lacks = Found("CG711", "error", "the test names no policy", ("spec",), "value", hint)
            return None, located(document.positions, [lacks])
        key = tuple(id(binding.positions) for binding in bindings)
        if key not in self._known:
            policy, found = compile_bindings(self._loaded, bindings)
            errors = [diagnostic for diagnostic in found if diagnostic.severity == "error"]
            bound = sorted(bound_policies(self._loaded, bindings), key=lambda each: each.binding.name or "")
            parts, of_parts = [Part.of(each.resolved, None) for each in bound], [each.binding for each in bound]
            self._known[key] = None if policy is None else Judge(policy, parts, of_parts), errors
        return self._known[key]

    def _bindings(self, document: Document) -> list[Document]:
        """The bindings of the nearest folder around a test that has some, below it included."""
        folder = Path(document.source.file).resolve().parent
        bindings = [(Path(each.source.file).resolve(), each) for each in self._loaded.of_kind("GuardBinding")]
        for around in (folder, *folder.parents):
            found = [binding for path, binding in bindings if path.is_relative_to(around)]
            if found:
                return found
        return []
