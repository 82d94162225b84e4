"""Turns of a plain loop: what runs, what the model reads, and in which order, with Anthropic and OpenAI."""

import asyncio
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate import Gate, Task
from callgate.adapters import anthropic, openai
from callgate.messages import MessageError, inspect, passes
from callgate.testing import FakeClock

RULES = """
apiVersion: callgate/v1
kind: GuardPolicy
metadata: {name: desk}
spec:
  extends: [default]
  budgets: {tokens: 1000}
  tools: [desk-tools]
  rules:
    - {id: large, phase: admit, tools: [refund], when: args.amount > 50, action: ask}
    - {id: never, phase: admit, tools: [wipe], when: 'true', action: stop}
---
apiVersion: callgate/v1
kind: ToolManifest
metadata: {name: desk-tools}
spec:
  tools:
    look: {effect: read, parameters: {type: object, properties: {n: {type: integer}}}}
    refund: {effect: external}
    wipe: {effect: external}
    slow: {effect: read}
    fast: {effect: read}
    broken: {effect: read}
"""


@pytest.fixture
def desk(tmp_path: Path) -> Callable[..., Task]:
    def load(extra: str = "") -> Task:
        (tmp_path / "desk.yaml").write_text(RULES.replace("  tools: [desk-tools]\n", f"  tools: [desk-tools]\n{extra}"))
        return Gate.load(tmp_path / "desk.yaml", clock=FakeClock()).task("t")

    return load


def uses(*calls: tuple[str, dict[str, Any]], stop: str = "tool_use") -> dict[str, Any]:
    """Anthropic's response with calls `t0`, `t1`, …"""
    blocks = [
        {"type": "tool_use", "id": f"t{at}", "name": tool, "input": given} for at, (tool, given) in enumerate(calls)
    ]
    return {
        "role": "assistant",
        "content": blocks,
        "stop_reason": stop,
        "usage": {"input_tokens": 7, "output_tokens": 3},
    }


def calls(*wanted: tuple[str, str]) -> dict[str, Any]:
    """OpenAI's completion with calls `c0`, `c1`, …, arguments as text."""
    entries = [
        {"id": f"c{at}", "type": "function", "function": {"name": tool, "arguments": text}}
        for at, (tool, text) in enumerate(wanted)
    ]
    message = {"role": "assistant", "content": None, "refusal": None, "tool_calls": entries}
    return {"choices": [{"message": message}], "usage": {"total_tokens": 10}}


def contents(turn: Any) -> list[Any]:
    """What the model reads for each call of a turn of Anthropic's."""
    return [block["content"] for block in turn.messages[-1]["content"]]


def test_a_slow_and_a_failing_call_come_in_the_order_of_the_request_in_one_message(desk: Callable[..., Task]) -> None:
    fast_is_done = threading.Event()

    def slow() -> str:
        assert fast_is_done.wait(30)
        return "slow came last"

    def fast() -> str:
        fast_is_done.set()
        return "fast came first"

    def broken() -> str:
        raise LookupError("nobody knows")

    tools = {"slow": slow, "fast": fast, "broken": broken}
    turn = anthropic.take_turn(desk(), uses(("slow", {}), ("broken", {}), ("fast", {})), tools)
    assert turn.messages == [
        {"role": "assistant", "content": uses(("slow", {}), ("broken", {}), ("fast", {}))["content"]},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t0", "content": "slow came last"},
                {
                    "type": "tool_result",
                    "tool_use_id": "t1",
                    "content": "Error: LookupError: nobody knows",
                    "is_error": True,
                },
                {"type": "tool_result", "tool_use_id": "t2", "content": "fast came first"},
            ],
        },
    ]
    assert inspect(turn.messages) == []


def test_openai_gets_a_message_for_each_call_directly_after_the_models(desk: Callable[..., Task]) -> None:
    response = calls(("look", '{"n": 1}'), ("look", '{"n": 2}'))
    turn = openai.take_turn(desk(), response, {"look": lambda n: {"n": n}})
    assistant = {"role": "assistant", "content": None, "tool_calls": response["choices"][0]["message"]["tool_calls"]}
    assert turn.messages == [
        assistant,
        {"role": "tool", "tool_call_id": "c0", "content": '{"n": 1}'},
        {"role": "tool", "tool_call_id": "c1", "content": '{"n": 2}'},
    ]
    assert (turn.done, turn.tool_choice) == (False, "auto")


