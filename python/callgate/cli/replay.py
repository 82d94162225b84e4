"""Judge recorded runs under a policy: what it would have noted, refused and stopped, and what that would have saved."""

from __future__ import annotations

import argparse
import os
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Final

from callgate._core import CompiledPolicy
from callgate.cli import UsageError
from callgate.cli.check import moment
from callgate.cli.numbers import count
from callgate.counted import counted
from callgate.policy.open import open_policy
from callgate.report.color import wanted
from callgate.report.findings import Findings, render
from callgate.report.replay import Outcome, render_json, render_text
from callgate.report.snippet import printable
from callgate.report.width import width_of
from callgate.traces.decisions import DecisionsError, decisions_to
from callgate.traces.lines import STDIN, TraceError, refuse_unreadable
from callgate.traces.replay import MOST_OPEN, OPEN_SESSIONS, Fault, replay_file, together

# No policy was found where one was looked for: the command was wrong rather than a policy.
NO_POLICY: Final = frozenset({"CG701", "CG702", "CG703", "CG711"})
MOST_SHOWN: Final = 20
"""Broken lines of one file that are told one by one; the rest is counted."""
MOST_KEPT: Final = 1000
"""Broken lines that `--format json` lists."""
_EVERY: Final = 0.2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `callgate replay` takes."""
    parser.add_argument(
        "traces", metavar="TRACE", nargs="+", help="a trace: JSON lines, `.jsonl` or `.jsonl.gz`; `-` is standard input"
    )
    parser.add_argument("--policy", metavar="P", required=True, help="a pack's name, or a policy file or folder")
    parser.add_argument(
        "--manifest", metavar="PATH", action="append", default=[],
        help="a file or folder with manifests, beside the policy's own",
    )  # fmt: skip
    parser.add_argument(
        "--format", choices=["text", "json"], default="text", help="how results come out (default: text)"
    )
    parser.add_argument("--decisions", metavar="OUT.jsonl", help="write each decision as a line of JSON")
    parser.add_argument(
        "--now", metavar="TIME",
        help="when runs began that do not say so, in UTC: decides which exceptions stand (default: now)",
    )  # fmt: skip
    parser.add_argument("--strict", action="store_true", help="a broken line is an error: exit 1")
    parser.add_argument(
        "--open-sessions", metavar="N", type=count(1, MOST_OPEN), default=OPEN_SESSIONS,
        help=f"tasks that are kept open at once (default: {OPEN_SESSIONS}); memory grows with it",
    )  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    """Replay, print, and give the exit code: 0 fine, 1 faults, 2 not carried out or not to its end, 3 no record."""
    began = moment(arguments.now)
    traces = [Path(trace) for trace in arguments.traces]
    if traces.count(STDIN) > 1:
        raise UsageError("standard input can be read once: name `-` once")
    for trace in traces:
        try:
            refuse_unreadable(trace)
        except TraceError as error:
            raise UsageError(f"{trace}: {error}") from None
    policy, code = _policy(arguments.policy, arguments.manifest)
    if policy is None:
        return code
    if arguments.decisions is not None and any(_same(arguments.decisions, trace) for trace in traces):
        raise UsageError(f"`--decisions` would overwrite the trace `{arguments.decisions}`")
    told = _Told(len(traces))
    started = time.perf_counter()
    try:
        log = nullcontext() if arguments.decisions is None else decisions_to(Path(arguments.decisions))
        with log as decisions:
            files = []
            for trace in traces:
                told.begin(trace)
                files.append(
                    replay_file(
                        policy, trace, open_sessions=arguments.open_sessions, decisions=decisions, began=began,
                        on_fault=told.fault, on_progress=told.progress,
                    )
                )  # fmt: skip
                told.end(files[-1].broken)
    except DecisionsError as error:
        told.clear()
        raise UsageError(str(error)) from None
    outcome = Outcome(policy, files, told.kept, time.perf_counter() - started)
    if arguments.format == "json":
        sys.stdout.write(render_json(outcome))
    else:
        sys.stdout.write(render_text(outcome, wanted(sys.stdout), width_of(sys.stdout)))
    counts, skipped = together(files), sum(each.skipped for each in files)
    if any(each.broken is not None for each in files):
        return 2
    if arguments.strict and skipped:
        return 1
    if counts.calls + counts.events == 0:
        print("callgate: there is no record in these traces", file=sys.stderr)
        return 3
    return 0


def _policy(where: str, manifests: list[str]) -> tuple[CompiledPolicy | None, int]:
    """The policy, or the exit code; what is wrong with it goes to stderr."""
    opened = open_policy(where, manifests=manifests)
    if opened.diagnostics:
        files = opened.loaded.files or opened.loaded.pack_files
        findings = Findings(opened.diagnostics, opened.loaded.sources, len(files))
        sys.stderr.write(render(findings, "text", wanted(sys.stderr)))
    if opened.compiled is not None:
        return opened.compiled, 0
    errors = [diagnostic for diagnostic in opened.diagnostics if diagnostic.severity == "error"]
    return None, 2 if any(diagnostic.code in NO_POLICY for diagnostic in errors) else 1


def _same(out: str, trace: Path) -> bool:
    try:
        return Path(out).samefile(trace)
    except OSError:
        return False


class _Told:
    """What goes to stderr meanwhile: broken lines, and how far it is where somebody watches."""

    def __init__(self, files: int) -> None:
        self.kept: list[Fault] = []
        self._files = files
        self._watched = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._at = 0
        self._trace = Path()
        self._size: int | None = None
        self._shown = 0
        self._next = 0.0

    def begin(self, trace: Path) -> None:
        self._at, self._trace, self._shown = self._at + 1, trace, 0
        self._size = None if trace == STDIN else trace.stat().st_size

    def fault(self, fault: Fault) -> None:
        if len(self.kept) < MOST_KEPT:
            self.kept.append(fault)
        self._shown += 1
        if self._shown <= MOST_SHOWN:
            self._say(f"{fault.file}:{fault.line}: {fault.why}: skipped")

    def end(self, broken: str | None) -> None:
        if self._shown > MOST_SHOWN:
            self._say(f"{self._trace}: {counted(self._shown - MOST_SHOWN, 'more line')} skipped")
        if broken is not None:
            self._say(f"{self._trace}: {broken}")
        self.clear()

    def progress(self, read: int, calls: int) -> None:
        now = time.monotonic()
        if self._watched and now >= self._next:
            self._next = now + _EVERY
            share = "" if self._size is None else f"{read / self._size if self._size else 1.0:.0%}, "
            name = printable(self._trace.name)
            text = f"{self._at}/{self._files} {name}: {share}{counted(calls, 'call')}"
            room = (width_of(sys.stderr) or 100) - 1
            print(f"\r\x1b[K{text[:room]}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        if self._watched:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def _say(self, text: str) -> None:
        self.clear()
        print(printable(text), file=sys.stderr)
