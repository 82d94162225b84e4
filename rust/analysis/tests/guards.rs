//! Rungs and budgets: which a run reaches, which are proved out of reach, and which nobody can tell of.
use callgate_analysis::{dead, self_test, Kind};
use callgate_core::compile::{compile, ManifestDocument};
use callgate_value::{read_json, Value};

fn documents(spec: &str, tools: &str) -> (Value, Vec<ManifestDocument>) {
    let read = |text: &str| read_json(text.as_bytes()).unwrap_or_else(|error| panic!("{error:?}: {text}"));
    let policy = format!(
        r#"{{"apiVersion": "callgate/v1", "kind": "GuardPolicy", "metadata": {{"name": "p"}}, "spec": {{{spec}}}}}"#
    );
    let manifest = format!(
        r#"{{"apiVersion": "callgate/v1", "kind": "ToolManifest", "metadata": {{"name": "m"}}, "spec": {{"tools": {tools}}}}}"#
    );
    let manifests = vec![ManifestDocument { name: "m".to_owned(), document: read(&manifest) }];
    (read(&policy), if tools == "{}" { Vec::new() } else { manifests })
}

/// What does not fire: title, kind, and why.
fn silent(spec: &str, tools: &str) -> Vec<(String, Kind, Option<String>)> {
    let (document, manifests) = documents(spec, tools);
    let probes = self_test(&document, &document, &manifests);
    assert!(!probes.is_empty(), "nothing was tried: {:?}", compile(&document, &manifests).1);
    let silent = probes.into_iter().filter(|probe| !probe.fires);
    silent.map(|probe| (probe.title, probe.kind, probe.why)).collect()
}

/// What is proved never to fire.
fn proved(spec: &str, tools: &str) -> Vec<String> {
    let (document, manifests) = documents(spec, tools);
    let policy = compile(&document, &manifests).0.unwrap();
    dead(&policy, &document, &manifests).into_iter().map(|it| it.fault.message).collect()
}

const REST: &str = r#""budgets": {"preset": "medium"}"#;

const EVERY_RUNG: &str = r#"
    "consecutive": {"note_after": 3, "refuse_after": 4},
    "exact_repeat": {"note_after": 3, "refuse_after": 3, "exit_after": 4, "cool_down": "5m", "sufficient_reads": {"refuse_after": 2}},
    "frequency": {"note_after": 5, "refuse_after": 9},
    "cycle": {"max_period": 4, "laps": 3, "mismatches": 1},
    "oscillation": {"arguments_at_most": 0.34, "known_records": 0.8, "note_after": 3, "refuse_after": 5},
    "same_error": {"note_after": 3, "refuse_after": 5, "exit_after": 5},
    "same_result": {"note_after": 5, "refuse_after": 6},
    "no_gain": {"note_after": 3, "refuse_after": 7, "exit_after": 10},
    "empty_streak": {"note_after": 2, "refuse_after": 3},
    "state_oscillation": {"note_after": 2, "refuse_after": 2},
    "transfer_streak": {"note_after": 4, "refuse_after": 5},
    "transfer_cycle": {"laps": 3},
    "diversity": {"min_calls": 5, "note_below": 0.3, "refuse_below": 0.1, "entropy_note_below": 0.5},
    "unknown_tool": {"note_after": 1, "refuse_after": 1},
    "invalid_arguments": {"note_after": 2, "refuse_after": 2},
    "repeated_effect": {"refuse_after": 1},
    "denied": {"note_after": 1, "refuse_after": 1}"#;

#[test]
fn a_run_reaches_every_rung_of_every_detector_with_tools_of_its_class() {
    let tools = r#"{
        "find": {"effect": "read", "identity": {"ignore": ["request_id"], "trim": true, "target": ["place"]},
            "parameters": {"type": "object", "required": ["words", "place"], "additionalProperties": false, "properties": {
                "words": {"type": "string", "minLength": 3}, "place": {"type": "string"}, "request_id": {"type": "string"}}},
            "result": {"failed_when": "type(result) == string || result.status >= 400", "records": "result.items", "key": ["id"],
                "required_fields": ["id", "name"], "min_records": 2, "version": "result.version"}},
        "edit": {"effect": "write", "result": {"state": "result.sha"}, "identity": {"target": ["path"]},
            "parameters": {"type": "object", "required": ["path"], "properties": {"path": {"type": "string"}, "text": {"type": "string"}}}},
        "mail": {"effect": "external"},
        "hand_over": {"effect": "control", "transfer": true}
    }"#;
    let spec = format!(r#"{REST}, "detectors": {{"window": 50, {EVERY_RUNG}}}"#);
    assert_eq!(silent(&spec, tools), []);
}

