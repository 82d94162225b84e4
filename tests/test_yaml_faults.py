"""What strict YAML refuses: each fault with its code and place, the same from both parsers, never a traceback."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.policy.compose import compose
from callgate.policy.diagnostics import Diagnostic, Place, Span
from callgate.policy.events import Backend
from callgate.policy.limits import Limits
from callgate.policy.positions import Composed
from callgate.policy.source import Source, decode

ALIGN = "this line does not fit the indentation of the block it stands in"


@pytest.fixture(params=["c", "pure"])
def backend(request: pytest.FixtureRequest) -> Backend:
    backend: Backend = request.param
    return backend


def faults(text: str, backend: Backend, limits: Limits | None = None) -> list[tuple[str, str, tuple[int, ...]]]:
    found = compose(Source("x.yaml", text), limits or Limits(), backend).diagnostics
    return [(d.code, d.message, tuple(d.span or ())) for d in found]


def test_a_duplicate_key_names_the_first_one(backend: Backend) -> None:
    composed = compose(Source("x.yaml", "spec:\n  mode: warn\n  é: 1\n  mode: audit\n"), backend=backend)
    first = Place("first written here", "x.yaml", Span(2, 3, 2, 7))
    assert composed.diagnostics == (
        Diagnostic(
            "CG102", "error", "duplicate key `mode`", "x.yaml", Span(4, 3, 4, 7), "remove one of the two", (first,)
        ),
    )
    assert composed.documents[0].root.data == {"spec": {"mode": "warn", "é": 1}}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("1: x\n", ("CG103", "a key has to be a string, not `1`", (1, 1, 1, 2))),
        ("null: x\n", ("CG103", "a key has to be a string, not `null`", (1, 1, 1, 5))),
        ("true: x\n", ("CG103", "a key has to be a string, not `true`", (1, 1, 1, 5))),
        ("? [a]\n: x\n", ("CG103", "a key has to be a string, not a map or list", (1, 3, 1, 6))),
        ("? \n: x\n", ("CG103", "a key has to be a string, not `null`", (1, 2, 1, 2))),
        ("a: !foo x\n", ("CG104", "custom tag `!foo` is not allowed", (1, 4, 1, 8))),
        ("a: !!python/none x\n", ("CG104", "custom tag `!!python/none` is not allowed", (1, 4, 1, 17))),
        ("a: &x !foo {}\n", ("CG104", "custom tag `!foo` is not allowed", (1, 7, 1, 11))),
        ("a: ! 1\n", ("CG104", "the tag `!` says nothing", (1, 4, 1, 5))),
        ("a: ! [1]\n", ("CG104", "the tag `!` says nothing", (1, 4, 1, 5))),
        ("a: !e!foo x\n", ("CG104", "custom tags are not allowed", (1, 4, 1, 5))),
        ("a: !!int x\n", ("CG104", "this value is no `!!int`", (1, 4, 1, 9))),
        ("a: !!null ''\n", ("CG104", "this value is no `!!null`", (1, 4, 1, 10))),
        ("a:\n\tb: 1\n", ("CG105", "a tab cannot indent", (2, 1, 2, 2))),
        ("a:\n  \tb: 1\n", ("CG105", "a tab cannot indent", (2, 3, 2, 4))),
        ("-\ta\n", ("CG105", "a tab cannot indent", (1, 2, 1, 3))),
        ("a: [1,\n\t2]\n", ("CG105", "a tab cannot indent", (2, 1, 2, 2))),
        ("a: |\n\tx\n", ("CG105", "a tab cannot indent", (2, 1, 2, 2))),
        ("<<: {a: 1}\n", ("CG108", "merge keys are not part of YAML 1.2", (1, 1, 1, 3))),
        ("a: &x [1, *x]\n", ("CG109", "alias `*x` stands inside its own anchor", (1, 11, 1, 13))),
        ("a: *x\n", ("CG109", "no anchor `&x` before this alias", (1, 4, 1, 6))),
        ("a: 1e999\n", ("CG106", "`1e999` is too large for a number", (1, 4, 1, 9))),
        ("a: " + "9" * 401, ("CG106", "a number of 401 characters is too long (at most 400)", (1, 4, 1, 405))),
        ('a: "\\ud800"\n', ("CG111", "half of a surrogate pair is no character", (1, 4, 1, 12))),
        ('a: "\\U00110000"\n', ("CG101", "an escape beyond U+10FFFF", (1, 7, 1, 8))),
        ("%YAML 1.1\n---\na: 1\n", ("CG101", "only YAML 1.2 is read", (1, 1, 1, 6))),
        ("%FOO\n---\na: 1\n", ("CG101", "found unknown directive name", (1, 1, 1, 2))),
        ("a: [1, 2\nb: 3\n", ("CG101", "a list in brackets that is not closed", (1, 4, 1, 5))),
        ("a: {x: 1]\n", ("CG101", "expected `,` or `}`", (1, 9, 1, 10))),
        ("a: b: c\n", ("CG101", "a `:` that begins a map cannot stand here", (1, 5, 1, 6))),
        ("a:\n  b: 1\n c: 2\n", ("CG101", ALIGN, (3, 2, 3, 3))),
        ("a: 'x\n", ("CG101", "a quoted text that is not closed", (1, 4, 1, 5))),
        ("a: @x\n", ("CG101", "`@` cannot begin a value", (1, 4, 1, 5))),
        ("a: 😀\nb: ]\n", ("CG101", "a value is missing here", (2, 4, 2, 5))),
        ('a: "\\q"\n', ("CG101", "unknown escape in a double-quoted string", (1, 6, 1, 7))),
    ],
)  # fmt: skip
def test_a_fault_has_a_code_and_a_place(text: str, fault: tuple[str, str, tuple[int, ...]], backend: Backend) -> None:
    assert faults(text, backend) == [fault]


def test_all_faults_that_leave_the_syntax_whole_are_found_in_one_run(backend: Backend) -> None:
    found = faults("1: a\nb: !x 1\nc: 2\nc: 3\n<<: 4\nd: [5,\n\t6]\n", backend)
    assert [(code, at[0]) for code, _, at in found] == [
        ("CG103", 1), ("CG104", 2), ("CG102", 4), ("CG108", 5), ("CG105", 7),
    ]  # fmt: skip


def test_documents_before_a_broken_one_are_kept(backend: Backend) -> None:
    composed = compose(Source("x.yaml", "a: 1\n---\nb: [\n"), backend=backend)
    assert [document.root.data for document in composed.documents] == [{"a": 1}]
    assert [d.code for d in composed.diagnostics] == ["CG101"]


def test_a_quoted_number_is_a_fine_key(backend: Backend) -> None:
    assert compose(Source("x.yaml", "\"1\": x\n'<<': y\n"), backend=backend).documents[0].root.data == {
        "1": "x",
        "<<": "y",
    }


def test_tabs_that_separate_are_allowed(backend: Backend) -> None:
    assert compose(Source("x.yaml", "a:\tb\tc\t# d\n"), backend=backend).documents[0].root.data == {"a": "b\tc"}


def test_two_hundred_thousand_brackets_stop_at_the_depth_cap(backend: Backend) -> None:
    assert faults("[" * 200_000, backend) == [("CG106", "nested deeper than 64 levels", (1, 65, 1, 66))]


def test_depth_counts_through_aliases(backend: Backend) -> None:
    text = "a: &x [[[]]]\nb: [*x]\n"
    assert faults(text, backend, Limits(depth=5)) == []
    assert faults(text, backend, Limits(depth=4)) == [
        ("CG106", "nested deeper than 4 levels through this alias", (2, 5, 2, 7))
    ]


def test_a_billion_laughs_stop_at_the_node_cap(backend: Backend) -> None:
    lines = ["a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    # The root, keys, and the expanded lists of a0 to a3 are 12 + 112 + 1,112 + 11,112 values; one list of a4 more is
    # beyond 100,000 at its eighth alias.
    assert [(code, message, at[0]) for code, message, at in faults("\n".join(lines), backend)] == [
        ("CG106", "more than 100,000 values", 5)
    ]


def test_five_megabytes_of_aliases_stop_at_the_node_cap(backend: Backend) -> None:
    text = "a: &a x\nb: [" + "*a," * 1_700_000 + "]"
    # root, key a, its value, key b, the list: 5. The alias after 99,995 more is one too many.
    column = 5 + 99_995 * 3
    assert faults(text, backend) == [("CG106", "more than 100,000 values", (2, column, 2, column + 2))]


def test_copies_of_a_long_text_stop_at_the_node_cap_too(backend: Backend) -> None:
    text = f"a: &a {'x' * 500_000}\nb: [" + "*a, " * 3_000 + "]"
    # A copy is 1 + 5,000 values; root, keys, the text and the list are 5. The twentieth makes 100,025.
    column = 5 + 19 * 4
    assert faults(text, backend) == [("CG106", "more than 100,000 values", (2, column, 2, column + 2))]


def test_reading_stops_after_a_hundred_faults(backend: Backend) -> None:
    found = faults("a: 1\n" * 500, backend)
    assert (len(found), found[-1]) == (
        101,
        ("CG106", "100 faults are enough: the rest of the file is not read", (101, 4, 101, 5)),
    )


def test_a_tab_is_reported_once_a_line(backend: Backend) -> None:
    assert faults("a: [1,\n\t2, 3, 4,\n 5, \t6]\n", backend) == [("CG105", "a tab cannot indent", (2, 1, 2, 2))]


def test_a_key_may_not_be_longer_than_the_cap(backend: Backend) -> None:
    assert faults("? " + "k" * 1025 + "\n: 1\n", backend) == [
        ("CG106", "a key is longer than 1,024 characters", (1, 3, 1, 1028))
    ]


def test_a_file_that_is_too_large_is_not_parsed() -> None:
    _, diagnostic = decode("x.yaml", b"ab\ncd\n", 4)
    assert diagnostic == Diagnostic(
        "CG106", "error", "file is larger than 4 bytes", "x.yaml", Span(2, 2, 2, 2), "split it into several files"
    )


@pytest.mark.parametrize(
    ("data", "message", "span"),
    [
        (b"a: \xff", "byte 0xff is not valid UTF-8", Span(1, 4, 1, 5)),
        ("é: 1\nü: ".encode() + b"\xc3\x28", "byte 0xc3 is not valid UTF-8", Span(2, 4, 2, 5)),
        (b"\xef\xbb\xbfa: \xed\xa0\x80", "byte 0xed is not valid UTF-8", Span(1, 4, 1, 5)),
        ("a: 1".encode("utf-16"), "byte 0xff is not valid UTF-8", Span(1, 1, 1, 2)),
    ],
)
def test_the_first_bad_byte_has_its_place(data: bytes, message: str, span: Span) -> None:
    _, diagnostic = decode("x.yaml", data, 1000)
    assert diagnostic is not None
    assert (diagnostic.code, diagnostic.message, diagnostic.span) == ("CG107", message, span)


@pytest.mark.parametrize("character", ["\0", "\x07", "\x7f", "\x85", "\u2028", "\u2029", "\ufeff", "\ufffe"])
def test_a_character_that_yaml_does_not_allow_has_its_place(character: str) -> None:
    _, diagnostic = decode("x.yaml", f"a: 1\nb: '{character}'\n".encode(), 1000)
    assert diagnostic is not None
    assert (diagnostic.code, diagnostic.span) == ("CG111", Span(2, 5, 2, 6))


def test_a_byte_order_mark_is_no_part_of_the_text() -> None:
    source, diagnostic = decode("x.yaml", b"\xef\xbb\xbfa: 1\n", 1000)
    assert (source.text, diagnostic) == ("a: 1\n", None)


PIECES = [
    "a", "b: ", "- ", "-", "\n", "\n  ", "\n ", "\n    ", " ", "\t", "[", "]", "{", "}", ",", ":", "? ", "'", "''", '"',
    "\\n", "\\\n", "|\n", "|-\n", ">+\n", ">2\n", "|1\n", "#", "# c\n", "&x ", "*x", "!t ", "!!str ", "---\n", "...\n",
    "%YAML 1.2\n", "é", "😀", "1", "null", "~", "<<: ", "\r\n", "\r", "@", "`", "key: value\n", "k: [1, 2]\n",
    "  x: 'y'\n", "!", "&", "*", "%", "\\", "0x1F",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=16).map("".join))
def test_both_parsers_give_one_answer(text: str) -> None:
    source, _ = decode("x.yaml", text.encode(), 1000)
    c, pure = (compose(source, backend=backend) for backend in ("c", "pure"))
    assert shape(c) == shape(pure)


def shape(composed: Composed) -> object:
    def walk(document: object) -> object:
        return repr(document)

    places = [
        [(pointer, document.key(pointer), document.value(pointer)) for pointer in pointers(document.root.data)]
        for document in composed.documents
    ]
    return [walk(document.root.data) for document in composed.documents], places, composed.diagnostics


def pointers(data: object, at: str = "") -> list[str]:
    steps = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    below = [
        pointer
        for step, value in steps
        for pointer in pointers(value, f"{at}/{str(step).replace('~', '~0').replace('/', '~1')}")
    ]
    return [at, *below]
