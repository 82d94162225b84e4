"""Print what a diagnostic (`CG301`), a reason (`exact_repeat`) or a category of changes (`BUDGET_RAISED`) means."""

from __future__ import annotations

import argparse
import sys
from typing import Final

from callgate.cli import UsageError
from callgate.policy.diagnostics import did_you_mean
from callgate.policy.pages import pages
from callgate.review.categories import CATEGORIES

FEWEST_LETTERS: Final = 3
"""Of a part of a name for which whole names are listed."""
MOST_NAMED: Final = 12


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `callgate code` takes."""
    parser.add_argument(
        "code",
        metavar="CODE",
        nargs="?",
        help="a diagnostic's code or name, a reason, or a category of `callgate diff`; left out: all pages are listed",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print one page as it stands in the documentation, or a line for each."""
    every = pages()
    if arguments.code is None:
        code, name = (max(len(getattr(page, field)) for page in every) for field in ("code", "name"))
        for page in every:
            sys.stdout.write(f"{page.code:{code}}  {page.name:{name}}  {page.says}\n")
        return 0
    wanted = arguments.code.strip().strip("`[]").lower().removeprefix("error[").replace("-", "_")
    wanted = "rule" if wanted.startswith("rule:") else wanted
    for page in every:
        # a reason has no code of its own, and no word is none of anything
        if wanted and wanted in (page.code.lower(), page.name.replace("-", "_")):
            sys.stdout.write(page.path.read_text(encoding="utf-8"))
            return 0
    category = CATEGORIES.get(wanted.upper())
    if category is not None:
        effects = " or ".join(category.effects)
        sys.stdout.write(f"# {category.id}\n\n{category.says}\n\nAs a change of a policy: {effects}.\n")
        return 0
    known = [word for page in every for word in (page.code, page.name) if word] + [*CATEGORIES]
    parts = [word for word in known if wanted and wanted in word.lower().replace("-", "_")]
    if len(wanted) >= FEWEST_LETTERS and parts:
        named = ", ".join(f"`{word}`" for word in parts[:MOST_NAMED])
        more = f", and {len(parts) - MOST_NAMED} more" if len(parts) > MOST_NAMED else ""
        raise UsageError(f"there is no page for `{arguments.code}`: there {_is(parts)} {named}{more}")
    is_code = arguments.code[:2].lower() == "cg" or arguments.code.isupper()
    upper = arguments.code.upper() if is_code else arguments.code.lower()
    raise UsageError(
        f"there is no page for `{arguments.code}`: {did_you_mean(upper, known) or '`callgate code` lists all'}"
    )


def _is(words: list[str]) -> str:
    return "is" if len(words) == 1 else "are"
