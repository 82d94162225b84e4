"""Print a script that completes callgate's command lines in bash, zsh or fish."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import Final

from callgate import _core
from callgate.cli.main import VERBS, parser_of
from callgate.policy.packs import packs_root
from callgate.policy.pages import pages
from callgate.report.completion import SHELLS, Argument, Verb, render
from callgate.report.shapes import shapes

# What a value is by its name in the help. A value of another name is free text: nothing completes it.
FILES: Final = frozenset(
    ("PATH", "TRACE", "FILE", "DIR", "SOURCE", "OUT.jsonl", "OUT.json", "MESSAGES.json", "P", "POLICY", "POLICY|TRACE")
)
PACKS: Final = frozenset(("P", "POLICY", "POLICY|TRACE"))
_LONGEST: Final = 60


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `callgate completion` takes."""
    parser.add_argument("shell", metavar="SHELL", choices=list(SHELLS), help=", ".join(SHELLS))


def run(arguments: argparse.Namespace) -> int:
    """Print the script."""
    sys.stdout.write(render(command_line(), arguments.shell))
    return 0


def command_line() -> list[Verb]:
    """All verbs with what they take, read off their parsers."""
    return [_verb(name, says, parser_of(name)) for name, says in VERBS.items()]


def _verb(name: str, says: str, parser: argparse.ArgumentParser) -> Verb:
    below: list[Verb] = []
    arguments: list[Argument] = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {each.dest: each.help or "" for each in action._choices_actions}
            below = [_verb(word, helps.get(word, ""), inner) for word, inner in action.choices.items()]
        elif action.help != argparse.SUPPRESS:
            arguments.append(_argument(action))
    return Verb(name, _line(says), arguments, below)


def _argument(action: argparse.Action) -> Argument:
    shown = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    return Argument(
        flags=list(action.option_strings),
        takes_value=action.nargs != 0,
        words=list(dict.fromkeys(_words(action, shown))),
        files=shown in FILES,
        shown=shown,
        says=_line(action.help or ""),
    )


def _words(action: argparse.Action, shown: str) -> Iterator[str]:
    if action.choices is not None:
        yield from map(str, action.choices)
    if shown in PACKS or (shown == "NAME" and "--policy" in action.option_strings):
        yield from sorted(pack.name for pack in packs_root().iterdir() if pack.is_dir())
    if shown == "KIND":
        yield from (*_core.kinds(), *shapes())
    if shown == "CODE":
        yield from (page.code or page.name for page in pages())


def _line(text: str) -> str:
    """A help text in a line: its first sentence, cut where it is long."""
    line = " ".join(text.split()).partition(": ")[0].replace("%%", "%")
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1].rstrip() + "…"
