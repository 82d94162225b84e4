"""Bindings: which policy applies to whom, with which mode and parameters; several policies compiled as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import callgate._core as _core

from .compile import Manifest, compile_policy
from .diagnostics import Diagnostic, Place, did_you_mean
from .exceptions import lifting
from .faults import Found, located
from .load import Document, Loaded
from .locked import Lock, loosened
from .merge import Merged, Origin, annotate
from .resolve import Resolved, resolve

UNSET_PARAMETER: Final = "CG440"
_STRICTNESS: Final = ("audit", "warn", "enforce")


class Bound(NamedTuple):
    """A binding and the policy as it stands under it: mode and parameters of the binding laid over the policy."""

    binding: Document
    resolved: Resolved


def bound_policies(loaded: Loaded, bindings: Sequence[Document]) -> list[Bound]:
    """Each binding with its policy, as far as that is known; what is wrong between the two is in its diagnostics."""
    found = []
    for binding in bindings:
        spec = _spec(binding)
        policy = spec.get("policy")
        document = loaded.find("GuardPolicy", policy) if isinstance(policy, str) else None
        if document is not None and binding.name is not None:
            found.append(Bound(binding, _under(resolve(loaded, document), binding)))
    return found


def compile_bound(bound: Bound, manifests: Sequence[Manifest] | None = None) -> tuple[
    _core.CompiledPolicy | None, list[Diagnostic]
]:  # fmt: skip
    """Compile a policy as it stands under a binding; a parameter without a value is a fault of the binding."""
    compiled, diagnostics = compile_policy(bound.resolved, manifests)
    binding, place = bound.binding, "/metadata/name"
    found = []
    for diagnostic in diagnostics:
        if diagnostic.code == UNSET_PARAMETER:
            related = (Place("declared here", diagnostic.file, diagnostic.span),)
            hint = "write it under `parameters`, or give it a `default` in the policy"
            span = binding.positions.value(place)
            diagnostic = diagnostic._replace(
                file=binding.source.file, span=span, hint=hint, related=related, pointer=place
            )
        found.append(diagnostic)
    return compiled, found


def compile_bindings(
    loaded: Loaded, bindings: Sequence[Document], manifests: Sequence[Manifest] = ()
) -> tuple[_core.CompiledPolicy | None, list[Diagnostic]]:
    """All policies that bindings name, as one that applies to each agent what its bindings say.

    Args:
        loaded: where policies, manifests and exceptions are looked up.
        bindings: the bindings in force; at least one.
        manifests: manifests that are in force beside each policy's own.

    Returns:
        The policies, None if something is an error; and all that is wrong with them together.
    """
    parts: list[tuple[str, _core.CompiledPolicy, list[str] | None, list[str] | None, dict[str, str], bool]] = []
    found: list[Diagnostic] = []
    bound = bound_policies(loaded, bindings)
    for each in bound:
        in_force = [Manifest(name, document) for name, document in each.resolved.manifests.items()]
        own = {manifest.name for manifest in in_force}
        beside = [manifest for manifest in manifests if manifest.name not in own]
        compiled, diagnostics = compile_bound(each, [*beside, *in_force])
        found += diagnostics
        if compiled is None:
            continue
        name, agents, tenants, labels, rollout = scope_of(each.binding)
        lifted = compiled.with_exceptions(lifting(loaded, each.resolved.name))
        parts.append((name, lifted, agents, tenants, labels, rollout))
    whole = len(parts) == len(bindings)
    return _core.bind_policies(parts) if whole else None, found


def scope_of(binding: Document) -> tuple[str, list[str] | None, list[str] | None, dict[str, str], bool]:
    """Whom a binding in which no fault was found names: its name, agents, tenants (None: all), labels, rollout."""
    spec = _spec(binding)
    match = spec.get("match") or {}
    labels = dict(match.get("labels") or {})
    return binding.name or "", match.get("agents"), match.get("tenants"), labels, spec.get("rollout") is True


def names_of_bound(loaded: Loaded) -> set[str]:
    """The names of the policies that bindings name."""
    named = (_spec(binding).get("policy") for binding in loaded.of_kind("GuardBinding"))
    return {name for name in named if isinstance(name, str)}


def _spec(document: Document) -> dict[str, Any]:
    spec = document.data.get("spec")
    return spec if isinstance(spec, dict) else {}


def _under(resolved: Resolved, binding: Document) -> Resolved:
    """The policy with what the binding sets; a parameter's value stands as its `default`."""
    written = _spec(binding)
    spec: dict[str, Merged] = dict(resolved.tree.value["spec"].value)
    layer: dict[str, Merged] = {}
    diagnostics = _mode_faults(resolved, binding)
    if isinstance(written.get("mode"), str):
        spec["mode"] = layer["mode"] = annotate(binding, written["mode"], ("spec", "mode"))
    values = written.get("parameters")
    declared = spec.get("parameters")
    known = dict(declared.value) if declared is not None and isinstance(declared.value, dict) else {}
    for name, value in values.items() if isinstance(values, dict) else ():
        schema = known.get(name)
        if schema is None or not isinstance(schema.value, dict):
            diagnostics += _unknown_parameter(resolved, binding, name, list(known))
            continue
        default = annotate(binding, value, ("spec", "parameters", name))
        known[name] = Merged({**schema.value, "default": default}, schema.origin)
    if declared is not None:
        spec["parameters"] = layer["parameters"] = Merged(known, declared.origin)
    root = resolved.tree
    tree = Merged({**root.value, "spec": Merged(spec, root.value["spec"].origin)}, root.origin)
    above = Merged({"spec": Merged(layer, Origin(binding, ("spec",)))}, Origin(binding, ()))
    under = Resolved(resolved.name, tree, resolved.layers, resolved.metadata)
    under.manifests = resolved.manifests
    under.binding = binding.name
    under.diagnostics = [*resolved.diagnostics, *diagnostics, *loosened(_locks(root), root, tree, above)]
    return under


