"""Explain a decision: one call under a policy, or a recorded session with what was decided, and why, step by step."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path
from typing import Final

from callgate.cli import Inconclusive, UsageError
from callgate.cli.check import moment
from callgate.cli.json_option import json_object
from callgate.cli.numbers import count
from callgate.counted import counted
from callgate.policy.open import Opened, open_policy
from callgate.report.color import wanted
from callgate.report.explain import FORMATS, Told, render
from callgate.report.findings import Findings
from callgate.report.findings import render as render_findings
from callgate.report.snippet import printable
from callgate.traces.asking import Asking, Row, is_allowed
from callgate.traces.course import course
from callgate.traces.explanation import Explanation, explain
from callgate.traces.lines import TraceError, refuse_unreadable
from callgate.traces.recorded import NoRecords, Record, Recorded, recorded_session
from callgate.traces.written import Policies

# No policy was found where one was looked for: the command was wrong rather than a policy.
NO_POLICY: Final = frozenset({"CG701", "CG702", "CG703", "CG704", "CG711"})
_ALONE: Final = "explain"
_MOST_SEQ: Final = 10**15
_WIDEST: Final = 120


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `callgate explain` takes."""
    parser.add_argument(
        "what", metavar="POLICY|TRACE", help="with `--tool`: a pack's name, or a policy file or folder; else a trace"
    )
    parser.add_argument("--tool", metavar="T", help="explain a call of this tool")
    parser.add_argument("--args", metavar="JSON", default="{}", help="its arguments, a JSON object (default: {})")
    parser.add_argument("--after", metavar="TRACE", help="the call comes after the calls of this trace")
    parser.add_argument("--policy", metavar="P", help="explain a trace under this pack, policy file or folder")
    parser.add_argument("--session", metavar="S", help="which session of the trace, where there are several")
    parser.add_argument(
        "--at", metavar="SEQ", type=count(0, _MOST_SEQ), help="explain the call with this `seq` of the trace"
    )
    parser.add_argument("--agent", metavar="A", help="with `--tool`: the agent that calls (default: root)")
    parser.add_argument("--tenant", metavar="T", help="whom it is done for, where bindings ask")
    parser.add_argument(
        "--now", metavar="TIME", help="when the run began, in UTC: decides which exceptions stand (default: now)"
    )
    parser.add_argument("--format", choices=list(FORMATS), default="text", help="how it comes out (default: text)")


def run(arguments: argparse.Namespace) -> int:
    """Explain, print, and give the exit code: 0 explained, 1 faults of the policy, 2 wrong command, 3 nothing there."""
    _refuse_mixed(arguments)
    began = moment(arguments.now)
    trace = arguments.after if arguments.tool is not None else arguments.what
    recorded = None if trace is None else recorded_of(Path(trace), arguments.session)
    call = None if arguments.tool is None else _call(arguments, recorded)
    opened = open_policy(arguments.what if arguments.policy is None else arguments.policy)
    if opened.compiled is None:
        return faults_of(opened)
    asking = Asking(opened.compiled, began=began, tenant=arguments.tenant)
    if call is not None:
        records = [*(recorded.records if recorded is not None else []), call]
        recorded = Recorded(call["session"], str(call.get("task", call["session"])), records)
    assert recorded is not None
    try:
        rows = asking.rows(recorded.records)
    except TraceError as error:
        raise UsageError(f"{trace or 'the call'}: {error}") from None
    at = len(recorded.records) - 1 if call is not None else _position(recorded, rows, arguments.at)
    explained = _explained(asking, opened, recorded, at)
    if explained is None and not recorded.calls():
        print("callgate: there is no call in this session", file=sys.stderr)
        return 3
    steps = course(recorded, rows) if call is None and arguments.at is None else None
    told = Told(opened.compiled, recorded.session, steps, explained)
    width = min(shutil.get_terminal_size((100, 24)).columns, _WIDEST)
    sys.stdout.write(render(told, arguments.format, wanted(sys.stdout), width))
    return 0


def _refuse_mixed(arguments: argparse.Namespace) -> None:
    if arguments.tool is None and arguments.policy is None:
        raise UsageError("say what to explain: a call with `--tool`, or a trace with `--policy`")
    if arguments.tool is not None and arguments.policy is not None:
        raise UsageError("`--tool` explains a call under the policy that is named first: leave `--policy` out")
    if arguments.tool is not None and arguments.at is not None:
        raise UsageError("`--at` goes with a trace; a call of `--tool` comes after all of `--after`")
    if arguments.tool is None:
        for name in ("after", "agent"):
            if getattr(arguments, name) is not None:
                raise UsageError(f"`--{name}` goes with `--tool`")
    if arguments.tool is not None and arguments.after is None and arguments.session is not None:
        raise UsageError("`--session` names a session of a trace: add `--after TRACE`")


def recorded_of(path: Path, session: str | None) -> Recorded:
    """The session of a trace; what cannot be read is a wrong command, and a trace without a record says nothing."""
    try:
        refuse_unreadable(path)
        recorded = recorded_session(path, session)
    except NoRecords as error:
        raise Inconclusive(f"{path}: {error}") from None
    except TraceError as error:
        raise UsageError(f"{path}: {error}") from None
    if (count := recorded.passed_over) > 0:
        lines = counted(count, "line is no record and is", "lines are no records and are")
        where = f"{printable(str(path))}:{recorded.first_passed_over}"
        print(f"callgate: {where}: {lines} passed over; `callgate replay` tells why", file=sys.stderr)
    return recorded


def _call(arguments: argparse.Namespace, recorded: Recorded | None) -> Record:
    """The call of `--tool`, as a record that follows those of the trace."""
    given = json_object("--args", arguments.args)
    call: Record = {"session": _ALONE, "tool": arguments.tool, "arguments": given, "seq": 1}
    if recorded is not None:
        own = [each for each in recorded.records if each["session"] == recorded.session]
        for name in ("task", "agent"):
            if name in own[-1]:
                call[name] = own[-1][name]
        call |= {"session": recorded.session, "seq": own[-1]["seq"] + 1}
    if arguments.agent is not None:
        call["agent"] = arguments.agent
    return call


def _position(recorded: Recorded, rows: list[Row], seq: int | None) -> int | None:
    """The position of the call to explain: the one with the `seq`, else the first that was not let through."""
    own = [
        at
        for at, record in enumerate(recorded.records)
        if record["session"] == recorded.session and "event" not in record
    ]
    if seq is None:
        touched = {row["seq"] - 1 for row in rows if not is_allowed(row)}
        return next((at for at in own if at in touched), None)
    for at in own:
        if recorded.records[at]["seq"] == seq:
            return at
    known = [recorded.records[at]["seq"] for at in own]
    told = f"its calls have {known[0]:,} to {known[-1]:,}" if known else "it has no call"
    raise UsageError(f"session `{recorded.session}` has no call with `seq` {seq}: {told}")


def _explained(asking: Asking, opened: Opened, recorded: Recorded, at: int | None) -> Explanation | None:
    return None if at is None else explain(asking, Policies(opened), recorded.records, at)


def faults_of(opened: Opened) -> int:
    """Tell on standard error what is wrong with a policy, and give the exit code."""
    files = opened.loaded.files or opened.loaded.pack_files
    findings = Findings(opened.diagnostics, opened.loaded.sources, len(files))
    sys.stderr.write(render_findings(findings, "text", wanted(sys.stderr)))
    errors = [found for found in opened.diagnostics if found.severity == "error"]
    return 2 if any(found.code in NO_POLICY for found in errors) else 1
