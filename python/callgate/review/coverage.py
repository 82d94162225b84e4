"""What of the policies and manifests among some files their tests exercise, and which test exercises what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import callgate._core as _core
from callgate.policy.compile import compile_policy
from callgate.policy.diagnostics import Span
from callgate.policy.faults import span_of
from callgate.policy.load import Document, Loaded
from callgate.policy.resolve import resolve

from .parts import Part, Steps

KINDS: Final = ("rule", "part", "rung", "budget", "edge", "form", "need", "exit")


class Point(NamedTuple):
    """Something that a test can exercise: a place, what stands there, what it has to do, and the tests that make it.

    `kind` is one of `KINDS`; `owner` is what it belongs to, as authors call it (``the rule `ceiling` ``); `outcome` is
    what it has to do (`fires`, `is false`, `refuses`); `text` is the part of an expression that has to, None for all
    else. `tests` are names, in the order of the files.
    """

    file: str
    span: Span
    kind: str
    owner: str
    outcome: str
    text: str | None
    tests: tuple[str, ...]


class Coverage(NamedTuple):
    """All that can be exercised, by file and place."""

    points: Sequence[Point]

    @property
    def missing(self) -> list[Point]:
        """What no test exercises."""
        return [point for point in self.points if not point.tests]

    @property
    def share(self) -> float:
        """How much of it some test exercises, from 0 to 1; 1 where there is nothing to exercise."""
        return share(len(self.points) - len(self.missing), len(self.points))

    @property
    def kinds(self) -> dict[str, tuple[int, int]]:
        """For each kind that there is: how many are exercised, and how many there are."""
        every = Counter(point.kind for point in self.points)
        met = Counter(point.kind for point in self.points if point.tests)
        return {kind: (met[kind], every[kind]) for kind in KINDS if every[kind]}

    @property
    def owners(self) -> dict[tuple[str, str], list[Point]]:
        """The points by what they belong to, (file, owner), in the order of the files."""
        found: dict[tuple[str, str], list[Point]] = {}
        for point in self.points:
            found.setdefault((point.file, point.owner), []).append(point)
        return found


def share(covered: int, every: int) -> float:
    """A part of a whole; of nothing all of it.

    >>> share(3, 4), share(0, 0)
    (0.75, 1.0)
    """
    return covered / every if every else 1.0


class _Place(NamedTuple):
    """What makes a point one: the text that it stands in, wherever aliases and other policies lead to it."""

    node: int
    span: tuple[int, int] | None
    kind: str
    outcome: str


class Tally:
    """Counts what is exercised of the policies and manifests that were asked for.

    Args:
        loaded: documents without errors. What is written in other files, such as the packs that a policy builds on, is
            not counted, nor what a test writes itself.

    Example:
        >>> from callgate.policy.load import load
        >>> Tally(load(["no/such/file.yaml"])).coverage().share
        1.0
    """

    def __init__(self, loaded: Loaded) -> None:
        documents = [*loaded.of_kind("GuardPolicy"), *loaded.of_kind("ToolManifest")]
        self._counted = {id(document.positions): document for document in documents}
        self._watched: dict[int, tuple[_core.CompiledPolicy, _core.Coverage, list[list[_Place | None]]]] = {}
        self._points: dict[_Place, Point] = {}
        self._tests: dict[_Place, dict[str, None]] = {}
        for document in loaded.of_kind("GuardPolicy"):
            resolved = resolve(loaded, document)
            compiled, _ = compile_policy(resolved)
            if compiled is not None:
                self.watched(compiled, [Part.of(resolved, None)])

    def watched(self, policy: _core.CompiledPolicy, parts: Sequence[Part]) -> _core.CompiledPolicy:
        """The policy such that what is judged under it counts; the same one for the same policy.

        Args:
            policy: a compiled policy, or several that are bound.
            parts: what each of them was compiled from, in their order.
        """
        known = self._watched.get(id(policy))
        if known is None:
            core = _core.Coverage(policy, [part.documents for part in parts])
            places = [
                [self._place(part, *item) for item in items] for part, items in zip(parts, core.items, strict=True)
            ]
            known = self._watched[id(policy)] = policy, core, places
        return known[1].policy

    def count(self, policy: _core.CompiledPolicy, test: str) -> None:
        """Say that what was exercised of a watched policy since the last time was by a test of this name."""
        _, core, places = self._watched[id(policy)]
        for of_part, covered in zip(places, core.take(), strict=True):
            for at in covered:
                place = of_part[at]
                if place is not None:
                    self._tests.setdefault(place, {})[test] = None

    def coverage(self) -> Coverage:
        """What was counted so far."""
        points = [point._replace(tests=tuple(self._tests.get(place, ()))) for place, point in self._points.items()]
        order: Mapping[str, int] = {kind: at for at, kind in enumerate(KINDS)}
        return Coverage(sorted(points, key=lambda it: (it.file, it.span, order[it.kind], it.outcome)))

    def _place(
        self,
        part: Part,
        document: int,
        pointer: Steps,
        span: tuple[int, int] | None,
        kind: str,
        outcome: str,
        owner: str,
    ) -> _Place | None:
        written, steps = part.origin(document, pointer)
        if id(written.positions) not in self._counted:
            return None
        child = written.positions.find(steps)
        if child is None:
            return None
        place = _Place(id(child.node), span, kind, outcome)
        if place not in self._points:
            text = None if kind != "part" else " ".join(str(child.node.data)[slice(*(span or (None,)))].split())
            at = _span(written, steps, span)
            self._points[place] = Point(written.source.file, at, kind, owner, outcome, text, ())
        return place


def _span(document: Document, steps: Steps, span: tuple[int, int] | None) -> Span:
    inside = None if span is None else document.positions.inside(steps, *span)
    return inside if inside is not None else span_of(document.positions, steps, "value")
