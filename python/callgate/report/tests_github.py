"""Results of policy tests as workflow commands of GitHub Actions, which shows them beside the lines of a change."""

from __future__ import annotations

from callgate.testing.run import GuardTestResult, GuardTestRun

from .github import command, diagnostic_command
from .tests import summary


def render(run: GuardTestRun, color: bool = False) -> str:
    """A command for each expectation that was not met and each diagnostic, and a last line that counts."""
    lines = [line for result in run.results for line in _missed(result)]
    found = dict.fromkeys(each for result in run.results for each in result.diagnostics)
    found |= dict.fromkeys(run.diagnostics)
    lines += [diagnostic_command(each) for each in found]
    return "".join(f"{line}\n" for line in lines) + summary(run)


def _missed(result: GuardTestResult) -> list[str]:
    return [
        command(
            "error", result.file, missed.span, result.name or result.file,
            f"{missed.failure.what}: expected {missed.failure.expected}, got {missed.failure.actual}",
        )
        for missed in result.missed
    ]  # fmt: skip
