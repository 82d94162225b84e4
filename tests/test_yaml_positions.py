"""Where keys, values and the characters inside a scalar stand, however it is written."""

import pytest
import yaml
from hypothesis import assume, given
from hypothesis import strategies as st

from callgate.policy.compose import compose
from callgate.policy.diagnostics import Place, Span
from callgate.policy.positions import Positions, join_pointer, split_pointer
from callgate.policy.source import Source


def document(text: str) -> Positions:
    composed = compose(Source("x.yaml", text))
    assert composed.diagnostics == ()
    return composed.documents[0]


def covered(text: str, span: Span | None) -> str:
    """The text between the two ends of a span, counted out by hand over the lines."""
    assert span is not None
    lines = text.split("\n")
    if span.line == span.end_line:
        return lines[span.line - 1][span.column - 1 : span.end_column - 1]
    middle = lines[span.line : span.end_line - 1]
    return "\n".join(
        [lines[span.line - 1][span.column - 1 :], *middle, lines[span.end_line - 1][: span.end_column - 1]]
    )


def test_every_key_and_value_has_its_span() -> None:
    found = document("spec:\n  é/😀: [1, {a~b: x}]\n  last:\n    - y\n\n# done\n")
    assert {pointer: (found.key(pointer), found.value(pointer)) for pointer in (
        "", "/spec", "/spec/é~1😀", "/spec/é~1😀/0", "/spec/é~1😀/1/a~0b", "/spec/last", "/spec/last/0", "/spec/none",
    )} == {
        "": (None, Span(1, 1, 4, 8)),
        "/spec": (Span(1, 1, 1, 5), Span(2, 3, 4, 8)),
        "/spec/é~1😀": (Span(2, 3, 2, 6), Span(2, 8, 2, 21)),
        "/spec/é~1😀/0": (None, Span(2, 9, 2, 10)),
        "/spec/é~1😀/1/a~0b": (Span(2, 13, 2, 16), Span(2, 18, 2, 19)),
        "/spec/last": (Span(3, 3, 3, 7), Span(4, 5, 4, 8)),
        "/spec/last/0": (None, Span(4, 7, 4, 8)),
        "/spec/none": (None, None),
    }  # fmt: skip


def test_lines_end_as_yaml_says() -> None:
    found = document("a: 1\r\nb: 2\rc: 3\nd: 4")
    assert [found.value(f"/{key}") for key in "abcd"] == [Span(line, 4, line, 5) for line in (1, 2, 3, 4)]


def test_an_aliased_value_stands_where_its_anchor_does() -> None:
    found = document("a: &x\n  when: args.n\nb: *x\n")
    assert found.value("/b/when") == Span(2, 9, 2, 15)
    assert found.inside("/b/when", 5, 6) == Span(2, 14, 2, 15)
    assert found.key("/b") == Span(3, 1, 3, 2)
    assert found.aliases("/b/when") == (Place("used through this alias", "x.yaml", Span(3, 4, 3, 6)),)


def test_a_span_leaves_anchor_and_tag_out() -> None:
    found = document("a: &x !!str foo\nb: &y # note\n  - 1\n")
    assert found.value("/a") == Span(1, 13, 1, 16)
    assert found.value("/b") == Span(3, 3, 3, 6)


@pytest.mark.parametrize(
    ("text", "style", "word", "span"),
    [
        ("when: args.limit > 5", "plain", "limit", Span(1, 12, 1, 17)),
        ("when: args.amount >\n    args.limit", "plain", "limit", Span(2, 10, 2, 15)),
        ("when: 'x == ''é'' || limit'", "single", "limit", Span(1, 22, 1, 27)),
        ('when: "\\"\\u00e9\\" || \\tlimit"', "double", "limit", Span(1, 24, 1, 29)),
        ('when: "a ||\\\n   \\  limit"', "double", "limit", Span(2, 7, 2, 12)),
        ("when: |\n  a ||\n\n    limit\n", "literal", "limit", Span(4, 5, 4, 10)),
        ("when: |2-  # why\n    a\n   limit\n", "literal", "limit", Span(3, 4, 3, 9)),
        ("when: >-\n  a ||\n  b ||\n\n  limit\n", "folded", "limit", Span(5, 3, 5, 8)),
        ("when: >\n  a\n    more\n  limit\n", "folded", "limit", Span(4, 3, 4, 8)),
    ],
)
def test_a_word_inside_a_scalar_has_its_place(text: str, style: str, word: str, span: Span) -> None:
    found = document(text)
    value = found.root.data["when"]
    at = value.index(word)
    assert (found.style("/when"), found.inside("/when", at, at + len(word))) == (style, span)


def test_the_end_of_a_scalar_has_a_place_of_no_width() -> None:
    found = document("when: 'a ||'\n")
    assert found.inside("/when", 4, 4) == Span(1, 12, 1, 12)


def test_an_escape_is_covered_whole() -> None:
    found = document('when: "a\\u00e9b"\n')
    assert found.inside("/when", 1, 2) == Span(1, 9, 1, 15)


TEXTS = st.text(st.sampled_from("ab é😀\n\t:#'\"\\|>-"), min_size=1, max_size=30)


@given(TEXTS, st.sampled_from(["'", '"', "|", ">"]), st.sampled_from([10, 1000]))
def test_each_character_of_a_dumped_string_is_found_again(text: str, style: str, width: int) -> None:
    written = yaml.dump({"k": [text]}, default_style=style, width=width, allow_unicode=True)
    # PyYAML folds lines that begin with a blank, which no reader unfolds again: its own does not either
    assume(yaml.safe_load(written) == {"k": [text]})
    found = document(written)
    assert found.root.data == {"k": [text]}
    for at, char in enumerate(text):
        there = covered(written, found.inside("/k/0", at, at + 1))
        # itself, a doubled quote, an escape, or a break that was folded
        assert there == char or (char in "\n " and there == "\n") or there == "''" or there.startswith("\\")


@given(st.lists(st.text("a/~01", max_size=4)))
def test_pointers_split_and_join(steps: list[str]) -> None:
    assert split_pointer(join_pointer(steps)) == steps
