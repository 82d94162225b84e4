"""`task.call` and `task.call_all`: judged, run, tried again, told; nothing is raised for refusals and failures."""

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from callgate import MISSING, Call, CallResult, Gate, Refused, Task
from executor_gates import Flaky, Waits, gate, noted

READ = "    look: {effect: read}\n    list: {effect: read}\n"
RETRY = "    flaky: {effect: read, retry: {max: 3, backoff: {initial: 1s, jitter: none}}}\n"
FOREIGN = "    pay: {effect: external}\n"


@pytest.fixture
def task(tmp_path: Path) -> Task:
    return gate(tmp_path, READ).task("t")


def look(q: str) -> dict[str, Any]:
    return {"hits": [q]}


def told(result: CallResult) -> tuple[Any, ...]:
    return result.ok, result.refused, result.attempts, result.from_cache


def test_a_call_is_judged_run_and_told(task: Task) -> None:
    result = task.call(look, q="bearing")
    assert told(result) == (True, False, 1, False)
    assert (result.value(), result.tool, result.reply, result.error) == ({"hits": ["bearing"]}, "look", None, None)
    assert result.assessment is not None and result.assessment.grade == "sufficient"
    assert task.spent["tool_calls"] == 1.0


def test_a_tool_gets_the_judged_copy_of_its_arguments(task: Task) -> None:
    given = {"q": ["a"]}
    got: list[Any] = []
    task.call(Call(lambda q: got.append(q), given, tool="look"))
    assert got == [["a"]] and got[0] is not given["q"]


def test_what_a_tool_raises_is_in_the_result_and_raised_by_its_value(task: Task) -> None:
    error = LookupError("no such part")

    def list(**_: Any) -> None:  # noqa: A001 - the tool's name
        raise error

    result = task.call(list)
    assert told(result) == (False, False, 1, False)
    assert (result.result, result.error) == (MISSING, error)
    assert result.reply is not None
    assert json.loads(result.reply) == {
        "success": False,
        "code": "LOOKUPERROR",
        "retryable": False,
        "data": None,
        "message": "no such part",
    }
    with pytest.raises(LookupError, match="no such part"):
        result.value()


def test_none_is_a_result(task: Task) -> None:
    result = task.call(Call(lambda: None, tool="look"))
    assert (result.ok, result.value()) == (True, None)


def test_a_refused_call_does_not_run_and_says_why(tmp_path: Path) -> None:
    task = gate(tmp_path, READ, "  budgets: {tool_calls: 1}\n").task("t")
    task.call(look, q="a")
    asked = []
    result = task.call(Call(lambda q: asked.append(q), {"q": "b"}, tool="look"))
    assert (told(result), asked) == ((False, True, 0, False), [])
    assert result.verdict.reasons == ("budget_tool_calls",)
    assert result.reply is not None and json.loads(result.reply)["code"] == "BUDGET_TOOL_CALLS"
    with pytest.raises(Refused, match=r"`look` did not run: refuse \(budget_tool_calls\)") as caught:
        result.value()
    assert caught.value.verdict is result.verdict


def test_an_earlier_result_stands_in_where_the_policy_answers_with_it(task: Task) -> None:
    results = [task.call(look, q="a") for _ in range(4)]
    assert [each.attempts for each in results] == [1, 1, 1, 0]
    assert (results[3].verdict.action, results[3].from_cache, results[3].value()) == ("reuse", True, {"hits": ["a"]})


def test_where_a_person_has_to_decide_the_call_comes_back_as_asked(tmp_path: Path) -> None:
    rule = '  rules: [{id: big, phase: admit, when: "args.q == \\"big\\"", action: ask}]\n'
    task = gate(tmp_path, READ, rule).task("t")
    result = task.call(look, q="big")
    assert (result.verdict.action, told(result)) == ("ask", (False, True, 0, False))
    verdict = task.approve(result.call_id)
    task.observe(verdict.call_id, result=look(**verdict.arguments))