def test_openais_responses_get_items(desk: Callable[..., Task]) -> None:
    call = {"type": "function_call", "call_id": "c0", "name": "look", "arguments": '{"n": 1}', "status": "completed"}
    thought = {"type": "reasoning", "id": "r", "summary": []}
    turn = openai.take_turn(desk(), {"output": [thought, call]}, {"look": lambda n: n})
    assert turn.messages == [thought, call, {"type": "function_call_output", "call_id": "c0", "output": "1"}]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ('{"n": 1', "the text breaks off after 7 characters"),
        ('{"n": 1, "n": 2}', "the key `n` stands twice"),
        ("[1]", "the arguments are no object"),
    ],
)
def test_arguments_that_cannot_be_read_never_reach_a_tool(desk: Callable[..., Task], arguments: str, why: str) -> None:
    ran: list[Any] = []
    turn = openai.take_turn(desk(), calls(("look", arguments), ("look", '{"n": 3}')), {"look": lambda n: ran.append(n)})
    assert ran == [3]
    assert turn.verdicts[0].reasons == ("invalid_arguments",)
    reply = json.loads(turn.messages[1]["content"])
    assert (reply["success"], reply["code"]) == (False, "INVALID_ARGUMENTS")
    assert reply["message"].startswith(f"The arguments of `look` could not be read: {why}. The tool did not run. ")
    assert inspect(turn.messages) == []  # what goes back is JSON
    assert turn.calls[0].written == arguments


def test_broken_arguments_reach_no_tool_in_audit_mode_either(desk: Callable[..., Task]) -> None:
    ran: list[Any] = []
    task = desk("  mode: audit\n")
    turn = openai.take_turn(task, calls(("look", '{"n": 1')), {"look": lambda **given: ran.append(given)})
    assert ran == []
    assert "could not be read" in turn.messages[1]["content"]


def test_a_call_that_anthropics_limit_of_tokens_cut_off_does_not_run(desk: Callable[..., Task]) -> None:
    ran: list[Any] = []
    response = uses(("look", {"n": 1}), ("look", {}), stop="max_tokens")
    turn = anthropic.take_turn(desk(), response, {"look": lambda n=0: ran.append(n)})
    assert ran == [1]
    assert "broke off at its limit of output tokens" in contents(turn)[1]


def test_the_call_that_broke_off_is_told_beside_one_without_a_name(desk: Callable[..., Task]) -> None:
    ran: list[Any] = []
    response = uses(("", {}), ("look", {"n": 1}), ("look", {}), stop="max_tokens")
    anthropic.take_turn(desk(), response, {"look": lambda n=0: ran.append(n)})
    items = [
        {"type": "function_call", "call_id": "a", "name": "", "arguments": "{}"},
        {"type": "function_call", "call_id": "b", "name": "look", "arguments": '{"n": 2}', "status": "completed"},
        {"type": "function_call", "call_id": "c", "name": "look", "arguments": '{"n": 3}', "status": "incomplete"},
    ]
    openai.take_turn(desk(), {"output": items}, {"look": lambda n: ran.append(n)})
    assert ran == [1, 2]


def test_a_twin_in_one_turn_runs_once_and_both_are_answered(desk: Callable[..., Task]) -> None:
    ran: list[int] = []

    def look(n: int) -> str:
        ran.append(n)
        return f"saw {n}"

    turn = anthropic.take_turn(desk(), uses(("look", {"n": 1}), ("look", {"n": 1})), {"look": look})
    assert (ran, contents(turn)) == ([1], ["saw 1", "saw 1"])


def test_a_note_stands_beside_the_result_that_it_is_about(desk: Callable[..., Task]) -> None:
    task, tools = desk(), {"look": lambda n: [{"type": "text", "text": "pixels"}]}
    for _ in range(2):
        assert contents(anthropic.take_turn(task, uses(("look", {"n": 1})), tools)) == [
            [{"type": "text", "text": "pixels"}]
        ]
    (blocks,) = contents(anthropic.take_turn(task, uses(("look", {"n": 1})), tools))
    assert blocks[0] == {"type": "text", "text": "pixels"}
    assert blocks[1]["text"].startswith("Note: This exact call of `look` has returned the same result 3 times.")


