"""How thresholds are compared: each rung by which way is more patient, those of single tools by what they come to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from callgate.policy.merge import Merged, Steps

from .change import plain
from .laws import NO_LIMIT, Difference, Law, Tighter, block, children, number, whole

RUNGS: Final = ("note_after", "refuse_after", "exit_after")
_RUNG: Final = number("DETECTOR_RUNG")
# After a cool-down one call is let through again; without one none is.
_COOL_DOWN: Final = number("DETECTOR", "more", absent=NO_LIMIT, category="DETECTOR_TUNED")


def _tuned(tighter: Tighter, absent: float) -> Law:
    return number("DETECTOR", tighter, absent=absent, category="DETECTOR_TUNED")


_LAPS: Final = number("DETECTOR_RUNG", absent=3)


def _below(steps: Steps, old: Merged | None, new: Merged | None) -> Iterator[Difference]:
    """A share below which a detector speaks: the higher it is, the sooner."""
    both = old is not None and new is not None
    yield from number("DETECTOR_RUNG", "more", absent=0, category="DETECTOR_TUNED" if both else None)(steps, old, new)


_KEYS: Final[dict[str, Law]] = {
    "note_after": _RUNG,
    "refuse_after": _RUNG,
    "exit_after": _RUNG,
    "cool_down": _COOL_DOWN,
    "sufficient_reads": block({"refuse_after": _RUNG}),
    "arguments_at_most": _tuned("more", 0.34),
    "known_records": _tuned("less", 0.8),
    "transient_after": _tuned("less", NO_LIMIT),
    "towards": whole("DETECTOR_TUNED"),
    "max_period": _tuned("more", 8),
    "laps": _LAPS,
    "mismatches": _tuned("more", 0),
    "min_calls": _tuned("less", 1),
    "note_below": _below,
    "refuse_below": _below,
    "entropy_note_below": _below,
}
_ALWAYS_ON: Final = ("cycle", "transfer_cycle")
_ACTING: Final = (*RUNGS, "note_below", "refuse_below", "entropy_note_below", "sufficient_reads")
_BLOCK: Final = block(_KEYS)


def compare_detectors(steps: Steps, old: Merged | None, new: Merged | None) -> Iterator[Difference]:
    """`spec.detectors`: the window, each detector, and what single tools and groups have of their own."""
    before, after = children(old), children(new)
    for name in (*before, *(name for name in after if name not in before)):
        was, now = before.get(name), after.get(name)
        if name == "window":
            yield from whole("DETECTOR_TUNED", default=50)((*steps, name), was, now)
        elif name == "for":
            yield from _of_tools((*steps, name), was, now, before, after)
        else:
            yield from _detector(name, (*steps, name), was, now)


def _detector(name: str, steps: Steps, old: Merged | None, new: Merged | None) -> Iterator[Difference]:
    if old is not None and new is not None:
        yield from _BLOCK(steps, old, new)
    elif new is not None:
        yield Difference("DETECTOR_ADDED", "stricter" if _acts(name, new) else "none", steps, None, new)
    elif old is not None:
        yield Difference("DETECTOR_REMOVED", "looser" if _acts(name, old) else "none", steps, old, None)


def _acts(name: str, detector: Merged) -> bool:
    """Whether a detector does more than gather evidence."""
    return name in _ALWAYS_ON or any(key in _ACTING for key in children(detector))


def _of_tools(
    steps: Steps, old: Merged | None, new: Merged | None, before: dict[str, Merged], after: dict[str, Merged]
) -> Iterator[Difference]:
    """What is written for single tools and groups, compared by what it comes to over the thresholds of all tools."""
    tools_before, tools_after = children(old), children(new)
    for tool in (*tools_before, *(tool for tool in tools_after if tool not in tools_before)):
        was, now = children(tools_before.get(tool)), children(tools_after.get(tool))
        for name in (*was, *(name for name in now if name not in was)):
            if _differ(was.get(name), now.get(name)):
                here = (*steps, tool, name)
                yield from _special(name, here, was.get(name), now.get(name), before.get(name), after.get(name))


def _special(
    name: str, steps: Steps, old: Merged | None, new: Merged | None, under_old: Merged | None, under_new: Merged | None
) -> Iterator[Difference]:
    was, now = _over(under_old, old), _over(under_new, new)
    if was is None or now is None:
        yield from _detector(name, steps, was, now)
        return
    written = (children(old), children(new))
    for found in _BLOCK(steps, was, now):
        key = str(found.steps[len(steps)])
        if _differ(written[0].get(key), written[1].get(key)):  # else it changed for all tools, and is told there
            yield found


def _differ(old: Merged | None, new: Merged | None) -> bool:
    """Whether something else is written: a null that takes a threshold back is something."""
    return (old is None) != (new is None) or plain(old) != plain(new)


def _over(below: Merged | None, above: Merged | None) -> Merged | None:
    """A tool's thresholds of a detector over those of all tools: null takes a rung back, or the whole detector."""
    if above is None:
        return below
    if above.value is None:
        return None
    merged = dict(children(below))
    for key, value in children(above).items():
        if value.value is None:
            merged.pop(key, None)
        elif isinstance(value.value, dict):
            merged[key] = Merged({**children(merged.get(key)), **value.value}, value.origin)
        else:
            merged[key] = value
    return Merged(merged, above.origin)
