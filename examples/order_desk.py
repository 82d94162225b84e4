"""The tools of the examples, and the script of a model that asks for three orders and then goes round in circles."""

from __future__ import annotations

import json
import time
import urllib.request
from typing import Any

ORDERS = {"4711": "shipped", "4712": "open"}


def schema(properties: dict[str, Any]) -> dict[str, Any]:
    """The JSON Schema of a tool that needs all of its arguments."""
    return {"type": "object", "properties": properties, "required": list(properties)}


def get_order(order: str) -> dict[str, str]:
    """The state of an order; a number that nobody knows is an error."""
    if order not in ORDERS:
        raise LookupError(f"no order {order}")
    if order == "4711":
        time.sleep(0.2)  # the slow one of a parallel turn
    return {"order": order, "state": ORDERS[order]}


def refund(order: str, amount: float) -> dict[str, Any]:
    """Give money back; goes out once."""
    return {"order": order, "refunded": amount}


TOOLS = {"get_order": get_order, "refund": refund}

# What the model is told of them; each provider wraps it in its own way.
_ORDER = {"order": {"type": "string", "description": "Its number."}}
_AMOUNT = {"amount": {"type": "number", "description": "In euros."}}
DEFINITIONS: list[dict[str, Any]] = [
    {"name": "get_order", "description": "The state of an order.", "parameters": schema(_ORDER)},
    {"name": "refund", "description": "Give money back for an order.", "parameters": schema(_ORDER | _AMOUNT)},
]
ANTHROPIC = [
    {"input_schema" if key == "parameters" else key: value for key, value in tool.items()} for tool in DEFINITIONS
]
CHAT = [{"type": "function", "function": tool} for tool in DEFINITIONS]
RESPONSES = [{"type": "function", **tool} for tool in DEFINITIONS]

# One parallel turn with a slow call, a fast one and one that fails; then the same question again and again.
SCRIPT: list[list[tuple[str, Any]]] = [
    [("get_order", {"order": "4711"}), ("get_order", {"order": "4712"}), ("get_order", {"order": "9999"})],
    *([[("get_order", {"order": "4712"})]] * 8),
]
LAST = "Order 4711 is on its way, 4712 is open; I found no order 9999."


def post(url: str, body: dict[str, Any]) -> dict[str, Any]:
    """Send a request and read the JSON that comes back."""
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        found: dict[str, Any] = json.loads(answer.read())
        return found
