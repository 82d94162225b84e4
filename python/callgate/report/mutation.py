"""What came of a policy's mutants, for people: the score, and each that no test notices with the test that would."""

from __future__ import annotations

from callgate.counted import counted
from callgate.review.mutation import Mutation, Survivor

from .color import paint
from .coverage import tenths
from .markdown_text import cell, code
from .snippet import printable
from .timeline import shortened

WIDEST = 60
"""Characters of what was changed."""


def render(mutation: Mutation, color: bool = False) -> str:
    """The outcome as text, ending with a line break."""
    lines = ["mutation"]
    for each in mutation.survivors:
        lines += [f"  {printable(told_place(each))}  {printable(told(each))}"]
        lines += [f"    {line}".rstrip() for line in printable_lines(each.stub)]
        lines.append("")
    role = "note" if not mutation.survivors else "warning"
    return "\n".join([*lines, paint(summary(mutation), role, color)]) + "\n"


def summary(mutation: Mutation) -> str:
    """The score in a line: ``91.2 % of the mutants are noticed: 31 of 34 (2 void)``."""
    judged = mutation.killed + len(mutation.survivors)
    text = f"{tenths(mutation.score)} % of the mutants are noticed: {mutation.killed} of {judged}"
    if mutation.void:
        one, several = "more does not compile or changes nothing", "more do not compile or change nothing"
        text += f" ({counted(mutation.void, one, several)})"
    if mutation.tried < mutation.of:
        text += f"; {mutation.tried} of {mutation.of} were tried, seed {mutation.seed}"
    return text


def told(each: Survivor) -> str:
    """What was changed, in words: ``moved a number: `5` to `6`; 3 tests do not notice``."""
    was, now = shortened(each.was, WIDEST), shortened(each.now, WIDEST)
    change = f"`{was}` to `{now}`" if now else f"`{was}`"
    tests = f"{counted(each.tests, 'test does', 'tests do')} not notice" if each.tests else "no test is judged by it"
    return f"{each.what}: {change}; {tests}"


def told_place(each: Survivor) -> str:
    """Where it stands, as editors read it."""
    return f"{each.file}:{each.span.line}:{each.span.column}"


def printable_lines(stub: str) -> list[str]:
    """The lines of a stub, each as it can be shown."""
    return [printable(line) for line in stub.splitlines()]


def markdown(mutation: Mutation) -> list[str]:
    """The lines of a Markdown summary: the score, and a table of what no test notices."""
    lines = ["#### Mutation", "", summary(mutation)]
    if mutation.survivors:
        lines += ["", "| where | what | was | now |", "|---|---|---|---|"]
    for each in mutation.survivors:
        was, now = code(shortened(each.was, WIDEST)), code(shortened(each.now, WIDEST)) if each.now else ""
        lines.append(f"| {code(told_place(each))} | {cell(each.what)} | {was} | {now} |")
    return lines
