//! Rules: which are fired by a run that is made up for them, which are proved dead, and which are neither.
use callgate_analysis::{dead, self_test};
use callgate_core::compile::{compile, ManifestDocument};
use callgate_value::{read_json, Value};

const TOOLS: &str = r#"{
    "pay": {"effect": "external", "parameters": {"type": "object", "required": ["amount", "to", "status"], "properties": {
        "amount": {"type": "number", "minimum": 0, "maximum": 1000},
        "count": {"type": "integer"},
        "to": {"type": "string"},
        "status": {"type": "string", "enum": ["open", "paid", "void"]},
        "urgent": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "lines": {"type": "array", "items": {"type": "object"}}
    }}},
    "search": {"effect": "read", "groups": ["lookups"], "parameters": {"type": "object"}, "result": {
        "failed_when": "type(result) == string", "records": "result.items", "required_fields": ["name"], "wanted_fields": ["price"]}},
    "bash": {"effect": "unknown", "parameters": {"type": "object"}, "forms": [
        {"when": "has(args.command) && args.command.startsWith(\"rm \")", "effect": "write"},
        {"when": "has(args.command) && args.command.matches(\"^(ls|cat)\\\\b\")", "effect": "read"}]}
}"#;

/// A policy with one rule; `spec` are further keys, each with a comma behind.
fn policy(rule: &str, spec: &str) -> (Value, Vec<ManifestDocument>) {
    let policy = format!(
        r#"{{"apiVersion": "callgate/v1", "kind": "GuardPolicy", "metadata": {{"name": "p"}}, "spec": {{{spec}
        "budgets": {{"steps": 40, "tokens": 1000, "tool_calls": 20}}, "time": {{"task": "1h"}}, "rules": [{rule}]}}}}"#
    );
    let manifest = format!(
        r#"{{"apiVersion": "callgate/v1", "kind": "ToolManifest", "metadata": {{"name": "m"}}, "spec": {{"tools": {TOOLS}}}}}"#
    );
    let read = |text: &str| read_json(text.as_bytes()).unwrap();
    (read(&policy), vec![ManifestDocument { name: "m".to_owned(), document: read(&manifest) }])
}

