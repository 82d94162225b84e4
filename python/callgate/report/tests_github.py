"""Results of policy tests as workflow commands of GitHub Actions, which shows them beside the lines of a change."""

from __future__ import annotations

from callgate.review.coverage import Coverage
from callgate.review.mutation import Mutation
from callgate.testing.run import GuardTestResult, GuardTestRun

from . import coverage, mutation
from .github import command, diagnostic_command
from .tests import summary


def render(run: GuardTestRun, color: bool = False) -> str:
    """A command for each expectation that was not met and each diagnostic, and a last line that counts.

    Coverage and mutants are notices: the score, then each point that no test exercises or mutant that none notices.
    """
    lines = [line for result in run.results for line in _missed(result)]
    found = dict.fromkeys(each for result in run.results for each in result.diagnostics)
    found |= dict.fromkeys(run.diagnostics)
    lines += [diagnostic_command(each) for each in found]
    if run.coverage is not None:
        lines += _coverage(run.coverage)
    if run.mutation is not None:
        lines += _mutation(run.mutation)
    if run.mutation_left_out is not None:
        lines.append(command("notice", None, None, "mutation", f"left out, {run.mutation_left_out}"))
    return "".join(f"{line}\n" for line in lines) + summary(run)


def _missed(result: GuardTestResult) -> list[str]:
    return [
        command(
            "error", result.file, missed.span, result.name or result.file,
            f"{missed.failure.what}: expected {missed.failure.expected}, got {missed.failure.actual}",
        )
        for missed in result.missed
    ]  # fmt: skip


def _coverage(found: Coverage) -> list[str]:
    score = command("notice", None, None, "coverage", coverage.summary(found))
    title = "not exercised by a test"
    return [score, *(command("notice", each.file, each.span, title, coverage.told(each)) for each in found.missing)]


def _mutation(found: Mutation) -> list[str]:
    lines = [command("notice", None, None, "mutation", mutation.summary(found))]
    for each in found.survivors:
        told = f"{mutation.told(each)}\n{each.stub}".rstrip("\n")
        lines.append(command("notice", each.file, each.span, "not noticed by a test", told))
    return lines
