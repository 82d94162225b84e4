"""Callgate guards an agent's tool calls with policies written as code."""

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
