"""Find every fault in policies, manifests and tests, each with its place. Folders are read whole."""

from __future__ import annotations

import argparse
import sys
import time

import callgate._core as _core
from callgate.cli import UsageError
from callgate.policy.bindings import bound_policies
from callgate.policy.check import check, concerning, levelled, unfit
from callgate.policy.diagnostics import ordered
from callgate.policy.exceptions import standing
from callgate.policy.load import Loaded, beside_tests, load
from callgate.policy.resolve import Resolved, resolve
from callgate.policy.settings import settings_here
from callgate.report.color import wanted
from callgate.report.findings import FORMATS, Findings, render
from callgate.testing.self_test import self_test

# Nothing was there to check: the command was wrong rather than a policy.
NOTHING_TO_CHECK = frozenset({"CG701", "CG702", "CG703"})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `callgate check` takes."""
    parser.add_argument("paths", metavar="PATH", nargs="*", help="a YAML file, or a folder of them")
    parser.add_argument("--format", choices=list(FORMATS), default="text", help="how findings come out (default: text)")
    parser.add_argument(
        "--resolved", action="store_true", help="print policies with all that they extend, and where each value is from"
    )
    parser.add_argument("--policy", metavar="NAME", help="with --resolved: this policy or pack only")
    parser.add_argument(
        "--now", metavar="TIME", help="the moment at which exceptions stand or have expired, in UTC (default: now)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Check, print, and give the exit code: 1 if there is an error, 2 if there was nothing to check."""
    if arguments.policy is not None and not arguments.resolved:
        raise UsageError("`--policy` goes with `--resolved`")
    if arguments.resolved and arguments.format != "text":
        raise UsageError("`--resolved` prints YAML: leave `--format` out")
    paths = arguments.paths
    if not paths and arguments.policy is None:
        settings = settings_here()
        paths = settings.beside(settings.paths)
        if not paths:
            raise UsageError("name a file or folder to check: `callgate check policies`")
    now = moment(arguments.now)
    loaded = load(paths, beside=beside_tests(paths))
    policies = _chosen(loaded, arguments.policy) if arguments.resolved else []
    diagnostics = check(loaded, now)
    if all(diagnostic.severity != "error" for diagnostic in diagnostics):
        found = self_test(loaded)
        unused = levelled(loaded.comments.unused(loaded.files), loaded.settings.lints)
        diagnostics = ordered([*diagnostics, *found, *unused])
    diagnostics = concerning(loaded, diagnostics)
    ignored = concerning(loaded, [each.diagnostic for each in loaded.comments.ignored])
    findings = Findings(
        diagnostics, loaded.sources, len(loaded.files), standing(loaded, now), loaded.files,
        [each for each in loaded.comments.ignored if each.diagnostic in ignored],
    )  # fmt: skip
    if not arguments.resolved:
        sys.stdout.write(render(findings, arguments.format, wanted(sys.stdout)))
    else:
        from callgate.report import resolved
        from callgate.report.snippet import printable

        if diagnostics:
            sys.stderr.write(render(findings, "text", wanted(sys.stderr)))
        fit = [policy for policy in policies if not unfit(policy, loaded, diagnostics)]
        sys.stdout.write("---\n".join(resolved.render(policy) for policy in fit))
        for policy in policies:
            if policy not in fit:
                print(f"callgate: `{printable(policy.name)}` is not printed: it could not be read", file=sys.stderr)
    if any(diagnostic.code in NOTHING_TO_CHECK for diagnostic in diagnostics):
        return 2
    return 1 if findings.errors else 0


def moment(text: str | None) -> float:
    """Seconds since 1970 of a time in UTC, as `--now` takes it; of nothing, the present."""
    if text is None:
        return time.time()
    try:
        return _core.moment(text)
    except ValueError as error:
        raise UsageError(f"`--now`: {error}, such as 2027-01-31T18:00:00Z") from None


def _chosen(loaded: Loaded, name: str | None) -> list[Resolved]:
    """The policies to print: the one that was named, else all of the paths, and what bindings make of them."""
    if name is None:
        asked = [document for document in loaded.of_kind("GuardPolicy") if document.source.file not in loaded.aside]
        policies = [resolve(loaded, document) for document in asked]
        return policies + [bound.resolved for bound in bound_policies(loaded, loaded.of_kind("GuardBinding"))]
    document = loaded.find("GuardPolicy", name)
    if document is None:
        raise UsageError(f"unknown policy `{name}`: {loaded.hint('GuardPolicy', name)}")
    return [resolve(loaded, document)]
