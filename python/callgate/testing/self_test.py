"""The self-test of policies: what no generated run and no policy test of the same files ever fires."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import callgate._core as _core
from callgate.policy.check import heeded, policy_of_test
from callgate.policy.compile import Manifest, plain
from callgate.policy.diagnostics import Diagnostic, ordered
from callgate.policy.faults import Found
from callgate.policy.load import Document, Loaded
from callgate.policy.resolve import Resolved, resolve

if TYPE_CHECKING:
    from .expect import Row

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
    for probe in _unshown(loaded, document, silent) if silent else ():
        why = f": {probe.why}" if probe.why else ""
        message = f"no run was found in which {probe.title} {_DOES[probe.kind]}{why}"
        hint = "leave it to a policy with such tools, or declare them" if why else "write a `GuardTest` that shows it"
        yield Found("CG502", "warning", message, probe.pointer, "value", hint)


_DOES = {"rule": "fires", "note": "notes", "refuse": "refuses", "exit": "ends the task", "budget": "is used up"}


def _unshown(loaded: Loaded, document: Document, silent: list[_core.Probe]) -> list[_core.Probe]:
    """What no test of the policy fires. Those that name what is looked for are played first, and none in vain."""
    from callgate.policy.fixtures import Fixtures  # only where a test has to be played

    from .judge import Judges
    from .play import rows_of

    judges, fixtures = Judges(loaded), Fixtures(loaded)
    words = {probe.reason for probe in silent}
    tests = [test for test in loaded.of_kind("GuardTest") if _is_about(loaded, document, test)]
    for test in sorted(tests, key=lambda test: all(word not in str(test.data) for word in words)):
        judge, _ = judges.of(test)
        rows = rows_of(judge.policy, fixtures, test) if judge is not None else ()
        shown = {each for row in rows for each in _shown(row)}
        silent = [probe for probe in silent if (probe.kind, probe.reason) not in shown]
        if not silent:
            break
    return silent


def _is_about(loaded: Loaded, document: Document, test: Document) -> bool:
    """Whether a test is about this policy, or one that builds on it."""
    whole = policy_of_test(loaded, test)
    return whole is None or any(layer is document for layer in whole.resolved.layers)


def _shown(row: Row) -> Iterable[Shown]:
    """What fired in a decision."""
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
