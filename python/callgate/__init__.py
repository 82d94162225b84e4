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
    canonical_json,
    fingerprint,
)

if TYPE_CHECKING:
    from callgate.runtime.errors import PolicyError, SpawnError
    from callgate.runtime.gate import Gate
    from callgate.runtime.prompt import prompt_text
    from callgate.runtime.task import MISSING, Task

__all__ = [
    "MISSING",
    "ArgumentError",
    "Assessment",
    "Gate",
    "ModelAdvice",
    "Note",
    "PolicyError",
    "Proposal",
    "Skipped",
    "SnapshotError",
    "SpawnError",
    "Stop",
    "Task",
    "UnknownCallError",
    "Verdict",
    "canonical_json",
    "fingerprint",
    "prompt_text",
]

# What is imported above for types alone is found here when it is first asked for: the command line needs little of it.
_MODULES = {
    "Gate": "callgate.runtime.gate",
    "MISSING": "callgate.runtime.task",
    "PolicyError": "callgate.runtime.errors",
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
