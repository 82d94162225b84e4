"""A local server that speaks Anthropic's and OpenAI's wire formats and says what a script says; no key, no network.

It answers `POST /v1/messages`, `/v1/chat/completions` and `/v1/responses`, and is as strict about message lists as the
real ones: a call without its result, a result without its call, or a result in the wrong place is refused with 400.

    with ScriptedServer([["get_order", {"order": "4711"}]], "It is on its way.") as url: ...
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

# A step of the script: the calls of one turn, each a tool and its arguments; arguments that are text are sent as such.
Step = Sequence[tuple[str, Any]]


class RefusedError(Exception):
    """The request breaks a rule of the wire format."""


class ScriptedServer:
    """Serves on a free port of this machine while its `with` block runs. `requests` holds the bodies that came in."""

    def __init__(self, script: Sequence[Step], last: str = "Done.") -> None:
        self.script = list(script)
        self.last = last
        self.requests: list[dict[str, Any]] = []

    def answering(self) -> type[BaseHTTPRequestHandler]:
        """What handles a request."""
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                code, answer = outer.answer(self.path, body)
                data = json.dumps(answer).encode()
                self.send_response(code)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        return Handler

    def __enter__(self) -> str:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self.answering())
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{self._server.server_port}"

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        """The status and the JSON for a request."""
        speak = {"/v1/messages": anthropic, "/v1/chat/completions": chat, "/v1/responses": responses}.get(path)
        if speak is None:
            return 404, {"error": {"type": "not_found_error", "message": path}}
        turn = len(self.requests)
        self.requests.append(body)
        try:
            refuse_unless_tools(body)
            tools_allowed = body.get("tool_choice") not in ("none", {"type": "none"})
            step = self.script[turn] if turn < len(self.script) and tools_allowed else ()
            return 200, speak(body, step, self.last, turn)
        except RefusedError as error:
            return 400, {"type": "error", "error": {"type": "invalid_request_error", "message": str(error)}}


def refuse_unless_tools(body: dict[str, Any]) -> None:
    """All three want the definitions of tools with every request that chooses or speaks of tools."""
    if not body.get("tools"):
        raise RefusedError("tools: at least one definition is wanted")
    for tool in body["tools"]:
        schema = tool.get("input_schema") or tool.get("parameters") or tool.get("function", {}).get("parameters")
        if not isinstance(schema, dict) or schema.get("type") != "object":
            raise RefusedError("tools: a definition has no schema")


def anthropic(body: dict[str, Any], step: Step, last: str, turn: int) -> dict[str, Any]:
    """A message, as `POST /v1/messages` answers."""
    waiting: set[str] = set()
    for index, message in enumerate(body["messages"]):
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        kinds = [block["type"] for block in blocks]
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if kinds != sorted(kinds, key=lambda kind: message["role"] == "user" and kind != "tool_result"):
            raise RefusedError(f"messages.{index}: `tool_result` blocks must come first in the content")
        if unknown := set(results) - waiting:
            raise RefusedError(f"messages.{index}: unexpected `tool_use_id` found in `tool_result` blocks: {unknown}")
        if missing := waiting - set(results):
            raise RefusedError(f"messages.{index}: `tool_use` ids were found without `tool_result` blocks: {missing}")
        waiting = {block["id"] for block in blocks if block["type"] == "tool_use"}
    if waiting:
        raise RefusedError(f"`tool_use` ids were found without `tool_result` blocks immediately after: {waiting}")
    uses = [
        {"type": "tool_use", "id": f"toolu_{turn}_{at}", "name": tool, "input": arguments}
        for at, (tool, arguments) in enumerate(step)
    ]
    return {
        "id": f"msg_{turn}",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": [{"type": "text", "text": "I look." if uses else last}, *uses],
        "stop_reason": "tool_use" if uses else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 100, "output_tokens": 20},
    }


def chat(body: dict[str, Any], step: Step, last: str, turn: int) -> dict[str, Any]:
    """A completion, as `POST /v1/chat/completions` answers."""
    waiting: set[str] = set()
    for index, message in enumerate(body["messages"]):
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                raise RefusedError(
                    f"messages.{index}: 'tool' must be a response to a preceding message with 'tool_calls'"
                )
            waiting.discard(message["tool_call_id"])
            continue
        if waiting:
            raise RefusedError(f"messages.{index}: 'tool_call_id's did not have response messages: {waiting}")
        for call in message.get("tool_calls", ()):
            json.loads(call["function"]["arguments"])
            waiting.add(call["id"])
    if waiting:
        raise RefusedError(f"'tool_call_id's did not have response messages: {waiting}")
    calls = [
        {"id": f"call_{turn}_{at}", "type": "function", "function": {"name": tool, "arguments": written(arguments)}}
        for at, (tool, arguments) in enumerate(step)
    ]
    message = {"role": "assistant", "content": None if calls else last, "refusal": None, "annotations": []}
    return {
        "id": f"chatcmpl-{turn}",
        "object": "chat.completion",
        "created": 1_760_000_000,
        "model": body["model"],
        "choices": [
            {
                "index": 0,
                "message": {**message, "tool_calls": calls} if calls else message,
                "finish_reason": "tool_calls" if calls else "stop",
            }
        ],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
    }


def responses(body: dict[str, Any], step: Step, last: str, turn: int) -> dict[str, Any]:
    """A response, as `POST /v1/responses` answers."""
    called: set[str] = set()
    answered: set[str] = set()
    for item in body["input"]:
        if item.get("type") == "function_call":
            json.loads(item["arguments"])
            called.add(item["call_id"])
        elif item.get("type") == "function_call_output":
            if item["call_id"] not in called:
                raise RefusedError(f"No tool call found for function call output with call_id {item['call_id']}.")
            answered.add(item["call_id"])
    if missing := called - answered:
        raise RefusedError(f"No tool output found for function call {missing}.")
    output: list[dict[str, Any]] = [
        {
            "type": "function_call", "id": f"fc_{turn}_{at}", "call_id": f"call_{turn}_{at}", "name": tool,
            "arguments": written(arguments), "status": "completed",
        }
        for at, (tool, arguments) in enumerate(step)
    ]  # fmt: skip
    text = {"type": "output_text", "text": last, "annotations": []}
    if not output:
        output = [{"type": "message", "id": f"m_{turn}", "role": "assistant", "status": "completed", "content": [text]}]
    return {
        "id": f"resp_{turn}",
        "object": "response",
        "status": "completed",
        "model": body["model"],
        "output": output,
        "usage": {"input_tokens": 100, "output_tokens": 20, "total_tokens": 120},
    }


def written(arguments: Any) -> str:
    """Arguments as OpenAI's formats write them; a text stays as it is, broken or not."""
    return arguments if isinstance(arguments, str) else json.dumps(arguments)
