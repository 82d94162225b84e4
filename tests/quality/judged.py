"""What the engine made of a session: its notes and its interventions, each at its call."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from callgate import _core

from .recordings import Records, lines_of

CHUNK: Final = 500


@dataclass(slots=True)
class Judged:
    """One session.

    Attributes:
        notes: reasons of notes, by `seq`.
        actions: action and deciding reason of each call that was not simply allowed, by `seq`.
    """

    notes: dict[int, list[str]] = field(default_factory=dict)
    actions: dict[int, tuple[str, str]] = field(default_factory=dict)

    @property
    def noted(self) -> int | None:
        """`seq` of the first call with a note, or that was refused without one before."""
        return min([*self.notes, *self.actions], default=None)

    @property
    def refused(self) -> int | None:
        """`seq` of the first call that would not have run: refused, stopped, asked about, or, as a read that would be
        refused, answered from its last result."""
        return min(self.actions, default=None)

    def counts(self) -> Counter[tuple[str, str]]:
        """How often each action came for each reason. What comes after a stop, where an agent ends, is not counted."""
        found = Counter(self.actions.values())
        found.update(("note", reason) for reasons in self.notes.values() for reason in reasons)
        return Counter({key: count for key, count in found.items() if key[1] != "stopped"})


def judge(policy: _core.CompiledPolicy, runs: Mapping[str, Records]) -> dict[str, Judged]:
    """Replay sessions under a policy.

    Args:
        policy: what they are judged under.
        runs: records by session.

    Returns:
        What was made of each, quiet ones included.

    Raises:
        ValueError: a record is no record.
    """
    replay = _core.Replay(policy, rows=True)
    found = {session: Judged() for session in runs}
    names = list(runs)
    for start in range(0, len(names), CHUNK):
        if faults := replay.feed(lines_of(runs[name] for name in names[start : start + CHUNK])):
            raise ValueError(f"a line that cannot be replayed: {faults[0][1]}")
        _add(found, replay.take_lines(every=False).splitlines())
    replay.finish()
    _add(found, replay.take_lines(every=False).splitlines())
    return found


def _add(found: dict[str, Judged], rows: Iterable[bytes]) -> None:
    for line in rows:
        row = json.loads(line)
        judged, seq = found[row["session"]], row["seq"]
        if row["notes"]:
            judged.notes[seq] = [note["reason"] for note in row["notes"]]
        if row["action"] != "allow":
            judged.actions[seq] = (row["action"], row["reasons"][0])
        elif row["stop"] is not None:  # what the call brought was the end
            judged.actions[seq] = ("stop", row["stop"]["reason"])
