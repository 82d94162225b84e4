//! How many entries each table of a task may have. A table that is full is forgotten, or its older half is, which can only
//! make the guard more patient; effects, denials and budgets of declared tools are never forgotten.
use std::hash::Hash;

use rustc_hash::FxHashMap;

/// The bound itself; in the tests of this crate a small one, so that every table is seen to keep it.
const fn most(entries: usize) -> usize {
    if cfg!(test) && entries > 64 {
        64
    } else {
        entries
    }
}

/// Calls of one agent: runs of equal results, last results, reads that a write may outdate. Failing calls of a task.
pub(crate) const CALLS: usize = most(65_536);
/// Tools of one agent, each with its target where it has one: streaks, runs, oscillations, last results.
pub(crate) const PLACES: usize = most(16_384);
/// Calls with invalid arguments, polls, and calls with a cool-down of `frequency`, of one agent.
pub(crate) const RARE_CALLS: usize = most(16_384);
/// Tools that fail, of one agent.
pub(crate) const FAILING_TOOLS: usize = most(256);
/// Different errors of one tool.
pub(crate) const ERRORS: usize = most(1_024);
/// States of all targets of a task.
pub(crate) const STATES: usize = most(65_536);
/// Items that a task knows; pages, cursors and ranges as many each.
pub(crate) const ITEMS: usize = most(1_000_000);
/// Calls that a task has admitted before.
pub(crate) const PAST_CALLS: usize = most(1_000_000);
/// Results kept for reuse.
pub(crate) const STORED: usize = most(512);
/// Open incidents.
pub(crate) const INCIDENTS: usize = most(4_096);
/// Calls that wait for a person's answer; past it the older half can be answered no more.
pub(crate) const ASKED: usize = most(16_384);
/// Calls in doubt that go on after they were given up; past it what they bring is not heard.
pub(crate) const LATE_CALLS: usize = most(16_384);
/// Names of undeclared tools whose calls are counted one by one.
pub(crate) const UNDECLARED: usize = most(65_536);
/// Claims that ended and are still known by their id, of everything that shares a memory.
pub(crate) const ENDED_CLAIMS: usize = most(65_536);
/// Completed effects that everything that shares a memory remembers.
pub(crate) const EFFECTS: usize = most(1_000_000);
/// Tasks whose counters and denials a memory keeps.
pub(crate) const SHARED_TASKS: usize = most(1_000_000);

