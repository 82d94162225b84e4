"""Print the JSON Schema (2020-12) of a kind of documents, or of what a command prints for programs."""

from __future__ import annotations

import argparse
import sys

from callgate import _core
from callgate.cli import UsageError
from callgate.policy.diagnostics import did_you_mean
from callgate.report.shapes import shape, shapes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `callgate schema` takes."""
    parser.add_argument("kind", metavar="KIND", help=", ".join([*_core.kinds(), *shapes()]))


def run(arguments: argparse.Namespace) -> int:
    """Print the schema."""
    kinds, printed = _core.kinds(), shapes()
    if arguments.kind in kinds:
        sys.stdout.write(_core.schema(arguments.kind))
    elif arguments.kind in printed:
        sys.stdout.write(shape(arguments.kind))
    else:
        known = [*kinds, *printed]
        hint = did_you_mean(arguments.kind, known) or "there are " + ", ".join(f"`{kind}`" for kind in known)
        raise UsageError(f"unknown kind `{arguments.kind}`: {hint}")
    return 0
