"""How single values are compared: numbers by which way is tighter, names as sets, expressions by their meaning."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

import callgate._core as _core
from callgate.policy.locked import limit_value
from callgate.policy.merge import Merged, Steps

from .categories import CATEGORIES
from .change import Effect, plain

Tighter = Literal["less", "more"]
More = Literal["stricter", "looser", "reclassified"]


class Difference(NamedTuple):
    """A difference below some steps, with the values on both sides; None for what is not there."""

    category: str
    effect: Effect
    steps: Steps
    old: Merged | None
    new: Merged | None
    detail: str | None = None


Law = Callable[[Steps, Merged | None, Merged | None], Iterator[Difference]]

NO_LIMIT: Final = math.inf


def number(family: str, tighter: Tighter = "less", absent: float = NO_LIMIT, category: str | None = None) -> Law:
    """A number, duration or limit.

    Args:
        family: what stands before `_RAISED`, `_LOWERED`, `_ADDED`, `_REMOVED` in the categories.
        tighter: whether a smaller or a larger number lets less through.
        absent: what counts where the key is left out.
        category: one category for all of it, instead of the four.
    """
    is_off = absent == (NO_LIMIT if tighter == "less" else 0)

    def compare(steps: Steps, old: Merged | None, new: Merged | None) -> Iterator[Difference]:
        was, now = plain(old), plain(new)
        if was == now:
            return
        before, after = (absent if value is None else limit_value(value) for value in (was, now))
        if before is None or after is None:
            yield Difference("OTHER_CHANGED", "reclassified", steps, old, new)
        elif before == after:
            words = isinstance(was, dict) and isinstance(now, dict) and was.get("reason") != now.get("reason")
            yield Difference("MESSAGE_ONLY" if words else "REFACTOR", "none", steps, old, new)
        else:
            effect: Effect = "stricter" if (after < before) == (tighter == "less") else "looser"
            way = "RAISED" if after > before else "LOWERED"
            written = "ADDED" if old is None else "REMOVED" if new is None else way
            # what is left out and has a default all the same is not added by being written
            if is_off and f"{family}_{written}" in CATEGORIES:
                way = written
            yield Difference(category or f"{family}_{way}", effect, steps, old, new)

    return compare


def word(loosened: str, order: Sequence[Any], default: Any, tightened: str | None = None) -> Law:
    """One of some words, from loose to tight; one left out is the default."""

    def compare(steps: Steps, old: Merged | None, new: Merged | None) -> Iterator[Difference]:
        was, now = plain(old), plain(new)
        if was == now:
            return
        before, after = (default if value is None else value for value in (was, now))
        if before == after:
            yield Difference("REFACTOR", "none", steps, old, new)
        elif before not in order or after not in order:
            yield Difference("OTHER_CHANGED", "reclassified", steps, old, new)
        elif order.index(after) < order.index(before):
            yield Difference(loosened, "looser", steps, old, new)
        else:
            yield Difference(tightened or loosened, "stricter", steps, old, new)

    return compare


def names(changed: str, more: More, *, widened: str | None = None, narrowed: str | None = None, empty: Any = ()) -> Law:
    """A list of names in which order means nothing.

    Args:
        changed: the category of a list that has some more and some fewer; of every difference without the next two.
        more: the effect of more names.
        widened: the category of more names.
        narrowed: the category of fewer names.
        empty: what a list that is left out stands for.
    """

    def compare(steps: Steps, old: Merged | None, new: Merged | None) -> Iterator[Difference]:
        before, after = (_as_set(plain(side), empty) for side in (old, new))
        if before == after:
            if (old is None) != (new is None):
                yield Difference("REFACTOR", "none", steps, old, new)
            return
        contrary: dict[str, Effect] = {"stricter": "looser", "looser": "stricter", "reclassified": "reclassified"}
        if before < after:
            yield Difference(widened or changed, more, steps, old, new, _listed("more", after - before))
        elif after < before:
            yield Difference(narrowed or changed, contrary[more], steps, old, new, _listed("fewer", before - after))
        else:
            yield Difference(changed, "reclassified", steps, old, new)

    return compare


def _as_set(value: Any, empty: Any) -> frozenset[str]:
    chosen = empty if value is None else value
    return frozenset(str(item) for item in (chosen if isinstance(chosen, (list, tuple)) else [chosen]))


def _listed(word: str, found: frozenset[str]) -> str:
    return f"{word}: " + ", ".join(f"`{name}`" for name in sorted(found))


def whole(category: str, effect: Effect = "reclassified", default: Any = None) -> Law:
    """Anything that only differs or does not; one left out is the default."""

    def compare(steps: Steps, old: Merged | None, new: Merged | None) -> Iterator[Difference]:
        was, now = plain(old), plain(new)
        if was == now:
            return
        if (default if was is None else was) == (default if now is None else now):
            yield Difference("REFACTOR", "none", steps, old, new)
        else:
            yield Difference(category, effect, steps, old, new)

    return compare


def expressions(category: str, effect: Effect = "reclassified") -> Law:
    """An expression, or a list or map of them, by what they mean."""

    def compare(steps: Steps, old: Merged | None, new: Merged | None) -> Iterator[Difference]:
        was, now = plain(old), plain(new)
        if was == now:
            return
        if _meaning(was) == _meaning(now):
            yield Difference("REFACTOR", "none", steps, old, new)
        else:
            yield Difference(category, effect, steps, old, new)

    return compare


def _meaning(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _meaning(child) for key, child in value.items()}
    if isinstance(value, list):
        return [_meaning(child) for child in value]
    return expression_meaning(value) if isinstance(value, str) else value


def expression_meaning(text: str) -> str:
    """The canonical text of an expression; a text that is none stands for itself."""
    return _core.canonical_expression(text) or text


def message(steps: Steps, old: Merged | None, new: Merged | None) -> Iterator[Difference]:
    """An expression that only makes words."""
    yield from expressions("MESSAGE_ONLY", "none")(steps, old, new)


def words_only(steps: Steps, old: Merged | None, new: Merged | None) -> Iterator[Difference]:
    """What only people and reports read."""
    if plain(old) != plain(new):
        yield Difference("MESSAGE_ONLY", "none", steps, old, new)


def nothing(steps: Steps, old: Merged | None, new: Merged | None) -> Iterator[Difference]:
    """What is compared elsewhere."""
    yield from ()


def other(steps: Steps, old: Merged | None, new: Merged | None) -> Iterator[Difference]:
    """What no law is about: told all the same."""
    if plain(old) != plain(new):
        yield Difference("OTHER_CHANGED", "reclassified", steps, old, new)


def block(laws: Mapping[str, Law]) -> Law:
    """A map with known keys, each under its own law."""

    def compare(steps: Steps, old: Merged | None, new: Merged | None) -> Iterator[Difference]:
        before, after = children(old), children(new)
        for key in (*before, *(key for key in after if key not in before)):
            yield from laws.get(key, other)((*steps, key), before.get(key), after.get(key))

    return compare


def each(law: Law) -> Law:
    """A map with any keys, all under one law."""

    def compare(steps: Steps, old: Merged | None, new: Merged | None) -> Iterator[Difference]:
        before, after = children(old), children(new)
        for key in (*before, *(key for key in after if key not in before)):
            yield from law((*steps, key), before.get(key), after.get(key))

    return compare


def children(value: Merged | None) -> dict[str, Merged]:
    """The entries of a map; none of anything else."""
    return value.value if value is not None and isinstance(value.value, dict) else {}


def items(value: Merged | None) -> list[Merged]:
    """The items of a list; none of anything else."""
    return value.value if value is not None and isinstance(value.value, list) else []
