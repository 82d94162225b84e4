"""A policy's rules as text for a system prompt: the way in."""

from __future__ import annotations

import os

from .errors import PolicyError


def prompt_text(source: str | os.PathLike[str] = "default", *, policy: str | None = None, language: str = "en") -> str:
    """The rules of a policy as text for a system prompt.

    Args:
        source: a file or folder of policy documents, or the name of a pack.
        policy: which policy, where there are several.
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
    from callgate.policy.open import open_policy

    from .prompt_rules import rules_of

    opened = open_policy(source, name=policy)
    if opened.compiled is None or opened.resolved is None:
        raise PolicyError(opened.diagnostics)
    return rules_of(opened.resolved, language)
