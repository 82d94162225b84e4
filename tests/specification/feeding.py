"""What an outcome feeds, whether a call is a further attempt, and what a result adds to what the task knows."""

from specification.calls import Call
from specification.detectors import covered, reads_of_tool, same_coverage
from specification.history import (
    Dispatched,
    Ended,
    History,
    Reset,
    Turn,
    ends_repeats,
    is_written_by,
)
from specification.outcomes import Outcome


def is_retry(history: History, call: Call) -> bool:
    """Tell whether the call is a further attempt after a failure that nothing has made worth trying again."""
    for entry in reversed(history):
        if isinstance(entry, Turn) and ends_repeats(entry, call):
            return False
        if isinstance(entry, Ended) and entry.outcome and entry.call.loose == call.loose:
            return entry.outcome.failed and entry.outcome.klass not in ("denied", "format")
    return False


def retries_used(history: History, outcome: Outcome) -> int:
    """Count the further attempts in a row, when the outcome arrived."""
    used = 0
    arrived = next(i for i, entry in enumerate(history) if isinstance(entry, Ended) and entry.outcome is outcome)
    for entry in reversed(history[:arrived]):
        if isinstance(entry, Turn) and ends_repeats(entry, outcome.call):
            break
        if isinstance(entry, Dispatched | Ended) and entry.call.loose == outcome.call.loose:
            if isinstance(entry, Ended) and entry.outcome and not entry.outcome.failed:
                break
            if isinstance(entry, Dispatched) and not entry.call.retry:
                break
            used += isinstance(entry, Dispatched)
            used -= isinstance(entry, Ended) and entry.outcome is None and entry.call.retry
    return used


def what_it_feeds(history: History, outcome: Outcome, before: list[Outcome], transient_after: int | None) -> str:
    tool = outcome.call.tool
    if any(same_outcome(other, outcome) for other in before):
        return "double"
    if outcome.klass == "transient" and (
        transient_after is None or transient_failures(history, outcome.call) < transient_after
    ):
        return "none"
    if outcome.klass == "format":
        return "format"
    if outcome.klass in tool.retry.get("classes", []) and retries_used(history, outcome) < tool.retry.get("max", 0):
        return "none"
    return "all" if tool.waiting is None else "wait"


def transient_failures(history: History, call: Call) -> int:
    """Count the transient failures of the tool in a row, as the agent has seen them."""
    count = 0
    for entry in history.back("errors"):
        if isinstance(entry, Turn) and (entry.call.agent, entry.call.tool.name) == (call.agent, call.tool.name):
            if entry.feeds != "double" and entry.outcome.klass != "transient":
                break
            count += entry.feeds != "double"
    return count


# How often, with nothing new in between, the same may be written, agents may look at what another one has seen, and
# targets be looked at for the first time.
LANDINGS, SHARED_LOOKS, TARGETS, ACTED_UPON = 3, 32, 24, 24


def fresh_look(history: History, outcome: Outcome) -> str:
    """Tell whether a read that comes back looks anew, or is its agent's first look at what another agent has seen.

    It looks anew where, since it last came back to this agent, a write has landed on it, a person has spoken, or what
    the agent had seen was compacted.
    """
    call = outcome.call
    if call.tool.effect != "read":
        return ""
    looks = [turn for turn in history.fed() if turn.call.loose == call.loose and not turn.outcome.erred]
    own = [turn for turn in looks if turn.call.agent == call.agent]
    if not own:
        before = sum(turn.call.loose == call.loose and turn.fresh == "shared" for turn in history.in_vain())
        return "shared" if looks and not call.new and not outcome.failed and before < SHARED_LOOKS else ""
    since = history[history.index(own[-1]) + 1 :]
    if any(isinstance(entry, Reset) and "repeats" in entry.names for entry in since):
        return "wanted"
    writes = [entry for entry in since if isinstance(entry, Turn) and ends_repeats(entry, call) and not entry.fruitless]
    if not writes:
        return ""
    return "changed" if any(is_written_by(write, call) for write in writes) else "may have"


def is_fruitless(history: History, turn: Turn) -> bool:
    """Tell whether a call did or sent once more what was done often enough, while nothing new came of it."""
    if not turn.changes or turn.call.new:
        return False
    before = [other for other in history.in_vain() if other.changes and other.call.loose == turn.call.loose]
    return len(before) >= LANDINGS


