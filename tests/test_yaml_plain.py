"""Plain YAML, which the core reads by itself: the same values as from the careful reader, or none at all."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import callgate._core as _core
from callgate.policy.compose import compose
from callgate.policy.diagnostics import Span
from callgate.policy.limits import DEFAULT_LIMITS
from callgate.policy.load import load, yaml_files
from callgate.policy.reading import read
from callgate.policy.source import Source, decode

ROOT = Path(__file__).parents[1]


def plain(text: str, depth: int = 64, nodes: int = 100_000, key_length: int = 1000) -> list[object] | None:
    return _core.read_yaml(text, depth, nodes, key_length)


# Worked out by hand from YAML 1.2.2: chapters 6 to 8 for the forms, section 10.3.2 for the values.
@pytest.mark.parametrize(
    ("text", "documents"),
    [
        ("a: 1", [{"a": 1}]),
        ("# c\n\na: 1 # c\n  # c\nb: x#y\n", [{"a": 1, "b": "x#y"}]),
        ("a:\nb: # c\nc: ~\n", [{"a": None, "b": None, "c": None}]),
        ("a:\n  b:\n    c: 1\n  d: 2\n", [{"a": {"b": {"c": 1}, "d": 2}}]),
        ("a:\n- 1\n- b: 2\n  c: 3\nd: 4\n", [{"a": [1, {"b": 2, "c": 3}], "d": 4}]),
        ("a:\n  - - 1\n    - 2\n  -\n  -\n    x: y\n", [{"a": [[1, 2], None, {"x": "y"}]}]),
        ("- a\n-   b: 1\n    c: 2\n", [["a", {"b": 1, "c": 2}]]),
        ("on: no\nyes: 010\noff: 0.5\nt: true\n", [{"on": "no", "yes": 10, "off": 0.5, "t": True}]),
        ("a: -1\nb: +2\nc: .5\nd: 1.\ne: 1e3\nf: -2E+05\n", [
            {"a": -1, "b": 2, "c": 0.5, "d": 1.0, "e": 1000.0, "f": -200000.0},
        ]),
        ("a: 10m\nb: 2026-01-31\nc: 1_000\nd: 1.2.3\ne: -x\nf: a:b\ng: +\n", [
            {"a": "10m", "b": "2026-01-31", "c": "1_000", "d": "1.2.3", "e": "-x", "f": "a:b", "g": "+"},
        ]),
        ("a: 'it''s: # [x]'\n'b c': \"d\"\n\"e\": ''\n", [{"a": "it's: # [x]", "b c": "d", "e": ""}]),
        (r'a: "\"\\\/\n\t\r\x41\u00e9 "', [{"a": "\"\\/\n\t\rAé "}]),
        ("a: é b\nß: 😀\n", [{"a": "é b", "ß": "😀"}]),
        ("a: {b: 1, 'c': [x y, -2, \"z\"], d: {}, e: []}\n", [
            {"a": {"b": 1, "c": ["x y", -2, "z"], "d": {}, "e": []}},
        ]),
        ("a: [\n  1, # one\n\n  {b: 2,\n   c: 3},\n  ]\nd: http://x\n", [{"a": [1, {"b": 2, "c": 3}], "d": "http://x"}]),
        ("- {a: 1}\n- [2,3]\n- [[4], ]\n", [[{"a": 1}, [2, 3], [[4]]]]),
        ("a: |\n  x\n   y\n\n  z\n\nb: >\n  x\n  y\n\n  z\n   w\n  v\n", [
            {"a": "x\n y\n\nz\n", "b": "x y\nz\n w\nv\n"},
        ]),
        ("a: |-\n  x\n\n\nb: >-\n    x\n    y\nc: |+\n  x\n\n", [{"a": "x", "b": "x y", "c": "x\n\n"}]),
        ("a:\n  - |\n    # no comment\n  - >- # a comment\n    é\n", [{"a": ["# no comment\n", "é"]}]),
        ("a: |\n\n\n  x\n# c\nb: 1\n", [{"a": "\n\nx\n", "b": 1}]),
        ("a: &x 1\nb: *x\nc: [*x, *x]\nd: &y\n  e: [2]\nf: *y\n- ".removesuffix("- "), [
            {"a": 1, "b": 1, "c": [1, 1], "d": {"e": [2]}, "f": {"e": [2]}},
        ]),
        ("- &x {a: 1}\n- *x # c\n- &y |\n  t\n- *y\n", [[{"a": 1}, {"a": 1}, "t\n", "t\n"]]),
        ("--- # c\na: 1\n---\n- b\n", [{"a": 1}, ["b"]]),
        ("a: 1\n---\n\nb: &x 2\n---\nc: &x 3\n", [{"a": 1}, {"b": 2}, {"c": 3}]),
    ],
)  # fmt: skip
def test_what_is_plain_is_read(text: str, documents: list[object]) -> None:
    assert repr(plain(text)) == repr(documents)


def test_many_copies_of_a_long_text_are_left_to_the_careful_reader_which_copies_none() -> None:
    long = "x" * 200_000
    assert plain(f"a: &x {long}\nb: [*x, *x]\n") == [{"a": long, "b": [long, long]}]
    assert plain(f"a: &x {long}\nb: [{', '.join(['*x'] * 60)}]\n") is None
    assert plain(f"a: &x {{{long[:900]}: 1}}\nb: [{', '.join(['*x'] * 12_000)}]\n") is None


@pytest.mark.parametrize(
    "text",
    [
        "", "# c\n", "---\n", "a: 1\n---\n", "a: 1\n---\n---\nb: 1\n", "...\n", "a: 1\n...\n",
        "%YAML 1.2\n---\na: 1\n",
        "x", "'x'", "[1]", "{a: 1}", "--- a: 1\n", "  a: 1\n", "---\n  a: 1\n",
        "a: 1\na: 2\n", "a: {b: 1, b: 2}\n", "1: a\n", "null: a\n", "{[a]: 1}: 2\n", "<<: 1\n", "a: {<<: 1}\n",
        "a: 1\n b: 2\n", "a:\n  b: 1\n c: 2\n", "a: 1\n- b\n", "- a\nb: 1\n", "- a\n - b\n", "a: b: c\n",
        "a: - b\n", "a: b:\n",
        "a: x\n  y\n", "a: 'x\n  y'\n", 'a: "x\n  y"\n', "a: [x\n  y]\n", "a:\n  x\n", "a:\n  'x'\n",
        "a:\n  [x]\n", "a\n: 1\n",
        "a:\tb\n", "a: 'x\ty'\n", "a: 1\r\n", "a: \x85\n", "a: \u2028\n", "\ufeffa: 1\n", "a: \x7f\n",
        "a: !!str 1\n", "a: !t x\n", "a: @x\n", "a: `x`\n", "a: %x\n", "? a\n", "? a\n: 1\n", "a: ?\n",
        "a: |2\n   x\n", "a: |1-\n  x\n",
        "a: |\n", "a: |\nb: 1\n", "a: |\n   \n  x\n", "a: |\n  x", "a: |\n  x\n     \n y: 1\n", "a: |x\n",
        "a: >#c\n  x\n",
        "a: *x\n", "a: &x\n", "a: &x 1\nb: &x 2\n", "a: &x [*x]\n", "a: &x b: 1\n", "- &x a: 1\n",
        "a: &x *x\n", "a: *x y\n", "a: &x\n- 1\n",
        "a: [1\n]\n", "a: [1,\n2]\n", "a: [1 2\n", "a: [,]\n", "a: [1,,2]\n", "a: {b}\n", "a: {b: }\n",
        "a: {b:1}\n", "a: [b: 1]\n",
        "a: [x?]\n", "a: [x:]\n", "a: [-]\n", "a: [- x]\n", "a: [1]x\n", "a: [1]#c\n", "a: [1 #c\n",
        "a: {b: 1}: 2\n", "a: [1,#c\n  2]\n",
        "a: 'x'y\n", "a: 'x'#c\n", "a: 'x\n", 'a: "x\n', 'a: "\\q"\n', 'a: "\\ud800"\n', 'a: "\\u12"\n',
        "'a' : 1\n", "a : 1\n",
        "a: 0x1F\n", "a: 0o10\n", "a: .inf\n", "a: -.NaN\n", "a: 1e999\n", f"a: {'9' * 19}\n", f"a: 0.{'1' * 400}\n",
    ],
)  # fmt: skip
def test_what_is_not_plain_is_left_to_the_careful_reader(text: str) -> None:
    assert plain(text) is None


def test_more_than_the_limits_allow_is_left_to_the_careful_reader() -> None:
    assert plain("a: [[1]]\n", depth=3) == [{"a": [[1]]}]
    assert plain("a: [[1]]\n", depth=2) is None
    assert plain("a: [1, 2]\n", nodes=5) == [{"a": [1, 2]}]  # the map, the key, the list, and two numbers
    assert plain("a: [1, 2]\n", nodes=4) is None
    assert plain("a: &x [1]\nb: *x\n", nodes=9) == [{"a": [1], "b": [1]}]  # what has a name counts twice
    assert plain("a: &x [1]\nb: *x\n", nodes=8) is None
    assert plain("a: &x [1]\nb: [*x]\n", depth=3) == [{"a": [1], "b": [[1]]}]
    assert plain("a: &x [1]\nb: [*x]\n", depth=2) is None
    assert plain("abc: 1\n", key_length=3) == [{"abc": 1}]
    assert plain("abcd: 1\n", key_length=3) is None


PIECES = [
    "a", "b: ", "- ", "-", "\n", "\n  ", "\n ", "\n    ", " ", "[", "]", "{", "}", ",", ":", "? ", "'", "''",
    '"', ": ", " #",
    "#", "# c\n", "&x ", "*x", "---\n", "...\n", "|\n", "|-\n", ">+\n", ">-\n", ">\n", "|+\n", "é", "1", "null", "~",
    "<<: ", "key: value\n", "k: [1, 2]\n", "  x: 'y'\n", "0x1F", "1.5", "-1", ".5", "1e3", "\n\n", "\\n",
    "\\u0041", "\\",
    "'q'", '"d"', ", ", "true", "\n- ", "\n  - ", "a: ", "k: &x\n", "\n      t", "%", "@", "!t ", "?",
    "http://x", "00",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=16).map("".join))
@example("a: >\n\n  x\n\n\n   y\n  z\n")
@example("- a: |\n   x\n- b")
def test_whatever_it_reads_the_careful_reader_reads_alike(text: str) -> None:
    source, undecodable = decode("x.yaml", text.encode(), 1000)
    if undecodable is None and (found := plain(source.text)) is not None:
        careful = compose(source)
        assert careful.diagnostics == ()
        assert repr(found) == repr([document.data for document in careful.documents])


def test_the_packs_are_plain() -> None:
    files = yaml_files(ROOT / "policies")
    assert [path for path in files if plain(path.read_text(encoding="utf-8")) is None] == []


def test_every_yaml_file_of_the_repository_is_read_alike_by_both() -> None:
    for path in (*yaml_files(ROOT / "policies"), *yaml_files(ROOT / "tests"), *yaml_files(ROOT / "examples")):
        source, undecodable = decode(path.name, path.read_bytes(), DEFAULT_LIMITS.bytes)
        found = plain(source.text) if undecodable is None else None
        if found is not None:
            careful = compose(source)
            assert (path, repr(found)) == (path, repr([document.data for document in careful.documents]))
            assert careful.diagnostics == ()


def test_places_of_plain_documents_are_those_of_the_careful_reader() -> None:
    source = Source("x.yaml", "a: 1\n---\nb:\n  - c: 'd'\n")
    first, second = read(source).documents
    assert (first.data, second.data) == ({"a": 1}, {"b": [{"c": "d"}]})
    assert second.value("/b/0/c") == Span(4, 8, 4, 11)
    assert first.value("/a") == Span(1, 4, 1, 5)


def test_what_is_not_plain_comes_with_its_faults() -> None:
    source = Source("x.yaml", "a: 1\na: 2\n")
    assert read(source).diagnostics == compose(source).diagnostics != ()


def test_a_check_without_findings_needs_no_careful_reader() -> None:
    code = (
        "import sys; from callgate.cli.main import main; code = main(sys.argv[1:]); "
        "unneeded = {'yaml', 'difflib', 'dataclasses', 'logging'} & set(sys.modules); "
        "print(*sorted(unneeded), file=sys.stderr); sys.exit(code)"
    )
    for pack in sorted(path.name for path in (ROOT / "policies").iterdir() if path.is_dir()):
        done = subprocess.run(
            [sys.executable, "-c", code, "check", str(ROOT / "policies" / pack)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert (pack, done.stderr, done.returncode) == (pack, "\n", 0)


def test_documents_that_were_loaded_have_their_places(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("kind: GuardPolicy\nmetadata: {name: x}\n", encoding="utf-8")
    (document,) = load([tmp_path]).documents
    assert document.place("here").span == Span(2, 18, 2, 19)