#[test]
fn rungs_of_a_policy_without_manifests_are_reached_with_stand_ins() {
    let spec = format!(r#"{REST}, "detectors": {{"window": 50, {EVERY_RUNG}}}"#);
    assert_eq!(silent(&spec, "{}"), []);
}

#[test]
fn a_rung_that_no_tool_in_force_can_feed_is_told_of_with_why_and_proved_where_it_is_written_for_these_tools() {
    let tools = r#"{"mail": {"effect": "external", "idempotent": true, "groups": ["out"]}}"#;
    for (detector, rung, why) in [
        ("same_result", "refuse_after", "only reads feed it"),
        (
            "empty_streak",
            "refuse_after",
            "only reads feed it that say when they are empty, with `records` or `empty_when`",
        ),
        ("state_oscillation", "refuse_after", "only tools with `result.state` feed it"),
        ("transfer_streak", "refuse_after", "only tools with `transfer: true` feed it"),
        ("repeated_effect", "refuse_after", "only external effects that are not idempotent feed it"),
    ] {
        let told = [(format!("`{rung}` of `{detector}`"), Kind::Refuse, Some(why.to_owned()))];
        let general =
            format!(r#"{REST}, "undeclared_tools": "refuse", "detectors": {{"{detector}": {{"{rung}": 2}}}}"#);
        assert_eq!(silent(&general, tools), told);
        assert_eq!(proved(&general, tools), Vec::<String>::new());
        for name in ["mail", "out"] {
            let own = format!(r#"{REST}, "detectors": {{"for": {{"{name}": {{"{detector}": {{"{rung}": 2}}}}}}}}"#);
            assert_eq!(silent(&own, tools), told);
            let dead = format!("`{rung}` of `{detector}` is never reached by `{name}`: {why}");
            assert_eq!(proved(&own, tools), [dead]);
        }
    }
}

#[test]
fn a_call_that_always_waits_feeds_no_detector_of_loops() {
    let tools = r#"{"poll": {"effect": "read", "waiting": true}}"#;
    let spec =
        format!(r#"{REST}, "undeclared_tools": "refuse", "detectors": {{"exact_repeat": {{"refuse_after": 3}}}}"#);
    let why = Some("a call that waits feeds none but the limits of its `waiting`".to_owned());
    assert_eq!(silent(&spec, tools), [("`refuse_after` of `exact_repeat`".to_owned(), Kind::Refuse, why)]);
}

#[test]
fn every_budget_is_used_up_by_a_run() {
    let tools = r#"{"find": {"effect": "read", "groups": ["lookups"]}, "mail": {"effect": "external"}}"#;
    let spec = r#""budgets": {"steps": 500, "tool_calls": 300, "calls_per_tool": {"find": 6, "*": 9}, "calls_per_group": {"lookups": 12},
        "retries": 6, "tokens": 200000, "cost": {"limit": 2.5, "currency": "USD"}, "depth": 3,
        "reserve": {"tool_calls": 1, "for": ["mail"]}}, "time": {"task": "10m", "workflow": "30m", "step": "2m"}"#;
    assert_eq!(silent(spec, tools), []);
    assert_eq!(silent(spec, "{}").into_iter().map(|it| it.0).collect::<Vec<_>>(), Vec::<String>::new());
}

#[test]
fn a_reserve_for_all_tools_there_are_is_never_held_back() {
    let tools = r#"{"mail": {"effect": "external"}}"#;
    let spec = r#""undeclared_tools": "refuse", "budgets": {"preset": "medium", "tool_calls": 9, "reserve": {"tool_calls": 2, "for": ["mail"]}}"#;
    assert_eq!(silent(spec, tools), [("`budgets.reserve`".to_owned(), Kind::Budget, None)]);
}

#[test]
fn a_limit_beyond_that_of_all_calls_is_proved_dead() {
    let of = |budgets: &str| {
        let tools = r#"{"find": {"effect": "read", "groups": ["lookups"]}}"#;
        proved(&format!(r#""budgets": {{"preset": "medium", {budgets}}}"#), tools)
    };
    let told = |text: &str| vec![text.to_owned()];
    assert_eq!(
        of(r#""tool_calls": 8, "calls_per_tool": {"find": 9}"#),
        told("`calls_per_tool.find` is never reached: 9 calls, of 8 in all")
    );
    assert_eq!(
        of(r#""tool_calls": 8, "calls_per_group": {"lookups": 12}"#),
        told("`calls_per_group.lookups` is never reached: 12 calls, of 8 in all")
    );
    assert_eq!(
        of(r#""tool_calls": 8, "retries": 8"#),
        told("`retries` is never reached: 8 of them need more calls than the 8 in all")
    );
    for fine in [
        r#""tool_calls": 8, "calls_per_tool": {"find": 8, "*": 10}, "calls_per_group": {"lookups": 8}, "retries": 7"#,
        r#""calls_per_tool": {"find": 900}, "retries": 900"#,
        r#""tool_calls": 0, "retries": 0"#,
    ] {
        assert_eq!(of(fine), Vec::<String>::new(), "{fine}");
    }
}

#[test]
fn only_what_the_policy_writes_itself_is_tried() {
    let (document, manifests) = documents(
        &format!(
            r#"{REST}, "detectors": {{"same_error": {{"note_after": 3, "refuse_after": 5}}, "denied": {{"refuse_after": 1}}}},
            "rules": [{{"id": "a", "when": "true", "action": "note"}}, {{"id": "b", "when": "true", "action": "note"}}]"#
        ),
        "{}",
    );
    let (own, _) = documents(
        r#""detectors": {"same_error": {"refuse_after": 5}}, "rules": [{"id": "b", "when": "true", "action": "note"}]"#,
        "{}",
    );
    let tried: Vec<String> = self_test(&document, &own, &manifests).into_iter().map(|probe| probe.title).collect();
    assert_eq!(tried, ["the rule `b`", "`refuse_after` of `same_error`"]);
}
