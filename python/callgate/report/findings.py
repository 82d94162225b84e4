"""Findings of a check, and the formats in which they come out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Final, NamedTuple

from callgate.policy.diagnostics import Diagnostic
from callgate.policy.exceptions import Standing
from callgate.policy.ignores import Ignored
from callgate.policy.source import Source

# A format is a module with `render(findings, color) -> str`. To add one, write the module and add its line.
FORMATS: Final = {
    "text": "callgate.report.text",
    "json": "callgate.report.json_text",
    "sarif": "callgate.report.sarif",
    "github": "callgate.report.github",
    "junit": "callgate.report.junit",
    "markdown": "callgate.report.markdown",
}


class Findings(NamedTuple):
    """What a check found: diagnostics in their order, the text of the files, and how many files were read.

    `standing` are the exceptions that stand, `names` the files as diagnostics show them, for a format that tells of
    those without findings too. `ignored` is what comments keep silent.
    """

    diagnostics: Sequence[Diagnostic]
    sources: Mapping[str, Source]
    files: int
    standing: Sequence[Standing] = ()
    names: Sequence[str] = ()
    ignored: Sequence[Ignored] = ()

    @property
    def errors(self) -> int:
        """How many of the diagnostics are errors."""
        return sum(diagnostic.severity == "error" for diagnostic in self.diagnostics)

    @property
    def warnings(self) -> int:
        """How many of the diagnostics are warnings."""
        return sum(diagnostic.severity == "warning" for diagnostic in self.diagnostics)


def render(findings: Findings, form: str, color: bool = False) -> str:
    """The findings in one of `FORMATS`, ending with a line break."""
    function: Callable[[Findings, bool], str] = import_module(FORMATS[form]).render
    return function(findings, color)
