//! What shared state answers, one behaviour each.
use super::{
    Amount, BreakerClaim, BreakerEnd, Claim, EffectAnswer, EffectClaim, EffectEnd, EffectKey, Grant, OpenBreaker,
    Resolution, Settlement, Shared,
};
use crate::bounds::{EFFECTS, ENDED_CLAIMS, SHARED_TASKS};

/// A claim of task `t`, with a lease of ten seconds, on an effect that must happen once.
pub(super) fn once(id: &str, key: &str) -> Claim {
    let effect = EffectKey {
        key: key.to_owned(),
        declared: true,
        once: true,
        tool: "pay".to_owned(),
        target: None,
        call: format!("call of {key}"),
        verify: None,
    };
    let effect = EffectClaim { effect, retain: Some(100.0), again: false, again_at: None, resend: false };
    Claim { id: id.to_owned(), task: "t".to_owned(), effect: Some(effect), lease: 10.0, ..Claim::default() }
}

/// The same on an effect that may happen again.
pub(super) fn often(id: &str) -> Claim {
    with(once(id, id), |effect| (effect.effect.once, effect.effect.declared) = (false, false))
}

pub(super) fn with(mut claim: Claim, change: impl FnOnce(&mut EffectClaim)) -> Claim {
    change(claim.effect.as_mut().unwrap());
    claim
}

pub(super) fn again(claim: Claim) -> Claim {
    with(claim, |effect| effect.again = true)
}

pub(super) fn at(claim: Claim, target: &str) -> Claim {
    with(claim, |effect| effect.effect.target = Some(target.to_owned()))
}

pub(super) fn end(id: &str, end: EffectEnd) -> Settlement {
    Settlement { id: id.to_owned(), task: "t".to_owned(), effect: Some(end), ..Settlement::default() }
}

pub(super) fn done(id: &str, result: &str) -> Settlement {
    end(id, EffectEnd::Completed { result: Some(result.to_owned()) })
}

pub(super) fn answer(shared: &mut Shared, claim: &Claim, now: f64) -> EffectAnswer {
    let grant = shared.commit(claim, now);
    assert_eq!(grant.taken, grant.effect == Some(EffectAnswer::New));
    grant.effect.unwrap()
}

pub(super) fn unknown(key: &str, since: f64, checked: u64) -> EffectAnswer {
    EffectAnswer::Unknown { since, key: key.to_owned(), verify: None, checked }
}

pub(super) fn completed(at: f64, result: &str) -> EffectAnswer {
    EffectAnswer::Completed { at, result: Some(result.to_owned()) }
}

pub(super) fn resolution(key: &str, landed: Option<bool>) -> Resolution {
    Resolution { key: key.to_owned(), landed, result: None, by: "anna".to_owned() }
}

#[test]
fn an_effect_is_new_then_in_flight_then_completed_with_its_result() {
    let mut shared = Shared::new();
    assert_eq!(answer(&mut shared, &once("a", "k"), 1.0), EffectAnswer::New);
    assert_eq!(answer(&mut shared, &once("b", "k"), 2.0), EffectAnswer::InFlight { since: 1.0 });
    shared.settle(&done("a", "7"), 3.0);
    assert_eq!(answer(&mut shared, &once("c", "k"), 4.0), completed(3.0, "7"));
}

#[test]
fn a_completed_effect_is_forgotten_when_its_time_is_over() {
    let mut shared = Shared::new();
    shared.commit(&once("a", "k"), 0.0);
    shared.settle(&done("a", "7"), 3.0);
    assert_eq!(answer(&mut shared, &once("b", "k"), 102.9), completed(3.0, "7"));
    assert_eq!(answer(&mut shared, &once("c", "k"), 103.0), EffectAnswer::New);
}

#[test]
fn without_a_time_a_completed_effect_is_never_forgotten() {
    let mut shared = Shared::new();
    shared.commit(&with(once("a", "k"), |effect| effect.retain = None), 0.0);
    shared.settle(&done("a", "7"), 3.0);
    shared.sweep(1e12);
    assert_eq!(answer(&mut shared, &once("b", "k"), 1e12), completed(3.0, "7"));
}

