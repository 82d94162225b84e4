"""The categories of changes: a stable id for each, in families, with what it says and which way it can go."""

from __future__ import annotations

from typing import Final, NamedTuple

from .change import Effect


class Category(NamedTuple):
    """A category: its id, which effects its changes can have, and what they mean, in a sentence or two."""

    id: str
    effects: tuple[Effect, ...]
    says: str


_LOOSER: Final[tuple[Effect, ...]] = ("looser",)
_STRICTER: Final[tuple[Effect, ...]] = ("stricter",)
_EITHER: Final[tuple[Effect, ...]] = ("looser", "stricter", "reclassified")
_OPEN: Final[tuple[Effect, ...]] = ("reclassified",)
_NONE: Final[tuple[Effect, ...]] = ("none",)


def _table() -> dict[str, Category]:
    rows: list[tuple[str, tuple[Effect, ...], str]] = [
        ("MODE_LOOSENED", _LOOSER, "What was enforced is only noted, or only logged: under a policy or a binding."),
        ("MODE_TIGHTENED", _STRICTER, "What was only logged or noted is acted upon."),
        ("DECISION_RULE_ADDED", ("stricter", "reclassified"), (
            "A rule that was not there. One that proposes a retry is reclassified."
        )),
        ("DECISION_RULE_REMOVED", ("looser", "reclassified"), "A rule is gone, with all that it held back."),
        ("DECISION_ACTION_LOOSENED", _LOOSER, (
            "A rule does less to the calls it fires on: `note` < `ask` < `refuse` < `stop`."
        )),
        ("DECISION_ACTION_TIGHTENED", _STRICTER, "A rule does more to the calls it fires on."),
        ("DECISION_ACTION_CHANGED", _OPEN, (
            "A rule does something else, neither more nor less: `retry` instead of `exit`."
        )),
        ("DECISION_CONDITION_WIDENED", _STRICTER, (
            "A rule fires wherever it did, and elsewhere too. Proved, for every call: what makes a condition fail "
            "is looked at as well."
        )),
        ("DECISION_CONDITION_NARROWED", _LOOSER, (
            "A rule fires only where it did, and not everywhere. Proved likewise."
        )),
        ("DECISION_CONDITION_CHANGED", _OPEN, "A rule's condition is another one, and neither direction is proved."),
        ("DECISION_TOOLS_WIDENED", _STRICTER, "A rule is about more tools."),
        ("DECISION_TOOLS_NARROWED", _LOOSER, "A rule is about fewer tools."),
        ("DECISION_TOOLS_CHANGED", _OPEN, "A rule is about other tools, some more and some fewer."),
        ("DECISION_PHASE_CHANGED", _OPEN, (
            "A rule is looked at in the other phase: it reads other variables and can do other things."
        )),
        ("DECISION_CODE_CHANGED", _OPEN, (
            "A rule answers with another code: the model, and programs that read codes, get something else."
        )),
        ("DECISION_ORDER_CHANGED", _OPEN, (
            "Rules that may hold the same call, equally strongly, changed places: the first one's code and "
            "message are what the model reads."
        )),
        ("DECISION_VALUE_CHANGED", _EITHER, (
            "A variable or constant is another one. It has a direction if all that reads it has been proved to go "
            "that way."
        )),
        ("DECISION_VALUE_ADDED", _NONE, (
            "A variable or constant that was not there. What reads it is listed by itself."
        )),
        ("DECISION_VALUE_REMOVED", _NONE, "A variable or constant is gone. What read it is listed by itself."),
        ("DECISION_PARAMETER_CHANGED", _OPEN, (
            "A parameter that bindings set, or its default, is another one, is new or is gone."
        )),
        ("DECISION_UNDECLARED_LOOSENED", _LOOSER, "Tools that no manifest declares may be called."),
        ("DECISION_UNDECLARED_TIGHTENED", _STRICTER, "Tools that no manifest declares are refused."),
        ("DECISION_ON_ERROR_LOOSENED", _LOOSER, "A call whose decision fails inside is let through."),
        ("DECISION_ON_ERROR_TIGHTENED", _STRICTER, "A call whose decision fails inside is refused."),
        ("DECISION_ON_FAILURE_LOOSENED", _LOOSER, (
            "A call is let through although the store or the decision log failed."
        )),
        ("DECISION_ON_FAILURE_TIGHTENED", _STRICTER, "A call is refused if the store or the decision log failed."),
        ("DECISION_ON_STOP_CHANGED", _OPEN, (
            "A stopped run ends otherwise: with one last turn of the model, or at once."
        )),
        ("BUDGET_RAISED", _LOOSER, "A budget is larger, `unlimited` included."),
        ("BUDGET_LOWERED", _STRICTER, "A budget is smaller."),
        ("BUDGET_ADDED", ("stricter", "looser", "none"), (
            "A budget where there was none. For a tool that `*` covered already, it is looser if it allows more."
        )),
        ("BUDGET_REMOVED", ("looser", "stricter", "none"), (
            "A budget is gone. For a tool that `*` covers now, it is stricter if that allows less."
        )),
        ("BUDGET_CURRENCY_CHANGED", _OPEN, (
            "Costs are counted in another currency, so that the limits cannot be compared."
        )),
        ("BUDGET_NOTES_CHANGED", _OPEN, "Notes come at other shares of a budget. Nothing is refused before the limit."),
        ("BUDGET_RESERVE_CHANGED", _EITHER, "Another number of calls is kept back, or for other tools."),
        ("BUDGET_BATCH_CHANGED", _EITHER, "A batch larger than what is left runs in part, or not at all."),
        ("BUDGET_CHILDREN_CHANGED", _EITHER, "Agents below an agent get another share."),
        ("TIME_RAISED", _LOOSER, "Something may take longer: a call, a step, the task."),
        ("TIME_LOWERED", _STRICTER, "Something has to be done sooner."),
        ("TIME_ADDED", _STRICTER, "A time limit where there was none."),
        ("TIME_REMOVED", _LOOSER, "A time limit is gone."),
        ("RETRY_RAISED", _LOOSER, "More further attempts after a failure: in the budget, in a layer, or of a tool."),
        ("RETRY_LOWERED", _STRICTER, "Fewer further attempts after a failure."),
        ("RETRY_ADDED", ("stricter", "looser"), (
            "A limit on further attempts where there was none, or attempts of a tool that had none."
        )),
        ("RETRY_REMOVED", ("looser", "stricter"), (
            "A limit on further attempts is gone, or the attempts of a tool are."
        )),
        ("RETRY_CLASSES_CHANGED", _EITHER, "Other kinds of errors are tried again."),
        ("RETRY_BACKOFF_CHANGED", _OPEN, "The pauses between attempts are others."),
        ("HOPS_RAISED", _LOOSER, "More hops from tool to tool for one need."),
        ("HOPS_LOWERED", _STRICTER, "Fewer hops from tool to tool for one need."),
        ("FALLBACK_EDGE_ADDED", _LOOSER, "A way out to another tool or provider that was not there."),
        ("FALLBACK_EDGE_REMOVED", _STRICTER, "A way out to another tool or provider is gone."),
        ("FALLBACK_EDGE_CONDITION_CHANGED", _OPEN, "A way out is offered in other situations."),
        ("FALLBACK_EDGE_ARGUMENTS_CHANGED", _OPEN, "A way out proposes other arguments."),
        ("FALLBACK_EDGE_ORDER_CHANGED", _OPEN, (
            "Ways out of one tool changed places: the first that applies is offered first."
        )),
        ("FALLBACK_ORDER_CHANGED", _OPEN, (
            "Cache, substitute, provider and skip are tried in another order, or some of them not at all."
        )),
        ("FALLBACK_CLOSED_CHANGED", ("looser", "stricter"), (
            "Whether tools without an edge that feed an open need are refused."
        )),
        ("EXIT_CHANGED", _OPEN, "A run that does not find all it needs ends otherwise, or in another queue."),
        ("IDENTITY_WIDENED", _STRICTER, "More calls count as the same call, so that repeats are found sooner."),
        ("IDENTITY_NARROWED", _LOOSER, "Fewer calls count as the same call."),
        ("IDENTITY_CHANGED", _OPEN, "Other calls count as the same call: defaults, target, the host's group."),
        ("DETECTOR_ADDED", ("stricter", "none"), "A detector that was off. Without a rung it only gathers evidence."),
        ("DETECTOR_REMOVED", ("looser", "none"), "A detector is off."),
        ("DETECTOR_RUNG_ADDED", _STRICTER, "A detector notes, refuses or ends a run where it did not."),
        ("DETECTOR_RUNG_REMOVED", _LOOSER, "A detector no longer notes, refuses or ends a run."),
        ("DETECTOR_RUNG_RAISED", _LOOSER, "A detector is more patient."),
        ("DETECTOR_RUNG_LOWERED", _STRICTER, "A detector is less patient."),
        ("DETECTOR_TUNED", _EITHER, (
            "What a detector takes for a finding is drawn otherwise: window, shares, periods, cool-down."
        )),
        ("LADDER_RAISED", _LOOSER, "More refusals or reuses before a run is stopped."),
        ("LADDER_LOWERED", _STRICTER, "Fewer refusals or reuses before a run is stopped."),
        ("RESETS_WIDENED", _LOOSER, "An event makes the detectors forget more."),
        ("RESETS_NARROWED", _STRICTER, "An event makes the detectors forget less."),
        ("RESETS_CHANGED", _OPEN, "An event makes the detectors forget other things."),
        ("NEEDS_ADDED", _STRICTER, "The task has to find out more before it counts as done: a need, or fields of one."),
        ("NEEDS_REMOVED", _LOOSER, "The task has to find out less."),
        ("NEEDS_RAISED", _STRICTER, "More records are needed."),
        ("NEEDS_LOWERED", _LOOSER, "Fewer records are needed."),
        ("NEEDS_CHANGED", _EITHER, (
            "A need is filled from other tools, its records are told apart otherwise, or other fields of it are "
            "essential."
        )),
        ("TOOL_ADDED", ("looser", "reclassified"), (
            "A tool that was not declared. Where undeclared tools are refused it can now be called; else more is "
            "known of it."
        )),
        ("TOOL_REMOVED", ("stricter", "reclassified"), "A tool is no longer declared."),
        ("TOOL_SCHEMA_WIDENED", _LOOSER, "Arguments are accepted that were refused."),
        ("TOOL_SCHEMA_NARROWED", _STRICTER, "Arguments are refused that were accepted."),
        ("TOOL_SCHEMA_CHANGED", _OPEN, "Other arguments are accepted, some more and some fewer, or it cannot be told."),
        ("TOOL_EFFECT_CHANGED", _OPEN, (
            "What a call may change is declared otherwise: what is a repeat, a retry and a reuse hangs on it."
        )),
        ("TOOL_IDEMPOTENT_CHANGED", ("looser", "stricter"), "Whether calling twice does no more than calling once."),
        ("TOOL_TAGS_CHANGED", _OPEN, "Other parts of the world are read or changed: which writes end which repeats."),
        ("TOOL_GROUPS_CHANGED", _OPEN, "The tool belongs to other groups, with their budgets and thresholds."),
        ("TOOL_FORMS_CHANGED", _OPEN, "Ways of calling the tool are told apart otherwise."),
        ("TOOL_COVERAGE_CHANGED", _OPEN, "How calls walk through something large is declared otherwise."),
        ("TOOL_TRANSFER_CHANGED", _OPEN, "Whether a call passes control to another agent."),
        ("TOOL_SERVER_CHANGED", _OPEN, "The tools live on another server."),
        ("WAITING_CHANGED", _EITHER, "Whether, how long and how often calls may wait for something."),
        ("ERRORS_CHANGED", _OPEN, "Errors mean other things."),
        ("BREAKER_ADDED", _STRICTER, "A tool is left alone after failures."),
        ("BREAKER_REMOVED", _LOOSER, "A tool is no longer left alone after failures."),
        ("BREAKER_CHANGED", _EITHER, "A tool is left alone after other failures, or for another time."),
        ("CACHE_CHANGED", _OPEN, "Earlier results may be handed out for another time."),
        ("EFFECT_KEY_ADDED", _STRICTER, "An effect has a key, and is not brought about twice under it."),
        ("EFFECT_KEY_REMOVED", _LOOSER, "An effect has no key any more."),
        ("EFFECT_KEY_CHANGED", _OPEN, "Other effects count as the same effect."),
        ("EFFECT_VERIFY_CHANGED", _OPEN, "What became of an effect is found out otherwise."),
        ("RESULT_REQUIREMENTS_RAISED", _STRICTER, "A result has to bring more to be sufficient."),
        ("RESULT_REQUIREMENTS_LOWERED", _LOOSER, "A result has to bring less to be sufficient."),
        ("RESULT_REQUIREMENTS_CHANGED", _OPEN, "A result has to bring other fields to be sufficient."),
        ("RESULT_IDENTITY_CHANGED", _EITHER, "Other results count as equal."),
        ("RESULT_CHANGED", _OPEN, "What in a result is a failure, empty, a record or wanted is declared otherwise."),
        ("BINDING_ADDED", _OPEN, "A policy applies to further agents, tenants or labels."),
        ("BINDING_REMOVED", _OPEN, "A policy no longer applies to some."),
        ("BINDING_MATCH_CHANGED", _OPEN, "A policy applies to others."),
        ("BINDING_POLICY_CHANGED", _OPEN, "Another policy applies."),
        ("BINDING_PARAMETER_CHANGED", _EITHER, (
            "A binding gives a parameter another value. It has a direction if all rules that read it have been "
            "proved to go that way."
        )),
        ("BINDING_ROLLOUT_CHANGED", _NONE, "Whether verdicts show the policy as being rolled out."),
        ("EXCEPTION_ADDED", _LOOSER, "A finding is lifted for a while."),
        ("EXCEPTION_REMOVED", _STRICTER, "An exception is gone."),
        ("EXCEPTION_EXTENDED", _LOOSER, "An exception ends later."),
        ("EXCEPTION_SHORTENED", _STRICTER, "An exception ends sooner."),
        ("EXCEPTION_WIDENED", _LOOSER, "An exception lifts more."),
        ("EXCEPTION_NARROWED", _STRICTER, "An exception lifts less."),
        ("EXCEPTION_CHANGED", _OPEN, "An exception lifts other findings, or is about other calls or another policy."),
        ("POLICY_ADDED", _OPEN, "A policy that was not there."),
        ("POLICY_REMOVED", _OPEN, "A policy is gone."),
        ("POLICY_RENAMED", _NONE, "The only policy has another name, by which bindings, exceptions and logs know it."),
        ("LOCK_ADDED", _STRICTER, "Policies that build on this one may no longer loosen a key."),
        ("LOCK_REMOVED", _LOOSER, "Policies that build on this one may loosen a key."),
        ("INVARIANT_CHANGED", _NONE, "`callgate verify` has other sentences to show. No decision changes."),
        ("OTHER_CHANGED", _OPEN, "Something differs that no category is about."),
        ("MESSAGE_ONLY", _NONE, (
            "Words that people or the model read, and what only reports show. No decision changes."
        )),
        ("REFACTOR", _NONE, (
            "Written otherwise, and means the same: an expression spelt otherwise, `60s` as `1m`, a default "
            "written out."
        )),
    ]  # fmt: skip
    return {name: Category(name, effects, says) for name, effects, says in rows}


CATEGORIES: Final = _table()


def family(category: str) -> str:
    """The family of a category: what stands before its first `_`.

    >>> family("BUDGET_RAISED")
    'BUDGET'
    """
    return category.partition("_")[0]


def is_gate(text: str) -> bool:
    """Whether a text is something that a gate can be about: an effect, `any`, a category, or a family with `*`."""
    if text in ("looser", "stricter", "any"):
        return True
    if text.endswith("*"):
        return len(text) > 1 and any(known.startswith(text[:-1]) for known in CATEGORIES)
    return text in CATEGORIES
