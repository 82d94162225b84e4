"""The reader of the core and the JSON Schemas made from the same declarations: they must accept the same documents."""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from callgate import _core
from schema_samples import GOOD, KINDS, data, document, told, validator


def test_the_kinds_are_those_of_the_language() -> None:
    assert _core.kinds() == KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_a_generated_schema_is_valid_2020_12(kind: str) -> None:
    schema = json.loads(_core.schema(kind))
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("kind", KINDS)
def test_every_block_of_a_schema_is_closed_and_every_key_explained(kind: str) -> None:
    for name, block in json.loads(_core.schema(kind))["$defs"].items():
        assert block["description"], name
        for key, schema in block.get("properties", {}).items():
            assert schema["description"], f"{name}.{key}"
        if block.get("type") == "object":
            assert block["additionalProperties"] is False, name


def test_the_schema_of_an_unknown_kind_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"^unknown kind `GuardPolcy`$"):
        _core.schema("GuardPolcy")


@pytest.mark.parametrize("name", GOOD)
def test_what_the_reader_accepts_the_schema_accepts(name: str) -> None:
    kind, spec = GOOD[name]
    sample = document(kind, spec)
    assert told(kind, sample) == []
    assert [error.message for error in validator(kind).iter_errors(sample)] == []


# name, kind, spec, code, pointer below `spec`, whether the key or the value is meant
BAD: list[tuple[str, str, str, str, tuple[str | int, ...], str]] = [
    ("an unknown key", "GuardPolicy", "{modes: warn}", "CG201", ("modes",), "key"),
    ("an unknown detector", "GuardPolicy", "detectors: {cycles: {}}", "CG201", ("detectors", "cycles"), "key"),
    (
        "an unknown detector of a tool",
        "GuardPolicy",
        "detectors: {for: {find: {window: 3}}}",
        "CG201",
        ("detectors", "for", "find", "window"),
        "key",
    ),
    (
        "an unknown key in a list",
        "GuardPolicy",
        "rules: [{id: a}, {id: b, wen: x}]",
        "CG201",
        ("rules", 1, "wen"),
        "key",
    ),
    (
        "an unknown key in a limit",
        "GuardPolicy",
        "budgets: {steps: {limit: 3, why: x}}",
        "CG201",
        ("budgets", "steps", "why"),
        "key",
    ),
    ("a form in a form", "ToolManifest", "tools: {a: {forms: [{forms: []}]}}", "CG201",
     ("tools", "a", "forms", 0, "forms"), "key"),
    ("a rule without an id", "GuardPolicy", "rules: [{when: a}]", "CG202", ("rules", 0), "key"),
    ("an id that is null", "GuardPolicy", "rules: [{id: null}]", "CG202", ("rules", 0), "key"),
    ("a limit without a limit", "GuardPolicy", "budgets: {steps: {reason: x}}", "CG202", ("budgets", "steps"), "key"),
    ("a cost without a currency", "GuardPolicy", "budgets: {cost: {limit: 3}}", "CG202", ("budgets", "cost"), "key"),
    ("a binding to nothing", "GuardBinding", "{mode: warn}", "CG202", (), "key"),
    ("an error without a class", "ToolManifest", "tools: {a: {errors: [{when: x}]}}", "CG202",
     ("tools", "a", "errors", 0), "key"),
    ("a text for a list", "GuardPolicy", "extends: default", "CG203", ("extends",), "value"),
    ("a list for a map", "GuardPolicy", "detectors: []", "CG203", ("detectors",), "value"),
    ("a text for a map", "GuardPolicy", "detectors: {cycle: on}", "CG203", ("detectors", "cycle"), "value"),
    ("a number for a text", "GuardPolicy", "tools: [12]", "CG203", ("tools", 0), "value"),
    ("a null in a list", "GuardPolicy", "tools: [a, null]", "CG203", ("tools", 1), "value"),
    ("a text for a count", "GuardPolicy", 'budgets: {steps: "3"}', "CG203", ("budgets", "steps"), "value"),
    ("a broken count", "GuardPolicy", "budgets: {steps: 2.5}", "CG203", ("budgets", "steps"), "value"),
    ("true for a count", "GuardPolicy", "budgets: {steps: true}", "CG203", ("budgets", "steps"), "value"),
    ("a number for a duration", "GuardPolicy", "time: {task: 10}", "CG203", ("time", "task"), "value"),
    ("a text for a boolean", "ToolManifest", "tools: {a: {transfer: yes}}", "CG203",
     ("tools", "a", "transfer"), "value"),
    ("a boolean for an expression", "GuardPolicy", "rules: [{id: a, when: true}]", "CG203",
     ("rules", 0, "when"), "value"),
    ("a count for a poll", "ToolManifest", "tools: {a: {waiting: 3}}", "CG203", ("tools", "a", "waiting"), "value"),
    ("an unknown mode", "GuardPolicy", "mode: enforced", "CG204", ("mode",), "value"),
    ("an unknown effect", "ToolManifest", "tools: {a: {effect: reed}}", "CG204", ("tools", "a", "effect"), "value"),
    ("an unknown word in a list", "GuardPolicy", "resets: {compaction: [repeat]}", "CG204",
     ("resets", "compaction", 0), "value"),
    ("an unknown event", "GuardTest", "{steps: [{event: user}]}", "CG204", ("steps", 0, "event"), "value"),
    ("a negative budget", "GuardPolicy", "budgets: {tool_calls: -1}", "CG205", ("budgets", "tool_calls"), "value"),
    ("a huge budget", "GuardPolicy", "budgets: {steps: 1e300}", "CG205", ("budgets", "steps"), "value"),
    ("a rung of zero", "GuardPolicy", "detectors: {denied: {refuse_after: 0}}", "CG205",
     ("detectors", "denied", "refuse_after"), "value"),
    ("a cycle of one lap", "GuardPolicy", "detectors: {cycle: {laps: 1}}", "CG205",
     ("detectors", "cycle", "laps"), "value"),
    ("a share above one", "GuardPolicy", "budgets: {notes_at: [0.8, 95]}", "CG205",
     ("budgets", "notes_at", 1), "value"),
    ("a shrinking backoff", "ToolManifest", "tools: {a: {retry: {backoff: {factor: 0.5}}}}", "CG205",
     ("tools", "a", "retry", "backoff", "factor"), "value"),
    ("a blank name", "GuardPolicy", 'tools: [" a"]', "CG205", ("tools", 0), "value"),
    ("an empty expression", "GuardPolicy", "rules: [{id: a, when: ' '}]", "CG205", ("rules", 0, "when"), "value"),
    ("a lower-case code", "GuardPolicy", "rules: [{id: a, code: above}]", "CG205", ("rules", 0, "code"), "value"),
    ("a dotted key with a gap", "GuardPolicy", "locked: [budgets..steps]", "CG205", ("locked", 0), "value"),
    ("two units in a duration", "GuardPolicy", "time: {task: 1h30m}", "CG206", ("time", "task"), "value"),
    ("a negative duration", "GuardPolicy", "time: {task: -5s}", "CG206", ("time", "task"), "value"),
    ("an unknown unit", "ToolManifest", "tools: {a: {timeout: 2d}}", "CG206", ("tools", "a", "timeout"), "value"),
    ("a time without a zone", "GuardException",
     "{policy: a, lifts: [cycle], owner: b, justification: c, expires: 2027-01-31T18:00:00}", "CG210",
     ("expires",), "value"),
    ("an unknown reason", "GuardTest", "{trace: a.jsonl, expect: {reasons: [cycles]}}", "CG211",
     ("expect", "reasons", 0), "value"),
    ("a rule without a name", "GuardTest", "{trace: a.jsonl, expect: {reasons: ['rule:']}}", "CG211",
     ("expect", "reasons", 0), "value"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "spec", "code", "pointer", "part"), [case[1:] for case in BAD], ids=[case[0] for case in BAD]
)
def test_what_the_reader_refuses_the_schema_refuses(
    kind: str, spec: str, code: str, pointer: tuple[str | int, ...], part: str
) -> None:
    sample = document(kind, spec)
    assert told(kind, sample) == [(code, ("spec", *pointer), part)]
    assert not validator(kind).is_valid(sample)