#[test]
fn another_call_under_a_declared_key_is_a_conflict_whatever_the_state() {
    let mut shared = Shared::new();
    let other = |id| with(once(id, "k"), |effect| effect.effect.call = "another".to_owned());
    shared.commit(&once("a", "k"), 1.0);
    assert_eq!(answer(&mut shared, &other("b"), 2.0), EffectAnswer::Conflict { since: 1.0 });
    assert_eq!(answer(&mut shared, &again(other("c")), 12.0), EffectAnswer::Conflict { since: 1.0 });
    shared.settle(&done("a", "7"), 13.0);
    assert_eq!(answer(&mut shared, &other("d"), 14.0), EffectAnswer::Conflict { since: 1.0 });
    let undeclared = with(other("e"), |effect| effect.effect.declared = false);
    assert_eq!(answer(&mut shared, &undeclared, 15.0), completed(13.0, "7"));
}

#[test]
fn an_effect_whose_owner_died_is_unknown_from_the_end_of_its_lease_on_and_never_new() {
    let mut shared = Shared::new();
    shared.commit(&once("a", "k"), 1.0);
    assert_eq!(answer(&mut shared, &once("b", "k"), 10.9), EffectAnswer::InFlight { since: 1.0 });
    assert_eq!(answer(&mut shared, &once("c", "k"), 5_000.0), unknown("k", 11.0, 0));
    shared.sweep(1e12);
    assert_eq!(answer(&mut shared, &once("d", "k"), 1e12), unknown("k", 11.0, 0));
}

