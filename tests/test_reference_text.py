"""The slow engine's canonical text is that of RFC 8785, checked against data that the compiled one never made."""

import gzip
import json
import struct
from pathlib import Path

import pytest

from specification.text import canonical, dig, mask_failure, mask_success, mask_words, seconds


def test_writes_numbers_as_ecmascript_does(shared: Path) -> None:
    lines = gzip.decompress((shared / "jcs" / "es6-numbers-10k.csv.gz").read_bytes()).decode().splitlines()
    pairs = [line.split(",") for line in lines]
    written = [canonical(struct.unpack(">d", bytes.fromhex(bits.rjust(16, "0")))[0]) for bits, _ in pairs]
    assert written == [text for _, text in pairs]


def test_writes_documents_byte_for_byte(shared: Path) -> None:
    for source in sorted((shared / "jcs" / "input").glob("*.json")):
        expected = (shared / "jcs" / "output" / source.name).read_bytes()
        assert canonical(json.loads(source.read_bytes())).encode() == expected, source.name


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("failed at 2024-05-01T10:00:00Z", "failed at <date>"),
        ("failed at 10:00:00", "failed at <clock>"),
        ("pid 4711 and sshd[99]", "pid <n> and sshd[<n>]"),
        ("took 12 ms, then 3s", "took <time>, then <time>"),
        ("no /tmp/x-1/y there", "no <temp> there"),
        ("0xBEEF in 1f3a9c0d", "<hex> in <hex>"),
        ("line 17 of 20240501, code deadbeef", "line 17 of 20240501, code deadbeef"),
    ],
)
def test_masks_what_changes_from_run_to_run_but_never_plain_numbers(text: str, masked: str) -> None:
    assert mask_failure(text) == masked


def test_masks_only_temporary_paths_in_successful_results() -> None:
    assert mask_success("wrote /tmp/a at 10:00:00") == "wrote <temp> at 10:00:00"


def test_masks_the_longest_argument_first_and_only_whole_words() -> None:
    assert mask_words("abc-def, abc, abcd", ["abc", "abc-def"]) == "<argument>, <argument>, abcd"


def test_a_path_is_followed_and_anything_more_is_refused() -> None:
    assert dig("result.a.b", {"result": {"a": {"b": 1}}}) == 1
    with pytest.raises(NotImplementedError, match="more than a field path"):
        dig("size(result.a)", {})


def test_durations_are_seconds() -> None:
    assert [seconds(text) for text in ("500ms", "30s", "5m", "24h")] == [0.5, 30, 300, 86400]
