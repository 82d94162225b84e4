"""Policies and manifests with one small mistake each: what the tests of a policy should notice."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import callgate._core as _core
from callgate.policy.diagnostics import Span
from callgate.policy.faults import span_of
from callgate.policy.load import Document

from .parts import Steps

KINDS: Final = ("GuardPolicy", "ToolManifest", "GuardBinding")
"""Documents that have mutants."""
# Conditions, by the key that they stand under.
_CONDITIONS: Final = frozenset({"when", "failed_when", "empty_when"})
# What no run of a test can show: it changes no decision, or only what sleeps and waits outside of the engine.
_UNSEEN: Final = frozenset(
    {"timeout", "backoff", "description", "definition_tokens", "severity", "owner", "parameters", "layers"}
)
_UNSEEN_TIMES: Final = frozenset({("spec", "time", "tool"), ("spec", "time", "server")})
_WEAKER_ACTION: Final = {"stop": "refuse", "refuse": "note", "ask": "note", "exit": "note", "retry": "note"}
_WEAKER_WORD: Final = {
    ("undeclared_tools", "refuse"): "allow",
    ("on_error", "refuse"): "allow",
    ("mode", "enforce"): "warn",
    ("partial", "finish_with_gaps"): "finish",
    ("partial", "escalate"): "finish_with_gaps",
    ("insufficient", "escalate"): "finish_with_gaps",
    ("insufficient", "finish_with_gaps"): "finish",
}
_SHARES: Final = frozenset(
    {"arguments_at_most", "known_records", "note_below", "refuse_below", "notes_at", "entropy_note_below", "factor"}
)
_TENTH: Final = 0.1
_DURATION: Final = re.compile(r"([0-9]+)(ms|s|m|h)")


class Mutant(NamedTuple):
    """A change of one value of a document.

    `steps` lead to the value, `span` is the place of what was changed, `what` says what was done (`moved a number`),
    `was` and `now` are what stood there and what stands there instead. `value` is the new value of the whole that
    `steps` lead to; it is taken away where `removed` says so.
    """

    document: Document
    steps: Steps
    span: Span
    what: str
    was: str
    now: str
    value: Any
    removed: bool = False


def mutants(document: Document) -> list[Mutant]:
    """The mutants of a document of one of `KINDS`, in the order of its text; what aliases share is changed once."""
    unique: dict[object, Mutant] = {}
    for mutant in _of(document, document.data.get("spec"), ("spec",)):
        child = document.positions.find(mutant.steps)
        if child is not None:
            unique.setdefault((id(child.node), mutant.span, mutant.what, mutant.now), mutant)
    return sorted(unique.values(), key=lambda each: each.span)


def _of(document: Document, value: Any, steps: Steps) -> Iterator[Mutant]:
    key = str(steps[-1])
    if isinstance(value, dict):
        if _is_tool(document, steps):
            yield from _of_effect(document, value, steps)
        for name, inner in value.items():
            if _is_seen((*steps, name)):
                yield from _of(document, inner, (*steps, name))
    elif isinstance(value, list):
        removable = steps in (("spec", "rules"), ("spec", "fallback", "edges"))
        for at, inner in enumerate(value):
            here = (*steps, at)
            if removable:
                what = "removed a rule" if steps[-1] == "rules" else "removed an edge"
                told = inner.get("id") or f"{inner.get('from')} → {inner.get('to')}" if isinstance(inner, dict) else ""
                yield Mutant(
                    document, here, span_of(document.positions, here, "value"), what, str(told), "", None, True
                )
            yield from _of(document, inner, here)
    elif isinstance(value, bool):
        if key in ("idempotent", "transfer", "closed") or (key == "waiting" and value):
            yield _plain(document, steps, "changed a flag", value, not value)
    elif isinstance(value, (int, float)):
        yield from _of_number(document, value, steps)
    elif isinstance(value, str):
        yield from _of_text(document, value, steps)


def _is_seen(steps: Steps) -> bool:
    """Whether a run of a test can show what stands there."""
    # what a binding may set is a threshold; what a tool takes is its own business
    return steps == ("spec", "parameters") or not (steps[-1] in _UNSEEN or steps in _UNSEEN_TIMES)


def _is_tool(document: Document, steps: Steps) -> bool:
    """Whether a block of a manifest is that of a tool or of a form."""
    if document.kind != "ToolManifest" or steps[:2] != ("spec", "tools"):
        return False
    return len(steps) == 3 or (len(steps) == 5 and steps[3] == "forms")


def _of_effect(document: Document, tool: dict[str, Any], steps: Steps) -> Iterator[Mutant]:
    effect = tool.get("effect")
    if isinstance(effect, str):
        yield _plain(
            document, (*steps, "effect"), "changed the effect", effect, "unknown" if effect == "read" else "read"
        )


def _of_number(document: Document, value: float, steps: Steps) -> Iterator[Mutant]:
    if any(step in _SHARES for step in steps if isinstance(step, str)):
        near = [round(value - _TENTH, 6), round(value + _TENTH, 6)]
    else:
        near = [value - 1, value + 1]
    for moved in near:
        if moved >= 0:
            yield _plain(document, steps, "moved a number", value, moved)


def _of_text(document: Document, value: str, steps: Steps) -> Iterator[Mutant]:
    key, last = str(steps[-1]), steps[-1]
    if key in _CONDITIONS or steps[:2] == ("spec", "variables"):
        for start, end, replacement, what in _core.mutate_expression(value):
            span = document.positions.inside(steps, start, end) or span_of(document.positions, steps, "value")
            changed = value[:start] + replacement + value[end:]
            yield Mutant(document, steps, span, what, value[start:end], replacement, changed)
    elif last == "action" and value in _WEAKER_ACTION:
        now = _WEAKER_ACTION[value]
        yield _plain(document, steps, "weakened an action", value, now)
    elif (key, value) in _WEAKER_WORD:
        yield _plain(document, steps, "weakened an action", value, _WEAKER_WORD[key, value])
    elif (found := _DURATION.fullmatch(value)) is not None:
        for moved in (int(found[1]) - 1, int(found[1]) + 1):
            if moved >= 0:
                yield _plain(document, steps, "moved a duration", value, f"{moved}{found[2]}")


def _plain(document: Document, steps: Steps, what: str, was: Any, now: Any) -> Mutant:
    span = span_of(document.positions, steps, "value")
    return Mutant(document, steps, span, what, _word(was), _word(now), now)


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
