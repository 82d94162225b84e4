"""Fixtures of policy tests: steps that a file names once, and that a step with `use` stands for in any of its tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from .diagnostics import Diagnostic, Place, did_you_mean
from .faults import Found, Steps, located, span_of
from .load import Document, Loaded

MOST_STEPS: Final = 1_000_000
"""Steps of one run, when each fixture and each repetition is written out."""


class Fixture(NamedTuple):
    """Steps under a name: where they are written, and what they are."""

    document: Document
    pointer: Steps
    steps: list[Any]


class PlacedStep(NamedTuple):
    """A step as it happens, and where it is written.

    `use` is 0 for a step of the test itself, else which use of a fixture it comes from: what its `round` tells apart.
    `used` leads to the step of the test that stands for it, where it comes from a fixture.
    """

    step: Mapping[str, Any]
    document: Document
    pointer: Steps
    use: int = 0
    used: Steps | None = None


def is_home_alone(document: Document) -> bool:
    """Whether a GuardTest is no test: it has fixtures for the tests of its file, and no run."""
    spec = _spec(document)
    return "fixtures" in spec and not any(key in spec for key in ("trace", "steps", "expect"))


class Fixtures:
    """The fixtures of loaded files, by file and name; of equal names in a file the first counts."""

    def __init__(self, loaded: Loaded) -> None:
        declared = _declared(loaded)
        self._by_file = {
            file: {name: found[0] for name, found in of_file.items()} for file, of_file in declared.items()
        }

    def steps_of(self, document: Document) -> list[PlacedStep]:
        """The steps of a test in which no fault was found, those of fixtures in place of what uses them.

        Raises:
            ValueError: they are more than `MOST_STEPS`.
        """
        fixtures = self._by_file.get(document.source.file, {})
        own = Fixture(document, ("spec", "steps"), _spec(document).get("steps") or [])
        found: list[PlacedStep] = []
        uses = 0
        # what is being gone through, the innermost last: chains of fixtures may be as long as a file allows
        open_lists = [_placed(own, 0, None)]
        while open_lists:
            placed = next(open_lists[-1], None)
            if placed is None:
                open_lists.pop()
            elif "use" not in placed.step:
                found.append(placed)
                if len(found) > MOST_STEPS:
                    raise ValueError(f"the run has more than {MOST_STEPS:,} steps")
            else:
                times = placed.step.get("times") or 1
                if uses + times > MOST_STEPS:
                    raise ValueError(f"the run uses fixtures more than {MOST_STEPS:,} times")
                fixture = fixtures[placed.step["use"]]
                used = placed.used or placed.pointer
                open_lists += [_placed(fixture, uses + at, used) for at in range(times, 0, -1)]
                uses += times
        return found

    def used_by(self, document: Document) -> list[Fixture]:
        """The fixtures that a test uses, directly or through others."""
        fixtures = self._by_file.get(document.source.file, {})
        return [fixtures[name] for name in _reached(fixtures, _names(_spec(document).get("steps")))]


def _placed(fixture: Fixture, use: int, used: Steps | None) -> Iterator[PlacedStep]:
    for at, step in enumerate(fixture.steps):
        yield PlacedStep(step, fixture.document, (*fixture.pointer, at), use, used)


def fixture_faults(loaded: Loaded) -> list[Diagnostic]:
    """Fixtures that are unknown, declared twice, never used, or made of themselves."""
    found: list[Diagnostic] = []
    declared = _declared(loaded)
    wanted: dict[str, list[str]] = {}
    for document in loaded.of_kind("GuardTest"):
        file = document.source.file
        known = declared.get(file, {})
        for name, pointer in _uses(document):
            if name not in known:
                hint = did_you_mean(name, known) or _elsewhere(declared, name) or _all_of(known)
                fault = Found("CG715", "error", f"unknown fixture `{name}`", pointer, "value", hint)
                found += located(document.positions, [fault])
        wanted.setdefault(file, []).extend(_names(_spec(document).get("steps")))
    for file, known in declared.items():
        fixtures = {name: fixture[0] for name, fixture in known.items()}
        found += _circles(fixtures)
        reached = _reached(fixtures, wanted[file])
        for name, (first, *more) in known.items():
            for again in more:
                the_first = Place("the first one", file, span_of(first.document.positions, first.pointer, "key"))
                hint = "give each its own name"
                fault = Found("CG718", "error", f"a second fixture named `{name}`", again.pointer, "key", hint)
                told = located(again.document.positions, [fault])
                found += [each._replace(related=(the_first, *each.related)) for each in told]
            if name not in reached:
                hint = "use it with `use:` in a test of this file, or take it out"
                fault = Found("CG716", "warning", f"no test uses the fixture `{name}`", first.pointer, "key", hint)
                found += located(first.document.positions, [fault])
    return found


def _declared(loaded: Loaded) -> dict[str, dict[str, list[Fixture]]]:
    """By file and name, every fixture that is declared under it."""
    found: dict[str, dict[str, list[Fixture]]] = {}
    for document in loaded.of_kind("GuardTest"):
        fixtures = _spec(document).get("fixtures")
        for name, steps in fixtures.items() if isinstance(fixtures, dict) else ():
            if isinstance(name, str) and isinstance(steps, list):
                of_file = found.setdefault(document.source.file, {})
                of_file.setdefault(name, []).append(Fixture(document, ("spec", "fixtures", name), steps))
    return found


def _uses(document: Document) -> Iterator[tuple[str, Steps]]:
    """Each fixture that a document uses, in its test and in its own fixtures, with the place of its name."""
    spec = _spec(document)
    lists: list[tuple[Steps, Any]] = [(("spec", "steps"), spec.get("steps"))]
    lists += [(("spec", "fixtures", name), steps) for name, steps in _items(spec.get("fixtures"))]
    for pointer, steps in lists:
        yield from _links(Fixture(document, pointer, steps if isinstance(steps, list) else []))


def _circles(fixtures: Mapping[str, Fixture]) -> list[Diagnostic]:
    """Each circle once, where it closes."""
    found: list[Diagnostic] = []
    done: set[str] = set()
    for start in fixtures:
        way: dict[str, Iterator[tuple[str, Steps]]] = {} if start in done else {start: _links(fixtures[start])}
        while way:
            name = next(reversed(way))
            to, pointer = next(way[name], (None, ()))
            if to is None:
                done.add(name)
                del way[name]
            elif to in way:
                names = list(way)
                circle = " → ".join(f"`{each}`" for each in [*names[names.index(to) :], to])
                fault = Found("CG717", "error", f"fixtures go round in a circle: {circle}", pointer, "value")
                found += located(fixtures[name].document.positions, [fault])
            elif to in fixtures and to not in done:
                way[to] = _links(fixtures[to])
    return found


def _links(fixture: Fixture) -> Iterator[tuple[str, Steps]]:
    """The fixtures that one uses, each with the place of its name."""
    for at, step in enumerate(fixture.steps):
        if isinstance(step, dict) and isinstance(step.get("use"), str):
            yield step["use"], (*fixture.pointer, at, "use")


def _reached(fixtures: Mapping[str, Fixture], names: list[str]) -> dict[str, None]:
    """The fixtures behind these names, and behind those that they use."""
    found: dict[str, None] = {}
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in fixtures and name not in found:
            found[name] = None
            waiting += _names(fixtures[name].steps)
    return found


def _elsewhere(declared: Mapping[str, Mapping[str, list[Fixture]]], name: str) -> str | None:
    for file, known in declared.items():
        if name in known:
            return f"`{file}` has one, which is for the tests of that file"
    return None


def _all_of(known: Mapping[str, Any]) -> str:
    if not known:
        return "no test of this file has `fixtures`"
    return "known here: " + ", ".join(f"`{name}`" for name in known)


def _names(steps: Any) -> list[str]:
    listed = steps if isinstance(steps, list) else []
    return [step["use"] for step in listed if isinstance(step, dict) and isinstance(step.get("use"), str)]


def _items(fixtures: Any) -> list[tuple[str, Any]]:
    return list(fixtures.items()) if isinstance(fixtures, dict) else []


def _spec(document: Document) -> Mapping[str, Any]:
    spec = document.data.get("spec") if isinstance(document.data, dict) else None
    return spec if isinstance(spec, dict) else {}
