"""What an author meant: hints where a word of another tool, a wrong place or missing quotes are the likely slip."""

import json
from pathlib import Path

import pytest

from callgate.cli.main import main

HEAD = "apiVersion: callgate/v1\nkind: GuardPolicy\nmetadata: {name: mine}\n"
SPEC = "spec:\n  budgets: {steps: 9, tokens: 9}\n  time: {task: 1m}\n"
TOOLS = (
    "---\napiVersion: callgate/v1\nkind: ToolManifest\nmetadata: {name: tools}\n"
    "spec: {tools: {refund: {effect: external, groups: [money]}, get_order: {effect: read}}}\n"
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(capsys: pytest.CaptureFixture[str], folder: Path, text: str) -> list[tuple[str, str, int, str | None]]:
    """Of each fault code, message, line and hint."""
    (folder / "p.yaml").write_text(text)
    main(["check", "--format", "json", "p.yaml"])
    found = json.loads(capsys.readouterr().out)["diagnostics"]
    return [(each["code"], each["message"], each["span"]["line"], each["hint"]) for each in found]


def rule(key: str, value: str) -> str:
    keys = {"id": "r", "tools": "[refund]", "when": "args.amount > 50", "action": "refuse", key: value}
    return (
        HEAD + SPEC + "  rules:\n    - {" + ", ".join(f"{name}: {text}" for name, text in keys.items()) + "}\n" + TOOLS
    )


@pytest.mark.parametrize(
    ("word", "meant"), [("deny", "refuse"), ("block", "refuse"), ("warn", "note"), ("log", "note"), ("confirm", "ask")]
)
def test_an_action_of_another_tool_is_led_to_ours(
    word: str, meant: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    message = f"expected one of `note`, `ask`, `refuse`, `stop`, `retry`, `exit`, found `{word}`"
    assert told(capsys, folder, rule("action", word)) == [("CG204", message, 8, f"did you mean `{meant}`?")]


def test_an_action_that_rules_do_not_have_gets_no_false_hint(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    message = "expected one of `note`, `ask`, `refuse`, `stop`, `retry`, `exit`, found `allow`"
    assert told(capsys, folder, rule("action", "allow")) == [("CG204", message, 8, None)]


def test_a_key_of_another_tool_is_led_to_ours(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = HEAD + SPEC + '  rules:\n    - {id: r, if: "true", action: refuse}\n'
    assert told(capsys, folder, text)[0] == ("CG201", "unknown key `if` in `rules`", 8, "did you mean `when`?")


@pytest.mark.parametrize(
    ("text", "hints"),
    [
        (HEAD + SPEC + "rules: []\n", ["`rules` belongs below `spec`: indent it, and put it there"]),
        (HEAD + "owner: me\n" + SPEC, ["`owner` belongs below `metadata`: indent it, and put it there"]),
        (HEAD.replace("}", ", extends: [default]}") + SPEC, ["`extends` belongs below `spec`"]),
        (HEAD + SPEC + "  revision: x\n", ["`revision` belongs below `metadata`"]),
        (HEAD + SPEC + "  verification: {}\n", ["`verification` belongs beside `spec`, not below it"]),
        (HEAD + SPEC + "rulez: []\n", ["known here: `apiVersion`, `kind`, `metadata`, `spec`, `verification`"]),
    ],
)
def test_a_key_in_the_wrong_block_is_told_where_it_belongs(
    text: str, hints: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert [(code, hint) for code, _, _, hint in told(capsys, folder, text)] == [("CG201", hint) for hint in hints]


def test_keys_of_a_manifest_are_led_home_too(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "apiVersion: callgate/v1\nkind: ToolManifest\nmetadata: {name: m}\ntools: {f: {effect: read}}\n"
    assert [(code, hint) for code, _, _, hint in told(capsys, folder, text)] == [
        ("CG202", "add `spec:`"),
        ("CG201", "`tools` belongs below `spec`: indent it, and put it there"),
    ]


@pytest.mark.parametrize(
    ("message", "quoted"),
    [
        ("Refunds above 50 need approval", "Refunds above 50 need approval"),
        ("Denied", "Denied"),
        ("amount is too high (see the handbook)", "amount is too high (see the handbook)"),
        ('"it\'s too much"', "it''s too much"),
        ("|-\n        two words\n        and more", "two words\\nand more"),
    ],
)
def test_a_message_without_its_inner_quotes_is_told_how_to_write_it(
    message: str, quoted: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = HEAD + SPEC + f"  rules:\n    - id: r\n      when: 'true'\n      action: refuse\n      message: {message}\n"
    ((code, _, _, hint),) = told(capsys, folder, text)
    assert code.startswith("CG3")
    assert hint == f"this is a CEL expression: a text that stands for itself is quoted twice, '\"{quoted}\"'"
    assert told(capsys, folder, text.replace(message, "'\"" + quoted + "\"'")) == []


@pytest.mark.parametrize(
    "message", ["call.toool", '"a" + args.amount', "args.amount in ['x']", "string(args.amount) + ' is much'"]
)
def test_a_message_that_is_an_expression_is_left_alone(
    message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (
        HEAD + SPEC + f"  rules:\n    - id: r\n      when: 'true'\n      action: refuse\n      message: {message!r}\n"
    )
    assert all("quoted twice" not in (hint or "") for *_, hint in told(capsys, folder, text))


def test_names_that_no_manifest_has_get_the_nearest_one(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = SPEC.replace("tokens: 9}", "tokens: 9, calls_per_tool: {get_ordr: 1}, calls_per_group: {mony: 2}}")
    detectors = "  detectors: {same_error: {refuse_after: 3}, for: {refunds: {same_error: {refuse_after: 2}}}}\n"
    rules = "  rules:\n    - {id: r, tools: [get_orders], when: 'true', action: refuse}\n"
    found = told(capsys, folder, HEAD + spec + detectors + rules + TOOLS)
    assert [(code, message, hint) for code, message, _, hint in found if code == "CG421"] == [
        ("CG421", "`get_ordr` is no tool of the manifests in force", "did you mean `get_order`?"),
        ("CG421", "`mony` is no group of the manifests in force", "did you mean `money`?"),
        ("CG421", "`refunds` is no tool or group of the manifests in force", "did you mean `refund`?"),
        ("CG421", "`get_orders` is no tool of the manifests in force", "did you mean `get_order`?"),
    ]


def test_a_name_unlike_any_gets_those_that_there_are(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (found,) = told(capsys, folder, rule("tools", "[zebra]"))
    assert (found[0], found[3]) == ("CG421", "known here: `get_order`, `refund`")


def test_a_reference_out_of_a_schema_is_told_by_name(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tools = TOOLS.replace("{effect: read}", "{parameters: {properties: {x: {$ref: 'https://example.com/x.json'}}}}")
    (found,) = told(capsys, folder, HEAD + SPEC + tools)
    assert found[:2] == (
        "CG422", "no JSON Schema: `$ref: https://example.com/x.json` leads out of it, and nothing is fetched",
    )  # fmt: skip