@pytest.mark.parametrize(
    ("envelope", "fault"),
    [
        ({"apiVersion": "callgate/v2"}, ("CG209", ("apiVersion",), "value")),
        ({"kind": "ToolManifest"}, ("CG208", ("kind",), "value")),
        ({"kind": None}, ("CG202", (), "key")),
        ({"metadata": {}}, ("CG202", ("metadata",), "key")),
        ({"metadata": {"name": "a", "revision": 12}}, ("CG203", ("metadata", "revision"), "value")),
        ({"metadata": {"name": "a", "labels": {"team": 1}}}, ("CG203", ("metadata", "labels", "team"), "value")),
        ({"spec": None}, ("CG202", (), "key")),
        ({"verification": {"invariants": [{"id": "a"}]}}, ("CG202", ("verification", "invariants", 0), "key")),
        ({"status": {}}, ("CG201", ("status",), "key")),
    ],
)
def test_a_fault_of_the_envelope_is_found_by_both(
    envelope: dict[str, Any], fault: tuple[str, tuple[str | int, ...], str]
) -> None:
    sample = document("GuardPolicy", "{}") | envelope
    assert told("GuardPolicy", sample) == [fault]
    assert not validator("GuardPolicy").is_valid(sample)


def test_a_document_that_is_no_map_is_one_fault() -> None:
    assert told("GuardPolicy", ["spec"]) == [("CG203", (), "value")]


