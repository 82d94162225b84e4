"""Where YAML breaks a value off, or takes its first sign for its own, the fault is told there, with the mended line."""

import json
import re
from pathlib import Path

import pytest

from callgate import canonical_json
from callgate._core import canonical_expression
from callgate.cli.main import main
from callgate.policy.compose import compose
from callgate.policy.events import Backend
from callgate.policy.source import Source

BEHIND = "something stands behind the closing quote of a text"
COLON = "a `:` that begins a map cannot stand here"
SINGLE = "put the whole expression in single quotes: "
DOUBLE = "put the whole expression in double quotes: "
BOTH = "put the whole expression in single quotes, each `'` in it twice: "
TWICE = "this is a CEL expression: a text that stands for itself is quoted twice, "


@pytest.fixture(params=["c", "pure"])
def backend(request: pytest.FixtureRequest) -> Backend:
    backend: Backend = request.param
    return backend


def fault(text: str, backend: Backend) -> tuple[str, str, tuple[int, ...], str | None]:
    (found,) = compose(Source("x.yaml", text), backend=backend).diagnostics
    return found.code, found.message, tuple(found.span or ()), found.hint


# A line of a rule, behind `- `; where the fault is, in columns of that text from 1; and what is told.
LINES = [
    ('message: "a" + string(x)', (14, 25), BEHIND, SINGLE + "`message: '\"a\" + string(x)'`"),
    ("message: 'a' + string(x)", (14, 25), BEHIND, DOUBLE + "`message: \"'a' + string(x)\"`"),
    ('when: "a" == args.x # why', (11, 20), BEHIND, SINGLE + "`when: '\"a\" == args.x'`"),
    ('when: "a".contains(args.x)', (10, 27), BEHIND, SINGLE + "`when: '\"a\".contains(args.x)'`"),
    ('when: "args.n > 3" && args.x', (20, 29), BEHIND, SINGLE + "`when: 'args.n > 3 && args.x'`"),
    ('when: "args.x.matches("a")"', (24, 28), BEHIND, SINGLE + "`when: 'args.x.matches(\"a\")'`"),
    ("when: 'args.x == 'a''", (19, 22), BEHIND, DOUBLE + "`when: \"args.x == 'a'\"`"),
    ("when: 'args.x == \"it's\"'", (22, 25), BEHIND, BOTH + "`when: 'args.x == \"it''s\"'`"),
    ("when: [1, 2].exists(i, i > 1)", (13, 30), "something stands behind the `]` of a list",
     SINGLE + "`when: '[1, 2].exists(i, i > 1)'`"),
    ('when: {"a": 1}.a == 1', (15, 22), "something stands behind the `}` of a map",
     SINGLE + "`when: '{\"a\": 1}.a == 1'`"),
    ('when: args.x == "a: b"', (19, 20), COLON, SINGLE + "`when: 'args.x == \"a: b\"'`"),
    ("when: args.x ? true : false", (21, 22), COLON, SINGLE + "`when: 'args.x ? true : false'`"),
    ('over: args.x == {"a": 1}', (21, 22), COLON, SINGLE + "`over: 'args.x == {\"a\": 1}'`"),
    ("when: - args.n > 3", (7, 8), "a value that begins with `-` is an item of a list to YAML",
     SINGLE + "`when: '- args.n > 3'`"),
    ("when: !args.x && args.y", (7, 8), "a value that begins with `!` is a tag to YAML",
     SINGLE + "`when: '!args.x && args.y'`"),
    ("when: !f(a, b)", (7, 8), "a value that begins with `!` is a tag to YAML", SINGLE + "`when: '!f(a, b)'`"),
    ("{id: r, when: \"a\" == args.x, action: ask}", (19, 28), BEHIND, SINGLE + "`when: '\"a\" == args.x'`"),
    ('{id: r, when: args.x in ["a", "b"], action: ask}', (25, 26), "`[` cannot stand inside this value",
     SINGLE + "`when: 'args.x in [\"a\", \"b\"]'`"),
    ("{id: r, when: args.x ? a : b, action: ask}", (22, 23), "`?` cannot stand inside this value",
     SINGLE + "`when: 'args.x ? a : b'`"),
    ('{rules: [{id: r, message: "a" + b}]}', (31, 34), BEHIND, SINGLE + "`message: '\"a\" + b'`"),
    ("message: too much: 3", (18, 19), COLON, TWICE + "`message: '\"too much: 3\"'`"),
    ('message: "x" stop', (14, 18), BEHIND, TWICE + "`message: '\"\\\"x\\\" stop\"'`"),
    ("message: 'don't do it'", (15, 23), BEHIND, TWICE + "`message: '\"don''t do it\"'`"),
    ("message: {n} is too much", (14, 25), "something stands behind the `}` of a map",
     TWICE + "`message: '\"{n} is too much\"'`"),
    ("message: @all stop", (10, 11), "`@` cannot begin a value", TWICE + "`message: '\"@all stop\"'`"),
    ("message: %s stop", (10, 11), "`%` cannot begin a value", TWICE + "`message: '\"%s stop\"'`"),
    ("message: *important* stop", (10, 11), "a value that begins with `*` is an alias to YAML",
     TWICE + "`message: '\"*important* stop\"'`"),
    ("message: & more", (10, 11), "a value that begins with `&` is an anchor to YAML",
     TWICE + "`message: '\"& more\"'`"),
    ("message: > 3 is too much", (10, 11), "a value that begins with `>` is a text over several lines to YAML",
     TWICE + "`message: '\"> 3 is too much\"'`"),
    ("message: - stop", (10, 11), "a value that begins with `-` is an item of a list to YAML",
     TWICE + "`message: '\"- stop\"'`"),
    ("description: guards: all", (20, 21), COLON,
     "put the whole text in single quotes: `description: 'guards: all'`"),
    ("owner: \"me\" and you", (13, 20), BEHIND, "put the whole text in single quotes: `owner: '\"me\" and you'`"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "columns", "message", "hint"), LINES)