@pytest.mark.parametrize("yes", [True, False])
def test_whoever_is_named_is_asked(tmp_path: Path, yes: bool) -> None:
    rule = '  rules: [{id: big, phase: admit, when: "args.q == \\"big\\"", action: ask}]\n'
    task = gate(tmp_path, READ, rule).task("t")
    asked: list[str] = []

    def approve(verdict: Any) -> bool:
        asked.append(verdict.tool)
        return yes

    result = task.call(Call(look, {"q": "big"}, approve=approve))
    assert (asked, result.ok, result.attempts, result.denied) == (["look"], yes, int(yes), not yes)
    if not yes:
        assert result.reply is not None and json.loads(result.reply)["success"] is False


@pytest.mark.parametrize("answer", [None, 1, "yes"])
def test_what_is_neither_yes_nor_no_is_no_answer(tmp_path: Path, answer: Any) -> None:
    task = gate(tmp_path, READ, '  rules: [{id: all, phase: admit, when: "true", action: ask}]\n').task("t")
    with pytest.raises(TypeError, match="`approve` has to return True or False"):
        task.call(Call(look, {"q": "a"}, approve=lambda verdict: answer))


def test_a_coroutine_that_nobody_awaits_is_no_yes(tmp_path: Path) -> None:
    from callgate.adapters import anthropic

    task = gate(tmp_path, READ, '  rules: [{id: all, phase: admit, when: "true", action: ask}]\n').task("t")
    ran: list[str] = []

    async def later(verdict: Any) -> bool:
        return True

    with pytest.raises(TypeError, match="found `coroutine`"):
        task.call(Call(lambda q: ran.append(q), {"q": "a"}, tool="look", approve=later))
    use = {"type": "tool_use", "id": "t0", "name": "look", "input": {"q": "b"}}
    response = {"role": "assistant", "content": [use], "stop_reason": "tool_use"}
    approve: Any = later
    with pytest.raises(TypeError, match="found `coroutine`"):
        anthropic.take_turn(task, response, {"look": lambda q: ran.append(q)}, approve=approve)
    assert ran == []


def test_a_further_attempt_of_what_a_person_agreed_to_is_asked_about_anew(tmp_path: Path) -> None:
    rule = '  rules: [{id: big, phase: admit, when: "true", action: ask}]\n'
    task = gate(tmp_path, RETRY, rule, pauses=noted([])).task("t")
    asked: list[str] = []

    def approve(verdict: Any) -> bool:
        asked.append(verdict.tool)
        return True

    result = task.call(Call(Flaky(ConnectionRefusedError("no")), approve=approve))
    assert (result.ok, result.attempts, asked) == (True, 2, ["flaky", "flaky"])


def test_an_asker_that_fails_leaves_nothing_out(tmp_path: Path) -> None:
    rule = '  rules: [{id: big, phase: admit, when: "args.q == \\"big\\"", action: ask}]\n'
    task = gate(tmp_path, READ, rule).task("t")

    def approve(verdict: Any) -> bool:
        raise OSError("the desk does not answer")

    with pytest.raises(OSError, match="the desk does not answer"):
        task.call_all([Call(look, {"q": "small"}), Call(look, {"q": "big"}, approve=approve)])
    assert task.spent["tool_calls"] == 0.0  # what was let through was given back


