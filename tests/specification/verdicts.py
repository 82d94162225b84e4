"""What a decision says: verdicts and assessments, the order of reasons, and the rounds that calls come in."""

from dataclasses import dataclass, field
from typing import Any

from specification.calls import Call

STRENGTH = ["allow", "reuse", "ask", "refuse", "stop"]
BUDGETS = ["steps", "tool_calls", "reserved", "calls_per_tool", "calls_per_group", "retries", "tokens", "cost", "time"]
ORDER = [
    *("stopped", "bad_call_id", "unknown_tool", "invalid_arguments", "denied"),
    *(f"budget_{name}" for name in BUDGETS),
    *(
        "duplicate_effect",
        "effect_in_flight",
        "idempotency_conflict",
        "ambiguous_effect",
        "hop_limit",
        "no_return",
        "exact_repeat",
        "consecutive",
        "frequency",
        "cycle",
        "oscillation",
    ),
    *("same_error", "same_result", "no_gain", "empty_streak", "state_oscillation", "transfer_streak", "transfer_cycle"),
    *("stale_wait", "low_diversity", "duplicate_in_batch", "rule", "policy_error"),
]
CODES = {
    **dict.fromkeys(
        ["exact_repeat", "consecutive", "duplicate_in_batch", "duplicate_effect"], "DUPLICATE_TOOL_CALL_BLOCKED"
    ),
    **dict.fromkeys(["no_gain", "stopped"], "STOPPED_NO_PROGRESS"),
}
# Findings that are not answered with an old result, however a read is meant.
NOT_REUSED = ("denied", "unknown_tool", "invalid_arguments")


@dataclass
class Verdict:
    """What is decided of a call: the action, every reason that fired in order, and what the modes made of it.

    `notes` are (call id, reason): of this call, and of earlier ones whose round closed with this admission.
    """

    call_id: str
    action: str
    reasons: list[str]
    code: str | None = None
    notes: list[tuple[str, str]] = field(default_factory=list)
    would: str | None = None
    reuse_of: str | None = None
    age: float | None = None
    retry_after: float | None = None
    exit: str | None = None


@dataclass
class Assessment:
    """What is made of an outcome; `notes` are (call id, reason), those of a batch come with the last of its outcomes.

    `gain` is None until the round of the call has closed, and `cells` is 0; `stop` has the reasons for which this
    outcome ended the task.
    """

    call_id: str
    grade: str
    outcome: str | None
    notes: list[tuple[str, str]]
    gain: int | None
    gaps: list[tuple[Any, str]]
    stop: list[str]
    cells: int = 0
    exit: str | None = None


@dataclass(eq=False)
class Round:
    """One step of the model: the calls that it asked for at once."""

    agent: str
    explicit: bool
    began: float
    has_step: bool = False
    over_steps: bool = False
    closed: bool = False
    calls: list[Call] = field(default_factory=list)
    refused: list[tuple[Call, set[Any], bool]] = field(default_factory=list)


def place_of(reason: str) -> int:
    """Give a reason's place in the order; rules share one, and stand in it as the policy has them."""
    return ORDER.index(reason.partition(":")[0])


def code(reason: str) -> str:
    return CODES.get(reason, reason.removeprefix("rule:").replace("-", "_").upper())
