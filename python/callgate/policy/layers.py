"""One policy layer over another: what the language says beyond the merging of keys, about presets and rungs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from .diagnostics import Diagnostic, Place
from .merge import Merged, Origin, merge
from .positions import join_pointer

# A preset stands for these; written in a layer it takes their place, whatever lower layers say.
OF_PRESET: Final = (("budgets", "steps"), ("budgets", "tokens"), ("time", "task"))


def lay_over(lower: Merged | None, upper: Merged) -> Merged:
    """One policy layer over the policy below it, with what the language says beyond the merging of keys."""
    if lower is not None and isinstance(_value(upper, "spec", "budgets", "preset"), str):
        lower = _without_preset(lower)
    merged = merge(lower, upper)
    pull_notes_down(merged, upper)
    return merged


def _value(tree: Merged, *steps: str | int) -> Any:
    found = tree.at(*steps)
    return None if found is None else found.value


def _without_preset(tree: Merged) -> Merged:
    spec = dict(tree.value["spec"].value) if isinstance(_value(tree, "spec"), dict) else {}
    for block, key in OF_PRESET:
        found = spec.get(block)
        if found is not None and isinstance(found.value, dict) and key in found.value:
            rest = {name: value for name, value in found.value.items() if name != key}
            spec[block] = Merged(rest, found.origin)
    return Merged({**tree.value, "spec": Merged(spec, tree.value["spec"].origin)}, tree.origin)


class _Block(NamedTuple):
    """A detector's thresholds: as merged, as this layer wrote them, and those for all tools where it is for one."""

    name: str
    parent: Merged
    merged: Merged
    written: Merged
    general: Merged | None

    def effective(self, rung: str) -> Merged | None:
        """The rung that counts here, if it is a number."""
        found = self.merged.at(rung) or (self.general.at(rung) if self.general is not None else None)
        return found if found is not None and _is_count(found.value) else None


def _blocks(merged: Merged, upper: Merged) -> Iterator[_Block]:
    """The detectors that a layer wrote, first those for all tools, then those for single ones."""
    general = merged.at("spec", "detectors")
    tools = merged.at("spec", "detectors", "for")
    sets: list[tuple[Merged | None, Merged | None, Merged | None]] = [(general, upper.at("spec", "detectors"), None)]
    if tools is not None and isinstance(tools.value, dict):
        sets += [(block, upper.at("spec", "detectors", "for", tool), general) for tool, block in tools.value.items()]
    for parent, written, above in sets:
        if parent is None or written is None or not isinstance(written.value, dict):
            continue
        for name, block in written.value.items():
            found = parent.at(name)
            if name != "for" and found is not None and isinstance(found.value, dict):
                yield _Block(name, parent, found, block, above.at(name) if above is not None else None)


def pull_notes_down(merged: Merged, upper: Merged) -> None:
    """A `refuse_after` of this layer below an inherited `note_after` pulls it down; `for` inherits from all tools."""
    for block in _blocks(merged, upper):
        note, refuse = block.effective("note_after"), block.written.at("refuse_after")
        if note is None or refuse is None or not _is_count(refuse.value) or block.written.at("note_after"):
            continue
        if note.value > refuse.value:
            pulled = Origin(refuse.origin.document, refuse.origin.steps, f"pulled down from {note.value}")
            rungs = {**block.merged.value, "note_after": Merged(refuse.value, pulled)}
            block.parent.value[block.name] = Merged(rungs, block.merged.origin)


def unreachable_notes(merged: Merged, upper: Merged) -> Iterator[Diagnostic]:
    """A `note_after` of this layer above an inherited `refuse_after`, which nobody ever gets to."""
    for block in _blocks(merged, upper):
        note, refuse = block.written.at("note_after"), block.effective("refuse_after")
        if note is None or refuse is None or not _is_count(note.value) or block.written.at("refuse_after"):
            continue
        if note.value > refuse.value:
            message = f"`note_after` of `{block.name}` is never reached: it refuses after {refuse.value} already"
            hint = f"write `note_after` at most {refuse.value}, or a `refuse_after` of at least {note.value} beside it"
            (document, steps, _), below = note.origin, refuse.origin
            place = Place(
                f"refuses after {refuse.value}", below.document.source.file, below.document.positions.value(below.steps)
            )
            file, span = document.source.file, document.positions.value(steps)
            yield Diagnostic("CG401", "error", message, file, span, hint, (place,), join_pointer(steps))


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
