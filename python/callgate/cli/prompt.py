"""Print the rules of a policy as text for a system prompt: when to stop, what may be used, what a refusal means."""

from __future__ import annotations

import argparse
import sys

from callgate.policy.settings import LANGUAGES, settings_here
from callgate.report.color import wanted
from callgate.report.findings import Findings, render

# No policy was found where one was looked for: the command was wrong rather than a policy.
NO_POLICY = frozenset({"CG701", "CG702", "CG703", "CG704", "CG711"})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `callgate prompt` takes."""
    parser.add_argument("where", metavar="POLICY", help="a pack's name, or a policy file or folder")
    parser.add_argument("--policy", metavar="NAME", help="which policy, where there are several")
    parser.add_argument(
        "--language", choices=LANGUAGES, help="the language of the text (default: that of callgate.yaml, else en)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print, and give the exit code: 0 fine, 1 the policy has faults, 2 there is none."""
    from callgate.runtime.prompt import open_for_prompt
    from callgate.runtime.prompt_rules import rules_of

    opened = open_for_prompt(arguments.where, arguments.policy)
    if opened.resolved is None:
        findings = Findings(opened.diagnostics, opened.loaded.sources, len(opened.loaded.files))
        sys.stderr.write(render(findings, "text", wanted(sys.stderr)))
        errors = [found for found in opened.diagnostics if found.severity == "error"]
        return 2 if any(found.code in NO_POLICY for found in errors) else 1
    settings = opened.loaded.settings if opened.loaded.settings.file is not None else settings_here()
    sys.stdout.write(rules_of(opened.resolved, arguments.language or settings.language))
    return 0
