"""The compiled engine and the slow one judge random runs alike, verdict by verdict."""

from collections.abc import Sequence
from typing import Any, TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from agreement import ARGUMENTS, FAULTS, RESULTS, Run, Seeded, Slow, difference, draw_run, policy, tools
from agreement_compiled import Compiled

T = TypeVar("T")


class FromHypothesis:
    """Choices that Hypothesis makes, and makes smaller when it shrinks."""

    def __init__(self, data: st.DataObject) -> None:
        self.data = data

    def choice(self, of: Sequence[T]) -> T:
        return self.data.draw(st.sampled_from(of))

    def chance(self, percent: int) -> bool:
        return self.data.draw(st.integers(0, 99)) >= 100 - percent


CALLS = st.sampled_from([{"tool": tool, "arguments": each} for tool in ARGUMENTS for each in ARGUMENTS[tool]])
TIMES = st.sampled_from([0.0, 0.0, 0.5, 1.0, 2.5, 11.0])


class BothEngines(RuleBasedStateMachine):
    """Drives both through one run; every rule compares what they answer."""

    @initialize(data=st.data())
    def world(self, data: st.DataObject) -> None:
        draw = FromHypothesis(data)
        run = Run(policy(draw), [{"tools": tools(draw)}])
        self.slow, self.fast = Slow(run), Compiled(run)
        self.clock = 0.0
        self.made = 0

    def apply(self, wait: float, **operation: Any) -> None:
        self.clock += wait
        if operation["op"] not in ("event", "usage"):
            operation["now"] = self.clock
        assert self.fast.apply(operation) == self.slow.apply(operation)

    @rule(calls=st.lists(CALLS, min_size=1, max_size=3), agent=st.sampled_from(["root", "root", "worker"]), wait=TIMES)
    def admit(self, calls: list[dict[str, Any]], agent: str, wait: float) -> None:
        self.ask_for(calls, agent, wait)

    def ask_for(self, calls: list[dict[str, Any]], agent: str, wait: float) -> None:
        named = []
        for call in calls:
            self.made += 1
            named.append({**call, "call_id": f"c{self.made}"})
        self.apply(wait, op="admit", agent=agent, calls=named)

    @precondition(lambda self: self.slow.task.history.out())
    @rule(data=st.data(), outcome=st.sampled_from(RESULTS + FAULTS), wait=TIMES)
    def observe(self, data: st.DataObject, outcome: dict[str, Any], wait: float) -> None:
        call = data.draw(st.sampled_from([call.id for call in self.slow.task.history.out()]))
        self.apply(wait, op="observe", id=call, **outcome)

    @rule(outcome=st.sampled_from(RESULTS + FAULTS), call=CALLS, times=st.integers(2, 5), wait=TIMES)
    def insist(self, outcome: dict[str, Any], call: dict[str, Any], times: int, wait: float) -> None:
        for _ in range(times):
            self.ask_for([call], "root", wait)
            if any(call.id == f"c{self.made}" for call in self.slow.task.history.out()):
                self.apply(wait, op="observe", id=f"c{self.made}", **outcome)

    @precondition(lambda self: self.slow.task.history.out())
    @rule(wait=TIMES)
    def abandon(self, wait: float) -> None:
        self.apply(wait, op="abandon", id=self.slow.task.history.out()[0].id)

    @precondition(lambda self: self.slow.task.asked)
    @rule(answer=st.sampled_from(["approve", "deny"]), wait=TIMES)
    def answer(self, answer: str, wait: float) -> None:
        self.apply(wait, op=answer, id=sorted(self.slow.task.asked)[0])

    @rule(event=st.sampled_from([{"event": "user_turn", "by": "human"}, {"event": "compaction"}]))
    def event(self, event: dict[str, Any]) -> None:
        self.apply(0, op="event", **event)

    @rule()
    def usage(self) -> None:
        self.apply(0, op="usage", tokens=40, cost=1.0)


TestBothEnginesAgree = BothEngines.TestCase
TestBothEnginesAgree.settings = settings(max_examples=60, stateful_step_count=40, derandomize=True, deadline=None)


def test_both_engines_agree_on_seeded_runs() -> None:
    for seed in range(200):
        run = draw_run(Seeded(seed), 40)
        assert difference(run, Compiled) is None, run.text()
