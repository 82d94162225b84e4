"""`callgate`: finds the verb, runs it, and turns whatever happens into an exit code.

0 fine, 1 findings, 2 usage or internal error, 3 inconclusive. Results go to stdout, everything else to stderr.
"""

from __future__ import annotations

import argparse
import errno
import gc
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from importlib import import_module
from keyword import iskeyword
from typing import Any, Final

from callgate.cli import Inconclusive, UsageError

# A verb is a module of its own, imported when it is called. To add one, write `cli/<verb>.py` and add its line.
VERBS: Final = {
    "demo": "judge a recorded looping run and tell what was stopped, and why",
    "init": "write a starter folder: a policy, its tools, tests of it",
    "check": "find every fault in policies, manifests and tests",
    "fmt": "write policies, manifests and tests in the canonical way, comments kept",
    "test": "run policy tests: recorded and written runs, and what the policy has to make of them",
    "replay": "judge recorded runs under a policy: what it would have noted, refused, stopped",
    "diff": "tell what a change of a policy means, and what it does to recorded runs",
    "report": "show one recorded session as an HTML page: its course, loops, budgets, exit",
    "explain": "tell why a call is decided as it is, and what would have been allowed",
    "inspect": "find what is wrong with a message list: lost, torn, cut and repeated results",
    "prompt": "print the rules of a policy as text for a system prompt",
    "tools": "search tool definitions, or find those that nobody calls any more",
    "import": "write a first manifest, from a list of tools or a trace",
    "code": "print the page of a diagnostic or a reason: what it means, an example, the way out",
    "escalations": "what has to go to a person: list, show, claim, resolve",
    "ledger": "what is known of effects: list, show, resolve a doubt",
    "schema": "print the JSON Schema of a kind of documents, or of what `check` prints as JSON",
    "completion": "print the script that completes command lines in bash, zsh or fish",
}

EXIT_USAGE: Final = 2
EXIT_INCONCLUSIVE: Final = 3
EXIT_INTERRUPTED: Final = 130
EXIT_BROKEN_PIPE: Final = 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and give its exit code; nothing is raised for anything that a user can get wrong.

    Args:
        argv: the arguments without the program's name; None for those of the process.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started us
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a terminal that cannot show a sign is no reason to fail
    try:
        with _own_process() if argv is None else nullcontext():
            code = _run(list(sys.argv[1:] if argv is None else argv))
        sys.stdout.flush()
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else EXIT_USAGE
    except UsageError as error:
        from callgate.report.snippet import printable  # the name of a file must not steer the terminal

        print("callgate: " + "\n".join(map(printable, error.lines)), file=sys.stderr)
        return EXIT_INCONCLUSIVE if isinstance(error, Inconclusive) else EXIT_USAGE
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:  # whoever read our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_BROKEN_PIPE
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO):
            return _internal(error)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left in the buffer has nowhere to go
        print(f"callgate: the output cannot be written: {(error.strerror or 'no room').lower()}", file=sys.stderr)
        return EXIT_USAGE
    except Exception as error:
        return _internal(error)
    return code


@contextmanager
def _own_process() -> Iterator[None]:
    """A process that ends with its command: hold little store by cycles, and none when it ends.

    The collector runs two hundred times less often than by default, and the search for cycles at the very end, through
    all that a command has read, is spared: together a fifth of what `callgate check` took.
    """
    gc.set_threshold(140_000, 10, 10)
    try:
        yield
    finally:
        gc.freeze()


def _internal(error: Exception) -> int:
    """Tell of a fault of ours, briefly; the whole of it where it is asked for."""
    if os.environ.get("CALLGATE_DEBUG"):
        raise error
    words = " ".join(str(error).split())
    print(f"callgate: internal error: {type(error).__name__}: {words}", file=sys.stderr)
    print("callgate: this is a fault of callgate itself; CALLGATE_DEBUG=1 shows where", file=sys.stderr)
    return EXIT_USAGE


def _run(argv: list[str]) -> int:
    verb = argv[0] if argv else None
    if verb in ("help", "-h", "--help") and len(argv) > 1:
        argv, verb = [argv[1], "--help"], argv[1]
    if verb in ("help", "-h", "--help"):
        print(_overview())
        return 0
    if verb in ("version", "-V", "--version"):
        from importlib.metadata import version

        print(f"callgate {version('callgate')}")
        return 0
    if verb is None:
        print(_overview(), file=sys.stderr)
        return EXIT_USAGE
    if verb not in VERBS:
        from callgate.policy.diagnostics import did_you_mean

        hint = did_you_mean(verb, VERBS) or "`callgate help` lists what there is"
        raise UsageError(f"unknown command `{verb}`: {hint}")
    asked = any(argument.startswith(("-h", "--h")) for argument in argv)
    parser = parser_of(verb, argparse.HelpFormatter if asked else _UnseenHelp)
    arguments = parser.parse_args(argv[1:])
    _refuse_empty(parser, arguments)
    code: int = _module_of(verb).run(arguments)
    return code


def _refuse_empty(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
    """Refuse an empty argument: as a path it would be the current folder, and `fmt "$DIR"` write to all of it."""
    for name, value in vars(arguments).items():
        if value == "" or (isinstance(value, list) and "" in value):
            action = next((each for each in parser._actions if each.dest == name), None)
            shown = name if action is None else [*action.option_strings, action.metavar or name][0]
            raise UsageError(f"`{shown}` is empty: is there a variable that is not set?")


def parser_of(verb: str, formatter: type[argparse.HelpFormatter] = argparse.HelpFormatter) -> argparse.ArgumentParser:
    """The parser of a verb of `VERBS`."""
    module = _module_of(verb)
    parser = argparse.ArgumentParser(prog=f"callgate {verb}", description=module.__doc__, formatter_class=formatter)
    module.add_arguments(parser)
    return parser


def _module_of(verb: str) -> Any:
    return import_module(f"callgate.cli.{verb}_" if iskeyword(verb) else f"callgate.cli.{verb}")


class _UnseenHelp(argparse.HelpFormatter):
    """For a command that asks for no help: asking for the terminal's width takes longer than all other parsing."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=78)


def _overview() -> str:
    lines = ["usage: callgate VERB ...", "", "Policy as code that guards an agent's tool calls.", ""]
    import shutil  # only where help is wanted

    columns = shutil.get_terminal_size((100, 24)).columns
    for verb, summary in VERBS.items():
        lines += _wrapped(summary, columns, f"  {verb:<11} ")
    more = "`callgate VERB --help` tells more. Exit codes: 0 fine, 1 findings, 2 usage error, 3 inconclusive."
    return "\n".join([*lines, "", *_wrapped(more, columns)])


def _wrapped(text: str, columns: int, lead: str = "") -> list[str]:
    import textwrap

    room = max(columns, len(lead) + 20)
    return textwrap.wrap(text, room, initial_indent=lead, subsequent_indent=" " * len(lead), break_on_hyphens=False)
