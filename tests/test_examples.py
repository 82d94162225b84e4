"""The examples run against a scripted server that is as strict as the real ones, and end as their pages say."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from callgate.messages import inspect, passes

LOOPS = {
    "anthropic_loop": "14 messages, 5 calls ran, stopped: True",
    "openai_chat_loop": "16 messages, 5 calls ran, stopped: True",
    "openai_responses_loop": "18 items, 5 calls ran, stopped: True",
}


@pytest.mark.parametrize("name", LOOPS)
def test_an_example_runs_and_is_stopped_where_it_goes_round(root: Path, name: str) -> None:
    done = subprocess.run(
        [sys.executable, str(root / "examples" / f"{name}.py")], capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0] == LOOPS[name]
    assert "Order 4711 is on its way, 4712 is open; I found no order 9999." in done.stdout


@pytest.fixture
def examples(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(root / "examples"))


@pytest.mark.parametrize("name", LOOPS)
def test_what_an_example_sends_is_in_order_at_every_turn(examples: None, name: str) -> None:
    from importlib import import_module

    server: Any = import_module("scripted_server")
    desk: Any = import_module("order_desk")
    scripted = server.ScriptedServer(desk.SCRIPT, desk.LAST)
    with scripted as url:
        import_module(name).run(url)
    assert len(scripted.requests) == 7
    for request in scripted.requests:
        assert passes(inspect(request.get("messages") or request["input"]))
    assert [request["tool_choice"] in ("none", {"type": "none"}) for request in scripted.requests] == [False] * 6 + [
        True
    ]


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/chat/completions", "/v1/responses"])
def test_the_server_refuses_a_call_without_its_result(examples: None, path: str) -> None:
    from importlib import import_module

    server: Any = import_module("scripted_server")
    desk: Any = import_module("order_desk")
    scripted = server.ScriptedServer([])
    lists = {
        "/v1/messages": [{"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]}],
        "/v1/chat/completions": [
            {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}]}
        ],
        "/v1/responses": [{"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}],
    }
    key = "input" if path == "/v1/responses" else "messages"
    tools = {"/v1/messages": desk.ANTHROPIC, "/v1/responses": desk.RESPONSES}.get(path, desk.CHAT)
    code, answer = scripted.answer(path, {"model": "m", "tools": tools, key: []})
    assert code == 200
    code, answer = scripted.answer(path, {"model": "m", "tools": tools, key: lists[path]})
    assert (code, answer["error"]["type"]) == (400, "invalid_request_error")
    why = {"/v1/messages": "without `tool_result` blocks", "/v1/responses": "No tool output found"}
    assert why.get(path, "did not have response messages") in answer["error"]["message"]
