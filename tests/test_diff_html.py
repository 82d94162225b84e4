"""The HTML page of a diff: whole and self-contained, nothing in it runs, whatever stands in policies and traces."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from callgate.cli.main import main
from callgate.report.html_page import joined, page, table, tag, text
from policy_pairs import POLICY, TOOLS

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>&amp;</style></title>\x1b[31m\u202e"


class Reader(HTMLParser):
    """The elements, attributes and texts of a page, and whether every element is closed in its order."""

    VOID = frozenset({"meta", "br", "link", "rect", "line", "circle", "polyline", "path"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def self_contained(html: str) -> Reader:
    """Read a page; nothing in it runs or is loaded."""
    read = Reader(html)
    assert "script" not in read.tags
    assert not {"img", "iframe", "object", "embed", "base", "form", "input"} & set(read.tags)
    names = {name for name, _ in read.attributes}
    assert not [name for name in names if name.startswith("on") or name in ("src", "style", "srcset", "action")]
    links = [value or "" for name, value in read.attributes if name == "href"]
    assert [link for link in links if not link.startswith("#")] == ["data:,"]
    assert "url(" not in html
    assert "@import" not in html
    assert "http:" not in html
    assert "https:" not in html
    return read


def diffed(folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    for name, steps in (("old", 40), ("new", 3)):
        (folder / name).mkdir()
        words = json.dumps(json.dumps(f"{name} {HOSTILE}"))
        policy = POLICY.replace("steps: 40", f"steps: {steps}").replace("'\"the order is large\"'", words)
        (folder / name / "policy.yaml").write_text(policy, encoding="utf-8")
        (folder / name / "tools.yaml").write_text(TOOLS, encoding="utf-8")
    records = [
        {
            "session": HOSTILE,
            "agent": HOSTILE,
            "tool": "quote",
            "arguments": {"supplier": HOSTILE, HOSTILE: n},
            "result": HOSTILE,
        }
        for n in range(6)
    ]
    trace = folder / "t.jsonl"
    trace.write_text("".join(json.dumps(record) + "\n" for record in records) + "{<b>\n", encoding="utf-8")
    arguments = ["diff", str(folder / "old"), str(folder / "new"), "--traces", str(trace), "--format", "html"]
    assert main([*arguments, "--fail-on", "looser"]) == 0
    return capsys.readouterr().out


def test_hostile_names_are_text_and_nothing_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    html = diffed(tmp_path, capsys)
    read = self_contained(html)
    assert any("<script>alert(1)</script>" in part for part in read.texts)
    assert "\x1b" not in html
    assert "\u202e" not in html


def test_the_page_tells_changes_numbers_and_first_divergences(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    words = " ".join(" ".join(Reader(diffed(tmp_path, capsys)).texts).split())
    for said in (
        "BUDGET_LOWERED",
        "recorded calls in 1 session, judged under both 6",
        "newly refused 3",
        "budget_steps",
        "lines skipped",
    ):
        assert said in words


def test_its_own_style_is_all_that_the_page_allows(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    html = diffed(tmp_path, capsys)
    (rules,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', html)
    assert re.fullmatch(
        r"default-src 'none'; img-src data:; style-src 'sha256-[A-Za-z0-9+/]+='; base-uri 'none'; form-action 'none'",
        rules,
    )
    for fit in ("prefers-color-scheme:dark", "max-width:40rem", "@media print", "focus-visible"):
        assert fit in html


def test_texts_are_escaped_by_being_texts():
    assert (
        tag("p", "<b>", text("&"), joined(["<", None]), title='"x"')
        == '<p title="&quot;x&quot;">&lt;b&gt;&amp;&lt;</p>'
    )
    assert "&lt;i&gt;" in table("<i>", ["<i>"], [["<i>"]])
    assert "<title>&lt;/title&gt;</title>" in page("</title>")


def luminance(color: str) -> float:
    """Relative luminance, WCAG 2.2."""
    digits = color.lstrip("#")
    digits = "".join(digit * 2 for digit in digits) if len(digits) == 3 else digits
    parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_words_stand_out_from_what_is_behind_them_as_aa_asks_in_light_dark_and_print():
    from callgate.report.html_style import STYLE

    schemes = [dict(re.findall(r"--([a-z-]+):(#[0-9a-f]+)", block)) for block in re.findall(r":root\{([^}]*)\}", STYLE)]
    assert len(schemes) == 3
    for scheme in schemes:
        backs = {"bg": ["ink", "soft", "accent"], "card": ["ink", "soft", "accent"], "code": ["ink", "soft"]}
        backs |= {f"{role}-bg": [role] for role in ("looser", "stricter", "open", "fine")}
        for back, words in backs.items():
            for word in words:
                bright, dim = sorted((luminance(scheme[back]), luminance(scheme[word])), reverse=True)
                assert (bright + 0.05) / (dim + 0.05) >= 4.5, (word, back, scheme)
