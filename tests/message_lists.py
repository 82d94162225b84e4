"""Message lists for the tests: words to write them with, broken ones with their findings by hand, healthy ones."""

import json
from typing import Any, NamedTuple

Message = dict[str, Any]


# ---- OpenAI's chat completions


def said(text: str, role: str = "user") -> Message:
    return {"role": role, "content": text}


def asked(*calls: tuple[str | None, str, str], content: str | None = None) -> Message:
    """An assistant's message with calls (id, tool, arguments as text)."""
    entries = [
        {"type": "function", "function": {"name": tool, "arguments": arguments}} | ({"id": id_} if id_ else {})
        for id_, tool, arguments in calls
    ]
    return {"role": "assistant", "content": content, "tool_calls": entries}


def told(id_: str | None, content: str) -> Message:
    return {"role": "tool", "content": content} | ({"tool_call_id": id_} if id_ else {})


# ---- Anthropic


def use(id_: str | None, tool: str, **arguments: Any) -> Message:
    return {"type": "tool_use", "name": tool, "input": arguments} | ({"id": id_} if id_ else {})


def result(id_: str | None, content: Any, **more: Any) -> Message:
    return {"type": "tool_result", "content": content, **more} | ({"tool_use_id": id_} if id_ else {})


def text(words: str) -> Message:
    return {"type": "text", "text": words}


def model(*blocks: Message) -> Message:
    return {"role": "assistant", "content": list(blocks)}


def user(*blocks: Message) -> Message:
    return {"role": "user", "content": list(blocks)}


# ---- OpenAI's responses


def calls(id_: str, tool: str, arguments: str = "{}") -> Message:
    return {"type": "function_call", "call_id": id_, "name": tool, "arguments": arguments}


def output(id_: str, content: str) -> Message:
    return {"type": "function_call_output", "call_id": id_, "output": content}


class Broken(NamedTuple):
    """A broken list: its shape, the list, and what has to be found: kind, index of the message, id."""

    shape: str
    messages: list[Message]
    findings: list[tuple[str, int, str | None]]


CHAT, RESPONSES, ANTHROPIC = "openai_chat", "openai_responses", "anthropic"

