"""Locked keys: a layer may tighten what a layer below it has locked, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from .diagnostics import Diagnostic, Place
from .merge import BY_ID, Merged, Origin, Steps, identity
from .positions import join_pointer

# For these keys a smaller number is tighter: limits, and counts after which the guard acts.
_SMALLER: Final = frozenset(
    (
        "steps", "tool_calls", "retries", "tokens", "cost", "depth", "limit", "at_most", "own",
        "tool", "server", "step", "task", "workflow", "note_after", "refuse_after", "exit_after", "laps",
        "known_records", "reuse_reads", "stop_after_refusals", "deterministic_stop_after",
    )
)  # fmt: skip
# For these a larger one is: they make a detector see more, or hold longer.
_LARGER: Final = frozenset(
    (
        "max_period", "mismatches", "cool_down", "note_below", "refuse_below", "entropy_note_below",
        "arguments_at_most",
    )
)  # fmt: skip
_LIMITS_BY_NAME: Final = frozenset({"calls_per_tool", "calls_per_group"})
# Words from loose to tight.
_WORDS: Final = {
    "mode": ("audit", "warn", "enforce"),
    "undeclared_tools": ("allow", "refuse"),
    "store": ("allow", "refuse"),
    "audit": ("allow", "refuse"),
    "on_error": ("allow", "refuse"),
    "reads": ("allow", "refuse"),
    "else": ("allow", "refuse"),
    "action": ("note", "ask", "refuse", "stop"),
}
_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h)")


class Lock(NamedTuple):
    """A locked key: its path below `spec`, the policy that locked it, and where."""

    path: tuple[str, ...]
    policy: str
    origin: Origin

    @property
    def dotted(self) -> str:
        """The key as the author wrote it."""
        return ".".join(self.path)


def locks_of(layer: Merged, policy: str) -> list[Lock]:
    """The keys that a layer locks."""
    found = layer.at("spec", "locked")
    if found is None or not isinstance(found.value, list):
        return []
    return [
        Lock(tuple(item.value.split(".")), policy, item.origin) for item in found.value if isinstance(item.value, str)
    ]


def loosened(locks: list[Lock], before: Merged, after: Merged, layer: Merged) -> list[Diagnostic]:
    """What `layer`, which made `after` of `before`, loosens of the locked keys."""
    found: list[Diagnostic] = []
    for lock in locks:
        for path, old, new in _compared(lock, before, after):
            for steps, was, is_now in _changes(path, old, new):
                found.append(_diagnostic(lock, steps, was, is_now, layer))
    return found


def _compared(lock: Lock, before: Merged, after: Merged) -> Iterator[tuple[Steps, Merged | None, Merged | None]]:
    """The locked value below and above; for a locked detector also what `for` makes of it for single tools."""
    old, new = _at_path(before, lock.path), _at_path(after, lock.path)
    yield ("spec", *lock.path), old, new
    if lock.path[0] != "detectors":
        return
    tools = after.at("spec", "detectors", "for")
    for tool, block in tools.value.items() if tools is not None and isinstance(tools.value, dict) else ():
        general = before.at("spec", "detectors") if len(lock.path) == 1 else old
        special = block if len(lock.path) == 1 else block.at(*lock.path[1:])
        known = _at_path(before, ("detectors", "for", tool, *lock.path[1:]))
        if special is not None and (known is None or known.plain() != special.plain()):
            yield ("spec", "detectors", "for", tool, *lock.path[1:]), _narrowed(general, special), special


def _narrowed(general: Merged | None, special: Merged) -> Merged | None:
    """The part of the general thresholds that a special block speaks of."""
    if general is None or not isinstance(general.value, dict) or not isinstance(special.value, dict):
        return general
    kept = {key: _narrowed(general.value[key], value) for key, value in special.value.items() if key in general.value}
    return Merged(kept, general.origin)


def _at_path(tree: Merged, path: tuple[str, ...]) -> Merged | None:
    here = tree.at("spec")
    for step in path:
        if here is not None and isinstance(here.value, list):
            here = next((item for item in here.value if identity(item) == step), None)
        else:
            here = None if here is None else here.at(step)
    return here


def _changes(
    path: Steps, old: Merged | None, new: Merged | None
) -> Iterator[tuple[Steps, Merged | None, Merged | None]]:
    if old is None and new is None:
        return
    if old is not None and new is not None and old.plain() == new.plain():
        return
    if new is None or (old is None and not isinstance(new.value, dict)) or (old is None and _adding_tightens(path)):
        if new is None or not _adding_tightens(path):
            yield path, old, new
    elif old is None:
        for key, value in new.value.items():
            yield from _changes((*path, key), None, value)
    elif (was := limit_value(old.plain())) is not None and (now := limit_value(new.plain())) is not None:
        if not _tighter_number(path, was, now, old.plain(), new.plain()):
            yield path, old, new
    elif isinstance(old.value, dict) and isinstance(new.value, dict):
        for key in (*old.value, *(key for key in new.value if key not in old.value)):
            yield from _changes((*path, key), old.value.get(key), new.value.get(key))
    elif path in BY_ID and isinstance(old.value, list) and isinstance(new.value, list):
        was_by_id = {identity(item): item for item in old.value}
        for item in new.value:  # merging by id only ever adds
            yield from _changes((*path, identity(item) or ""), was_by_id.get(identity(item)), item)
    elif not _tighter_word(path, old.value, new.value):
        yield path, old, new


def _adding_tightens(path: Steps) -> bool:
    """A limit, a rung or a rule where there was none; but a preset or a changed list may do anything."""
    if path[1] == "rules":
        return len(path) == 3
    if path[1] == "detectors" and "for" in path:
        return len(path) > 4
    return path[-1] in _SMALLER or path[-2] in _LIMITS_BY_NAME or (path[1] == "detectors" and len(path) == 3)


def _tighter_number(path: Steps, was: float, now: float, old: Any, new: Any) -> bool:
    if isinstance(old, dict) and isinstance(new, dict) and old.get("currency") != new.get("currency"):
        return False
    if path[-1] in _SMALLER or path[-2] in _LIMITS_BY_NAME:
        return now <= was
    return path[-1] in _LARGER and now >= was


def _tighter_word(path: Steps, old: Any, new: Any) -> bool:
    if path[-1] == "on_error" and new == "refuse":
        return True
    words = _WORDS.get(str(path[-1]), ())
    return old in words and new in words and words.index(new) >= words.index(old)


def limit_value(value: Any) -> float | None:
    """A limit as a number, whichever way it is written; None for what is none."""
    if isinstance(value, dict) and "limit" in value and set(value) <= {"limit", "reason", "currency"}:
        value = value["limit"]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, str):
        return None
    duration = _DURATION.fullmatch(value)
    if duration:
        return float(duration[1]) * _UNITS[duration[2]]
    return float("inf") if value == "unlimited" else None


def _diagnostic(lock: Lock, steps: Steps, was: Merged | None, now: Merged | None, layer: Merged) -> Diagnostic:
    key = ".".join(str(step) for step in steps[1:])
    written = now or _written(layer, steps)
    origin = written.origin
    if now is None:
        message = f"`{key}` is locked by `{lock.policy}` and cannot be taken back"
    else:
        message = f"`{key}` is locked by `{lock.policy}` and may only be made tighter"
    related = [] if was is None else [_place("the locked value", was.origin)]
    related.append(_place("locked here", lock.origin))
    file = origin.document.source.file
    span = origin.document.positions.value(origin.steps)
    if span is None or isinstance(written.value, (dict, list)):
        span = origin.document.positions.key(origin.steps) or span
    hint = f"leave `{key}` out here, or build on another policy"
    return Diagnostic("CG707", "error", message, file, span, hint, tuple(related), join_pointer(origin.steps))


def _written(layer: Merged, steps: Steps) -> Merged:
    """The value of the layer that took a key back: its null, the null or preset around it, else the layer itself."""
    preset = layer.at("spec", "budgets", "preset")
    here = layer
    for step in steps:
        below = here.at(step)
        if below is None:
            return preset if preset is not None and here.value is not None else here
        here = below
    return here


def _place(message: str, origin: Origin) -> Place:
    span = origin.document.positions.key(origin.steps) or origin.document.positions.value(origin.steps)
    return Place(message, origin.document.source.file, span)
