"""Twenty pairs of policies, each the same policy with one thing changed, and by hand what the change is."""

from __future__ import annotations

from typing import NamedTuple

TOOLS = """\
apiVersion: callgate/v1
kind: ToolManifest
metadata: {name: desk-tools}
spec:
  tools:
    find_part:
      effect: read
      groups: [search]
      parameters:
        type: object
        required: [part]
        properties: {part: {type: string}, limit: {type: integer}}
      identity: {trim: [part], defaults: {limit: 10}}
      result: {records: result.items, key: [part], required_fields: [part]}
      retry: {classes: [transient], max: 2}
    quote:
      effect: read
      parameters: {type: object, properties: {supplier: {type: string}}}
    order:
      effect: external
      parameters:
        type: object
        required: [amount]
        properties: {amount: {type: number}, desk: {type: string}}
"""
POLICY = """\
apiVersion: callgate/v1
kind: GuardPolicy
metadata: {name: desk, revision: "1", owner: buying}
spec:
  extends: [default]
  tools: [desk-tools]
  undeclared_tools: refuse
  constants: {most: 5000}
  variables: {large: args.amount > constants.most}
  budgets:
    steps: 40
    tool_calls: 30
    calls_per_tool: {find_part: 12}
    retries: 4
  detectors:
    exact_repeat: {note_after: 2, refuse_after: 4}
    for: {find_part: {empty_streak: {refuse_after: 6}}}
  rules:
    - id: order-ceiling
      tools: [order]
      when: args.amount > 1000
      action: ask
      message: '"the order is large"'
    - id: no-desk
      tools: [order]
      when: "!has(args.desk)"
      action: refuse
    - id: really-large
      tools: [order]
      when: variables.large
      action: stop
  fallback:
    max_hops: 2
    edges:
      - {from: find_part, to: quote, when: 'grade == "empty"'}
"""
EXCEPTION = """\
apiVersion: callgate/v1
kind: GuardException
metadata: {name: late-orders}
spec:
  policy: desk
  lifts: ["rule:no-desk"]
  owner: buying
  justification: the desks move house
  expires: 2030-01-31
"""

# the same as POLICY and TOOLS: other order, other quotes, other style, comments, aliases
REORDERED_POLICY = """\
# the desk's policy
kind: "GuardPolicy"
apiVersion: 'callgate/v1'
spec:
  fallback:
    edges:
      - when: |-
          grade == "empty"
        to: quote   # ask for one
        from: "find_part"
    max_hops: 2
  rules:
    - {id: really-large, action: "stop", when: 'variables.large', tools: &tools ["order"]}
    - {id: order-ceiling, action: 'ask', when: "args.amount > 1000", tools: *tools, message: "\\"the order is large\\""}
    - {id: "no-desk", action: refuse, when: '!has(args.desk)', tools: *tools}
  detectors: {for: {find_part: {empty_streak: {refuse_after: 6}}}, exact_repeat: {refuse_after: 4, note_after: 2}}
  budgets: {retries: 4, calls_per_tool: {"find_part": 12}, tool_calls: 30, steps: 40}
  variables: {large: "args.amount > constants.most"}
  constants: {most: 5000}
  undeclared_tools: refuse
  tools: [desk-tools]
  extends: [default]
metadata:
  owner: buying
  revision: '1'
  name: desk
"""
REORDERED_TOOLS = """\
metadata: {name: desk-tools}
kind: ToolManifest
apiVersion: callgate/v1
spec:
  tools:
    order:
      parameters:
        properties: {desk: {type: string}, amount: {type: number}}
        required: [amount]
        type: object
      effect: external
    quote: {parameters: {properties: {supplier: {type: string}}, type: object}, effect: read}
    find_part:
      retry: {max: 2, classes: [transient]}
      result: {required_fields: [part], key: [part], records: result.items}
      identity: {defaults: {limit: 10}, trim: [part]}
      parameters: {properties: {limit: {type: integer}, part: {type: string}}, required: [part], type: object}
      groups: [search]
      effect: read
"""

NO_DESK = """\
    - id: no-desk
      tools: [order]
      when: "!has(args.desk)"
      action: refuse
"""
OTHER_ORDER = POLICY.replace(NO_DESK, "").replace(
    "    - id: order-ceiling\n", NO_DESK.replace("refuse", "ask") + "    - id: order-ceiling\n"
)


class Pair(NamedTuple):
    """A change by its name: the files on both sides by name, and (category, effect, key) of each difference."""

    name: str
    old: dict[str, str]
    new: dict[str, str]
    expected: list[tuple[str, str, str]]


def _pair(name: str, replaced: list[tuple[str, str]], *expected: tuple[str, str, str]) -> Pair:
    """The policy and its tools, with some of their text replaced on the new side."""
    old = {"policy.yaml": POLICY, "tools.yaml": TOOLS}
    new = dict(old)
    for text, other in replaced:
        files = [file for file in new if text in new[file]]
        assert files, f"{name}: `{text}` stands in neither file"
        for file in files:
            new[file] = new[file].replace(text, other)
    return Pair(name, old, new, list(expected))