def test_a_refused_call_is_answered_with_what_the_verdict_says(desk: Callable[..., Task]) -> None:
    turn = openai.take_turn(desk(), calls(("look", '{"n": "x"}')), {})
    assert turn.messages[1]["content"] == turn.verdicts[0].reply
    assert json.loads(turn.messages[1]["content"])["code"] == "INVALID_ARGUMENTS"


def test_a_tool_that_the_host_does_not_have_is_an_error_with_the_nearest_name(desk: Callable[..., Task]) -> None:
    turn = anthropic.take_turn(desk(), uses(("look", {"n": 1})), {"looks": lambda n: n})
    assert contents(turn)[0].startswith("Error: there is no tool `look`: did you mean `looks`?")


def test_a_person_decides_about_what_is_asked(desk: Callable[..., Task]) -> None:
    task, asked = desk(), []

    def approve(verdict: Any) -> bool:
        asked.append(verdict.arguments)
        return bool(verdict.arguments["amount"] < 100)

    tools = {"refund": lambda order, amount: "paid"}
    response = uses(("refund", {"order": "1", "amount": 60}), ("refund", {"order": "2", "amount": 600}))
    turn = anthropic.take_turn(task, response, tools, approve=approve)
    assert [given["amount"] for given in asked] == [60, 600]
    paid, denied = contents(turn)
    assert paid == "paid"
    assert json.loads(denied)["message"].startswith("This call of `refund` was denied.")


def test_who_cannot_decide_leaves_no_call_out(desk: Callable[..., Task]) -> None:
    def absent(verdict: Any) -> bool:
        raise ConnectionError("nobody there")

    task = desk()
    response = uses(("look", {"n": 1}), ("refund", {"order": "1", "amount": 60}))
    with pytest.raises(ConnectionError):
        anthropic.take_turn(task, response, {"look": lambda n: n}, approve=absent)
    assert task.spent["tool_calls"] == 0
    with pytest.raises(LookupError):
        task.observe("t0", result=1)


def test_without_anybody_to_ask_the_model_reads_that_a_person_has_to_decide(desk: Callable[..., Task]) -> None:
    turn = anthropic.take_turn(desk(), uses(("refund", {"order": "1", "amount": 60})), {})
    assert [verdict.action for verdict in turn.asked] == ["ask"]
    assert json.loads(contents(turn)[0])["message"].endswith("A person has to decide.")


def test_after_a_stop_the_model_has_one_more_turn_without_tools(desk: Callable[..., Task]) -> None:
    task = desk()
    turn = anthropic.take_turn(task, uses(("wipe", {})), {})
    assert (turn.done, turn.tool_choice) == (False, {"type": "none"})
    again = anthropic.take_turn(task, uses(("look", {"n": 1})), {})
    assert (again.done, again.verdicts[0].reasons[0]) == (True, "stopped")


def test_a_policy_may_end_the_loop_at_the_stop(desk: Callable[..., Task]) -> None:
    turn = anthropic.take_turn(desk("  on_stop: end\n"), uses(("wipe", {})), {})
    assert turn.done


def test_a_response_without_calls_ends_the_loop(desk: Callable[..., Task]) -> None:
    said = {"role": "assistant", "content": [{"type": "text", "text": "Done."}], "stop_reason": "end_turn"}
    turn = anthropic.take_turn(desk(), said, {})
    assert (turn.done, turn.messages) == (True, [{"role": "assistant", "content": said["content"]}])
    paused = anthropic.take_turn(desk(), {**said, "stop_reason": "pause_turn"}, {})
    assert not paused.done


def test_the_tokens_of_a_response_count_against_the_budget(desk: Callable[..., Task]) -> None:
    task = desk()
    anthropic.take_turn(task, uses(("look", {"n": 1})), {"look": lambda n: n})
    openai.take_turn(task, calls(("look", '{"n": 2}')), {"look": lambda n: n})
    openai.take_turn(task, calls(("look", '{"n": 3}')), {"look": lambda n: n}, usage=False)
    assert task.spent["tokens"] == 20.0


