"""Find the few tool definitions that a step needs, or those that nobody calls any more."""

from __future__ import annotations

import argparse
import sys
from datetime import date
from pathlib import Path

from callgate.cli import UsageError
from callgate.cli.numbers import count
from callgate.policy.settings import settings_here
from callgate.report.color import wanted
from callgate.report.tools import render_found, render_found_json, render_unused, render_unused_json
from callgate.tools import DefinitionError, SearchError, ToolDefinition, ToolIndex
from callgate.tools.definitions import read_definitions
from callgate.tools.unused import unused_tools
from callgate.traces.lines import TraceError, refuse_unreadable

_MOST_FOUND = 100_000
_MOST_DAYS = 36_500
_TRACES = ("*.jsonl", "*.jsonl.gz")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `callgate tools search` and `callgate tools unused` take."""
    verbs = parser.add_subparsers(dest="verb", metavar="search|unused", required=True)
    search = verbs.add_parser("search", help="the definitions that fit a question, and the tokens that this saves")
    search.add_argument("query", metavar="QUERY", help="what the step is about, in any words")
    search.add_argument("paths", metavar="PATH", nargs="*", help="manifests, or a JSON list of tools")
    search.add_argument(
        "--limit", metavar="N", type=count(1, _MOST_FOUND), default=5, help="definitions at most (default: 5)"
    )
    search.add_argument("--format", choices=["text", "json"], default="text", help="how results come out")
    unused = verbs.add_parser("unused", help="the definitions that recorded runs did not call for some time")
    unused.add_argument("traces", metavar="TRACE", nargs="*", help="traces, or folders of them")
    unused.add_argument(
        "--tools", metavar="PATH", action="append", default=[], help="manifests, or a JSON list of tools"
    )
    unused.add_argument(
        "--days", metavar="N", type=count(1, _MOST_DAYS), help="how far to look back (default: 30, or callgate.yaml's)"
    )
    unused.add_argument("--today", metavar="YYYY-MM-DD", help="the day from which is looked back (default: today)")
    unused.add_argument("--format", choices=["text", "json"], default="text", help="how results come out")


def run(arguments: argparse.Namespace) -> int:
    """Carry out the verb and give the exit code."""
    return _search(arguments) if arguments.verb == "search" else _unused(arguments)


def _search(arguments: argparse.Namespace) -> int:
    """0 something fits, 3 nothing does."""
    definitions = _definitions(arguments.paths)
    try:
        found = ToolIndex(definitions).search(arguments.query, limit=arguments.limit)
    except SearchError as error:
        raise UsageError(str(error)) from None
    if arguments.format == "json":
        sys.stdout.write(render_found_json(found, arguments.query, len(definitions)))
    else:
        sys.stdout.write(render_found(found, len(definitions), wanted(sys.stdout)))
    return 0 if found.definitions else 3


def _unused(arguments: argparse.Namespace) -> int:
    """0 all are used, 1 some are not, 3 there is no call to judge by."""
    settings = settings_here()
    days = min(settings.tools.unused_days, _MOST_DAYS) if arguments.days is None else arguments.days
    definitions = _definitions(arguments.tools)
    traces = _traces(arguments.traces or settings.beside(settings.traces))
    try:
        found = unused_tools(definitions, traces, days=days, today=_day(arguments.today))
    except TraceError as error:
        raise UsageError(str(error)) from None
    if not found.lately:
        print(f"callgate: these traces have no call since {found.since}: nothing can be said", file=sys.stderr)
        return 3
    if arguments.format == "json":
        sys.stdout.write(render_unused_json(found, len(definitions)))
    else:
        sys.stdout.write(render_unused(found, len(definitions), wanted(sys.stdout)))
    return 1 if found.unused else 0


def _definitions(paths: list[str]) -> list[ToolDefinition]:
    settings = settings_here()
    names = paths or settings.beside(settings.paths)
    if not names:
        raise UsageError("name the tools: a manifest, a folder of them, or a JSON list of definitions")
    found: dict[str, ToolDefinition] = {}
    for name in names:
        try:
            found.update({tool.name: tool for tool in read_definitions(Path(name))})
        except DefinitionError as error:
            raise UsageError(str(error)) from None
    if not found:
        raise UsageError("there is no tool in " + ", ".join(f"`{name}`" for name in names))
    return list(found.values())


def _traces(names: list[str]) -> list[Path]:
    if not names:
        raise UsageError("name a trace, or a folder of them")
    found: list[Path] = []
    for name in names:
        path = Path(name)
        inside = sorted({trace for pattern in _TRACES for trace in path.rglob(pattern)}) if path.is_dir() else [path]
        if not inside:
            raise UsageError(f"there is no trace in `{name}`: they are named `*.jsonl` or `*.jsonl.gz`")
        for trace in inside:
            try:
                refuse_unreadable(trace)
            except TraceError as error:
                raise UsageError(f"{trace}: {error}") from None
        found += inside
    return found


def _day(written: str | None) -> date | None:
    try:
        return None if written is None else date.fromisoformat(written)
    except ValueError:
        raise UsageError(f"`--today {written}` is no day: write it as 2026-03-14") from None
