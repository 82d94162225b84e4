"""Mending message lists: what comes out is in order, what was in order stays as it is."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.messages import LOST, inspect, passes, repair
from callgate.messages.shape import detect
from message_lists import (
    ANTHROPIC,
    BROKEN,
    CHAT,
    HEALTHY,
    RESPONSES,
    asked,
    model,
    output,
    result,
    said,
    told,
    use,
    user,
)
from message_lists import calls as call_item
from message_lists import text as words

# What nobody can mend: a result that is gone stays gone, and what was done twice was done twice.
STAYS = {"result_cut_off", "result_cleared", "repeated_call"}


@pytest.mark.parametrize("name", BROKEN)
def test_a_mended_list_has_nothing_left_to_mend(name: str) -> None:
    broken = BROKEN[name]
    before = copy.deepcopy(broken.messages)
    mended = repair(broken.messages, shape=broken.shape)
    assert broken.messages == before
    assert {each.kind for each in inspect(mended, shape=broken.shape)} <= STAYS
    assert repair(mended, shape=broken.shape) == mended


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_list_stays_as_it_is(name: str) -> None:
    shape, messages = HEALTHY[name]
    assert repair(messages, shape=shape) == messages


def test_a_lost_result_is_said_to_be_lost_in_each_shape() -> None:
    assert repair([asked(("c1", "run", "{}")), said("Well?")]) == [
        asked(("c1", "run", "{}")), told("c1", LOST), said("Well?"),
    ]  # fmt: skip
    assert repair([model(use("t1", "run")), said("Well?")]) == [
        model(use("t1", "run")), user(result("t1", LOST, is_error=True)), said("Well?"),
    ]  # fmt: skip
    assert repair([call_item("f1", "run"), said("Well?")]) == [
        call_item("f1", "run"), output("f1", LOST), said("Well?"),
    ]  # fmt: skip


def test_a_result_is_put_where_it_belongs_and_what_was_said_comes_after() -> None:
    late = [model(use("t1", "a"), use("t2", "b")), user(words("Wait."), result("t2", "2")), user(result("t1", "1"))]
    assert repair(late) == [
        model(use("t1", "a"), use("t2", "b")), user(result("t1", "1"), result("t2", "2"), words("Wait.")),
    ]  # fmt: skip


def test_a_result_with_another_id_gets_that_of_its_call() -> None:
    assert repair([asked(("c1", "run", "{}")), told("x", "done")]) == [asked(("c1", "run", "{}")), told("c1", "done")]


def test_two_results_with_other_ids_are_not_guessed() -> None:
    messages = [asked(("c1", "a", "{}"), ("c2", "b", "{}")), told("x", "1"), told("y", "2")]
    assert repair(messages) == [messages[0], told("c1", LOST), told("c2", LOST)]


def test_where_nobody_has_an_id_the_place_decides() -> None:
    messages = [asked((None, "a", "{}"), (None, "b", "{}")), told(None, "1"), told(None, "2")]
    assert repair(messages) == [
        asked(("call_1", "a", "{}"), ("call_2", "b", "{}")),
        told("call_1", "1"),
        told("call_2", "2"),
    ]


def test_an_id_that_comes_again_is_made_a_new_one_with_its_result() -> None:
    messages = [asked(("c", "a", "{}")), told("c", "1"), asked(("c", "b", "{}")), told("c", "2")]
    assert repair(messages) == [asked(("c", "a", "{}")), told("c", "1"), asked(("c_2", "b", "{}")), told("c_2", "2")]


def test_of_two_results_the_last_stays_and_never_one_that_says_lost() -> None:
    call = asked(("c", "a", "{}"))
    assert repair([call, told("c", "running"), told("c", "done")]) == [call, told("c", "done")]
    assert repair([call, told("c", "done"), told("c", LOST)]) == [call, told("c", "done")]


def test_arguments_that_are_no_json_are_kept_as_text() -> None:
    (call, _) = repair([asked(("c", "a", '{"q": "be')), told("c", "error")])
    assert call["tool_calls"][0]["function"]["arguments"] == '{"INVALID_JSON": "{\\"q\\": \\"be"}'
    (call, _) = repair(
        [model({"type": "tool_use", "id": "t", "name": "a", "input": '{"q": "be'}), user(result("t", ""))]
    )
    assert call["content"][0]["input"] == {"INVALID_JSON": '{"q": "be'}
    (call, _) = repair(
        [model({"type": "tool_use", "id": "t", "name": "a", "input": '{"q": 1}'}), user(result("t", ""))]
    )
    assert call["content"][0]["input"] == {"q": 1}


def test_a_call_without_a_name_goes_and_takes_an_empty_message_along() -> None:
    nameless = {"type": "function", "id": "c", "function": {"arguments": "{}"}}
    assert repair([{"role": "assistant", "content": None, "tool_calls": [nameless]}, said("What?")]) == [said("What?")]
    assert repair([{"role": "assistant", "content": "I try.", "tool_calls": [nameless]}]) == [
        said("I try.", "assistant")
    ]


IDS = st.sampled_from([None, "", "a", "b", "c", "d", 7])
TOOLS = st.sampled_from(["look", "edit", "", None])
TEXTS = st.sampled_from(["fine", "", "{", LOST, "[truncated]", '{"items": [1, 2, 3, 4, 5'])
WRITTEN = st.sampled_from(["{}", "", '{"q": 1}', '{"q": ', "[1]", "nonsense", None, {"q": 1}, 7])


def keyed(*pairs: tuple[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in pairs if value is not None}


@st.composite
def chat_lists(draw: st.DrawFn) -> list[Any]:
    def entry() -> Any:
        if draw(st.integers(0, 9)) == 0:
            return draw(st.sampled_from([None, 3, {}]))
        function = keyed(("name", draw(TOOLS)), ("arguments", draw(WRITTEN)))
        return keyed(("type", "function"), ("id", draw(IDS)), ("function", function))

    def message() -> Any:
        kind = draw(st.sampled_from(["user", "system", "words", "calls", "calls", "result", "result", "result"]))
        if kind == "words":
            return said("hm", "assistant")
        if kind == "result":
            return keyed(("role", "tool"), ("tool_call_id", draw(IDS)), ("content", draw(TEXTS)))
        if kind != "calls":
            return said("hello", kind)
        entries = [entry() for _ in range(draw(st.integers(0, 3)))]
        return {"role": "assistant", "content": draw(st.sampled_from([None, "hm"])), "tool_calls": entries}

    return [message() for _ in range(draw(st.integers(0, 9)))]


@st.composite
def anthropic_lists(draw: st.DrawFn) -> list[Any]:
    def block() -> Any:
        kind = draw(st.sampled_from(["text", "use", "use", "result", "result", "other"]))
        if kind == "use":
            return keyed(("type", "tool_use"), ("id", draw(IDS)), ("name", draw(TOOLS)), ("input", draw(WRITTEN)))
        if kind == "result":
            return keyed(("type", "tool_result"), ("tool_use_id", draw(IDS)), ("content", draw(TEXTS)))
        return words("hm") if kind == "text" else draw(st.sampled_from([{"type": "thinking"}, "loose", None]))

    def message() -> Any:
        role = draw(st.sampled_from(["user", "assistant"]))
        if draw(st.integers(0, 4)) == 0:
            return {"role": role, "content": draw(st.sampled_from(["hello", "", None]))}
        return {"role": role, "content": [block() for _ in range(draw(st.integers(0, 4)))]}

    return [message() for _ in range(draw(st.integers(0, 7)))]


@st.composite
def responses_lists(draw: st.DrawFn) -> list[Any]:
    def item() -> Any:
        kind = draw(st.sampled_from(["call", "call", "output", "output", "reasoning", "user", "assistant"]))
        if kind == "call":
            which = draw(st.sampled_from([("function_call", "arguments"), ("custom_tool_call", "input")]))
            pairs = (("call_id", draw(IDS)), ("name", draw(TOOLS)), (which[1], draw(WRITTEN)))
            return keyed(("type", which[0]), *pairs)
        if kind == "output":
            return keyed(("type", "function_call_output"), ("call_id", draw(IDS)), ("output", draw(TEXTS)))
        return {"type": "reasoning"} if kind == "reasoning" else said("hm", kind)

    return [item() for _ in range(draw(st.integers(0, 9)))]


LISTS = {CHAT: chat_lists(), ANTHROPIC: anthropic_lists(), RESPONSES: responses_lists()}


@pytest.mark.parametrize("shape", LISTS)
@given(data=st.data())
def test_whatever_is_mended_passes(shape: str, data: st.DataObject) -> None:
    messages = data.draw(LISTS[shape])
    before = copy.deepcopy(messages)
    mended = repair(messages, shape=shape)
    assert messages == before
    left = inspect(mended, shape=shape)
    assert passes(left)
    assert {each.kind for each in left} <= STAYS
    assert repair(mended, shape=shape) == mended


@pytest.mark.parametrize("shape", LISTS)
@given(data=st.data())
def test_a_list_without_a_finding_is_not_changed(shape: str, data: st.DataObject) -> None:
    messages = data.draw(LISTS[shape])
    if not {each.kind for each in inspect(messages, shape=shape)} - STAYS:
        assert repair(messages, shape=shape) == messages


def test_a_list_of_calls_without_calls_is_taken_out() -> None:
    empty: dict[str, Any] = {"role": "assistant", "content": "hm", "tool_calls": []}
    assert [each.kind for each in inspect([empty])] == ["malformed_call"]
    assert repair([empty]) == [said("hm", "assistant")]
    assert repair([{"role": "assistant", "content": None, "tool_calls": []}], shape=CHAT) == []


KEYS = st.sampled_from(
    ["role", "content", "type", "id", "name", "input", "tool_calls", "function", "arguments", "tool_call_id", "call_id",
     "output", "text", "tool_use_id", "is_error", "custom"]
)  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=12,
)
WORDS = st.sampled_from(
    ["assistant", "user", "tool", "system", "tool_use", "tool_result", "function_call", "function_call_output", "text"]
)
VALUES = JSON | WORDS | st.lists(st.dictionaries(KEYS, JSON | WORDS, max_size=5), max_size=3)


@pytest.mark.parametrize("shape", [None, *LISTS])
@given(messages=st.lists(st.dictionaries(KEYS, VALUES, max_size=6), max_size=5))
def test_no_data_whatever_breaks_reading_and_mending(shape: str | None, messages: list[Any]) -> None:
    inspect(messages, shape=shape)
    mended = repair(messages, shape=shape)
    assert passes(inspect(mended, shape=shape or detect(messages)))
