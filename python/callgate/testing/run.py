"""The runner of policy tests: finds them, judges their runs, and holds what they expect against what was decided."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import callgate._core as _core
from callgate.policy.bindings import compile_bindings
from callgate.policy.check import check_whole, first_of_each_file, policy_of_test
from callgate.policy.compile import compile_policy
from callgate.policy.diagnostics import Diagnostic, Span, ordered
from callgate.policy.exceptions import lifting
from callgate.policy.faults import Found, located, span_of
from callgate.policy.load import Document, Loaded, beside_tests, load
from callgate.policy.source import Source
from callgate.traces.feed import Fault, faults_of
from callgate.traces.lines import TraceError, chunks

from .expect import Failure, Row, unmet_of_run, unmet_of_step
from .steps import written
from .unasserted import Unasserted, unasserted

OPEN_SESSIONS = 65_536


class Missed(NamedTuple):
    """A failure with its place."""

    failure: Failure
    span: Span


class GuardTestResult(NamedTuple):
    """What came of one test.

    `outcome` is `passed`, `failed` (expectations in `missed` were not met) or `error` (it could not be run:
    `diagnostics` say why). `rows` are the decisions, as `_core.Replay` tells them.
    """

    name: str
    description: str
    file: str
    span: Span | None
    outcome: Literal["passed", "failed", "error"]
    seconds: float
    missed: Sequence[Missed] = ()
    diagnostics: Sequence[Diagnostic] = ()
    unasserted: Sequence[Unasserted] = ()
    rows: Sequence[Row] = ()


class GuardTestRun(NamedTuple):
    """What came of all tests.

    `diagnostics` are of the paths as a whole: files that are not there, and faults of those that hold no test.
    `sources` are the texts of all files, by the names that diagnostics use.
    """

    results: Sequence[GuardTestResult]
    diagnostics: Sequence[Diagnostic]
    sources: Mapping[str, Source]
    deselected: int = 0

    @property
    def passed(self) -> bool:
        """Whether there were tests, and all of them passed."""
        clean = all(diagnostic.severity != "error" for diagnostic in self.diagnostics)
        return clean and bool(self.results) and all(result.outcome == "passed" for result in self.results)


def run_tests(
    paths: Iterable[str | os.PathLike[str]], *, only: str | None = None, packs: Sequence[Path] | None = None
) -> GuardTestRun:
    """Run policy tests.

    Args:
        paths: files of tests, and folders of them. Policies and manifests are looked for in all of these, in the
            folders of the files, and in the packs.
        only: run the tests with this text in their name alone.
        packs: folders with a folder for each pack; None for the packs that ship with callgate.

    Returns:
        What came of each; nothing is raised for what a file holds.

    Example:
        >>> run_tests(["no/such/folder"]).passed
        False
    """
    paths = list(paths)
    loaded = load(paths, beside=beside_tests(paths), packs=packs)
    diagnostics = check_whole(loaded)
    by_document: dict[tuple[str, int], list[Diagnostic]] = {}
    for found in diagnostics:
        by_document.setdefault(_document_of(loaded, found), []).append(found)
    results: list[GuardTestResult] = []
    told: set[tuple[str, int]] = set()
    deselected = 0
    tests = loaded.of_kind("GuardTest")
    for document in tests:
        if only is not None and only.casefold() not in (document.name or "").casefold():
            deselected += 1
            continue
        here = _place_of(document)
        told.add(here)
        own = [found for found in by_document.get(here, ()) if found.severity == "error"]
        results.append(_run(loaded, document, own))
    left_out = {_place_of(document) for document in tests} - told
    # what is wrong with a file that lies beside a test concerns the tests that use it alone
    skipped = told | left_out
    rest = [
        found
        for where, all_found in by_document.items()
        if where not in skipped and where[0] not in loaded.aside
        for found in all_found
    ]
    return GuardTestRun(results, first_of_each_file(ordered(rest)), loaded.sources, deselected)


def _document_of(loaded: Loaded, found: Diagnostic) -> tuple[str, int]:
    """The file, and which of its documents a fault is in; of a fault of the file as a whole none."""
    source = loaded.sources.get(found.file)
    return found.file, -1 if source is None or found.span is None else source.document(found.span.line)


def _place_of(document: Document) -> tuple[str, int]:
    source, root = document.source, document.positions.root
    return source.file, source.document(source.position(root.start)[0])


def _run(loaded: Loaded, document: Document, faults: list[Diagnostic]) -> GuardTestResult:
    started = time.perf_counter()
    metadata = document.data.get("metadata")
    description = metadata.get("description") if isinstance(metadata, dict) else None
    file, span = document.source.file, document.positions.value("/metadata/name")
    head = (document.name or "", description or "", file, span)

    def error(diagnostics: Iterable[Diagnostic]) -> GuardTestResult:
        return GuardTestResult(*head, "error", time.perf_counter() - started, diagnostics=ordered(diagnostics))

    if faults:
        return error(faults)
    spec: dict[str, Any] = document.data["spec"]
    policy, found = _policy(loaded, document)
    if policy is None:
        return error(found)
    if not _expects(spec):
        hint = "say with `expect:` what the run or one of its steps has to show"
        return error([_fault(document, "CG712", "the test expects nothing, and so cannot fail", ("spec",), hint)])
    try:
        rows, steps, endings = _judged(policy, document, spec)
    except (TraceError, ValueError) as problem:
        key = "trace" if "trace" in spec else "steps"
        return error([_fault(document, "CG713", str(problem), ("spec", key))])
    missed = list(unmet_of_run(spec.get("expect") or {}, rows, endings))
    of_rows = [_expected(spec, steps.get(row["seq"])) for row in rows]
    for at, step in enumerate(spec.get("steps") or []):
        if step.get("expect"):
            mine = [(place, row) for place, row in enumerate(rows) if steps.get(row["seq"]) == at]
            pointer = ("spec", "steps", at, "expect")
            missed += unmet_of_step(step["expect"], pointer, mine, _limits(policy, spec, step))
    placed = [Missed(failure, span_of(document.positions, failure.pointer, "key")) for failure in missed]
    return GuardTestResult(
        *head, "failed" if missed else "passed", time.perf_counter() - started, placed, (),
        unasserted(spec.get("expect") or {}, of_rows, rows), rows,
    )  # fmt: skip


def rows_of(loaded: Loaded, document: Document) -> list[Row]:
    """The decisions of a test's run, whatever the test expects of them; none where it cannot be run."""
    policy, _ = _policy(loaded, document)
    if policy is None:
        return []
    try:
        return _judged(policy, document, document.data["spec"])[0]
    except (TraceError, ValueError):
        return []