/// Forgets the whole table if another key would be one too many.
pub(crate) fn make_room<K: Eq + Hash, V>(table: &mut FxHashMap<K, V>, key: &K, most: usize) {
    if table.len() >= most && !table.contains_key(key) {
        table.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use callgate_value::{read_json, Value};
    use serde_json::Value as Json;

    use super::CALLS;
    use crate::compile::{compile, ManifestDocument};
    use crate::policy::Policy;
    use crate::{Event, Outcome, Reported, Request, Task};

    const POLICY: &str = r#"{"apiVersion": "callgate/v1", "kind": "GuardPolicy", "metadata": {"name": "p"}, "spec": {
        "budgets": {"steps": 1000000, "tokens": 1000000000, "notes_at": [0.5]}, "time": {"task": "24h"},
        "detectors": {
            "consecutive": {"refuse_after": 3}, "exact_repeat": {"refuse_after": 1}, "cycle": {}, "diversity": {},
            "frequency": {"refuse_after": 40, "cool_down": "1h"}, "oscillation": {"refuse_after": 900000},
            "same_error": {"refuse_after": 900000}, "same_result": {"refuse_after": 900000},
            "no_gain": {"towards": "task", "refuse_after": 900000}, "empty_streak": {"refuse_after": 900000},
            "state_oscillation": {"refuse_after": 900000}, "unknown_tool": {"refuse_after": 900000},
            "invalid_arguments": {"refuse_after": 900000}}}}"#;
    const TOOLS: &str = r#"{"apiVersion": "callgate/v1", "kind": "ToolManifest", "metadata": {"name": "t"}, "spec": {"tools": {
        "look": {"effect": "read", "reads": ["a"], "identity": {"target": ["n"]},
                 "result": {"empty_when": "size(result) == 0", "records": "result"}},
        "part": {"effect": "read", "reads": ["a"], "coverage": {"target": "args.n", "offset": "args.n * 10", "length": "5"}},
        "page": {"effect": "read", "reads": ["a"], "coverage": {"cursor": "args.n", "next": "result.next"}},
        "put": {"effect": "write", "touches": ["b"], "identity": {"target": ["n"]}, "result": {"state": "result.state"}},
        "poll": {"effect": "read", "waiting": true}}}}"#;

    fn policy() -> Policy {
        let document = |text: &str| read_json(text.as_bytes()).unwrap();
        let manifest = ManifestDocument { name: "t".to_owned(), document: document(TOOLS) };
        let (policy, faults) = compile(&document(POLICY), &[manifest]);
        policy.unwrap_or_else(|| panic!("{faults:?}"))
    }

    /// Calls a tool and tells what came back, if it ran.
    fn call(task: &mut Task, policy: &Policy, tool: &str, n: u32, outcome: &Outcome) {
        let arguments = read_json(format!(r#"{{"n": {n}}}"#).as_bytes()).unwrap();
        let (call_id, hints, fault) = (None, None, None);
        let request =
            Request { tool: tool.into(), arguments: Arc::new(arguments), call_id, hints, fault, again: false };
        let verdict = task.admit(policy, "root", &[request], Some(f64::from(n))).remove(0);
        if verdict.action == crate::Action::Allow {
            task.observe(policy, &verdict.call_id, outcome, Some(f64::from(n))).unwrap();
        }
    }

    fn result(text: &str) -> Outcome {
        Outcome { result: Some(Arc::new(read_json(text.as_bytes()).unwrap())), ..Outcome::default() }
    }

    fn failure(kind: &str) -> Outcome {
        let error = Reported { kind: Some(kind.into()), status: None, message: None };
        Outcome { error: Some(error), ..Outcome::default() }
    }

    /// The longest list or map at each path of a snapshot.
    fn longest(json: &Json, path: &str, found: &mut Vec<(String, usize)>) {
        match json {
            Json::Array(items) => {
                found.push((path.to_owned(), items.len()));
                items.iter().for_each(|item| longest(item, path, found));
            }
            Json::Object(fields) => {
                found.push((path.to_owned(), fields.len()));
                for (name, value) in fields {
                    let key = if name.bytes().all(|byte| byte.is_ascii_digit()) { "*" } else { name };
                    longest(value, &format!("{path}.{key}"), found);
                }
            }
            _ => {}
        }
    }

    #[test]
    fn every_table_of_a_task_keeps_its_bound() {
        let policy = policy();
        let mut task = Task::new(&policy, "t", [1; 16], 0.0);
        for n in 0..2_000_u32 {
            call(&mut task, &policy, "look", n, &result("[1]"));
            call(&mut task, &policy, "look", n, &result("[]"));
            call(&mut task, &policy, "look", 10_000 + n, &result("[]"));
            call(&mut task, &policy, "look", 20_000 + n, &failure(&format!("odd-{n}")));
            call(&mut task, &policy, "part", n, &result(&format!("[{n}]")));
            call(&mut task, &policy, "page", n, &result(&format!(r#"{{"next": {n}}}"#)));
            call(&mut task, &policy, "put", n, &result(&format!(r#"{{"state": {n}}}"#)));
            call(&mut task, &policy, "poll", n, &result("1"));
            call(&mut task, &policy, &format!("odd-{n}"), n, &failure("exit_nonzero"));
            call(&mut task, &policy, &format!("none-{n}"), n, &failure("unknown_tool"));
            call(&mut task, &policy, "put", 30_000 + n, &failure("invalid_arguments"));
        }
        let text = task.snapshot(&policy).unwrap();
        let json: Json = serde_json::from_str(text.split_once('\n').unwrap().1).unwrap();
        let mut found = Vec::new();
        longest(&json, "", &mut found);
        // the window and the failed comparisons of cycles are as long as the policy says
        let over: Vec<_> =
            found.iter().filter(|(path, length)| *length > CALLS && !path.contains(".by_tool")).collect();
        assert!(over.is_empty(), "{over:?}");
        assert!(found.iter().any(|(path, length)| path.ends_with(".runs") && *length > 1));
        assert!(task.stored.len() <= CALLS && task.out.is_empty() && task.remarks.is_empty());
    }

    #[test]
    fn effects_and_denials_are_never_forgotten() {
        let mut task = Task::new(&policy(), "t", [1; 16], 0.0);
        let tools = TOOLS.replace(r#""put": {"effect": "write""#, r#""put": {"effect": "external""#);
        let document = |text: &str| read_json(text.as_bytes()).unwrap();
        let detectors = r#""detectors": {"repeated_effect": {"refuse_after": 1}, "denied": {"refuse_after": 1},"#;
        let spec = POLICY.replace(r#""detectors": {"#, detectors);
        let manifest = ManifestDocument { name: "t".to_owned(), document: document(&tools) };
        let policy = compile(&document(&spec), &[manifest]).0.unwrap();
        let done = result("{}");
        let reasons = |task: &mut Task, tool: &str, n: u32| {
            let arguments = Value::Map(callgate_value::Map::new(vec![("n".into(), Value::Int(i64::from(n)))]).unwrap());
            let (call_id, hints, fault) = (None, None, None);
            let request =
                Request { tool: tool.into(), arguments: Arc::new(arguments), call_id, hints, fault, again: false };
            let verdict = task.admit(&policy, "root", &[request], None).remove(0);
            verdict.findings.iter().map(crate::Finding::name).collect::<Vec<_>>()
        };
        for n in 0..500 {
            call(&mut task, &policy, "put", n, &done);
            call(&mut task, &policy, "look", n, &failure("denied"));
        }
        task.event(&policy, "root", Event::Compaction, None);
        assert_eq!(reasons(&mut task, "put", 0), ["duplicate_effect"]);
        assert_eq!(reasons(&mut task, "look", 0), ["denied"]);
        assert_eq!(reasons(&mut task, "look", 900), Vec::<String>::new());
    }

    #[test]
    fn a_table_that_is_full_is_forgotten_for_a_new_key_alone() {
        let mut table: rustc_hash::FxHashMap<u32, ()> = (0..4).map(|key| (key, ())).collect();
        super::make_room(&mut table, &3, 4);
        assert_eq!(table.len(), 4);
        super::make_room(&mut table, &4, 4);
        assert!(table.is_empty());
    }
}
