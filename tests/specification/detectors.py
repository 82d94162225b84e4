"""The detectors: each looks back over the history and answers how far its finding stands.

A detector is a function of the history and a call. It answers with streaks: how many, when the last observation of
it was, and which calls it names (the key of its incident). Whether that is a note or a refusal is decided elsewhere,
by the rungs of the policy.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from specification.calls import Call
from specification.history import (
    Approved,
    Denied,
    Dispatched,
    Entry,
    History,
    Refused,
    Turn,
    ends_repeats,
    ends_run,
)
from specification.outcomes import Outcome

Rungs = dict[str, Any]

# Of failures that writes stand between, and of looks that only a write has made worth while, one in so many counts.
BETWEEN_WRITES = 4


@dataclass
class Streak:
    """How far a finding stands; `began` is the first of what it counts, where something can end it."""

    count: int
    last: float | None
    names: Any
    key: Any = None
    refuse_after: int | None = None
    began: Entry | None = None


Detector = Callable[[History, Call, Rungs, Outcome | None], list[Streak]]


def the_call(call: Call) -> Any:
    return ("session", call.agent, "calls", frozenset([call.loose]))


def the_reads(call: Call) -> Any:
    return ("session", call.agent, "reads", call.tool.name, call.target)


def the_tool(call: Call) -> Any:
    return ("session", call.agent, "tool", call.tool.name)


def own(history: History, call: Call, group: str | None) -> list[Turn]:
    """The fed turns of the call's session."""
    return [turn for turn in history.fed(group) if turn.call.agent == call.agent]


def reads_of_tool(history: History, call: Call, group: str | None) -> list[Turn]:
    """The successful reads with a known result of the call's tool and target in its session; none if it is no read."""
    if call.tool.effect != "read":
        return []
    return [
        turn
        for turn in own(history, call, group)
        if turn.call.tool.name == call.tool.name
        and turn.call.target == call.target
        and turn.call.tool.effect == "read"
        and turn.outcome.succeeded_known
        and not turn.outcome.erred
    ]


def first_of(turns: list[Turn]) -> Turn | None:
    return turns[0] if turns else None


def last_time(turns: list[Turn]) -> float | None:
    return turns[-1].outcome.at if turns else None


def is_mute(call: Call) -> bool:
    """Tell whether a result says nothing but that the call was made: what comes of it is seen by other calls."""
    return call.tool.transfer or call.tool.effect == "ui"


def exact_repeat(history: History, call: Call, rungs: Rungs, seen: Outcome | None) -> list[Streak]:
    run: list[Turn] = []
    for entry in history.back("repeats"):
        if not isinstance(entry, Turn):
            continue
        if entry.progress or ends_repeats(entry, call):
            break
        own = (entry.call.agent, entry.call.loose) == (call.agent, call.loose)
        over = is_mute(call) and entry.works
        if over and not own:
            break
        if entry.feeds == "all" and own:
            if entry.outcome.symbol is None or (run and not history.equal(entry.outcome, run[0].outcome)):
                break
            run.insert(0, entry)
        if over:
            break
    streak = Streak(len(run), last_time(run), the_call(call), began=first_of(run))
    sufficient = rungs.get("sufficient_reads")
    if sufficient and run and call.tool.effect == "read" and run[-1].outcome.grade == "sufficient":
        streak.refuse_after = sufficient["refuse_after"]
    return [streak]


def consecutive(history: History, call: Call, rungs: Rungs, seen: Outcome | None) -> list[Streak]:
    run: list[Turn] = []
    for entry in history.back("repeats"):
        if not isinstance(entry, Turn):
            continue
        if entry.progress:
            break
        if entry.feeds == "all" and entry.call.agent == call.agent:
            if entry.call.loose != call.loose or entry.outcome.symbol is not None:
                break
            run.insert(0, entry)
    return [Streak(len(run), last_time(run), the_call(call), began=first_of(run))]


def frequency(history: History, call: Call, rungs: Rungs, seen: Outcome | None) -> list[Streak]:
    window = own(history, call, "repeats")[-rungs["window"] :]
    same = [turn for turn in window if turn.call.exact == call.exact]
    return [Streak(len(same), last_time(same), the_call(call))]


