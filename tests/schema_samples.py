"""Documents in order, of every kind and with every key, and what tests do with documents."""

import json
from functools import cache
from typing import Any

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
            parameters:
              type: object
              properties:
                {words: {type: string}, tags: {}, limit: {}, sort: {}, shop_id: {}, request_id: {}}
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
          - {id: quotes, from: [find], min_records: 3, key: [shop], resolve: first, fields: [shop, price],
             essential: [shop]}
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
    "keys reset by null": (
        "GuardPolicy",
        "{extends: null, budgets: {steps: null, calls_per_tool: {pay: null}}, rules: null}",
    ),
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
          - {tool: find, round: 2, time: 12.5, duration: 800ms, agent: root, tokens: 812, call_id: c3}
          - {tool: find, hints: {group: a}}
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
          - {tool: find, wait: 2s}
          - {use: found, times: 2}
        fixtures:
          found:
            - {tool: find, result: {hits: []}, wait: 0.5}
        expect: {refusals: 0, reuses: 0, notes: 0, status: partial, exit: finish_with_gaps, missing: [[ACME, price]]}
        """,
    ),
}
