"""A plain loop over OpenAI's chat completions, guarded. Runs against a scripted local server: no key, no network.

Against the real one, `create` is `openai.OpenAI().chat.completions.create(...)`: its answer is taken as it is.
"""

from __future__ import annotations

from typing import Any

from order_desk import CHAT, LAST, SCRIPT, TOOLS, post
from scripted_server import ScriptedServer

from callgate import Gate
from callgate.adapters.openai import take_turn


def run(url: str) -> list[Any]:
    """Answer one question and give the whole message list."""
    task = Gate.load("default").task("order-desk")
    messages: list[Any] = [{"role": "user", "content": "Where are my orders 4711, 4712 and 9999?"}]
    choice = "auto"
    while True:
        body = {"model": "gpt", "tools": CHAT, "tool_choice": choice, "messages": messages}
        turn = take_turn(task, post(f"{url}/v1/chat/completions", body), TOOLS)
        messages += turn.messages
        if turn.done:
            break
        choice = turn.tool_choice
    print(f"{len(messages)} messages, {task.spent['tool_calls']:.0f} calls ran, stopped: {task.stop is not None}")
    return messages


if __name__ == "__main__":
    with ScriptedServer(SCRIPT, LAST) as url:
        for message in run(url):
            print(message["role"], message["content"] or [call["function"] for call in message["tool_calls"]])
