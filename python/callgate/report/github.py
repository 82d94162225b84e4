"""Diagnostics as workflow commands of GitHub Actions, which shows them beside the lines of a change."""

from __future__ import annotations

from typing import Final

from callgate.policy.diagnostics import Diagnostic, Severity, Span

from .findings import Findings
from .places import place
from .snippet import printable
from .text import summary

_COMMANDS: Final[dict[Severity, str]] = {"error": "error", "warning": "warning", "note": "notice"}


def render(findings: Findings, color: bool = False) -> str:
    """A command a line, and a last line that counts, for whoever reads the log."""
    lines = [diagnostic_command(diagnostic) for diagnostic in findings.diagnostics]
    return "\n".join([*lines, summary(findings)]) + "\n"


def diagnostic_command(diagnostic: Diagnostic) -> str:
    """The workflow command of one diagnostic, with its hint and the further places in the message."""
    words = [diagnostic.message]
    if diagnostic.hint is not None:
        words.append(f"help: {diagnostic.hint}")
    words += [f"note: {each.message} ({place(each.file, each.span)})" for each in diagnostic.related]
    return command(_COMMANDS[diagnostic.severity], diagnostic.file, diagnostic.span, diagnostic.code, "\n".join(words))


def command(name: str, file: str | None, span: Span | None, title: str, message: str) -> str:
    """One workflow command, about a place or, without a file, about the whole.

    The runner takes columns only where a command is about one line; the end is exclusive.

    >>> command("error", "a,b.yaml", Span(8, 33, 8, 44), "CG201", "100% wrong")
    '::error file=a%2Cb.yaml,line=8,endLine=8,col=33,endColumn=44,title=CG201::100%25 wrong'
    """
    properties = {} if file is None else {"file": file}
    if span is not None:
        properties |= {"line": str(span.line), "endLine": str(span.end_line)}
        if span.line == span.end_line:
            properties |= {"col": str(span.column), "endColumn": str(span.end_column)}
    properties["title"] = title
    told = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{name} {told}::{_data(message)}"


def _data(text: str) -> str:
    """A text as the runner reads it back: it undoes these three, `%25` last. Other control characters are escaped."""
    shown = "".join(char if char in "\r\n" else printable(char) for char in text)
    return shown.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