def test_a_value_that_is_not_quoted_as_a_whole_is_told_with_its_mended_line(
    line: str, columns: tuple[int, int], message: str, hint: str, backend: Backend
) -> None:
    start, end = (column + 4 for column in columns)
    text = f"rules:\n  - {line}\n    action: ask\n"
    assert fault(text, backend) == ("CG101", message, (2, start, 2, end), hint)


@pytest.mark.parametrize("hint", [hint for *_, hint in LINES])
def test_a_mended_line_is_yaml_and_holds_an_expression_where_one_is_wanted(hint: str, backend: Backend) -> None:
    mended = re.search(r": `(.*)`$|, `(.*)`$", hint)
    assert mended is not None
    composed = compose(Source("x.yaml", (mended[1] or mended[2]) + "\n"), backend=backend)
    assert composed.diagnostics == ()
    ((key, value),) = composed.documents[0].data.items()
    assert (canonical_expression(value) is not None) == (key not in ("description", "owner"))


@pytest.mark.parametrize(
    ("value", "code", "message", "end", "sign"),
    [
        ("%x", "CG101", "`%` cannot begin a value", 8, "`%`"),
        ("@x", "CG101", "`@` cannot begin a value", 8, "`@`"),
        ("`x`", "CG101", "a backtick cannot begin a value", 8, "a backtick"),
        ("*x", "CG109", "no anchor `&x` before this alias", 9, "`*`"),
        ("*args.x == 1", "CG101", "a value that begins with `*` is an alias to YAML", 8, "`*`"),
        ("&x && y", "CG101", "a value that begins with `&` is an anchor to YAML", 8, "`&`"),
        ("|| x", "CG101", "a value that begins with `|` is a text over several lines to YAML", 8, "`|`"),
        ("> 3", "CG101", "a value that begins with `>` is a text over several lines to YAML", 8, "`>`"),
        ("? x : y", "CG101", "a value that begins with `?` is a key to YAML", 8, "`?`"),
        ("] x", "CG101", "a value is missing here", 8, "`]`"),
    ],
)
def test_a_sign_that_begins_neither_a_value_nor_an_expression_is_told_as_that(
    value: str, code: str, message: str, end: int, sign: str, backend: Backend
) -> None:
    hint = f"`when` takes a CEL expression, and none begins with {sign}"
    assert fault(f"when: {value}\n", backend) == (code, message, (1, 7, 1, end), hint)


@pytest.mark.parametrize(
    ("value", "tag"),
    [("!has(args.x)", "!has(args.x)"), ("!args.x", "!args.x"), ('!(args.x == "a")', "!(args.x"), ("! args.x", "!")],
)
def test_a_negation_is_no_tag_and_is_read_on_as_what_was_meant(value: str, tag: str, backend: Backend) -> None:
    composed = compose(Source("x.yaml", f"- when: {value} # why\n"), backend=backend)
    (found,) = composed.diagnostics
    assert (found.code, found.message, found.span, found.hint) == (
        "CG104", f"YAML takes `{tag}` for a tag", (1, 9, 1, 9 + len(tag)), SINGLE + f"`when: '{value}'`",
    )  # fmt: skip
    (document,) = composed.documents
    assert document.data == [{"when": value}]
    assert document.inside("/0/when", len(value) - 1, len(value)) == (1, 8 + len(value), 1, 9 + len(value))


def test_an_alias_with_a_misspelt_name_gets_the_nearest_anchor(backend: Backend) -> None:
    assert fault("a: &limit 3\nb: *limt\n", backend)[3] == "did you mean `limit`?"


