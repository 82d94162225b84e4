"""The queue of what has to go to a person: list it, show one, claim one, say what became of it."""

from __future__ import annotations

import argparse
import getpass
import json
import sys
from dataclasses import asdict
from typing import Final

from callgate.cli import UsageError
from callgate.cli.numbers import count
from callgate.cli.store_option import add_store, existing_store
from callgate.report.moment import when
from callgate.report.outcome import FORMATS, render
from callgate.report.snippet import printable
from callgate.stores.errors import EscalationError, StoreError
from callgate.stores.escalations import Escalation, Escalations

MOST_LISTED: Final = 100_000
NOTHING_THERE: Final = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `callgate escalations` takes."""
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="list|show|claim|resolve")
    store = argparse.ArgumentParser(add_help=False)
    add_store(store)
    who = argparse.ArgumentParser(add_help=False)
    who.add_argument("--by", metavar="NAME", help="who you are (default: the user that you are logged in as)")
    listed = verbs.add_parser("list", parents=[store], help="what is in the queue, oldest first")
    listed.add_argument("--queue", metavar="NAME", help="this queue only")
    listed.add_argument("--state", choices=["open", "claimed", "resolved", "all"], default="open", help="default: open")
    listed.add_argument("--format", choices=["text", "json"], default="text")
    listed.add_argument(
        "--limit", metavar="N", type=count(1, MOST_LISTED), default=100, help="so many at most (default: 100)"
    )
    shown = verbs.add_parser("show", parents=[store], help="one escalation with its report")
    shown.add_argument("id", metavar="ID")
    shown.add_argument("--format", choices=list(FORMATS), default="text", help="how it comes out (default: text)")
    claimed = verbs.add_parser("claim", parents=[store, who], help="take one, so that nobody else works on it")
    claimed.add_argument("id", metavar="ID", nargs="?", help="which one; the oldest open one where it is left out")
    claimed.add_argument("--queue", metavar="NAME", help="the oldest of this queue")
    resolved = verbs.add_parser("resolve", parents=[store, who], help="say what became of one")
    resolved.add_argument("id", metavar="ID")
    resolved.add_argument("resolution", metavar="TEXT", help="what became of it")


def run(arguments: argparse.Namespace) -> int:
    """Do it, and give the exit code: 1 if another one has it, 2 if the store cannot be used, 3 if there is nothing."""
    try:
        return _run(arguments)
    except StoreError as error:
        raise UsageError(str(error)) from None
    except EscalationError as error:
        print(f"callgate: {error}", file=sys.stderr)
        return 1


def _run(arguments: argparse.Namespace) -> int:
    store = existing_store(arguments.store, Escalations)
    if arguments.verb == "list":
        state = None if arguments.state == "all" else arguments.state
        found = store.list(queue=arguments.queue, state=state, limit=arguments.limit)
        sys.stdout.write(_json(found) if arguments.format == "json" else "".join(map(_line, found)))
        if not found and arguments.format == "text":
            of_state = "" if state is None else f" in the state `{state}`"
            of_queue = "" if arguments.queue is None else f" in the queue `{printable(arguments.queue)}`"
            print(f"callgate: there is no escalation{of_queue}{of_state}", file=sys.stderr)
        return 0
    if arguments.verb == "show":
        sys.stdout.write(_shown(store.get(arguments.id), arguments.format))
        return 0
    by = arguments.by or getpass.getuser()
    if arguments.verb == "resolve":
        sys.stdout.write(_line(store.resolve(arguments.id, by, arguments.resolution)))
        return 0
    claimed = store.claim(by, escalation_id=arguments.id, queue=arguments.queue)
    if claimed is None:
        print("callgate: nothing is open", file=sys.stderr)
        return NOTHING_THERE
    sys.stdout.write(_line(claimed))
    return 0


def _json(found: list[Escalation]) -> str:
    rows = [{name: value for name, value in asdict(each).items() if name != "report"} for each in found]
    return json.dumps(rows, indent=2, ensure_ascii=False) + "\n"


def _line(each: Escalation) -> str:
    parts = [each.id, each.state, f"queue {each.queue}", f"task {each.task}", when(each.created)]
    if each.claimed_by is not None:
        parts.append(f"claimed by {each.claimed_by}")
    if each.resolution is not None:
        parts.append(f"{each.resolved_by}: {each.resolution}")
    return "  ".join(map(printable, parts)) + "\n"


def _shown(each: Escalation, style: str) -> str:
    if style == "json":
        return json.dumps(asdict(each), indent=2, ensure_ascii=False) + "\n"
    try:
        report = render(each.report, style)
    except (KeyError, TypeError):  # pushed by hand, or by another version
        report = json.dumps(each.report, indent=2, ensure_ascii=False) + "\n"
    return _line(each) + "\n" + report