def _policy(loaded: Loaded, document: Document) -> tuple[_core.CompiledPolicy | None, list[Diagnostic]]:
    whole = policy_of_test(loaded, document)
    if whole is None:
        bindings = _bindings(loaded, document)
        if not bindings:
            hint = "name one with `policy:`, or write its spec there; bindings in a folder around it count too"
            return None, [_fault(document, "CG711", "the test names no policy", ("spec",), hint)]
        policy, found = compile_bindings(loaded, bindings)
        return policy, [diagnostic for diagnostic in found if diagnostic.severity == "error"]
    policy, found = compile_policy(whole.resolved, whole.manifests)
    if policy is not None and isinstance(document.data["spec"].get("policy"), str):
        policy = policy.with_exceptions(lifting(loaded, whole.resolved.name))
    return policy, [diagnostic for diagnostic in found if diagnostic.severity == "error"]


def _bindings(loaded: Loaded, document: Document) -> list[Document]:
    """The bindings of the nearest folder around a test that has some, below it included."""
    folder = Path(document.source.file).resolve().parent
    bindings = [(Path(binding.source.file).resolve(), binding) for binding in loaded.of_kind("GuardBinding")]
    for around in (folder, *folder.parents):
        found = [binding for path, binding in bindings if path.is_relative_to(around)]
        if found:
            return found
    return []


def _limits(policy: _core.CompiledPolicy, spec: dict[str, Any], step: dict[str, Any]) -> dict[str, float | None]:
    agent, tenant, labels = step.get("agent") or "root", spec.get("tenant"), spec.get("labels")
    return dict(policy.limits_of(agent=agent, tenant=tenant, labels=labels))


def _judged(
    policy: _core.CompiledPolicy, document: Document, spec: dict[str, Any]
) -> tuple[list[Row], dict[int, int], list[dict[str, Any]]]:
    """The decisions of a test's run, in the order in which they fell; the step of each `seq`, if it has steps; and how
    its tasks ended.
    """
    began = None if spec.get("began") is None else _core.moment(spec["began"])
    replay = _core.Replay(
        policy, most_open=OPEN_SESSIONS, tenant=spec.get("tenant"), labels=spec.get("labels"), began=began
    )
    steps: dict[int, int] = {}
    faults: list[Fault] = []
    if "trace" in spec:
        trace = Path(document.source.file).parent / spec["trace"]
        for chunk in chunks(trace):
            faults += faults_of(replay, chunk, str(trace))
    else:
        lines, steps = written(spec.get("steps") or [], document.name or "test")
        for at, why in replay.feed(lines):
            raise ValueError(f"step {steps[at + 1]}: {why}")
    if faults:
        first, more = faults[0], len(faults) - 1
        raise ValueError(f"{first.file}:{first.line}: {first.why}" + (f", and {more} further lines" if more else ""))
    replay.finish()
    rows = replay.take_rows()
    if not rows:
        raise ValueError("the run has no call")
    return rows, steps, replay.take_endings()


def _expects(spec: dict[str, Any]) -> bool:
    return bool(spec.get("expect")) or any(step.get("expect") for step in spec.get("steps") or [])


def _expected(spec: dict[str, Any], step: int | None) -> Mapping[str, Any]:
    return {} if step is None else spec["steps"][step].get("expect") or {}


def _fault(
    document: Document, code: str, message: str, pointer: tuple[str | int, ...], hint: str | None = None
) -> Diagnostic:
    return located(document.positions, [Found(code, "error", message, pointer, "value", hint)])[0]
