"""What callgate raises: for faulty policies, refused starts and refused calls, and calls that took too long."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from callgate._core import Verdict
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


class Refused(RuntimeError):
    """A call that the policy did not let run: `verdict` says why, and its `reply` is what the model gets to read.

    Attributes:
        verdict: its action is `refuse`, `stop` or `ask`, or `reuse` of a call that has no answer yet.
    """

    def __init__(self, verdict: Verdict) -> None:
        self.verdict = verdict
        why = ", ".join(verdict.reasons) or verdict.action
        super().__init__(f"the call of `{verdict.tool}` did not run: {verdict.action} ({why})")


class CallTimeout(TimeoutError):
    """A call that gave no answer in time. A plain function cannot be ended: it goes on.

    Attributes:
        tool: the tool's name.
        layer: whose time it was: `tool`, `server`, `step`, `task` or `workflow`.
        seconds: how long it was waited for.
    """

    def __init__(self, tool: str, layer: str, seconds: float, *, server: str | None = None) -> None:
        self.tool, self.layer, self.seconds = tool, layer, seconds
        whose = f"its server `{server}` was silent for" if server is not None else "none came within"
        key = "its `timeout`, else `time.tool`" if layer == "tool" else f"`time.{layer}`"
        super().__init__(f"`{tool}` gave no answer: {whose} {seconds:g} s ({key})")


class NoTaskError(RuntimeError):
    """A guarded function was called, and no task of its gate is active."""

    def __init__(self, tool: str) -> None:
        super().__init__(
            f"the tool `{tool}` is guarded, and no task of its gate is active: "
            "call it inside `with task.active():`, or with `task.call(...)`"
        )


def _line(diagnostic: Diagnostic) -> str:
    span = diagnostic.span
    place = f"{diagnostic.file}:{span.line}:{span.column}" if span else diagnostic.file
    hint = f" ({diagnostic.hint})" if diagnostic.hint else ""
    return f"  {place}: {diagnostic.code}: {diagnostic.message}{hint}"