class TestRetries:
    def test_what_may_pass_by_itself_is_tried_again_after_pauses_that_grow(self, tmp_path: Path) -> None:
        waited: list[float] = []
        task = gate(tmp_path, RETRY, pauses=noted(waited)).task("t")
        flaky = Flaky(ConnectionRefusedError(), TimeoutError())
        result = task.call(flaky, q="a")
        assert (told(result), result.value(), waited) == ((True, False, 3, False), "done", [1.0, 2.0])
        assert flaky.asked == [{"q": "a"}] * 3
        assert {name: task.spent[name] for name in ("steps", "tool_calls", "retries")} == {
            "steps": 1.0,
            "tool_calls": 3.0,
            "retries": 2.0,
        }

    def test_after_so_many_further_attempts_it_is_over(self, tmp_path: Path) -> None:
        waited: list[float] = []
        task = gate(tmp_path, RETRY, pauses=noted(waited)).task("t")
        flaky = Flaky(*[ConnectionRefusedError("no") for _ in range(9)])
        result = task.call(flaky)
        assert (told(result), len(flaky.asked), waited) == ((False, False, 4, False), 4, [1.0, 2.0, 4.0])
        assert isinstance(result.error, ConnectionRefusedError)

    def test_what_will_fail_again_is_not_tried_again(self, tmp_path: Path) -> None:
        task = gate(tmp_path, RETRY, pauses=noted([])).task("t")
        flaky = Flaky(ValueError("no"))
        assert (task.call(flaky).attempts, len(flaky.asked)) == (1, 1)

    def test_the_budget_of_retries_is_the_end_of_them(self, tmp_path: Path) -> None:
        task = gate(tmp_path, RETRY, "  budgets: {retries: 1}\n", pauses=noted([])).task("t")
        flaky = Flaky(*[ConnectionRefusedError("no") for _ in range(9)])
        result = task.call(flaky)
        assert (len(flaky.asked), result.attempts, result.verdict.reasons) == (2, 2, ("budget_retries",))
        assert (result.refused, isinstance(result.error, ConnectionRefusedError)) == (True, True)

    def test_an_effect_that_may_have_happened_is_not_tried_again(self, tmp_path: Path) -> None:
        pay = "    flaky: {effect: external, retry: {max: 3, classes: [transient]}}\n"
        task = gate(tmp_path, pay, pauses=noted([])).task("t")
        flaky = Flaky(ConnectionResetError("gone"))
        result = task.call(flaky)
        assert (len(flaky.asked), result.assessment and result.assessment.error_class) == (1, "ambiguous")

    def test_an_effect_that_was_never_sent_is(self, tmp_path: Path) -> None:
        pay = "    flaky: {effect: external, retry: {max: 3, classes: [transient]}}\n"
        task = gate(tmp_path, pay, pauses=noted([])).task("t")
        assert task.call(Flaky(ConnectionRefusedError("no"))).value() == "done"

    @pytest.mark.parametrize(
        ("jitter", "pauses"),
        [
            ("full", [0.5, 1.0, 2.0]),
            ("equal", [0.75, 1.5, 3.0]),
            ("proportional", [1.0, 2.0, 4.0]),
            # 1 + 0.5 (3 · 1 − 1) = 2, 1 + 0.5 (3 · 2 − 1) = 3.5, 1 + 0.5 (3 · 3.5 − 1) = 5.75
            ("decorrelated", [2.0, 3.5, 5.75]),
        ],
    )
    def test_pauses_are_spread_as_the_manifest_says(self, tmp_path: Path, jitter: str, pauses: list[float]) -> None:
        waited: list[float] = []
        tools = f"    flaky: {{effect: read, retry: {{max: 3, backoff: {{jitter: {jitter}}}}}}}\n"
        task = gate(tmp_path, tools, pauses=noted(waited)).task("t")
        task.call(Flaky(*[ConnectionRefusedError("no") for _ in range(3)]))
        assert waited == pauses

    def test_a_server_that_asks_for_a_longer_pause_gets_it(self, tmp_path: Path) -> None:
        waited: list[float] = []
        task = gate(tmp_path, RETRY, pauses=noted(waited)).task("t")
        assert task.call(Flaky(Busy("7"), Busy("1"))).ok
        assert waited == [7.0, 2.0]

    def test_a_pause_above_the_cap_is_not_waited_for_but_told(self, tmp_path: Path) -> None:
        waited: list[float] = []
        task = gate(tmp_path, RETRY, pauses=noted(waited)).task("t")
        result = task.call(Flaky(Busy("90")))
        assert (result.attempts, result.retry_after, waited) == (1, 90.0, [])

    def test_a_result_that_says_so_is_tried_again_too(self, tmp_path: Path) -> None:
        waited: list[float] = []
        task = gate(tmp_path, RETRY, pauses=noted(waited)).task("t")
        busy = {"status": 503, "headers": {"retry-after": "3"}, "body": "busy"}
        answers = [busy, {"status": 200, "headers": {}, "body": "fine"}]
        result = task.call(Call(lambda: answers.pop(0), tool="flaky"))
        assert (result.attempts, result.ok, waited) == (2, True, [3.0])

    def test_a_pause_that_ends_after_the_task_is_not_waited_for(self, tmp_path: Path) -> None:
        waited: list[float] = []
        task = gate(tmp_path, RETRY, "  time: {task: 5s}\n", pauses=noted(waited)).task("t")
        result = task.call(Flaky(Busy("6")))
        assert (result.attempts, result.retry_after, waited) == (1, 6.0, [])