PAIRS = [
    Pair(
        "reordered, re-quoted and commented",
        {"policy.yaml": POLICY, "tools.yaml": TOOLS},
        {"a.yaml": REORDERED_TOOLS, "b.yaml": REORDERED_POLICY},
        [],
    ),
    _pair(
        "an expression spelt otherwise, a duration and a limit in another form",
        [
            ("when: args.amount > 1000", "when: '((args.amount)>1000) // dear'"),
            ("tool_calls: 30", "tool_calls: {limit: 30}"),
            ("extends: [default]", "extends: [default]\n  time: {task: 120m}"),
        ],
        ("REFACTOR", "none", "budgets.tool_calls"),
        ("REFACTOR", "none", "time.task"),
        ("REFACTOR", "none", "rules.order-ceiling.when"),
    ),
    _pair(
        "other words",
        [('"the order is large"', '"the order is too large"'), ("owner: buying", "owner: purchasing")],
        ("MESSAGE_ONLY", "none", "rules.order-ceiling.message"),
        ("MESSAGE_ONLY", "none", "metadata.owner"),
    ),
    _pair(
        "mode",
        [("extends: [default]", "extends: [default]\n  mode: warn")],
        ("MODE_LOOSENED", "looser", "mode"),
    ),
    _pair(
        "budgets",
        [("steps: 40", "steps: 50"), ("tool_calls: 30", "tool_calls: 20"), ("    retries: 4\n", "")],
        ("BUDGET_RAISED", "looser", "budgets.steps"),
        ("RETRY_REMOVED", "looser", "budgets.retries"),
        ("BUDGET_LOWERED", "stricter", "budgets.tool_calls"),
    ),
    _pair(
        "a budget of a tool that the one for all tools covered",
        [("calls_per_tool: {find_part: 12}", 'calls_per_tool: {find_part: 12, quote: 9, "*": 10}')],
        ("BUDGET_ADDED", "stricter", "budgets.calls_per_tool.quote"),
        ("BUDGET_ADDED", "stricter", "budgets.calls_per_tool.*"),
    ),
    _pair(
        "a rule that asks for less and one that is gone",
        [
            ("when: args.amount > 1000", "when: args.amount > 2000"),
            ('    - id: no-desk\n      tools: [order]\n      when: "!has(args.desk)"\n      action: refuse\n', ""),
        ],
        ("DECISION_CONDITION_NARROWED", "looser", "rules.order-ceiling.when"),
        ("DECISION_RULE_REMOVED", "looser", "rules.no-desk"),
    ),
    _pair(
        "a rule that fires more often and does more",
        [
            (
                "when: args.amount > 1000\n      action: ask",
                "when: args.amount > 500 || has(args.desk)\n      action: refuse",
            ),
            (
                "    - id: no-desk",
                "    - {id: quotes, tools: [quote], when: '!has(args.supplier)', action: note}\n    - id: no-desk",
            ),
        ],
        ("DECISION_ACTION_TIGHTENED", "stricter", "rules.order-ceiling.action"),
        ("DECISION_CONDITION_WIDENED", "stricter", "rules.order-ceiling.when"),
        ("DECISION_RULE_ADDED", "stricter", "rules.quotes"),
    ),
    _pair(
        "a condition of which neither direction is proved, and other tools",
        [
            ("when: args.amount > 1000", "when: double(args.amount) * 1.1 > 1000.0"),
            ('tools: [order]\n      when: "!has(args.desk)"', 'tools: [order, quote]\n      when: "!has(args.desk)"'),
        ],
        ("DECISION_TOOLS_WIDENED", "stricter", "rules.no-desk.tools"),
        ("DECISION_CONDITION_CHANGED", "reclassified", "rules.order-ceiling.when"),
    ),
    _pair(
        "a constant that a rule reads through a variable",
        [("constants: {most: 5000}", "constants: {most: 9000}")],
        ("DECISION_VALUE_CHANGED", "looser", "constants.most"),
    ),
    Pair(
        "rules that may hold the same call, equally strongly, in the other order",
        {"policy.yaml": POLICY.replace("action: refuse", "action: ask"), "tools.yaml": TOOLS},
        {"policy.yaml": OTHER_ORDER, "tools.yaml": TOOLS},
        [("DECISION_ORDER_CHANGED", "reclassified", "rules")],
    ),
    _pair(
        "detectors: rungs moved, added and taken back",
        [
            (
                "exact_repeat: {note_after: 2, refuse_after: 4}",
                "exact_repeat: {note_after: 3, refuse_after: 3, cool_down: 10m}",
            ),
            (
                "  detectors:\n",
                (
                    "  detectors:\n    cycle: {laps: 2, max_period: 16}\n    same_result: {refuse_after: null}\n"
                    "    diversity: {refuse_below: 0.1}\n"
                ),
            ),
        ],
        ("DETECTOR_RUNG_RAISED", "looser", "detectors.exact_repeat.note_after"),
        ("DETECTOR_RUNG_REMOVED", "looser", "detectors.same_result.refuse_after"),
        ("DETECTOR_RUNG_LOWERED", "stricter", "detectors.exact_repeat.refuse_after"),
        ("DETECTOR_TUNED", "stricter", "detectors.exact_repeat.cool_down"),
        ("DETECTOR_TUNED", "stricter", "detectors.cycle.max_period"),
        ("DETECTOR_RUNG_LOWERED", "stricter", "detectors.cycle.laps"),
        ("DETECTOR_RUNG_ADDED", "stricter", "detectors.diversity.refuse_below"),
    ),
    _pair(
        "thresholds of one tool, by what they come to, and a detector that is off",
        [
            (
                "for: {find_part: {empty_streak: {refuse_after: 6}}}",
                "for: {quote: {same_error: {refuse_after: 3}}}\n    no_gain: null",
            ),
        ],
        ("DETECTOR_REMOVED", "looser", "detectors.no_gain"),
        ("DETECTOR_RUNG_LOWERED", "stricter", "detectors.for.find_part.empty_streak.refuse_after"),
        ("DETECTOR_RUNG_LOWERED", "stricter", "detectors.for.quote.same_error.refuse_after"),
    ),
    _pair(
        "hops and edges",
        [
            ("max_hops: 2", "max_hops: 3"),
            (
                "      - {from: find_part, to: quote, when: 'grade == \"empty\"'}\n",
                (
                    '      - {from: find_part, to: quote, when: \'grade in ["empty", "failed"]\'}\n'
                    "      - {from: find_part, to: quote}\n"
                ),
            ),
        ],
        ("HOPS_RAISED", "looser", "fallback.max_hops"),
        ("FALLBACK_EDGE_ADDED", "looser", "fallback.edges.find_part → quote #2"),
        ("FALLBACK_EDGE_CONDITION_CHANGED", "reclassified", "fallback.edges.find_part → quote.when"),
    ),
    _pair(
        "what makes two calls the same call",
        [("identity: {trim: [part], defaults: {limit: 10}}", "identity: {trim: true, defaults: {limit: 20}}")],
        ("IDENTITY_WIDENED", "stricter", "identity.trim"),
        ("IDENTITY_CHANGED", "reclassified", "identity.defaults"),
    ),
    _pair(
        "schemas of arguments: one asks for more, one accepts more, one does both",
        [
            ("required: [part]", "required: [part, limit]"),
            ("properties: {supplier: {type: string}}", "properties: {supplier: {type: [string, integer]}}"),
            (
                "properties: {amount: {type: number}, desk: {type: string}}",
                "properties: {amount: {type: integer}, desk: {}}",
            ),
        ],
        ("TOOL_SCHEMA_WIDENED", "looser", "parameters"),
        ("TOOL_SCHEMA_NARROWED", "stricter", "parameters"),
        ("TOOL_SCHEMA_CHANGED", "reclassified", "parameters"),
    ),
    _pair(
        "results, retries and effects of tools",
        [
            ("required_fields: [part]", "required_fields: [part, price]"),
            ("retry: {classes: [transient], max: 2}", "retry: {classes: [transient, permanent], max: 1}"),
            ("effect: external", "effect: write"),
            ("records: result.items", "records: result.rows"),
        ],
        ("RETRY_CLASSES_CHANGED", "looser", "retry.classes"),
        ("RESULT_REQUIREMENTS_RAISED", "stricter", "result.required_fields"),
        ("RETRY_LOWERED", "stricter", "retry.max"),
        ("RESULT_CHANGED", "reclassified", "result.records"),
        ("TOOL_EFFECT_CHANGED", "reclassified", "effect"),
    ),
    _pair(
        "needs and how a run ends",
        [
            (
                "  fallback:\n",
                (
                    "  needs:\n    - {id: parts, from: [find_part], fields: [part]}\n"
                    "  fallback:\n    then: {queue: buying-desk}\n"
                ),
            ),
            ("undeclared_tools: refuse", "undeclared_tools: allow"),
        ],
        ("DECISION_UNDECLARED_LOOSENED", "looser", "undeclared_tools"),
        ("NEEDS_ADDED", "stricter", "needs.parts"),
        ("EXIT_CHANGED", "reclassified", "fallback.then.queue"),
    ),
    Pair(
        "an exception that ends later and lifts more",
        {"policy.yaml": POLICY, "tools.yaml": TOOLS, "exception.yaml": EXCEPTION},
        {
            "policy.yaml": POLICY,
            "tools.yaml": TOOLS,
            "exception.yaml": EXCEPTION.replace("2030-01-31", "2031-01-31").replace(
                'no-desk"]', 'no-desk", exact_repeat]'
            ),
        },
        [("EXCEPTION_WIDENED", "looser", "lifts"), ("EXCEPTION_EXTENDED", "looser", "expires")],
    ),
    _pair(
        "a tool more where undeclared ones are refused, and a lock",
        [
            ("    order:\n", "    cancel: {effect: external}\n    order:\n"),
            ("undeclared_tools: refuse", "undeclared_tools: refuse\n  locked: [budgets.steps]"),
        ],
        ("TOOL_ADDED", "looser", ""),
        ("LOCK_ADDED", "stricter", "locked"),
    ),
]
