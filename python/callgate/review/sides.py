"""The two sides of a diff: what stands under a path, a pack's name or a git reference, loaded, checked and resolved."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import callgate._core as _core
from callgate.policy.bindings import Bound, bound_policies, compile_bindings
from callgate.policy.check import check
from callgate.policy.compile import compile_policy
from callgate.policy.diagnostics import Diagnostic
from callgate.policy.exceptions import lifting
from callgate.policy.load import Document, Loaded, load
from callgate.policy.resolve import Resolved, resolve

from .git_tree import at_reference


class Side(NamedTuple):
    """One side of a diff.

    `label` is how it was named; `policies` are its policies by name, `bindings` and `exceptions` likewise;
    `diagnostics` is all that is wrong with any of it: with an error among it, it is not fit to be compared.
    """

    label: str
    loaded: Loaded
    diagnostics: list[Diagnostic]
    policies: dict[str, Resolved]
    bindings: dict[str, Bound]
    exceptions: dict[str, Document]

    @property
    def is_fit(self) -> bool:
        """Whether nothing is an error."""
        return all(found.severity != "error" for found in self.diagnostics)

    def compiled(self) -> _core.CompiledPolicy | None:
        """What a session is judged by: the policies that bindings name, else the only one; None without an only one."""
        if self.bindings:
            return compile_bindings(self.loaded, [bound.binding for bound in self.bindings.values()])[0]
        if len(self.policies) != 1:
            return None
        (policy,) = self.policies.values()
        compiled = compile_policy(policy)[0]
        return None if compiled is None else compiled.with_exceptions(lifting(self.loaded, policy.name))


def side_of(where: str) -> Side:
    """What stands under a path, or where none is, the shipped pack of that name. Tests decide nothing: none is read."""
    path = Path(where)
    if where != "" and path.exists():
        return _side(where, load([path]))
    loaded = load([])
    pack = loaded.find("GuardPolicy", where)
    if pack is None:
        fault = "no such file or folder, and no such pack"
        loaded.diagnostics.append(Diagnostic("CG701", "error", fault, where, None, loaded.hint("GuardPolicy", where)))
        return Side(where, loaded, loaded.diagnostics, {}, {}, {})
    return Side(where, loaded, check(loaded), {where: resolve(loaded, pack)}, {}, {})


def side_at(reference: str, where: str) -> Side:
    """What stood under a path at a git reference; nothing of the work tree is read or changed.

    Raises:
        GitError: git says no: no repository, no such reference, nothing there.
    """
    label = f"git:{reference}"
    with at_reference(reference, Path(where)) as (path, root):
        loaded = load([path])
        renamed = {}
        for file, source in loaded.sources.items():
            below = Path(file).resolve() if not Path(file).is_absolute() else Path(file)
            if below.is_relative_to(root):
                shown = f"{reference}:{below.relative_to(root).as_posix()}"
                source.file = source.label = shown
                file = shown
            renamed[file] = source
        names = {str(old): new.file for old, new in zip(loaded.sources, renamed.values(), strict=True)}
        loaded.sources = renamed
        loaded.files = [names.get(file, file) for file in loaded.files]
        loaded.diagnostics = [each._replace(file=names.get(each.file, each.file)) for each in loaded.diagnostics]
        return _side(f"{label}:{where}" if where != "." else label, loaded)


def _side(label: str, loaded: Loaded) -> Side:
    loaded.documents = [document for document in loaded.documents if document.kind != "GuardTest"]
    diagnostics = check(loaded)
    policies = {document.name or "": resolve(loaded, document) for document in loaded.of_kind("GuardPolicy")}
    if not policies and all(found.severity != "error" for found in diagnostics):
        fault = "no policy"
        hint = "a policy is a document with `kind: GuardPolicy`"
        diagnostics = [*diagnostics, Diagnostic("CG711", "error", fault, label, None, hint)]
    bindings = {bound.binding.name or "": bound for bound in bound_policies(loaded, loaded.of_kind("GuardBinding"))}
    exceptions = {document.name or "": document for document in loaded.of_kind("GuardException")}
    return Side(label, loaded, diagnostics, policies, bindings, exceptions)
