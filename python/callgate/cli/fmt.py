"""Write policies, manifests and tests in the canonical way: order of keys, indentation, quotes. Comments are kept."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from callgate.cli import UsageError
from callgate.counted import counted
from callgate.policy.diagnostics import Diagnostic, ordered
from callgate.policy.formatting import Formatted, format_file
from callgate.policy.limits import DEFAULT_LIMITS
from callgate.policy.load import yaml_files
from callgate.policy.replace import ChangedMeanwhile, replace_content
from callgate.policy.settings import CONFIGURATION, settings_here
from callgate.policy.source import Source
from callgate.report.color import wanted
from callgate.report.findings import Findings, render
from callgate.report.snippet import printable
from callgate.report.text_diff import text_diff

STDIN: Final = "-"
_SHOWN: Final = "<stdin>"
_REFUSED: Final = 2
_STUCK: Final = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `callgate fmt` takes."""
    parser.add_argument(
        "paths", metavar="PATH", nargs="*",
        help="a YAML file, or a folder of them (default: the paths of callgate.yaml); `-` formats standard input",
    )  # fmt: skip
    parser.add_argument("--check", action="store_true", help="write nothing, name the files that would change: exit 1")
    parser.add_argument("--diff", action="store_true", help="write nothing, print what would change: exit 1")


def run(arguments: argparse.Namespace) -> int:
    """Format, and give the exit code: 1 if something would change or has faults, 2 if a file could not be read or
    written, 3 if one could not be done."""
    done = _Done(write=not (arguments.check or arguments.diff), diff=arguments.diff)
    if STDIN in arguments.paths:
        if len(arguments.paths) > 1:
            raise UsageError("`-` goes alone: standard input is formatted to standard output")
        done.take_stdin()
    else:
        try:
            for path in _files(arguments.paths):
                done.take(path)
        except KeyboardInterrupt:
            done.finish()  # what is written is told
            raise
    return done.finish()


def _files(named: Sequence[str]) -> list[Path]:
    if not named:
        settings = settings_here()
        named = settings.beside(settings.paths)
        if not named:
            raise UsageError("name a file or folder to format: `callgate fmt policies`")
    found: dict[Path, None] = {}
    for path in map(Path, named):
        if path.is_dir():
            below = yaml_files(path)
            if not below:
                raise UsageError(f"the folder `{path}` holds no YAML file")
            found.update(dict.fromkeys(below))
        elif not path.exists():
            raise UsageError(f"no such file or folder: `{path}`")
        else:
            found[path] = None
    return list(found)


class _Done:
    """Files one after the other, and what is to be told of them at the end."""

    def __init__(self, *, write: bool, diff: bool) -> None:
        self._write = write
        self._diff = diff
        self._sources: dict[str, Source] = {}
        self._diagnostics: list[Diagnostic] = []
        self._changed: list[str] = []
        self._files = 0
        self._stuck = False
        self._refused = False
        self._stdin = False

    def take(self, path: Path) -> None:
        shown = path.as_posix()
        try:
            with path.open("rb") as stream:
                data = stream.read(DEFAULT_LIMITS.bytes + 1)  # one byte tells that it is too large; a device has no end
        except OSError as error:
            self._refuse(f"cannot read `{printable(shown)}`: {(error.strerror or str(error)).lower()}")
            return
        found = self._format(shown, data, ours=path.name == CONFIGURATION)
        if found.data == data:
            return
        if not self._write:
            self._changed.append(shown)
            self._show(shown, data, found.data)
            return
        try:
            replace_content(path, found.data, instead_of=data)
            self._changed.append(shown)
        except ChangedMeanwhile:
            self._refuse(f"`{printable(shown)}` was changed while it was formatted, and is left as it is now")
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            self._refuse(f"cannot write `{printable(shown)}`, which is as it was: {reason}")

    def _refuse(self, why: str) -> None:
        """Tell of a file that cannot be done; the others are."""
        print(f"callgate: {why}", file=sys.stderr)
        self._refused = True

    def take_stdin(self) -> None:
        self._stdin = True
        data = sys.stdin.buffer.read(DEFAULT_LIMITS.bytes + 1)
        found = self._format(_SHOWN, data, ours=False)
        if found.data != data:
            self._changed.append(_SHOWN)
        if self._write:
            if found.outcome != "faulty":
                sys.stdout.flush()
                sys.stdout.buffer.write(found.data)
        elif found.data != data:
            self._show(_SHOWN, data, found.data)

    def finish(self) -> int:
        """Print what there is to tell, and give the exit code."""
        faults = ordered(self._diagnostics)
        if faults:
            findings = Findings(faults, self._sources, self._files)
            sys.stderr.write(render(findings, "text", wanted(sys.stderr)))
        if not self._stdin and not self._diff:
            self._summary()
        if self._refused:
            return _REFUSED
        if faults or (self._changed and not self._write):
            return 1
        return _STUCK if self._stuck else 0

    def _format(self, shown: str, data: bytes, *, ours: bool) -> Formatted:
        self._files += 1
        found = format_file(shown, data, ours=ours)
        self._sources[shown] = found.source
        self._diagnostics += found.diagnostics
        if found.outcome == "foreign":
            print(f"callgate: {printable(shown)} holds no document of callgate: left as it is", file=sys.stderr)
        elif found.outcome == "stuck":
            self._stuck = True
            print(
                f"callgate: {printable(shown)} is left as it is: formatted, it would not say the same. This is a limit "
                "of callgate; writing its unusual parts in a plainer way helps",
                file=sys.stderr,
            )
        return found

    def _show(self, shown: str, old: bytes, new: bytes) -> None:
        if self._diff:
            sys.stdout.write(text_diff(shown, old.decode(), new.decode(), wanted(sys.stdout)))

    def _summary(self) -> None:
        would = "" if self._write else "would be "
        for file in self._changed:
            print(f"{would}formatted: {printable(file)}")
        left = self._files - len(self._changed)
        they = "it is" if left == 1 else "they are"
        print(f"{counted(len(self._changed), 'file')} {would}formatted, {counted(left, 'file')} left as {they}")
