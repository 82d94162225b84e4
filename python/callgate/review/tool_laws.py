"""Which law each key of a tool is compared by: identity, results, errors, retries, waiting, effects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from callgate.policy.locked import limit_value
from callgate.policy.merge import Merged, Steps

from .change import Effect, plain
from .laws import (
    NO_LIMIT,
    Difference,
    Law,
    block,
    children,
    expression_meaning,
    expressions,
    items,
    names,
    nothing,
    number,
    whole,
    word,
    words_only,
)
from .tool_schemas import compare_schemas

_SAME: Final = names("IDENTITY_CHANGED", "stricter", widened="IDENTITY_WIDENED", narrowed="IDENTITY_NARROWED")
_ALL: Final = "every text"


def _trim(steps: Steps, old: Merged | None, new: Merged | None) -> Iterator[Difference]:
    """`true` trims every text, and so whatever a list names."""
    was, now = (None if plain(side) is False else plain(side) for side in (old, new))
    if was is True or now is True:
        if was is not now:
            wider = now is True
            category = "IDENTITY_WIDENED" if wider else "IDENTITY_NARROWED"
            yield Difference(category, "stricter" if wider else "looser", steps, old, new)
    else:
        yield from _SAME(steps, old if was is not None else None, new if now is not None else None)


def _waiting(steps: Steps, old: Merged | None, new: Merged | None) -> Iterator[Difference]:
    """A poll and its bounds; what is no poll is judged as any other call."""
    before, after = _poll(plain(old)), _poll(plain(new))
    if plain(old) == plain(new):
        return
    if before == after:
        yield Difference("REFACTOR", "none", steps, old, new)
    elif before is None or after is None:
        yield Difference("WAITING_CHANGED", "looser" if before is None else "stricter", steps, old, new)
    else:
        ways: set[str] = set()
        for at in (0, 1):  # how many unchanged answers, how long without a change
            if after[at] != before[at]:
                ways.add("stricter" if after[at] < before[at] else "looser")
        if after[2] != before[2]:
            ways.add("stricter" if after[2] > before[2] else "looser")
        effect: Effect = "reclassified" if len(ways) != 1 else "stricter" if "stricter" in ways else "looser"
        yield Difference("WAITING_CHANGED", effect, steps, old, new)


def _poll(value: Any) -> tuple[float, float, float] | None:
    if value is None or value is False:
        return None
    bounds = value if isinstance(value, dict) else {}
    given = (bounds.get("max_unchanged", "unlimited"), bounds.get("max_stale", "10m"), bounds.get("min_interval", 0))
    unchanged, stale, interval = (limit_value(each) for each in given)
    return (NO_LIMIT if unchanged is None else unchanged, NO_LIMIT if stale is None else stale, interval or 0.0)


def _present(added: str, removed: str, changed: Law) -> Law:
    """A block that is stricter where it is there."""

    def compare(steps: Steps, old: Merged | None, new: Merged | None) -> Iterator[Difference]:
        if old is not None and new is not None:
            yield from changed(steps, old, new)
        elif new is not None:
            yield Difference(added, "stricter", steps, None, new)
        elif old is not None:
            yield Difference(removed, "looser", steps, old, None)

    return compare


def _retry(steps: Steps, old: Merged | None, new: Merged | None) -> Iterator[Difference]:
    """What is tried again. Left out, nothing is said of it."""
    if old is None or new is None:
        if old is not new:
            category = "RETRY_ADDED" if old is None else "RETRY_REMOVED"
            yield Difference(category, "looser" if old is None else "stricter", steps, old, new)
        return
    keys = {
        "max": number("RETRY"),
        "classes": names("RETRY_CLASSES_CHANGED", "looser"),
        "backoff": whole("RETRY_BACKOFF_CHANGED"),
    }
    yield from block(keys)(steps, old, new)


def _fields(category: str) -> Law:
    return names(f"{category}_CHANGED", "stricter", widened=f"{category}_RAISED", narrowed=f"{category}_LOWERED")


def _min_records(steps: Steps, old: Merged | None, new: Merged | None) -> Iterator[Difference]:
    was, now = (1 if value is None else value for value in (plain(old), plain(new)))
    way = "RAISED" if now > was else "LOWERED"
    yield from number("RESULT", "more", absent=1, category=f"RESULT_REQUIREMENTS_{way}")(steps, old, new)


_MEANING: Final = expressions("RESULT_CHANGED")
_RESULT: Final = block(
    {
        "failed_when": _MEANING,
        "empty_when": _MEANING,
        "records": _MEANING,
        "key": names("RESULT_CHANGED", "reclassified"),
        "required_fields": _fields("RESULT_REQUIREMENTS"),
        "wanted_fields": names("RESULT_CHANGED", "reclassified"),
        "min_records": _min_records,
        "ignore": names("RESULT_IDENTITY_CHANGED", "stricter"),
        "ignore_text": names("RESULT_IDENTITY_CHANGED", "stricter"),
        "version": expressions("RESULT_IDENTITY_CHANGED"),
        "state": expressions("RESULT_IDENTITY_CHANGED"),
    }
)
_BREAKER: Final = block(
    {
        "failures": number("BREAKER", category="BREAKER_CHANGED"),
        "open_for": number("BREAKER", "more", absent=0, category="BREAKER_CHANGED"),
        "probes": number("BREAKER", absent=1, category="BREAKER_CHANGED"),
        "scope": word("BREAKER_CHANGED", ("tool", "server"), "tool"),
    }
)
_IDENTITY: Final = block(
    {
        **dict.fromkeys(("ignore", "casefold", "paths", "unordered"), _SAME),
        "trim": _trim,
        "defaults": whole("IDENTITY_CHANGED"),
        "target": whole("IDENTITY_CHANGED"),
        "group": expressions("IDENTITY_CHANGED"),
    }
)
_KEYS: Final[dict[str, Law]] = {
    "description": words_only,
    "definition_tokens": words_only,
    "extends": nothing,  # put in before
    "groups": whole("TOOL_GROUPS_CHANGED"),
    "effect": whole("TOOL_EFFECT_CHANGED", default="unknown"),
    "idempotent": word("TOOL_IDEMPOTENT_CHANGED", (True, False), None),
    "reads": names("TOOL_TAGS_CHANGED", "reclassified"),
    "touches": names("TOOL_TAGS_CHANGED", "reclassified"),
    "parameters": compare_schemas,
    "identity": _IDENTITY,
    "result": _RESULT,
    "waiting": _waiting,
    "coverage": expressions("TOOL_COVERAGE_CHANGED"),
    "transfer": whole("TOOL_TRANSFER_CHANGED", default=False),
    "errors": expressions("ERRORS_CHANGED"),
    "retry": _retry,
    "breaker": _present("BREAKER_ADDED", "BREAKER_REMOVED", _BREAKER),
    "timeout": number("TIME"),
    "cache": block({"ttl": number("CACHE", absent=300, category="CACHE_CHANGED")}),
    "idempotency": _present("EFFECT_KEY_ADDED", "EFFECT_KEY_REMOVED", expressions("EFFECT_KEY_CHANGED")),
    "verify": expressions("EFFECT_VERIFY_CHANGED"),
}
_OF_EITHER: Final = ("CACHE_CHANGED",)


def compare_tools(steps: Steps, old: Merged, new: Merged) -> Iterator[Difference]:
    """A tool on both sides, with what it extends put in: its keys, then its forms."""
    yield from _keys(steps, old, new)
    before, after = items(old.at("forms")), items(new.at("forms"))
    if [_when(form) for form in before] != [_when(form) for form in after]:
        yield Difference("TOOL_FORMS_CHANGED", "reclassified", (*steps, "forms"), old.at("forms"), new.at("forms"))
        return
    for at, (was, now) in enumerate(zip(before, after, strict=True)):
        here = (*steps, "forms", at)
        if plain(was.at("when")) != plain(now.at("when")):
            yield Difference("REFACTOR", "none", (*here, "when"), was.at("when"), now.at("when"))
        # a form that does not write a key has the tool's own
        written = {key for key in (*children(was), *children(now)) if key != "when"}
        changed = {key for key in written if plain(was.at(key)) != plain(now.at(key))}
        for key in sorted(changed):
            sides = [form.at(key) or tool.at(key) for form, tool in ((was, old), (now, new))]
            if plain(sides[0]) == plain(sides[1]):
                yield Difference("REFACTOR", "none", (*here, key), was.at(key), now.at(key))
            else:
                yield from _keys(here, *(Merged({key: side} if side else {}, old.origin) for side in sides))


def _keys(steps: Steps, old: Merged, new: Merged) -> Iterator[Difference]:
    idempotent = [plain(tool.at("effect")) == "read" for tool in (old, new)]
    for found in block({**_KEYS, "forms": nothing})(steps, old, new):
        if found.category in _OF_EITHER and found.effect != "none":
            found = found._replace(effect="reclassified")  # older answers, and fewer refusals of repeats
        if found.steps[-1] == "idempotent" and found.category != "REFACTOR":
            was, now = (
                own if value is None else value
                for own, value in zip(idempotent, (plain(found.old), plain(found.new)), strict=True)
            )
            if was == now:
                found = found._replace(category="REFACTOR", effect="none")
            else:
                found = found._replace(category="TOOL_IDEMPOTENT_CHANGED", effect="looser" if now else "stricter")
        yield found


def _when(form: Merged) -> str | None:
    when = plain(form.at("when"))
    return expression_meaning(when) if isinstance(when, str) else None
