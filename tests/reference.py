"""The slow obvious engine: the specification of what Callgate decides, in plain Python.

Written from the policy language ("What feeds what") and `docs/semantics.md`, never from the compiled engine. A task
keeps its whole history in a list, and every count is found by looking back over it.
"""

from typing import Any

from specification.budgets import Budgets, limit
from specification.calls import Call, Tool, tool_of_call, with_base
from specification.detectors import BLIND, DETECTORS, PATIENT, Streak, polls
from specification.effects import Ledger, has_effects
from specification.feeding import (
    alike,
    follows_what_was_acted_upon,
    fresh_look,
    gain,
    is_fruitless,
    is_idle_again,
    is_retry,
    looks_at_new_target,
    what_it_feeds,
)
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
)
from specification.incidents import names, rules_that_denied, tally, tally_of_rule
from specification.needs import Needs
from specification.outcomes import Outcome
from specification.rules import Ruled, takes, what_rules_say
from specification.text import ABSENT, seconds
from specification.verdicts import NOT_REUSED, STRENGTH, Assessment, Round, Verdict, code, place_of


class Reference:
    """A resolved policy with its manifests."""

    def __init__(self, policy: dict[str, Any], manifests: list[dict[str, Any]]) -> None:
        self.policy = policy
        written = {name: keys or {} for manifest in manifests for name, keys in manifest["tools"].items()}
        self.manifests = {name: with_base(keys, written) for name, keys in written.items()}

    def task(self, agent: str = "root", now: float = 0.0) -> "Task":
        """Let an agent begin a task at a time in seconds."""
        return Task(self.policy, self.manifests, agent, now)


