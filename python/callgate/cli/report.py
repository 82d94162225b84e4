"""Show one recorded session as an HTML page: each decision, where it went round, how it stood, how it ended."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from callgate.cli import UsageError
from callgate.cli.check import moment
from callgate.cli.explain import faults_of, recorded_of
from callgate.policy.open import open_policy
from callgate.report.session_html import render
from callgate.traces.lines import TraceError
from callgate.traces.session_report import session_report


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `callgate report` takes."""
    parser.add_argument("trace", metavar="TRACE", help="a trace: `.jsonl` or `.jsonl.gz`; `-` is standard input")
    parser.add_argument("--policy", metavar="P", required=True, help="a pack's name, or a policy file or folder")
    parser.add_argument("--session", metavar="S", help="which session of the trace, where there are several")
    parser.add_argument(
        "--now", metavar="TIME", help="when the run began, in UTC: decides which exceptions stand (default: now)"
    )
    parser.add_argument("--format", choices=["html"], default="html", help="how it comes out (default: html)")


def run(arguments: argparse.Namespace) -> int:
    """Judge, print the page, and give the exit code: 0 told, 1 faults of the policy, 2 wrong command, 3 no call."""
    began = moment(arguments.now)
    recorded = recorded_of(Path(arguments.trace), arguments.session)
    opened = open_policy(arguments.policy)
    if opened.compiled is None:
        return faults_of(opened)
    try:
        found = session_report(opened.compiled, recorded, began=began)
    except TraceError as error:
        raise UsageError(f"{arguments.trace}: {error}") from None
    sys.stdout.write(render(found))
    if not found.points:
        print("callgate: there is no call in this session", file=sys.stderr)
        return 3
    return 0
