"""`callgate check` on mistakes in expressions: the caret is under what is wrong, however YAML spells it."""

from __future__ import annotations

from pathlib import Path

import pytest

from callgate import Gate, PolicyError
from callgate.cli.main import main

HEAD = """\
apiVersion: callgate/v1
kind: GuardPolicy
metadata: {name: mistaken}
spec:
  budgets: {steps: 9, tokens: 9}
  time: {task: 1m}
"""
TOOLS = """\
apiVersion: callgate/v1
kind: ToolManifest
metadata: {name: shop}
spec:
  tools:
    pay:
      effect: external
      parameters:
        type: object
        required: [amount, to]
        properties: {amount: {type: number}, to: {type: string}}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


TEN_MISTAKES = (
    HEAD
    + r"""  rules:
    - id: plain
      action: note
      when: agrs.amount > 100
    - id: single-quoted
      action: note
      when: 'args.to == ''x'' && args.to.startWith(''a'')'
    - id: double-quoted
      action: note
      when: "args.to == \"\u00e9\t\" && size(args.to) == \"3\""
    - id: literal
      action: note
      when: |
        args.amount > 100 &&
          result.ok
    - id: literal-stripped
      action: note
      when: |-
        args.to == "ä"
          || args.to.matches("(a")
    - id: folded
      action: note
      when: >
        args.urgent &&
        duration("5 min") > duration("60s")
    - id: folded-stripped
      action: note
      when: >-
        args.amount > 100 &&
        args.to = "x"
    - {id: in-a-flow-map, when: call.tol == "pay", action: note}
    - id: anchored
      action: note
      when: &much size(args.items)
    - id: aliased
      action: note
      when: *much
    - id: over-lines
      action: note
      when: args.urgent
        && call.tool > 5
        && true
"""
)

TEN_DIAGNOSTICS = r"""error[CG305]: undeclared name `agrs`
  --> policy.yaml:10:13
   |
10 |       when: agrs.amount > 100
   |             ^^^^
   = help: did you mean `args`?

error[CG306]: undeclared function `startWith`
  --> policy.yaml:13:42
   |
13 |       when: 'args.to == ''x'' && args.to.startWith(''a'')'
   |                                          ^^^^^^^^^
   = help: did you mean `startsWith`?

error[CG312]: an int never equals a string: this is always false
  --> policy.yaml:16:41
   |
16 |       when: "args.to == \"\u00e9\t\" && size(args.to) == \"3\""
   |                                         ^^^^^^^^^^^^^^^^^^^^^^
   = help: convert one side, or leave out the quotes

error[CG307]: `result` exists only in observe
  --> policy.yaml:21:11
   |
21 |           result.ok
   |           ^^^^^^

error[CG313]: this pattern cannot be read: unclosed group
  --> policy.yaml:26:30
   |
26 |           || args.to.matches("(a")
   |                              ^^^^

error[CG315]: `5 min` is no duration
  --> policy.yaml:31:18
   |
31 |         duration("5 min") > duration("60s")
   |                  ^^^^^^^
   = help: write `1h30m`, `2.5s` or `500ms`

error[CG301]: `=` is no operator
  --> policy.yaml:36:17
   |
36 |         args.to = "x"
   |                 ^
   = help: compare with `==`

error[CG308]: `call` has no field `tol`
  --> policy.yaml:37:38
   |
37 |     - {id: in-a-flow-map, when: call.tol == "pay", action: note}
   |                                      ^^^
   = help: did you mean `tool`?

error[CG311]: expected a bool, found an int
  --> policy.yaml:40:19
   |
40 |       when: &much size(args.items)
   |                   ^^^^^^^^^^^^^^^^
   = help: compare it with something

error[CG310]: `>` does not compare a string with an int
  --> policy.yaml:47:12
   |
47 |         && call.tool > 5
   |            ^^^^^^^^^^^^^
   = help: convert the text with `double(…)`, or the number with `string(…)`

10 errors in 1 file
"""


def test_ten_mistakes_in_ten_styles_have_their_carets_under_what_is_wrong(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "policy.yaml").write_text(TEN_MISTAKES, encoding="utf-8")
    code = main(["check", "policy.yaml"])
    assert (code, *capsys.readouterr()) == (1, TEN_DIAGNOSTICS, "")


def found(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The lines that say what and where, the lines of the file, and the carets; without warnings and hints."""
    assert main(["check", "."]) == 1
    out, err = capsys.readouterr()
    assert err == ""
    blocks = [block for block in out.split("\n\n") if block.startswith("error[")]
    lines = [line for block in blocks for line in block.splitlines()]
    return [line for line in lines if not line.lstrip().startswith("=") and line.strip() not in ("", "|")]


def rule(when: str) -> str:
    return f"{HEAD}  rules:\n    - id: r\n      action: refuse\n      tools: [pay]\n      when: {when}\n"


