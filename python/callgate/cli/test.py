"""Run policy tests: runs, recorded or written out, and what the policy has to make of them."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Final

from callgate.report.color import wanted
from callgate.report.coverage import tenths
from callgate.report.tests import FORMATS, render_tests
from callgate.testing.run import run_tests
from callgate.testing.selection import Selection

from .numbers import count, percentage

if TYPE_CHECKING:
    from callgate.testing.mutate import Draw

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
    mutated = parser.add_argument_group("mutation")
    mutated.add_argument(
        "--mutate",
        action="store_true",
        help="make small mistakes in policies, manifests and bindings, and tell which no test notices",
    )
    mutated.add_argument("--mutants", metavar="N", type=count(1, 1_000_000), help="try N of them, drawn with the seed")
    mutated.add_argument("--seed", metavar="S", type=count(0, 1_000_000_000), default=0, help="the seed (default: 0)")
    mutated.add_argument(
        "--min-score", metavar="PERCENT", type=percentage, help="fail below this share of noticed mutants; mutates too"
    )


def run(arguments: argparse.Namespace) -> int:
    """Run, print, and give the exit code: 0 all passed, 1 some did not, 2 no such path, 3 no test was run."""
    selection = Selection(arguments.filter, arguments.file, arguments.label)
    least: float | None = arguments.min_coverage
    score: float | None = arguments.min_score
    mutates = arguments.mutate or arguments.mutants is not None or score is not None
    done = run_tests(
        arguments.paths,
        selection=selection,
        fail_fast=arguments.fail_fast,
        coverage=arguments.coverage or least is not None,
        mutation=_draw(arguments) if mutates else None,
    )
    sys.stdout.write(render_tests(done, arguments.format, wanted(sys.stdout)))
    errors = [found for found in done.diagnostics if found.severity == "error"]
    if any(found.code in NOTHING_THERE for found in errors):
        return 2
    if errors or any(result.outcome != "passed" for result in done.results):
        return 1
    if not done.results:
        return 3
    code = 0
    if least is not None and done.coverage is not None and done.coverage.share * 100 < least:
        code = _below(f"{tenths(done.coverage.share)} % are covered", least)
    if score is not None and done.mutation is not None and done.mutation.score * 100 < score:
        code = _below(f"{tenths(done.mutation.score)} % of the mutants are noticed", score)
    return code


def _draw(arguments: argparse.Namespace) -> Draw:
    from callgate.testing.mutate import Draw  # only where it is asked for

    return Draw(arguments.mutants, arguments.seed)


def _below(told: str, wanted_share: float) -> int:
    print(f"callgate: {told}, and {wanted_share:g} % are wanted", file=sys.stderr)
    return 1
