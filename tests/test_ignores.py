"""Comments that keep a diagnostic silent: where they count, what they cannot do, and what is told of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate import Gate, PolicyError
from callgate.cli.main import main
from callgate.policy.check import check
from callgate.policy.ignore_comments import ignores_of
from callgate.policy.load import load
from callgate.policy.open import open_policy
from callgate.policy.source import Source

HEAD = """\
apiVersion: callgate/v1
kind: GuardPolicy
metadata: {name: p, revision: "1"}
spec:
  budgets: {steps: 32, tokens: 200000}
  time: {task: 10m}
  detectors:
"""
WARN_ONLY = "    same_error: {note_after: 3}"

Found = list[tuple[str, int, int]]


@pytest.fixture
def found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[str], tuple[Found, Found]]:
    """What `check` finds in a policy with these detectors, and what it ignores: code, line, column."""
    monkeypatch.chdir(tmp_path)

    def find(detectors: str, head: str = HEAD) -> tuple[Found, Found]:
        (tmp_path / "p.yaml").write_text(head + detectors, encoding="utf-8")
        main(["check", "--format", "json", "p.yaml"])
        report = json.loads(capsys.readouterr().out)
        told, ignored = (
            [(each["code"], each["span"]["line"], each["span"]["column"]) for each in report[key]]
            for key in ("diagnostics", "ignored")
        )
        return told, ignored

    return find


IGNORED = [("CG403", 8, 5)]


class TestWhereItCounts:
    @pytest.mark.parametrize(
        ("detectors", "line"),
        [
            (f"{WARN_ONLY}  # callgate: ignore[CG403] stopped outside\n", 8),
            (f"{WARN_ONLY}  #callgate:ignore[CG403] stopped outside\n", 8),
            (f"    # callgate: ignore[CG403] stopped outside\n{WARN_ONLY}\n", 9),
            (f"# callgate: ignore[CG403]: stopped outside\n{WARN_ONLY}\n", 9),
            (f"    # callgate: ignore[CG403] stopped outside\n    # and more words\n{WARN_ONLY}\n", 10),
            ("    same_error:  # callgate: ignore[CG403] stopped outside\n      note_after: 3\n", 8),
        ],
    )
    def test_on_the_line_or_alone_above_it(
        self, found: Callable[[str], tuple[Found, Found]], detectors: str, line: int
    ) -> None:
        assert found(detectors) == ([], [("CG403", line, 5)])

    def test_several_codes_and_several_comments_above_one_line(
        self, found: Callable[[str], tuple[Found, Found]]
    ) -> None:
        rules = (
            "    same_error: {note_after: 3, refuse_after: 5}\n"
            "  rules:\n"
            "    - {id: a, when: 'true', action: refuse}\n"
            "COMMENTS"
            "    - {id: b, tools: [pay, gone], when: 'true', action: ask}\n"
            "---\n"
            "apiVersion: callgate/v1\n"
            "kind: ToolManifest\n"
            "metadata: {name: m}\n"
            "spec: {tools: {pay: {effect: external}}}\n"
        )
        one = "    # callgate: ignore[CG503, CG421] until the desk has its own\n"
        two = "    # callgate: ignore[CG503] kept for the log\n    # callgate: ignore[CG421] the host adds it\n"
        assert found(rules.replace("COMMENTS", "")) == ([("CG503", 11, 8), ("CG421", 11, 28)], [])
        assert found(rules.replace("COMMENTS", one)) == ([], [("CG503", 12, 8), ("CG421", 12, 28)])
        assert found(rules.replace("COMMENTS", two)) == ([], [("CG503", 13, 8), ("CG421", 13, 28)])

    def test_a_text_over_several_lines_is_ignored_where_it_begins(
        self, found: Callable[[str], tuple[Found, Found]]
    ) -> None:
        rules = (
            "    same_error: {note_after: 3, refuse_after: 5}\n"
            "  undeclared_tools: allow\n"
            "  rules:\n"
            "    - id: a\n"
            "      phase: observe\n"
            "      action: note\n"
            "      when: |-  # callgate: ignore[CG319] no tool of ours answers with text\n"
            "        true &&\n"
            "        result.count > 3\n"
        )
        told, ignored = found(rules)
        assert ("CG319", 16, 9) in ignored
        assert [code for code, _, _ in told if code == "CG319"] == []

    @pytest.mark.parametrize(
        "detectors",
        [
            f"    # callgate: ignore[CG403] a line too far\n\n{WARN_ONLY}\n",
            f"    window: 50  # callgate: ignore[CG403] not alone on its line\n{WARN_ONLY}\n",
            f"{WARN_ONLY}\n    # callgate: ignore[CG403] below\n",
            f"{WARN_ONLY}  # callgate: ignore[CG401] another code\n",
        ],
    )
    def test_nowhere_else(self, found: Callable[[str], tuple[Found, Found]], detectors: str) -> None:
        told, ignored = found(detectors)
        assert ([code for code, _, _ in told].count("CG403"), ignored) == (1, [])
        assert "CG121" in [code for code, _, _ in told]


@pytest.mark.parametrize(
    "text",
    [
        "a: |\n  # callgate: ignore[CG403] text\n",
        "a: >-\n  x\n\n  # callgate: ignore[CG403] text\n",
        "a: '# callgate: ignore[CG403] text'\n",
        'a: "x\n  # callgate: ignore[CG403] text"\n',
        "a: b#callgate: ignore[CG403] text\n",
        "a: x# callgate:ignore[CG403]\n",
        "a: 'it''s # callgate: ignore[CG403] text'\n",
    ],
)
def test_a_sign_inside_a_text_begins_no_comment(text: str) -> None:
    assert ignores_of(Source("a.yaml", text))[:2] == ([], [])


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: 1 # callgate: ignore[CG403] w", 1),
        ("a: # callgate: ignore[CG403] w\n  1\n", 1),
        ("a: [1, # callgate: ignore[CG403] w\n  2]\n", 1),
        ("a: &x # callgate: ignore[CG403] w\n  1\n", 1),
        ("a: !!str # callgate: ignore[CG403] w\n  1\n", 1),
        ("a: &x 1\nb: *x # callgate: ignore[CG403] w\n", 2),
        ("a: |+ # callgate: ignore[CG403] w\n  x\n", 1),
        ("a: |\n  x # no\n# callgate: ignore[CG403] w\nb: 1\n", 4),
        ("--- # callgate: ignore[CG403] w\na: 1\n", 1),
        ("a: 1\r\n# callgate: ignore[CG403] w\r\nb: 1\r\n", 3),
        ("? # callgate: ignore[CG403] w\n  a\n: 1\n", 1),
        ("# callgate: ignore[CG403] w", 2),
        ("a: 日本 # callgate: ignore[CG403] w", 1),
    ],
)
def test_a_comment_is_found_wherever_yaml_takes_one(text: str, line: int) -> None:
    [asked] = ignores_of(Source("a.yaml", text)).asked
    assert (asked.line, asked.code, asked.why) == (line, "CG403", "w")
    at = text.splitlines()[asked.span.line - 1]
    assert at[asked.span.column - 1 : asked.span.end_column - 1] == "CG403"


@given(st.text(alphabet="#: \n'\"|>-[]{}&*!,ab\t", max_size=60))
def test_reading_comments_never_fails(text: str) -> None:
    ignores_of(Source("a.yaml", text + "\n# callgate: ignore[CG403] w\n"))


class TestWhatIsToldOfIt:
    @pytest.mark.parametrize(
        ("comment", "code", "columns", "message", "hint"),
        [
            ("# callgate: ignore[CG403]", "CG120", (34, 59), "`# callgate: ignore[CG403]` does not say why",
             "say behind the bracket why the finding is none here"),
            ("# callgate: ignore[CG403] --", "CG120", (34, 62), "`# callgate: ignore[CG403] --` does not say why",
             "say behind the bracket why the finding is none here"),
            ("# callgate: ignore[CG430] w", "CG121", (53, 58), "there is no `CG430` here to ignore",
             "take it away: what it was about is gone"),
            ("# callgate: ignore[CG40] w", "CG122", (53, 57), "there is no code `CG40`", "did you mean `CG"),
            ("# callgate: ignore[warn-only] w", "CG122", (53, 62), "there is no code `warn-only`",
             "`callgate code` lists all codes"),
            ("# callgate: ignore CG403 w", "CG123", (34, 60), "this comment ignores nothing",
             "write `# callgate: ignore[CG403] why`, several codes with commas"),
            ("# callgate: ignore[] w", "CG123", (34, 56), "this comment ignores nothing",
             "write `# callgate: ignore[CG403] why`, several codes with commas"),
            ("# callgate: ignroe[CG403] w", "CG123", (34, 61), "this comment ignores nothing",
             "write `# callgate: ignore[CG403] why`, several codes with commas"),
        ],
    )  # fmt: skip
    def test_what_ignores_nothing_is_a_warning_with_its_place(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
        comment: str, code: str, columns: tuple[int, int], message: str, hint: str,
    ) -> None:  # fmt: skip
        monkeypatch.chdir(tmp_path)
        (tmp_path / "p.yaml").write_text(f"{HEAD}{WARN_ONLY}  {comment}\n")
        assert main(["check", "--format", "json", "p.yaml"]) == 0
        report = json.loads(capsys.readouterr().out)
        told = next(each for each in report["diagnostics"] if each["code"] == code)
        assert told["span"] == {"line": 8, "column": columns[0], "end_line": 8, "end_column": columns[1]}
        assert (told["severity"], told["message"], told["hint"][: len(hint)]) == ("warning", message, hint)
        assert {each["code"] for each in report["diagnostics"]} == {"CG403", code}
        assert report["ignored"] == []

    @pytest.mark.parametrize("words", ["this is a policy", "see the handbook", "ask the desk before you change it"])
    def test_a_sentence_that_begins_with_our_name_is_left_alone(
        self, found: Callable[[str], tuple[Found, Found]], words: str
    ) -> None:
        assert found(f"    same_error: {{note_after: 3, refuse_after: 5}}  # callgate: {words}\n") == ([], [])

    def test_an_error_stays_and_the_comment_is_told(
        self, found: Callable[[str], tuple[Found, Found]], tmp_path: Path
    ) -> None:
        line = "    same_error: {note_after: 6, refuse_after: 5}  # callgate: ignore[CG401] let me\n"
        told, ignored = found(line)
        assert ([code for code, _, _ in told], ignored) == (["CG401", "CG121"], [])
        with pytest.raises(PolicyError):
            Gate.load(tmp_path / "p.yaml")

    def test_nothing_is_called_unused_while_an_error_may_hide_it(
        self, found: Callable[[str], tuple[Found, Found]]
    ) -> None:
        told, _ = found("    same_erro: {}\n    cycle: {laps: 3}  # callgate: ignore[CG502] seen by hand\n")
        assert [code for code, _, _ in told] == ["CG201"]


def test_what_settings_raise_to_an_error_can_be_ignored(
    found: Callable[[str], tuple[Found, Found]], tmp_path: Path
) -> None:
    (tmp_path / "callgate.yaml").write_text("lints: {CG403: error}\n")
    assert found(f"{WARN_ONLY}  # callgate: ignore[CG403] stopped outside\n") == ([], IGNORED)
    assert found(f"{WARN_ONLY}\n")[0] == IGNORED


def test_a_gate_does_not_warn_of_what_is_ignored(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(f"{HEAD}{WARN_ONLY}\n")
    assert [each.code for each in Gate.load(file).warnings] == ["CG403"]
    file.write_text(f"{HEAD}{WARN_ONLY}  # callgate: ignore[CG403] stopped outside\n")
    assert Gate.load(file).warnings == ()


def test_a_comment_of_a_pack_counts_and_is_never_called_unused_by_those_who_extend_it(tmp_path: Path) -> None:
    pack = tmp_path / "packs" / "base"
    pack.mkdir(parents=True)
    (pack / "policy.yaml").write_text(
        HEAD.replace("name: p", "name: base") + f"{WARN_ONLY}  # callgate: ignore[CG403, CG502] stopped outside\n"
    )
    (tmp_path / "p.yaml").write_text(
        "apiVersion: callgate/v1\nkind: GuardPolicy\nmetadata: {name: p}\nspec: {extends: [base]}\n"
    )
    opened = open_policy(tmp_path / "p.yaml", packs=[tmp_path / "packs"])
    assert (opened.diagnostics, opened.compiled is not None) == ([], True)


def test_the_text_counts_and_sarif_suppresses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.yaml").write_text(f"{HEAD}{WARN_ONLY}  # callgate: ignore[CG403] stopped outside\n")
    assert main(["check", "p.yaml"]) == 0
    assert capsys.readouterr().out == "no faults in 1 file, 1 ignored\n"
    assert main(["check", "p.yaml", "--format", "sarif"]) == 0
    [result] = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    assert (result["ruleId"], result["suppressions"]) == (
        "CG403", [{"kind": "inSource", "justification": "stopped outside"}],
    )  # fmt: skip


def test_files_without_such_a_comment_are_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(source: Source) -> object:
        raise AssertionError(source.file)

    monkeypatch.setattr("callgate.policy.ignore_comments.ignores_of", read)
    (tmp_path / "p.yaml").write_text(f"{HEAD}{WARN_ONLY}  # ignore[CG403]\n")
    assert [each.code for each in check(load([tmp_path / "p.yaml"]))] == ["CG403"]