def test_the_host_may_run_the_calls_itself(desk: Callable[..., Task]) -> None:
    turn = anthropic.open_turn(desk(), uses(("look", {"n": 1}), ("look", {"n": 2})))
    assert [call.id for call in turn.open] == ["t0", "t1"]
    turn.answer("t1", result="two")
    with pytest.raises(RuntimeError, match="the call `t0` of `look` is not answered yet"):
        _ = turn.messages
    turn.answer("t0", error={"type": "timeout", "message": "30 s"})
    assert contents(turn) == ["Error: 30 s", "two"]


def test_objects_of_a_library_are_read_by_their_fields(desk: Callable[..., Task]) -> None:
    class Thing:
        def __init__(self, **fields: Any) -> None:
            self.__dict__.update(fields)

        def model_dump(self, *, mode: str, exclude_none: bool) -> dict[str, Any]:
            return {
                key: value.model_dump(mode=mode, exclude_none=exclude_none) if isinstance(value, Thing) else value
                for key, value in vars(self).items()
                if value is not None
            }

    block = Thing(type="tool_use", id="t0", name="look", input={"n": 1}, caller=None)
    usage = Thing(input_tokens=5, output_tokens=2, cache_read_input_tokens=None)
    task = desk()
    turn = anthropic.take_turn(task, Thing(content=[block], stop_reason="tool_use", usage=usage), {"look": lambda n: n})
    assert turn.messages[0]["content"] == [{"type": "tool_use", "id": "t0", "name": "look", "input": {"n": 1}}]
    assert (contents(turn), task.spent["tokens"]) == (["1"], 7.0)
    message = Thing(
        role="assistant", content=None, tool_calls=calls(("look", '{"n": 2}'))["choices"][0]["message"]["tool_calls"]
    )
    turn = openai.take_turn(task, Thing(choices=[Thing(message=message)]), {"look": lambda n: n})
    assert turn.messages[1] == {"role": "tool", "tool_call_id": "c0", "content": "2"}


@pytest.mark.parametrize("take", [anthropic.take_turn, openai.take_turn])
@pytest.mark.parametrize("response", [{}, {"error": {"message": "overloaded"}}, "text", None, {"choices": [{}]}])
def test_what_is_no_response_is_refused(desk: Callable[..., Task], take: Any, response: Any) -> None:
    with pytest.raises(MessageError, match="this is no response"):
        take(desk(), response, {})


def test_coroutines_run_at_once_and_come_in_order(desk: Callable[..., Task]) -> None:
    async def both() -> Any:
        fast_is_done = asyncio.Event()

        async def slow() -> str:
            await asyncio.wait_for(fast_is_done.wait(), 30)
            return "slow"

        async def fast() -> str:
            fast_is_done.set()
            return "fast"

        def broken() -> str:
            raise LookupError("nobody")

        tools = {"slow": slow, "fast": fast, "broken": broken}
        return await anthropic.take_turn_async(desk(), uses(("slow", {}), ("broken", {}), ("fast", {})), tools)

    assert contents(asyncio.run(both())) == ["slow", "Error: LookupError: nobody", "fast"]


def test_coroutines_are_refused_before_anything_is_admitted_where_nobody_awaits_them(desk: Callable[..., Task]) -> None:
    async def look(n: int) -> int:
        return n

    task = desk()
    for take, response in ((anthropic.take_turn, uses(("look", {"n": 1}))), (openai.take_turn, calls(("look", "{}")))):
        with pytest.raises(TypeError, match="the tool `look` is a coroutine function: use `take_turn_async`"):
            take(task, response, {"look": look})
    assert task.spent["tool_calls"] == 0


def test_a_cancelled_turn_leaves_no_call_out(desk: Callable[..., Task]) -> None:
    task = desk()

    async def never() -> None:
        await asyncio.Event().wait()

    async def cancel() -> None:
        taking = asyncio.ensure_future(
            anthropic.take_turn_async(task, uses(("slow", {}), ("fast", {})), {"slow": never, "fast": never})
        )
        for _ in range(3):
            await asyncio.sleep(0)
        taking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await taking

    asyncio.run(cancel())
    for call_id in ("t0", "t1"):
        with pytest.raises(LookupError):
            task.observe(call_id, result=1)


