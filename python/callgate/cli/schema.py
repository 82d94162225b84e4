"""Print the JSON Schema (2020-12) of a kind of documents, or of what a command prints; keep a folder current."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from callgate import _core
from callgate.cli import UsageError
from callgate.policy.diagnostics import did_you_mean
from callgate.report.shapes import shape, shapes
from callgate.report.snippet import printable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `callgate schema` takes."""
    parser.add_argument("kind", metavar="KIND", nargs="?", help=", ".join([*_core.kinds(), *shapes()]))
    folders = parser.add_mutually_exclusive_group()
    folders.add_argument("--write", metavar="DIR", help="write the schemas of all kinds of documents into a folder")
    folders.add_argument("--check", metavar="DIR", help="see whether those in a folder are these ones: exit 1 if not")


def run(arguments: argparse.Namespace) -> int:
    """Print, write or compare, and give the exit code: 1 if `--check` finds other schemas."""
    folder = arguments.write if arguments.write is not None else arguments.check
    if (arguments.kind is None) == (folder is None):
        raise UsageError("name a kind to print, or a folder with `--write` or `--check`")
    if arguments.write is not None:
        return _write(Path(folder))
    if arguments.check is not None:
        return _check(Path(folder))
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


def _write(folder: Path) -> int:
    for kind in _core.kinds():
        file = folder / f"{kind}.json"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            file.write_text(_core.schema(kind), encoding="utf-8")
        except OSError as error:
            raise UsageError(f"cannot write `{file}`: {(error.strerror or str(error)).lower()}") from None
    print(f"{len(_core.kinds())} schemas written")
    return 0


def _check(folder: Path) -> int:
    if not folder.is_dir():
        raise UsageError(f"there is no folder `{folder}`")
    others = []
    for kind in _core.kinds():
        file = folder / f"{kind}.json"
        try:
            if file.read_text(encoding="utf-8") != _core.schema(kind):
                others.append(f"{printable(str(file))}: of another version of callgate")
        except (OSError, UnicodeDecodeError) as error:
            others.append(f"{printable(str(file))}: {str(getattr(error, 'strerror', None) or 'no text').lower()}")
    for other in others:
        print(other)
    if others:
        print(f"callgate: `callgate schema --write {folder}` brings them up to date", file=sys.stderr)
        return 1
    print(f"{len(_core.kinds())} schemas are up to date")
    return 0
