"""One difference of meaning between two policies, with its place on both sides, and what a gate holds back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, Literal, NamedTuple

from callgate.policy.merge import Merged, Origin

Effect = Literal["looser", "stricter", "reclassified", "none"]
EFFECTS: Final[tuple[Effect, ...]] = ("looser", "stricter", "reclassified", "none")


class Spot(NamedTuple):
    """A place in a file, by line from 1. What is not there has the place of what is around it."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class Change(NamedTuple):
    """A difference of meaning.

    `category` is one of `categories.CATEGORIES`, `effect` what it does: `looser` lets more through, `stricter` less,
    `reclassified` does either or cannot be told, `none` changes no decision. `subject` is the document that it is in,
    `key` the way to the value there (`rules.order-ceiling.when`), `old` and `new` are the values as plain
    data, None for what is not there; `detail` says more where there is more to say.
    """

    category: str
    effect: Effect
    subject: str
    key: str
    old: Any
    new: Any
    old_spot: Spot | None
    new_spot: Spot | None
    detail: str | None = None


def spot(origin: Origin | None) -> Spot | None:
    """The place of an origin, by the name that its file is shown under."""
    return None if origin is None else Spot(origin.document.source.label, origin.line)


def plain(value: Merged | None) -> Any:
    """A value as plain data; None where there is none."""
    return None if value is None else value.plain()


def ordered(changes: Iterable[Change]) -> list[Change]:
    """What lets more through first, then what lets less through, then the rest; within that as the files have it."""
    rank = {effect: at for at, effect in enumerate(EFFECTS)}
    return sorted(changes, key=lambda change: rank[change.effect])


def held_back(changes: Iterable[Change], gates: Sequence[str]) -> list[Change]:
    """The changes that one of the gates is about.

    Args:
        changes: what differs.
        gates: `looser` and `stricter` (changes that cannot be told are neither), `any` (whatever is not `none`), or the
            id of a category, or of a family: `BUDGET_*`.
    """
    return [change for change in changes if any(_is_about(gate, change) for gate in gates)]


def _is_about(gate: str, change: Change) -> bool:
    if gate in ("looser", "stricter"):
        return change.effect == gate
    if gate == "any":
        return change.effect != "none"
    if gate.endswith("*"):
        return change.category.startswith(gate[:-1])
    return change.category == gate
