"""Faults of sense: documents whose form is right and that still cannot be meant; and the page of each code."""

import re
from pathlib import Path

import pytest

from callgate import _core
from schema_samples import KINDS, data, document, told

SPEC = ("spec",)


@pytest.mark.parametrize(
    ("kind", "spec", "faults"),
    [
        # a ladder of three rungs, each in turn above the one that ends the climb
        ("GuardPolicy", "detectors: {no_gain: {note_after: 3, refuse_after: 7, exit_after: 2}}",
         [("CG401", ("detectors", "no_gain", "note_after")), ("CG401", ("detectors", "no_gain", "refuse_after"))]),
        ("GuardPolicy", "detectors: {denied: {note_after: 2, exit_after: 1}}", [("CG401",
         ("detectors", "denied", "note_after"))]),
        ("GuardPolicy", "detectors: {denied: {note_after: 2, refuse_after: 2, exit_after: 2}}", []),
        ("GuardPolicy", "detectors: {for: {find: {denied: {note_after: 2, refuse_after: 1}}}}",
         [("CG401", ("detectors", "for", "find", "denied", "note_after"))]),
        ("GuardPolicy", "detectors: {diversity: {note_below: 0.1, refuse_below: 0.3}}",
         [("CG401", ("detectors", "diversity", "note_below"))]),
        ("GuardPolicy", "detectors: {window: 9, frequency: {note_after: 9, refuse_after: 10}}",
         [("CG402", ("detectors", "frequency", "refuse_after"))]),
        ("GuardPolicy", "detectors: {window: 9, diversity: {min_calls: 10}}", [("CG402",
         ("detectors", "diversity", "min_calls"))]),
        # the window may be inherited
        ("GuardPolicy", "detectors: {frequency: {refuse_after: 1000}}", []),
        ("GuardPolicy", "budgets: {layers: {http: {retries: 3}, tool: {retries: 3}, agent: {retries: 3}, at_most: 26}}",
         [("CG409", ("budgets", "layers", "at_most"))]),
        ("GuardPolicy", "budgets: {layers: {http: {retries: 3}, tool: {retries: 3}, agent: {retries: 3}, at_most: 27}}",
         []),
        ("GuardPolicy", "budgets: {layers: {http: {retries: 5}, agent: {retries: 0}, at_most: 4}}",
         [("CG409", ("budgets", "layers", "at_most"))]),
        ("GuardPolicy", "budgets: {steps: {limit: unlimited, reason: ' '}}", [("CG405", ("budgets", "steps"))]),
        ("GuardPolicy", "time: {task: unlimited}", [("CG405", ("time", "task"))]),
        # only what bounds every run needs a reason
        ("GuardPolicy", "{time: {workflow: unlimited}, budgets: {retries: unlimited}}", []),
        ("GuardPolicy", "budgets: {tool_calls: 5, reserve: {tool_calls: 5, for: [report]}}", []),
        ("GuardPolicy", "locked: [budgets.tool_cals]", [("CG201", ("locked", 0))]),
        ("GuardPolicy", "locked: [mode.warn]", [("CG201", ("locked", 0))]),
        ("GuardPolicy", "rules: [{id: a, phase: observe, action: refuse}]", [("CG414", ("rules", 0, "action"))]),
        # a layer may change the action of a rule whose phase is inherited
        ("GuardPolicy", "{extends: [base], rules: [{id: a, action: retry}]}", []),
        ("GuardPolicy", "needs: [{id: a, fields: [x], essential: [x, y]}]", [("CG420", ("needs", 0, "essential", 1))]),
        ("GuardPolicy", "needs: [{id: a, fields: [x]}, {id: a, fields: [x]}]", [("CG404", ("needs", 1, "id"))]),
        ("GuardPolicy", "needs: [{id: a, fields: []}]", [("CG419", ("needs", 0, "fields"))]),
        ("GuardPolicy", "needs: [{id: a, fields: [x], min_records: 2}]", [("CG416", ("needs", 0, "min_records"))]),
        ("GuardPolicy", "needs: [{id: a, fields: [x], min_records: 1}]", []),
        ("GuardPolicy", "fallback: {then: {partial: finish}}", [("CG436", ("fallback", "then", "partial"))]),
        # a failed attempt may have had its effect: without a key a further one has it again
        ("ToolManifest", "tools: {a: {effect: external, retry: {max: 3}}}", [("CG424", ("tools", "a", "retry"))]),
        ("ToolManifest", "tools: {a: {effect: write, retry: {classes: [transient]}}}",
         [("CG424", ("tools", "a", "retry"))]),
        ("ToolManifest", "tools: {a: {retry: {max: 3}, forms: [{when: args.x, effect: write}, {effect: read}]}}",
         [("CG424", ("tools", "a", "forms", 0, "effect"))]),
        ("ToolManifest", "tools: {a: {effect: external, retry: {max: 0}}}", []),
        ("ToolManifest", "tools: {a: {effect: external, retry: {classes: []}}}", []),
        ("ToolManifest", "tools: {a: {effect: external, idempotent: true, retry: {max: 3}}}", []),
        ("ToolManifest", "tools: {a: {effect: external, idempotency: {key: '[args.x]'}, retry: {max: 3}}}", []),
        ("ToolManifest", "tools: {a: {effect: read, retry: {max: 3}}, b: {retry: {max: 3}}}", []),
        # a tool whose reads are told apart by its forms may have a cache
        ("ToolManifest", "tools: {a: {cache: {ttl: 5m}, forms: [{when: args.x, effect: read}]}}", []),
        ("ToolManifest", "tools: {a: {cache: {ttl: 5m}}}", [("CG412", ("tools", "a", "cache"))]),
        ("ToolManifest", "tools: {a: {effect: read, forms: [{when: args.x, effect: write, cache: {ttl: 5m}}]}}",
         [("CG412", ("tools", "a", "forms", 0, "cache"))]),
        ("ToolManifest", "tools: {a: {effect: read, waiting: true, cache: {ttl: 11m}}}", [("CG413",
         ("tools", "a", "cache"))]),
        ("ToolManifest", "tools: {a: {effect: read, cache: {ttl: 11m}, forms: [{when: args.x, waiting: true}]}}",
         [("CG413", ("tools", "a", "forms", 0, "waiting"))]),
        ("ToolManifest", "tools: {a: {effect: read, waiting: false, cache: {ttl: 11m}}}", []),
        ("ToolManifest", "tools: {a: {errors: [{class: denied}, {when: error.x, class: format}]}}",
         [("CG411", ("tools", "a", "errors", 1))]),
        ("ToolManifest", "tools: {a: {coverage: {cursor: args.c}}}", [("CG416", ("tools", "a", "coverage", "cursor"))]),
        ("ToolManifest", "tools: {a: {coverage: {next: result.n}}}", [("CG416", ("tools", "a", "coverage", "next"))]),
        ("ToolManifest", "tools: {a: {coverage: {target: args.p, next: result.n}}}",
         [("CG416", ("tools", "a", "coverage", "next"))]),
        ("ToolManifest", "tools: {a: {coverage: {target: args.p}}}", []),
        ("ToolManifest", "tools: {a: {result: {key: [id]}}}", [("CG416", ("tools", "a", "result", "key"))]),
        ("ToolManifest", "tools: {a: {breaker: {scope: server}}}", [("CG416", ("tools", "a", "breaker", "scope"))]),
        ("ToolManifest", "tools: {a: {retry: {backoff: {initial: 2m, max: 60s}}}}",
         [("CG416", ("tools", "a", "retry", "backoff", "initial"))]),
        ("ToolManifest", "tools: {a: {effect: read, verify: {tool: b}, idempotency: {key: args.k}}}",
         [("CG418", ("tools", "a", "idempotency")), ("CG418", ("tools", "a", "verify"))]),
        ("GuardException", "{policy: a, lifts: [], owner: b, justification: c, expires: 2027-01-31}", [("CG419",
         ("lifts",))]),
        ("GuardTest", "{policy: default}", [("CG202", ())]),
        ("GuardTest", "{trace: a.jsonl, steps: []}", [("CG416", ("steps",))]),
        ("GuardTest", "{steps: [{arguments: {}}]}", [("CG202", ("steps", 0))]),
        ("GuardTest", "{steps: [{tool: a, event: compaction}]}", [("CG416", ("steps", 0, "event"))]),
        ("GuardTest", "{steps: [{use: a, tool: b}]}", [("CG416", ("steps", 0, "tool"))]),
        ("GuardTest", "{steps: [{use: a, times: 2}]}", []),
        ("GuardTest", "{fixtures: {a: [{tool: b, time: 1, wait: 2}]}}", [("CG416", ("fixtures", "a", 0, "wait"))]),
        ("GuardTest", "{steps: [{event: denied}]}", [("CG202", ("steps", 0))]),
        ("GuardTest", "{trace: a.jsonl, expect: {stop: {from: 7, by: 6}}}", [("CG416", ("expect", "stop", "from"))]),
        # what a test writes out is checked like a file of its own
        ("GuardTest", "{trace: a.jsonl, policy: {detectors: {denied: {note_after: 2, refuse_after: 1}}}}",
         [("CG401", ("policy", "detectors", "denied", "note_after"))]),
        ("GuardTest", "{trace: a.jsonl, manifests: [{tools: {a: {timeout: 0s}}}]}",
         [("CG419", ("manifests", 0, "tools", "a", "timeout"))]),
    ],
)  # fmt: skip
def test_one_file_shows_what_contradicts_itself(
    kind: str, spec: str, faults: list[tuple[str, tuple[str | int, ...]]]
) -> None:
    found = [(code, pointer) for code, pointer, _ in told(kind, document(kind, spec))]
    assert found == [(code, SPEC + pointer) for code, pointer in faults]