@pytest.mark.parametrize(
    ("when", "shown"),
    [
        pytest.param(
            '"true\n        && args.to\n        == \\"a\\" && nope"',
            [
                "error[CG305]: undeclared name `nope`",
                "  --> policy.yaml:13:21",
                '13 |         == \\"a\\" && nope"',
                "   |                     ^^^^",
            ],
            id="double-quoted over lines",
        ),
        pytest.param(
            '"\\x61grs.to == \\"a\\" \\\n        || args.to == \\"b\\""',
            [
                "error[CG305]: undeclared name `agrs`",
                "  --> policy.yaml:11:14",
                '11 |       when: "\\x61grs.to == \\"a\\" \\',
                "   |              ^^^^^^^",
            ],
            id="an escape of four characters for one",
        ),
        pytest.param(
            "'true\n\n        && ''a'' == nope'",
            [
                "error[CG305]: undeclared name `nope`",
                "  --> policy.yaml:13:21",
                "13 |         && ''a'' == nope'",
                "   |                     ^^^^",
            ],
            id="single-quoted over lines",
        ),
    ],
)
def test_a_mistake_in_a_text_over_lines_or_behind_escapes_has_its_place(
    folder: Path, capsys: pytest.CaptureFixture[str], when: str, shown: list[str]
) -> None:
    (folder / "policy.yaml").write_text(rule(when), encoding="utf-8")
    (folder / "tools.yaml").write_text(TOOLS)
    assert found(capsys) == shown


@pytest.mark.parametrize(
    ("when", "shown"),
    [
        pytest.param(
            "args.amuont > 100",
            [
                "error[CG308]: there is no field `amuont`",
                "  --> policy.yaml:11:18",
                "11 |       when: args.amuont > 100",
                "   |                  ^^^^^^",
            ],
            id="a misspelt argument",
        ),
        pytest.param(
            "args.amount > 100 && result.ok",
            [
                "error[CG307]: `result` exists only in observe",
                "  --> policy.yaml:11:34",
                "11 |       when: args.amount > 100 && result.ok",
                "   |                                  ^^^^^^",
            ],
            id="result in admit",
        ),
        pytest.param(
            "args.to == 100",
            [
                "error[CG312]: a string never equals an int: this is always false",
                "  --> policy.yaml:11:13",
                "11 |       when: args.to == 100",
                "   |             ^^^^^^^^^^^^^^",
            ],
            id="a string against a number",
        ),
    ],
)
def test_a_rule_that_cannot_work_is_neither_passed_nor_loaded(
    folder: Path, capsys: pytest.CaptureFixture[str], when: str, shown: list[str]
) -> None:
    (folder / "policy.yaml").write_text(rule(when))
    (folder / "tools.yaml").write_text(TOOLS)
    assert found(capsys) == shown
    with pytest.raises(PolicyError, match=shown[0][6:11]):
        Gate.load(folder)


OPTIONAL = TOOLS.replace("to: {type: string}}", "to: {type: string}, note: {type: string}}")


@pytest.mark.parametrize(
    "when",
    [
        "variables.noted && args.note != ''",
        "!variables.noted || args.note != ''",
        "variables.both && args.note != ''",
        "variables.noted == true ? args.note != '' : false",
    ],
)
def test_a_test_inside_a_variable_counts_for_what_reads_the_field(folder: Path, when: str) -> None:
    variables = "{noted: has(args.note), both: variables.noted && args.amount > 100}"
    text = rule(f'"{when}"').replace("  rules:", f"  variables: {variables}\n  rules:")
    (folder / "policy.yaml").write_text(text)
    (folder / "tools.yaml").write_text(OPTIONAL)
    assert Gate.load(folder).policy.tools == ["pay"]


def test_the_words_of_a_rule_may_read_what_its_condition_tested(folder: Path) -> None:
    words = rule("has(args.note)") + "      message: '\"noted \" + args.note'\n"
    (folder / "policy.yaml").write_text(words)
    (folder / "tools.yaml").write_text(OPTIONAL)
    assert Gate.load(folder).policy.tools == ["pay"]


def test_a_variable_that_tests_another_field_counts_for_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = rule("variables.paid && args.note != ''").replace(
        "  rules:", "  variables: {paid: has(args.amount)}\n  rules:"
    )
    (folder / "policy.yaml").write_text(text)
    (folder / "tools.yaml").write_text(OPTIONAL)
    assert found(capsys) == [
        "error[CG309]: `note` may be absent",
        "  --> policy.yaml:12:36",
        "12 |       when: variables.paid && args.note != ''",
        "   |                                    ^^^^",
    ]


def test_a_number_against_an_amount_is_fine(folder: Path) -> None:
    (folder / "policy.yaml").write_text(rule("args.amount > 100 && args.amount != 2.5"))
    (folder / "tools.yaml").write_text(TOOLS)
    assert Gate.load(folder).policy.tools == ["pay"]
