"""The slow obvious engine: the specification of what Callgate decides, in plain Python.

Written from the policy language ("What feeds what") and `docs/semantics.md`, never from the compiled engine. A task
keeps its whole history in a list, and every count is found by looking back over it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from specification.budgets import Budgets, limit
from specification.calls import Call, Tool, tool_of_call
from specification.detectors import BLIND, DETECTORS, Streak, ambiguous_effect, covered, polls
from specification.history import (
    Approved,
    Counted,
    Denied,
    Dispatched,
    Ended,
    History,
    Refused,
    Reset,
    Turn,
    ends_repeats,
)
from specification.incidents import names, tally
from specification.outcomes import Outcome
from specification.text import ABSENT, seconds

STRENGTH = ["allow", "reuse", "ask", "refuse", "stop"]
BUDGETS = ["steps", "tool_calls", "reserved", "calls_per_tool", "calls_per_group", "retries", "tokens", "cost", "time"]
ORDER = [
    *("stopped", "bad_call_id", "unknown_tool", "invalid_arguments", "denied"),
    *(f"budget_{name}" for name in BUDGETS),
    *("duplicate_effect", "ambiguous_effect", "exact_repeat", "consecutive", "frequency", "cycle", "oscillation"),
    *("same_error", "same_result", "no_gain", "empty_streak", "state_oscillation", "transfer_streak", "transfer_cycle"),
    *("stale_wait", "low_diversity", "duplicate_in_batch", "policy_error"),
]
CODES = {
    **dict.fromkeys(
        ["exact_repeat", "consecutive", "duplicate_in_batch", "duplicate_effect"], "DUPLICATE_TOOL_CALL_BLOCKED"
    ),
    **dict.fromkeys(["no_gain", "stopped"], "STOPPED_NO_PROGRESS"),
}
# Findings that are not answered with an old result, however a read is meant.
NOT_REUSED = ("denied", "unknown_tool", "invalid_arguments")


@dataclass
class Verdict:
    """What is decided of a call: the action, every reason that fired in order, and what the modes made of it."""

    call_id: str
    action: str
    reasons: list[str]
    code: str | None = None
    notes: list[str] = field(default_factory=list)
    would: str | None = None
    reuse_of: str | None = None
    retry_after: float | None = None


@dataclass
class Assessment:
    """What is made of an outcome; `notes` are (call id, reason), those of a batch come with the last of its outcomes.

    `gain` is None until the round of the call has closed; `stop` has the reasons for which this outcome ended the task.
    """

    call_id: str
    grade: str
    outcome: str | None
    notes: list[tuple[str, str]]
    gain: int | None
    gaps: list[tuple[Any, str]]
    stop: list[str]


@dataclass(eq=False)
class Round:
    """One step of the model: the calls that it asked for at once."""

    agent: str
    explicit: bool
    began: float
    has_step: bool = False
    closed: bool = False
    calls: list[Call] = field(default_factory=list)
    refused: list[tuple[Call, set[Any], bool]] = field(default_factory=list)


class Reference:
    """A resolved policy with its manifests."""

    def __init__(self, policy: dict[str, Any], manifests: list[dict[str, Any]]) -> None:
        self.policy = policy
        self.manifests = {name: keys or {} for manifest in manifests for name, keys in manifest["tools"].items()}

    def task(self, name: str = "task", now: float = 0.0) -> "Task":
        """Start a task at a time in seconds."""
        return Task(self.policy, self.manifests, now)


class Task:
    """One job: all its agents, what they asked for, and what came back."""

    def __init__(self, policy: dict[str, Any], manifests: dict[str, dict[str, Any]], now: float) -> None:
        self.policy = policy
        self.manifests = manifests
        self.detectors: dict[str, Any] = policy.get("detectors") or {}
        self.ladder: dict[str, Any] = policy.get("ladder") or {}
        self.mode: str = policy.get("mode", "enforce")
        self.budgets = Budgets(policy)
        self.history = History()
        self.now = self.began = now
        self.session_began: dict[str, float] = {}
        self.rounds: dict[str, Round] = {}
        self.round_of: dict[Call, Round] = {}
        self.asked: dict[str, Call] = {}
        self.stopped = False
        self.exits: list[str] = []
        self.made = 0
        self.late_notes: list[tuple[str, str]] = []

    # What the host calls

    def admit_all(self, calls: list[dict[str, Any]], now: float | None = None, agent: str = "root") -> list[Verdict]:
        """Judge a batch before any of it starts: each a dict of `tool`, `arguments`, and maybe `call_id`, `hints`."""
        self.tick(now)
        self.session_began.setdefault(agent, self.now)
        round_ = self.rounds.get(agent)
        if round_ is None or round_.closed or not round_.explicit:
            if round_ is not None:
                self.late_notes += self.close(round_)
            round_ = self.rounds[agent] = Round(agent, False, self.now)
        batch = [self.call(each, agent) for each in calls]
        ids = [call.id for call in batch]
        bad = {one for one in ids if ids.count(one) > 1 or one in [call.id for call in self.history.out()]}

        step_note = self.take_step(round_, batch)
        saved = (History(self.history), set(self.budgets.noted), self.stopped)
        verdicts = [self.judge(call, round_, call.id in bad) for call in batch]
        if self.budgets.all_or_nothing:
            short = {reason for verdict in verdicts for reason in verdict.reasons if reason.startswith("budget_")}
            if short and self.mode == "enforce":
                self.history, self.budgets.noted, self.stopped = saved
                for call, verdict in zip(batch, verdicts, strict=True):
                    self.refuse_for(verdict, short, call)
        if step_note and verdicts:
            verdicts[0].notes.insert(0, step_note)
        for call, verdict in zip(batch, verdicts, strict=True):
            self.round_of[call] = round_
            if verdict.action == "ask":
                self.asked[call.id] = call
        self.close_if_done(round_)
        return verdicts

    def observe(
        self,
        call_id: str,
        now: float | None = None,
        result: Any = ABSENT,
        error: dict[str, Any] | None = None,
        is_error: bool = False,
        result_digest: str | None = None,
    ) -> Assessment:
        """Take the outcome of an admitted call."""
        self.tick(now)
        call = self.end(call_id)
        outcome = Outcome(call, self.now, result, error, is_error, result_digest)
        self.history.append(Ended(call, outcome))
        if outcome.klass == "denied":
            self.history.append(Denied(call.loose))
        self.exits = []
        notes = self.ended(call)
        turns = [entry for entry in self.history if isinstance(entry, Turn) and entry.outcome is outcome]
        gain = turns[0].gain if turns else None
        return Assessment(call_id, outcome.grade, outcome.klass, notes, gain, outcome.gaps, self.exits)

    def abandon(self, call_id: str, now: float | None = None) -> list[tuple[str, str]]:
        """Say that an admitted call will not come back, and did not run; gives the notes of its round if it closes."""
        self.tick(now)
        call = self.end(call_id)
        self.history.append(Ended(call, None))
        return self.ended(call)

    def approve(self, call_id: str, now: float | None = None) -> Verdict:
        """A person lets a call run that was asked about: it is judged once more without the reasons that asked."""
        self.tick(now)
        call = self.asked.pop(call_id)
        call.approved = True
        self.history.append(Approved(call.loose))
        round_ = self.round_of[call]
        if round_.closed:
            round_ = self.round_of[call] = Round(call.agent, False, self.now, has_step=True)
        verdict = self.judge(call, round_, False)
        self.close_if_done(round_)
        return verdict

    def deny(self, call_id: str, now: float | None = None) -> list[tuple[str, str]]:
        """A person denies a call that was asked about; gives the notes."""
        self.tick(now)
        call = self.asked.pop(call_id)
        self.history.append(Denied(call.loose))
        rungs = self.rungs("denied", call.tool)
        streak = next(detector for reason, _, detector, _ in DETECTORS if reason == "denied")(
            self.history, call, rungs or {}, None
        )[0]
        return [(call.id, "denied")] if rungs and reached(streak.count, rungs.get("note_after")) else []

    def usage(self, tokens: float = 0, cost: float = 0) -> None:
        """Add what the model has used."""
        self.budgets.reported["tokens"] += tokens
        self.budgets.reported["cost"] += cost

    def event(self, event: str, by: str | None = None, tokens: float = 0, cost: float = 0) -> None:
        """Take an event of the run: `user_turn` counts only `by` a human."""
        if event == "model_usage":
            self.usage(tokens, cost)
        elif event == "compaction" or (event == "user_turn" and by == "human"):
            self.history.append(Reset((self.policy.get("resets") or {}).get(event) or []))

    @contextmanager
    def round(self, agent: str = "root", now: float | None = None) -> Iterator[None]:
        """Make all calls inside one round."""
        self.tick(now)
        if agent in self.rounds:
            self.late_notes += self.close(self.rounds[agent])
        round_ = self.rounds[agent] = Round(agent, True, self.now)
        try:
            yield
        finally:
            self.late_notes += self.close(round_)

    # Before a call

    def tick(self, now: float | None) -> None:
        if now is not None:
            self.now = max(self.now, now)

    def call(self, each: dict[str, Any], agent: str) -> Call:
        call_id = each.get("call_id")
        if call_id is None:
            self.made += 1
            call_id = f"call-{self.made}"
        tool = tool_of_call(each["tool"], each["arguments"], self.manifests)
        return Call(call_id, agent, tool, each["arguments"], each.get("hints") or {}, self.now)

    def over_time(self, round_: Round) -> bool:
        began = {"task": self.session_began[round_.agent], "workflow": self.began, "step": round_.began}
        return any(self.now - began[name] >= most for name, most in self.budgets.times.items() if name in began)

    def take_step(self, round_: Round, batch: list[Call]) -> str | None:
        """Take the round's step, unless the round is refused as a whole; gives a note at a share of the limit."""
        stopped = self.stopped and not any(self.budgets.reserved_for(call.tool.name) for call in batch)
        if round_.has_step or (
            self.mode == "enforce" and (stopped or self.budgets.steps_spent() or self.over_time(round_))
        ):
            return None
        round_.has_step = True
        self.budgets.steps += 1
        return self.budgets.crossed("budget_steps", "", self.budgets.steps, self.budgets.one["steps"])

    def judge(self, call: Call, round_: Round, bad_id: bool) -> Verdict:
        """Judge one call after all before it, and dispatch it if it is allowed."""
        history = self.history
        before = [other for other in round_.calls if other is not call]
        if call not in round_.calls:
            round_.calls.append(call)
        call.retry, call.retries_used = self.retry(call)

        after_stop = self.stopped and not self.budgets.reserved_for(call.tool.name)
        if not after_stop and not bad_id and not call.approved:
            first = next((other for other in before if other.exact == call.exact), None)
            if first is not None:
                return self.settle(call, round_, {"duplicate_in_batch": "reuse"}, [], after_stop, reuse_of=first.id)

        actions: dict[str, str] = {}
        if after_stop:
            actions["stopped"] = "refuse"
        if bad_id:
            actions["bad_call_id"] = "refuse"
        for reason in self.budgets.reasons(history, call):
            actions[reason] = "refuse"
        if not round_.has_step and self.budgets.steps_spent():
            actions["budget_steps"] = "refuse"
        if self.over_time(round_):
            actions["budget_time"] = "refuse"
        if ambiguous_effect(history, call) and not call.approved:
            actions["ambiguous_effect"] = "ask"
        findings, retry_after = self.findings(call)
        for reason, streak in findings:
            counted = tally(history, streak.names)[0] if streak.names else 0
            rung = (
                "deterministic_stop_after" if reason in ("unknown_tool", "invalid_arguments") else "stop_after_refusals"
            )
            stops = streak.names is not None and reached(counted, self.ladder.get(rung)) and not after_stop
            if actions.get(reason) != "stop":
                actions[reason] = "stop" if stops else "refuse"
        source = self.reusable(call, actions, findings)
        if source is not None:
            actions = dict.fromkeys(actions, "reuse")
        return self.settle(
            call,
            round_,
            actions,
            findings,
            after_stop,
            reuse_of=source.call.id if source else None,
            retry_after=retry_after,
        )

    def retry(self, call: Call) -> tuple[bool, int]:
        """Tell whether the call is a further attempt after a failure, and the how-manieth in a row."""
        turned = [entry.outcome for entry in self.history if isinstance(entry, Turn)]
        since: list[Turn] = []
        for entry in reversed(self.history):
            waits_for_its_turn = isinstance(entry, Ended) and entry.outcome not in turned
            outcome = (
                entry.outcome if isinstance(entry, Turn) or (isinstance(entry, Ended) and waits_for_its_turn) else None
            )
            if outcome is None:
                continue
            if (outcome.call.agent, outcome.call.loose) == (call.agent, call.loose):
                if not outcome.failed or outcome.klass in ("denied", "format"):
                    return False, 0
                if any(ends_repeats(turn, call) for turn in since):
                    return False, 0
                return True, outcome.call.retries_used + 1
            if isinstance(entry, Turn):
                since.append(entry)
        return False, 0

    def rungs(self, detector: str, tool: Tool) -> dict[str, Any] | None:
        """Give the detector's thresholds for a tool: those of the tool over those of its groups over the policy's."""
        if detector == "stale_wait":
            waiting = tool.waiting or {}
            stale = waiting.get("max_stale")
            return {
                "note_after": 1,
                "refuse_after": 1,
                "max_unchanged": limit(waiting.get("max_unchanged")),
                "max_stale": None if stale is None else seconds(stale),
            }
        rungs = self.detectors.get(detector)
        for name in (*tool.groups, tool.name):
            more = (self.detectors.get("for") or {}).get(name, {}).get(detector)
            if more is not None:
                rungs = (rungs or {}) | more
        if rungs is None:
            return None
        rungs = {**rungs, "window": self.detectors.get("window", 50)}
        if detector in ("cycle", "transfer_cycle", "diversity"):
            rungs |= {"note_after": 1, "refuse_after": 1}
        if detector == "transfer_cycle":
            rungs["max_period"] = (self.detectors.get("cycle") or {}).get("max_period", 8)
        return rungs

    def findings(self, call: Call) -> tuple[list[tuple[str, Streak]], float | None]:
        """Give the findings that refuse the call, and the seconds until a poll that came too early may come again."""
        found = []
        retry_after = None
        call.let_through = set()
        for reason, name, detector, _ in DETECTORS:
            rungs = self.rungs(name, call.tool)
            if rungs is None or (not call.tool.declared and reason not in BLIND):
                continue
            for streak in detector(self.history, call, rungs, None):
                if reached(streak.count, streak.refuse_after or rungs.get("refuse_after")):
                    if self.cooled_down(call, reason, streak, rungs):
                        call.let_through.add((reason, streak.key))
                    else:
                        found.append((reason, streak))
        if not call.tool.declared and self.policy.get("undeclared_tools") == "refuse":
            if not any(reason == "unknown_tool" for reason, _ in found):
                found.append(("unknown_tool", Streak(0, None, ("session", call.agent, "tool", call.tool.name))))
            self.history.append(Refused(call))
        interval = (call.tool.waiting or {}).get("min_interval")
        answers = polls(self.history, call)
        if interval is not None and answers:
            wait = answers[-1].outcome.at + seconds(interval) - self.now
            if wait > 0:
                retry_after = wait
                found.append(("stale_wait", Streak(0, None, None)))
        return found, retry_after

    def cooled_down(self, call: Call, reason: str, streak: Streak, rungs: dict[str, Any]) -> bool:
        """Tell whether the finding lets this one call through because nothing was seen of it for long enough."""
        if rungs.get("cool_down") is None or streak.last is None:
            return False
        if self.now < streak.last + seconds(rungs["cool_down"]):
            return False
        return not any(
            (reason, streak.key) in other.let_through and names(streak.names, other) for other in self.history.out()
        )

    def reusable(self, call: Call, actions: dict[str, str], findings: list[tuple[str, Streak]]) -> Outcome | None:
        """Give the result that answers a read in place of a refusal, if there is one."""
        refusing = [reason for reason, _ in findings]
        if call.tool.effect != "read" or not findings or set(actions) != set(refusing):
            return None
        if "stop" in actions.values() or any(reason in NOT_REUSED for reason in refusing):
            return None
        most = self.ladder.get("reuse_reads") or 0
        if any(tally(self.history, streak.names)[1] >= most for _, streak in findings if streak.names):
            return None
        if any(other.tool.effect != "read" for other in self.history.out()):
            return None
        same = [outcome for outcome in self.history.outcomes() if outcome.call.exact == call.exact]
        if not same or not same[-1].succeeded_known or self.now - same[-1].at >= call.tool.fresh_for:
            return None
        source = same[-1].call
        places = [i for i, entry in enumerate(self.history) if isinstance(entry, Dispatched) and entry.call is source]
        unchanged = self.history.read_version() == History(self.history[: places[0] + 1]).read_version()
        return same[-1] if unchanged else None

    def settle(
        self,
        call: Call,
        round_: Round,
        actions: dict[str, str],
        findings: list[tuple[str, Streak]],
        after_stop: bool,
        reuse_of: str | None = None,
        retry_after: float | None = None,
    ) -> Verdict:
        """Let the strongest action win, the mode soften it, and write down what follows."""
        reasons = sorted(actions, key=ORDER.index)
        strongest = max(actions.values(), key=STRENGTH.index, default="allow")
        verdict = Verdict(call.id, strongest, reasons, reuse_of=reuse_of, retry_after=retry_after)
        verdict.code = next((code(reason) for reason in reasons if actions[reason] == strongest), None)
        if findings and not after_stop and strongest in ("reuse", "refuse", "stop"):
            incidents = {streak.names for _, streak in findings if streak.names}
            round_.refused.append((call, incidents, strongest == "reuse"))
        if self.mode != "enforce" and strongest != "allow" and "bad_call_id" not in reasons:
            verdict.would = strongest
            verdict.action = "allow"
            verdict.reuse_of = None
            if self.mode == "warn":
                verdict.notes += reasons
        if verdict.action == "stop":
            self.stopped = True
        if call.tool.form_failed:
            verdict.notes.append("policy_error")
        if verdict.action == "allow":
            call.new = not any(
                isinstance(entry, Dispatched) and entry.call.loose == call.loose for entry in self.history
            )
            self.history.append(Dispatched(call))
            verdict.notes += self.budgets.notes(self.history, call)
        return verdict

    def refuse_for(self, verdict: Verdict, short: set[str], call: Call) -> None:
        """Refuse a call of a batch that is admitted as a whole or not at all."""
        if verdict.action == "stop":
            self.stopped = True
            return
        verdict.reasons = sorted({*verdict.reasons, *short} - {"duplicate_in_batch"}, key=ORDER.index)
        verdict.action = "refuse"
        verdict.code = code(verdict.reasons[0])
        verdict.notes = []
        verdict.reuse_of = None

    # After a call

    def end(self, call_id: str) -> Call:
        return next(call for call in self.history.out() if call.id == call_id)

    def ended(self, call: Call) -> list[tuple[str, str]]:
        """Close the call's round if it was the last; a late outcome is a round of its own."""
        round_ = self.round_of[call]
        if round_.closed:
            alone = Round(call.agent, False, self.now, calls=[call])
            return self.close(alone)
        return self.close_if_done(round_)

    def close_if_done(self, round_: Round) -> list[tuple[str, str]]:
        if round_.explicit or round_.closed or any(call in round_.calls for call in self.history.out()):
            return []
        return self.close(round_)

    def close(self, round_: Round) -> list[tuple[str, str]]:
        """Feed the detectors with the round's outcomes in request order, then count its refusals."""
        if round_.closed:
            return []
        round_.closed = True
        notes = []
        ended = {id(entry.call): entry.outcome for entry in self.history if isinstance(entry, Ended)}
        outcomes = [ended[id(call)] for call in round_.calls if id(call) in ended]
        arrived = [outcome for outcome in outcomes if outcome is not None]
        for place, outcome in enumerate(arrived):
            notes += self.feed(outcome, arrived[:place])
        gains = {id(entry.call): entry.gain for entry in self.history if isinstance(entry, Turn)}
        for call, incidents, reuse in round_.refused:
            if not any(gains.get(id(other), 0) for other in round_.calls if other is not call):
                self.history += [Counted(incident, reuse) for incident in incidents]
        return notes

    def feed(self, outcome: Outcome, before: list[Outcome]) -> list[tuple[str, str]]:
        """Let an outcome feed what it feeds; gives the notes."""
        history, call = self.history, outcome.call
        turn = Turn(call, outcome, self.what_it_feeds(outcome, before))
        if turn.feeds == "all":
            turn.gain, turn.known_share = self.gain(outcome)
            success = not outcome.failed
            effect, touches = call.tool.effect, call.tool.touches
            turn.landed = success and (effect == "write" or (effect in ("external", "ui") and bool(touches)))
            turn.possible = success and effect in ("unknown", "ui") and call.new and not turn.landed
        if turn.feeds == "wait":
            answers = polls(history, call)
            known = outcome.symbol is not None
            turn.progress = known and bool(answers) and not history.equal(answers[-1].outcome, outcome)
        history.append(turn)

        notes = []
        for reason, name, detector, brings_note in DETECTORS:
            rungs = self.rungs(name, call.tool)
            if rungs is None or not brings_note(turn):
                continue
            count = max((streak.count for streak in detector(history, call, rungs, outcome)), default=0)
            exits = reason != "no_gain" and reached(count, rungs.get("exit_after"))
            if exits and self.mode == "enforce" and (call.tool.declared or reason in BLIND):
                self.exit(reason)
            if reached(count, rungs.get("note_after")) or (exits and self.mode != "audit" and reason not in self.exits):
                notes.append((call.id, reason))
        if turn.feeds == "all" and self.exit_reached(turn) and (call.id, "no_gain") not in notes:
            notes.append((call.id, "no_gain"))
        return notes

    def what_it_feeds(self, outcome: Outcome, before: list[Outcome]) -> str:
        tool = outcome.call.tool
        if any(same_outcome(other, outcome) for other in before) or outcome.klass == "transient":
            return "none"
        if outcome.klass == "format":
            return "format"
        if outcome.klass in tool.retry.get("classes", []) and outcome.call.retries_used < tool.retry.get("max", 0):
            return "none"
        return "all" if tool.waiting is None else "wait"

    def gain(self, outcome: Outcome) -> tuple[int, float | None]:
        """Count what is new to the task in a result, and the share of it that was known already."""
        fed = self.history.fed()
        call = outcome.call
        if not outcome.succeeded_known:
            return 0, None
        if call.tool.coverage:
            if call.range is not None:
                new = not covered(fed, call)
            else:
                pages = [turn.outcome.next for turn in fed if turn.call.tool.name == call.tool.name]
                new = outcome.next is not None and outcome.next not in pages
            return int(new), 0.0 if new else 1.0
        known = set().union(*(turn.outcome.items for turn in fed)) & outcome.items
        share = len(known) / len(outcome.items) if outcome.items else None
        return len(outcome.items - known), share

    def exit(self, reason: str) -> None:
        """Stop the task at an observation."""
        if not self.stopped:
            self.stopped = True
            self.exits.append(reason)

    def exit_reached(self, turn: Turn) -> bool:
        """Stop the task where nothing was gained for long enough; gives whether that is a note."""
        exit_after = (self.detectors.get("no_gain") or {}).get("exit_after")
        if exit_after is None or (turn.outcome.symbol is None and not turn.outcome.failed):
            return False
        idle: list[Turn] = []
        for entry in self.history.back("gain"):
            if not isinstance(entry, Turn):
                continue
            if entry.progress:
                break
            if entry.feeds == "all":
                sent = entry.call.tool.effect == "external" and not entry.outcome.failed
                if entry.gain or entry.landed or entry.possible or sent:
                    break
                if entry.outcome.symbol is not None or entry.outcome.failed:
                    idle.append(entry)
        stops = sum(entry.call.tool.declared for entry in idle) >= exit_after
        if stops and self.mode == "enforce":
            self.exit("no_gain")
            return False
        return len(idle) >= exit_after and not (stops and self.mode == "audit")


def reached(count: int, rung: Any) -> bool:
    return rung is not None and count >= rung


def code(reason: str) -> str:
    return CODES.get(reason, reason.upper())


def same_outcome(earlier: Outcome, later: Outcome) -> bool:
    """Tell whether two members of a batch are one observation."""
    if earlier.call.tool.name != later.call.tool.name or earlier.failed != later.failed:
        return False
    if later.failed:
        return (earlier.type, earlier.status, earlier.text) == (later.type, later.status, later.text)
    return earlier.symbol is not None and earlier.symbol == later.symbol and earlier.call.loose == later.call.loose
