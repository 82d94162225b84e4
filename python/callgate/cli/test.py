"""Run policy tests: runs, recorded or written out, and what the policy has to make of them."""

from __future__ import annotations

import argparse
import sys
from typing import Final

from callgate.report.color import wanted
from callgate.report.tests import FORMATS, render_tests
from callgate.testing.run import run_tests
from callgate.testing.selection import Selection

from .numbers import percentage

# Nothing was there to look into: the command was wrong rather than a test.
NOTHING_THERE: Final = frozenset({"CG701", "CG702", "CG703"})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `callgate test` takes."""
    parser.add_argument("paths", metavar="PATH", nargs="+", help="a file of tests (`*_test.yaml`), or a folder of them")
    parser.add_argument("--format", choices=list(FORMATS), default="text", help="how results come out (default: text)")
    which = parser.add_argument_group("which tests run")
    which.add_argument(
        "-k", "--filter", metavar="TEXT", action="append", default=[],
        help="those with this text in their name, or in that of their file; several times: with all of them",
    )  # fmt: skip
    which.add_argument(
        "--file", metavar="PATTERN", action="append", default=[], help="those in files that fit, such as `orders*`"
    )
    which.add_argument(
        "--label", metavar="KEY[=VALUE]", action="append", default=[], help="those with this under `metadata.labels`"
    )
    which.add_argument("--fail-fast", action="store_true", help="no more after the first that does not pass")
    counted = parser.add_argument_group("coverage")
    counted.add_argument(
        "--coverage", action="store_true", help="tell what of the policies and manifests the tests exercise"
    )
    counted.add_argument(
        "--min-coverage", metavar="PERCENT", type=percentage, help="fail below this share; tells coverage too"
    )


def run(arguments: argparse.Namespace) -> int:
    """Run, print, and give the exit code: 0 all passed, 1 some did not, 2 no such path, 3 no test was run."""
    selection = Selection(arguments.filter, arguments.file, arguments.label)
    least: float | None = arguments.min_coverage
    done = run_tests(
        arguments.paths,
        selection=selection,
        fail_fast=arguments.fail_fast,
        coverage=arguments.coverage or least is not None,
    )
    sys.stdout.write(render_tests(done, arguments.format, wanted(sys.stdout)))
    errors = [found for found in done.diagnostics if found.severity == "error"]
    if any(found.code in NOTHING_THERE for found in errors):
        return 2
    if errors or any(result.outcome != "passed" for result in done.results):
        return 1
    if not done.results:
        return 3
    if least is not None and done.coverage is not None and done.coverage.share * 100 < least:
        share = int(done.coverage.share * 1000) / 10
        print(f"callgate: {share:.1f} % are covered, and {least:g} % are wanted", file=sys.stderr)
        return 1
    return 0
