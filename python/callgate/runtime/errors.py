"""What callgate raises: for faulty policies and for refused starts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from callgate.policy.diagnostics import Diagnostic


class PolicyError(ValueError):
    """A policy that cannot be used.

    `diagnostics` holds all that is wrong, errors and warnings, in the order of files and positions.
    """

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        lines = [_line(diagnostic) for diagnostic in self.diagnostics if diagnostic.severity == "error"]
        super().__init__("\n".join(["the policy cannot be used:", *lines]))


class SpawnError(RuntimeError):
    """An agent that may not be started: `reason` is `budget_depth`, or `bad_call_id` where the name is taken."""

    def __init__(self, reason: str, message: str) -> None:
        self.reason = reason
        super().__init__(message)


def _line(diagnostic: Diagnostic) -> str:
    span = diagnostic.span
    place = f"{diagnostic.file}:{span.line}:{span.column}" if span else diagnostic.file
    hint = f" ({diagnostic.hint})" if diagnostic.hint else ""
    return f"  {place}: {diagnostic.code}: {diagnostic.message}{hint}"
