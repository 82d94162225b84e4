"""All that a review of a change comes to: what is reported, and whether a gate holds it back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .change import EFFECTS, Change, Effect, held_back
from .divergence import Divergence


class Review(NamedTuple):
    """A review of a change of policies.

    `old` and `new` say how the sides were named, `changes` are the differences of meaning, `gates` those
    that were asked for. `replay` is what recorded sessions come to under both, None where none were given; `sequences`
    the place of the diff over call sequences, which is None for now.
    """

    old: str
    new: str
    changes: Sequence[Change]
    gates: Sequence[str]
    replay: Divergence | None = None
    sequences: None = None

    @property
    def held(self) -> list[Change]:
        """The changes that a gate holds back."""
        return held_back(self.changes, self.gates)

    def count(self, effect: Effect) -> int:
        """How many changes have an effect."""
        return sum(change.effect == effect for change in self.changes)

    @property
    def counts(self) -> dict[Effect, int]:
        """How many changes have each effect."""
        return {effect: self.count(effect) for effect in EFFECTS}
