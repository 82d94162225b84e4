"""What is wrong with a message list: one fault, where it is, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

Severity = Literal["error", "warning"]

KINDS: Final[dict[str, str]] = {
    "missing_result": "a call has no result",
    "mismatched_id": "a result has another id than the call that it answers",
    "orphan_result": "a result answers no call of the list",
    "trimmed_call": "a result lost its call when the beginning of the list was cut off",
    "missing_id": "a call or result has no id",
    "duplicate_call_id": "two calls have one id",
    "duplicate_result": "a call is answered twice",
    "misplaced_result": "a result does not stand after its call",
    "text_before_result": "something else stands before the results of a turn",
    "split_results": "the results of one turn are split over several messages",
    "results_out_of_order": "results stand in another order than their calls",
    "arguments_cut_off": "the arguments of a call break off",
    "arguments_not_json": "the arguments of a call are no JSON object",
    "malformed_call": "something stands where a call does, and is none",
    "result_cut_off": "a result breaks off",
    "result_cleared": "a result was taken out to save room",
    "repeated_call": "a call is made again although its answer stands in the list",
}
"""Every kind of finding, in a sentence."""

_WARNINGS: Final = frozenset(
    ("split_results", "results_out_of_order", "result_cut_off", "result_cleared", "repeated_call")
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault of a message list.

    `kind` is one of `KINDS`. An error is refused by the provider or tells the model something wrong; a warning is let
    through and invites loops. `index` is that of the message, from 0; `call_id` the id that it is about, None where
    there is none. `message` says what is wrong, `hint` what to do; `related` is another message that belongs to it.
    """

    kind: str
    severity: Severity
    index: int
    call_id: str | None
    message: str
    hint: str
    related: int | None = None


def finding(
    kind: str, index: int, call_id: str | None, message: str, hint: str, *, related: int | None = None,
    severity: Severity | None = None,
) -> Finding:  # fmt: skip
    """A finding, with the severity of its kind unless another one is given."""
    level: Severity = "warning" if kind in _WARNINGS else "error"
    return Finding(kind, severity or level, index, call_id, message, hint, related)


def passes(findings: Iterable[Finding]) -> bool:
    """Whether a list is in order: there is no error among its findings.

    >>> passes([finding("repeated_call", 4, "c2", "…", "…")]), passes([finding("missing_result", 4, "c2", "…", "…")])
    (True, False)
    """
    return all(found.severity != "error" for found in findings)