BROKEN: dict[str, Broken] = {
    "a call is never answered": Broken(
        CHAT,
        [said("Where is order 4711?"), asked(("c1", "get_order", '{"order": "4711"}')), said("Well?")],
        [("missing_result", 1, "c1")],
    ),
    "one of two parallel calls is not answered": Broken(
        CHAT,
        [
            said("Both, please."),
            asked(("c1", "get_order", '{"order": "1"}'), ("c2", "get_order", '{"order": "2"}')),
            told("c2", "shipped"),
            said("And the first?"),
        ],
        [("missing_result", 1, "c1")],
    ),
    "the list ends with an open call": Broken(
        ANTHROPIC,
        [said("Weather in Oslo?"), model(text("I look."), use("t1", "weather", city="Oslo"))],
        [("missing_result", 1, "t1")],
    ),
    "the result carries an id of its own": Broken(
        CHAT,
        [said("Go."), asked(("call_9f", "run", '{"n": 1}')), told("run-1", "done")],
        [("mismatched_id", 2, "run-1")],
    ),
    "a block answers an id that nobody used": Broken(
        ANTHROPIC,
        [
            said("Go."),
            model(use("t1", "run", n=1)),
            user(result("t1", "done"), result("t7", "also done")),
        ],
        [("orphan_result", 2, "t7")],
    ),
    "trimming cut between a call and its result": Broken(
        CHAT,
        [said("You help.", "system"), told("c1", "shipped"), said("Thanks. And 4712?")],
        [("trimmed_call", 1, "c1")],
    ),
    "trimming left a result at the head": Broken(
        ANTHROPIC,
        [
            user(result("t1", "shipped")),
            model(text("It is on its way.")),
            said("And 4712?"),
            model(use("t2", "get_order", order="4712")),
            user(result("t2", "open")),
        ],
        [("trimmed_call", 0, "t1")],
    ),
    "two parallel calls have one id": Broken(
        CHAT,
        [
            said("Both."),
            asked(("c1", "get_order", '{"order": "1"}'), ("c1", "get_order", '{"order": "2"}')),
            told("c1", "shipped"),
            told("c1", "open"),
        ],
        [("duplicate_call_id", 1, "c1")],
    ),
    "an id comes again in a later turn": Broken(
        ANTHROPIC,
        [
            said("Go."),
            model(use("t1", "get_order", order="1")),
            user(result("t1", "shipped")),
            model(use("t1", "get_order", order="2")),
            user(result("t1", "open")),
        ],
        [("duplicate_call_id", 3, "t1")],
    ),
    "a call is answered twice": Broken(
        CHAT,
        [said("Go."), asked(("c1", "run", "{}")), told("c1", "running"), told("c1", "done")],
        [("duplicate_result", 3, "c1")],
    ),
    "the user's word stands between call and result": Broken(
        CHAT,
        [said("Go."), asked(("c1", "run", "{}")), said("Hurry."), told("c1", "done")],
        [("misplaced_result", 3, "c1")],
    ),
    "a result comes a turn late": Broken(
        ANTHROPIC,
        [
            said("Go."),
            model(use("t1", "slow")),
            user(text("It is still running.")),
            model(text("I wait.")),
            user(result("t1", "done")),
        ],
        [("misplaced_result", 4, "t1")],
    ),
    "text stands before the results": Broken(
        ANTHROPIC,
        [said("Go."), model(use("t1", "run")), user(text("Here you are:"), result("t1", "done"))],
        [("text_before_result", 2, "t1")],
    ),
    "the results of a turn are split": Broken(
        ANTHROPIC,
        [
            said("Both."),
            model(use("t1", "run", n=1), use("t2", "run", n=2)),
            user(result("t1", "one")),
            user(result("t2", "two")),
        ],
        [("split_results", 3, "t2")],
    ),
    "results in the order in which the tools finished": Broken(
        CHAT,
        [
            said("Both."),
            asked(("c1", "slow", "{}"), ("c2", "fast", "{}")),
            told("c2", "first"),
            told("c1", "second"),
        ],
        [("results_out_of_order", 2, "c2")],
    ),
    "results of a message in another order": Broken(
        ANTHROPIC,
        [said("Both."), model(use("t1", "slow"), use("t2", "fast")), user(result("t2", "1st"), result("t1", "2nd"))],
        [("results_out_of_order", 2, "t2")],
    ),
    "arguments cut off by the token limit": Broken(
        CHAT,
        [
            said("Write it."),
            asked(("c1", "write_file", '{"path": "a.txt", "content": "Once upon a ti')),
            told("c1", "error: invalid JSON"),
        ],
        [("arguments_cut_off", 1, "c1")],
    ),
    "arguments with a key that stands twice": Broken(
        CHAT,
        [said("Pay."), asked(("c1", "pay", '{"amount": 1, "amount": 100}')), told("c1", "paid")],
        [("arguments_not_json", 1, "c1")],
    ),
    "arguments as text where an object belongs": Broken(
        ANTHROPIC,
        [
            said("Go."),
            model({"type": "tool_use", "id": "t1", "name": "run", "input": '{"n": 1}'}),
            user(result("t1", "done")),
        ],
        [("arguments_not_json", 1, "t1")],
    ),
    "a call and a result without ids": Broken(
        CHAT,
        [said("Go."), asked((None, "run", "{}")), told(None, "done")],
        [("missing_id", 1, None), ("missing_id", 2, None)],
    ),
    "a call that names no tool": Broken(
        ANTHROPIC,
        [said("Go."), model(text("I try."), {"type": "tool_use", "id": "t1", "input": {}}), said("What?")],
        [("malformed_call", 1, None)],
    ),
    "a result that breaks off": Broken(
        CHAT,
        [
            said("All orders."),
            asked(("c1", "list_orders", "{}")),
            told("c1", '{"orders": [{"id": 4711, "state": "shipped"}, {"id": 47'),
            said("Which are open?"),
        ],
        [("result_cut_off", 2, "c1")],
    ),
    "a result that was cleared to save room": Broken(
        ANTHROPIC,
        [
            said("Read it."),
            model(use("t1", "read_file", path="a.py")),
            user(result("t1", "[Old tool result content cleared]")),
            model(text("It defines f.")),
        ],
        [("result_cleared", 2, "t1")],
    ),
    "a call made again though its answer stands there": Broken(
        CHAT,
        [
            said("Where is order 4711?"),
            asked(("c1", "get_order", '{"order": "4711", "full": false}')),
            told("c1", "shipped"),
            asked(("c2", "get_order", '{"full": false, "order": "4711"}')),
            told("c2", "shipped"),
        ],
        [("repeated_call", 3, "c2")],
    ),
    "an output without its call, and a call without its output": Broken(
        RESPONSES,
        [
            said("Go."),
            calls("fc1", "run", '{"n": 1}'),
            said("Well?"),
            calls("fc2", "run", '{"n": 2}'),
            output("fc2", "two"),
            output("fc9", "nine"),
        ],
        [("missing_result", 1, "fc1"), ("orphan_result", 5, "fc9")],
    ),
    "an output that comes after the user spoke": Broken(
        RESPONSES,
        [said("Go."), calls("fc1", "run"), said("Hurry."), output("fc1", "done")],
        [("misplaced_result", 3, "fc1")],
    ),
    "three faults in one list": Broken(
        CHAT,
        [
            told("c0", "left over"),
            said("Go."),
            asked(("c1", "run", '{"n": 1'), ("c2", "run", '{"n": 2}')),
            told("c1", "error: invalid JSON"),
            said("And?"),
        ],
        [("trimmed_call", 0, "c0"), ("arguments_cut_off", 2, "c1"), ("missing_result", 2, "c2")],
    ),
}

