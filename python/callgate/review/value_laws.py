"""How variables and constants are compared: by what they mean, and by what the rules that read them come to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from callgate.policy.merge import Merged, Steps, identity

from .change import Effect, plain
from .laws import Difference, children, expression_meaning, items
from .rule_laws import Relations

_PLACES: Final = ("variables", "constants")
_EFFECTS: Final[Mapping[str, Effect]] = {"wider": "stricter", "narrower": "looser", "equal": "none"}


def compare_values(
    old: Merged | None, new: Merged | None, relations: Relations, manifests: Any
) -> Iterator[Difference]:
    """Variables and constants of a spec.

    Args:
        old: the spec before.
        new: the spec after.
        relations: how the conditions of the rules of both stand to each other, with what they read put in.
        manifests: the manifests in force as plain data: their expressions read constants too.
    """
    for place in _PLACES:
        before, after = (children(spec.at(place) if spec is not None else None) for spec in (old, new))
        for name in (*before, *(name for name in after if name not in before)):
            was, now = before.get(name), after.get(name)
            yield from _value((place, name), was, now, new, relations, manifests)


def _value(
    steps: tuple[str, str],
    old: Merged | None,
    new: Merged | None,
    spec: Merged | None,
    relations: Relations,
    manifests: Any,
) -> Iterator[Difference]:
    here: Steps = ("spec", *steps)
    was, now = plain(old), plain(new)
    if old is None or new is None:
        yield Difference(f"DECISION_VALUE_{'ADDED' if old is None else 'REMOVED'}", "none", here, old, new)
    elif was == now:
        return
    elif steps[0] == "variables" and expression_meaning(str(was)) == expression_meaning(str(now)):
        yield Difference("REFACTOR", "none", here, old, new)
    else:
        rules, elsewhere = _readers(steps, spec, manifests)
        stand = {relations.get(rule, "unknown") for rule in rules}
        effect: Effect = "reclassified"
        if rules and not elsewhere and "unknown" not in stand:
            moved = {_EFFECTS[each] for each in stand} - {"none"}
            effect = moved.pop() if len(moved) == 1 else "reclassified" if moved else "none"
        elif not rules and not elsewhere:
            effect = "none"
        detail = "read by " + ", ".join(f"`{rule}`" for rule in rules) if rules else None
        category = "DECISION_VALUE_CHANGED"
        if effect == "none":
            category = "MESSAGE_ONLY" if _is_said(steps, spec) else "REFACTOR"
        yield Difference(category, effect, here, old, new, detail)


def _is_said(steps: tuple[str, str], spec: Merged | None) -> bool:
    """Whether the words of a rule read a value; through a variable they may."""
    words = [plain(rule.at("message")) for rule in items(spec.at("rules") if spec is not None else None)]
    return _reads(words, {f"{steps[0]}.{steps[1]}"}) or any("variables." in text for text in words if text)


def _readers(steps: tuple[str, str], spec: Merged | None, manifests: Any) -> tuple[list[str], bool]:
    """The rules whose conditions read a value, through other variables too; and whether anything else may read it."""
    names = {f"{steps[0]}.{steps[1]}"}
    variables = {
        name: plain(value) for name, value in children(spec.at("variables") if spec is not None else None).items()
    }
    for name, text in variables.items():  # in their order: each reads those before it
        if _reads(text, names):
            names.add(f"variables.{name}")
    rules = items(spec.at("rules") if spec is not None else None)
    reading = [identity(rule) or "" for rule in rules if _reads(plain(rule.at("when")), names)]
    others = [plain(spec.at("fallback")) if spec is not None else None, manifests]
    return reading, _reads(others, names)


def _reads(value: Any, names: set[str]) -> bool:
    if isinstance(value, dict):
        return any(_reads(child, names) for child in value.values())
    if isinstance(value, list):
        return any(_reads(child, names) for child in value)
    if not isinstance(value, str):
        return False
    found = {re.sub(r"\s", "", text) for text in re.findall(r"(?:variables|constants)\s*\.\s*[A-Za-z_]\w*", value)}
    # `constants["x"]` and `constants` as a whole may read anything
    whole = re.search(r"\b(?:variables|constants)\b(?!\s*\.)", value) is not None
    return bool(found & names) or whole