class Busy(Exception):
    """503, with the pause that the server asks for."""

    def __init__(self, seconds: str) -> None:
        super().__init__("busy")
        self.status_code = 503
        self.headers = {"Retry-After": seconds}


class TestSiblings:
    def test_results_come_in_the_order_of_the_calls(self, task: Task) -> None:
        gates = [threading.Event() for _ in range(3)]

        def in_turn(q: int) -> int:
            # each waits for the one behind it: they end in the opposite order
            if q < 2:
                assert gates[q + 1].wait(30)
            gates[q].set()
            return q

        results = task.call_all([Call(in_turn, {"q": q}, tool="look") for q in range(3)])
        assert [result.value() for result in results] == [0, 1, 2]

    def test_a_failure_stops_no_sibling(self, task: Task) -> None:
        results = task.call_all(
            [Call(Flaky(ValueError("no")), {"q": 1}, tool="look"), Call(look, {"q": "b"}), Call(look, {"q": "c"})]
        )
        assert [result.ok for result in results] == [False, True, True]

    def test_nothing_starts_before_the_whole_batch_is_judged(self, tmp_path: Path) -> None:
        policy = "  budgets: {tool_calls: 2, batch: all_or_nothing}\n"
        task = gate(tmp_path, READ, policy).task("t")
        asked: list[int] = []
        results = task.call_all([Call(asked.append, {"object": q}, tool="look") for q in range(3)])
        assert ([result.refused for result in results], asked) == ([True] * 3, [])

    def test_equal_calls_are_made_once_and_answered_all(self, task: Task) -> None:
        flaky = Flaky(answer={"n": 1})
        calls = [Call(flaky, {"q": q}, tool="look", call_id=i) for i, q in (("a", 1), ("b", 1), ("c", 2))]
        results = task.call_all(calls)
        assert [(each.call_id, each.attempts, each.from_cache) for each in results] == [
            ("a", 1, False),
            ("b", 0, True),
            ("c", 1, False),
        ]
        assert [each.value() for each in results] == [{"n": 1}] * 3
        assert len(flaky.asked) == 2

    def test_an_equal_call_shares_a_failure_and_what_came_of_trying_again(self, tmp_path: Path) -> None:
        task = gate(tmp_path, RETRY, pauses=noted([])).task("t")
        failing = task.call_all([Call(Flaky(ValueError("no")), call_id="a"), Call(Flaky(), call_id="b")])
        assert [str(each.error) for each in failing] == ["no", "no"]
        flaky = Flaky(ConnectionRefusedError("no"))
        results = task.call_all([Call(flaky, {"q": 1}, call_id="a"), Call(flaky, {"q": 1}, call_id="b")])
        assert ([each.value() for each in results], len(flaky.asked)) == (["done", "done"], 2)

    def test_in_a_round_an_equal_call_is_answered_with_the_end_of_the_first(self, task: Task) -> None:
        with task.round():
            first = task.call(look, q="a")
            second = task.call(look, q="a")
        assert (second.verdict.reuse_of, second.value()) == (first.call_id, first.value())

    def test_each_call_is_tried_again_by_itself(self, tmp_path: Path) -> None:
        tools = RETRY + READ
        task = gate(tmp_path, tools, pauses=noted([])).task("t")
        flaky = Flaky(ConnectionRefusedError(), ConnectionRefusedError())
        results = task.call_all([Call(flaky), Call(look, {"q": "a"})])
        assert [(each.ok, each.attempts) for each in results] == [(True, 3), (True, 1)]
        assert task.spent["steps"] == 1.0

    def test_no_calls_have_no_results(self, task: Task) -> None:
        assert task.call_all([]) == []


