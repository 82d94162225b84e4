"""Loops that are put into healthy runs: four equal calls, three laps of a cycle, five equal errors under new arguments.

What is put in was recorded too, in other sessions of the same data set, so that calls and results look like work; only
that they come again is made. Each draw is made from the name of the session: the same ones come in every run.
"""

import hashlib
import random
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from .recordings import Records

WANTED: Final = 200
EARLIEST: Final = 3  # calls of the healthy run that come before
SHORTEST: Final = 8
LAPS: Final = 3
ERRORS: Final = 5


class Spliced(NamedTuple):
    """A healthy run with a loop in it: the kind of loop, the records, and the `seq` of the call that has to be refused
    at the latest."""

    kind: str
    session: str
    records: Records
    due: int


def chosen(runs: Mapping[str, Records], unfit: frozenset[str]) -> list[str]:
    """Choose the healthy sessions: long enough, not among `unfit`, in an order that only their names decide."""
    fit = [name for name, records in runs.items() if len(records) >= SHORTEST and name not in unfit]
    return sorted(fit, key=lambda name: hashlib.sha256(name.encode()).digest())[:WANTED]


def spliced(runs: Mapping[str, Records], names: list[str]) -> Iterator[Spliced]:
    """Put each kind of loop into each of the sessions."""
    for position, name in enumerate(names):
        donor = runs[names[(position + 1) % len(names)]]
        dice = random.Random(name)
        at = dice.randint(EARLIEST, len(runs[name]) - 1)
        for kind, loop in (
            ("equal_calls", _equal_calls(donor, dice)),
            ("cycle", _cycle(donor, dice)),
            ("equal_errors", _equal_errors(donor, dice)),
        ):
            yield _put(kind, name, runs[name], at, loop)


def _put(kind: str, session: str, records: Records, at: int, loop: Records) -> Spliced:
    """Put a loop in front of the call at `at`, and number all calls anew. The loop's last call is due."""
    whole = [*records[:at], *loop, *records[at:]]
    name = f"{kind}/{session}"
    numbered = [{**record, "session": name, "seq": seq} for seq, record in enumerate(whole)]
    for record in numbered:
        record.pop("time", None)  # those of the donor are of another run
    return Spliced(kind, name, numbered, at + len(loop) - 1)


def _equal_calls(donor: Records, dice: random.Random) -> Records:
    """Four times one call."""
    return [_call(dice.choice(donor))] * 4


def _cycle(donor: Records, dice: random.Random) -> Records:
    """Three laps of two, three or four calls, all different, and the call that would begin the fourth."""
    period = dice.randint(2, 4)
    distinct = {repr(record["arguments"]): record for record in donor}
    lap = [_call(record) for record in dice.sample(list(distinct.values()), period)]
    return [*lap * LAPS, lap[0]]


def _equal_errors(donor: Records, dice: random.Random) -> Records:
    """One command that fails in one way, with ever-new options: five times, and once more."""
    failed = [record for record in donor if record["is_error"]]
    failure = _call(dice.choice(failed or donor)) | {"is_error": True}
    command = failure["arguments"].get("command", "make")
    return [failure | {"arguments": {"command": f"{command} --try={number}"}} for number in range(ERRORS + 1)]


def _call(record: dict[str, Any]) -> dict[str, Any]:
    """The call and what came of it, without when and where."""
    kept = ("tool", "arguments", "result", "is_error", "error", "result_truncated", "result_digest")
    return {key: record[key] for key in kept if key in record}
