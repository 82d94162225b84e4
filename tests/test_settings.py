"""`callgate.yaml`: what it says, where it is looked for, and what is wrong with it."""

from pathlib import Path

import pytest

from callgate.cli.main import main
from callgate.policy.compose import compose
from callgate.policy.diagnostics import Diagnostic, Span
from callgate.policy.load import load
from callgate.policy.settings import Settings, ToolLimits, find_settings, settings_of
from callgate.policy.source import Source

POLICY = "apiVersion: callgate/v1\nkind: GuardPolicy\nmetadata: {name: p}\nspec: {extends: [default]}\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read(text: str) -> tuple[Settings, list[tuple[str, str, str | None, Span | None]]]:
    (document,) = compose(Source("callgate.yaml", text)).documents
    settings, found = settings_of(document)
    return settings, [(fault.code, fault.message, fault.hint, fault.span) for fault in found]


def test_every_key_is_read() -> None:
    settings, faults = read(
        "paths: [policies]\ntraces: [runs]\nlints: {CG801: 'off', CG803: error}\n"
        "tools: {few: 10, many: 20, too_many: 40, context_window: 32000, share: 0.2, definition_tokens: 500, "
        "unused_days: 7}\nprompt: {language: zh}\nstore: var/callgate.db\n"
    )
    assert faults == []
    assert settings == Settings(
        "callgate.yaml",
        paths=("policies",),
        traces=("runs",),
        lints={"CG801": "off", "CG803": "error"},
        tools=ToolLimits(10, 20, 40, 32_000, 0.2, 500, 7),
        language="zh",
        store="var/callgate.db",
    )


def test_a_store_is_beside_the_file_that_names_it_and_memory_is_nowhere() -> None:
    assert Settings("shop/callgate.yaml", store="var/a.db").store_path() == "shop/var/a.db"
    assert Settings("shop/callgate.yaml", store="/var/a.db").store_path() == "/var/a.db"
    assert Settings("shop/callgate.yaml", store="memory").store_path() == "memory"
    assert Settings("shop/callgate.yaml").store_path() is None


def test_an_empty_file_leaves_the_defaults() -> None:
    assert read("---\n") == (Settings("callgate.yaml"), [])


def test_unknown_keys_are_told_with_the_nearest_known_one() -> None:
    settings, faults = read("tool: {few: 3}\ntools: {fwe: 3}\n")
    assert settings == Settings("callgate.yaml")
    assert faults == [
        ("CG201", "unknown key `tool` in `callgate.yaml`", "did you mean `tools`?", Span(1, 1, 1, 5)),
        ("CG201", "unknown key `fwe` in `tools`", "did you mean `few`?", Span(2, 9, 2, 12)),
    ]


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("paths: policies", "CG203", "a list of paths is wanted"),
        ("paths: [1]", "CG203", "a list of paths is wanted"),
        ("store: [a.db]", "CG203", "the path of a file is wanted, or `memory`"),
        ("store: ' '", "CG203", "the path of a file is wanted, or `memory`"),
        ("tools: 3", "CG203", "a map is wanted"),
        ("tools: {few: true}", "CG203", "a whole number is wanted"),
        ("tools: {few: 0}", "CG205", "at least 1 is wanted"),
        ("tools: {share: much}", "CG203", "a share is wanted, such as 0.1"),
        ("tools: {share: 1.5}", "CG205", "a share lies above 0 and is at most 1"),
        ("lints: [CG801]", "CG203", "a map from codes to levels is wanted"),
        ("lints: {tools: 'off'}", "CG204", "`tools` is no code"),
        ("lints: {CG899: 'off'}", "CG204", "there is no code `CG899`"),
        ("lints: {CG801: of}", "CG204", "`of` is none of the words that `CG801` takes"),
        ("prompt: {language: de}", "CG204", "`de` is none of the words that `language` takes"),
        ("tools: {few: 40}", "CG416", "`few` 40, `many` 30, `too_many` 50 do not rise"),
    ],
)
def test_what_cannot_be_meant_is_told(text: str, code: str, message: str) -> None:
    assert [(found, words) for found, words, _, _ in read(text)[1]] == [(code, message)]


def test_the_file_of_the_nearest_folder_above_counts(folder: Path) -> None:
    (folder / "callgate.yaml").write_text("tools: {few: 3}\n")
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "a" / "b" / "policy.yaml").write_text(POLICY)
    assert find_settings([folder / "a" / "b" / "policy.yaml"]) == folder / "callgate.yaml"
    assert load(["a/b"]).settings == Settings("callgate.yaml", tools=ToolLimits(few=3))


def test_the_search_ends_at_the_root_of_a_repository(folder: Path) -> None:
    (folder / "callgate.yaml").write_text("tools: {few: 3}\n")
    (folder / "inner" / ".git").mkdir(parents=True)
    (folder / "inner" / "policy.yaml").write_text(POLICY)
    assert load(["inner"]).settings == Settings()


def test_settings_below_the_root_are_told_and_not_read(folder: Path) -> None:
    (folder / "a").mkdir()
    (folder / "callgate.yaml").write_text("tools: {few: 3}\n")
    (folder / "a" / "callgate.yaml").write_text("tools: {few: 4}\n")
    (folder / "a" / "policy.yaml").write_text(POLICY)
    loaded = load(["."])
    assert loaded.settings.tools.few == 3
    assert loaded.diagnostics == [
        Diagnostic(
            "CG714", "warning", "settings that nobody reads", "a/callgate.yaml", None, "only `callgate.yaml` counts"
        )
    ]


def test_a_fault_in_the_settings_is_an_error_of_check(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "callgate.yaml").write_text("toolz: {}\n")
    (folder / "policy.yaml").write_text(POLICY)
    assert main(["check", "policy.yaml"]) == 1
    assert "error[CG201]: unknown key `toolz` in `callgate.yaml`\n --> callgate.yaml:1:1\n" in capsys.readouterr().out


def test_check_without_a_path_takes_those_of_the_settings(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "mine").mkdir()
    (folder / "mine" / "policy.yaml").write_text(POLICY.replace("default", "defualt"))
    assert main(["check"]) == 2
    assert "name a file or folder to check" in capsys.readouterr().err
    (folder / "callgate.yaml").write_text("paths: [mine]\n")
    assert main(["check"]) == 1
    assert "--> mine/policy.yaml:4:18" in capsys.readouterr().out
