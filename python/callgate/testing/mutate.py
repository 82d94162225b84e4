"""Mutation: mutants of policies are judged over the runs of the tests, and what those expect is held against them."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import callgate._core as _core
from callgate.policy.bindings import scope_of
from callgate.policy.exceptions import lifting
from callgate.policy.fixtures import Fixtures
from callgate.policy.load import Document, Loaded
from callgate.policy.positions import join_pointer
from callgate.review.mutants import KINDS, Mutant, mutants
from callgate.review.mutation import Mutation, Survivor
from callgate.review.parts import Steps, places_of

from .judge import Judge, Judges
from .play import Played, PolicyTest, lines_of, play
from .stub import stub_of
from .unmet import unmet

THREADS: Final = 2
FIRST: Final = 3
"""Runs that come out otherwise, of which one is likely to be noticed; where none is, all are judged."""
EVERY: Final = 1_000_000

Edit = tuple[int, int, int, Steps, bool, Any]
_Scope = tuple[str, list[str] | None, list[str] | None, dict[str, str], bool]
_Judging = tuple[Any, list[tuple[str, Any]], list[Any], _Scope | None]
_Lines = tuple[bytes, str | None, dict[str, str] | None, float | None]


class Draw(NamedTuple):
    """How many mutants are tried, drawn with a seed; all of them where `most` is None."""

    most: int | None = None
    seed: int = 0


class _Suite(NamedTuple):
    """The tests of one judge; for each of its policies, where the values stand that mutants change."""

    judge: Judge
    named: bool
    tests: list[PolicyTest]
    steps: list[dict[int, int]]
    places: list[dict[int, list[tuple[int, Steps]]]]


def mutate(loaded: Loaded, tests: Sequence[Document], *, most: int | None = None, seed: int = 0) -> Mutation:
    """Judge the mutants of the policies and manifests that were asked for.

    Args:
        loaded: documents without errors.
        tests: tests that all pass.
        most: take so many mutants, drawn with `seed`; None for all of them.
        seed: what the draw depends on.

    Returns:
        What came of it; the same for the same documents.

    Example:
        >>> from callgate.policy.load import load
        >>> mutate(load(["no/such/file.yaml"]), []).score
        1.0
    """
    documents = [document for kind in KINDS for document in loaded.of_kind(kind)]
    every = [mutant for document in documents for mutant in mutants(document)]
    chosen = every
    if most is not None and most < len(every):
        drawn = sorted(random.Random(seed).sample(range(len(every)), most))
        chosen = [every[at] for at in drawn]
    suites = _suites(loaded, tests, {id(document.positions) for document in documents})
    core = [_plain(loaded, suite) for suite in suites]
    edits = [_edits(mutant, suites) for mutant in chosen]
    noticed = _noticed(core, suites, edits)
    survivors = [
        _survivor(loaded, mutant, suites, of_mutant)
        for mutant, of_mutant, by_some in zip(chosen, edits, noticed, strict=True)
        if by_some is False
    ]
    killed, void = noticed.count(True), noticed.count(None)
    return Mutation(killed, survivors, void, len(chosen), len(every), seed)


def _noticed(
    core: list[tuple[list[_Judging], list[_Lines]]], suites: Sequence[_Suite], edits: Sequence[list[Edit]]
) -> list[bool | None]:
    """Whether some test notices each mutant; None for one that does not compile or changes nothing."""
    noticed: list[bool | None] = [None] * len(edits)
    waiting = list(range(len(edits)))
    for enough in (FIRST, EVERY):
        fates = _core.try_mutants(core, [edits[at] for at in waiting], enough=enough, threads=THREADS)
        for at, fate in zip(waiting, fates, strict=True):
            if fate is not None:
                noticed[at] = any(_notices(suites[suite], policy, runs) for suite, policy, runs in fate)
        waiting = [at for at in waiting if noticed[at] is False]
    return noticed


def _suites(loaded: Loaded, tests: Sequence[Document], mutated: set[int]) -> list[_Suite]:
    found: dict[int, _Suite] = {}
    judges, fixtures = Judges(loaded), Fixtures(loaded)
    for test in sorted((PolicyTest.of(fixtures, test) for test in tests), key=_length):
        judge, _ = judges.of(test.document)
        if judge is None:
            continue
        if id(judge) not in found:
            named = isinstance(test.spec.get("policy"), str)
            found[id(judge)] = _Suite(judge, named, [], [], [places_of(part, mutated) for part in judge.parts])
        suite = found[id(judge)]
        suite.tests.append(test)
        suite.steps.append(play(judge.policy, test).steps)
    return list(found.values())


def _length(test: PolicyTest) -> int:
    """How long a run is: short ones are judged first."""
    return EVERY if "trace" in test.spec else sum(each.step.get("times") or 1 for each in test.steps)


def _plain(loaded: Loaded, suite: _Suite) -> tuple[list[_Judging], list[_Lines]]:
    bindings = suite.judge.bindings
    parts: list[_Judging] = []
    for at, part in enumerate(suite.judge.parts):
        document, manifests = part.documents
        exceptions = lifting(loaded, part.resolved.name) if suite.named or bindings else []
        parts.append((document, manifests, list(exceptions), scope_of(bindings[at]) if bindings else None))
    runs: list[_Lines] = []
    for test in suite.tests:
        spec = test.spec
        began = None if spec.get("began") is None else _core.moment(spec["began"])
        runs.append((b"\n".join(lines_of(test)), spec.get("tenant"), spec.get("labels"), began))
    return parts, runs


def _edits(mutant: Mutant, suites: Sequence[_Suite]) -> list[Edit]:
    child = mutant.document.positions.find(mutant.steps)
    if child is None:
        return []
    return [
        (at, part, document, pointer, mutant.removed, mutant.value)
        for at, suite in enumerate(suites)
        for part, places in enumerate(suite.places)
        for document, pointer in places.get(id(child.node), ())
    ]


def _notices(
    suite: _Suite,
    policy: _core.CompiledPolicy,
    runs: Sequence[tuple[int, list[dict[str, Any]], list[dict[str, Any]]]],
) -> bool:
    """Whether a test of the suite fails under a mutant: one whose run differs, or one that looks at limits."""
    differing: Mapping[int, tuple[list[dict[str, Any]], list[dict[str, Any]]]] = {
        run: (rows, endings) for run, rows, endings in runs
    }
    for at, test in enumerate(suite.tests):
        if at in differing:
            rows, endings = differing[at]
            if not rows or unmet(policy, test, Played(rows, suite.steps[at], endings)):
                return True
        elif _looks_at_limits(test) and unmet(policy, test, play(policy, test)):
            return True
    return False


def _looks_at_limits(test: PolicyTest) -> bool:
    return any("budget" in (each.step.get("expect") or {}) for each in test.steps)


def _survivor(loaded: Loaded, mutant: Mutant, suites: Sequence[_Suite], edits: Sequence[Edit]) -> Survivor:
    tests = sum(len(suites[at].tests) for at in {at for at, *_ in edits})
    stub = stub_of(loaded, mutant)
    file, pointer = mutant.document.source.file, join_pointer(mutant.steps)
    return Survivor(file, mutant.span, pointer, mutant.what, mutant.was, mutant.now, tests, stub)