@pytest.mark.parametrize(
    ("text", "message", "span", "hint"),
    [
        ("a:\n  when: 'x\n", "a quoted text that is not closed", (2, 9, 2, 10), "close it with `'`"),
        ('a: "b\nc: "d"\n', "a quoted text that is not closed in its line", (1, 4, 1, 5), 'close it with `"`'),
        ("a: {b: 1\nc: 2\n", "a map in brackets that is not closed", (1, 4, 1, 5), "close it with `}`"),
        ("- a: [b,\n    c\n- d: e\n", "a list in brackets that is not closed", (1, 6, 1, 7), "close it with `]`"),
    ],
)
def test_what_is_not_closed_is_told_where_it_begins(
    text: str, message: str, span: tuple[int, ...], hint: str, backend: Backend
) -> None:
    assert fault(text, backend) == ("CG101", message, span, hint)


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ('when: "a" == x\n  && y\naction: ask\n', (1, 11, 1, 15)),
        ('when: x == "a" &&\n  y == "b: c"\naction: ask\n', (2, 10, 2, 11)),
        ('when: "a"\n  + string(x)\naction: ask\n', (2, 3, 2, 14)),
    ],
)
def test_an_expression_over_several_lines_is_led_to_a_block(text: str, span: tuple[int, ...], backend: Backend) -> None:
    found = fault(text, backend)
    assert found[2:] == (span, "write `when: >-`, and the whole expression on lines of its own below it")


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("budgets: steps: 3\n", COLON, "put the value in quotes, or begin the map on a line of its own"),
        ('{id: "r" when: x}\n', "expected `,` or `}`", None),
        ('{when: x == "a" action: ask}\n', "expected `,` or `}`", None),
        ("a: {x: 1]\n", "expected `,` or `}`", None),
        ("x: [" + "[" * 30 + "'" + "]" * 30 + "\n", "a quoted text that is not closed", "close it with `'`"),
    ],
)
def test_what_quotes_would_not_mend_is_told_otherwise(
    text: str, message: str, hint: str | None, backend: Backend
) -> None:
    assert fault(text, backend)[1::2] == (message, hint)


RULE = (
    "apiVersion: callgate/v1\nkind: GuardPolicy\nmetadata: {name: mine}\nspec:\n  budgets: {steps: 9, tokens: 9}\n"
    "  time: {task: 1m}\n  rules:\n    - "
)


def told(tmp_path: Path, capsys: pytest.CaptureFixture[str], rule: str) -> list[tuple[str, int, str | None]]:
    """Of each fault of a policy with this rule, behind `- `: its code, its column and its hint."""
    (tmp_path / "p.yaml").write_text(RULE + rule)
    main(["check", "--format", "json", str(tmp_path / "p.yaml")])
    found = json.loads(capsys.readouterr().out)["diagnostics"]
    return [(each["code"], each["span"]["column"], each["hint"]) for each in found]


@pytest.mark.parametrize(
    ("rule", "faults"),
    [
        ('id: r\n      action: ask\n      when: args.x == "a #b"\n',
         [("CG302", 23, SINGLE + "`when: 'args.x == \"a #b\"'`")]),
        ('id: r\n      action: ask\n      when: args.x.matches("\\d #")\n',
         [("CG302", 28, SINGLE + "`when: 'args.x.matches(\"\\d #\")'`"),
          ("CG301", 31, "it closes the bracket at byte 14")]),
        ('{id: r, action: ask, when: args.x.contains("a, b")}\n',
         [("CG201", 54, SINGLE + "`when: 'args.x.contains(\"a, b\")'`")]),
        ("{id: r, action: ask, when: !f(args.x, 2)}\n",
         [("CG104", 34, SINGLE + "`when: '!f(args.x, 2)'`"), ("CG201", 45, SINGLE + "`when: '!f(args.x, 2)'`")]),
        ("{id: r, action: ask, when: [args.x]}\n", [("CG203", 28, SINGLE + "`when: '[args.x]'`")]),
        ("id: r\n      action: ask\n      when: >3\n",
         [("CG205", 13, "`when` takes a CEL expression, and none begins with `>`")]),
        ('id: r\n      action: ask\n      when: >\n        args.x == "a" # b\n',
         [("CG301", 23, "an expression has no comments with `#`: move it above the key")]),
        ("{id: r, action: ask, when: 'true', message: don't}\n", [("CG302", 54, TWICE + "'\"don''t\"'")]),
        ("{id: r, action: ask, when: 'true', message: 100% sure}\n", [("CG305", 56, TWICE + "'\"100% sure\"'")]),
        ("{id: r, action: ask, when: 'true', message: stop}\n", [("CG305", 51, TWICE + "'\"stop\"'")]),
    ],
)  # fmt: skip
def test_an_expression_that_yaml_read_otherwise_is_told_with_its_mended_line(
    rule: str, faults: list[tuple[str, int, str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert told(tmp_path, capsys, rule) == faults


def test_a_comment_behind_an_expression_is_fine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rule = 'id: r\n      action: ask\n      when: args.x == "a" # b\n'
    assert "CG3" not in canonical_json(told(tmp_path, capsys, rule))


def test_other_faults_beside_a_comment_or_in_brackets_keep_their_hints(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rule = "{id: r, action: ask, when: 'true', tols: [x], message: [x], tools: {a: b}}\n"
    assert told(tmp_path, capsys, rule) == [
        ("CG201", 42, "did you mean `tools`?"),
        ("CG203", 53, SINGLE + "`message: '[x]'`"),
        ("CG203", 67, None),
    ]