HEALTHY: dict[str, tuple[str, list[Message]]] = {
    "nothing but words": (CHAT, [said("You help.", "system"), said("Hello."), said("Hello!", "assistant")]),
    "two turns, one of them parallel": (
        CHAT,
        [
            said("Compare."),
            asked(("c1", "get", '{"id": 1}'), ("c2", "get", '{"id": 2}')),
            told("c1", "a"),
            told("c2", "b"),
            asked(("c3", "get", '{"id": 3}'), content="One more."),
            told("c3", ""),
            said("b is larger.", "assistant"),
        ],
    ),
    "tests run again after an edit": (
        CHAT,
        [
            said("Make it pass."),
            asked(("c1", "run_tests", "{}")),
            told("c1", "1 failed"),
            asked(("c2", "edit", '{"path": "a.py", "to": "x"}')),
            told("c2", "done"),
            asked(("c3", "run_tests", "{}")),
            told("c3", "1 failed"),
        ],
    ),
    "the same question after the user spoke again": (
        ANTHROPIC,
        [
            said("Stock of 6204?"),
            model(use("t1", "stock", part="6204")),
            user(result("t1", "12")),
            model(text("Twelve.")),
            said("And now?"),
            model(use("t2", "stock", part="6204")),
            user(result("t2", "11")),
        ],
    ),
    "a failed call tried again": (
        ANTHROPIC,
        [
            said("Go."),
            model(use("t1", "fetch", url="x")),
            user(result("t1", "503", is_error=True)),
            model(use("t2", "fetch", url="x")),
            user(result("t2", "fine")),
        ],
    ),
    "thoughts, server tools, pictures, and a word after the results": (
        ANTHROPIC,
        [
            said("Go."),
            model(
                {"type": "thinking", "thinking": "…", "signature": "s"},
                {"type": "server_tool_use", "id": "srv1", "name": "web_search", "input": {"query": "x"}},
                {"type": "web_search_tool_result", "tool_use_id": "srv1", "content": []},
                use("t1", "photo"),
            ),
            user(
                result("t1", [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": ""}}]),
                text("Please hurry."),
            ),
        ],
    ),
    "reasoning, a call, and its output beside it": (
        RESPONSES,
        [
            {"role": "user", "content": [{"type": "input_text", "text": "Go."}]},
            {"type": "reasoning", "id": "rs1", "summary": []},
            calls("fc1", "run"),
            output("fc1", "done"),
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]},
        ],
    ),
    "a log in brackets, an opened brace, a long text": (
        CHAT,
        [
            said("Look."),
            asked(("c1", "log", "{}"), ("c2", "read", '{"path": "a.c"}'), ("c3", "page", "{}")),
            told("c1", "[INFO] server is up and listens on port 80"),
            told("c2", "{ int main() { return 0; } }"),
            told("c3", json.dumps({"items": list(range(40)), "next": "cursor-2"})),
        ],
    ),
    "arguments left out": (CHAT, [said("Go."), asked(("c1", "now", "")), told("c1", "12:00")]),
}
