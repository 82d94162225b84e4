"""Calls that a person said yes to and that did not run yet: the executor runs one without admitting it once more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from callgate._core import Verdict

    from .call import Call


class Approved:
    """The approved calls of a task that wait for whoever runs them. Each is handed out once, whatever the thread."""

    def __init__(self) -> None:
        self._waiting: dict[str, Verdict] = {}

    def keep(self, verdict: Verdict) -> None:
        """A person said yes, and the call may run."""
        if verdict.allowed:
            self._waiting[verdict.call_id] = verdict

    def drop(self, call_id: str) -> None:
        """It is on its way, is over, or was given back."""
        self._waiting.pop(call_id, None)

    def take(self, call: Call) -> Verdict | None:
        """The verdict by which a call may run; None where nobody said yes to it, or to something else of that id."""
        verdict = self._waiting.get(call.call_id) if isinstance(call.call_id, str) else None
        if verdict is None or verdict.tool != call.name or not _are_those(call.arguments, verdict):
            return None
        return self._waiting.pop(verdict.call_id, None)


def _are_those(arguments: object, verdict: Verdict) -> bool:
    """Whether a person was asked about these. The key that the engine puts in is nobody's to give."""
    key = verdict.idempotency_key
    made = {name for name, value in verdict.arguments.items() if key is not None and value == key}

    def given(those: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in those.items() if name not in made}

    return isinstance(arguments, Mapping) and given(arguments) == given(verdict.arguments)
