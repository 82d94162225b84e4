//! Rounds of several agents in one task: when each is over for the others, and what stays one round.
use std::sync::Arc;

use callgate_value::read_json;

use super::Replay;
use crate::about::About;
use crate::compile::{compile, ManifestDocument};
use crate::guard::Guard;
use crate::trace::Record;
use crate::verdict::Action;

const POLICY: &str = r#"{"apiVersion": "callgate/v1", "kind": "GuardPolicy", "metadata": {"name": "p"}, "spec": {
    "budgets": {"steps": 1000, "tokens": 1000}, "time": {"task": "99h"}, "detectors": {"exact_repeat": {"refuse_after": 2}},
    "ladder": {"reuse_reads": 0}}}"#;
const TOOLS: &str = r#"{"apiVersion": "callgate/v1", "kind": "ToolManifest", "metadata": {"name": "m"}, "spec": {"tools": {
    "check": {"effect": "read"}, "look": {"effect": "read"}, "edit": {"effect": "write"}}}}"#;

fn guard() -> Arc<Guard> {
    let read = |text: &str| read_json(text.as_bytes()).unwrap();
    let manifest = ManifestDocument { name: "m".to_owned(), document: read(TOOLS) };
    let policy = compile(&read(POLICY), &[manifest]).0.unwrap();
    Arc::new(Guard::alone(policy))
}

fn replay(guard: &Arc<Guard>) -> Replay {
    Replay::new(Arc::clone(guard), About::default(), 8, true)
}

/// A call of an agent of task `t`. `when` is its admission and its completion, in seconds.
struct Call<'a>(&'a str, &'a str, i64, Option<(f64, f64)>);