#[test]
fn a_doubt_tells_of_the_call_that_would_end_it() {
    let mut shared = Shared::new();
    let verify = Some(r#"{"tool":"look","arguments":{}}"#.to_owned());
    shared.commit(&with(once("a", "k"), |effect| effect.effect.verify.clone_from(&verify)), 1.0);
    shared.settle(&end("a", EffectEnd::Unknown), 2.0);
    let doubt = EffectAnswer::Unknown { since: 2.0, key: "k".to_owned(), verify, checked: 0 };
    assert_eq!(answer(&mut shared, &once("b", "k"), 3.0), doubt);
}

#[test]
fn while_an_effect_is_unknown_others_of_its_task_tool_and_target_are_held_back() {
    let mut shared = Shared::new();
    shared.commit(&at(once("a", "k"), "x"), 0.0);
    shared.settle(&end("a", EffectEnd::Unknown), 2.0);
    assert_eq!(answer(&mut shared, &at(once("b", "l"), "x"), 3.0), unknown("k", 2.0, 0));
    assert_eq!(answer(&mut shared, &once("c", "l"), 3.0), unknown("k", 2.0, 0));
    assert_eq!(answer(&mut shared, &at(often("d"), "x"), 3.0), unknown("k", 2.0, 0));
    assert_eq!(answer(&mut shared, &at(once("e", "m"), "y"), 3.0), EffectAnswer::New);
    let other_tool = with(once("f", "n"), |effect| effect.effect.tool = "ship".to_owned());
    assert_eq!(answer(&mut shared, &other_tool, 3.0), EffectAnswer::New);
    let other_task = Claim { task: "u".to_owned(), ..once("g", "o") };
    assert_eq!(answer(&mut shared, &other_task, 3.0), EffectAnswer::New);
}

#[test]
fn one_in_flight_holds_nothing_back_but_its_own_key_until_its_owner_is_dead() {
    let mut shared = Shared::new();
    shared.commit(&once("a", "k"), 0.0);
    assert_eq!(answer(&mut shared, &once("b", "l"), 9.0), EffectAnswer::New);
    assert_eq!(answer(&mut shared, &once("c", "m"), 10.0), unknown("k", 10.0, 0));
}

#[test]
fn effects_that_may_happen_again_do_not_stand_in_each_others_way_and_are_not_remembered() {
    let mut shared = Shared::new();
    assert_eq!(answer(&mut shared, &often("a"), 0.0), EffectAnswer::New);
    assert_eq!(answer(&mut shared, &often("b"), 0.0), EffectAnswer::New);
    shared.settle(&done("a", "1"), 1.0);
    shared.settle(&end("b", EffectEnd::Free), 1.0);
    assert_eq!(shared.entries(), []);
    assert_eq!(answer(&mut shared, &often("c"), 1.0), EffectAnswer::New);
    assert_eq!(answer(&mut shared, &often("d"), 20.0), unknown("c", 11.0, 0));
}

#[test]
fn a_permanent_failure_frees_the_key() {
    let mut shared = Shared::new();
    shared.commit(&once("a", "k"), 0.0);
    shared.settle(&end("a", EffectEnd::Free), 1.0);
    assert_eq!(answer(&mut shared, &once("b", "k"), 1.0), EffectAnswer::New);
}

#[test]
fn a_person_lets_an_effect_in_doubt_run_again_and_its_success_completes_it() {
    let mut shared = Shared::new();
    shared.commit(&once("a", "k"), 0.0);
    shared.settle(&end("a", EffectEnd::Unknown), 1.0);
    assert_eq!(answer(&mut shared, &again(once("b", "k")), 2.0), EffectAnswer::New);
    assert_eq!(answer(&mut shared, &again(once("c", "k")), 3.0), EffectAnswer::InFlight { since: 2.0 });
    shared.settle(&done("b", "7"), 4.0);
    assert_eq!(answer(&mut shared, &again(once("d", "k")), 5.0), completed(4.0, "7"));
}

#[test]
fn a_second_attempt_that_fails_leaves_the_doubt_about_the_first() {
    let mut shared = Shared::new();
    shared.commit(&once("a", "k"), 0.0);
    shared.settle(&end("a", EffectEnd::Unknown), 1.0);
    shared.commit(&again(once("b", "k")), 2.0);
    shared.settle(&end("b", EffectEnd::Free), 3.0);
    assert_eq!(answer(&mut shared, &once("c", "k"), 4.0), unknown("k", 1.0, 0));
    shared.commit(&again(once("d", "k")), 5.0);
    shared.release("d", "t", 6.0);
    assert_eq!(answer(&mut shared, &once("e", "k"), 7.0), unknown("k", 1.0, 0));
}

#[test]
fn a_success_in_spite_of_another_keys_doubt_leaves_that_key_alone_in_doubt() {
    let mut shared = Shared::new();
    shared.commit(&once("a", "k"), 0.0);
    shared.settle(&end("a", EffectEnd::Unknown), 1.0);
    assert_eq!(answer(&mut shared, &again(once("b", "l")), 2.0), EffectAnswer::New);
    assert_eq!(answer(&mut shared, &once("c", "m"), 3.0), unknown("k", 1.0, 0));
    shared.settle(&done("b", "7"), 4.0);
    assert_eq!(answer(&mut shared, &once("d", "m"), 5.0), EffectAnswer::New);
    assert_eq!(answer(&mut shared, &once("e", "k"), 6.0), unknown("k", 1.0, 0));
}

#[test]
fn a_success_in_spite_of_a_doubt_without_a_key_ends_it() {
    let mut shared = Shared::new();
    shared.commit(&often("a"), 0.0);
    shared.settle(&end("a", EffectEnd::Unknown), 1.0);
    shared.commit(&again(often("b")), 2.0);
    shared.settle(&done("b", "7"), 3.0);
    assert_eq!(shared.entries(), []);
}

#[test]
fn what_is_found_out_ends_a_doubt() {
    let mut shared = Shared::new();
    for (n, key) in ["k", "l", "m"].into_iter().enumerate() {
        shared.commit(&at(once(key, key), &n.to_string()), 0.0);
    }
    assert!(!shared.resolve(&resolution("k", Some(false)), 5.0), "it is still in flight");
    for key in ["k", "m"] {
        assert!(shared.resolve(&resolution(key, None), 20.0));
    }
    assert!(shared.resolve(&resolution("k", Some(false)), 21.0));
    assert!(shared.resolve(&Resolution { result: Some("7".to_owned()), ..resolution("l", Some(true)) }, 21.0));
    assert!(!shared.resolve(&resolution("k", Some(false)), 22.0), "there is no doubt any more");
    assert!(!shared.resolve(&resolution("l", Some(false)), 22.0), "there is no doubt any more");
    assert_eq!(answer(&mut shared, &at(once("x", "k"), "0"), 22.0), EffectAnswer::New);
    assert_eq!(answer(&mut shared, &at(once("y", "l"), "1"), 22.0), completed(21.0, "7"));
    assert_eq!(answer(&mut shared, &at(once("z", "m"), "2"), 22.0), unknown("m", 10.0, 1));
}

#[test]
fn a_settlement_ends_doubts_with_what_its_call_found_out() {
    let mut shared = Shared::new();
    shared.commit(&once("a", "k"), 0.0);
    shared.settle(&end("a", EffectEnd::Unknown), 1.0);
    let looked = |id: &str, landed| Settlement {
        id: id.to_owned(),
        task: "t".to_owned(),
        resolve: vec![resolution("k", landed)],
        ..Settlement::default()
    };
    for _ in 0..3 {
        shared.settle(&looked("v", None), 2.0);
    }
    assert_eq!(answer(&mut shared, &once("b", "k"), 3.0), unknown("k", 1.0, 1));
    shared.settle(&looked("w", Some(false)), 4.0);
    assert_eq!(answer(&mut shared, &once("c", "k"), 5.0), EffectAnswer::New);
}

#[test]
fn an_owner_that_comes_late_ends_its_own_doubt_and_nobody_elses() {
    let mut shared = Shared::new();
    shared.commit(&once("a", "k"), 0.0);
    shared.sweep(20.0);
    shared.settle(&done("a", "7"), 21.0);
    assert_eq!(answer(&mut shared, &once("b", "k"), 22.0), completed(21.0, "7"));

    shared.commit(&once("c", "l"), 30.0);
    shared.commit(&again(once("d", "l")), 41.0);
    shared.settle(&done("c", "8"), 42.0);
    assert_eq!(answer(&mut shared, &once("e", "l"), 43.0), EffectAnswer::InFlight { since: 41.0 });
}

#[test]
fn an_owner_that_completes_after_its_doubt_was_ended_as_absent_is_believed() {
    let mut shared = Shared::new();
    shared.commit(&once("a", "k"), 0.0);
    shared.resolve(&resolution("k", Some(false)), 20.0);
    shared.settle(&done("a", "7"), 21.0);
    assert_eq!(answer(&mut shared, &once("b", "k"), 22.0), completed(21.0, "7"));
}

#[test]
fn an_owner_that_fails_late_frees_nothing_that_a_person_has_ended_as_landed() {
    let mut shared = Shared::new();
    shared.commit(&once("a", "k"), 0.0);
    shared.resolve(&resolution("k", Some(true)), 20.0);
    shared.settle(&end("a", EffectEnd::Free), 21.0);
    assert_eq!(answer(&mut shared, &once("b", "k"), 22.0), EffectAnswer::Completed { at: 20.0, result: None });
}

#[test]
fn an_effect_of_which_its_call_says_nothing_is_unknown() {
    let mut shared = Shared::new();
    shared.commit(&once("a", "k"), 0.0);
    shared.settle(&Settlement { id: "a".to_owned(), task: "t".to_owned(), ..Settlement::default() }, 1.0);
    assert_eq!(answer(&mut shared, &once("b", "k"), 2.0), unknown("k", 1.0, 0));
}

/// A claim of task `t` on everything: a call of two, the ledger, a breaker that one failure opens, a denial.
fn all(id: &str, key: &str) -> Claim {
    let amounts = vec![Amount { counter: "tool_calls".to_owned(), amount: 1.0, limit: Some(2.0) }];
    let breaker = BreakerClaim { name: "tool:pay".to_owned(), failures: 1, open_for: 30.0, probes: 1 };
    Claim { amounts, breakers: vec![breaker], denials: vec!["d".to_owned()], ..once(id, key) }
}

fn counts(calls: f64) -> std::collections::BTreeMap<String, f64> {
    std::iter::once(("tool_calls".to_owned(), calls)).collect()
}

fn says(id: &str, end: BreakerEnd) -> Settlement {
    let effect = EffectEnd::Free;
    Settlement { breakers: vec![("tool:pay".to_owned(), end)], ..self::end(id, effect) }
}

#[test]
fn where_one_part_is_missing_nothing_is_taken() {
    let deny =
        Settlement { id: "n".to_owned(), task: "t".to_owned(), deny: vec!["d".to_owned()], ..Settlement::default() };
    let full = Settlement { amounts: all("", "").amounts, ..end("n", EffectEnd::Free) };
    let full = Settlement { amounts: vec![Amount { amount: 2.0, ..full.amounts[0].clone() }], ..full };
    let mut cases: Vec<(&str, Shared, Grant)> = Vec::new();
    let refused = Grant { id: "c".to_owned(), effect: Some(EffectAnswer::New), ..Grant::default() };

    let mut shared = Shared::new();
    shared.settle(&deny, 0.0);
    cases.push(("denied", shared, Grant { denied: Some("d".to_owned()), ..refused.clone() }));

    let mut shared = Shared::new();
    shared.settle(&full, 0.0);
    let short = vec!["tool_calls".to_owned()];
    cases.push(("short", shared, Grant { short, counts: counts(2.0), ..refused.clone() }));

    let mut shared = Shared::new();
    shared.commit(&once("o", "k"), 0.0);
    let effect = Some(EffectAnswer::InFlight { since: 0.0 });
    cases.push(("in flight", shared, Grant { effect, ..refused.clone() }));

    let mut shared = Shared::new();
    shared.commit(&Claim { amounts: Vec::new(), ..all("o", "l") }, 0.0);
    shared.settle(&says("o", BreakerEnd::Failure), 0.0);
    let open = vec![OpenBreaker { name: "tool:pay".to_owned(), retry_after: 29.0, probing: false }];
    cases.push(("open", shared, Grant { open, ..refused }));

    for (name, mut shared, expected) in cases {
        let entries = shared.entries();
        assert_eq!(shared.commit(&all("c", "k"), 1.0), expected, "{name}");
        assert_eq!((shared.counters("t"), shared.entries()), (expected.counts, entries), "{name}");
    }
}

#[test]
fn everything_that_speaks_against_a_claim_is_told_at_once() {
    let mut shared = Shared::new();
    let deny = Settlement { deny: vec!["d".to_owned()], ..says("n", BreakerEnd::Neither) };
    shared.commit(&all("a", "k"), 0.0);
    shared.commit(&all("b", "l"), 0.0);
    shared.settle(&says("b", BreakerEnd::Failure), 0.0);
    shared.settle(&deny, 0.0);
    let expected = Grant {
        id: "c".to_owned(),
        taken: false,
        short: vec!["tool_calls".to_owned()],
        counts: counts(2.0),
        effect: Some(EffectAnswer::InFlight { since: 0.0 }),
        open: vec![OpenBreaker { name: "tool:pay".to_owned(), retry_after: 29.0, probing: false }],
        denied: Some("d".to_owned()),
    };
    assert_eq!(shared.commit(&all("c", "k"), 1.0), expected);
}

#[test]
fn released_gives_everything_back() {
    let mut shared = Shared::new();
    shared.commit(&all("a", "k"), 0.0);
    shared.settle(&says("a", BreakerEnd::Failure), 0.0);
    assert!(shared.commit(&all("p", "k"), 30.0).taken, "the probe");
    shared.release("p", "t", 31.0);
    assert_eq!((shared.counters("t"), shared.entries()), (counts(1.0), vec![]));
    assert!(shared.commit(&all("q", "k"), 31.0).taken, "the probe once more");
}

#[test]
fn what_was_taken_is_given_back_to_its_task_whatever_task_is_named() {
    let mut shared = Shared::new();
    shared.commit(&all("a", "k"), 0.0);
    shared.release("a", "u", 1.0);
    assert_eq!((shared.counters("t"), shared.counters("u")), (counts(0.0), std::collections::BTreeMap::new()));
}

#[test]
fn what_a_dead_owner_held_is_spent() {
    let mut shared = Shared::new();
    shared.commit(&all("a", "k"), 0.0);
    shared.sweep(1e9);
    assert_eq!(shared.counters("t"), counts(1.0));
}

#[test]
fn every_message_counts_once_however_often_it_comes() {
    let mut shared = Shared::new();
    let first = shared.commit(&all("a", "k"), 0.0);
    assert_eq!(shared.commit(&all("a", "k"), 1.0), first);
    let usage = Amount { counter: "tokens".to_owned(), amount: 5.0, limit: None };
    let settlement = Settlement { amounts: vec![usage], ..done("a", "7") };
    assert!(shared.settle(&settlement, 2.0));
    assert!(!shared.settle(&settlement, 3.0));
    assert!(!shared.release("a", "t", 4.0));
    let counts = [("tokens", 5.0), ("tool_calls", 1.0)].map(|(name, count)| (name.to_owned(), count));
    assert_eq!(shared.counters("t"), counts.into_iter().collect());
    assert_eq!(answer(&mut shared, &once("b", "k"), 5.0), completed(2.0, "7"));
}

#[test]
fn a_refused_claim_stays_refused_under_its_id() {
    let mut shared = Shared::new();
    shared.commit(&once("a", "k"), 0.0);
    let refused = shared.commit(&once("b", "k"), 1.0);
    shared.settle(&end("a", EffectEnd::Free), 2.0);
    assert_eq!(shared.commit(&once("b", "k"), 3.0), refused);
    assert!(shared.commit(&once("c", "k"), 3.0).taken);
}

#[test]
fn a_claim_that_ended_before_it_came_takes_nothing() {
    let mut shared = Shared::new();
    assert!(shared.release("a", "t", 0.0));
    let late = shared.commit(&all("a", "k"), 1.0);
    assert_eq!((late.taken, shared.entries(), shared.counters("t").len()), (false, vec![], 0));
}

#[test]
fn who_hears_of_its_grant_only_after_the_lease_is_told_that_it_is_over() {
    let mut shared = Shared::new();
    assert!(shared.commit(&once("a", "k"), 0.0).taken);
    assert_eq!(answer(&mut shared, &once("a", "k"), 10.0), unknown("k", 10.0, 0));
}

#[test]
fn a_forced_claim_is_answered_alike_and_takes_what_it_can() {
    let mut shared = Shared::new();
    for id in ["a", "b"] {
        shared.commit(&all(id, id), 0.0);
    }
    let forced = |id, key| Claim { forced: true, ..all(id, key) };
    let grant = shared.commit(&forced("c", "a"), 1.0);
    assert_eq!((grant.taken, grant.counts), (false, counts(3.0)));
    assert_eq!(grant.effect, Some(EffectAnswer::InFlight { since: 0.0 }));
    let grant = shared.commit(&forced("d", "k"), 1.0);
    assert_eq!((grant.taken, grant.short.as_slice()), (false, ["tool_calls".to_owned()].as_slice()));
    shared.settle(&done("c", "of c"), 2.0);
    shared.settle(&done("d", "of d"), 2.0);
    assert_eq!(answer(&mut shared, &once("x", "a"), 3.0), EffectAnswer::InFlight { since: 0.0 });
    assert_eq!(answer(&mut shared, &once("y", "k"), 3.0), completed(2.0, "of d"));
}

#[test]
fn a_denial_stays_until_it_is_lifted_and_is_its_tasks_alone() {
    let mut shared = Shared::new();
    let say = |id: &str| Settlement { id: id.to_owned(), task: "t".to_owned(), ..Settlement::default() };
    shared.settle(&Settlement { deny: vec!["d".to_owned(), "e".to_owned()], ..say("1") }, 0.0);
    let claim = |id: &str, task: &str| Claim { task: task.to_owned(), effect: None, ..all(id, "") };
    assert_eq!(shared.commit(&claim("a", "t"), 1.0).denied.as_deref(), Some("d"));
    assert_eq!(shared.commit(&claim("b", "u"), 1.0).denied, None);
    shared.settle(&Settlement { lift: vec!["d".to_owned()], ..say("2") }, 2.0);
    assert_eq!(shared.commit(&claim("c", "t"), 3.0).denied, None);
}

#[test]
fn what_is_saved_is_there_again_and_what_was_out_is_unknown() {
    let mut shared = Shared::new();
    shared.commit(&all("a", "k"), 0.0);
    shared.commit(&all("b", "l"), 0.0);
    shared.settle(&done("a", "7"), 1.0);
    shared.settle(&Settlement { deny: vec!["d".to_owned()], ..end("n", EffectEnd::Free) }, 1.0);
    shared.lose("t", 2.0);
    let text = serde_json::to_string(&shared).unwrap();
    let mut back: Shared = serde_json::from_str(&text).unwrap();
    assert_eq!(serde_json::to_string(&back).unwrap(), text);
    let grant = back.commit(&all("c", "l"), 3.0);
    assert_eq!((grant.effect, grant.denied.as_deref()), (Some(unknown("l", 2.0, 0)), Some("d")));
    assert_eq!(grant.counts, counts(2.0));
}

#[test]
fn entries_are_put_back_only_where_there_are_none() {
    let mut shared = Shared::new();
    shared.commit(&once("a", "k"), 0.0);
    shared.commit(&Claim { task: "u".to_owned(), ..once("b", "l") }, 0.0);
    shared.lose("t", 1.0);
    let carried = shared.entries_of("t");
    assert_eq!(carried.iter().map(|entry| entry.effect.key.as_str()).collect::<Vec<_>>(), ["k"]);

    let mut other = Shared::new();
    other.restore(carried.clone());
    assert_eq!(answer(&mut other, &once("c", "m"), 2.0), unknown("k", 1.0, 0));
    other.resolve(&resolution("k", Some(true)), 3.0);
    other.restore(carried);
    assert_eq!(answer(&mut other, &once("d", "k"), 4.0), EffectAnswer::Completed { at: 3.0, result: None });
}

#[test]
fn the_tables_keep_their_bounds_and_what_is_in_doubt_is_never_forgotten() {
    let mut shared = Shared::new();
    shared.commit(&at(once("u", "doubt"), "u"), 0.0);
    shared.settle(&end("u", EffectEnd::Unknown), 0.0);
    for n in 0..5_000 {
        let id = format!("c{n}");
        let forever = with(at(once(&id, &id), &id), |effect| effect.retain = None);
        shared.commit(&Claim { task: id.clone(), amounts: all("", "").amounts, ..forever }, f64::from(n));
        shared.settle(&Settlement { task: id.clone(), ..done(&id, "7") }, f64::from(n));
        let refused = shared.commit(&at(once(&format!("r{n}"), "doubt"), "u"), f64::from(n));
        assert!(!refused.taken);
    }
    let sizes = [shared.entries.len(), shared.holds.len(), shared.tasks.len(), shared.ended.len()];
    // a table is looked through once as many operations were done as there are rows
    let most = 4 * (EFFECTS + ENDED_CLAIMS + SHARED_TASKS);
    assert!(sizes.iter().all(|size| *size <= most), "{sizes:?}");
    assert_eq!(answer(&mut shared, &once("z", "doubt"), 5_000.0), unknown("doubt", 0.0, 0));
    assert_eq!(shared.blocking.len(), 1);
}
