"""Callgate guards an agent's tool calls with policies written as code."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from callgate._core import (
    ArgumentError,
    Assessment,
    ModelAdvice,
    Note,
    Proposal,
    Skipped,
    SnapshotError,
    Stop,
    UnknownCallError,
    Verdict,
    Verification,
    canonical_json,
    fingerprint,
)

if TYPE_CHECKING:
    from callgate.runtime.call import Call, CallResult
    from callgate.runtime.errors import CallTimeout, NoTaskError, PolicyError, Refused, SpawnError
    from callgate.runtime.gate import Gate
    from callgate.runtime.missing import MISSING
    from callgate.runtime.prompt import prompt_text
    from callgate.runtime.task import Task

__all__ = [
    "MISSING",
    "ArgumentError",
    "Assessment",
    "Call",
    "CallResult",
    "CallTimeout",
    "Gate",
    "ModelAdvice",
    "NoTaskError",
    "Note",
    "PolicyError",
    "Proposal",
    "Refused",
    "Skipped",
    "SnapshotError",
    "SpawnError",
    "Stop",
    "Task",
    "UnknownCallError",
    "Verdict",
    "Verification",
    "canonical_json",
    "fingerprint",
    "prompt_text",
]

# What is imported above for types alone is found here when it is first asked for: the command line needs little of it.
_MODULES = {
    "Call": "callgate.runtime.call",
    "CallResult": "callgate.runtime.call",
    "CallTimeout": "callgate.runtime.errors",
    "Gate": "callgate.runtime.gate",
    "MISSING": "callgate.runtime.missing",
    "NoTaskError": "callgate.runtime.errors",
    "PolicyError": "callgate.runtime.errors",
    "Refused": "callgate.runtime.errors",
    "SpawnError": "callgate.runtime.errors",
    "Task": "callgate.runtime.task",
    "prompt_text": "callgate.runtime.prompt",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(_MODULES[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
