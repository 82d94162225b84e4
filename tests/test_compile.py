"""Compiling: what shows only once a policy meets its manifests, and what the compiled policy is called by."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from callgate import _core, canonical_json
from schema_samples import data
from test_schema_sense import EXAMPLE

BUDGETS: dict[str, Any] = {"preset": "medium"}


def policy(**spec: Any) -> dict[str, Any]:
    budgets = {**BUDGETS, **spec.pop("budgets", {})}
    envelope = {"apiVersion": "callgate/v1", "kind": "GuardPolicy", "metadata": {"name": "p", "revision": "3"}}
    return {**envelope, "spec": {"budgets": budgets, **spec}}


def manifest(**tools: Any) -> tuple[str, dict[str, Any]]:
    envelope = {"apiVersion": "callgate/v1", "kind": "ToolManifest", "metadata": {"name": "m"}}
    return "m", {**envelope, "spec": {"tools": tools}}


def told(document: dict[str, Any], *manifests: tuple[str, dict[str, Any]]) -> list[tuple[str, str, int, str]]:
    _, faults = _core.compile_policy(document, list(manifests))
    return [
        (fault.code, fault.severity, place, "/".join(str(step) for step in fault.pointer)) for place, fault in faults
    ]


PAY = {
    "effect": "external",
    "parameters": {
        "type": "object",
        "required": ["amount", "currency"],
        "properties": {
            "amount": {"type": "number"},
            "currency": {"type": "string", "enum": ["EUR", "USD"]},
            "memo": {"type": "string"},
        },
    },
}


@pytest.mark.parametrize("code", [code for code, _ in _core.codes() if code.startswith("CG3") and code != "CG319"])
def test_the_wrong_expression_of_a_page_has_that_fault_and_the_right_one_none(root: Path, code: str) -> None:
    page = (root / "docs" / "diagnostics" / f"{code}.md").read_text(encoding="utf-8")
    found = {}
    for label, _, _, example in EXAMPLE.findall(page):
        spec = data(example)
        faults = told(policy(**spec), manifest(pay=PAY))
        found[label] = {fault[0] for fault in faults if fault[1] == "error"}
    assert found == {"Wrong": {code}, "Right": set()}


@pytest.mark.parametrize("code", ["CG319", "CG423"])
def test_the_wrong_tool_of_a_page_is_warned_of_and_the_right_one_is_not(root: Path, code: str) -> None:
    page = (root / "docs" / "diagnostics" / f"{code}.md").read_text(encoding="utf-8")
    found = {}
    for label, _, _, example in EXAMPLE.findall(page):
        found[label] = [fault[:2] for fault in told(policy(), manifest(**data(example)["tools"]))]
    assert found == {"Wrong": [(code, "warning")], "Right": []}


TEXT = "this errs whenever `t` answers with text that is no JSON: a string has no field `items`"


@pytest.mark.parametrize(
    ("keys", "where", "text", "related"),
    [
        ({"result": {"records": "result.items"}}, "result/records", "result.items", ()),
        (
            {"result": {"records": "result.items", "empty_when": "size( result.items ) == 0", "version": "result.v"}},
            "result/empty_when",
            "result.items",
            ("result/records", "result/version"),
        ),
        # only text that may be a success reaches the records
        (
            {"result": {"failed_when": "error != null || type(result) == string", "records": "result.items"}},
            None,
            "",
            (),
        ),
        ({"result": {"failed_when": "type(result) != map", "records": "result.items"}}, None, "", ()),
        (
            {"result": {"failed_when": "result == 'no'", "records": "result.items"}},
            "result/records",
            "result.items",
            (),
        ),
        ({"result": {"failed_when": "result.items == []"}}, "result/failed_when", "result.items", ()),
        # an error's condition is asked of failures, which may be text all the same
        (
            {
                "result": {"failed_when": "type(result) == string"},
                "errors": [{"when": "error.status == 4 || result.items == []", "class": "permanent"}],
            },
            None,
            "",
            (),
        ),
        (
            {"result": {"failed_when": "true"}, "errors": [{"when": "result.items == []", "class": "permanent"}]},
            "errors/0/when",
            "result.items",
            (),
        ),
        # a form is looked at where it writes its own keys
        ({"forms": [{"result": {"state": "result.items"}}]}, "forms/0/result/state", "result.items", ()),
        ({"forms": [{"effect": "write"}], "result": {"state": "result.items"}}, "result/state", "result.items", ()),
        ({"coverage": {"cursor": "args.c", "next": "result.items"}}, "coverage/next", "result.items", ()),
    ],
)
def test_what_errs_on_every_text_is_warned_of_once_a_tool_with_its_place(
    keys: dict[str, Any], where: str | None, text: str, related: tuple[str, ...]
) -> None:
    keys = {"effect": "read", "parameters": {"type": "object"}, **keys}
    _, faults = _core.compile_policy(policy(), [manifest(t=keys)])
    if where is None:
        assert faults == []
        return
    [(place, fault)] = faults
    at = ("spec", "tools", "t", *(int(step) if step.isdigit() else step for step in where.split("/")))
    assert (fault.code, fault.severity, place, fault.pointer, fault.message) == ("CG319", "warning", 0, at, TEXT)
    source = keys
    for step in at[3:]:
        source = source[step]
    assert str(source)[slice(*(fault.span or ()))] == text
    others = [("spec", "tools", "t", *other.split("/")) for other in related]
    assert fault.related == tuple((other, "this errs then, too") for other in others)


def test_a_rule_that_errs_on_every_text_is_warned_of_and_a_guarded_one_is_not() -> None:
    def rule(when: str, phase: str = "observe") -> dict[str, Any]:
        return policy(rules=[{"id": "r", "phase": phase, "when": when, "action": "note"}])

    assert told(rule('grade == "failed" || result.left > 3')) == []
    assert told(rule("type(result) == map && result.left > 3")) == []
    assert told(rule("result.left > 3")) == [("CG319", "warning", -1, "spec/rules/0/when")]


def test_a_tool_without_parameters_is_warned_of_once_where_something_reads_its_arguments() -> None:
    two = {"forms": [{"when": "args.a == 1", "effect": "read"}, {"when": "args.b == 1", "effect": "write"}]}
    assert told(policy(), manifest(t=two)) == [("CG423", "warning", 0, "spec/tools/t")]
    assert told(policy(), manifest(t={**two, "parameters": {"type": "object"}})) == []
    assert told(policy(), manifest(t={"forms": [{"when": "size(args) > 3", "effect": "read"}]})) == []
    rules = [{"id": "r", "tools": ["t"], "when": "true", "message": "string(args.a)", "action": "note"}]
    assert told(policy(rules=rules), manifest(t={}, u={})) == [("CG423", "warning", 0, "spec/tools/t")]
    # a rule about all tools says nothing of one of them, and without manifests nothing could be declared
    assert told(policy(rules=[{**rules[0], "tools": []}]), manifest(t={})) == []
    assert told(policy(rules=rules)) == []


@pytest.mark.parametrize(
    ("tool", "code", "where", "text"),
    [
        ({"result": {"empty_when": "size(result.hits"}}, "CG301", "result/empty_when", ""),
        ({"result": {"failed_when": "reslt.status >= 400"}}, "CG305", "result/failed_when", "reslt"),
        ({"forms": [{"when": 'result.x == ""', "waiting": True}]}, "CG307", "forms/0/when", "result"),
        ({"coverage": {"cursor": "args.cursor", "next": "nxt.pages[0]"}}, "CG305", "coverage/next", "nxt"),
        ({"errors": [{"when": "error.stats == 429", "class": "transient"}]}, "CG308", "errors/0/when", "stats"),
        ({"identity": {"group": "hints.a + args"}}, None, "", ""),
        ({"result": {"records": "size(result)"}}, "CG311", "result/records", "size(result)"),
        # `error` is null where none was reported
        ({"result": {"failed_when": "error.status >= 500"}}, "CG309", "result/failed_when", "error.status"),
        ({"result": {"failed_when": "error != null && error.status >= 500"}}, None, "", ""),
        ({"result": {"failed_when": "type(result) == string || error.status >= 500"}}, None, "", ""),
        ({"result": {"failed_when": "error != null && error.stats >= 500"}}, "CG308", "result/failed_when", "stats"),
        ({"result": {"empty_when": "error.status == 404"}}, "CG309", "result/empty_when", "error.status"),
        ({"result": {"records": 'error.type == "http" ? [] : result.x'}}, "CG309", "result/records", "error.type"),
        ({"errors": [{"when": "error.status == 404", "class": "transient"}]}, None, "", ""),
    ],
)
def test_every_expression_of_a_manifest_is_checked_at_its_place(
    tool: dict[str, Any], code: str | None, where: str, text: str
) -> None:
    compiled, faults = _core.compile_policy(policy(), [manifest(t={"effect": "read", **tool})])
    assert (compiled is None) == (code is not None)
    found = [(fault.code, "/".join(str(step) for step in fault.pointer)) for _, fault in faults]
    assert found == ([] if code is None else [(code, f"spec/tools/t/{where}")])
    for _, fault in faults if text else []:
        source: Any = {"spec": {"tools": {"t": tool}}}
        for step in fault.pointer:
            source = source[step]
        assert fault.span is not None
        assert source[slice(*fault.span)] == text


@pytest.mark.parametrize(
    ("spec", "where"),
    [
        ({"detectors": {"repeated_effect": {"cool_down": "5m"}}}, "spec/detectors/repeated_effect/cool_down"),
    ],
)
def test_a_key_that_nothing_acts_upon_yet_is_refused(spec: dict[str, Any], where: str) -> None:
    assert told(policy(**spec)) == [("CG901", "error", -1, where)]


def test_parameters_that_are_no_schema_are_refused() -> None:
    declared = manifest(t={"effect": "read", "parameters": {"type": "strng"}})
    assert told(policy(), declared) == [("CG422", "error", 0, "spec/tools/t/parameters")]


ORDER: dict[str, Any] = {
    "effect": "external",
    "parameters": {"type": "object", "required": ["order_ref"], "properties": {"order_ref": {"type": "string"}}},
}


@pytest.mark.parametrize(
    ("tool", "code", "where"),
    [
        ({"idempotency": {"key": "[args.order_rf]"}}, "CG308", "idempotency/key"),
        # what differs from one attempt to the next makes no key
        ({"idempotency": {"key": "[args.order_ref, call.id]"}}, "CG305", "idempotency/key"),
        ({"idempotency": {"key": "[args.order_ref, string(now)]"}}, "CG305", "idempotency/key"),
        ({"verify": {"tool": "u", "arguments": {"ref": "result.ref"}}}, "CG307", "verify/arguments/ref"),
        ({"verify": {"tool": "u", "landed_when": "size(result)"}}, "CG311", "verify/landed_when"),
        ({"verify": {"tool": "u", "absent_when": "!result.found && reslt.settled"}}, "CG305", "verify/absent_when"),
        ({"idempotency": {"key": '[task.id, "t", args.order_ref, string(task.confirmation)]'}}, None, ""),
        ({"verify": {"tool": "u", "arguments": {"ref": "args.order_ref"}, "landed_when": "result.found"}}, None, ""),
    ],
)
def test_expressions_about_effects_are_checked_before_anything_acts_upon_them(
    tool: dict[str, Any], code: str | None, where: str
) -> None:
    found = [
        fault for fault in told(policy(), manifest(t={**ORDER, **tool}, u={"effect": "read"})) if fault[0] != "CG901"
    ]
    assert found == ([] if code is None else [(code, "error", 0, f"spec/tools/t/{where}")])


@pytest.mark.parametrize(
    ("edge", "code", "where"),
    [
        ({"when": '"unit_price" in gap'}, "CG305", "when"),
        ({"when": "size(records)"}, "CG311", "when"),
        ({"arguments": {"supplier": "args.order_rf"}}, "CG308", "arguments/supplier"),
        ({"kind": "provider", "when": 'provider.breaker == "opened"'}, "CG312", "when"),
        # a provider answers no call, and so has no grade
        ({"kind": "provider", "when": 'grade == "empty"'}, "CG305", "when"),
        ({"when": '"unit_price" in gaps', "arguments": {"supplier": "records[0].supplier"}}, None, ""),
        ({"kind": "provider", "when": 'provider.breaker == "open"'}, None, ""),
    ],
)
def test_expressions_of_edges_are_checked_at_their_places(edge: dict[str, Any], code: str | None, where: str) -> None:
    document = policy(fallback={"edges": [{"from": "t", "to": "u", **edge}]})
    found = told(document, manifest(t=ORDER, u={**ORDER, "effect": "read"}))
    assert found == ([] if code is None else [(code, "error", -1, f"spec/fallback/edges/0/{where}")])


@pytest.mark.parametrize(
    ("invariant", "code", "where"),
    [
        ({"assume": 'call.tol == "pay"', "assert": "true"}, "CG308", "assume"),
        ({"assume": 'task.calls("pay")', "assert": "true"}, "CG311", "assume"),
        ({"assert": 'verdict.action in ["refuse", "stopp"]'}, "CG312", "assert"),
        ({"assert": "result.ok"}, "CG307", "assert"),
        (
            {
                "assume": 'call.tool == "create_order" && task.calls("create_order") >= 2',
                "assert": 'verdict.action in ["refuse", "stop"] && "denied" in verdict.reasons',
            },
            None,
            "",
        ),
    ],
)
def test_invariants_are_checked_with_the_policy(invariant: dict[str, Any], code: str | None, where: str) -> None:
    document = {**policy(), "verification": {"invariants": [{"id": "i", **invariant}]}}
    found = told(document)
    assert found == ([] if code is None else [(code, "error", -1, f"verification/invariants/0/{where}")])


def test_parameters_have_the_types_of_their_schemas_and_need_a_value() -> None:
    parameters = {"ceiling": {"type": "number", "default": 5}, "region": {"type": "string"}}
    rules = [
        {"id": "a", "when": "args.amount > params.ceiling", "action": "note"},
        {"id": "b", "when": "params.ceilng > 1", "action": "note"},
        {"id": "c", "when": 'params.ceiling == "5"', "action": "note"},
    ]
    assert told(policy(parameters=parameters, rules=rules)) == [
        ("CG308", "error", -1, "spec/rules/1/when"),
        ("CG312", "error", -1, "spec/rules/2/when"),
        ("CG440", "error", -1, "spec/parameters/region"),
    ]


def test_a_parameter_s_default_has_to_fit_its_schema_and_the_schema_to_be_one() -> None:
    parameters = {
        "fits": {"type": "integer", "minimum": 1, "default": 1},
        "wrong": {"type": "integer", "minimum": 1, "default": 0},
        "inside": {"type": "object", "properties": {"a": {"type": "string"}}, "default": {"a": 1}},
        "none": {"type": "nmber", "default": 1},
    }
    assert told(policy(parameters=parameters)) == [
        ("CG441", "error", -1, "spec/parameters/wrong/default"),
        ("CG441", "error", -1, "spec/parameters/inside/default"),
        ("CG422", "error", -1, "spec/parameters/none"),
    ]


def test_a_name_that_no_manifest_has_is_a_warning() -> None:
    document = policy(
        budgets={"calls_per_tool": {"serch": 3}},
        detectors={"for": {"srch": {"empty_streak": {"refuse_after": 5}}, "lookups": {"same_error": None}}},
    )
    declared = manifest(search={"effect": "read", "groups": ["lookups"]})
    assert told(document, declared) == [
        ("CG421", "warning", -1, "spec/budgets/calls_per_tool/serch"),
        ("CG421", "warning", -1, "spec/detectors/for/srch"),
    ]


def test_two_manifests_must_not_declare_one_tool() -> None:
    declared = manifest(t={"effect": "read"})
    assert told(policy(), declared, declared) == [("CG404", "error", 1, "spec/tools/t")]


def test_the_digest_is_that_of_the_canonical_spec_and_manifests() -> None:
    declared = manifest(t={"effect": "read"})
    compiled, _ = _core.compile_policy(policy(), [declared])
    assert compiled is not None
    whole = {"spec": policy()["spec"], "manifests": {"m": declared[1]["spec"]}}
    assert compiled.digest == hashlib.sha256(canonical_json(whole).encode()).hexdigest()
    assert (compiled.name, compiled.revision, compiled.mode, compiled.tools) == ("p", "3", "enforce", ["t"])