impl Call<'_> {
    fn line(&self) -> String {
        let Call(agent, tool, round, when) = self;
        let time = when.map_or_else(String::new, |(start, end)| {
            format!(r#", "time": {end}, "duration": {duration}"#, duration = end - start)
        });
        let is = format!(r#""session": "{agent}", "task": "t", "round": {round}{time}"#);
        match *tool {
            "usage" => format!(r#"{{{is}, "event": "model_usage", "tokens": 1}}"#),
            _ => format!(r#"{{{is}, "tool": "{tool}", "arguments": {{}}, "result": "r"}}"#),
        }
    }
}

/// Each call with what is decided of it, in the order in which that is told; and the steps that the task took.
fn judged(calls: &[Call<'_>]) -> (Vec<String>, f64) {
    let mut replay = replay(&guard());
    for call in calls {
        replay.feed(Record::from_line(call.line().as_bytes()).unwrap()).unwrap();
    }
    replay.finish();
    let rows = replay.take_rows();
    let steps = rows.iter().map(|row| row.spent.steps).fold(0.0, f64::max);
    let told = rows.iter().map(|row| {
        let action = if row.verdict.action == Action::Allow { "" } else { row.verdict.action.name() };
        format!("{} {} {action}", row.session, row.verdict.tool).trim_end().to_owned()
    });
    (told.collect(), steps)
}

/// A tester that has checked twice, each in a round by itself, and a coder that edits from `start` to `end`.
fn checks_and_an_edit(edit: Option<(f64, f64)>) -> Vec<Call<'static>> {
    let timed = |at: f64| edit.map(|_| (at - 1.0, at));
    vec![
        Call("tester", "check", 1, timed(5.0)),
        Call("tester", "check", 2, timed(10.0)),
        Call("coder", "edit", 1, edit),
    ]
}

#[test]
fn a_round_that_ended_before_another_agents_call_is_closed_before_it() {
    for edit in [None, Some((12.0, 15.0))] {
        let mut calls = checks_and_an_edit(edit);
        calls.push(Call("tester", "check", 3, edit.map(|_| (15.0, 20.0))));
        let told = ["tester check", "tester check", "coder edit", "tester check"].map(str::to_owned);
        assert_eq!(judged(&calls), (told.to_vec(), 4.0));
    }
}

#[test]
fn a_round_that_overlaps_another_agents_is_closed_when_its_own_calls_are_over() {
    let mut calls = checks_and_an_edit(Some((12.0, 15.0)));
    calls.push(Call("tester", "check", 3, Some((14.0, 20.0))));
    calls.push(Call("tester", "check", 4, Some((21.0, 22.0))));
    let (told, _) = judged(&calls);
    let checks: Vec<_> = told.iter().filter(|it| it.starts_with("tester")).collect();
    // the check at second 14 does not know of the edit; the one at 21 does
    assert_eq!(checks, ["tester check", "tester check", "tester check refuse", "tester check"]);
}

#[test]
fn a_call_that_began_at_the_very_end_of_another_round_is_after_it_however_seconds_are_rounded() {
    // 0.3 - 0.1 is less than 0.2
    let mut calls = checks_and_an_edit(Some((0.1, 0.2)));
    for call in &mut calls[..2] {
        call.3 = Some((0.0, 0.1));
    }
    let line = r#"{"session": "tester", "task": "t", "round": 3, "time": 0.3, "duration": 0.1, "tool": "check",
        "arguments": {}, "result": "r"}"#
        .replace('\n', " ");
    let mut replay = replay(&guard());
    for line in calls.iter().map(Call::line).chain([line]) {
        replay.feed(Record::from_line(line.as_bytes()).unwrap()).unwrap();
    }
    replay.finish();
    assert!(replay.take_rows().iter().all(|row| row.verdict.action == Action::Allow));
}

#[test]
fn members_of_a_round_stay_one_round_wherever_records_of_others_stand_between_them() {
    let orders: [&[usize]; 4] = [&[0, 1, 2, 3, 4, 5], &[0, 3, 1, 4, 2, 5], &[3, 0, 4, 1, 5, 2], &[0, 3, 4, 5, 1, 2]];
    for timed in [false, true] {
        for order in orders {
            let calls: Vec<Call<'_>> = order
                .iter()
                .enumerate()
                .map(|(at, it)| {
                    let when = timed
                        .then(|| (f64::from(u8::try_from(at).unwrap()), f64::from(u8::try_from(at).unwrap()) + 0.5));
                    Call(if *it < 3 { "a" } else { "b" }, ["check", "look", "check"][it % 3], 1, when)
                })
                .collect();
            let (told, steps) = judged(&calls);
            let of = |agent: &str| -> Vec<String> {
                told.iter().filter_map(|it| it.strip_prefix(agent)).map(|it| it.trim().to_owned()).collect()
            };
            // the third is the first once more: in the same round its answer serves both
            assert_eq!(of("a"), ["check", "look", "check reuse"], "{order:?}");
            assert_eq!(of("b"), ["check", "look", "check reuse"], "{order:?}");
            assert!((steps - 2.0).abs() < 1e-9, "{order:?}: {steps} steps");
        }
    }
}

#[test]
fn numbers_of_rounds_of_one_call_each_change_nothing() {
    let guard = guard();
    let mut seed = 1_u64;
    let mut next = |most: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % most
    };
    for run in 0..60 {
        let timed = run % 2 == 0;
        let lines: Vec<String> = (0..40)
            .map(|at| {
                let agent = ["a", "b", "c"][usize::try_from(next(3)).unwrap()];
                let tool = ["check", "check", "look", "edit", "usage"][usize::try_from(next(5)).unwrap()];
                let at = f64::from(at);
                Call(agent, tool, i64::try_from(next(1000)).unwrap() * 100 + at as i64, timed.then_some((at, at + 1.0)))
                    .line()
            })
            .collect();
        let told = |lines: &[String]| {
            let mut replay = replay(&guard);
            for line in lines {
                replay.feed(Record::from_line(line.as_bytes()).unwrap()).unwrap();
            }
            replay.finish();
            let mut totals = replay.totals().clone();
            totals.events = 0;
            let mut rows: Vec<String> = Vec::new();
            for mut row in replay.take_rows() {
                row.round = None;
                rows.push(callgate_value::to_json(&row.to_value()));
            }
            (rows, format!("{totals:?}"))
        };
        let alone: Vec<String> = lines.iter().map(|line| line.replace("\"round\"", "\"no_round\"")).collect();
        assert_eq!(told(&lines), told(&alone), "run {run}");
    }
}

#[test]
fn no_more_records_are_held_than_there_is_room_for() {
    // agents that come once: nothing tells that their rounds have no further calls
    let mut replay = replay(&guard());
    let mut told = 0;
    for at in 0..5_000 {
        let line = Call(&format!("agent-{at}"), "look", 1, None).line();
        replay.feed(Record::from_line(line.as_bytes()).unwrap()).unwrap();
        assert!(replay.open.values().all(|open| open.held.len() <= 256));
        assert!(replay.open.values().all(|open| open.running.len() <= 256));
        told += replay.take_rows().len();
    }
    assert!(told > 5_000 - 300, "{told}");
    replay.finish();
    assert_eq!(told + replay.take_rows().len(), 5_000);
}

#[test]
fn a_fault_is_told_of_the_record_that_has_it_while_others_are_held() {
    let mut replay = replay(&guard());
    let mut calls = checks_and_an_edit(None);
    calls.push(Call("tester", "check", 3, None));
    calls.push(Call("tester", "check", 4, None)); // held: the coder may go on with its round
    for call in &calls {
        replay.feed(Record::from_line(call.line().as_bytes()).unwrap()).unwrap();
    }
    assert_eq!(replay.open.values().map(|open| open.held.len()).sum::<usize>(), 1);
    let restore = Record::from_line(br#"{"session": "tester", "task": "t", "event": "restore"}"#).unwrap();
    assert_eq!(replay.feed(restore), Err("`restore` without a `snapshot` before it".to_owned()));
    let numbered = |seq: i64| {
        let line = format!(r#"{{"session": "coder", "task": "t", "seq": {seq}, "tool": "look", "arguments": {{}}}}"#);
        Record::from_line(line.as_bytes()).unwrap()
    };
    assert_eq!(replay.feed(numbered(7)), Ok(()));
    assert_eq!(replay.feed(numbered(7)), Err("`seq` 7 does not rise after 7 in session `coder`".to_owned()));
}
