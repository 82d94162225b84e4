"""A policy's rules as text for a system prompt: the way in."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from .errors import PolicyError

if TYPE_CHECKING:
    from callgate.policy.open import Opened


def prompt_text(source: str | os.PathLike[str] = "default", *, policy: str | None = None, language: str = "en") -> str:
    """The rules of a policy as text for a system prompt.

    Args:
        source: a file or folder of policy documents, or the name of a pack.
        policy: which policy, where there are several. Where bindings say which applies and none is named, it is the one
            that all of them name, in their mode.
        language: `en` or `zh`.

    Returns:
        Markdown: a title and up to four sections of bullet points, each only if the policy has it.

    Raises:
        PolicyError: the policy cannot be used.
        ValueError: there is no such language.

    Example:
        >>> print(prompt_text("strict").splitlines()[0])
        # Tool calls
    """
    # every program that guards calls imports this file, and few make a text
    from .prompt_rules import rules_of

    opened = open_for_prompt(source, policy)
    if opened.resolved is None:
        raise PolicyError(opened.diagnostics)
    return rules_of(opened.resolved, language)


def open_for_prompt(source: str | os.PathLike[str], policy: str | None) -> Opened:
    """The policy whose rules are told, in `resolved`: None if it cannot be used, for what `diagnostics` say.

    No rule's text depends on the value of a parameter, so a parameter may have none: bindings give it one later.
    """
    from callgate.policy.bindings import UNSET_PARAMETER, bound_policies
    from callgate.policy.diagnostics import Diagnostic
    from callgate.policy.open import open_policy

    opened = open_policy(source, name=policy)
    errors = {found.code for found in opened.diagnostics if found.severity == "error"}
    if errors - {UNSET_PARAMETER} or (errors and opened.resolved is None):
        return opened._replace(resolved=None)
    if opened.resolved is not None:
        return opened
    bound = [each.resolved for each in bound_policies(opened.loaded, opened.loaded.of_kind("GuardBinding"))]
    modes = [each.tree.at("spec", "mode") for each in bound]
    told = {(each.name, None if mode is None else mode.value) for each, mode in zip(bound, modes, strict=True)}
    if len(told) == 1:
        return opened._replace(resolved=bound[0])
    hint = "there are " + ", ".join(f"`{name}`" for name in dict.fromkeys(each.name for each in bound))
    message = "bindings differ in the policy or its mode, and no policy was named"
    return opened._replace(
        diagnostics=[*opened.diagnostics, Diagnostic("CG711", "error", message, os.fspath(source), None, hint)]
    )
