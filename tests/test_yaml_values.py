"""What YAML text means: the core schema of YAML 1.2, documents, anchors."""

import math

import pytest

from callgate.policy.compose import compose
from callgate.policy.events import Backend
from callgate.policy.source import Source


@pytest.fixture(params=["c", "pure"])
def backend(request: pytest.FixtureRequest) -> Backend:
    backend: Backend = request.param
    return backend


def read(text: str, backend: Backend = "pure") -> list[object]:
    composed = compose(Source("x.yaml", text), backend=backend)
    assert composed.diagnostics == ()
    return [document.root.data for document in composed.documents]


# From the tables of YAML 1.2.2, section 10.3.2, and from what 1.1 would have made of them.
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None), ("~", None), ("null", None), ("Null", None), ("NULL", None), ("nUll", "nUll"),
        ("true", True), ("True", True), ("TRUE", True), ("false", False), ("tRUE", "tRUE"),
        ("yes", "yes"), ("no", "no"), ("on", "on"), ("off", "off"), ("y", "y"), ("n", "n"), ("No", "No"),
        ("0", 0), ("010", 10), ("-19", -19), ("+12", 12), ("0o10", 8), ("0x1F", 31), ("0b1", "0b1"), ("1_000", "1_000"),
        ("0o8", "0o8"), ("0xG", "0xG"), ("-0x1", "-0x1"), ("190:20:30", "190:20:30"), ("١", "١"),
        ("0.", 0.0), (".5", 0.5), ("-0.0", -0.0), ("12e03", 12000.0), ("-2E+05", -200000.0), ("1e3", 1000.0),
        (".", "."), ("e3", "e3"), ("1e", "1e"), ("+", "+"),
        (".inf", math.inf), ("-.Inf", -math.inf), ("+.INF", math.inf), ("inf", "inf"), (".iNF", ".iNF"),
        ("2001-12-14", "2001-12-14"), ("30s", "30s"), ("=", "="),
        ("'1'", "1"), ('"true"', "true"), ("!!str 1", "1"), ("!!int 7", 7), ("!!float 7", 7.0),
    ],
)  # fmt: skip
def test_a_scalar_is_what_the_core_schema_says(text: str, value: object, backend: Backend) -> None:
    (found,) = read(f"key: {text}\n", backend)
    assert found == {"key": value}
    assert isinstance(found, dict)
    assert type(found["key"]) is type(value)


def test_nan_is_a_number(backend: Backend) -> None:
    (found,) = read("[.nan, .NaN, .NAN]", backend)
    assert isinstance(found, list)
    assert all(math.isnan(number) for number in found)


def test_on_is_a_string_as_a_key(backend: Backend) -> None:
    assert read("on: 1\nno: 2\n", backend) == [{"on": 1, "no": 2}]


def test_a_file_may_hold_several_documents(backend: Backend) -> None:
    assert read("---\na: 1\n---\nb: 2\n...\n", backend) == [{"a": 1}, {"b": 2}]


def test_an_alias_stands_for_the_value_of_its_anchor(backend: Backend) -> None:
    assert read("a: &x {n: [1]}\nb: *x\n", backend) == [{"a": {"n": [1]}, "b": {"n": [1]}}]


def test_an_anchor_counts_for_its_own_document_only(backend: Backend) -> None:
    composed = compose(Source("x.yaml", "a: &x 1\n---\nb: *x\n"), backend=backend)
    assert [d.message for d in composed.diagnostics] == ["no anchor `&x` before this alias"]


def test_windows_and_old_mac_line_ends_are_line_ends(backend: Backend) -> None:
    assert read("a: 1\r\nb: |\r\n  x\r\n  y\r\nc: 3\r", backend) == [{"a": 1, "b": "x\ny\n", "c": 3}]
