"""Print the JSON Schema (2020-12) of a kind of documents, for editors and other tools."""

from __future__ import annotations

import argparse
import sys

from callgate import _core
from callgate.cli import UsageError
from callgate.policy.diagnostics import did_you_mean


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `callgate schema` takes."""
    parser.add_argument("kind", metavar="KIND", help=", ".join(_core.kinds()))


def run(arguments: argparse.Namespace) -> int:
    """Print the schema."""
    kinds = _core.kinds()
    if arguments.kind not in kinds:
        hint = did_you_mean(arguments.kind, kinds) or "there are " + ", ".join(f"`{kind}`" for kind in kinds)
        raise UsageError(f"unknown kind `{arguments.kind}`: {hint}")
    sys.stdout.write(_core.schema(arguments.kind))
    return 0