def looks_at_new_target(history: History, outcome: Outcome) -> bool:
    """Tell whether a read is its agent's first look at one more target, of those that are not too many."""
    call = outcome.call
    if call.tool.effect != "read" or not outcome.succeeded_known or call.target is None or outcome.grade == "empty":
        return False
    place = (call.agent, call.tool.name, call.target)
    looks = [turn for turn in history.fed() if turn.call.tool.effect == "read" and turn.outcome.symbol is not None]
    if any((turn.call.agent, turn.call.tool.name, turn.call.target) == place for turn in looks):
        return False
    return sum(turn.new_target for turn in history.in_vain()) < TARGETS


def is_idle_again(history: History, turn: Turn, before: list[Outcome]) -> bool:
    """Tell whether a read brings nothing new, as an earlier one of its batch and tool did."""

    def is_idle(one: Turn) -> bool:
        outcome = one.outcome
        return one.call.tool.effect == "read" and outcome.succeeded_known and not outcome.erred and one.gain == 0

    earlier = [one for one in history.fed() if any(one.outcome is other for other in before)]
    return is_idle(turn) and any(one.call.tool.name == turn.call.tool.name and is_idle(one) for one in earlier)


def follows_what_was_acted_upon(history: History, turn: Turn) -> bool:
    """Tell whether a first read brings nothing new after something was written because of what its tool said before.

    That is a write that the task had not made before, of the same agent, of which a tag or the target says that it
    concerns the read. Of `ACTED_UPON` + 1 such reads in a row one is not passed over.
    """
    call = turn.call
    if (
        call.tool.effect != "read"
        or turn.gain
        or not call.new
        or not turn.outcome.succeeded_known
        or turn.outcome.erred
    ):
        return False
    reads = reads_of_tool(history, call, None)
    since = history[history.index(reads[-1]) + 1 :] if reads else []
    writes = [entry for entry in since if isinstance(entry, Turn) and entry.landed and entry.call.new]
    if not any(write.call.agent == call.agent and is_written_by(write, call) for write in writes):
        return False
    in_a_row = 0
    for read in reversed(reads):
        if not read.acted_upon:
            break
        in_a_row += 1
    return in_a_row < ACTED_UPON


def gain(history: History, outcome: Outcome) -> tuple[int, float | None, float | None]:
    """Count what is new to the task in a result; give the share of its items, and of its records, that was known."""
    fed = history.fed()
    call = outcome.call
    if not outcome.succeeded_known or outcome.erred:
        return 0, None, None
    known = set().union(*(turn.outcome.items for turn in fed if not turn.outcome.erred)) & outcome.items
    if call.tool.coverage:
        has_news = bool(outcome.items - known)
        new = is_new_page(fed, outcome, has_news) if call.range is None else is_new_range(fed, call, has_news)
        return int(new), 0.0 if new else 1.0, 0.0 if new else 1.0
    share = len(known) / len(outcome.items) if outcome.items else None
    news = len(outcome.items - known)
    return news, share, float(not news) if outcome.is_one_record else share


def is_new_range(fed: list[Turn], call: Call, has_news: bool) -> bool:
    """Tell whether the range is new to its list; one that another list of the target has must say something new."""
    of_list = [turn for turn in fed if turn.call.tool.coverage and turn.call.list == call.list]
    return not covered(of_list, call) and (not covered(fed, call) or has_news)


def is_new_page(fed: list[Turn], outcome: Outcome, has_news: bool) -> bool:
    """Tell whether the page after this one is new; or, of the last and of one named as in another list, its items."""
    call = outcome.call
    turns = [turn for turn in fed if same_coverage(turn, call)]
    if outcome.next is None:
        return has_news
    named_so = [turn for turn in turns if turn.outcome.next == outcome.next]
    return all(turn.call.list != call.list for turn in named_so) and (not named_so or has_news)


def same_outcome(earlier: Outcome, later: Outcome) -> bool:
    """Tell whether two members of a batch are one observation."""
    if earlier.call.tool.name != later.call.tool.name or earlier.failed != later.failed:
        return False
    if later.klass == "transient":
        return earlier.klass == "transient"
    if later.failed and earlier.klass != "transient":
        return later.symbol is not None and earlier.symbol is not None and earlier.error_key == later.error_key
    if later.failed:
        return False
    return alike(earlier, later) and earlier.call.loose == later.call.loose


def alike(earlier: Outcome, later: Outcome) -> bool:
    """Tell whether a member of a batch brought what an earlier one of the same tool has brought."""
    if earlier.call.tool.name != later.call.tool.name or earlier.failed or later.failed:
        return False
    return earlier.symbol is not None and earlier.symbol == later.symbol
