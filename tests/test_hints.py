"""What an author meant: hints where a word of another tool, a wrong place or missing quotes are the likely slip."""

import json
from pathlib import Path

import pytest

from callgate import Gate, PolicyError
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


@pytest.mark.parametrize(
    ("when", "message", "hint"),
    [
        ("args.a > 1 and args.b", "`and` is no operator", "write `&&`"),
        ("args.a > 1 or args.b", "`or` is no operator", "write `||`"),
        ("not args.b", "`not` is no operator", "write `!`"),
        ("arguments.to == 3", "undeclared name `arguments`", "write `args`"),
        ("args.b == None", "undeclared name `None`", "write `null`"),
        ("args.b == True", "undeclared name `True`", "write `true`"),
    ],
)
def test_a_habit_of_another_language_is_told_as_that(
    when: str, message: str, hint: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = told(capsys, folder, rule("when", when))
    assert (message, 8, hint) in [each[1:] for each in found]


def test_a_word_for_what_only_a_later_phase_has_leads_to_no_name_that_is_not_there(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    [(_, message, _, hint)] = told(capsys, folder, rule("when", "response.ok"))
    assert (message, hint) == ("undeclared name `response`", None)


@pytest.mark.parametrize(
    ("text", "code", "hint"),
    [
        (HEAD + SPEC + "  rules:\n    a: {when: 'true', action: refuse}\n", "CG203",
         "write a list, in which each entry has its name as `id`: `- id: …`"),
        (HEAD.replace("GuardPolicy", "Policy") + SPEC, "CG208", "did you mean `GuardPolicy`?"),
        (HEAD.replace("GuardPolicy", "Manifest") + SPEC, "CG208", "did you mean `ToolManifest`?"),
        (HEAD.replace("GuardPolicy", "TestSuite") + SPEC, "CG208", "did you mean `GuardTest`?"),
        (HEAD.replace("GuardPolicy", "GuardTest")
         + "spec: {policy: default, steps: [{tool: x}], expect: {missing: 0}}\n",
         "CG203", "write [] for none"),
        (HEAD.replace("GuardPolicy", "GuardTest")
         + "spec: {policy: default, steps: [{tool: x}], expect: {exit: finish_gaps}}\n",
         "CG204", "did you mean `finish_with_gaps`?"),
    ],
)  # fmt: skip
def test_a_near_miss_is_led_home(
    text: str, code: str, hint: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert [(each[0], each[3]) for each in told(capsys, folder, text)] == [(code, hint)]


TEST = "apiVersion: callgate/v1\nkind: GuardTest\nmetadata: {name: t}\nspec:\n"
RUN = "  steps: [{tool: find, expect: {action: allow}}]\n"
MANIFEST = (
    "apiVersion: callgate/v1\nkind: ToolManifest\nmetadata: {name: tools}\nspec: {tools: {find: {effect: read}}}\n"
)


class TestANameBehindAFileThatCannotBeRead:
    """It is not unknown: the fault of that file is the only one that is told."""

    @pytest.fixture
    def broken(self, folder: Path) -> Path:
        (folder / "p.yaml").write_text(HEAD + SPEC + "  mode: [enforce\n")
        (folder / "tools.yaml").write_text(MANIFEST + "  x\n")
        return folder

    @pytest.mark.parametrize(
        "text",
        [
            TEST + "  policy: mine\n" + RUN,
            TEST + "  policy: default\n  manifests: [tools]\n" + RUN,
            HEAD.replace("mine", "other") + "spec: {extends: [mine], tools: [tools]}\n",
            "apiVersion: callgate/v1\nkind: GuardBinding\nmetadata: {name: b}\nspec: {policy: mine}\n",
        ],
    )
    def test_only_that_file_is_told_of(self, text: str, broken: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (broken / "x_test.yaml").write_text(text)
        assert main(["check", "--format", "json", "."]) == 1
        found = json.loads(capsys.readouterr().out)["diagnostics"]
        assert [(each["code"], each["file"]) for each in found] == [("CG101", "p.yaml"), ("CG101", "tools.yaml")]

    def test_a_test_of_it_is_an_error_with_that_fault(self, broken: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (broken / "x_test.yaml").write_text(TEST + "  policy: mine\n" + RUN)
        assert main(["test", "--format", "json", "."]) == 1
        [test] = json.loads(capsys.readouterr().out)["tests"]
        assert [(each["code"], each["file"]) for each in test["diagnostics"]] == [("CG101", "p.yaml")]

    def test_another_name_is_still_unknown(self, broken: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (broken / "x_test.yaml").write_text(TEST + "  policy: yours\n" + RUN)
        assert main(["check", "--format", "json", "."]) == 1
        found = json.loads(capsys.readouterr().out)["diagnostics"]
        assert ("CG704", "x_test.yaml") in [(each["code"], each["file"]) for each in found]


def test_an_unknown_policy_shows_the_document_of_that_name_and_another_kind(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "p.yaml").write_text(HEAD.replace("GuardPolicy", "Policy") + SPEC)
    (folder / "x_test.yaml").write_text(TEST + "  policy: mine\n" + RUN)
    main(["check", "--format", "json", "."])
    found = {each["code"]: each for each in json.loads(capsys.readouterr().out)["diagnostics"]}
    [place] = found["CG704"]["related"]
    assert (place["message"], place["file"], place["span"]["line"]) == ("this one has the kind `Policy`", "p.yaml", 3)


def test_a_test_that_names_a_policy_whose_parameter_only_a_binding_sets_is_told_the_way(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "p.yaml").write_text(
        HEAD + SPEC + "  parameters: {most: {type: number}}\n"
        "---\napiVersion: callgate/v1\nkind: GuardBinding\nmetadata: {name: b}\n"
        "spec: {policy: mine, match: {tenants: [acme]}, parameters: {most: 5}}\n---\n" + MANIFEST
    )
    (folder / "x_test.yaml").write_text(TEST + "  policy: mine\n" + RUN)
    assert main(["check", "."]) == 0
    capsys.readouterr()
    assert main(["test", "--format", "json", "."]) == 1
    [test] = json.loads(capsys.readouterr().out)["tests"]
    hint = (
        "a test that names its policy has no binding's parameters: leave `policy` out and say whose task it is with "
        "`tenant` or `labels`, or give the parameter a `default`"
    )
    assert [(each["code"], each["hint"]) for each in test["diagnostics"]] == [("CG440", hint)]


def test_a_gate_of_a_file_of_tests_says_that_they_are_tests(folder: Path) -> None:
    (folder / "p.yaml").write_text(HEAD + SPEC)
    (folder / "x_test.yaml").write_text(TEST + "  policy: mine\n" + RUN)
    with pytest.raises(PolicyError) as caught:
        Gate.load("x_test.yaml")
    assert [(each.code, each.message, each.hint) for each in caught.value.diagnostics] == [
        ("CG711", "no policy, only tests of one",
         "`callgate test x_test.yaml` runs them; name the policy that they are about to load it"),
    ]  # fmt: skip


ARGUMENTS = (
    "---\napiVersion: callgate/v1\nkind: ToolManifest\nmetadata: {name: tools}\nspec:\n  tools:\n"
    "    pay:\n      effect: external\n"
    "      parameters: {type: object, required: [ref], properties: {ref: {type: string}, memo: {type: string}}}\n"
    "    lend:\n      effect: external\n"
    "      parameters: {type: object, properties: {ref: {type: string}, 'a-b': {type: string}}}\n"
)
ASK_REF = "test it first, `has(args.ref) && …`, or read it as `args.?ref.orValue(…)`"
ASK_MEMO = "test it first, `has(args.memo) && …`, or read it as `args.?memo.orValue(…)`"


@pytest.mark.parametrize(
    ("tools", "when", "code", "hint"),
    [
        ("[pay]", 'ref == "x"', "CG305", "write `args.ref`"),
        ("[pay]", 'reff == "x"', "CG305", "did you mean `args.ref`?"),
        ("[pay]", 'memo == "x"', "CG305", f"write `args.memo`, which may be absent: {ASK_MEMO}"),
        ("[pay]", 'has(args.memo) && memo == "x"', "CG305", "write `args.memo`"),
        ("[pay]", 'args.memo == "x"', "CG309", ASK_MEMO),
        ("[pay]", "has(ref)", "CG301", "`args.ref` is always there: leave the test out"),
        ("[pay]", "has(memo)", "CG301", "write `has(args.memo)`"),
        ("[pay, lend]", 'ref == "x"', "CG305", f"write `args.ref`, which may be absent: {ASK_REF}"),
        ("[pay, lend]", 'args.ref == "x"', "CG309", f"not all that `args` can be requires it: {ASK_REF}"),
        ("[lend]", 'args["a-b"] == "x"', "CG309",
         'test it first, `"a-b" in args && …`, or read it as `args[?"a-b"].orValue(…)`'),
        ("[]", 'ref == "x"', "CG305", f"write `args.ref`, which `args` does not always have: {ASK_REF}"),
        ("[]", 'tool == "pay"', "CG305", "write `call.tool`"),
        ("[]", 'id == "pay"', "CG305", "write `call.id` or `task.id`"),
        ("[]", 'call.args.ref == "x"', "CG308", "write `args`"),
    ],
)  # fmt: skip
def test_an_argument_without_its_variable_is_told_how_to_write_it(
    tools: str, when: str, code: str, hint: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = SPEC + f"  tools: [tools]\n  rules:\n    - {{id: r, tools: {tools}, when: '{when}', action: ask}}\n"
    found = told(capsys, folder, HEAD + spec.replace("tools: [], ", "") + ARGUMENTS)
    assert [(each[0], each[3]) for each in found] == [(code, hint)]


@pytest.mark.parametrize(
    ("keys", "hint"),
    [
        ("forms: [{when: ref == 'x', effect: read}]", "write `args.ref`"),
        ("result: {failed_when: ref == 'x'}", "write `args.ref`"),
        ("idempotency: {key: ref}", "write `args.ref`"),
        ("coverage: {target: memo}", f"write `args.memo`, which may be absent: {ASK_MEMO}"),
    ],
)
def test_a_manifest_knows_the_arguments_of_its_tool(
    keys: str, hint: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tools = ARGUMENTS.replace("    lend:", f"      {keys}\n    lend:")
    found = told(capsys, folder, HEAD + SPEC + "  tools: [tools]\n" + tools)
    assert [(each[0], each[3]) for each in found if each[0].startswith("CG3")] == [("CG305", hint)]


def test_a_variable_of_the_policy_may_be_about_any_tool(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = SPEC + "  tools: [tools]\n  variables: {over: memo == 'x'}\n"
    ((code, _, _, hint),) = [each for each in told(capsys, folder, HEAD + spec + ARGUMENTS) if each[0] == "CG305"]
    assert (code, hint) == ("CG305", f"write `args.memo`, which `args` does not always have: {ASK_MEMO}")
