"""The pages of codes and reasons: each code has one that keeps its word, and `callgate code` prints it."""

import json
import re
from pathlib import Path

import pytest

from callgate import _core
from callgate.cli.main import main
from callgate.policy.check import check
from callgate.policy.load import load
from callgate.policy.pages import Page, pages

EXAMPLE = re.compile(r"^\*\*(Wrong|Right)\*\*\n\n```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
WITH_BOTH = [page for page in pages() if page.code.startswith("CG1") and "**Wrong**" in page.path.read_text("utf-8")]


def codes_in_python(root: Path) -> set[str]:
    files = (root / "python" / "callgate").rglob("*.py")
    return {code for file in files for code in re.findall(r'"(CG\d{3})"', file.read_text(encoding="utf-8"))}


def test_every_code_has_a_page_that_stands_in_the_index(root: Path) -> None:
    index = (root / "docs" / "diagnostics.md").read_text(encoding="utf-8")
    found = {page.code: page for page in pages()}
    codes = codes_in_python(root) | {code for code, _ in _core.codes()}
    assert {f"CG{number}" for number in (101, 112, 301, 701, 714, 801)} <= codes
    for code in sorted(codes):
        page = found[code]
        assert f"| [{code}](diagnostics/{code}.md) | {page.name} | " in index


def test_no_page_is_about_a_code_that_nothing_gives_out(root: Path) -> None:
    codes = codes_in_python(root) | {code for code, _ in _core.codes()}
    assert {page.code for page in pages() if page.code.startswith("CG")} == codes


@pytest.mark.parametrize("page", WITH_BOTH, ids=lambda page: page.code)
def test_the_wrong_example_of_a_page_about_yaml_has_that_fault_and_the_right_one_none(
    page: Page, tmp_path: Path
) -> None:
    found = {}
    for label, text in EXAMPLE.findall(page.path.read_text(encoding="utf-8")):
        (tmp_path / "x.yaml").write_text(text, encoding="utf-8")
        found[label] = [each.code for each in check(load([tmp_path / "x.yaml"]))]
    assert found == {"Wrong": [page.code], "Right": []}


def test_thirteen_pages_about_yaml_have_both_examples() -> None:
    assert len(WITH_BOTH) == 13


@pytest.mark.parametrize("word", ["CG301", "cg301", "cel-syntax", "cel_syntax", "[CG301]", "error[CG301]"])
def test_a_page_is_found_by_code_or_name(word: str, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["code", word]) == 0
    assert capsys.readouterr().out == (root / "docs/diagnostics/CG301.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("word", [" ", "\n", "[]", "``", "error["])
def test_no_word_has_no_page(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["code", word]) == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err.startswith("callgate: there is no page for ")) == ("", True)


@pytest.mark.parametrize(("word", "page"), [("exact_repeat", "exact_repeat"), ("rule:order-ceiling", "rule")])
def test_a_reason_has_its_page_too(word: str, page: str, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["code", word]) == 0
    assert capsys.readouterr().out == (root / f"docs/reasons/{page}.md").read_text(encoding="utf-8")


def test_without_a_code_all_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["code"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [page.code for page in pages()]
    line = next(line for line in lines if line.startswith("CG102 "))
    assert line.split(None, 2) == ["CG102", "duplicate-key", "A key stands twice in one map."]


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("cg3001", "did you mean `CG3"), ("exact_repeet", "did you mean `exact_repeat`?"), ("zebra", "lists all"),
        ("exact", "there is `exact_repeat`"), ("same-", "there are `same_error`, `same_result`"),
        ("CG30", "there are `CG301`, `CG302`, "), ("x", "lists all"),
    ],
)  # fmt: skip
def test_a_word_without_a_page_is_told(word: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["code", word]) == 2
    assert told in capsys.readouterr().err


def test_every_code_that_check_gives_out_can_be_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.yaml").write_text("a: 1\na: 2\n---\n- 3\n", encoding="utf-8")
    main(["check", "--format", "json", "x.yaml"])
    codes = {each["code"] for each in json.loads(capsys.readouterr().out)["diagnostics"]}
    assert codes == {"CG102", "CG110", "CG112"}
    assert [main(["code", code]) for code in codes] == [0, 0, 0]
