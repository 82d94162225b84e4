"""A line in a wrong column is told as that: at its beginning, with the line that it has to be aligned with."""

import pytest

from callgate.policy.compose import compose
from callgate.policy.events import Backend
from callgate.policy.source import Source

ALIGN = "this line does not fit the indentation of the block it stands in"
COLON = "a `:` that begins a map cannot stand here"


@pytest.fixture(params=["c", "pure"])
def backend(request: pytest.FixtureRequest) -> Backend:
    backend: Backend = request.param
    return backend


def fault(text: str, backend: Backend) -> tuple[str, tuple[int, ...], str | None]:
    (found,) = compose(Source("x.yaml", text), backend=backend).diagnostics
    assert (found.code, found.span is not None) == ("CG101", True)
    return found.message, tuple(found.span or ()), found.hint


def aligned(word: str, line: int, column: int) -> str:
    return f"align it with `{word}` in line {line}, which begins at column {column}"


@pytest.mark.parametrize(
    ("text", "span", "hint"),
    [
        ("spec:\n  mode: enforce\n   time: 1m\n", (3, 4, 3, 8), aligned("mode", 2, 3)),
        ('spec:\n  mode: "enforce"\n    time: 1m\n', (3, 5, 3, 9), aligned("mode", 2, 3)),
        ("spec:\n  budgets: {steps: 9}\n   time: 1m\n", (3, 4, 3, 8), aligned("budgets", 2, 3)),
        ("spec:\n  budgets: {steps: 9,\n    tokens: 3}\n   time: 3\n", (4, 4, 4, 8), aligned("budgets", 2, 3)),
        ("spec:\n  a: [1] # {\n   time: 3\n", (3, 4, 3, 8), aligned("a", 2, 3)),
        ("spec:\n    mode: enforce\n  time: 1m\n", (3, 3, 3, 7), aligned("mode", 2, 5)),
        ("spec:\n  a:\n      b: 1\n    c: 2\n", (4, 5, 4, 6), aligned("b", 3, 7)),
        ("spec:\n  a:\n      b: 1\n   c: 2\n", (4, 4, 4, 5), aligned("a", 2, 3)),
        ("a: 1\n b: 2\n", (2, 2, 2, 3), aligned("a", 1, 1)),
        ("  a: 1\nb: 2\n", (2, 1, 2, 2), aligned("a", 1, 3)),
        ("rules:\n  - id: a\n     when: x\n", (3, 6, 3, 10), aligned("id", 2, 5)),
        ("rules:\n  - id: a\n   when: x\n", (3, 4, 3, 8), aligned("id", 2, 5)),
        ("rules:\n  - id: a\n   - id: b\n", (3, 4, 3, 5), aligned("-", 2, 3)),
        ("rules:\n   - id: a\n  - id: b\n", (3, 3, 3, 4), aligned("-", 2, 4)),
        ("a:\n  when: |\n    x\n   y\n  b: 1\n", (4, 4, 4, 5), aligned("x", 3, 5)),
        ('"a b":\n  "c": 1\n   "d": 2\n', (3, 4, 3, 7), aligned('"c"', 2, 3)),
        ("x: 1\n---\na: 1\n b: 2\n", (4, 2, 4, 3), aligned("a", 3, 1)),
        ("é: ü\n ö: 2\n", (2, 2, 2, 3), aligned("é", 1, 1)),
    ],
)
def test_the_line_is_named_that_it_has_to_align_with(
    text: str, span: tuple[int, ...], hint: str, backend: Backend
) -> None:
    assert fault(text, backend) == (ALIGN, span, hint)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "spec:\n  mode: enforce\n  - a\n",
            ("an item of a list cannot stand among the keys of a map", (3, 3, 3, 4), "indent the list below its key"),
        ),
        (
            "tools:\n  - a\n  b: c\n",
            (
                "a key cannot stand among the items of a list", (3, 3, 3, 4),
                "indent it below an item, or move it out of the list",
            ),
        ),
        ("spec:\n  mode enforce\n  time: 3\n", ("a key without a `:`", (2, 3, 2, 15), "write `key: value`")),
        ("a: 1\nb\nc: 2\n", ("a key without a `:`", (2, 1, 2, 2), "write `key: value`")),
        (
            "spec:\n  mode:enforce\n  time: 3\n",
            ("a key without a blank behind its `:`", (2, 7, 2, 8), "write `key: value`"),
        ),
    ],
)  # fmt: skip
def test_what_the_line_lacks_is_told_where_its_column_is_right(
    text: str, expected: tuple[str, tuple[int, ...], str], backend: Backend
) -> None:
    assert fault(text, backend) == expected


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("message: amount: too high\n", (1, 16, 1, 17)),
        ("spec:\n  message: a refund: of 3\n  mode: x\n", (2, 20, 2, 21)),
        ("when:\n  - a: b: c\n", (2, 9, 2, 10)),
    ],
)
def test_a_second_colon_in_one_line_is_still_told_as_that(text: str, span: tuple[int, ...], backend: Backend) -> None:
    assert fault(text, backend)[:2] == (COLON, span)


WHOLE = """\
kind: GuardPolicy
metadata:
  name: mine
  owner: me
spec:
  extends: [default]
  detectors:
    cycle: {laps: 3}
    window: 50
  rules:
    - id: a
      when: args.x
    - id: b
      when: args.y
  mode: enforce
"""


@pytest.mark.parametrize("line", range(len(WHOLE.splitlines())))
@pytest.mark.parametrize("blanks", [1, 3])
def test_a_line_that_slipped_to_the_right_is_the_one_that_is_told_or_the_next_of_its_block(
    line: int, blanks: int, backend: Backend
) -> None:
    lines = WHOLE.splitlines(keepends=True)
    indent = len(lines[line]) - len(lines[line].lstrip())
    lines[line] = " " * blanks + lines[line]
    found = compose(Source("x.yaml", "".join(lines)), backend=backend).diagnostics
    for each in found:
        assert (each.message, each.span is not None) == (ALIGN, True)
        told = each.span.line - 1 if each.span else -1
        own = [text for text in lines[line + 1 : told] if len(text) - len(text.lstrip()) > indent]
        assert told >= line
        assert lines[line + 1 : told] == own  # nothing but the block of the line that slipped is passed over
