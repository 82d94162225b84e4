"""Canonical JSON and fingerprints, held to frozen vectors, to RFC 8785, and to each other on random data."""

import gzip
import hashlib
import itertools
import json
import math
import struct
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate import ArgumentError, _core, canonical_json, fingerprint
from identity_values import build, json_like, texts

VECTORS = json.loads((Path(__file__).parent / "conformance" / "fingerprints.json").read_text())


def named(kind: str, *, error: bool) -> list[Any]:
    chosen = [vector for vector in VECTORS if kind in vector and ("error" in vector) == error]
    return [pytest.param(vector, id=vector["name"]) for vector in chosen]


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("vector", [v for v in named("arguments", error=False) if "tool" in v.values[0]])
def test_a_call_has_its_canonical_text_and_fingerprint(vector: dict[str, Any]) -> None:
    written = vector["arguments"]
    if "json" in written:
        assert _core._canonical_from_json(written["json"].encode()) == vector["canonical"]
    arguments = json.loads(written["json"]) if "json" in written else build(written)
    assert sha256(f"callgate/1:{vector['tool']}:{vector['canonical']}") == vector["fingerprint"]
    found = (canonical_json(arguments), _core._canonical_by_value(arguments), fingerprint(vector["tool"], arguments))
    assert found == (vector["canonical"], vector["canonical"], vector["fingerprint"])


@pytest.mark.parametrize("vector", [v for v in named("arguments", error=True) if "tool" in v.values[0]])
def test_arguments_that_are_not_json_like_are_refused_with_the_path(vector: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError) as caught:
        fingerprint(vector["tool"], build(vector["arguments"]))
    assert caught.value.path == vector["error"]["path"]
    assert str(caught.value).endswith(f": {vector['error']['says']}")


@pytest.mark.parametrize("vector", [v for v in named("arguments", error=True) if "json" in v.values[0]["arguments"]])
def test_json_text_that_is_not_exact_is_refused_with_its_place(vector: dict[str, Any]) -> None:
    error = vector["error"]
    with pytest.raises(ValueError) as caught:
        _core._canonical_from_json(vector["arguments"]["json"].encode())
    assert str(caught.value) == f"{error['says']} (line {error['line']}, column {error['column']})"


@pytest.mark.parametrize("vector", named("result", error=False))
def test_a_result_has_its_canonical_text_or_equals_nothing(vector: dict[str, Any]) -> None:
    written = vector["result"]
    result = json.loads(written["json"]) if "json" in written else build(written)
    assert _core._canonical_result(result) == vector["canonical"]


def test_documents_are_written_as_rfc_8785_says(shared: Path) -> None:
    for source in sorted((shared / "jcs" / "input").glob("*.json")):
        expected = (shared / "jcs" / "output" / source.name).read_text()
        found = (_core._canonical_from_json(source.read_bytes()), canonical_json(json.loads(source.read_bytes())))
        assert found == (expected, expected), source.name


def test_numbers_are_rendered_as_ecmascript_does(shared: Path) -> None:
    packed = gzip.decompress((shared / "jcs" / "es6-numbers-10k.csv.gz").read_bytes())
    published = {1_000: "be18b62b6f69cdab33a7e0dae0d9cfa869fda80ddc712221570f9f40a5878687",
                 10_000: "b9f7a8e75ef22a835685a52ccba7f7d6bdc99e34b010992cbc5864cd12be6892"}  # fmt: skip
    written: list[str] = []
    for line in packed.decode().splitlines():
        bits, _, rendering = line.partition(",")
        number = struct.unpack(">d", bytes.fromhex(bits.rjust(16, "0")))[0]
        text = canonical_json(number)
        assert (text, _core._canonical_by_value(number)) == (rendering, rendering), line
        written.append(f"{bits},{text}\n")
    for count, digest in published.items():
        assert hashlib.sha256("".join(written[:count]).encode()).hexdigest() == digest


@given(json_like)
def test_the_straight_way_and_the_way_over_the_value_give_one_text(value: Any) -> None:
    assert canonical_json(value) == _core._canonical_by_value(value)


@given(json_like)
def test_python_objects_and_their_json_text_are_one_value(value: Any) -> None:
    if holds_what_json_text_cannot_say(value):
        return
    for text in (json.dumps(value), json.dumps(value, indent=1), json.dumps(value, ensure_ascii=False)):
        if not any("\ud800" <= character < "\ue000" for character in text):  # as bytes they are no UTF-8
            assert _core._canonical_from_json(text.encode()) == canonical_json(value)


@given(json_like)
def test_written_json_reads_as_the_same_value(value: Any) -> None:
    if not holds_what_json_text_cannot_say(value):
        text = _core._json_by_value(value)
        assert same(json.loads(text), value)
        assert _core._canonical_from_json(text.encode()) == canonical_json(value)


