"""Compiling: what shows only once a policy meets its manifests, and what the compiled policy is called by."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from callgate import _core, canonical_json

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


@pytest.mark.parametrize(
    ("tool", "where"),
    [
        ({"result": {"empty_when": "size(result.hits) == 0"}}, "spec/tools/t/result/empty_when"),
        ({"result": {"failed_when": "result.status >= 400"}}, "spec/tools/t/result/failed_when"),
        ({"forms": [{"when": 'args.command == ""', "waiting": True}]}, "spec/tools/t/forms/0/when"),
        ({"coverage": {"cursor": "args.cursor", "next": "result.pages[0]"}}, "spec/tools/t/coverage/next"),
        ({"errors": [{"when": "error.status == 429", "class": "transient"}]}, "spec/tools/t/errors/0/when"),
        ({"identity": {"group": "hints.a + hints.b"}}, "spec/tools/t/identity/group"),
    ],
)
def test_an_expression_beyond_a_field_path_is_refused_at_its_place_and_never_ignored(
    tool: dict[str, Any], where: str
) -> None:
    compiled, _ = _core.compile_policy(policy(), [manifest(t={"effect": "read", **tool})])
    assert compiled is None
    assert told(policy(), manifest(t={"effect": "read", **tool})) == [("CG901", "error", 0, where)]


@pytest.mark.parametrize(
    ("spec", "where"),
    [
        ({"needs": [{"id": "a", "fields": ["x"]}]}, "spec/needs"),
        ({"rules": [{"id": "r", "when": "args.a > 1", "action": "refuse"}]}, "spec/rules/0/when"),
        ({"variables": {"v": "args.a + 1"}}, "spec/variables/v"),
    ],
)
def test_a_key_that_nothing_acts_upon_yet_is_refused(spec: dict[str, Any], where: str) -> None:
    assert told(policy(**spec)) == [("CG901", "error", -1, where)]


def test_argument_schemas_are_a_warning_until_they_are_checked() -> None:
    document = policy()
    declared = manifest(t={"effect": "read", "parameters": {"type": "object"}})
    compiled, _ = _core.compile_policy(document, [declared])
    assert compiled is not None
    assert told(document, declared) == [("CG901", "warning", 0, "spec/tools/t/parameters")]


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
