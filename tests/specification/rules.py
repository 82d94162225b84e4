"""What authors write themselves: rules of `admit`, and the arguments that a tool takes, as far as both are easily read.

A condition is a field path, `path == literal`, or `task.calls("tool") >= number`. Of `parameters` are read `required`,
and of each property `type` (`string`, `integer`) and `maximum`.
"""

import json
import re
from dataclasses import dataclass, field
from typing import Any

from specification.budgets import Used
from specification.calls import Call
from specification.history import History
from specification.text import ABSENT, dig
from specification.verdicts import place_of

CALLS = re.compile(r'task\.calls\("(\w+)"\) >= (\d+)')


def holds(condition: str, history: History, call: Call) -> bool | None:
    """Work out a rule's condition; None where it errs."""
    if match := CALLS.fullmatch(condition):
        return Used(history).of_tool(match[1]) >= int(match[2])
    path, _, literal = condition.partition(" == ")
    value = dig(path, {"args": call.arguments})
    if value is ABSENT:
        return None
    if literal:
        return bool(value == json.loads(literal))
    return value if isinstance(value, bool) else None


@dataclass(frozen=True)
class Ruled:
    """What the rules say of a call: actions by reason, reasons that are notes alone, and how many rules erred."""

    rules: tuple[str, ...] = ()
    actions: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    erred: int = 0

    def in_order(self, reasons: list[str]) -> list[str]:
        """Put a verdict's reasons in order: rules as the policy has them, `policy_error` once a rule that erred."""
        ordered = sorted({*reasons}, key=lambda reason: self.rules.index(reason) if reason in self.rules else 0)
        ordered.sort(key=place_of)
        return ordered + ["policy_error"] * (self.erred - 1)


def what_rules_say(policy: dict[str, Any], history: History, call: Call) -> Ruled:
    """Ask the rules of `admit` about a call."""
    rules = [rule for rule in policy.get("rules") or [] if call.tool.name in rule.get("tools", [call.tool.name])]
    said = [(rule, holds(rule["when"], history, call)) for rule in rules]
    actions = {f"rule:{rule['id']}": rule["action"] for rule, held in said if held and rule["action"] != "note"}
    notes = [f"rule:{rule['id']}" for rule, held in said if held and rule["action"] == "note"]
    erred = sum(held is None for _, held in said)
    on_error = policy.get("on_error")
    lenient = isinstance(on_error, dict) and on_error.get("reads") == "allow" and call.tool.effect == "read"
    if erred and lenient:
        notes += ["policy_error"] * erred
    elif erred:
        actions["policy_error"] = "refuse"
    return Ruled(tuple(f"rule:{rule['id']}" for rule in rules), actions, tuple(notes), erred)


def takes(call: Call) -> bool:
    """Tell whether the call's arguments fit what the tool declares."""
    declared: dict[str, Any] = call.tool.parameters
    if any(name not in call.arguments for name in declared.get("required", [])):
        return False
    for name, schema in declared.get("properties", {}).items():
        value = call.arguments.get(name, ABSENT)
        if value is ABSENT:
            continue
        if "type" in schema and not isinstance(value, {"string": str, "integer": int}[schema["type"]]):
            return False
        if "maximum" in schema and isinstance(value, int) and value > schema["maximum"]:
            return False
    return True
