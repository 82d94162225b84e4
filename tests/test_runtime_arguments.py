"""What a host hands over wrongly is told by the argument's name and what it has to be, and changes nothing."""

from typing import Any

import pytest

from callgate import Gate, SpawnError, UnknownCallError

GATE = Gate.load("default")
CALL = 'a call is a mapping such as {"tool": "search", "arguments": {"q": "x"}, "call_id": "c1"}'


def test_a_gate_of_a_name_is_told_to_be_loaded() -> None:
    made: Any = Gate
    with pytest.raises(TypeError) as told:
        made("default")
    assert str(told.value) == "`Gate` takes a compiled policy: `Gate.load('default')` loads one from a path or a pack"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"source": 3}, "`source` has to be a text, found `int`"),
        ({"source": None}, "`source` has to be a text, found None"),
        ({"policy": b"x"}, "`policy` has to be a text, found bytes"),
        ({"escalations": 3}, "`escalations` has to be the path of a file, found `int`"),
        ({"escalations": b"desk.db"}, "`escalations` has to be the path of a file, found bytes"),
        ({"escalations": ["desk.db"]}, "`escalations` has to be the path of a file, found a list"),
    ],
)
def test_what_is_loaded_is_named_by_text(arguments: dict[str, Any], told: str) -> None:
    with pytest.raises(TypeError) as error:
        Gate.load(**arguments)
    assert str(error.value) == told


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"task_id": 4711}, "`task_id` has to be a text, found `int`"),
        ({"agent": None}, "`agent` has to be a text, found None"),
        ({"trace_id": 1.5}, "`trace_id` has to be a text, found `float`"),
        ({"conversation_id": ["c"]}, "`conversation_id` has to be a text, found a list"),
        ({"tenant": {"a": 1}}, "`tenant` has to be a text, found a dictionary"),
        ({"labels": ["a"]}, "`labels` has to be a mapping from texts, found a list"),
        ({"labels": {"a": 1}}, "`labels['a']` has to be a text, found `int`"),
        ({"labels": {1: "a"}}, "the keys of `labels` have to be texts, found `int`: 1"),
        ({"context": "eu"}, "`context` has to be a mapping from texts, found a text"),
        ({"context": {("a", "b"): 1}}, "the keys of `context` have to be texts, found a tuple: ('a', 'b')"),
    ],
)
def test_a_task_says_what_it_takes(arguments: dict[str, Any], told: str) -> None:
    with pytest.raises(TypeError) as error:
        GATE.task(**{"task_id": "t", **arguments})
    assert str(error.value) == told


@pytest.mark.parametrize(
    ("calls", "told"),
    [
        ({"tool": "f", "arguments": {}}, f"`calls` has to be a list of calls, found a dictionary: {CALL}"),
        ("f", f"`calls` has to be a list of calls, found a text: {CALL}"),
        (None, f"`calls` has to be a list of calls, found None: {CALL}"),
        ([("f", {})], f"`calls[0]` has to be a mapping, found a tuple: {CALL}"),
        (
            [{"tool": "f", "arguments": {}}, {"name": "f", "input": {}}],
            f"`calls[1]` lacks `tool`, and has `name`, `input`: {CALL}",
        ),
        ([{"tool": 3, "arguments": {}}], "`calls[0]['tool']` has to be a text, found `int`"),
        (
            [{"tool": "f", "arguments": {}, "call_id": 3}],
            "`calls[0]['call_id']` has to be a text, found `int`",
        ),
        (
            [{"tool": "f", "arguments": {}, "hints": "x"}],
            "`calls[0]['hints']` has to be a mapping from texts, found a text",
        ),
        ([{"tool": "f"}], f"`calls[0]` lacks `arguments`, and has `tool`: {CALL}"),
    ],
)
def test_a_batch_of_another_shape_is_told_and_nothing_is_judged(calls: Any, told: str) -> None:
    task = GATE.task("t")
    with pytest.raises(TypeError) as error:
        task.admit_all(calls)
    assert (str(error.value), task.spent["tool_calls"]) == (told, 0)


@pytest.mark.parametrize("result", [{"rows": []}, None])
def test_a_call_that_raised_has_no_result(result: object) -> None:
    task = GATE.task("t")
    task.admit("f", {}, call_id="c1")
    with pytest.raises(ValueError, match="a call that raised has no result, and both were handed over: leave `result`"):
        task.observe("c1", result=result, error=TimeoutError())
    assert task.observe("c1", error=TimeoutError()).grade == "failed"  # it was still out


@pytest.mark.parametrize("error", [{"error": {"type": "exit_nonzero"}}, {"error": "exit 1"}, {"is_error": True}])
def test_a_result_may_come_with_the_description_of_an_error(error: dict[str, Any]) -> None:
    task = GATE.task("t")
    task.admit("f", {}, call_id="c1")
    assert task.observe("c1", result="2 failed in 12 s", **error).grade == "failed"


@pytest.mark.parametrize("method", ["observe", "abandon", "approve", "deny"])
def test_a_call_id_is_a_text(method: str) -> None:
    task = GATE.task("t")
    with pytest.raises(TypeError, match="`call_id` has to be a text, found `int`"):
        getattr(task, method)(7)
    with pytest.raises(UnknownCallError):
        getattr(task, method)("7")


def test_a_second_agent_of_one_name_is_told_as_such() -> None:
    task = GATE.task("t")
    task.child("worker")
    with pytest.raises(SpawnError) as told:
        task.child("worker")
    assert (str(told.value), told.value.reason) == ("an agent named `worker` is in this task already", "bad_call_id")
    other: Any = task
    with pytest.raises(TypeError, match="`agent` has to be a text, found None"):
        other.child(None)


@pytest.mark.parametrize(
    ("method", "arguments", "told"),
    [
        ("admit", {"tool": None}, "`tool` has to be a text, found None"),
        ("admit", {"call_id": 5}, "`call_id` has to be a text, found `int`"),
        ("admit", {"hints": ["a"]}, "`hints` has to be a mapping from texts, found a list"),
        ("admit", {"now": "12"}, "`now` has to be a number, found a text"),
        ("usage", {"tokens": "4"}, "`tokens` has to be a number, found a text"),
        ("usage", {"cost": None}, "`cost` has to be a number, found None"),
        ("user_turn", {"now": [1]}, "`now` has to be a number, found a list"),
        ("observe", {"tokens": "4"}, "`tokens` has to be a number, found a text"),
        (
            "observe", {"error": 5},
            "`error` has to be an exception, a dictionary with `type`, `status` and `message`, or a text, found `int`",
        ),
    ],
)  # fmt: skip
def test_every_argument_is_told_by_its_name(method: str, arguments: dict[str, Any], told: str) -> None:
    task = GATE.task("t")
    task.admit("f", {}, call_id="c1")
    usual: dict[str, dict[str, Any]] = {
        "admit": {"tool": "f", "arguments": {}}, "usage": {}, "user_turn": {"by": "human"},
        "observe": {"call_id": "c1"},
    }  # fmt: skip
    with pytest.raises(TypeError) as error:
        getattr(task, method)(**{**usual[method], **arguments})
    assert str(error.value) == told
    assert task.observe("c1", result=1).grade == "sufficient"  # nothing had happened
