"""Diagnostics that comments in the files keep silent, and comments that keep nothing silent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from .diagnostics import Diagnostic, Span
from .source import Source

MARK: Final = "callgate:"
"""What a file without ignores does not hold: it is looked for first."""


class Ignore(NamedTuple):
    """One code that a comment names: the file, the line that the comment is about, where the code stands, and why."""

    file: str
    line: int
    code: str
    span: Span
    why: str


class Ignored(NamedTuple):
    """A diagnostic that a comment keeps silent, and the reason that the comment gives."""

    diagnostic: Diagnostic
    why: str


class Ignores(NamedTuple):
    """What the comments of one file ask for.

    `around` has, for each line inside a scalar of several lines, the line on which that scalar begins: no comment can
    stand in between.
    """

    asked: list[Ignore]
    faults: list[Diagnostic]
    around: dict[int, int]


class Heeded:
    """What comments of several files ask for, and what came of it as diagnostics were held against them.

    `ignored` are the diagnostics that comments keep silent.
    """

    def __init__(self) -> None:
        self.ignored: list[Ignored] = []
        self._ignores: dict[str, Ignores] = {}
        self._used: set[Ignore] = set()

    def add(self, source: Source) -> list[Diagnostic]:
        """Take the comments of a file, and give what is wrong with them."""
        from .ignore_comments import ignores_of  # only where there are some

        found = ignores_of(source)
        self._ignores[source.file] = found
        return found.faults

    def heed(self, diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
        """The diagnostics that no comment keeps silent. An error is never ignored: what it is about cannot be used."""
        if not self._ignores:
            return list(diagnostics)
        kept = []
        for diagnostic in diagnostics:
            asked = self._asked(diagnostic)
            if asked is None:
                kept.append(diagnostic)
                continue
            self._used.add(asked)
            if diagnostic.severity == "error":
                hint = "mend it: what an error is about cannot be used"
                message = f"`{asked.code}` is an error here, and errors are not ignored"
                kept += [diagnostic, Diagnostic("CG121", "warning", message, asked.file, asked.span, hint)]
            elif all(diagnostic != each.diagnostic for each in self.ignored):
                self.ignored.append(Ignored(diagnostic, asked.why))
        return kept

    def unused(self, files: Iterable[str]) -> list[Diagnostic]:
        """The ignores of some files that nothing was held against; to be asked where everything was looked for."""
        asked = set(files)
        hint = "take it away: what it was about is gone"
        return [
            Diagnostic("CG121", "warning", f"there is no `{each.code}` here to ignore", each.file, each.span, hint)
            for file, ignores in self._ignores.items()
            for each in ignores.asked
            if file in asked and each not in self._used
        ]

    def _asked(self, diagnostic: Diagnostic) -> Ignore | None:
        ignores = self._ignores.get(diagnostic.file)
        if ignores is None or diagnostic.span is None:
            return None
        line = diagnostic.span.line
        lines = (line, ignores.around.get(line, line))
        return next((each for each in ignores.asked if each.code == diagnostic.code and each.line in lines), None)