def low_diversity(history: History, call: Call, rungs: Rungs, seen: Outcome | None) -> list[Streak]:
    window = [turn.call.exact for turn in own(history, call, "repeats")][-rungs["window"] :]
    if not window or len(window) < rungs.get("min_calls", 10):
        return []
    shares = [window.count(exact) / len(window) for exact in set(window)]
    distinct = len(shares) / len(window)
    entropy = -sum(share * math.log2(share) for share in shares)
    if seen is None:
        low = distinct < rungs.get("refuse_below", 0) and call.exact in window
    else:
        low = distinct < rungs.get("note_below", 0) or entropy < rungs.get("entropy_note_below", 0)
    return [Streak(int(low), None, the_call(call))]


def period(symbols: list[Any], rungs: Rungs, mismatches: int) -> int | None:
    """The smallest p whose last `(laps - 1) * p` comparisons of a symbol with the one p before it hold."""
    laps = rungs.get("laps", 3)
    for p in range(1, rungs.get("max_period", 8) + 1):
        compared = (laps - 1) * p
        if len(symbols) < compared + p:
            continue
        places = range(len(symbols) - compared, len(symbols))
        if sum(symbols[i] is None or symbols[i] != symbols[i - p] for i in places) <= mismatches:
            return p
    return None


def cycle(history: History, call: Call, rungs: Rungs, seen: Outcome | None) -> list[Streak]:
    merged: list[Turn] = []
    session: list[Turn] = []
    written = False
    for entry in history.back("repeats"):
        if isinstance(entry, Turn) and entry.progress:
            break
        if isinstance(entry, Turn):
            own = entry.call.agent == call.agent
            written |= not own and (entry.possible or (entry.landed and not entry.fruitless))
            if entry.feeds == "all":
                merged.insert(0, entry)
                if own and not written:
                    session.insert(0, entry)
    streaks = []
    for stream in (session, merged):
        symbols = [
            None
            if turn.outcome.symbol is None
            else (
                turn.call.agent,
                turn.call.loose,
                turn.outcome.symbol,
                history.worked(turn) if turn.call.tool.transfer else 0,
            )
            for turn in stream
        ]
        p = period(symbols, rungs, rungs.get("mismatches", 0))
        if p is None:
            continue
        members = {(turn.call.agent, turn.call.loose) for turn in stream[-p:]}
        if stream is merged and len({agent for agent, _ in members}) < 2:
            continue
        if seen is None and (call.agent, call.loose) not in members:
            continue
        if stream is merged:
            names: Any = ("task", "members", frozenset(members))
        else:
            names = ("session", call.agent, "calls", frozenset(loose for _, loose in members))
        streaks.append(Streak(1, last_time(stream), names, key=names))
    return streaks


def oscillation(history: History, call: Call, rungs: Rungs, seen: Outcome | None) -> list[Streak]:
    reads = [turn for turn in reads_of_tool(history, call, "results") if turn.known_share is not None]
    counted: list[Turn] = []
    before: Turn | None = None
    for turn in reads:
        assert turn.known_share is not None
        if (turn.fresh or turn.passed_over) and turn.known_share >= rungs.get("known_records", 0.8):
            continue
        if turn.known_share < rungs.get("known_records", 0.8):
            counted = []
        elif before is not None and few_differ(before.call, turn.call, rungs.get("arguments_at_most", 0.34)):
            counted.append(turn)
        before = turn
    if seen is not None and (not counted or counted[-1].outcome is not seen):
        return []
    return [Streak(len(counted), last_time(counted), the_reads(call), began=first_of(counted))]


def few_differ(one: Call, other: Call, at_most: float) -> bool:
    absent = object()
    names = set(one.normal) | set(other.normal)
    differ = sum(one.normal.get(name, absent) != other.normal.get(name, absent) for name in names)
    return differ == 1 or bool(differ > 0 and differ / len(names) <= at_most)


