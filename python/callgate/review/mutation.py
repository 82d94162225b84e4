"""How many of a policy's mutants its tests notice, and those that they do not, each with the beginning of a test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from callgate.policy.diagnostics import Span

from .coverage import share


class Survivor(NamedTuple):
    """A mutant that no test notices.

    `pointer` is the JSON Pointer of the value that was changed, `was` and `now` are what stood at the place and what
    stands there instead, `tests` how many tests are judged by the policy that it is in. `stub` is a policy test, YAML,
    that notices it, or the beginning of one.
    """

    file: str
    span: Span
    pointer: str
    what: str
    was: str
    now: str
    tests: int
    stub: str


class Mutation(NamedTuple):
    """What came of the mutants of some policies and manifests.

    `void` do not compile or change nothing, and count for nothing; `of` is how many mutants there are, of which `tried`
    were taken, with this `seed`, where fewer were asked for.
    """

    killed: int
    survivors: Sequence[Survivor]
    void: int
    tried: int
    of: int
    seed: int

    @property
    def score(self) -> float:
        """The share of mutants that some test notices, from 0 to 1; 1 where there are none."""
        return share(self.killed, self.killed + len(self.survivors))
