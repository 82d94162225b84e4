"""Run policy tests: runs, recorded or written out, and what the policy has to make of them."""

from __future__ import annotations

import argparse
import sys
from typing import Final

from callgate.report.color import wanted
from callgate.report.tests import FORMATS, render_tests
from callgate.testing.run import run_tests

# Nothing was there to look into: the command was wrong rather than a test.
NOTHING_THERE: Final = frozenset({"CG701", "CG702", "CG703"})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `callgate test` takes."""
    parser.add_argument("paths", metavar="PATH", nargs="+", help="a file of tests (`*_test.yaml`), or a folder of them")
    parser.add_argument("--format", choices=list(FORMATS), default="text", help="how results come out (default: text)")
    parser.add_argument("--filter", metavar="TEXT", help="run the tests with this text in their name alone")


def run(arguments: argparse.Namespace) -> int:
    """Run, print, and give the exit code: 0 all passed, 1 some did not, 2 no such path, 3 no test was run."""
    done = run_tests(arguments.paths, only=arguments.filter)
    sys.stdout.write(render_tests(done, arguments.format, wanted(sys.stdout)))
    errors = [found for found in done.diagnostics if found.severity == "error"]
    if any(found.code in NOTHING_THERE for found in errors):
        return 2
    if errors or any(result.outcome != "passed" for result in done.results):
        return 1
    return 0 if done.results else 3
