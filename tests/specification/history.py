"""The history of a task: one list in the order in which things happened, and the questions that are asked of it.

Nothing is counted as it happens. Every count is found by looking back over the list, which is slow and obvious.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from specification.calls import WORLD, Call
from specification.outcomes import Outcome


@dataclass(eq=False)
class Dispatched:
    """A call was admitted and given to its tool."""

    call: Call


@dataclass(eq=False)
class Ended:
    """A call came back, or was abandoned (no outcome)."""

    call: Call
    outcome: Outcome | None


@dataclass(eq=False)
class Turn:
    """The round of an ended call closed, and it was the call's turn to feed the detectors.

    `share` is that of its items which the task knew, `known_share` the same of records. `feeds` says what it feeds:
    `all`, `format` (the detectors of unknown tools, invalid arguments and equal errors),
    `wait` (`stale_wait`), `none`, or `double` where an earlier member of its batch has said it. A `fresh` one is a read
    that was worth making although it may bring nothing new: what it looks at has `changed`, or `may have`; or its
    answer is `wanted` again, or for the first time by an agent, where another one had it (`shared`). A `fruitless` one
    wrote or sent once more what was written again and again, while nothing came of it; one that is `alike` brought what
    an earlier call of its round had brought; one is `acted_upon` that asks for the next thing, after what the tool had
    said of the last one was acted upon; a `new_target` is its agent's first look at one of the tool's targets.
    """

    call: Call
    outcome: Outcome
    feeds: str
    gain: int = 0
    share: float | None = None
    known_share: float | None = None
    cells: int = 0
    towards_needs: bool = False
    landed: bool = False
    possible: bool = False
    progress: bool = False
    fresh: str = ""
    fruitless: bool = False
    alike: bool = False
    acted_upon: bool = False
    new_target: bool = False

    @property
    def passed_over(self) -> bool:
        """Tell whether what counts reads passes over it."""
        return self.alike or self.acted_upon

    @property
    def changes(self) -> bool:
        """Tell whether it wrote or sent something."""
        sent = self.feeds == "all" and self.call.tool.effect == "external" and not self.outcome.failed
        return self.landed or sent

    @property
    def writes(self) -> bool:
        """Tell whether it may have written, or did write or send something that is not fruitless."""
        return self.possible or (self.changes and not self.fruitless)

    @property
    def moves_on(self) -> bool:
        """Tell whether it brought something new to the task, or wrote something."""
        return bool(self.gain) or self.writes

    @property
    def works(self) -> bool:
        """Tell whether it makes passing control on no repeat: it brought something, or wrote it for the first time."""
        writes = self.call.new and (self.changes or self.possible) and self.call.tool.effect != "ui"
        return not self.call.tool.transfer and bool(self.gain or self.new_target or writes)

    @property
    def is_news(self) -> bool:
        """Tell whether something new came of it, so that what was done before it was not in vain."""
        found = bool(self.gain) and not self.changes
        return found or self.progress or (self.call.new and (self.changes or self.possible))


@dataclass(eq=False)
class Refused:
    """A call of a tool that nobody declared was refused for that."""

    call: Call


@dataclass(eq=False)
class Denied:
    """A person, or the tool, denied a call; `rules` are those that had asked."""

    loose: str
    rules: frozenset[str] = frozenset()


@dataclass(eq=False)
class Approved:
    """A person approved a call; `rules` are those that had asked."""

    loose: str
    rules: frozenset[str] = frozenset()


@dataclass(eq=False)
class Counted:
    """A refusal or a reuse was counted in an incident."""

    incident: Any
    reuse: bool


@dataclass(eq=False)
class Reset:
    """An event that resets what the policy names: a person spoke, or an agent's conversation was `compacted`."""

    names: list[str]
    compacted: str | None = None


Entry = Dispatched | Ended | Turn | Refused | Denied | Approved | Counted | Reset