@pytest.mark.parametrize(
    ("spec", "faults"),
    [
        ("{}", [("CG406", SPEC), ("CG406", SPEC), ("CG406", SPEC)]),
        ("budgets: {preset: simple}", []),
        ("{budgets: {steps: 3}, time: {tool: 3s}}", [("CG406", (*SPEC, "budgets")), ("CG406", (*SPEC, "time"))]),
        ("{budgets: {preset: simple}, rules: [{id: a}]}",
         [("CG202", (*SPEC, "rules", 0)), ("CG202", (*SPEC, "rules", 0))]),
        ("{budgets: {preset: simple, reserve: {tool_calls: 1}}}", [("CG408", (*SPEC, "budgets", "reserve"))]),
        # merging has pulled such a note down already
        ("{budgets: {preset: simple}, detectors: {denied: {note_after: 3, refuse_after: 1}}}", []),
        ("{budgets: {preset: simple}, detectors: {denied: {note_after: 3}}}",
         [("CG403", (*SPEC, "detectors", "denied"))]),
        # evidence, beside a detector that refuses
        ("{budgets: {preset: simple}, detectors: {consecutive: {note_after: 3}, denied: {refuse_after: 1}}}", []),
        ("{budgets: {preset: simple}, detectors: {window: 5, frequency: {note_after: 6}, denied: {refuse_after: 1}}}",
         [("CG402", (*SPEC, "detectors", "frequency", "note_after"))]),
        # evidence alone is a ladder of warnings, where nothing else holds a call and notes are not all that is wanted
        ("{budgets: {preset: simple}, detectors: {consecutive: {note_after: 3}, diversity: {note_below: 0.3}}}",
         [("CG425", (*SPEC, "detectors"))]),
        ("{budgets: {preset: simple}, detectors: {for: {find: {consecutive: {note_after: 3}}}}}",
         [("CG425", (*SPEC, "detectors"))]),
        ("{budgets: {preset: simple}, detectors: {diversity: {note_below: 0.3, refuse_below: 0.1}}}", []),
        ("{budgets: {preset: simple}, detectors: {window: 50}}", []),
        ("{mode: warn, budgets: {preset: simple}, detectors: {consecutive: {note_after: 3}}}", []),
        (("{budgets: {preset: simple}, detectors: {consecutive: {note_after: 3}}, "
         "rules: [{id: a, when: 'true', action: ask}]}"), []),
        (("{budgets: {preset: simple}, detectors: {consecutive: {note_after: 3}}, "
         "rules: [{id: a, when: 'true', action: note}]}"), [("CG425", (*SPEC, "detectors"))]),
    ],
)  # fmt: skip
def test_all_layers_together_must_leave_nothing_out(spec: str, faults: list[tuple[str, tuple[str | int, ...]]]) -> None:
    found = told("GuardPolicy", document("GuardPolicy", spec), resolved=True)
    assert [(code, pointer) for code, pointer, _ in found] == faults