class TestInterruptions:
    @pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, GeneratorExit])
    def test_a_call_that_was_running_is_told_as_cancelled_and_the_interruption_goes_on(
        self, tmp_path: Path, kind: type[BaseException]
    ) -> None:
        task = gate(tmp_path, FOREIGN).task("t")
        with pytest.raises(kind):
            task.call(Call(Flaky(kind()), tool="pay"))
        [call] = task.report()["calls"]
        assert call["error"]["class"] == "ambiguous"

    @pytest.mark.parametrize("threaded", [True, False])
    def test_an_interruption_in_one_call_of_a_turn_leaves_none_out(self, tmp_path: Path, threaded: bool) -> None:
        task = gate(tmp_path, READ + FOREIGN).task("t")
        waits = Waits()
        calls = [
            Call(waits, {"q": 1}, tool="look"),
            Call(Flaky(KeyboardInterrupt()), tool="pay", threaded=threaded),
        ]
        with pytest.raises(KeyboardInterrupt):
            task.call_all(calls)
        waits.go.set()
        for call_id in ("call-1", "call-2"):
            with pytest.raises(LookupError, match="is out"):
                task.abandon(call_id)

    def test_during_a_pause_nothing_is_out(self, tmp_path: Path) -> None:
        from callgate.runtime.pauses import Pauses

        def interrupt(seconds: float) -> None:
            raise KeyboardInterrupt

        task = gate(tmp_path, RETRY, pauses=Pauses(sleep=interrupt)).task("t")
        with pytest.raises(KeyboardInterrupt):
            task.call(Flaky(ConnectionRefusedError("no")))
        [call] = task.report()["calls"]
        assert call["error"]["class"] == "transient"


class TestMistakesOfTheHost:
    def test_a_coroutine_function_is_pointed_to_the_other_door(self, task: Task) -> None:
        async def look() -> None:
            """Never run."""

        with pytest.raises(TypeError, match="the tool `look` is a coroutine function: use `acall` or `acall_all`"):
            task.call(look)
        assert task.spent["tool_calls"] == 0.0

    @pytest.mark.parametrize("function", [lambda: None, object()])
    def test_what_has_no_name_needs_one(self, task: Task, function: Any) -> None:
        with pytest.raises(TypeError, match=r"has no name|has to be a function"):
            task.call(function)

    def test_a_call_has_its_arguments_already(self, task: Task) -> None:
        with pytest.raises(TypeError, match="has its arguments already"):
            task.call(Call(look, {"q": "a"}), q="b")


def test_a_call_of_the_executor_knows_its_task(task: Task) -> None:
    from callgate.runtime.active import active_task

    seen: list[Any] = []

    def asks(**_: Any) -> None:
        seen.append(active_task(task.gate))

    task.call(Call(asks, tool="look"))
    task.call_all([Call(asks, {"q": 1}, tool="look"), Call(asks, {"q": 2}, tool="look")])
    assert seen == [task] * 3
    assert active_task(task.gate) is None


def test_fifty_threads_share_one_budget(tmp_path: Path) -> None:
    task = gate(tmp_path, READ, "  budgets: {tool_calls: 20}\n").task("t")
    ran: list[int] = []
    go = threading.Barrier(50)

    def look(q: int) -> dict[str, int]:
        ran.append(q)
        return {"found": q}  # another result each time, or the guard would take it for going round

    def call(q: int) -> None:
        go.wait(30)
        task.call(look, q=q)

    threads = [threading.Thread(target=call, args=(q,)) for q in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ran) == 20


def test_the_default_gate_makes_calls_too() -> None:
    tool: Callable[..., Any] = look
    assert Gate.load("default").task("t").call(tool, q="a").ok
