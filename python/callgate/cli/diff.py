"""Tell what a change of a policy means: which way each difference goes, and what it does to recorded runs."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from pathlib import Path
from typing import Final

from callgate._core import CompiledPolicy
from callgate.cli import UsageError
from callgate.cli.check import moment
from callgate.cli.numbers import count
from callgate.cli.progress import Progress
from callgate.policy.diagnostics import did_you_mean
from callgate.policy.load import SUFFIXES
from callgate.report.color import wanted
from callgate.report.findings import Findings
from callgate.report.findings import render as render_findings
from callgate.report.snippet import printable
from callgate.report.width import width_of
from callgate.review.categories import CATEGORIES, is_gate
from callgate.review.divergence import diverge
from callgate.review.git_tree import GitError
from callgate.review.outcome import Review
from callgate.review.sides import Side, side_at, side_of
from callgate.review.structural import compare
from callgate.traces.lines import STDIN, TraceError, refuse_unreadable
from callgate.traces.replay import MOST_OPEN, OPEN_SESSIONS

FORMATS: Final = {
    "text": "callgate.report.diff",
    "json": "callgate.report.diff_json",
    "markdown": "callgate.report.diff_markdown",
    "html": "callgate.report.diff_html",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `callgate diff` takes."""
    parser.add_argument(
        "paths", metavar="PATH", nargs="*",
        help="OLD and NEW: files, folders or names of packs; with `--against` the path to compare (default: `.`)",
    )  # fmt: skip
    parser.add_argument(
        "--against", metavar="git:REF", help="compare with what stood under the path at a commit, branch or tag"
    )
    parser.add_argument(
        "--fail-on", metavar="WHAT", action="append", default=[],
        help="exit 1 on such a change: looser, stricter, any, a category, or a family (`BUDGET_*`); may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--traces", metavar="TRACE", nargs="+", default=[],
        help="recorded sessions (`.jsonl`, `.jsonl.gz`) to judge under both sides",
    )  # fmt: skip
    parser.add_argument(
        "--now", metavar="TIME",
        help="when runs began that do not say so, in UTC: decides which exceptions stand (default: now)",
    )  # fmt: skip
    parser.add_argument(
        "--open-sessions", metavar="N", type=count(1, MOST_OPEN), default=OPEN_SESSIONS,
        help=f"tasks that are kept open at once (default: {OPEN_SESSIONS}); memory grows with it",
    )  # fmt: skip
    parser.add_argument("--format", choices=list(FORMATS), default="text", help="how it comes out (default: text)")
    # what takes several words comes last: it would take the sides too
    parser.usage = (
        "%(prog)s (OLD NEW | [PATH] --against git:REF)\n"
        "                     [--fail-on WHAT] [--format FORMAT] [--now TIME]\n"
        "                     [--open-sessions N] [--traces TRACE [TRACE ...]]"
    )


def run(arguments: argparse.Namespace) -> int:
    """Compare, print, and give the exit code: 1 a gate holds something back, 2 not readable, 3 no record."""
    gates = [gate.strip() for given in arguments.fail_on for gate in given.split(",")]
    for gate in gates:
        if not is_gate(gate):
            known = ["looser", "stricter", "any", *CATEGORIES]
            hint = did_you_mean(gate, known) or "`looser`, `stricter`, `any`, a category of docs/diff.md, or `FAMILY_*`"
            raise UsageError(f"`--fail-on {gate}`: no such effect or category: {hint}")
    _refuse_swallowed(arguments)
    traces = [Path(trace) for trace in arguments.traces]
    for trace in traces:
        try:
            refuse_unreadable(trace)
        except TraceError as error:
            raise UsageError(f"{trace}: {error}") from None
    if traces.count(STDIN) > 1:
        raise UsageError("standard input can be read once: name `-` once")
    began = moment(arguments.now)
    old, new = _sides(arguments.paths, arguments.against)
    if not _are_fit(old, new):
        return 2
    replay = None
    if traces:
        policies = (_compiled(old), _compiled(new))
        progress = Progress(traces)
        replay = diverge(
            *policies, traces, open_sessions=arguments.open_sessions, began=began, on_progress=progress.tell
        )
        progress.clear()
    review = Review(old.label, new.label, compare(old, new), gates, replay)
    render = import_module(FORMATS[arguments.format]).render
    sys.stdout.write(render(review, wanted(sys.stdout), width_of(sys.stdout)))
    if replay is not None and replay.broken:
        for name, why in replay.broken.items():
            print(f"callgate: {printable(name)}: judged only in part: {why}", file=sys.stderr)
        return 2
    if review.held:
        return 1
    if replay is not None and replay.new.calls + replay.new.events == 0:
        print("callgate: there is no record in these traces", file=sys.stderr)
        return 3
    return 0


def _compiled(side: Side) -> CompiledPolicy:
    """What sessions are judged by on a side."""
    compiled = side.compiled()
    if compiled is None:
        known = ", ".join(f"`{name}`" for name in side.policies)
        raise UsageError(
            f"`{side.label}` holds several policies and no binding ({known}): name one file for `--traces`"
        )
    return compiled


def _refuse_swallowed(arguments: argparse.Namespace) -> None:
    """Refuse sides that stand behind `--traces`, which takes all words up to the next option."""
    given, traces = len(arguments.paths), arguments.traces
    if arguments.against is None and given < 2 and given + len(traces) > 2:
        raise UsageError("`--traces` took the sides too: write OLD NEW before it")
    if arguments.against is not None and given == 0 and len(traces) > 1:
        last = Path(traces[-1])
        if last.is_dir() or last.suffix in SUFFIXES:
            raise UsageError("`--traces` took the path too: write PATH before it")


def _sides(paths: list[str], against: str | None) -> tuple[Side, Side]:
    if against is None:
        if len(paths) != 2:
            raise UsageError("name two sides, `callgate diff OLD NEW`, or one and `--against git:REF`")
        return side_of(paths[0]), side_of(paths[1])
    scheme, colon, reference = against.partition(":")
    if scheme != "git" or not colon or not reference:
        raise UsageError(f"`--against {against}`: write `git:` and a commit, branch or tag, such as `git:main`")
    if len(paths) > 1:
        raise UsageError("with `--against` there is one path: it is compared with what it was")
    path = paths[0] if paths else "."
    new = side_of(path)
    try:
        return side_at(reference, path), new
    except GitError as error:
        raise UsageError(f"`--against {against}`: {error}") from None


def _are_fit(*sides: Side) -> bool:
    """Whether both sides are free of errors; what is wrong goes to stderr."""
    for side in sides:
        errors = [found for found in side.diagnostics if found.severity == "error"]
        if errors:
            findings = Findings(errors, side.loaded.sources, len(side.loaded.files))
            sys.stderr.write(render_findings(findings, "text", wanted(sys.stderr)))
            print(f"callgate: `{side.label}` has errors: it is not compared", file=sys.stderr)
    return all(side.is_fit for side in sides)