EXAMPLE = re.compile(r"^\*\*(Wrong|Right)\*\* \((\w+)(, resolved)?\)\n\n```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_every_code_has_its_page_and_stands_in_the_index(root: Path) -> None:
    index = (root / "docs" / "diagnostics.md").read_text(encoding="utf-8")
    for code, name in _core.codes():
        page = (root / "docs" / "diagnostics" / f"{code}.md").read_text(encoding="utf-8")
        assert page.startswith(f"# {code} {name}\n")
        assert f"| [{code}](diagnostics/{code}.md) | {name} |" in index


# What only shows once a policy meets its manifests; `test_compile.py` has those.
GRAPH = tuple(f"CG43{digit}" for digit in range(6))
WITH_MANIFESTS = ("CG421", "CG422", "CG423", "CG427", "CG428", *GRAPH, "CG440", "CG441", "CG901")
COMPILED = {code for code, _ in _core.codes() if code.startswith(("CG3", "CG5")) or code in WITH_MANIFESTS}


@pytest.mark.parametrize("code", [code for code, _ in _core.codes() if code not in COMPILED])
def test_the_wrong_example_of_a_page_has_that_fault_and_the_right_one_none(root: Path, code: str) -> None:
    page = (root / "docs" / "diagnostics" / f"{code}.md").read_text(encoding="utf-8")
    found = {}
    for label, kind, resolved, example in EXAMPLE.findall(page):
        sample = data(example) if example.startswith("apiVersion") else document(kind, example)
        assert kind in KINDS or label == "Wrong"
        found[label] = [fault for fault, _, _ in told(kind, sample, resolved=bool(resolved))]
    assert found == {"Wrong": [code], "Right": []}
