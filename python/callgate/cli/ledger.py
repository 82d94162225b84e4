"""The ledger of effects: list them, show one, say of one in doubt whether it happened."""

from __future__ import annotations

import argparse
import getpass
import json
import sys
import time
from dataclasses import asdict
from typing import Any, Final

from callgate.cli import UsageError
from callgate.cli.numbers import count
from callgate.cli.store_option import add_store, existing_store
from callgate.report.ledger import line, shown
from callgate.report.snippet import printable
from callgate.stores import Entry, SqliteStore, StoreError

MOST_LISTED: Final = 100_000
NOTHING_THERE: Final = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `callgate ledger` takes."""
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="list|show|resolve")
    store = argparse.ArgumentParser(add_help=False)
    add_store(store)
    listed = verbs.add_parser("list", parents=[store], help="effects, those begun last first")
    listed.add_argument("--task", metavar="ID", help="this task only")
    states = ["unknown", "in_flight", "completed", "all"]
    listed.add_argument("--state", choices=states, default="unknown", help="default: unknown, which wait for you")
    listed.add_argument("--format", choices=["text", "json"], default="text")
    listed.add_argument(
        "--limit", metavar="N", type=count(1, MOST_LISTED), default=100, help="so many at most (default: 100)"
    )
    shown_one = verbs.add_parser("show", parents=[store], help="one effect with all that is known of it")
    shown_one.add_argument("key", metavar="KEY", help="its key, or how the key begins")
    shown_one.add_argument("--format", choices=["text", "json"], default="text")
    resolved = verbs.add_parser("resolve", parents=[store], help="say of an effect in doubt whether it happened")
    resolved.add_argument("key", metavar="KEY", help="its key, or how the key begins")
    which = resolved.add_mutually_exclusive_group(required=True)
    which.add_argument("--landed", action="store_true", help="it happened: it is not done again")
    which.add_argument("--absent", action="store_true", help="it did not happen, and never will: it may be done again")
    resolved.add_argument("--result", metavar="JSON", help="what it brought: the answer where it is asked for again")
    resolved.add_argument("--by", metavar="NAME", help="who you are (default: the user that you are logged in as)")


def run(arguments: argparse.Namespace) -> int:
    """Do it, and give the exit code: 1 if it is not in doubt, 2 if the store cannot be used, 3 if it is not there."""
    try:
        with_store = existing_store(arguments.store, SqliteStore)
        return _VERBS[arguments.verb](with_store, arguments)
    except StoreError as error:
        raise UsageError(str(error)) from None


def _list(store: SqliteStore, arguments: argparse.Namespace) -> int:
    state = None if arguments.state == "all" else arguments.state
    found = store.entries(time.time(), task=arguments.task, state=state, limit=arguments.limit)
    sys.stdout.write(_json(list(map(asdict, found))) if arguments.format == "json" else "".join(map(line, found)))
    if not found and arguments.format == "text":
        of_state = "" if state is None else f" in the state `{state}`"
        of_task = "" if arguments.task is None else f" of the task `{printable(arguments.task)}`"
        print(f"callgate: there is no effect{of_task}{of_state}", file=sys.stderr)
    return 0


def _show(store: SqliteStore, arguments: argparse.Namespace) -> int:
    entry = _found(store, arguments.key)
    if entry is None:
        return NOTHING_THERE
    sys.stdout.write(_json(asdict(entry)) if arguments.format == "json" else shown(entry))
    return 0


def _resolve(store: SqliteStore, arguments: argparse.Namespace) -> int:
    if arguments.result is not None:
        if arguments.absent:
            raise UsageError("`--result` goes with `--landed`: what did not happen brought nothing")
        try:
            json.loads(arguments.result)
        except ValueError as error:
            raise UsageError(f"`--result` is no JSON: {error}") from None
    entry = _found(store, arguments.key)
    if entry is None:
        return NOTHING_THERE
    by = arguments.by or getpass.getuser()
    resolution = {"key": entry.key, "landed": bool(arguments.landed), "result": arguments.result, "by": by}
    if not store.resolve(json.dumps(resolution), time.time()):
        why = {"completed": "it is known to have happened", "in_flight": "a call is at it; try again when it is over"}
        told = why.get(entry.state, "somebody else has resolved it")
        print(f"callgate: effect `{entry.key}` is not in doubt: {told}", file=sys.stderr)
        return 1
    said = "landed: it is not done again" if arguments.landed else "absent: it may be done again"
    print(f"{entry.key}  {said}")
    return 0


def _found(store: SqliteStore, key: str) -> Entry | None:
    # not only two: a key may be how many others begin
    found = store.entries(time.time(), key=key, limit=MOST_LISTED)
    exact = [entry for entry in found if entry.key == key]
    if len(found) > 1 and not exact:
        raise UsageError(f"several keys begin with `{key}`: give more of it")
    if not found:
        print(f"callgate: there is no effect whose key begins with `{key}`", file=sys.stderr)
        return None
    return (exact or found)[0]


def _json(data: Any) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


_VERBS: Final = {"list": _list, "show": _show, "resolve": _resolve}
