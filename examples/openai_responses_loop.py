"""A plain loop over OpenAI's responses, guarded. Runs against a scripted local server: no key, no network.

Against the real one, `create` is `openai.OpenAI().responses.create(...)`: its answer is taken as it is.
"""

from __future__ import annotations

from typing import Any

from order_desk import LAST, RESPONSES, SCRIPT, TOOLS, post
from scripted_server import ScriptedServer

from callgate import Gate
from callgate.adapters.openai import take_turn


def run(url: str) -> list[Any]:
    """Answer one question and give the whole list of items."""
    task = Gate.load("default").task("order-desk")
    items: list[Any] = [{"role": "user", "content": "Where are my orders 4711, 4712 and 9999?"}]
    choice = "auto"
    while True:
        body = {"model": "gpt", "tools": RESPONSES, "tool_choice": choice, "input": items}
        turn = take_turn(task, post(f"{url}/v1/responses", body), TOOLS)
        items += turn.messages
        if turn.done:
            break
        choice = turn.tool_choice
    print(f"{len(items)} items, {task.spent['tool_calls']:.0f} calls ran, stopped: {task.stop is not None}")
    return items


if __name__ == "__main__":
    with ScriptedServer(SCRIPT, LAST) as url:
        for item in run(url):
            print(item.get("type", "message"), item.get("content") or item.get("output") or item.get("arguments"))
