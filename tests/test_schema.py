"""The reader of the core and the JSON Schemas made from the same declarations: they must accept the same documents."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from callgate import _core
from callgate.policy.compose import compose
from callgate.policy.source import Source

KINDS = ["ToolManifest", "GuardPolicy", "GuardBinding", "GuardException", "GuardTest"]


def data(yaml: str) -> Any:
    """Read one document."""
    composed = compose(Source("document.yaml", yaml))
    assert composed.diagnostics == ()
    (document,) = composed.documents
    return document.root.data


def document(kind: str, spec: str) -> Any:
    """Put the envelope around a spec."""
    envelope = {"apiVersion": "callgate/v1", "kind": kind, "metadata": {"name": "sample"}}
    return envelope | {"spec": data(spec)}


@cache
def validator(kind: str) -> Draft202012Validator:
    """Make the independent judge of a kind."""
    return Draft202012Validator(json.loads(_core.schema(kind)))


def told(kind: str, document: Any, *, resolved: bool = False) -> list[tuple[str, tuple[str | int, ...], str]]:
    """List code, pointer and part of each fault."""
    return [(fault.code, fault.pointer, fault.part) for fault in _core.validate(kind, document, resolved=resolved)]


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


GOOD = {
    "an empty manifest": ("ToolManifest", "{}"),
    "a manifest with no tools": ("ToolManifest", "tools: {}"),
    "a tool of which nothing is known": ("ToolManifest", "tools: {bash: {}}"),
    "a tool with every key": (
        "ToolManifest",
        r"""
        server: shop
        tools:
          find_item:
            description: Items by words.
            groups: [search]
            effect: read
            idempotent: true
            reads: [items]
            touches: []
            parameters: {type: object, properties: {words: {type: string}}}
            identity:
              ignore: [request_id]
              trim: true
              casefold: [words]
              paths: []
              unordered: [tags]
              defaults: {limit: 10, sort: null}
              target: [shop_id]
              group: hints.group
            result:
              failed_when: result.status >= 400
              empty_when: size(result.items) == 0
              records: result.items
              key: [id]
              required_fields: [id]
              wanted_fields: [price]
              min_records: 1
              ignore: [query_id]
              ignore_text: ['took \d+ ms']
              version: result.data_hash
              state: result.content_sha
            waiting: {max_unchanged: unlimited, max_stale: 10m, min_interval: 2s}
            coverage: {target: args.shop, offset: args.offset, length: args.limit}
            transfer: false
            errors:
              - {when: 'error.status == 429', class: transient}
              - {class: permanent, type: other}
            retry:
              classes: [transient]
              max: 3
              backoff: {initial: 500ms, factor: 2, max: 60s, jitter: decorrelated}
            breaker: {failures: 5, open_for: 30s, probes: 1, scope: server}
            timeout: 15s
            cache: {ttl: 5m}
            definition_tokens: 320
            forms:
              - {when: 'args.words == ""', waiting: true}
        """,
    ),
    "an effect that is keyed and verified": (
        "ToolManifest",
        """
        tools:
          create_order:
            effect: external
            idempotency: {key: '[task.id, args.ref]', pass_as: idempotency_key, retain: 24h}
            verify:
              tool: get_order
              arguments: {ref: args.ref}
              landed_when: result.found
              absent_when: '!result.found'
              after: 30s
              attempts: 3
        """,
    ),
    "an empty policy": ("GuardPolicy", "{}"),
    "a policy with every block": (
        "GuardPolicy",
        """
        extends: [default]
        locked: [budgets.tool_calls, detectors.exact_repeat.refuse_after, constants.desk, budgets.calls_per_tool.pay]
        mode: audit
        tools: [shop]
        undeclared_tools: allow
        on_error: {reads: allow, else: refuse}
        on_failure: {store: refuse, audit: allow}
        on_stop: end
        parameters: {ceiling: {type: number, default: 50000}}
        constants: {desk: shop-desk, limit: 3}
        variables: {over: args.amount > params.ceiling}
        budgets:
          preset: medium
          steps: 32
          tool_calls: 40
          calls_per_tool: {pay: 2, "*": 10}
          calls_per_group: {search: unlimited}
          retries: 0
          tokens: {limit: unlimited, reason: the provider counts them}
          cost: {limit: 2.50, currency: EUR}
          depth: 3
          notes_at: [0.8, 0.95]
          reserve: {tool_calls: 1, for: [report]}
          batch: all_or_nothing
          children: {own: 0.25}
          layers: {http: {retries: 3, for: [network]}, tool: {retries: 3, for: [transient]}, at_most: 9}
        time: {tool: 15s, server: 60s, step: 2m, task: 10m, workflow: {limit: 30m}}
        detectors:
          window: 50
          consecutive: {note_after: 3}
          exact_repeat: {note_after: 3, refuse_after: 3, cool_down: 5m, sufficient_reads: {refuse_after: 1}}
          frequency: {}
          cycle: {max_period: 8, laps: 3, mismatches: 0}
          oscillation: {arguments_at_most: 0.34, known_records: 0.8, note_after: 3, refuse_after: 5}
          same_error: {note_after: 3, refuse_after: 5, cool_down: 30s}
          same_result: {note_after: 5, refuse_after: 6}
          no_gain: {towards: task, note_after: 3, refuse_after: 7, exit_after: 10}
          empty_streak: {note_after: 2, refuse_after: 3}
          state_oscillation: null
          transfer_streak: {note_after: 4, refuse_after: 5}
          transfer_cycle: {laps: 3}
          diversity: {min_calls: 10, note_below: 0.3, refuse_below: 0.1, entropy_note_below: 1.5}
          unknown_tool: {note_after: 1, refuse_after: 1}
          invalid_arguments: {note_after: 2, refuse_after: 2}
          repeated_effect: {refuse_after: 1}
          denied: {note_after: 1, refuse_after: 1}
          for: {web_search: {empty_streak: {refuse_after: 5}}}
        ladder: {reuse_reads: 2, stop_after_refusals: 2, deterministic_stop_after: 1}
        resets: {user_turn: [repeats, errors, incidents], compaction: [repeats]}
        rules:
          - id: ceiling
            phase: admit
            tools: [pay]
            when: variables.over
            action: ask
            code: ABOVE_CEILING
            message: '"above " + string(params.ceiling)'
            severity: high
          - {id: inherited, severity: low}
        needs:
          - {id: quotes, from: [find], min_records: 3, key: [shop], resolve: first, fields: [shop, price], essential: [shop]}
        fallback:
          order: [cache, substitute, provider, skip]
          max_hops: 2
          closed: true
          edges:
            - {kind: tool, from: find, to: ask_shop, when: '"price" in gaps', arguments: {shop: 'records[0].shop'}}
          then: {partial: finish_with_gaps, insufficient: escalate, queue: shop-desk}
        """,
    ),
    "budgets in their short forms": ("GuardPolicy", "budgets: {children: share, cost: unlimited, tool_calls: 0}"),
    "a whole number written with a point": ("GuardPolicy", "budgets: {steps: 3.0}"),
    "errors refused whatever the effect": ("GuardPolicy", "on_error: refuse"),
    "keys reset by null": ("GuardPolicy", "{extends: null, budgets: {steps: null, calls_per_tool: {pay: null}}, rules: null}"),
    "a binding": (
        "GuardBinding",
        """
        policy: shop
        match: {agents: [buyer], tenants: [north], labels: {stage: canary}}
        mode: warn
        rollout: true
        parameters: {ceiling: 100}
        """,
    ),
    "an exception": (
        "GuardException",
        """
        policy: shop
        lifts: [same_error, rule:ceiling]
        match: {tools: [find], agents: [buyer]}
        owner: security
        justification: the search is being repaired
        expires: 2027-01-31T18:00:00Z
        """,
    ),
    "a test over a trace": (
        "GuardTest",
        """
        policy: default
        manifests: [shop, {tools: {find: {effect: read}}}]
        trace: run.jsonl
        expect:
          first_note: {by: 6}
          first_intervention: {from: 6, by: 7}
          stop: {by: 9}
          reasons: [cycle, exact_repeat]
        """,
    ),
    "a test with steps": (
        "GuardTest",
        """
        policy: {extends: [default], undeclared_tools: allow}
        steps:
          - {tool: find, arguments: {words: x}, result: null, times: 3, expect: {action: allow, notes: 0}}
          - {tool: find, result: {hits: []}, error: {type: timeout, status: 504, message: slow}, is_error: true}
          - {tool: find, round: 2, time: 12.5, duration: 800ms, agent: root, tokens: 812, call_id: c3, hints: {group: a}}
          - {tool: find, result_digest: abc, result_truncated: true, session: s1, task: t1}
          - {event: user_turn, by: human}
          - {event: approved, call_id: c3}
          - {event: model_usage, tokens: 100, cost: 0.02}
          - tool: find
            expect:
              action: refuse
              reasons: [exact_repeat, rule:ceiling]
              code: DUPLICATE_TOOL_CALL_BLOCKED
              grade: partial
              gaps: [[[ACME, "6204"], unit_price]]
              next: {substitute: ask_shop}
              budget: {tool_calls: {used: 3, left: 37, share: 0.075}}
              notes: [exact_repeat]
          - {tool: find, expect: {next: continue, notes: 1}}
        expect: {refusals: 0, reuses: 0, notes: 0, status: partial, exit: finish_with_gaps, missing: [[ACME, price]]}
        """,
    ),
}


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
    ("a form in a form", "ToolManifest", "tools: {a: {forms: [{forms: []}]}}", "CG201", ("tools", "a", "forms", 0, "forms"), "key"),
    ("a rule without an id", "GuardPolicy", "rules: [{when: a}]", "CG202", ("rules", 0), "key"),
    ("an id that is null", "GuardPolicy", "rules: [{id: null}]", "CG202", ("rules", 0), "key"),
    ("a limit without a limit", "GuardPolicy", "budgets: {steps: {reason: x}}", "CG202", ("budgets", "steps"), "key"),
    ("a cost without a currency", "GuardPolicy", "budgets: {cost: {limit: 3}}", "CG202", ("budgets", "cost"), "key"),
    ("a binding to nothing", "GuardBinding", "{mode: warn}", "CG202", (), "key"),
    ("an error without a class", "ToolManifest", "tools: {a: {errors: [{when: x}]}}", "CG202", ("tools", "a", "errors", 0), "key"),
    ("a text for a list", "GuardPolicy", "extends: default", "CG203", ("extends",), "value"),
    ("a list for a map", "GuardPolicy", "detectors: []", "CG203", ("detectors",), "value"),
    ("a text for a map", "GuardPolicy", "detectors: {cycle: on}", "CG203", ("detectors", "cycle"), "value"),
    ("a number for a text", "GuardPolicy", "tools: [12]", "CG203", ("tools", 0), "value"),
    ("a null in a list", "GuardPolicy", "tools: [a, null]", "CG203", ("tools", 1), "value"),
    ("a text for a count", "GuardPolicy", 'budgets: {steps: "3"}', "CG203", ("budgets", "steps"), "value"),
    ("a broken count", "GuardPolicy", "budgets: {steps: 2.5}", "CG203", ("budgets", "steps"), "value"),
    ("true for a count", "GuardPolicy", "budgets: {steps: true}", "CG203", ("budgets", "steps"), "value"),
    ("a number for a duration", "GuardPolicy", "time: {task: 10}", "CG203", ("time", "task"), "value"),
    ("a text for a boolean", "ToolManifest", "tools: {a: {transfer: yes}}", "CG203", ("tools", "a", "transfer"), "value"),
    ("a boolean for an expression", "GuardPolicy", "rules: [{id: a, when: true}]", "CG203", ("rules", 0, "when"), "value"),
    ("a count for a poll", "ToolManifest", "tools: {a: {waiting: 3}}", "CG203", ("tools", "a", "waiting"), "value"),
    ("an unknown mode", "GuardPolicy", "mode: enforced", "CG204", ("mode",), "value"),
    ("an unknown effect", "ToolManifest", "tools: {a: {effect: reed}}", "CG204", ("tools", "a", "effect"), "value"),
    ("an unknown word in a list", "GuardPolicy", "resets: {compaction: [repeat]}", "CG204", ("resets", "compaction", 0), "value"),
    ("an unknown event", "GuardTest", "{steps: [{event: user}]}", "CG204", ("steps", 0, "event"), "value"),
    ("a negative budget", "GuardPolicy", "budgets: {tool_calls: -1}", "CG205", ("budgets", "tool_calls"), "value"),
    ("a huge budget", "GuardPolicy", "budgets: {steps: 1e300}", "CG205", ("budgets", "steps"), "value"),
    ("a rung of zero", "GuardPolicy", "detectors: {denied: {refuse_after: 0}}", "CG205", ("detectors", "denied", "refuse_after"), "value"),
    ("a cycle of one lap", "GuardPolicy", "detectors: {cycle: {laps: 1}}", "CG205", ("detectors", "cycle", "laps"), "value"),
    ("a share above one", "GuardPolicy", "budgets: {notes_at: [0.8, 95]}", "CG205", ("budgets", "notes_at", 1), "value"),
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
     "{policy: a, lifts: [cycle], owner: b, justification: c, expires: 2027-01-31T18:00:00}", "CG210", ("expires",), "value"),
    ("an unknown reason", "GuardTest", "{trace: a.jsonl, expect: {reasons: [cycles]}}", "CG211", ("expect", "reasons", 0), "value"),
    ("a rule without a name", "GuardTest", "{trace: a.jsonl, expect: {reasons: ['rule:']}}", "CG211", ("expect", "reasons", 0), "value"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "spec", "code", "pointer", "part"), [case[1:] for case in BAD], ids=[case[0] for case in BAD])
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
    assert told("GuardPolicy", sample) == [
        ("CG209", ("apiVersion",), "value"),
        ("CG204", ("spec", "mode"), "value"),
        ("CG401", ("spec", "detectors", "same_error", "note_after"), "value"),
        ("CG414", ("spec", "rules", 0, "action"), "value"),
        ("CG404", ("spec", "rules", 1, "id"), "value"),
    ]


def test_a_fault_says_what_is_wrong_and_what_to_do() -> None:
    (fault,) = _core.validate("GuardPolicy", document("GuardPolicy", "detectors: {same_error: {note_after: 5, refuse_after: 3}}"))
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