def same_error(history: History, call: Call, rungs: Rungs, seen: Outcome | None) -> list[Streak]:
    if seen is not None and (not seen.failed or seen.erred):
        return []
    failures: list[Turn] = []
    for entry in history.back("errors"):
        if not isinstance(entry, Turn) or not (all_effects(entry) or malformed(entry)) or entry.outcome.erred:
            continue
        if (entry.call.agent, entry.call.tool.name) == (call.agent, call.tool.name):
            if not entry.outcome.failed:
                break
            failures.insert(0, entry)
    streaks = []
    for key in dict.fromkeys(turn.outcome.error_key for turn in failures):
        if seen is not None and key != seen.error_key:
            continue
        run = 0
        last: Turn | None = None
        began: Turn | None = None
        for entry in history[history.index(failures[0]) :]:
            if not isinstance(entry, Turn):
                continue
            if entry in failures and entry.outcome.error_key == key:
                run, last, began = run + 1, entry, began or entry
            elif run and last is not None and ends_run(entry, last.call):
                run, began = 0, entry
        assert last is not None
        count = max(run, sum(turn.outcome.error_key == key for turn in failures) // BETWEEN_WRITES)
        streaks.append(Streak(count, last.outcome.at, the_tool(call), key=key, began=began))
    return streaks


ONE_THING = 0.8


def same_result(history: History, call: Call, rungs: Rungs, seen: Outcome | None) -> list[Streak]:
    reads = [turn for turn in reads_of_tool(history, call, "results") if not turn.passed_over]
    if seen is not None and (not reads or reads[-1].outcome is not seen):
        return []
    calls: set[str] = set()
    began: Turn | None = None
    for turn in reads:
        same = began is not None and turn.outcome.symbol == began.outcome.symbol
        # a version tells whether a thing is as it was, not whether two are one
        is_other = turn.outcome.symbol[0] == "version" and turn.call.loose not in calls and turn.share is not None
        if not same or (is_other and turn.share < ONE_THING):
            calls, began = set(), turn
        calls.add(turn.call.loose)
    return [Streak(len(calls), last_time(reads), the_reads(call), began=began)]


def no_gain(history: History, call: Call, rungs: Rungs, seen: Outcome | None) -> list[Streak]:
    reads = reads_of_tool(history, call, "gain")
    counted: list[Turn] = []
    after_writes = 0
    for turn in reads:
        if turn.cells if turn.towards_needs else turn.gain:
            counted, after_writes = [], 0
        elif turn.passed_over or turn.fresh in ("wanted", "shared"):
            continue
        else:
            after_writes += bool(turn.fresh)
            if not turn.fresh or after_writes % BETWEEN_WRITES == 0:
                counted.append(turn)
    if seen is not None and (not counted or counted[-1].outcome is not seen):
        return []
    if seen is None and asks_for_more(history, call):
        return []
    return [Streak(len(counted), last_time(counted), the_reads(call), began=first_of(counted))]


def asks_for_more(history: History, call: Call) -> bool:
    """Tell whether the call's declared range is not wholly covered yet, or its cursor was not asked for before."""
    if call.range is not None:
        return not covered(history.fed(), call)
    if call.cursor is not None:
        return all(turn.call.cursor != call.cursor for turn in history.fed() if same_coverage(turn, call))
    return False


def same_coverage(turn: Turn, call: Call) -> bool:
    return turn.call.tool.name == call.tool.name and turn.outcome.succeeded_known and not turn.outcome.erred


def covered(turns: list[Turn], call: Call) -> bool:
    """Tell whether earlier results cover the whole range that the call asks for."""
    assert call.range is not None
    target, first, end = call.range
    ranges = [turn.call.range for turn in turns if same_coverage(turn, call) and turn.call.range is not None]
    if end is None:
        return call.range in ranges
    for start, stop in sorted((start, stop) for of, start, stop in ranges if of == target and stop is not None):
        if start <= first:
            first = max(first, stop)
    return first >= end


def empty_streak(history: History, call: Call, rungs: Rungs, seen: Outcome | None) -> list[Streak]:
    reads = reads_of_tool(history, call, "results")
    counted: list[Turn] = []
    after_writes = 0
    for turn in reads:
        if turn.outcome.grade != "empty":
            counted, after_writes = [], 0
        elif turn.passed_over or turn.fresh in ("wanted", "shared"):
            continue
        else:
            after_writes += turn.fresh == "changed"
            if turn.fresh != "changed" or after_writes % BETWEEN_WRITES == 0:
                counted.append(turn)
    if seen is not None and (not counted or counted[-1].outcome is not seen):
        return []
    return [Streak(len(counted), last_time(counted), the_reads(call), began=first_of(counted))]


def state_key(call: Call) -> str:
    return call.target if call.target is not None else call.tool.name


def state_oscillation(history: History, call: Call, rungs: Rungs, seen: Outcome | None) -> list[Streak]:
    landings = [
        turn
        for turn in history.fed("results")
        if not turn.outcome.erred and turn.outcome.state is not None and state_key(turn.call) == state_key(call)
    ]
    returns: list[Turn] = []
    states: list[str] = []
    returned: dict[str, bool] = {}
    moves: list[Turn] = []
    for turn in landings:
        state = turn.outcome.state
        assert state is not None
        back = state in states and state != states[-1]
        returned[turn.call.loose] = back
        if back:
            returns.append(turn)
        elif state not in states:
            returns = []
        moves += [turn] if not states or state != states[-1] else []
        states.append(state)
    if seen is None and not returned.get(call.loose, False):
        return []
    if seen is not None and len(states) > 1 and states[-1] == states[-2]:
        return []
    return [Streak(len(returns), last_time(moves), ("task", "state", state_key(call)), began=first_of(returns))]


def transfers(history: History) -> list[Turn]:
    run: list[Turn] = []
    for entry in history.back("results"):
        if isinstance(entry, Dispatched) and not entry.call.tool.transfer:
            break
        if isinstance(entry, Turn) and entry.feeds == "all" and entry.call.tool.transfer:
            run.insert(0, entry)
    return run


def transfer_streak(history: History, call: Call, rungs: Rungs, seen: Outcome | None) -> list[Streak]:
    if not call.tool.transfer:
        return []
    run = transfers(history)
    return [Streak(len(run), last_time(run), ("task", "transfers"), began=first_of(run))]


def transfer_cycle(history: History, call: Call, rungs: Rungs, seen: Outcome | None) -> list[Streak]:
    if not call.tool.transfer:
        return []
    run = transfers(history)
    symbols = [(turn.call.agent, turn.call.loose) for turn in run]
    p = period(symbols, rungs, 0)
    if p is None or (seen is None and (call.agent, call.loose) not in symbols[-p:]):
        return []
    return [Streak(1, last_time(run), ("task", "transfers"))]


def stale_wait(history: History, call: Call, rungs: Rungs, seen: Outcome | None) -> list[Streak]:
    """Count equal answers; 1 or 0 for the time that they have been equal, where that is what the tool limits."""
    answers = polls(history, call)
    if call.tool.waiting is None or not answers:
        return []
    run = [answers[-1]]
    for turn in reversed(answers[:-1]):
        if turn.outcome.symbol != run[0].outcome.symbol:
            break
        run.insert(0, turn)
    unchanged, stale = rungs["max_unchanged"], rungs["max_stale"]
    last = run[-1].outcome.at
    over = (unchanged is not None and len(run) >= unchanged) or (
        stale is not None and last - run[0].outcome.at >= stale
    )
    return [Streak(int(over), last, the_call(call))]


def polls(history: History, call: Call) -> list[Turn]:
    """The known answers to this call in a waiting form, in its session."""
    return [
        entry
        for entry in history
        if isinstance(entry, Turn)
        and entry.feeds == "wait"
        and entry.call.agent == call.agent
        and entry.call.loose == call.loose
        and entry.outcome.symbol is not None
    ]


def unknown_tool(history: History, call: Call, rungs: Rungs, seen: Outcome | None) -> list[Streak]:
    times = []
    counted: list[Entry] = []
    for entry in history.back("errors"):
        if isinstance(entry, Refused | Turn) and (entry.call.agent, entry.call.tool.name) == (
            call.agent,
            call.tool.name,
        ):
            if isinstance(entry, Refused):
                counted.insert(0, entry)
            elif entry.feeds == "format" and entry.outcome.named == "unknown_tool":
                counted.insert(0, entry)
                times.append(entry.outcome.at)
            elif entry.feeds in ("all", "wait") and not entry.outcome.failed:
                break
    began = counted[0] if counted else None
    return [Streak(len(counted), times[0] if times else None, the_tool(call), began=began)]


def invalid_arguments(history: History, call: Call, rungs: Rungs, seen: Outcome | None) -> list[Streak]:
    faults: list[Turn] = []
    for entry in history.back("errors"):
        if isinstance(entry, Turn) and (entry.call.agent, entry.call.loose) == (call.agent, call.loose):
            if malformed(entry):
                faults.insert(0, entry)
            elif entry.feeds in ("all", "wait") and not entry.outcome.failed:
                break
    return [Streak(len(faults), last_time(faults), the_call(call), began=first_of(faults))]


def denied(history: History, call: Call, rungs: Rungs, seen: Outcome | None) -> list[Streak]:
    count = 0
    for entry in reversed(history):
        if isinstance(entry, Approved) and entry.loose == call.loose:
            break
        count += isinstance(entry, Denied) and entry.loose == call.loose
    return [Streak(count, None, ("task", "calls", frozenset([call.loose])))]


def duplicate_effect(history: History, call: Call, rungs: Rungs, seen: Outcome | None) -> list[Streak]:
    if call.tool.effect != "external" or call.tool.idempotent or "idempotency" in call.tool.keys:
        return []
    done = [outcome for outcome in history.outcomes() if outcome.call.exact == call.exact and not outcome.failed]
    return [Streak(len(done), done[-1].at if done else None, ("task", "calls", frozenset([call.loose])))]


def all_effects(turn: Turn) -> bool:
    return turn.feeds == "all"


def malformed(turn: Turn) -> bool:
    return turn.feeds == "format" and turn.outcome.named != "unknown_tool"


def known_reads(turn: Turn) -> bool:
    return (
        all_effects(turn)
        and turn.call.tool.effect == "read"
        and turn.outcome.succeeded_known
        and not turn.outcome.erred
    )


# The order of the reasons in a verdict; the block of the policy; the detector; which turns bring its note.
DETECTORS: list[tuple[str, str, Detector, Callable[[Turn], bool]]] = [
    ("unknown_tool", "unknown_tool", unknown_tool, lambda t: t.feeds == "format" and t.outcome.named == "unknown_tool"),
    (
        "invalid_arguments",
        "invalid_arguments",
        invalid_arguments,
        malformed,
    ),
    ("denied", "denied", denied, lambda t: t.feeds == "all" and t.outcome.klass == "denied"),
    ("duplicate_effect", "repeated_effect", duplicate_effect, lambda t: t.feeds == "all" and not t.outcome.failed),
    ("exact_repeat", "exact_repeat", exact_repeat, all_effects),
    ("consecutive", "consecutive", consecutive, lambda t: t.feeds == "all" and t.outcome.symbol is None),
    ("frequency", "frequency", frequency, all_effects),
    ("cycle", "cycle", cycle, all_effects),
    ("oscillation", "oscillation", oscillation, lambda t: known_reads(t) and t.known_share is not None),
    ("same_error", "same_error", same_error, lambda t: all_effects(t) or malformed(t)),
    ("same_result", "same_result", same_result, known_reads),
    ("no_gain", "no_gain", no_gain, known_reads),
    ("empty_streak", "empty_streak", empty_streak, known_reads),
    (
        "state_oscillation",
        "state_oscillation",
        state_oscillation,
        lambda t: all_effects(t) and t.outcome.state is not None and not t.outcome.erred,
    ),
    ("transfer_streak", "transfer_streak", transfer_streak, all_effects),
    ("transfer_cycle", "transfer_cycle", transfer_cycle, all_effects),
    ("stale_wait", "stale_wait", stale_wait, lambda t: t.feeds == "wait" and t.outcome.symbol is not None),
    ("low_diversity", "diversity", low_diversity, all_effects),
]

# Those whose refusals stand for tools that nobody declared too.
BLIND = ("exact_repeat", "cycle", "unknown_tool", "invalid_arguments", "denied")

# This one does as well, at twice its threshold.
PATIENT = "same_error"