class History(list[Entry]):
    """All that happened in a task."""

    def back(self, group: str | None = None) -> Iterator[Entry]:
        """Walk back, as far as the last reset of the group."""
        for entry in reversed(self):
            if isinstance(entry, Reset) and group in entry.names:
                return
            yield entry

    def in_vain(self) -> list[Turn]:
        """Give the turns since anything new came, the one that brought it included, the last first."""
        turns = []
        for entry in reversed(self):
            if isinstance(entry, Reset) and entry.compacted is None and "repeats" in entry.names:
                break
            if isinstance(entry, Turn):
                turns.append(entry)
                if entry.is_news:
                    break
        return turns

    def fed(self, group: str | None = None) -> list[Turn]:
        """Give the turns that fed the detectors since the last reset of the group, in order."""
        turns = [entry for entry in self.back(group) if isinstance(entry, Turn) and entry.feeds == "all"]
        return turns[::-1]

    def worked(self, last: Entry) -> int:
        """Count the calls up to an entry, transfers left out, that brought or wrote something."""
        return sum(isinstance(entry, Turn) and entry.works for entry in self[: self.index(last) + 1])

    def read_version(self) -> int:
        """Count what may have changed the world: dispatches and ends of calls that are more than reads."""
        return sum(isinstance(entry, Dispatched | Ended) and entry.call.tool.effect in WORLD for entry in self)

    def out(self) -> list[Call]:
        """Give the calls that were dispatched and have not ended."""
        ended = {id(entry.call) for entry in self if isinstance(entry, Ended)}
        return [entry.call for entry in self if isinstance(entry, Dispatched) and id(entry.call) not in ended]

    def outcomes(self) -> list[Outcome]:
        """Give the outcomes in the order in which they arrived."""
        return [entry.outcome for entry in self if isinstance(entry, Ended) and entry.outcome is not None]

    def quiet_between(self, earlier: Outcome, later: Outcome) -> bool:
        """Tell whether no other call that is more than a read was dispatched or ended between two outcomes."""
        ends = [
            index for index, entry in enumerate(self) if isinstance(entry, Ended) and entry.outcome in (earlier, later)
        ]
        return not any(
            isinstance(entry, Dispatched | Ended)
            and entry.call.tool.effect in WORLD
            and entry.call.loose != later.call.loose
            for entry in self[ends[0] + 1 : ends[-1]]
        )

    def precedes(self, entry: "Entry", call: Call) -> bool:
        """Tell whether the entry stood here when the call was sent."""
        sent = next(i for i, each in enumerate(self) if isinstance(each, Dispatched) and each.call is call)
        return self.index(entry) < sent

    def equal(self, earlier: Outcome, later: Outcome) -> bool:
        """Tell whether two results of one call are equal."""
        if earlier.symbol is None or later.symbol is None:
            return False
        if earlier.symbol == later.symbol:
            return True
        same_fault = earlier.failed and later.failed and (earlier.type, earlier.status) == (later.type, later.status)
        return same_fault and self.quiet_between(earlier, later)


def ends_run(turn: Turn, call: Call) -> bool:
    """Tell whether a landed write ends the run of another call."""
    if not turn.landed or turn.call.loose == call.loose:
        return False
    writer, reader = turn.call.tool, call.tool
    if writer.touches and reader.reads:
        return bool(set(writer.touches) & set(reader.reads))
    if turn.call.target is not None and call.target is not None:
        return turn.call.target == call.target
    return True


def is_written_by(turn: Turn, call: Call) -> bool:
    """Tell whether both a landed write and the call whose run it ends say so, by a tag or their target."""
    tagged = bool(turn.call.tool.touches) and bool(call.tool.reads)
    return ends_run(turn, call) and (tagged or (turn.call.target is not None and call.target is not None))


def ends_repeats(turn: Turn, call: Call) -> bool:
    """Tell whether a landed or possible write ends the run of equal results of another call."""
    if ends_run(turn, call):
        return True
    if not turn.possible or turn.call.loose == call.loose:
        return False
    reads = call.tool.reads
    return not reads or bool(set(reads) & set(turn.call.tool.touches))
