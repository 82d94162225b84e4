"""The self-test of policies: what no generated run and no policy test of the same files ever fires."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import callgate._core as _core
from callgate.policy.check import heeded, policy_of_test
from callgate.policy.compile import Manifest, plain
from callgate.policy.diagnostics import Diagnostic, ordered
from callgate.policy.faults import Found
from callgate.policy.load import Document, Loaded
from callgate.policy.resolve import Resolved, resolve

# How something showed (`rule`, `note`, `refuse`, `exit`, `budget`), and the reason that was given.
Shown = tuple[str, str]


def self_test(loaded: Loaded) -> list[Diagnostic]:
    """Look for a run that fires each rule, rung and budget of the loaded policies.

    A policy answers for what it writes itself; what it inherits is looked at where it is written. What is proved never
    to fire is an error that `check` and `Gate.load` find already.

    Args:
        loaded: documents without errors.

    Returns:
        A warning for each that neither a generated run nor a test of these files fires.

    Example:
        >>> from callgate.policy.load import load
        >>> self_test(load(["no/such/file.yaml"]))
        []
    """
    found: list[Diagnostic] = []
    for document in loaded.of_kind("GuardPolicy"):
        resolved = resolve(loaded, document)
        if all(diagnostic.severity != "error" for diagnostic in resolved.diagnostics):
            found += resolved.located(_faults(loaded, document, resolved))
    return ordered(heeded(loaded, found))


def _faults(loaded: Loaded, document: Document, resolved: Resolved) -> Iterator[Found]:
    manifests = [Manifest(name, manifest) for name, manifest in resolved.manifests.items()]
    probes = _core.self_test(resolved.document, document.data, plain(manifests))
    silent = [probe for probe in probes if not probe.fires and resolved.is_own(probe.pointer)]
    if not silent:
        return
    shown = {each for test in loaded.of_kind("GuardTest") for each in _shown(loaded, document, test)}
    for probe in silent:
        if (probe.kind, probe.reason) in shown:
            continue
        why = f": {probe.why}" if probe.why else ""
        message = f"no run was found in which {probe.title} {_DOES[probe.kind]}{why}"
        hint = "leave it to a policy with such tools, or declare them" if why else "write a `GuardTest` that shows it"
        yield Found("CG502", "warning", message, probe.pointer, "value", hint)


_DOES = {"rule": "fires", "note": "notes", "refuse": "refuses", "exit": "ends the task", "budget": "is used up"}


def _shown(loaded: Loaded, document: Document, test: Document) -> Iterable[Shown]:
    """What fired in a test of this policy, or of one that builds on it."""
    whole = policy_of_test(loaded, test)
    if whole is not None and all(layer is not document for layer in whole.resolved.layers):
        return
    from .run import rows_of  # only where a test has to be played

    for row in rows_of(loaded, test):
        yield from (("note", note["reason"]) for note in row["notes"])
        yield from (("rule", note["reason"]) for note in row["notes"])
        if row["stop"] is not None:
            yield ("exit", row["stop"]["reason"])
            yield ("rule", row["stop"]["reason"])
        held = row["would"] or row["action"]
        for reason in row["reasons"]:
            yield ("rule", reason)
            if held != "allow":
                yield ("refuse", reason)
                yield ("budget", reason)
