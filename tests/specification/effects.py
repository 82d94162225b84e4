"""The ledger of effects: what is known of each before it is begun, and what becomes of it.

Leases never run out here: no run of the reference is as long as one.
"""

from dataclasses import dataclass
from typing import Any

from specification.calls import Call
from specification.text import ABSENT, canonical, dig, given


@dataclass(eq=False)
class Effect:
    """An effect that was begun; `state` is `in_flight`, `completed` or `unknown`."""

    call: Call
    key: str
    once: bool
    state: str = "in_flight"
    at: float = 0.0
    result: Any = ABSENT
    in_doubt_before: bool = False
    waived: bool = False


def key_of(call: Call) -> Any:
    """The declared key: None where none is declared, ABSENT where it cannot be computed."""
    declared = call.tool.keys.get("idempotency")
    if declared is None or not has_effects(call):
        return None
    value = dig(declared["key"], {"args": call.arguments})
    return canonical(value) if given(value) else ABSENT


def has_effects(call: Call) -> bool:
    return call.tool.effect in ("write", "external")


def is_declared(call: Call) -> bool:
    return key_of(call) not in (None, ABSENT)


class Ledger:
    """The effects of a task by key."""

    def __init__(self) -> None:
        self.effects: dict[str, Effect] = {}

    def claim(self, call: Call, again: bool, refuses_second: bool, enforced: bool) -> None:
        """Ask for a call, and begin its effect if it is new; `call.answer` says what the ledger says."""
        key = key_of(call)
        call.keyless = key is ABSENT
        if key is ABSENT and enforced:
            return
        call.once = key not in (None, ABSENT)
        if not call.once:
            call.once = call.tool.effect == "external" and not call.tool.idempotent and refuses_second
            key = call.exact if call.once else f"own {call.number}"
        call.key, call.again = f"{'declared' if is_declared(call) else 'own'} {key}", again
        call.answer = self.ask(call)
        if call.answer == "new":
            earlier = self.effects.get(call.key)
            in_doubt = earlier is not None and earlier.state == "unknown"
            self.effects[call.key] = Effect(call, call.key, call.once, in_doubt_before=in_doubt)

    def ask(self, call: Call) -> str:
        own = self.effects.get(call.key)
        if own is not None:
            if call.key.startswith("declared") and own.call.loose != call.loose:
                return "conflict"
            if own.state != "unknown" or not call.again:
                return own.state
        if not call.again and any(self.blocks(effect, call) for effect in self.effects.values()):
            return "unknown"
        return "new"

    def blocks(self, effect: Effect, call: Call) -> bool:
        """Tell whether a doubt stands in the way of another effect of the same tool and target."""
        meets = effect.call.target is None or call.target is None or effect.call.target == call.target
        other = effect.key != call.key and effect.call.tool.name == call.tool.name
        return other and meets and not effect.waived and effect.state == "unknown"

    def is_held_by(self, call: Call) -> bool:
        """Tell whether the call has an entry that it has begun."""
        effect = self.effects.get(call.key)
        return effect is not None and effect.call is call and effect.state == "in_flight"

    def earlier(self, call: Call) -> Effect | None:
        """What happened under the call's declared key."""
        return self.effects[call.key] if call.answer == "completed" and is_declared(call) else None

    def end(self, call: Call, end: str, at: float, result: Any = ABSENT) -> None:
        """Take in what became of a call: `completed`, `free` or `unknown`."""
        effect = self.effects.get(call.key)
        if effect is None or effect.call is not call:
            return
        if end == "completed" and call.again:
            for other in [other for other in self.effects.values() if self.blocks(other, call)]:
                other.waived = True
                if not other.once:
                    del self.effects[other.key]
        if end == "completed" and effect.once:
            effect.state, effect.at, effect.result = "completed", at, result
        elif end == "unknown" or (end == "free" and effect.in_doubt_before):
            effect.state, effect.in_doubt_before = "unknown", False
        else:
            del self.effects[call.key]
