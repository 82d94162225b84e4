"""The run of a policy test, judged: its decisions, and how its tasks ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import callgate._core as _core
from callgate.counted import counted
from callgate.policy.fixtures import Fixtures, PlacedStep
from callgate.policy.load import Document
from callgate.traces.feed import Fault, faults_of
from callgate.traces.lines import TraceError, chunks

from .expect import Row
from .steps import written

OPEN_SESSIONS: Final = 65_536


class StepError(ValueError):
    """A step of a test that cannot be judged, and why."""

    def __init__(self, step: PlacedStep, why: str) -> None:
        super().__init__(why)
        self.step = step


class PolicyTest(NamedTuple):
    """A test, and the steps of its run where they are written out, those of fixtures among them."""

    document: Document
    steps: Sequence[PlacedStep]

    @property
    def spec(self) -> dict[str, Any]:
        """What it says."""
        spec: dict[str, Any] = self.document.data["spec"]
        return spec

    @property
    def expects(self) -> bool:
        """Whether it expects anything, of the run or of a step."""
        return bool(self.spec.get("expect")) or any(each.step.get("expect") for each in self.steps)

    @classmethod
    def of(cls, fixtures: Fixtures, document: Document) -> PolicyTest:
        """The test of a document in which, and in whose fixtures, no fault was found.

        Raises:
            ValueError: its run has too many steps.
        """
        return cls(document, fixtures.steps_of(document))


class Played(NamedTuple):
    """The decisions in the order in which they fell; the step of each `seq`, where there are steps; the endings."""

    rows: list[Row]
    steps: dict[int, int]
    endings: list[dict[str, Any]]


def replay_of(policy: _core.CompiledPolicy, spec: dict[str, Any]) -> _core.Replay:
    """A replay for the run of a test, whose spec this is."""
    began = None if spec.get("began") is None else _core.moment(spec["began"])
    return _core.Replay(
        policy, most_open=OPEN_SESSIONS, tenant=spec.get("tenant"), labels=spec.get("labels"), began=began
    )


def play(policy: _core.CompiledPolicy, test: PolicyTest) -> Played:
    """Judge the run of a test.

    Args:
        policy: what it is judged by.
        test: the test.

    Raises:
        TraceError: the trace cannot be read.
        StepError: a step cannot be judged.
        ValueError: a record cannot be judged, or there is no call.
    """
    replay = replay_of(policy, test.spec)
    steps: dict[int, int] = {}
    faults: list[Fault] = []
    if "trace" in test.spec:
        trace = trace_of(test.document)
        for chunk in chunks(trace):
            faults += faults_of(replay, chunk, str(trace))
    else:
        lines, steps = written(test.steps, test.document.name or "test")
        for at, why in replay.feed(lines):
            raise StepError(test.steps[steps[at + 1]], why)
    if faults:
        first, more = faults[0], len(faults) - 1
        raise ValueError(
            f"{first.file}:{first.line}: {first.why}" + (f", and {counted(more, 'further line')}" if more else "")
        )
    replay.finish()
    rows = replay.take_rows()
    if not rows:
        raise ValueError("the run has no call")
    return Played(rows, steps, replay.take_endings())


def rows_of(policy: _core.CompiledPolicy, fixtures: Fixtures, document: Document) -> list[Row]:
    """The decisions of a test's run, whatever the test expects of them; none where it cannot be judged."""
    try:
        return play(policy, PolicyTest.of(fixtures, document)).rows
    except (TraceError, ValueError):
        return []


def trace_of(document: Document) -> Path:
    """The trace file of a test that names one."""
    trace: str = document.data["spec"]["trace"]
    return Path(document.source.file).parent / trace


def lines_of(test: PolicyTest) -> Iterator[bytes]:
    """The lines of a test's run, one after the other."""
    if "trace" not in test.spec:
        yield from written(test.steps, test.document.name or "test").lines.splitlines()
        return
    for chunk in chunks(trace_of(test.document)):
        yield from chunk.lines.splitlines()
