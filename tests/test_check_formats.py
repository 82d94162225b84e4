"""The formats in which findings come out for other programs, each read back by a reader that is not ours."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Iterable
from importlib.metadata import version
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft4Validator, Draft202012Validator
from markdown_it import MarkdownIt

from callgate.cli.main import main
from callgate.policy.diagnostics import Diagnostic, Place, Span
from callgate.policy.exceptions import Standing
from callgate.policy.pages import pages
from callgate.report.findings import FORMATS, Findings, render
from callgate.report.markdown_text import cell, code
from callgate.report.shapes import shape
from callgate.report.snippet import printable
from closed_schema import closed

DUPLICATE = Diagnostic(
    "CG102", "error", "duplicate key `mode`", "shop/a b.yaml", Span(12, 3, 12, 7), "remove one of the two",
    (Place("first written here", "shop/b.yaml", Span(1, 1, 1, 5)), Place("and there", "/srv/c.yaml", None)),
    "/spec/mode",
)  # fmt: skip
NOTED = Diagnostic("CG801", "note", "4 tools: up to 3\nis 100%", "shop/b.yaml", Span(3, 1, 5, 2))
WARNED = Diagnostic("CG709", "warning", "the file holds no document", "shop/b.yaml", None)
STANDING = Standing("desk|1", "shop", ("cycle", "rule:pay"), "ann", "2027-01-31T18:00:00Z")
FOUND = Findings([DUPLICATE, NOTED, WARNED], {}, 3, [STANDING], ["shop/a b.yaml", "shop/b.yaml", "shop/c.yaml"])
CLEAN = Findings([], {}, 1, (), ["shop/a.yaml"])

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
SPANS = st.none() | st.builds(
    Span, st.integers(1, 9), st.integers(1, 9), st.integers(10, 99), st.integers(1, 9)
)  # fmt: skip
DIAGNOSTICS = st.builds(
    Diagnostic,
    st.sampled_from([page.code for page in pages() if page.code.startswith("CG")]),
    st.sampled_from(["error", "warning", "note"]),
    TEXTS.filter(bool),
    TEXTS.filter(bool),
    SPANS,
    st.none() | TEXTS,
    st.lists(st.builds(Place, TEXTS, TEXTS.filter(bool), SPANS), max_size=2).map(tuple),
    st.none() | st.just("/spec/a~1b"),
)


def in_format(form: str, found: Findings) -> str:
    printed = render(found, form)
    assert printed.endswith("\n") and not printed.endswith("\n\n")
    return printed


class TestSarif:
    def test_a_log_says_where_what_and_by_which_rule(self) -> None:
        log = json.loads(in_format("sarif", FOUND))
        [run] = log["runs"]
        rules = run["tool"]["driver"].pop("rules")
        assert (log["version"], run["columnKind"]) == ("2.1.0", "unicodeCodePoints")
        assert run["tool"]["driver"] == {"name": "callgate", "version": version("callgate")}
        assert [(rule["id"], rule["name"], rule["shortDescription"]) for rule in rules] == [
            ("CG102", "duplicate-key", {"text": "A key stands twice in one map."}),
            ("CG709", "no-document", {"text": "A file holds no document."}),
            ("CG801", "many-tools", {"text": "A policy puts many tool definitions in front of the model."}),
        ]
        assert rules[0]["help"]["markdown"].startswith("# CG102 duplicate-key\n\nA key stands twice in one map.\n")
        assert run["results"] == [
            {
                "ruleId": "CG102",
                "ruleIndex": 0,
                "level": "error",
                "message": {"text": "duplicate key `mode`\nremove one of the two"},
                "locations": [
                    {
                        "physicalLocation": {
                            "artifactLocation": {"uri": "shop/a%20b.yaml"},
                            "region": {"startLine": 12, "startColumn": 3, "endLine": 12, "endColumn": 7},
                        },
                        "logicalLocations": [{"fullyQualifiedName": "/spec/mode"}],
                    }
                ],
                "relatedLocations": [
                    {
                        "id": 1,
                        "message": {"text": "first written here"},
                        "physicalLocation": {
                            "artifactLocation": {"uri": "shop/b.yaml"},
                            "region": {"startLine": 1, "startColumn": 1, "endLine": 1, "endColumn": 5},
                        },
                    },
                    {
                        "id": 2,
                        "message": {"text": "and there"},
                        "physicalLocation": {"artifactLocation": {"uri": "file:///srv/c.yaml"}},
                    },
                ],
            },
            {
                "ruleId": "CG801",
                "ruleIndex": 2,
                "level": "note",
                "message": {"text": "4 tools: up to 3\nis 100%"},
                "locations": [
                    {
                        "physicalLocation": {
                            "artifactLocation": {"uri": "shop/b.yaml"},
                            "region": {"startLine": 3, "startColumn": 1, "endLine": 5, "endColumn": 2},
                        }
                    }
                ],
            },
            {
                "ruleId": "CG709",
                "ruleIndex": 1,
                "level": "warning",
                "message": {"text": "the file holds no document"},
                "locations": [{"physicalLocation": {"artifactLocation": {"uri": "shop/b.yaml"}}}],
            },
        ]

    def test_the_schema_of_the_standard_takes_a_log_with_every_code(self, sarif_standard: Draft4Validator) -> None:
        codes = [page.code for page in pages() if page.code.startswith("CG")]
        assert len(codes) > 90
        every = [DUPLICATE._replace(code=code) for code in codes]
        for found in (FOUND, CLEAN, Findings(every, {}, 1)):
            assert list(sarif_standard.iter_errors(json.loads(in_format("sarif", found)))) == []

    def test_the_schema_of_the_standard_refuses_what_is_none(self, sarif_standard: Draft4Validator) -> None:
        log = json.loads(in_format("sarif", FOUND))
        log["runs"][0]["results"][0]["level"] = "fatal"
        assert [list(error.path) for error in sarif_standard.iter_errors(log)] == [["runs", 0, "results", 0, "level"]]

    @given(st.lists(DIAGNOSTICS, max_size=3))
    def test_whatever_a_file_holds_makes_a_log_that_the_standard_takes(
        self, sarif_standard: Draft4Validator, found: list[Diagnostic]
    ) -> None:
        log = json.loads(in_format("sarif", Findings(found, {}, 1)))
        assert list(sarif_standard.iter_errors(log)) == []
        results = log["runs"][0]["results"]
        rules = log["runs"][0]["tool"]["driver"]["rules"]
        assert [rules[result["ruleIndex"]]["id"] for result in results] == [each.code for each in found]


class TestGithub:
    def test_each_diagnostic_is_a_command_with_its_place(self) -> None:
        assert in_format("github", FOUND).splitlines() == [
            (
                "::error file=shop/a b.yaml,line=12,endLine=12,col=3,endColumn=7,title=CG102::duplicate key `mode`%0A"
                "help: remove one of the two%0Anote: first written here (shop/b.yaml:1:1)%0A"
                "note: and there (/srv/c.yaml)"
            ),
            "::notice file=shop/b.yaml,line=3,endLine=5,title=CG801::4 tools: up to 3%0Ais 100%25",
            "::warning file=shop/b.yaml,title=CG709::the file holds no document",
            "1 error, 1 warning in 3 files",
        ]

    @given(TEXTS.filter(bool), TEXTS)
    def test_the_runner_reads_back_what_was_said(self, file: str, message: str) -> None:
        line, last = in_format("github", Findings([Diagnostic("CG101", "error", message, file, None)], {}, 1)).split(
            "\n"
        )[:2]
        assert last == "1 error in 1 file"
        # how the runner reads a command: `::name key=value,key=value::data`, undone in this order
        head, _, data = line.removeprefix("::").partition("::")
        properties = dict(part.split("=", 1) for part in head.removeprefix("error ").split(","))
        read = {key: _undone(value, ("%0D", "%0A", "%3A", "%2C", "%25")) for key, value in properties.items()}
        assert read == {"file": _visible(file), "title": "CG101"}
        assert _undone(data, ("%0D", "%0A", "%25")) == _visible(message)

    @pytest.mark.parametrize("form", ["github", "markdown"])
    def test_what_would_steer_a_terminal_or_turn_the_line_round_is_visible(self, form: str) -> None:
        found = Diagnostic("CG101", "error", "a\x1b[2Jb\x07c\x00d\x9be\u202ef", "x\u2066.yaml", None)
        told = in_format(form, Findings([found], {}, 1))
        assert told.replace("\n", "").isprintable()
        seen = told.replace("\\\\", "\\").replace("\\[", "[")
        assert "a\\x1b[2Jb\\x07c\\x00d\\x9be\\u202ef" in seen
        assert "x\\u2066.yaml" in seen


def _visible(text: str) -> str:
    return "".join(char if char in "\r\n" else printable(char) for char in text)


def _undone(text: str, escapes: Iterable[str]) -> str:
    for escape in escapes:
        text = text.replace(escape, chr(int(escape[1:], 16)))
    return text


class TestJunit:
    def test_a_file_is_a_suite_and_an_error_a_failed_case(self) -> None:
        suites = ET.fromstring(in_format("junit", FOUND))
        told = [
            (suite.attrib, [(case.attrib, [(each.tag, each.attrib, each.text) for each in case]) for case in suite])
            for suite in suites
        ]
        failure = (
            "shop/a b.yaml:12:3: error[CG102]: duplicate key `mode`\n  help: remove one of the two\n"
            "  note: first written here (shop/b.yaml:1:1)\n  note: and there (/srv/c.yaml)"
        )
        assert told == [
            (
                {"name": "shop/a b.yaml", "tests": "1", "failures": "1", "errors": "0"},
                [
                    (
                        {"classname": "shop/a b.yaml", "name": "CG102 12:3"},
                        [("failure", {"message": "duplicate key `mode`", "type": "CG102"}, failure)],
                    )
                ],
            ),
            (
                {"name": "shop/b.yaml", "tests": "1", "failures": "0", "errors": "0"},
                [({"classname": "shop/b.yaml", "name": "no errors"}, []), ({}, [])],
            ),
            (
                {"name": "shop/c.yaml", "tests": "1", "failures": "0", "errors": "0"},
                [({"classname": "shop/c.yaml", "name": "no errors"}, [])],
            ),
        ]
        assert suites.findtext("testsuite/system-out") == (
            "shop/b.yaml:3:1: note[CG801]: 4 tools: up to 3\nis 100%\n"
            "shop/b.yaml: warning[CG709]: the file holds no document"
        )

    @given(st.lists(DIAGNOSTICS, max_size=3))
    def test_whatever_a_file_holds_is_xml(self, found: list[Diagnostic]) -> None:
        suites = ET.fromstring(in_format("junit", Findings(found, {}, 1)))
        errors = sum(each.severity == "error" for each in found)
        assert len(suites.findall(".//failure")) == errors


class TestMarkdown:
    def test_findings_are_a_table(self) -> None:
        assert in_format("markdown", FOUND) == (
            "### callgate check\n"
            "\n"
            "1 error, 1 warning in 3 files\n"
            "\n"
            "| | code | where | what |\n"
            "|---|---|---|---|\n"
            "| error | CG102 | `shop/a b.yaml:12:3` | duplicate key `mode`<br>help: remove one of the two"
            "<br>note: first written here (`shop/b.yaml:1:1`)<br>note: and there (`/srv/c.yaml`) |\n"
            "| note | CG801 | `shop/b.yaml:3:1` | 4 tools: up to 3 is 100% |\n"
            "| warning | CG709 | `shop/b.yaml` | the file holds no document |\n"
            "\n"
            "| exception | lifts | of | until | owner |\n"
            "|---|---|---|---|---|\n"
            "| desk\\|1 | `cycle`, `rule:pay` | shop | 2027-01-31T18:00:00Z | ann |\n"
        )

    def test_without_findings_there_is_no_table(self) -> None:
        assert in_format("markdown", CLEAN) == "### callgate check\n\nno faults in 1 file\n"

    @pytest.mark.parametrize("written", [cell, code])
    @given(text=st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1))
    def test_whatever_is_written_stays_in_its_cell_and_means_nothing(self, written: Any, text: str) -> None:
        table = f"|a|b|\n|---|---|\n| {written(text)} | end |\n"
        tokens = MarkdownIt("commonmark").enable("table").parse(table)
        cells = [token for before, token in pairwise(tokens) if before.type == "td_open"]
        assert [_shown(each) for each in cells][1:] == ["end"]
        text = printable(text)
        plain = text.replace("`", "") if written is cell else text.strip()
        read = _shown(cells[0])
        read = read.replace("`", "") if written is cell else read
        assert read.strip().split() == plain.strip().split()


def _shown(cell_content: Any) -> str:
    allowed = {"text", "code_inline", "html_inline", "text_special"}
    assert {child.type for child in cell_content.children} <= allowed
    tags = {child.content for child in cell_content.children if child.type == "html_inline"}
    assert tags <= {"<code>", "</code>"}
    return "".join(child.content for child in cell_content.children if child.type != "html_inline")


class TestTheJsonSchema:
    def test_it_is_a_schema_and_knows_every_field_that_comes_out(self) -> None:
        schema = json.loads(shape("CheckReport"))
        Draft202012Validator.check_schema(schema)
        strict = Draft202012Validator(closed(schema))
        for found in (FOUND, CLEAN):
            assert list(strict.iter_errors(json.loads(in_format("json", found)))) == []

    @given(st.lists(DIAGNOSTICS, max_size=3))
    def test_whatever_a_file_holds_comes_out_in_that_form(self, found: list[Diagnostic]) -> None:
        strict = Draft202012Validator(closed(json.loads(shape("CheckReport"))))
        assert list(strict.iter_errors(json.loads(in_format("json", Findings(found, {}, 1))))) == []

    @pytest.mark.parametrize(
        ("path", "value"), [("severity", "fatal"), ("span", {"line": 0}), ("pointer", "spec"), ("hint", 3)]
    )
    def test_it_refuses_what_never_comes_out(self, path: str, value: Any) -> None:
        report = json.loads(in_format("json", FOUND))
        report["diagnostics"][0][path] = value
        errors = list(Draft202012Validator(json.loads(shape("CheckReport"))).iter_errors(report))
        assert {tuple(error.absolute_path)[:3] for error in errors} == {("diagnostics", 0, path)}

    def test_the_command_prints_it(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["schema", "CheckReport"]) == 0
        assert capsys.readouterr().out == shape("CheckReport")


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_comes_out_of_the_command_with_the_same_exit_code(
    form: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.yaml").write_text("a: 1\na: 2\n", encoding="utf-8")
    assert main(["check", "--format", form, "x.yaml"]) == 1
    assert "CG102" in capsys.readouterr().out