class Task:
    """One job: all its agents, what they asked for, and what came back."""

    def __init__(self, policy: dict[str, Any], manifests: dict[str, dict[str, Any]], agent: str, now: float) -> None:
        self.policy = policy
        self.manifests = manifests
        self.detectors: dict[str, Any] = policy.get("detectors") or {}
        self.ladder: dict[str, Any] = policy.get("ladder") or {}
        self.mode: str = policy.get("mode", "enforce")
        self.budgets = Budgets(policy)
        self.needs = Needs(policy)
        self.asked_for = 0
        self.history = History()
        self.ledger = Ledger()
        self.now = self.began = now
        self.session_began = {agent: now}
        self.rounds: dict[str, Round] = {}
        self.round_of: dict[Call, Round] = {}
        self.asked: dict[str, Call] = {}
        self.stopped = False
        self.exits: list[str] = []
        self.made = 0
        self.remarks: list[tuple[str, str]] = []

    # What the host calls

    def admit_all(self, calls: list[dict[str, Any]], now: float | None = None, agent: str = "root") -> list[Verdict]:
        """Judge a batch before any of it starts: each a dict of `tool`, `arguments`, and maybe `call_id`, `hints`."""
        self.tick(now)
        self.session_began.setdefault(agent, self.now)
        round_ = self.rounds.get(agent)
        if round_ is None or round_.closed or not round_.explicit:
            if round_ is not None:
                self.close(round_)
            round_ = self.rounds[agent] = Round(agent, False, self.now)
        batch = [self.call(each, agent) for each in calls]
        ids = [call.id for call in batch]
        out = [call.id for call in self.history.out()]
        bad = [call for place, call in enumerate(batch) if call.id in out + ids[:place]]

        noted = self.budgets.shares_of_amounts(self.now, self.began_at(round_))
        took_step = next((place for place, call in enumerate(batch) if not self.after_stop(call)), 0)
        step_noted = self.take_step(round_, batch)
        saved = (History(self.history), set(self.budgets.noted), self.stopped)
        before = (list(round_.calls), list(round_.refused))
        for place, call in enumerate(batch):
            if call not in bad and not self.coalesces(
                call, round_, [each for each in batch[:place] if each not in bad]
            ):
                self.claim(call, again=False)
        self.revise(batch, bad, round_)
        verdicts = [self.judge(call, round_, call in bad) for call in batch]
        if self.budgets.all_or_nothing:
            idle = ("bad_call_id", "stopped")
            sound = [verdict.reasons for verdict in verdicts if not any(reason in idle for reason in verdict.reasons)]
            short = next((reason for reasons in sound for reason in reasons if reason.startswith("budget_")), None)
            if short and self.mode == "enforce":
                verdicts = self.refuse_all(batch, bad, round_, short, saved, before)
        if verdicts:
            verdicts[0].notes += self.heard([(batch[0].id, reason) for reason in noted])
            verdicts[took_step].notes += self.heard([(batch[took_step].id, reason) for reason in step_noted])
        self.give_back(batch)
        for call, verdict in zip(batch, verdicts, strict=True):
            self.round_of[call] = round_
            if verdict.action == "ask":
                self.asked[call.id] = call
        if verdicts:
            verdicts[0].notes += self.drain()
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
        became = "unknown" if outcome.klass == "ambiguous" else "free" if outcome.failed else "completed"
        self.ledger.end(call, became, self.now, result)
        if outcome.klass == "denied":
            self.history.append(Denied(call.loose))
        self.exits = []
        self.ended(call)
        turns = [entry for entry in self.history if isinstance(entry, Turn) and entry.outcome is outcome]
        gain = turns[0].gain if turns else None
        cells = turns[0].cells if turns else 0
        exits = self.needs.exit(self.history) if self.exits else None
        return Assessment(
            call_id, outcome.grade, outcome.klass, self.drain(), gain, outcome.gaps, self.exits, cells, exits
        )

    def abandon(self, call_id: str, now: float | None = None) -> None:
        """Say that an admitted call will not come back, and did not run."""
        self.tick(now)
        call = self.end(call_id)
        self.history.append(Ended(call, None))
        self.ledger.end(call, "free", self.now)
        self.ended(call)

    def approve(self, call_id: str, now: float | None = None) -> Verdict:
        """A person lets a call run that was asked about: it is judged once more without the reasons that asked then."""
        self.tick(now)
        call = self.asked.pop(call_id)
        call.approved = True
        self.history.append(Approved(call.loose, call.asking))
        round_ = self.rounds[call.agent]
        if round_.closed:
            round_ = self.rounds[call.agent] = Round(call.agent, False, self.now, has_step=True)
        self.round_of[call] = round_
        noted = self.budgets.shares_of_amounts(self.now, self.began_at(round_))
        call.answer = None
        if not any(other.exact == call.exact for other in self.ran(round_)):
            self.claim(call, again="ambiguous_effect" in call.told)
        verdict = self.judge(call, round_, False)
        self.give_back([call])
        if verdict.action == "ask":
            self.asked[call.id] = call
        verdict.notes += self.heard([(call.id, reason) for reason in noted])
        self.close_if_done(round_)
        return verdict

    def deny(self, call_id: str, now: float | None = None) -> list[tuple[str, str]]:
        """A person denies a call that was asked about; gives the notes."""
        self.tick(now)
        call = self.asked.pop(call_id)
        self.history.append(Denied(call.loose, call.asking))
        rungs = self.rungs("denied", call.tool)
        streak = next(detector for reason, _, detector, _ in DETECTORS if reason == "denied")(
            self.history, call, rungs or {}, None
        )[0]
        noted = rungs is not None and reached(streak.count, rungs.get("note_after"))
        return self.heard([(call.id, "denied")] if noted else [])

    def usage(self, tokens: float = 0, cost: float = 0, agent: str = "root") -> None:
        """Add what the model has used."""
        self.session_began.setdefault(agent, self.now)
        self.budgets.reported["tokens"] += tokens
        self.budgets.reported["cost"] += cost

    def event(self, event: str, by: str | None = None, tokens: float = 0, cost: float = 0, agent: str = "root") -> None:
        """Take an event of the run: `user_turn` counts only `by` a human."""
        self.session_began.setdefault(agent, self.now)
        if event == "model_usage":
            self.usage(tokens, cost, agent)
        elif event == "compaction" or (event == "user_turn" and by == "human"):
            speaker = agent
            for agent in self.session_began:
                if agent in self.rounds:
                    self.close(self.rounds[agent])
            resets = (self.policy.get("resets") or {}).get(event) or []
            # compacted again with nothing done in between: nothing is reset
            again = event == "compaction" and not self.moved_on(speaker)
            self.history.append(Reset([] if again else resets, speaker if event == "compaction" else None))

    def moved_on(self, agent: str) -> bool:
        """Tell whether anything was done since the agent's conversation was compacted last, if it was."""
        for entry in reversed(self.history):
            if isinstance(entry, Reset) and entry.compacted == agent:
                return False
            if isinstance(entry, Reset) and entry.compacted is None:
                return True
            if isinstance(entry, Turn) and (entry.moves_on or entry.progress):
                return True
        return True

    def begin_round(self, agent: str = "root", now: float | None = None) -> None:
        """Make all calls from here one round."""
        self.tick(now)
        self.session_began.setdefault(agent, self.now)
        if agent in self.rounds:
            self.close(self.rounds[agent])
        self.rounds[agent] = Round(agent, True, self.now)

    def end_round(self, agent: str = "root") -> list[tuple[str, str]]:
        """End it; gives the notes that no answer has carried yet."""
        self.close(self.rounds[agent])
        return self.drain()

    def drain(self) -> list[tuple[str, str]]:
        remarks, self.remarks = self.remarks, []
        return remarks

    def heard(self, notes: list[tuple[str, str]]) -> list[tuple[str, str]]:
        """Give the notes, or none in a mode that says nothing."""
        return [] if self.mode == "audit" else notes

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
        self.asked_for += 1
        return Call(call_id, agent, tool, each["arguments"], each.get("hints") or {}, self.now, number=self.asked_for)

    def after_stop(self, call: Call) -> bool:
        """Tell whether the task was stopped, and the call is not one of those that may still finish it."""
        return self.stopped and not self.budgets.reserved_for(call.tool.name)

    def over_time(self, round_: Round) -> bool:
        began = self.began_at(round_)
        return any(self.now - began[name] >= most for name, most in self.budgets.times.items() if name in began)

    def began_at(self, round_: Round) -> dict[str, float]:
        return {"task": self.session_began[round_.agent], "workflow": self.began, "step": round_.began}

    def take_step(self, round_: Round, batch: list[Call]) -> list[str]:
        """Take the round's step, unless the round is refused as a whole; gives a note at a share of the limit."""
        if round_.has_step:
            return []
        stopped = all(self.after_stop(call) for call in batch)
        round_.over_steps = self.budgets.steps_spent()
        if self.mode == "enforce" and (stopped or round_.over_steps or self.over_time(round_)):
            return []
        round_.has_step = True
        self.budgets.steps += 1
        note = self.budgets.crossed("budget_steps", "", self.budgets.steps, self.budgets.one["steps"])
        return [note] if note else []

    def ran(self, round_: Round) -> list[Call]:
        """Give the calls of a round that were dispatched and not given up."""
        ran = [entry.call for entry in self.history if isinstance(entry, Dispatched)]
        left = [entry.call for entry in self.history if isinstance(entry, Ended) and entry.outcome is None]
        return [call for call in round_.calls if call in ran and call not in left]

    def coalesces(self, call: Call, round_: Round, before: list[Call]) -> bool:
        """Tell whether an earlier call of the round answers for this one, so that it has nothing to claim."""
        left = [entry.call for entry in self.history if isinstance(entry, Ended) and entry.outcome is None]
        earlier = [other for other in round_.calls if not other.double and other not in left]
        equal = any(other.exact == call.exact for other in [*earlier, *before])
        return equal and self.mode == "enforce" and not self.after_stop(call)

    def claim(self, call: Call, again: bool) -> None:
        """Ask the ledger, and begin the call's effect there if it is new."""
        rungs = self.rungs("repeated_effect", call.tool) or {}
        if has_effects(call):
            self.ledger.claim(call, again, reached(1, rungs.get("refuse_after")), self.mode == "enforce")

    def revise(self, batch: list[Call], bad: list[Call], round_: Round) -> None:
        """Have calls that will not run give back what they hold, and their siblings that got too little ask anew."""
        while self.mode == "enforce":
            lacking = [place for place, call in enumerate(batch) if call.answer not in (None, "new")]
            idle = self.idle(batch, bad, round_) if lacking else []
            if not idle or lacking[-1] < idle[0]:
                return
            for place in range(idle[0], len(batch)):
                if place in idle:
                    self.ledger.end(batch[place], "free", self.now)
                elif place in lacking:
                    self.claim(batch[place], again=False)

    def idle(self, batch: list[Call], bad: list[Call], round_: Round) -> list[int]:
        """Give the places of calls that hold something and would not run: each judged as if it were asked for now."""
        history, noted, stopped = self.history, set(self.budgets.noted), self.stopped
        before = (list(round_.calls), list(round_.refused))
        tried, idle = History(history), []
        for place, call in enumerate(batch):
            if call in bad or any(other.exact == call.exact for other in batch[:place] if other not in bad):
                continue
            self.history = History(tried)
            runs = self.judge(call, round_, False).action == "allow"
            if runs:
                tried.append(Dispatched(call))
            elif self.ledger.is_held_by(call):
                idle.append(place)
            self.stopped, call.told, call.let_through = stopped, set(), set()
            round_.calls, round_.refused = list(before[0]), list(before[1])
        self.history, self.budgets.noted = history, noted
        return idle

    def give_back(self, calls: list[Call]) -> None:
        """Free the effects of calls that do not run."""
        ran = [entry.call for entry in self.history if isinstance(entry, Dispatched)]
        for call in calls:
            if call not in ran:
                self.ledger.end(call, "free", self.now)

    def effects(self, call: Call) -> list[tuple[str, Streak]]:
        """Give what the ledger has against a call."""
        the_call = ("task", "calls", frozenset([call.loose]))
        if call.answer == "in_flight":
            return [("effect_in_flight", Streak(1, None, None))]
        if call.answer == "conflict":
            return [("idempotency_conflict", Streak(1, None, the_call))]
        # where nothing is enforced a call without the key that it should have runs under one of its own
        done = call.answer == "completed" and (call.keyless or self.ledger.earlier(call) is not None)
        return [("duplicate_effect", Streak(1, None, the_call))] if done else []

    def judge(self, call: Call, round_: Round, bad_id: bool) -> Verdict:
        """Judge one call after all before it, and dispatch it if it is allowed."""
        history = self.history
        round_.calls = [*(other for other in round_.calls if other is not call), call]
        before = [other for other in round_.calls[:-1] if not other.double]
        call.retry = is_retry(history, call)

        after_stop = self.after_stop(call)
        call.double = bad_id
        if not after_stop and not bad_id:
            ran = [entry.call for entry in history if isinstance(entry, Dispatched)]
            left = [entry.call for entry in history if isinstance(entry, Ended) and entry.outcome is None]
            equal = [other for other in before if other.exact == call.exact and other not in left]
            first = next((other for other in equal if other in ran), None)
            if first is None and equal and not call.approved:
                first = equal[0]
            call.double = first is not None
            if first is not None:
                if self.mode != "enforce":  # it runs all the same, and may be the one that a cool-down lets through
                    self.findings(call)
                return self.settle(
                    call, round_, {"duplicate_in_batch": "reuse"}, [], after_stop, Ruled(), reuse_of=first.id
                )

        actions: dict[str, str] = {}
        if after_stop:
            actions["stopped"] = "refuse"
        if bad_id:
            actions["bad_call_id"] = "refuse"
        for reason in self.budgets.reasons(history, call):
            actions[reason] = "refuse"
        if round_.over_steps and not call.approved:
            actions["budget_steps"] = "refuse"
        if self.over_time(round_):
            actions["budget_time"] = "refuse"
        if call.answer == "unknown":
            actions["ambiguous_effect"] = "ask"
        if call.keyless and takes(call):
            actions["policy_error"] = "refuse"
        findings, retry_after = self.findings(call)
        findings += self.effects(call)
        for reason, streak in findings:
            counted = tally(history, streak.names)[0] if streak.names else 0
            rung = (
                "deterministic_stop_after" if reason in ("unknown_tool", "invalid_arguments") else "stop_after_refusals"
            )
            climbs = streak.names is not None and not after_stop
            stops = climbs and reached(counted, self.ladder.get(rung))
            if actions.get(reason) != "stop":
                actions[reason] = "stop" if stops else "refuse"
        ruled = what_rules_say(self.policy, history, call)
        actions |= ruled.actions
        for reason, action in ruled.actions.items():
            open_ = tally_of_rule(history, reason) if action == "ask" and not after_stop else None
            if open_ is not None and reached(open_, self.ladder.get("stop_after_refusals")):
                actions[reason] = "stop"
        actions = {reason: action for reason, action in actions.items() if action != "ask" or reason not in call.told}
        call.told |= {reason for reason, action in actions.items() if action == "ask"}
        call.asking = frozenset(reason for reason in ruled.actions if actions.get(reason) == "ask")
        source = None if retry_after is not None else self.reusable(call, actions, findings)
        if source is not None:
            actions = dict.fromkeys(actions, "reuse")
        earlier = self.ledger.earlier(call)
        age = self.now - source.at if source else None
        if earlier is not None and actions["duplicate_effect"] == "refuse":
            actions["duplicate_effect"] = "reuse"
            age = None if earlier.result is ABSENT else self.now - earlier.at
        return self.settle(
            call,
            round_,
            actions,
            findings,
            after_stop,
            ruled,
            reuse_of=source.call.id if source else None,
            age=age,
            retry_after=retry_after,
        )

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
        if "note_after" in rungs and rungs["note_after"] > rungs.get("refuse_after", rungs["note_after"]):
            rungs["note_after"] = rungs["refuse_after"]
        if detector in ("cycle", "transfer_cycle", "diversity"):
            rungs |= {"note_after": 1, "refuse_after": 1}
        if detector == PATIENT and not tool.declared and "refuse_after" in rungs:
            rungs["refuse_after"] *= 2
        if detector == "transfer_cycle":
            rungs["max_period"] = (self.detectors.get("cycle") or {}).get("max_period", 8)
        return rungs

    def refuses(self, tool: Tool) -> bool:
        """Say whether the tool is refused for being undeclared."""
        return not tool.declared and self.policy.get("undeclared_tools") == "refuse"

    def findings(self, call: Call) -> tuple[list[tuple[str, Streak]], float | None]:
        """Give the findings that refuse the call, and the seconds until a poll that came too early may come again."""
        found = []
        retry_after = None
        call.let_through = set()
        for reason, name, detector, _ in DETECTORS:
            rungs = self.rungs(name, call.tool)
            if rungs is None or (not call.tool.declared and reason not in (*BLIND, PATIENT)):
                continue
            for streak in detector(self.history, call, rungs, None):
                if reached(streak.count, streak.refuse_after or rungs.get("refuse_after")):
                    if self.cooled_down(call, reason, streak, rungs):
                        call.let_through.add((reason, streak.key))
                    else:
                        found.append((reason, streak))
        if not takes(call) and not any(reason == "invalid_arguments" for reason, _ in found):
            the_call = ("session", call.agent, "calls", frozenset([call.loose]))
            found.append(("invalid_arguments", Streak(0, None, the_call)))
        if self.refuses(call.tool) and not any(reason == "unknown_tool" for reason, _ in found):
            found.append(("unknown_tool", Streak(0, None, ("session", call.agent, "tool", call.tool.name))))
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
        pause = seconds(rungs["cool_down"])
        if reason == "same_error":  # twice as long with each failure after the second one at or above the threshold
            pause *= 2 ** min(max(streak.count - rungs["refuse_after"] - 1, 0), 8)
        if self.now < streak.last + pause:
            return False
        return not any(
            (reason, streak.key) in other.let_through
            and names(streak.names, other)
            and (streak.began is None or self.history.precedes(streak.began, other))
            for other in self.history.out()
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
        ruled: Ruled,
        reuse_of: str | None = None,
        age: float | None = None,
        retry_after: float | None = None,
    ) -> Verdict:
        """Let the strongest action win, the mode soften it, and write down what follows."""
        strongest = max(actions.values(), key=STRENGTH.index, default="allow")
        reasons = ruled.in_order([*actions, *ruled.notes])
        verdict = Verdict(call.id, strongest, reasons, reuse_of=reuse_of, age=age)
        decisive = next((reason for reason in reasons if actions.get(reason, "allow") == strongest), None)
        verdict.code = None if decisive is None else code(decisive)
        if decisive == "duplicate_effect" and self.ledger.earlier(call) is not None:
            verdict.code = "ALREADY_CREATED"
        if verdict.action != "reuse":
            verdict.age = None
        verdict.retry_after = retry_after if decisive == "stale_wait" else None
        if findings and not after_stop and strongest in ("reuse", "refuse", "stop"):
            incidents = {streak.names for _, streak in findings if streak.names}
            if any(reason == "denied" for reason, _ in findings):
                incidents |= {("task", "rule", rule) for rule in rules_that_denied(self.history, call)}
            round_.refused.append((call, incidents, strongest == "reuse"))
        if self.mode != "enforce" and strongest != "allow" and "bad_call_id" not in reasons:
            verdict.would = strongest
            verdict.action = "allow"
            verdict.reuse_of = verdict.age = None
            if self.mode == "warn":
                verdict.notes += [(call.id, reason) for reason in reasons if reason in actions]
        verdict.notes += self.heard([(call.id, reason) for reason in ruled.notes])
        if verdict.action == "stop":
            self.stopped = True
            verdict.exit = self.needs.exit(self.history)
        if call.tool.form_failed:
            verdict.notes += self.heard([(call.id, "policy_error")])
        if verdict.action != "allow" and "unknown_tool" in actions and self.refuses(call.tool):
            self.history.append(Refused(call))
        if verdict.action == "allow":
            call.new = not any(
                isinstance(entry, Dispatched) and entry.call.loose == call.loose for entry in self.history
            )
            self.history.append(Dispatched(call))
            verdict.notes += self.heard([(call.id, reason) for reason in self.budgets.notes(self.history, call)])
        return verdict

    def refuse_all(
        self,
        batch: list[Call],
        bad: list[Call],
        round_: Round,
        short: str,
        saved: tuple[History, set[tuple[str, float]], bool],
        before: tuple[list[Call], list[Any]],
    ) -> list[Verdict]:
        """Refuse a batch that does not fit as a whole: each call is judged as if no other of it had taken anything."""
        history, noted, self.stopped = saved
        round_.calls, round_.refused = before
        verdicts = []
        for call in batch:
            self.history, self.budgets.noted = History(history), set(noted)
            call.told = set()
            verdict = self.judge(call, round_, call in bad)
            self.refuse_for(verdict, short)
            verdicts.append(verdict)
        self.history, self.budgets.noted = history, noted
        return verdicts

    def refuse_for(self, verdict: Verdict, short: str) -> None:
        """Add the reason for which the whole batch is refused."""
        if verdict.reasons == ["duplicate_in_batch"]:
            return
        if short not in verdict.reasons:
            verdict.reasons = sorted([*verdict.reasons, short], key=place_of)
        if verdict.action == "stop":
            self.stopped = True
            return
        verdict.action = "refuse"
        verdict.code = code(verdict.reasons[0])
        if verdict.reasons[0] != "stale_wait":
            verdict.retry_after = None
        verdict.notes = [note for note in verdict.notes if note[1].partition(":")[0] in ("policy_error", "rule")]
        verdict.reuse_of = verdict.age = None

    # After a call

    def end(self, call_id: str) -> Call:
        return next(call for call in self.history.out() if call.id == call_id)

    def ended(self, call: Call) -> None:
        """Close the call's round if it was the last; a late outcome is a round of its own."""
        round_ = self.round_of[call]
        if round_.closed:
            alone = Round(call.agent, False, self.now, calls=[call])
            self.close(alone)
        else:
            self.close_if_done(round_)

    def close_if_done(self, round_: Round) -> None:
        if not round_.explicit and not any(call in round_.calls for call in self.history.out()):
            self.close(round_)

    def close(self, round_: Round) -> None:
        """Feed the detectors with the round's outcomes in request order, then count its refusals."""
        if round_.closed:
            return
        round_.closed = True
        ended = {id(entry.call): entry.outcome for entry in self.history if isinstance(entry, Ended)}
        outcomes = [ended[id(call)] for call in round_.calls if id(call) in ended]
        arrived = [outcome for outcome in outcomes if outcome is not None]
        for place, outcome in enumerate(arrived):
            self.remarks += self.heard(self.feed(outcome, arrived[:place]))
        gains = {id(entry.call): entry.gain for entry in self.history if isinstance(entry, Turn)}
        for call, incidents, reuse in round_.refused:
            if not any(gains.get(id(other), 0) for other in round_.calls if other is not call):
                self.history += [Counted(incident, reuse) for incident in incidents]

    def feed(self, outcome: Outcome, before: list[Outcome]) -> list[tuple[str, str]]:
        """Let an outcome feed what it feeds; gives the notes."""
        history, call = self.history, outcome.call
        patience = (self.rungs("same_error", call.tool) or {}).get("transient_after")
        turn = Turn(call, outcome, what_it_feeds(history, outcome, before, patience))
        if turn.feeds == "all":
            turn.gain, turn.share, turn.known_share = gain(history, outcome)
            if outcome.succeeded_known and not outcome.erred:
                turn.cells = self.needs.cells(history, outcome)
            turn.towards_needs = self.towards_needs(call) and self.needs.feeds(outcome)
            success = not outcome.failed
            effect, touches = call.tool.effect, call.tool.touches
            turn.landed = success and (effect == "write" or (effect in ("external", "ui") and bool(touches)))
            turn.possible = success and effect in ("unknown", "ui") and call.new and not turn.landed
            turn.fruitless = is_fruitless(history, turn)
            turn.fresh = "" if outcome.erred else fresh_look(history, outcome)
            turn.alike = any(alike(other, outcome) for other in before) or is_idle_again(history, turn, before)
            turn.acted_upon = follows_what_was_acted_upon(history, turn)
            turn.new_target = not outcome.erred and looks_at_new_target(history, outcome)
        if turn.feeds == "wait":
            answers = polls(history, call)
            known = outcome.symbol is not None
            turn.progress = known and bool(answers) and answers[-1].outcome.symbol != outcome.symbol
        history.append(turn)

        notes = [(call.id, "policy_error")] if outcome.erred else []
        left = False  # one exit an observation
        for reason, name, detector, brings_note in DETECTORS:
            rungs = self.rungs(name, call.tool)
            if rungs is None or not brings_note(turn):
                continue
            count = max((streak.count for streak in detector(history, call, rungs, outcome)), default=0)
            blind = not call.tool.declared and reason not in BLIND
            may_exit = reason != "no_gain" and not left and not blind and not self.stopped
            exits = may_exit and reached(count, rungs.get("exit_after"))
            left = left or exits
            if exits and self.mode == "enforce":
                self.exit(reason)
            if reached(count, rungs.get("note_after")) or exits:
                notes.append((call.id, reason))
        counts = turn.feeds in ("all", "format")
        if counts and self.exit_reached(turn, left) and (call.id, "no_gain") not in notes:
            notes.append((call.id, "no_gain"))
        return notes

    def exit(self, reason: str) -> None:
        """Stop the task at an observation."""
        if not self.stopped:
            self.stopped = True
            self.exits.append(reason)

    def towards_needs(self, call: Call) -> bool:
        """Tell whether `no_gain` counts filled cells, and not whatever is new to the task."""
        rungs = self.rungs("no_gain", call.tool)
        return bool(rungs and self.needs.needs and rungs.get("towards", "needs") == "needs")

    def status(self) -> str | None:
        """How far the run got; None where nothing tells."""
        return self.needs.status(self.history, self.stopped)

    def missing(self) -> list[tuple[str | None, str]]:
        """The missing cells, as (canonical key, field)."""
        return self.needs.missing(self.history)

    def exit_reached(self, turn: Turn, left: bool) -> bool:
        """Stop the task where nothing was gained for long enough; gives whether that is a note.

        Where this observation has `left` already, only what ends nothing is noted.
        """
        exit_after = (self.detectors.get("no_gain") or {}).get("exit_after")
        if (
            exit_after is None
            or (self.stopped and not left)
            or turn.outcome.erred
            or (turn.outcome.symbol is None and not turn.outcome.failed)
            or turn.fresh
            or turn.passed_over
            or turn.new_target
        ):
            return False
        idle: list[Turn] = []
        for entry in self.history.back("gain"):
            if not isinstance(entry, Turn):
                continue
            if entry.progress:
                break
            if entry.feeds in ("all", "format"):
                brought = entry.cells if self.towards_needs(entry.call) else entry.gain
                if brought or entry.writes:
                    break
                told = entry.outcome.symbol is not None or entry.outcome.failed
                passed_over = entry.outcome.erred or entry.fresh or entry.passed_over or entry.new_target
                if told and not passed_over:
                    idle.append(entry)
        stops = sum(entry.call.tool.declared or entry.feeds == "format" for entry in idle) >= exit_after
        if stops and left:
            return False
        if stops and self.mode == "enforce":
            self.exit("no_gain")
        return bool(len(idle) >= exit_after)


def reached(count: int, rung: Any) -> bool:
    return rung is not None and bool(count >= rung)