@given(json_like, json_like)
def test_two_values_have_one_text_only_if_they_are_equal(a: Any, b: Any) -> None:
    assert (canonical_json(a) == canonical_json(b)) == same(a, b, by_value=True)


@given(texts, texts)
def test_different_strings_and_keys_have_different_texts(a: str, b: str) -> None:
    assert (canonical_json(a) == canonical_json(b)) == (a == b)
    assert (canonical_json({a: 1}) == canonical_json({b: 1})) == (a == b)


@given(st.integers(-(2**70), 2**70), st.floats())
def test_an_integer_and_a_float_are_one_only_where_both_are_exact(whole: int, number: float) -> None:
    equal = whole == number and abs(whole) < 2**53
    assert (canonical_json(whole) == canonical_json(number)) == equal
    if math.isfinite(number) and number == int(number):
        assert (canonical_json(int(number)) == canonical_json(number)) == (abs(number) < 2**53)


@given(json_like)
def test_what_was_lifted_comes_back_equal_with_its_keys_in_order(value: Any) -> None:
    assert same(_core._lift_and_return(value), value)


@given(st.dictionaries(texts, st.integers(), max_size=40), st.randoms(use_true_random=False))
def test_the_order_of_keys_means_nothing(fields: dict[str, int], random: Any) -> None:
    shuffled = list(fields.items())
    random.shuffle(shuffled)
    assert fingerprint("t", dict(shuffled)) == fingerprint("t", fields)


@given(st.integers(1, 33_000), st.booleans(), st.integers(-2, 2))
def test_integers_of_every_length_come_back_exactly(bits: int, negative: bool, off: int) -> None:
    whole = (1 << bits) + off
    whole = -whole if negative else whole
    assert _core._lift_and_return(whole) == whole
    if bits < 14_000:  # what Python turns into text by itself
        assert canonical_json(whole) == (str(whole) if abs(whole) < 2**53 else f"{whole}n")


@pytest.mark.parametrize("digits", [4_300, 4_301, 10_000])
def test_python_s_own_limit_on_digits_does_not_matter(digits: int) -> None:
    whole = 10 ** (digits - 1)
    assert canonical_json(whole) == "1" + "0" * (digits - 1) + "n"
    assert _core._lift_and_return(-whole) == -whole
    assert sys.get_int_max_str_digits() == 4_300


def test_much_data_takes_the_careful_way_and_gives_the_same() -> None:
    many = [{"k": n, "a": "x"} for n in range(80_000)]
    expected = "[" + ",".join(f'{{"a":"x","k":{n}}}' for n in range(80_000)) + "]"
    assert canonical_json(many) == expected


def test_a_small_object_that_unfolds_without_end_is_refused() -> None:
    value: list[Any] = []
    for _ in range(60):
        value = [value, value]
    with pytest.raises(ArgumentError, match="more than a million values"):
        fingerprint("t", value)
    assert _core._canonical_result(value) is None


def test_a_tool_s_name_must_be_valid_unicode() -> None:
    with pytest.raises(ArgumentError, match="`tool`: it is not valid Unicode") as caught:
        fingerprint("a\ud800", {})
    assert caught.value.path == "tool"


def holds_what_json_text_cannot_say(value: Any) -> bool:
    """Non-finite numbers, and lone surrogates that a JSON reader takes for a pair."""
    if isinstance(value, dict):
        return any(map(holds_what_json_text_cannot_say, [*value, *value.values()]))
    if isinstance(value, list):
        return any(map(holds_what_json_text_cannot_say, value))
    if isinstance(value, str):
        return any("\ud800" <= a < "\udc00" <= b < "\ue000" for a, b in itertools.pairwise(value))
    return isinstance(value, float) and not math.isfinite(value)


def same(a: Any, b: Any, *, by_value: bool = False) -> bool:
    """Whether two values are equal: types, order of keys and NaN included, or as identity sees them (`by_value`)."""
    if isinstance(a, bool) or isinstance(b, bool) or a is None or b is None:
        return a is b
    if isinstance(a, dict) and isinstance(b, dict):
        ordered = by_value or list(a) == list(b)
        return ordered and a.keys() == b.keys() and all(same(a[key], b[key], by_value=by_value) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(same(x, y, by_value=by_value) for x, y in zip(a, b, strict=True))
    if isinstance(a, float) and isinstance(b, float) and math.isnan(a) and math.isnan(b):
        return True
    if type(a) is type(b):
        return bool(a == b) and (by_value or repr(a) == repr(b) if isinstance(a, float) else True)
    return by_value and {type(a), type(b)} == {int, float} and bool(a == b) and abs(a) < 2**53
