"""`callgate tools`: searching definitions, and finding those that nobody calls."""

import gzip
import json
import os
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from callgate.cli.main import main
from callgate.tools import definitions_of
from callgate.tools.unused import Uses, unused_tools
from catalogue import catalogue

MANIFEST = """
apiVersion: callgate/v1
kind: ToolManifest
metadata: {name: desk}
spec:
  tools:
    get_weather: {description: Forecast of rain., definition_tokens: 40}
    send_mail: {description: Write to somebody., definition_tokens: 60}
    draw: {description: Pictures., definition_tokens: 100}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / "tools.yaml").write_text(MANIFEST)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = main(["tools", *argv])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def record(tool: str, **more: Any) -> str:
    return json.dumps({"session": "s", "tool": tool, "arguments": {}, **more}) + "\n"


def test_a_search_prints_the_definitions_and_the_tokens_before_and_after(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, "search", "will it rain?", "tools.yaml")
    assert (code, err) == (0, "")
    head, row, blank, before, after = out.splitlines()
    assert head.split() == ["score", "tokens", "tool", "description"]
    assert row.split()[1:] == ["40", "get_weather", "Forecast", "of", "rain."]
    assert blank == ""
    assert before == "before      3 definitions       200 tokens"
    assert after == "after       1 definition         40 tokens, 160 saved (80%)"


def test_a_search_as_json_has_the_definitions_to_send(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "search", "will it rain?", "tools.yaml", "--format", "json")
    found = json.loads(out)
    score = found["tools"][0].pop("score")
    assert (code, score > 0) == (0, True)
    assert found == {
        "version": 1,
        "query": "will it rain?",
        "tools": [
            {
                "name": "get_weather",
                "tokens": 40,
                "definition": {
                    "name": "get_weather",
                    "description": "Forecast of rain.",
                    "input_schema": {"type": "object"},
                },
            }
        ],
        "definitions": 3,
        "tokens": 40,
        "tokens_of_all": 200,
        "saved": 160,
    }


def test_a_json_list_of_tools_is_searched(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for body in (catalogue(), {"tools": catalogue()}, {"jsonrpc": "2.0", "result": {"tools": catalogue()}}):
        (folder / "tools.json").write_text(json.dumps(body))
        code, out, _ = run(capsys, "search", "where is my package 1Z999", "tools.json", "--limit", "3")
        assert (code, "track_shipment" in out) == (0, True)
        assert "before    200 definitions" in out


def test_a_list_that_an_editor_put_a_byte_order_mark_before_is_searched(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "tools.json").write_text(json.dumps([{"name": "get_weather"}]), encoding="utf-8-sig")
    code, out, err = run(capsys, "search", "weather", "tools.json", "--format", "json")
    assert (code, [tool["name"] for tool in json.loads(out)["tools"]], err) == (0, ["get_weather"], "")


def test_without_a_path_the_manifests_of_the_settings_are_searched(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(capsys, "search", "rain")[0] == 2
    (folder / "callgate.yaml").write_text("paths: [tools.yaml]\n")
    assert run(capsys, "search", "rain")[0] == 0


def test_a_tool_is_found_by_the_words_of_the_one_that_it_extends(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "tools.yaml").write_text(
        MANIFEST + "    forecast_api: {extends: get_weather}\n    orphan: {extends: nobody}\n"
    )
    _, out, _ = run(capsys, "search", "rain", "tools.yaml", "--format", "json")
    assert [(tool["name"], tool["tokens"]) for tool in json.loads(out)["tools"]] == [
        ("get_weather", 40),
        ("forecast_api", 40),
    ]


def test_nothing_fits_is_inconclusive(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "search", "xyzzy", "tools.yaml")
    assert (code, out.splitlines()[0]) == (3, "nothing fits")


def test_tools_without_a_call_for_thirty_days_are_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "runs-2026-01-05.jsonl").write_text(record("draw") + record("send_mail"))
    (folder / "runs-2026-03-14.jsonl").write_text(record("get_weather"))
    code, out, err = run(
        capsys, "unused", "--days", "30", "--today", "2026-03-20", "--tools", "tools.yaml", "--format", "text",
        "runs-2026-01-05.jsonl", "runs-2026-03-14.jsonl",
    )  # fmt: skip
    assert (code, err) == (1, "")
    assert out == (
        "tool       tokens  last call\n"
        "send_mail      60  2026-01-05\n"
        "draw          100  2026-01-05\n"
        "\n"
        "2 of 3 definitions had no call since 2026-02-18\n"
        "without them: 160 of 200 tokens less (80%)\n"
    )


def test_a_tool_that_was_never_called_is_said_to_be(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "runs-2026-03-14.jsonl").write_text(record("get_weather") + record("send_mail") + "no record\n")
    code, out, _ = run(capsys, "unused", "--today", "2026-03-20", "--tools", "tools.yaml", "--format", "json", ".")
    assert code == 1
    assert json.loads(out) == {
        "version": 1,
        "since": "2026-02-18",
        "definitions": 3,
        "calls": 2,
        "skipped": 1,
        "tokens": 100,
        "tokens_of_all": 200,
        "unused": [{"name": "draw", "tokens": 100, "calls": 0, "last": None}],
    }


def test_all_tools_used_is_fine(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = "".join(record(tool) for tool in ("get_weather", "send_mail", "draw"))
    (folder / "runs-20260314.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    code, out, _ = run(capsys, "unused", "--today", "2026-03-20", "--tools", "tools.yaml", "runs-20260314.jsonl.gz")
    assert (code, out) == (0, "0 of 3 definitions had no call since 2026-02-18\n")


def test_without_a_call_in_the_time_nothing_can_be_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "runs-2026-01-05.jsonl").write_text(record("draw"))
    code, out, err = run(capsys, "unused", "--today", "2026-03-20", "--tools", "tools.yaml", "runs-2026-01-05.jsonl")
    assert (code, out) == (3, "")
    assert err == "callgate: these traces have no call since 2026-02-18: nothing can be said\n"


def test_the_settings_say_how_far_to_look_back_and_where(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "runs").mkdir()
    (folder / "runs" / "a-2026-03-10.jsonl").write_text(record("draw"))
    (folder / "runs" / "b-2026-03-18.jsonl").write_text(record("send_mail"))
    (folder / "callgate.yaml").write_text("paths: [tools.yaml]\ntraces: [runs]\ntools: {unused_days: 5}\n")
    code, out, _ = run(capsys, "unused", "--today", "2026-03-20")
    assert (code, "2 of 3 definitions had no call since 2026-03-15" in out) == (1, True)


DAY = date(2026, 3, 20)
TOOLS = definitions_of([{"name": "a"}])


def test_the_day_of_a_call_is_its_label_then_the_files_name_then_when_the_file_was_written(tmp_path: Path) -> None:
    labelled = tmp_path / "x-2026-01-01.jsonl"
    labelled.write_text(record("a", labels={"date": "2026-03-19T10:00:00"}) + record("a", labels={"date": "soon"}))
    assert unused_tools(TOOLS, [labelled], days=30, today=DAY).uses == {"a": Uses(2, 1, date(2026, 3, 19))}
    plain = tmp_path / "build-20269999-1.jsonl"
    plain.write_text(record("a"))
    written = datetime(2026, 3, 2, tzinfo=UTC).timestamp()
    os.utime(plain, (written, written))
    assert unused_tools(TOOLS, [plain], days=30, today=DAY).uses == {"a": Uses(1, 1, date(2026, 3, 2))}


def test_the_last_day_that_counts_is_exactly_so_many_days_ago(tmp_path: Path) -> None:
    trace = tmp_path / "x-2026-02-18.jsonl"
    trace.write_text(record("a"))
    assert unused_tools(TOOLS, [trace], days=30, today=DAY).unused == []
    assert unused_tools(TOOLS, [trace], days=29, today=DAY).unused == TOOLS


@pytest.mark.parametrize(
    ("argv", "why"),
    [
        (["search", "rain", "nowhere.yaml"], "nowhere.yaml: no such file or folder"),
        (["search", "rain", "nowhere.json"], "cannot read `nowhere.json`: no such file or directory"),
        (["search", "rain", "empty.json"], "there is no tool in `empty.json`"),
        (["search", "rain", "wrong.json"], "wrong.json: a list of tools is wanted, or an object with `tools`"),
        (["search", "rain", "nameless.json"], "nameless.json: tools[0] is no definition of a tool: it has no `name`"),
        (["search", "rain", "broken.json"], "broken.json: this is no JSON: "),
        (["unused", "--tools", "tools.yaml"], "name a trace, or a folder of them"),
        (["unused", "--tools", "tools.yaml", "nowhere.jsonl"], "nowhere.jsonl: cannot read the file"),
        (["unused", "--tools", "tools.yaml", "bare"], "there is no trace in `bare`"),
        (["unused", "--tools", "tools.yaml", "t.jsonl", "--today", "soon"], "`--today soon` is no day"),
    ],
)
def test_a_wrong_command_is_said_in_a_line(
    folder: Path, capsys: pytest.CaptureFixture[str], argv: list[str], why: str
) -> None:
    (folder / "bare").mkdir()
    for name, text in {"empty": "[]", "wrong": "7", "nameless": "[{}]", "broken": "[1"}.items():
        (folder / f"{name}.json").write_text(text)
    (folder / "t.jsonl").write_text(record("draw"))
    code, out, err = run(capsys, *argv)
    assert (code, out) == (2, "")
    assert f"callgate: {why}" in err


@pytest.mark.parametrize("number", ["0", "-1", "9" * 30, "many"])
@pytest.mark.parametrize("option", ["--limit", "--days"])
def test_a_number_out_of_its_range_is_a_usage_error(
    number: str, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    verb = ["search", "rain"] if option == "--limit" else ["unused"]
    code, _, err = run(capsys, *verb, f"{option}={number}")
    assert (code, f"argument {option}: expected a " in err) == (2, True)


def test_settings_that_look_back_for_ever_look_back_a_century(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "callgate.yaml").write_text("tools: {unused_days: 999999999999}\n")
    (folder / "t.jsonl").write_text(record("draw"))
    code, _, err = run(capsys, "unused", "--tools", "tools.yaml", "t.jsonl")
    assert (code in (0, 1, 3), "internal" in err) == (True, False)


def test_a_bare_verb_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys)[0] == 2