@pytest.mark.parametrize("tools", [("slow",), ("slow", "fast")])
def test_an_interruption_is_raised_again_and_leaves_no_call_out(
    desk: Callable[..., Task], tools: tuple[str, ...]
) -> None:
    task = desk()

    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        anthropic.take_turn(task, uses(*((name, {}) for name in tools)), dict.fromkeys(tools, interrupted))
    for at in range(len(tools)):
        with pytest.raises(LookupError):
            task.observe(f"t{at}", result=1)


def test_tools_see_the_context_of_the_caller(desk: Callable[..., Task]) -> None:
    import contextvars

    tenant = contextvars.ContextVar("tenant", default="nobody")
    tenant.set("acme")
    tools = {"slow": tenant.get, "fast": tenant.get}
    assert contents(anthropic.take_turn(desk(), uses(("slow", {}), ("fast", {})), tools)) == ["acme", "acme"]


def test_a_call_without_an_id_gets_one_in_the_message_too(desk: Callable[..., Task]) -> None:
    response = calls(("look", '{"n": 1}'))
    del response["choices"][0]["message"]["tool_calls"][0]["id"]
    turn = openai.take_turn(desk(), response, {"look": lambda n: n})
    assert [entry["id"] for entry in turn.messages[0]["tool_calls"]] == ["call_1"]
    assert turn.messages[1] == {"role": "tool", "tool_call_id": "call_1", "content": "1"}


ARGUMENTS = st.sampled_from(
    ['{"n": 1}', '{"n": 2}', "", '{"n": ', "[1]", "null", '{"n": 1, "n": 2}', "\ud800", None, 7]
)
IDS = st.sampled_from(["a", "b", "", None])


@given(
    wanted=st.lists(st.tuples(IDS, st.sampled_from(["look", "fast", "nobody", "", None]), ARGUMENTS), max_size=5),
    failing=st.booleans(),
)
def test_whatever_a_model_asks_for_the_messages_are_in_order_and_tools_get_objects(
    wanted: list[tuple[Any, Any, Any]], failing: bool
) -> None:
    handed: list[Any] = []

    def tool(**given: Any) -> str:
        handed.append(given)
        if failing:
            raise LookupError("nobody")
        return "fine"

    entries = [
        {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}
        for id_, name, arguments in wanted
    ]
    task = DEFAULT.task("t")
    tools = {"look": tool, "fast": tool}
    turn = openai.take_turn(task, {"choices": [{"message": {"role": "assistant", "tool_calls": entries}}]}, tools)
    assert passes(inspect(turn.messages))
    assert len(turn.messages) == (1 + len(turn.calls) if turn.calls else 0)
    assert all(given in ({"n": 1}, {"n": 2}, {}) for given in handed)
    assert all(verdict.call_id == call.id for call, verdict in zip(turn.calls, turn.verdicts, strict=True))


DEFAULT = Gate.load("default")


@given(
    wanted=st.lists(
        st.tuples(
            IDS, st.sampled_from(["look", "nobody", "", None]), st.sampled_from([{"n": 1}, {}, '{"n": 2}', None, 7])
        ),
        max_size=4,
    ),
    cut=st.booleans(),
)
def test_whatever_anthropics_model_asks_for_one_message_answers_it(
    wanted: list[tuple[Any, Any, Any]], cut: bool
) -> None:
    blocks = [{"type": "tool_use", "id": id_, "name": name, "input": given} for id_, name, given in wanted]
    response = {
        "content": [{"type": "text", "text": "hm"}, *blocks],
        "stop_reason": "max_tokens" if cut else "tool_use",
    }
    turn = anthropic.take_turn(DEFAULT.task("t"), response, {"look": lambda **given: str(given)})
    assert passes(inspect(turn.messages))
    assert [message["role"] for message in turn.messages] == ["assistant", "user"][: 1 + bool(turn.calls)]