def test_all_faults_of_a_document_come_in_one_run_envelope_form_and_sense() -> None:
    sample = data("""
        apiVersion: callgate/v3
        kind: GuardPolicy
        metadata: {name: sample}
        spec:
          mode: enforced
          detectors: {same_error: {note_after: 5, refuse_after: 3}}
          rules: [{id: a, action: exit}, {id: a}]
    """)
    assert sorted(told("GuardPolicy", sample)) == [
        ("CG204", ("spec", "mode"), "value"),
        ("CG209", ("apiVersion",), "value"),
        ("CG401", ("spec", "detectors", "same_error", "note_after"), "value"),
        ("CG404", ("spec", "rules", 1, "id"), "value"),
        ("CG414", ("spec", "rules", 0, "action"), "value"),
    ]


def test_a_fault_says_what_is_wrong_and_what_to_do() -> None:
    (fault,) = _core.validate(
        "GuardPolicy", document("GuardPolicy", "detectors: {same_error: {note_after: 5, refuse_after: 3}}")
    )
    place = ("spec", "detectors", "same_error")
    assert (fault.code, fault.name, fault.severity, fault.pointer, fault.part) == (
        "CG401", "unreachable-rung", "error", (*place, "note_after"), "value",
    )  # fmt: skip
    assert fault.message == "`note_after` of `same_error` is never reached: it refuses after 3 already"
    assert fault.hint == "write `note_after` at most 3, or `refuse_after` at least 5"
    assert fault.related == (((*place, "refuse_after"), "refuses after 3"),)


def test_an_integer_revision_is_told_to_be_put_in_quotes() -> None:
    sample = document("GuardPolicy", "{}") | {"metadata": {"name": "a", "revision": 12}}
    (fault,) = _core.validate("GuardPolicy", sample)
    assert (fault.message, fault.hint) == ("expected text, found `12`", 'put it in quotes: "12"')


def test_an_unknown_kind_is_led_back_to_the_known_one() -> None:
    (fault,) = _core.validate("GuardPolcy", {})
    assert (fault.code, fault.pointer, fault.hint) == ("CG208", ("kind",), "did you mean `GuardPolicy`?")


def test_what_is_no_data_is_refused_with_its_path() -> None:
    with pytest.raises(_core.ArgumentError) as caught:
        _core.validate("GuardPolicy", {"spec": {"mode": object()}})
    assert caught.value.path == "document.spec.mode"


def test_every_handed_case_reads_without_a_fault(shared: Path) -> None:
    cases = sorted((shared / "cases").glob("*_test.yaml"))
    assert len(cases) == 27
    faulty = {}
    for case in cases:
        sample = data(case.read_text(encoding="utf-8"))
        if told("GuardTest", sample) or not validator("GuardTest").is_valid(sample):
            faulty[case.name] = _core.validate("GuardTest", sample)
    assert faulty == {}


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Walk through the places of a document, the document itself first."""
    yield path
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in steps:
        yield from places(inner, (*path, step))


def replaced(value: Any, path: tuple[str | int, ...], by: Any) -> Any:
    """Copy a document with one place of it replaced."""
    if not path:
        return by
    inner = replaced(value[path[0]], path[1:], by)
    if isinstance(value, dict):
        return value | {path[0]: inner}
    return [inner if index == path[0] else item for index, item in enumerate(value)]


SAMPLES = {name: document(kind, spec) for name, (kind, spec) in GOOD.items()}
EVERYWHERE = [(name, place) for name, sample in SAMPLES.items() for place in places(sample)]
ANYTHING = [
    *(None, True, False, -1, 0, 1, 2.5, 1e300, math.inf, 10**30, "", "x", " ", "5m", "1h30m", "unlimited"),
    *([], ["x"], [None], {}, {"zzz": 1}, {"limit": 3}, {"limit": "unlimited", "reason": "x"}),
]


@given(st.sampled_from(EVERYWHERE), st.sampled_from(ANYTHING))
@settings(max_examples=200)
def test_with_anything_anywhere_reader_and_schema_agree(where: tuple[str, tuple[str | int, ...]], by: Any) -> None:
    name, place = where
    kind = GOOD[name][0]
    sample = replaced(SAMPLES[name], place, by)
    # what takes a look at two places at once, or at a name's meaning, no schema says
    beyond = ("lacks the run", "the step lacks")
    faults = [
        fault
        for fault in _core.validate(kind, sample)
        if fault.code.startswith("CG2")
        and "locked" not in fault.pointer
        and not any(b in fault.message for b in beyond)
    ]
    if "locked" not in place:
        assert (faults == []) == validator(kind).is_valid(sample), faults
