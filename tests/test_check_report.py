"""How findings look: the whole printed text, and the JSON."""

import json

import pytest

from callgate.policy.diagnostics import Diagnostic, Place, Span
from callgate.policy.source import Source
from callgate.report.findings import Findings, render


def text(diagnostic: Diagnostic, color: bool = False, **files: str) -> str:
    sources = {f"{name}.yaml": Source(f"{name}.yaml", content) for name, content in files.items()}
    return render(Findings([diagnostic], sources, len(sources)), "text", color)


def test_a_diagnostic_shows_its_line_the_columns_the_help_and_the_related_place() -> None:
    diagnostic = Diagnostic(
        "CG102", "error", "duplicate key `mode`", "a.yaml", Span(12, 3, 12, 7), "remove one of the two",
        (Place("first written here", "b.yaml", Span(1, 1, 1, 5)),),
    )  # fmt: skip
    assert text(diagnostic, a="\n" * 11 + "  mode: warn\n", b="mode: audit\n") == (
        "error[CG102]: duplicate key `mode`\n"
        "  --> a.yaml:12:3\n"
        "   |\n"
        "12 |   mode: warn\n"
        "   |   ^^^^\n"
        "   = help: remove one of the two\n"
        "note: first written here\n"
        "  --> b.yaml:1:1\n"
        "   |\n"
        " 1 | mode: audit\n"
        "   | ----\n"
        "\n"
        "1 error in 2 files\n"
    )


@pytest.mark.parametrize(
    ("line", "columns", "shown", "mark"),
    [
        ("a:\tb", (4, 5), "a:  b", "    ^"),
        ("\ta", (1, 2), "    a", "^^^^"),
        ("日本: x", (5, 6), "日本: x", "      ^"),
        ("x: 日本", (4, 6), "x: 日本", "   ^^^^"),
        ("e\u0301: x", (5, 6), "e\u0301: x", "   ^"),
        ("😀: ab", (4, 6), "😀: ab", "    ^^"),
        ("a\x1b[31m: x", (1, 2), "a\\x1b[31m: x", "^"),
        ("a\x1b: x", (5, 6), "a\\x1b: x", "       ^"),
        ("abc", (4, 4), "abc", "   ^"),
        ("abc", (9, 12), "abc", "   ^"),
        ("", (1, 1), "", "^"),
    ],
)
def test_the_caret_stands_under_the_exact_columns(line: str, columns: tuple[int, int], shown: str, mark: str) -> None:
    found = text(Diagnostic("CG101", "error", "m", "a.yaml", Span(1, columns[0], 1, columns[1])), a=line)
    assert found.split("\n")[3:5] == [f"1 | {shown}".rstrip(), f"  | {mark}"]


def test_of_several_lines_the_first_is_marked_to_its_end() -> None:
    found = text(Diagnostic("CG101", "warning", "m", "a.yaml", Span(1, 4, 2, 3)), a="x: ab\n  cd\n")
    assert found.split("\n")[3:5] == ["1 | x: ab", "  |    ^^"]


def test_a_long_line_is_shown_around_its_mark() -> None:
    found = text(Diagnostic("CG101", "error", "m", "a.yaml", Span(1, 1001, 1, 1003)), a="x" * 1000 + "ab" + "y" * 1000)
    assert found.split("\n")[3:5] == ["1 | …" + "x" * 59 + "ab" + "y" * 78 + "…", "  | " + " " * 60 + "^^"]


def test_a_mark_far_out_in_a_very_long_line_is_found() -> None:
    line = "日" * 50_000 + "ab" + "y" * 50_000
    found = text(Diagnostic("CG101", "error", "m", "a.yaml", Span(1, 50_001, 1, 50_003)), a=line)
    assert found.split("\n")[3:5] == ["1 | …" + "日" * 29 + "ab" + "y" * 78 + "…", "  | " + " " * 60 + "^^"]


def test_a_fault_of_a_file_as_a_whole_has_no_line() -> None:
    assert text(Diagnostic("CG701", "error", "no such file or folder", "x.yaml", None)) == (
        "error[CG701]: no such file or folder\n --> x.yaml\n\n1 error in 0 files\n"
    )


def test_names_from_a_file_cannot_steer_the_terminal() -> None:
    diagnostic = Diagnostic("CG201", "error", "unknown key `a\x1b[2J\nb`", "x.yaml", None)
    assert text(diagnostic).split("\n")[0] == "error[CG201]: unknown key `a\\x1b[2J\\nb`"


def test_colours_wrap_the_text_and_change_nothing_else() -> None:
    diagnostic = Diagnostic("CG101", "error", "m", "a.yaml", Span(1, 1, 1, 2), "h")
    plain, colored = text(diagnostic, a="x"), text(diagnostic, color=True, a="x")
    assert "\x1b[1;31merror[CG101]\x1b[0m\x1b[1m: m\x1b[0m\n" in colored
    for code in ("1;31", "1;34", "1;36", "1", "0"):
        colored = colored.replace(f"\x1b[{code}m", "")
    assert colored == plain


@pytest.mark.parametrize(
    ("severities", "files", "line"),
    [
        ([], 3, "no faults in 3 files"),
        (["error"], 1, "1 error in 1 file"),
        (["warning", "error", "error"], 3, "2 errors, 1 warning in 3 files"),
        (["warning", "warning"], 1, "2 warnings in 1 file"),
    ],
)
def test_the_last_line_counts(severities: list[str], files: int, line: str) -> None:
    found = [Diagnostic("CG101", severity, "m", "x.yaml", None) for severity in severities]  # type: ignore[arg-type]
    assert render(Findings(found, {}, files), "text").split("\n")[-2] == line


def test_json_has_every_field_of_every_diagnostic() -> None:
    found = [
        Diagnostic(
            "CG102", "error", "duplicate key `é`", "a.yaml", Span(2, 1, 2, 2), "remove one",
            (Place("first", "a.yaml", Span(1, 1, 1, 2)), Place("x", "b.yaml", None)), "/é",
        ),
        Diagnostic("CG701", "warning", "no such file", "b.yaml", None),
    ]  # fmt: skip
    assert json.loads(render(Findings(found, {}, 2), "json")) == {
        "version": 1,
        "files": 2,
        "errors": 1,
        "warnings": 1,
        "diagnostics": [
            {
                "code": "CG102",
                "severity": "error",
                "message": "duplicate key `é`",
                "file": "a.yaml",
                "span": {"line": 2, "column": 1, "end_line": 2, "end_column": 2},
                "pointer": "/é",
                "hint": "remove one",
                "related": [
                    {"message": "first", "file": "a.yaml",
                     "span": {"line": 1, "column": 1, "end_line": 1, "end_column": 2}},
                    {"message": "x", "file": "b.yaml", "span": None},
                ],
            },
            {
                "code": "CG701",
                "severity": "warning",
                "message": "no such file",
                "file": "b.yaml",
                "span": None,
                "pointer": None,
                "hint": None,
                "related": [],
            },
        ],
        "ignored": [],
        "exceptions": [],
    }  # fmt: skip
