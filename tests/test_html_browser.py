"""The HTML pages in a real browser: it has nothing to complain of. Skipped where no Chromium is installed."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from callgate.cli.main import main

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@pytest.fixture(scope="module")
def browser() -> str:
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip(f"no browser to open pages with: install one of {', '.join(BROWSERS)}")
    return found


def complaints(browser: str, page: Path, folder: Path) -> list[str]:
    """What the browser's console says of a page, once it has drawn it."""
    shot = folder / f"{page.stem}.png"
    done = subprocess.run(
        [
            browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--log-level=0",
            "--window-size=1280,1600", f"--user-data-dir={folder / page.stem}", f"--screenshot={shot}", page.as_uri(),
        ],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert shot.is_file(), done.stderr
    assert shot.stat().st_size > 5_000
    return [line for line in done.stderr.splitlines() if "CONSOLE" in line]


@pytest.mark.slow
def test_the_pages_open_without_a_complaint(browser: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    record = {"session": "<b>s</b>", "tool": "look", "arguments": {"n": "<script>alert(1)</script>"}, "result": [1]}
    trace = tmp_path / "t.jsonl"
    trace.write_text((json.dumps(record) + "\n") * 20, encoding="utf-8")
    pages = {
        "diff": ["diff", "default", "strict", "--traces", str(trace), "--format", "html"],
        "report": ["report", str(trace), "--policy", "default"],
    }
    for name, arguments in pages.items():
        assert main(arguments) == 0
        (tmp_path / f"{name}.html").write_text(capsys.readouterr().out, encoding="utf-8")
        assert complaints(browser, tmp_path / f"{name}.html", tmp_path) == []


@pytest.mark.slow
def test_a_page_that_breaks_its_own_rules_is_complained_of(browser: str, tmp_path: Path):
    rules = "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'\">"
    words = "<h1>words</h1>" * 200
    page = tmp_path / "bad.html"
    page.write_text(f"<!doctype html>{rules}<style>h1{{color:red}}</style>{words}", encoding="utf-8")
    assert complaints(browser, page, tmp_path) != []
