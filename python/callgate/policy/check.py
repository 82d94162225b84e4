"""Everything that is wrong with loaded documents: with each by itself, and with the policies they make together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import callgate._core as _core
from callgate.counted import counted

from .bindings import UNSET_PARAMETER, bound_policies, compile_bound, names_of_bound
from .compile import Manifest, compile_policy
from .diagnostics import Diagnostic, ordered
from .exceptions import exception_faults
from .faults import Found, located
from .fixtures import fixture_faults
from .load import Document, Loaded
from .resolve import Resolved, resolve
from .settings import Level
from .tool_count import count_tools, long_definitions, unused_manifests
from .worst_case import worst_case

REFERRING = frozenset({"GuardTest", "GuardBinding", "GuardException"})
MOST_OF_A_NAME = 3  # documents of another kind that have the name which is looked for
FAULTS_OF_A_FILE = 101  # the hundred that reading stops at, and the word that it did


def check(loaded: Loaded, now: float | None = None) -> list[Diagnostic]:
    """All faults of the loaded documents, and of the packs that they build on, by file and place; of a file the first
    hundred.

    An exception that has expired at `now` (seconds since 1970) is an error; without `now` none has.
    """
    return first_of_each_file(check_whole(loaded, now))


def check_whole(loaded: Loaded, now: float | None = None) -> list[Diagnostic]:
    """The same, however many there are.

    A policy is checked twice: each of its documents by itself, and then, if those are in order, all layers together,
    where faults show that no layer has alone. A policy that bindings name is checked under each of them too.
    """
    diagnostics = list(loaded.diagnostics)
    policies: list[Whole] = []
    for document in loaded.documents:
        if document.kind == "GuardPolicy":
            policies.append(Whole(resolve(loaded, document), None))
        elif document.kind in REFERRING:
            diagnostics += _references(loaded, document)
            if document.kind == "GuardException":
                diagnostics += exception_faults(loaded, document, now)
            if document.kind == "GuardTest" and (of_test := policy_of_test(loaded, document)) is not None:
                policies.append(of_test)
    diagnostics += fixture_faults(loaded)
    broken = {found.file for found in loaded.diagnostics if found.severity == "error"}
    faulty: set[int] = set()
    for document in (*loaded.documents, *loaded.packed):
        found_alone = _alone(document)
        diagnostics += found_alone
        if document.source.file in broken or any(found.severity == "error" for found in found_alone):
            faulty.add(id(document.positions))

    def is_whole(resolved: Resolved, *further: Document) -> bool:
        parts = [*resolved.layers, *resolved.manifests.values(), *further]
        clean = all(found.severity != "error" for found in resolved.diagnostics)
        return clean and not any(id(part.positions) in faulty for part in parts)

    bound_names = names_of_bound(loaded)
    compiled: set[object] = set()  # the policy of many tests is one: it is compiled once
    for resolved, manifests in policies:
        parts = None if manifests is None else tuple((id(part.document.positions), part.steps) for part in manifests)
        if (id(resolved), parts) in compiled:
            continue
        compiled.add((id(resolved), parts))
        diagnostics += resolved.diagnostics
        if is_whole(resolved, *(part.document for part in manifests or ())):
            found = compile_policy(resolved, manifests)[1]
            # what only bindings set is looked for under each of them
            waits = manifests is None and resolved.name in bound_names
            diagnostics += [each for each in found if not (waits and each.code == UNSET_PARAMETER)]
    for bound in bound_policies(loaded, loaded.of_kind("GuardBinding")):
        diagnostics += bound.resolved.diagnostics
        if is_whole(bound.resolved, bound.binding):
            diagnostics += compile_bound(bound)[1]
    distinct = {id(policy.resolved): policy.resolved for policy in policies}
    diagnostics += _about_tools(loaded, [*distinct.values()], is_whole)
    return ordered(heeded(loaded, diagnostics))


def _about_tools(loaded: Loaded, policies: list[Resolved], is_whole: Callable[[Resolved], bool]) -> list[Diagnostic]:
    """How many tools the policies put in front of a model, how long their definitions are, and what one call of them
    can become at worst.

    A policy that another one extends is a part of that one, and a test's policy is no one's to run.
    """
    limits = loaded.settings.tools
    parts = {id(layer.positions) for policy in policies for layer in policy.layers[:-1]}
    whole = [policy for policy in policies if policy.layers[-1].kind == "GuardPolicy"]
    whole = [policy for policy in whole if id(policy.layers[-1].positions) not in parts]
    found = [diagnostic for policy in whole for diagnostic in count_tools(policy, limits)]
    found += [diagnostic for policy in whole if is_whole(policy) for diagnostic in worst_case(policy)]
    for manifest in loaded.of_kind("ToolManifest"):
        found += long_definitions(manifest, limits)
    return found + unused_manifests(loaded, policies)


def heeded(loaded: Loaded, diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """What is left when comments of the files and levels of the settings were heeded."""
    return levelled(loaded.comments.heed(diagnostics), loaded.settings.lints)


def levelled(diagnostics: list[Diagnostic], levels: Mapping[str, Level]) -> list[Diagnostic]:
    """What is no error, at the level that the settings give its code."""
    if not levels:
        return diagnostics
    found = []
    for diagnostic in diagnostics:
        level = levels.get(diagnostic.code) if diagnostic.severity != "error" else None
        if level is None:
            found.append(diagnostic)
        elif level != "off":
            found.append(diagnostic._replace(severity=level))
    return found


def concerning(loaded: Loaded, diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """The diagnostics without those of files that merely lie beside the ones that were asked for.

    What the tests among the latter are about concerns them: the layers and manifests of their policies are kept.
    """
    left = set(loaded.aside)
    if not left:
        return list(diagnostics)
    used: set[str] = set()
    for document in loaded.of_kind("GuardTest"):
        whole = policy_of_test(loaded, document)
        if whole is not None:
            parts = [*whole.resolved.layers, *whole.resolved.manifests.values()]
            parts += [part.document for part in whole.manifests or ()]
            used.update(part.source.file for part in parts)
    return [found for found in diagnostics if found.file in used or found.file not in left]


def unfit(resolved: Resolved, loaded: Loaded, diagnostics: Iterable[Diagnostic]) -> bool:
    """Whether a layer of a policy could not be read as it is written, so that what it says is not what it would do.

    That is a fault of YAML or of form. What is wrong with the sense of a policy, or with what it refers to, can be seen
    in what is read.
    """
    layers = {(layer.source.file, _number(layer)) for layer in resolved.layers}
    files = {layer.source.file for layer in resolved.layers}
    for found in (*diagnostics, *resolved.diagnostics):
        if found.severity != "error" or not found.code.startswith(("CG1", "CG2")) or found.file not in files:
            continue
        if found.span is None or (found.file, loaded.sources[found.file].document(found.span.line)) in layers:
            return True
    return False


def _number(document: Document) -> int:
    source = document.source
    return source.document(source.position(document.positions.root.start)[0])


class Whole(NamedTuple):
    """A policy with all its layers, and the manifests that it is judged with, if they are not its own."""

    resolved: Resolved
    manifests: list[Manifest] | None


def first_of_each_file(diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    """At most a hundred of a file: nobody reads more, and a hostile file could have a hundred thousand."""
    kept: list[Diagnostic] = []
    counts: dict[str, int] = {}
    for diagnostic in diagnostics:
        counts[diagnostic.file] = counts.get(diagnostic.file, 0) + 1
        if counts[diagnostic.file] <= FAULTS_OF_A_FILE:
            kept.append(diagnostic)
    more = [(file, count - FAULTS_OF_A_FILE) for file, count in counts.items() if count > FAULTS_OF_A_FILE]
    kept += [
        Diagnostic(
            "CG106", "error", f"{counted(count, 'further fault is', 'further faults are')} not shown", file, None
        )
        for file, count in more
    ]
    return ordered(kept)


def _alone(document: Document) -> list[Diagnostic]:
    if not isinstance(document.data, dict) or "kind" not in document.data:
        return []
    return located(document.positions, _core.validate(str(document.data["kind"]), document.data))


def policy_of_test(loaded: Loaded, document: Document) -> Whole | None:
    """The policy of a test with the manifests of the test; None where one of them is not there."""
    if missing_from_test(loaded, document):
        return None
    spec = document.data.get("spec")
    if not isinstance(spec, dict):
        return None
    policy, names = spec.get("policy"), spec.get("manifests")
    if isinstance(policy, dict):
        resolved = resolve(loaded, document, ("spec", "policy"))
    else:
        named = loaded.find("GuardPolicy", policy) if isinstance(policy, str) else None
        if named is None:
            return None
        resolved = resolve(loaded, named)
    if names is None:
        return Whole(resolved, None)
    manifests: list[Manifest] = []
    for at, manifest in enumerate(names if isinstance(names, list) else []):
        if isinstance(manifest, dict):
            manifests.append(Manifest("", document, ("spec", "manifests", at)))
        elif isinstance(manifest, str) and (found := loaded.find("ToolManifest", manifest)) is not None:
            manifests.append(Manifest(manifest, found, ("spec",)))
    return Whole(resolved, manifests)


def missing_from_test(loaded: Loaded, document: Document) -> list[str]:
    """The names of policies and manifests that a test refers to and that are not there."""
    spec = document.data.get("spec")
    if not isinstance(spec, dict):
        return []
    policy, manifests = spec.get("policy"), spec.get("manifests")
    wanted = [("GuardPolicy", policy)] if isinstance(policy, str) else []
    wanted += [("ToolManifest", name) for name in _listed(manifests) if isinstance(name, str)]
    return [name for kind, name in wanted if loaded.find(kind, name) is None]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _references(loaded: Loaded, document: Document) -> list[Diagnostic]:
    """What a test, a binding or an exception refers to: a policy by name or written out, manifests, a trace."""
    spec: Any = document.data.get("spec")
    if not isinstance(spec, dict):
        return []
    found: list[Diagnostic] = []
    policy, manifests, trace = spec.get("policy"), spec.get("manifests"), spec.get("trace")
    if isinstance(policy, str) and loaded.find("GuardPolicy", policy) is None and not loaded.hidden(policy):
        found += _unknown(loaded, document, "CG704", "policy", "GuardPolicy", policy, ("spec", "policy"))
    for at, manifest in enumerate(manifests if isinstance(manifests, list) else []):
        known = not isinstance(manifest, str) or loaded.find("ToolManifest", manifest) is not None
        if not known and not loaded.hidden(manifest):
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
    hint = loaded.hint(kind, name, document.source.file)
    found = located(document.positions, [Found(code, "error", f"unknown {what} `{name}`", steps, "value", hint)])
    others = [other for other in loaded.documents if other.name == name and other.kind not in (kind, None)]
    related = tuple(other.place(f"this one has the kind `{other.kind}`") for other in others[:MOST_OF_A_NAME])
    return [diagnostic._replace(related=related) for diagnostic in found]
