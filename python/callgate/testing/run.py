"""The runner of policy tests: finds them, judges their runs, and holds what they expect against what was decided."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from callgate.counted import counted
from callgate.path_list import path_list
from callgate.policy.check import check_whole, first_of_each_file
from callgate.policy.diagnostics import Diagnostic, Span, ordered
from callgate.policy.faults import Found, located, span_of
from callgate.policy.fixtures import Fixtures, is_home_alone
from callgate.policy.load import Document, Loaded, beside_tests, load
from callgate.policy.source import Source
from callgate.traces.lines import TraceError

from .expect import Failure, Row
from .judge import Judge, Judges
from .play import Played, PolicyTest, StepError, play
from .selection import Selection
from .unasserted import Unasserted, unasserted
from .unmet import unmet
from .values import Background, Evaluated, backgrounds

if TYPE_CHECKING:
    from callgate.review.coverage import Coverage, Tally
    from callgate.review.mutation import Mutation

    from .mutate import Draw


class Missed(NamedTuple):
    """A failure with its place, and the expressions that decided the call it is about, with the values in them.

    `message` is what was said where that call did not get through.
    """

    failure: Failure
    span: Span
    evaluated: Sequence[Evaluated] = ()
    message: str | None = None


class GuardTestResult(NamedTuple):
    """What came of one test.

    `outcome` is `passed`, `failed` (expectations in `missed` were not met) or `error` (it could not be run:
    `diagnostics` say why). `rows` are the decisions, as `_core.Replay` tells them. `document` is the test itself.
    """

    name: str
    description: str
    document: Document
    outcome: Literal["passed", "failed", "error"]
    seconds: float
    missed: Sequence[Missed] = ()
    diagnostics: Sequence[Diagnostic] = ()
    unasserted: Sequence[Unasserted] = ()
    rows: Sequence[Row] = ()

    @property
    def file(self) -> str:
        """The file that it stands in, as diagnostics show it."""
        return self.document.source.file

    @property
    def span(self) -> Span | None:
        """Where its name stands."""
        return self.document.positions.value("/metadata/name")


class GuardTestRun(NamedTuple):
    """What came of all tests.

    `diagnostics` are of the paths as a whole: files that are not there, and faults of those that hold no test.
    `sources` are the texts of all files, by the names that diagnostics use. `coverage` and `mutation` are there where
    they were asked for, the latter only where all tests pass. `mutation_left_out` says why they were
    not. `skipped` tests were left out after one that failed.
    """

    results: Sequence[GuardTestResult]
    diagnostics: Sequence[Diagnostic]
    sources: Mapping[str, Source]
    deselected: int = 0
    skipped: int = 0
    coverage: Coverage | None = None
    mutation: Mutation | None = None
    mutation_left_out: str | None = None

    @property
    def passed(self) -> bool:
        """Whether there were tests, and all of them passed."""
        clean = all(diagnostic.severity != "error" for diagnostic in self.diagnostics)
        return clean and bool(self.results) and all(result.outcome == "passed" for result in self.results)


def run_tests(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    only: str | None = None,
    selection: Selection | None = None,
    fail_fast: bool = False,
    coverage: bool = False,
    mutation: Draw | None = None,
    packs: Sequence[Path] | None = None,
) -> GuardTestRun:
    """Run policy tests.

    Args:
        paths: files of tests, and folders of them; or one of these by itself. Policies and manifests are looked for in
            all of these, in the folders of the files, and in the packs.
        only: run the tests with this text in their name, or in that of their file, alone.
        selection: the same by more than one text.
        fail_fast: leave the rest out after the first test that does not pass.
        coverage: count what of the policies and manifests among the paths the tests exercise.
        mutation: judge mutants of them, as many as this says.
        packs: folders with a folder for each pack; None for the packs that ship with callgate.

    Returns:
        What came of each; nothing is raised for what a file holds.

    Example:
        >>> run_tests("no/such/folder").passed
        False
    """
    paths = path_list(paths)
    chosen = selection or Selection()
    if only is not None:
        chosen = chosen._replace(words=[*chosen.words, only])
    loaded = load(paths, beside=beside_tests(paths), packs=packs)
    diagnostics = check_whole(loaded)
    by_document: dict[tuple[str, int], list[Diagnostic]] = {}
    for found in diagnostics:
        by_document.setdefault(_document_of(loaded, found), []).append(found)
    results: list[GuardTestResult] = []
    tests = [document for document in loaded.of_kind("GuardTest") if not is_home_alone(document)]
    taken = [document for document in tests if chosen.takes(document)]
    judges, fixtures, tally = Judges(loaded), Fixtures(loaded), _tally(loaded) if coverage else None
    for document in taken:
        documents = [document, *(used.document for used in fixtures.used_by(document))] if by_document else []
        homes = dict.fromkeys(map(_place_of, documents))  # a place is sought where there is a fault alone
        own = [found for home in homes for found in by_document.get(home, ()) if found.severity == "error"]
        results.append(_run(fixtures, judges, document, own, tally))
        if fail_fast and results[-1].outcome != "passed":
            break
    # what is wrong with a file that lies beside a test concerns the tests that use it alone
    of_tests = {_place_of(document) for document in tests} if by_document else set()
    rest = [
        found
        for where, all_found in by_document.items()
        if where not in of_tests and where[0] not in loaded.aside
        for found in all_found
    ]
    done = GuardTestRun(
        results, first_of_each_file(ordered(rest)), loaded.sources, len(tests) - len(taken), len(taken) - len(results),
        None if tally is None else tally.coverage(),
    )  # fmt: skip
    if mutation is None:
        return done
    if not done.passed:
        return done._replace(mutation_left_out=_why_not_passed(done))
    from .mutate import mutate  # only where it is asked for

    return done._replace(mutation=mutate(loaded, taken, most=mutation.most, seed=mutation.seed))


def _why_not_passed(run: GuardTestRun) -> str:
    if not run.results:
        return "there is no test"
    if failed := sum(result.outcome != "passed" for result in run.results):
        return counted(failed, "test does not pass", "tests do not pass")
    return "the files have faults"


def _tally(loaded: Loaded) -> Tally:
    from callgate.review.coverage import Tally  # only where it is asked for

    return Tally(loaded)


def _document_of(loaded: Loaded, found: Diagnostic) -> tuple[str, int]:
    """The file, and which of its documents a fault is in; of a fault of the file as a whole none."""
    source = loaded.sources.get(found.file)
    return found.file, -1 if source is None or found.span is None else source.document(found.span.line)


def _place_of(document: Document) -> tuple[str, int]:
    source, root = document.source, document.positions.root
    return source.file, source.document(source.position(root.start)[0])


def _run(
    fixtures: Fixtures, judges: Judges, document: Document, faults: list[Diagnostic], tally: Tally | None
) -> GuardTestResult:
    started = time.perf_counter()
    metadata = document.data.get("metadata")
    description = metadata.get("description") if isinstance(metadata, dict) else None
    head = (document.name or "", description or "", document)

    def error(diagnostics: Iterable[Diagnostic]) -> GuardTestResult:
        return GuardTestResult(*head, "error", time.perf_counter() - started, diagnostics=ordered(diagnostics))

    if faults:
        return error(faults)
    judge, found = judges.of(document)
    if judge is None:
        return error(found)
    policy = judge.policy if tally is None else tally.watched(judge.policy, judge.parts)
    try:
        test = PolicyTest.of(fixtures, document)
        if not test.expects:
            hint = "say with `expect:` what the run or one of its steps has to show"
            return error([_fault(document, "CG712", "the test expects nothing, and so cannot fail", ("spec",), hint)])
        rows, steps, endings = play(policy, test)
    except StepError as problem:
        return error([_fault(problem.step.document, "CG713", str(problem), problem.step.pointer)])
    except (TraceError, ValueError) as problem:
        key = "trace" if "trace" in document.data["spec"] else "steps"
        return error([_fault(document, "CG713", str(problem), ("spec", key))])
    if tally is not None:
        tally.count(judge.policy, document.name or document.source.file)
    missed = unmet(policy, test, Played(rows, steps, endings))
    of_rows = [_expected(test, steps.get(row["seq"])) for row in rows]
    placed = _placed(judge, test, missed, rows)
    return GuardTestResult(
        *head, "failed" if missed else "passed", time.perf_counter() - started, placed, (),
        unasserted(test.spec.get("expect") or {}, of_rows, rows), rows,
    )  # fmt: skip


def _placed(judge: Judge, test: PolicyTest, missed: Sequence[Failure], rows: Sequence[Row]) -> list[Missed]:
    """Failures in the order of their lines."""
    behind = backgrounds(judge, test, missed, rows) if missed else {}
    homes = [(failure.document or test.document).positions for failure in missed]
    placed = [
        Missed(failure, span_of(home, failure.pointer, "key"), *behind.get(at, Background()))
        for at, (failure, home) in enumerate(zip(missed, homes, strict=True))
    ]
    return sorted(placed, key=lambda each: (each.span.line, each.span.column))


def _expected(test: PolicyTest, step: int | None) -> Mapping[str, Any]:
    return {} if step is None else test.steps[step].step.get("expect") or {}


def _fault(
    document: Document, code: str, message: str, pointer: tuple[str | int, ...], hint: str | None = None
) -> Diagnostic:
    return located(document.positions, [Found(code, "error", message, pointer, "value", hint)])[0]
