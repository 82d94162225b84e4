"""Results of policy tests as SARIF 2.1.0: a result for each expectation that was not met, and for each diagnostic."""

from __future__ import annotations

from typing import Any, Final

from callgate.policy.diagnostics import Place
from callgate.policy.positions import join_pointer
from callgate.testing.run import GuardTestResult, GuardTestRun, Missed

from .sarif import Result, log, of_diagnostic, rules_of_codes

_HELP: Final = (
    "A policy test (`GuardTest`) says what a run has to show; here it showed something else. Either the policy or the "
    "test is wrong. `callgate test` shows the decisions around it, and the values that led to them."
)


def render(run: GuardTestRun, color: bool = False) -> str:
    """One SARIF log with one run; what passed has no result in it. A rule is an expectation, or a code of `check`."""
    missed = [_missed(result, each) for result in run.results for each in result.missed]
    found = dict.fromkeys(each for result in run.results for each in result.diagnostics)
    found |= dict.fromkeys(run.diagnostics)
    told = [of_diagnostic(each) for each in found]
    rules = {each.rule: _rule(each.rule) for each in missed} | rules_of_codes({each.rule for each in told})
    return log([*missed, *told], rules)


def _missed(result: GuardTestResult, missed: Missed) -> Result:
    failure = missed.failure
    text = f"{result.name or result.file}: {failure.what}\nexpected {failure.expected}\ngot {failure.actual}"
    # what was evaluated stands where the policy writes it
    related = [Place(each.owner, each.file, each.span) for each in missed.evaluated]
    where = (result.file, missed.span, join_pointer(failure.pointer))
    rule = "expect" if failure.what == "expect" else f"expect.{failure.what}"
    return Result(rule, "error", text, *where, related)


def _rule(rule: str) -> dict[str, Any]:
    says = f"What a run shows is not the `{rule.removeprefix('expect.')}` that its policy test expects."
    return {"id": rule, "shortDescription": {"text": says}, "help": {"text": _HELP, "markdown": _HELP}}
