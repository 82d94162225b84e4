"""The order that is looked up again and again: under the pack `order-lookup` it is looked up once, and answered.

python examples/order_lookup/main.py
"""

import itertools
import json
import sys
from collections.abc import Iterator
from typing import Any

from callgate import Call, CallResult, Gate, Task

PATIENCE = 100
"""Calls after which the example gives up on its own guard."""

ORDERS = {"A-4711": {"order": "A-4711", "state": "shipped", "carrier": "post", "due": "2027-02-01"}}


class OrderDesk:
    """The tool. `asked` is how often it ran."""

    def __init__(self) -> None:
        self.asked = 0

    def order_lookup(self, order: str, reason: str = "", request_id: str = "") -> dict[str, Any]:
        """An order by its number."""
        self.asked += 1
        found = ORDERS.get(order.strip().upper())
        return {"orders": [] if found is None else [found]}


class ScriptedModel:
    """Asks for the same order for ever, each time as if for the first time, unless it has to answer."""

    def __init__(self) -> None:
        self.known = ""
        self._wanted = itertools.cycle(
            [
                {"order": "A-4711"},
                {"order": "A-4711"},
                {"order": "a-4711 ", "reason": "to be sure"},
                {"order": "A-4711", "request_id": "2"},
            ]
        )

    def calls(self) -> Iterator[dict[str, Any]]:
        """What it wants to call the tool with."""
        return self._wanted

    def read(self, text: str) -> None:
        """Take in what came back."""
        orders = json.loads(text).get("orders")
        if orders:
            self.known = f"Order {orders[0]['order']} is {orders[0]['state']}."

    def answer(self) -> str:
        """The last word, without tools."""
        return self.known or "I found no such order."


def run(task: Task, desk: OrderDesk, model: ScriptedModel) -> list[CallResult]:
    """Let the model work until the task is stopped; what came of each of its calls."""
    results = []
    for arguments in itertools.islice(model.calls(), PATIENCE):
        result = task.call(Call(desk.order_lookup, arguments))
        results.append(result)
        print(f"{result.verdict.action:<7} {result.tool} {json.dumps(arguments)}")
        if result.reply is not None:
            print(f"        {json.loads(result.reply)['message']}")
        model.read(json.dumps(result.result) if result.ok else result.reply or "{}")
        if task.stop is not None:
            break
    return results


def main() -> int:
    """Run the story; 0 if the order was looked up once."""
    desk, model = OrderDesk(), ScriptedModel()
    results = run(Gate.load("order-lookup").task("question-1"), desk, model)
    print(f"answer  {model.answer()}")
    times = "once" if desk.asked == 1 else f"{desk.asked} times"
    print(f"\nthe model asked {len(results)} times, the order was looked up {times}")
    return 0 if desk.asked == 1 else 1


if __name__ == "__main__":
    sys.exit(main())