fn rule(keys: &str, when: &str) -> String {
    let when = callgate_value::to_json(&Value::from(when));
    format!(r#"{{"id": "r", {keys}, "when": {when}}}"#)
}

/// Whether a run fires the rule, and what is proved of it.
fn tried(rule: &str, spec: &str) -> (bool, Vec<String>) {
    let (document, manifests) = policy(rule, spec);
    let (compiled, faults) = compile(&document, &manifests);
    let errors: Vec<_> = faults.iter().filter(|it| it.fault.severity.as_str() == "error").collect();
    let compiled = compiled.unwrap_or_else(|| panic!("{rule}: {errors:?}"));
    let proved = dead(&compiled, &document, &manifests);
    let probes = self_test(&document, &document, &manifests);
    let probe = probes.iter().find(|probe| probe.reason == "rule:r").unwrap();
    (probe.fires, proved.into_iter().map(|it| format!("{}: {}", it.fault.code.id, it.fault.message)).collect())
}

#[test]
fn a_run_is_found_for_rules_of_every_family() {
    for (when, keys) in [
        ("args.amount > 100", r#""tools": ["pay"]"#),
        ("args.amount >= 10 && args.amount < 11 && args.status != \"open\"", r#""tools": ["pay"]"#),
        ("args.status in [\"void\", \"paid\"] && args.amount == 7.5", r#""tools": ["pay"]"#),
        ("has(args.count) && args.count > 5 && args.count < 7", r#""tools": ["pay"]"#),
        ("!has(args.count) && args.to == \"\"", r#""tools": ["pay"]"#),
        (
            "args.to.startsWith(\"acct-\") && args.to.endsWith(\"-x\") && args.to.contains(\"77\")",
            r#""tools": ["pay"]"#,
        ),
        ("args.to.matches(\"^[A-Z]{2}[0-9]{2}$\")", r#""tools": ["pay"]"#),
        ("args.to.lowerAscii().trim() == \"bob\"", r#""tools": ["pay"]"#),
        ("size(args.to) > 30", r#""tools": ["pay"]"#),
        ("has(args.tags) && \"admin\" in args.tags", r#""tools": ["pay"]"#),
        ("has(args.tags) && size(args.tags) > 3", r#""tools": ["pay"]"#),
        ("has(args.lines) && args.lines.exists(l, l.price > 50 && l.kind == \"x\")", r#""tools": ["pay"]"#),
        ("has(args.lines) && args.lines.all(l, l.price > 50)", r#""tools": ["pay"]"#),
        ("has(args.urgent) && args.urgent", r#""tools": ["pay"]"#),
        ("args.?count.orValue(9) > 8", r#""tools": ["pay"]"#),
        ("has(args.count) && args.amount > args.count", r#""tools": ["pay"]"#),
        ("double(args.amount) * 2.0 > 150.0", r#""tools": ["pay"]"#),
        ("args.amount > params.ceiling", r#""tools": ["pay"]"#),
        ("args.to in constants.blocked", r#""tools": ["pay"]"#),
        ("variables.big && args.status == \"open\"", r#""tools": ["pay"]"#),
        ("variables.amount > 3", r#""tools": ["pay"]"#),
        ("call.tool == \"search\"", r#""severity": "low""#),
        ("call.tool.startsWith(\"delete_\")", r#""severity": "low""#),
        ("\"lookups\" in tool.groups", r#""severity": "low""#),
        ("tool.effect == \"write\"", r#""tools": ["bash"]"#),
        ("tool.effect == \"read\" && args.path == \"/etc\"", r#""tools": ["bash"]"#),
        ("!tool.declared", r#""severity": "low""#),
        ("task.calls(\"search\") >= 2 && args.amount > 1", r#""tools": ["pay"]"#),
        ("budget.tool_calls.share >= 0.5", r#""tools": ["search"]"#),
        ("budget.tool_calls.left <= 3", r#""tools": ["search"]"#),
        ("budget.tokens.used > 900", r#""tools": ["search"]"#),
        ("task.elapsed > 600", r#""tools": ["search"]"#),
        ("session.depth >= 2 && call.agent == \"worker\"", r#""tools": ["search"]"#),
        ("task.context.region == \"eu\" && hints.score > 0.5", r#""tools": ["search"]"#),
        ("call.round > 4", r#""tools": ["search"]"#),
        // looks at outcomes
        ("result.total > 5", r#""tools": ["search"], "phase": "observe""#),
        ("error.status == 429", r#""tools": ["pay"], "phase": "observe""#),
        ("error.type == \"quota\" && error.message.contains(\"daily\")", r#""tools": ["pay"], "phase": "observe""#),
        ("error.class == \"transient\"", r#""tools": ["search"], "phase": "observe""#),
        ("grade == \"empty\"", r#""tools": ["search"], "phase": "observe""#),
        ("grade == \"partial\"", r#""tools": ["search"], "phase": "observe""#),
        ("grade == \"failed\"", r#""tools": ["search"], "phase": "observe""#),
        ("\"price\" in gaps", r#""tools": ["search"], "phase": "observe""#),
        ("gain == 0 && grade == \"sufficient\"", r#""tools": ["search"], "phase": "observe""#),
        ("records[0].name == \"x\"", r#""tools": ["search"], "phase": "observe""#),
    ] {
        let spec = r#""parameters": {"ceiling": {"type": "number", "default": 50}}, "constants": {"blocked": ["mallory"]},
            "variables": {"big": "args.amount > 500", "amount": "args.amount"},"#;
        let action = r#", "action": "note""#;
        let (fires, proved) = tried(&rule(&format!("{keys}{action}"), when), spec);
        assert!(fires, "{when}");
        assert_eq!(proved, Vec::<String>::new(), "{when}");
    }
}

#[test]
fn what_contradicts_itself_is_proved_dead_with_what_contradicts() {
    for (when, why) in [
        ("args.amount > 5 && args.amount < 3", "no number is above 5 and below 3, as `args.amount` has to be"),
        ("args.amount > 5 && !(args.amount > 5)", "no number is above 5 and at most 5, as `args.amount` has to be"),
        ("args.amount > 1000", "no number is above 1000 and at most 1000, as `args.amount` has to be"),
        ("has(args.count) && args.count > 5 && args.count < 6", "no number is above 5 and below 6, as `args.count` has to be"),
        ("args.to == \"a\" && args.to == \"b\"", "`args.to` cannot be that and pass the other tests of it"),
        ("args.to == \"a\" && args.to.startsWith(\"b\")", "`args.to` cannot be that and pass the other tests of it"),
        ("args.to in [\"a\", \"b\"] && size(args.to) > 1", "`args.to` cannot be that and pass the other tests of it"),
        (
            "args.status != \"open\" && args.status != \"paid\" && args.status != \"void\"",
            "`args.status` is one of \"open\", \"paid\", \"void\", and none of these passes",
        ),
        ("size(args.to) < 0", "no number is at least 0 and below 0, as the size of `args.to` has to be"),
        ("!has(args.count) && args.?count.orValue(1) > 0 && has(args.count)", "`args.count` is to be absent, and is read all the same"),
        ("hints.a > 5 && hints.a.startsWith(\"x\")", "no kind of value passes all that is asked of `hints.a`"),
        ("1 > 2 && args.amount > 5", "it is false whatever comes"),
        ("call.tool == \"search\"", "`call.tool` is one of \"pay\", and none of these passes"),
        ("tool.effect == \"read\"", "`tool.effect` is one of \"external\", \"unknown\", and none of these passes"),
        (
            "(args.amount > 5 && args.amount < 3) || (args.to == \"a\" && args.to == \"b\")",
            "each of its alternatives contradicts itself, as in the first: no number is above 5 and below 3, as `args.amount` has to be",
        ),
        ("args.amount > constants.high && args.amount < constants.low", "no number is above 9 and below 2, as `args.amount` has to be"),
        ("variables.big && args.amount < 100", "no number is above 500 and below 100, as `args.amount` has to be"),
        ("task.calls(\"pay\") < 0", "no number is at least 0 and below 0, as `task.calls(\"pay\")` has to be"),
        ("has(args.lines) && args.lines.exists(l, l.price > 5 && l.price < 3)", "no number is above 5 and below 3, as `an element.price` has to be"),
    ] {
        let spec = r#""constants": {"high": 9, "low": 2}, "variables": {"big": "args.amount > 500"},"#;
        let (fires, proved) = tried(&rule(r#""tools": ["pay"], "action": "note""#, when), spec);
        assert_eq!(proved, [format!("CG501: the rule `r` never fires: {why}")], "{when}");
        assert!(!fires, "{when}");
    }
}

#[test]
fn what_can_hold_is_not_proved_dead() {
    for when in [
        "args.amount > 5 || args.amount < 3",
        "args.amount >= 5 && args.amount <= 5",
        "args.amount > 2 && args.amount < 3",
        // NaN is neither
        "!(hints.x > 5) && !(hints.x <= 5)",
        // parameters may be set otherwise
        "args.amount > params.ceiling && args.amount < 10",
        "hints.x != \"a\" && hints.x != \"b\"",
        "!has(args.count) && args.?count.orValue(1) > 0",
        "args.to.matches(\"a\") && args.to.matches(\"b\")",
        "args.amount > 9007199254740992.0 || args.amount == 7",
        "int(args.amount) > 5 && double(args.amount) < 5.5",
    ] {
        let spec = r#""parameters": {"ceiling": {"type": "number", "default": 50}},"#;
        let (_, proved) = tried(&rule(r#""tools": ["pay"], "action": "note""#, when), spec);
        assert_eq!(proved, Vec::<String>::new(), "{when}");
    }
}

#[test]
fn a_condition_that_can_never_be_false_is_told_of() {
    let told = "CG504: the rule `r` matches every call: its condition is never false";
    let of = |when: &str| tried(&rule(r#""tools": ["pay"], "action": "note""#, when), "").1;
    for when in [
        "has(args.count) || !has(args.count)",
        "size(args.to) >= 0",
        "args.status == \"open\" || args.status != \"open\"",
        "args.status != \"open\" || args.status != \"paid\"",
        "args.status in [\"open\", \"paid\", \"void\"]",
        "args.amount < 5 || 1 < 2",
    ] {
        assert_eq!(of(when), [told], "{when}");
    }
    for when in [
        // said in so many words
        "true",
        // a tool's name once more is no mistake
        "call.tool == \"pay\"",
        "args.status in [\"open\", \"paid\"]",
        "size(args.to) > 0",
        // of text that nobody declared anything may be said
        "hints.x != \"a\" || hints.y != \"a\"",
    ] {
        assert_eq!(of(when), Vec::<String>::new(), "{when}");
    }
}

#[test]
fn a_rule_for_tools_that_nobody_declares_is_dead_where_such_calls_are_refused() {
    let refused = r#""undeclared_tools": "refuse","#;
    let of = |tools: &str, spec: &str| {
        tried(&rule(&format!(r#""tools": {tools}, "action": "refuse""#), "args.x == 1"), spec)
    };
    let why = "CG501: the rule `r` never fires: `wire` is a tool that no manifest in force declares, and such calls are refused";
    assert_eq!(of(r#"["wire"]"#, refused).1, [why]);
    assert_eq!(of(r#"["wire"]"#, ""), (true, Vec::new()));
    assert_eq!(of(r#"["wire", "search"]"#, refused).1, Vec::<String>::new());
}

#[test]
fn a_rule_behind_one_that_holds_every_call_is_told_of() {
    let two = |first: &str, second: &str| {
        let rules = format!(
            r#"{{"id": "first", "when": "true", {first}}}, {{"id": "r", "when": "args.amount > 5", {second}}}"#
        );
        tried(&rules, "").1
    };
    let told = "CG503: the rule `r` never decides: `first` holds every call that it is about";
    assert_eq!(two(r#""action": "refuse""#, r#""tools": ["pay"], "action": "ask""#), [told]);
    assert_eq!(two(r#""action": "refuse", "tools": ["pay"]"#, r#""tools": ["pay"], "action": "refuse""#), [told]);
    for (first, second) in [
        (r#""action": "refuse""#, r#""tools": ["pay"], "action": "stop""#),
        (r#""action": "note""#, r#""tools": ["pay"], "action": "ask""#),
        (r#""action": "ask""#, r#""tools": ["pay"], "action": "ask""#),
        (r#""action": "refuse", "tools": ["search"]"#, r#""tools": ["pay"], "action": "refuse""#),
        (r#""action": "refuse", "tools": ["pay"]"#, r#""severity": "low", "action": "refuse""#),
    ] {
        assert_eq!(two(first, second), Vec::<String>::new(), "{first} {second}");
    }
}

#[test]
fn a_rule_that_nothing_is_known_of_is_neither_fired_nor_proved_dead() {
    for when in [
        "int(hints.n) * 7919 % 10007 == 4242",
        "base64.encode(bytes(args.to)) == \"Y2FsbGdhdGU=\"",
        "hints.digest.matches(\"^[0-9a-f]{64}$\") && hints.digest.substring(0, 4) == \"beef\"",
    ] {
        let found = tried(&rule(r#""tools": ["pay"], "action": "note""#, when), "");
        assert_eq!(found, (false, Vec::new()), "{when}");
    }
}

#[test]
fn the_same_policy_is_judged_the_same_every_time() {
    let text =
        rule(r#""tools": ["bash"], "action": "refuse""#, "has(args.command) && args.command.matches(\"rm +-rf\")");
    let (document, manifests) = policy(&text, "");
    let told = || format!("{:?}", self_test(&document, &document, &manifests));
    assert_eq!(told(), told());
}