def _locks(tree: Merged) -> list[Lock]:
    locked = tree.at("spec", "locked")
    items = locked.value if locked is not None and isinstance(locked.value, list) else []
    return [
        Lock(tuple(item.value.split(".")), item.origin.document.name or item.origin.document.source.file, item.origin)
        for item in items
        if isinstance(item.value, str)
    ]


def _mode_faults(resolved: Resolved, binding: Document) -> list[Diagnostic]:
    written, own = _spec(binding), resolved.tree.at("spec", "mode")
    mode, before = written.get("mode"), "enforce" if own is None else own.value
    if mode not in _STRICTNESS or before not in _STRICTNESS or written.get("rollout") is True:
        return []
    if _STRICTNESS.index(mode) >= _STRICTNESS.index(before):
        return []
    message = f"the mode `{mode}` is weaker than the `{before}` of `{resolved.name}`"
    hint = "write `rollout: true` beside it, and every verdict will say so; or leave `mode` out"
    found = located(binding.positions, [Found("CG720", "error", message, ("spec", "mode"), "value", hint)])
    if own is not None:
        span = own.origin.document.positions.value(own.origin.steps)
        place = Place("the policy's mode", own.origin.document.source.file, span)
        found = [diagnostic._replace(related=(place,)) for diagnostic in found]
    return found


def _unknown_parameter(resolved: Resolved, binding: Document, name: str, known: list[str]) -> list[Diagnostic]:
    hint = did_you_mean(name, known) or (
        "it has " + ", ".join(f"`{other}`" for other in known) if known else "it has none"
    )
    message = f"the policy `{resolved.name}` has no parameter `{name}`"
    return located(binding.positions, [Found("CG721", "error", message, ("spec", "parameters", name), "key", hint)])
