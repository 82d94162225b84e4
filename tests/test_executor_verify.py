"""What became of an effect that got lost: the executor makes the call that finds out, and goes on by what it says."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from callgate import Call, CallResult, Gate, Task
from callgate.testing import FakeClock
from executor_gates import Flaky, gate, noted

VERIFY = """\
      verify:
        tool: get_order
        arguments: {ref: args.ref}
        landed_when: result.found
        absent_when: '!result.found && result.settled'
        after: 30s
        attempts: 2
"""
ORDER = f"""\
    order:
      effect: external
      parameters: {{type: object, required: [ref], properties: {{ref: {{type: string}}}}}}
      identity: {{target: [ref]}}
      idempotency: {{key: '["order", args.ref]'}}
{VERIFY}"""
RETRIED = ORDER + "      retry: {max: 2, backoff: {initial: 1s, jitter: none}}\n"
LOOKUP = "    get_order: {effect: read, retry: {max: 2, backoff: {initial: 2s, jitter: none}}}\n"
FOUND = {"found": True, "settled": True, "order": "o1"}
ABSENT = {"found": False, "settled": True}
PENDING = {"found": False, "settled": False}


class Desk:
    """A gate whose clock moves with what is waited for, a tool that fails, and a look-up that says what it is given."""

    def __init__(self, folder: Path, manifest: str, *said: Any, fails: int = 1, policy: str = "") -> None:
        self.clock = FakeClock()
        self.waited: list[float] = []
        self.looked_up: list[Any] = []
        self.said = list(said)
        self.gate = gate(folder, manifest + LOOKUP, policy, pauses=noted(self.waited), clock=self.clock)
        note = self.gate.pauses.sleep
        assert note is not None

        def sleep(seconds: float) -> None:
            note(seconds)
            self.clock.advance(seconds)

        async def sleep_async(seconds: float) -> None:
            sleep(seconds)

        from callgate.runtime.pauses import Pauses

        self.gate._pauses = Pauses(lambda: 0.5, sleep, sleep_async)
        self.order = Flaky(*[TimeoutError("lost") for _ in range(fails)], answer={"order": "o1"})
        self.gate.tool(self.get_order)

    def get_order(self, ref: str) -> Any:
        self.looked_up.append(ref)
        told = self.said.pop(0)
        if isinstance(told, BaseException):
            raise told
        return told

    def call(self) -> Call:
        return Call(self.order, {"ref": "r1"}, tool="order")


Make = Callable[[Task, Call], CallResult]


def directly(task: Task, call: Call) -> CallResult:
    return task.call(call)


def in_place(task: Task, call: Call) -> CallResult:
    return task.call(Call(call.function, call.arguments, tool=call.tool, approve=call.approve, threaded=False))


def awaited(task: Task, call: Call) -> CallResult:
    return asyncio.run(task.acall(call))


def among_others(task: Task, call: Call) -> CallResult:
    return task.call_all([Call(lambda ref: {"order": ref}, {"ref": "r9"}, tool="order"), call])[1]


@pytest.fixture(params=[directly, in_place, awaited, among_others])
def make(request: pytest.FixtureRequest) -> Make:
    found: Make = request.param
    return found


def test_what_landed_is_answered_with_what_was_found(tmp_path: Path, make: Make) -> None:
    desk = Desk(tmp_path, ORDER, FOUND)
    result = make(desk.gate.task("t"), desk.call())
    assert (result.value(), result.verified, result.attempts, result.from_cache) == (FOUND, "landed", 1, True)
    assert (desk.waited, desk.looked_up, len(desk.order.asked)) == ([30.0], ["r1"], 1)
    assert result.verdict.code == "ALREADY_CREATED"


def test_what_is_absent_is_made_once_more_where_the_tool_is_tried_again(tmp_path: Path, make: Make) -> None:
    desk = Desk(tmp_path, RETRIED, ABSENT)
    result = make(desk.gate.task("t"), desk.call())
    assert (result.value(), result.verified, result.attempts) == ({"order": "o1"}, "absent", 2)
    assert (desk.waited, len(desk.order.asked)) == ([30.0], 2)


def test_without_retry_what_is_absent_comes_back_as_failed(tmp_path: Path, make: Make) -> None:
    desk = Desk(tmp_path, ORDER, ABSENT)
    task = desk.gate.task("t")
    result = make(task, desk.call())
    assert (result.ok, result.verified, result.attempts, type(result.error)) == (False, "absent", 1, TimeoutError)
    # it did not happen: whoever wants it may have it
    assert task.call(desk.call()).value() == {"order": "o1"}


def test_it_is_looked_up_as_often_as_declared_and_then_it_is_a_persons_turn(tmp_path: Path, make: Make) -> None:
    desk = Desk(tmp_path, RETRIED, PENDING, PENDING)
    result = make(desk.gate.task("t"), desk.call())
    assert (result.ok, result.verified, result.verdict.action) == (False, None, "ask")
    assert (len(desk.looked_up), len(desk.order.asked), result.verdict.reasons) == (2, 1, ("ambiguous_effect",))


@pytest.mark.parametrize("yes", [True, False])
def test_where_it_cannot_be_found_out_whoever_is_named_is_asked(tmp_path: Path, make: Make, yes: bool) -> None:
    desk = Desk(tmp_path, RETRIED, PENDING, PENDING)
    asked: list[tuple[str, ...]] = []

    def approve(verdict: Any) -> bool:
        asked.append(verdict.reasons)
        return yes

    made = Call(desk.order, {"ref": "r1"}, tool="order", approve=approve)
    result = make(desk.gate.task("t"), made)
    assert asked == [("ambiguous_effect",)]
    assert (result.ok, result.denied, len(desk.order.asked)) == (yes, not yes, 1 + yes)


def test_a_look_up_that_fails_for_a_while_is_tried_again_itself(tmp_path: Path, make: Make) -> None:
    desk = Desk(tmp_path, ORDER, ConnectionRefusedError("no"), FOUND)
    result = make(desk.gate.task("t"), desk.call())
    assert (result.verified, len(desk.looked_up)) == ("landed", 2)
    assert desk.waited == [30.0, 2.0]


def test_absent_and_lost_again_is_looked_up_again_and_not_made_a_third_time(tmp_path: Path) -> None:
    desk = Desk(tmp_path, RETRIED, ABSENT, ABSENT, fails=2)
    result = desk.gate.task("t").call(desk.call())
    assert (result.ok, result.attempts, len(desk.looked_up), len(desk.order.asked)) == (False, 2, 2, 2)


def test_what_an_earlier_life_left_in_doubt_is_looked_up_first(tmp_path: Path, make: Make) -> None:
    desk = Desk(tmp_path, ORDER, FOUND, fails=0)
    task = desk.gate.task("t")
    task.observe(task.admit("order", {"ref": "r1"}).call_id, error={"type": "timeout"})
    result = make(task, desk.call())
    assert (result.value(), result.verified, result.attempts) == (FOUND, "landed", 0)
    assert (desk.waited, desk.order.asked[:0], len(desk.looked_up)) == ([30.0], [], 1)


def test_what_an_earlier_life_left_undone_is_done_now(tmp_path: Path, make: Make) -> None:
    desk = Desk(tmp_path, ORDER, ABSENT, fails=0)
    task = desk.gate.task("t")
    task.observe(task.admit("order", {"ref": "r1"}).call_id, error={"type": "timeout"})
    result = make(task, desk.call())
    assert (result.value(), result.verified, result.attempts) == ({"order": "o1"}, "absent", 1)


def test_where_nobody_can_look_it_up_the_host_is_told_what_to_call(tmp_path: Path) -> None:
    desk = Desk(tmp_path, ORDER)
    desk.gate.functions.clear()
    result = desk.gate.task("t").call(desk.call())
    assert result.assessment is not None and result.assessment.verify is not None
    assert (result.assessment.next, result.assessment.verify.tool, desk.waited) == ("verify", "get_order", [])


def test_a_wait_that_ends_after_the_task_is_left_to_the_host(tmp_path: Path) -> None:
    desk = Desk(tmp_path, ORDER, policy="  time: {task: 20s}\n")
    result = desk.gate.task("t").call(desk.call())
    assert (result.ok, desk.waited, desk.looked_up) == (False, [], [])


def test_looking_up_takes_no_step_of_the_model(tmp_path: Path) -> None:
    desk = Desk(tmp_path, RETRIED, ABSENT)
    task = desk.gate.task("t")
    task.call(desk.call())
    assert (task.spent["steps"], task.spent["tool_calls"]) == (1.0, 3.0)


def test_an_interruption_while_it_is_looked_up_leaves_no_call_out(tmp_path: Path) -> None:
    desk = Desk(tmp_path, ORDER, KeyboardInterrupt())
    task = desk.gate.task("t")
    with pytest.raises(KeyboardInterrupt):
        task.call(desk.call())
    for call_id in ("call-1", "call-2"):
        with pytest.raises(LookupError, match="is out"):
            task.abandon(call_id)


def test_a_plain_loop_looks_it_up_with_its_own_tools(tmp_path: Path) -> None:
    from callgate.adapters import anthropic

    desk = Desk(tmp_path, ORDER, FOUND)
    desk.gate.functions.clear()
    use = {"type": "tool_use", "id": "t0", "name": "order", "input": {"ref": "r1"}}
    response = {"role": "assistant", "content": [use], "stop_reason": "tool_use"}
    tools = {"order": desk.order, "get_order": desk.get_order}
    turn = anthropic.take_turn(desk.gate.task("t"), response, tools)
    [block] = turn.messages[1]["content"]
    assert '"order":"o1"' in block["content"].replace(": ", ":") and desk.looked_up == ["r1"]


def test_an_undeclared_gate_knows_no_doubt_to_look_up() -> None:
    task = Gate.load("default").task("t")
    assert task.call(Call(Flaky(TimeoutError()), tool="order")).verified is None
