//! What becomes of an effect whose call was given up, is in doubt since, and brings something after all.
use super::tests::{again, answer, at, completed, done, end, often, once, resolution, unknown, with};
use super::{Claim, EffectAnswer, EffectEnd, EntryState, LateEnd, LateWord, Settlement, Shared};

/// What the call of a claim brings late, under an id of its own.
fn late(claim: &Claim, end: EffectEnd) -> Settlement {
    let (owner, effect) = (claim.id.clone(), claim.effect.clone().unwrap());
    let late = Some(Box::new(LateEnd { owner, effect, end }));
    Settlement { id: format!("late {}", claim.id), task: claim.task.clone(), late, ..Settlement::default() }
}

fn landed(claim: &Claim, result: &str) -> Settlement {
    late(claim, EffectEnd::Completed { result: Some(result.to_owned()) })
}

/// An effect in doubt since 2.0.
fn doubted(claim: &Claim) -> Shared {
    let mut shared = Shared::new();
    shared.commit(claim, 1.0);
    shared.settle(&end(&claim.id, EffectEnd::Unknown), 2.0);
    shared
}

fn word(shared: &Shared) -> Vec<(EntryState, Option<LateWord>)> {
    shared.entries().into_iter().map(|entry| (entry.state, entry.late)).collect()
}

#[test]
fn a_doubt_ends_with_what_its_call_brings_after_all_and_once() {
    let a = once("a", "k");
    let mut shared = doubted(&a);
    assert!(shared.settle(&landed(&a, "7"), 3.0));
    assert!(!shared.settle(&landed(&a, "8"), 4.0));
    assert_eq!(answer(&mut shared, &once("b", "k"), 5.0), completed(3.0, "7"));
    assert_eq!(word(&shared), [(EntryState::Completed, None)]);
}

#[test]
fn a_call_that_did_not_happen_after_all_frees_its_key() {
    let a = once("a", "k");
    let mut shared = doubted(&a);
    shared.settle(&late(&a, EffectEnd::Free), 3.0);
    assert_eq!(answer(&mut shared, &once("b", "k"), 4.0), EffectAnswer::New);
}

#[test]
fn the_doubt_of_an_effect_that_may_happen_again_is_over_either_way() {
    for brought in [EffectEnd::Free, EffectEnd::Completed { result: None }] {
        let a = often("a");
        let mut shared = doubted(&a);
        shared.settle(&late(&a, brought), 3.0);
        assert_eq!((shared.entries(), answer(&mut shared, &often("b"), 4.0)), (vec![], EffectAnswer::New));
    }
}

#[test]
fn a_call_that_says_nothing_late_leaves_the_doubt() {
    let a = once("a", "k");
    let mut shared = doubted(&a);
    shared.settle(&late(&a, EffectEnd::Unknown), 3.0);
    assert_eq!(answer(&mut shared, &once("b", "k"), 4.0), unknown("k", 2.0, 0));
}

#[test]
fn what_a_person_found_out_stands_and_a_word_against_it_is_noted() {
    let a = once("a", "k");
    let mut shared = doubted(&a);
    shared.resolve(&resolution("k", Some(true)), 3.0);
    shared.settle(&late(&a, EffectEnd::Free), 4.0);
    assert_eq!(word(&shared), [(EntryState::Completed, Some(LateWord { at: 4.0, landed: false }))]);
    assert_eq!(answer(&mut shared, &once("b", "k"), 5.0), EffectAnswer::Completed { at: 3.0, result: None });
}

#[test]
fn what_was_found_to_have_happened_gets_the_result_that_comes_late() {
    let a = once("a", "k");
    let mut shared = doubted(&a);
    shared.resolve(&resolution("k", Some(true)), 3.0);
    shared.settle(&landed(&a, "7"), 4.0);
    assert_eq!(answer(&mut shared, &once("b", "k"), 5.0), completed(3.0, "7"));
    assert_eq!(word(&shared), [(EntryState::Completed, None)]);
}

#[test]
fn what_was_called_absent_and_happened_is_never_done_again_and_that_is_noted() {
    let a = once("a", "k");
    let mut shared = doubted(&a);
    shared.resolve(&resolution("k", Some(false)), 3.0);
    shared.settle(&landed(&a, "7"), 4.0);
    assert_eq!(answer(&mut shared, &once("b", "k"), 5.0), completed(4.0, "7"));
    assert_eq!(word(&shared), [(EntryState::Completed, Some(LateWord { at: 4.0, landed: true }))]);
}

#[test]
fn an_attempt_that_runs_by_now_is_left_alone_and_frees_nothing_when_it_fails() {
    let a = once("a", "k");
    let mut shared = doubted(&a);
    shared.resolve(&resolution("k", Some(false)), 3.0);
    assert_eq!(answer(&mut shared, &once("b", "k"), 4.0), EffectAnswer::New);
    shared.settle(&landed(&a, "7"), 5.0);
    assert_eq!(word(&shared), [(EntryState::InFlight, Some(LateWord { at: 5.0, landed: true }))]);
    shared.settle(&end("b", EffectEnd::Free), 6.0);
    assert_eq!(answer(&mut shared, &once("c", "k"), 7.0), completed(6.0, "7"));
}

#[test]
fn an_attempt_that_fails_late_frees_nothing_that_the_one_before_it_has_done() {
    let a = once("a", "k");
    let mut shared = doubted(&a);
    shared.resolve(&resolution("k", Some(false)), 3.0);
    let b = once("b", "k");
    assert_eq!(answer(&mut shared, &b, 4.0), EffectAnswer::New);
    shared.settle(&landed(&a, "7"), 5.0);
    shared.settle(&end("b", EffectEnd::Unknown), 6.0);
    shared.settle(&late(&b, EffectEnd::Free), 7.0);
    assert_eq!(answer(&mut shared, &once("c", "k"), 8.0), completed(7.0, "7"));
}

#[test]
fn an_attempt_that_succeeds_beside_it_keeps_its_own_result_and_the_word() {
    let a = once("a", "k");
    let mut shared = doubted(&a);
    shared.resolve(&resolution("k", Some(false)), 3.0);
    shared.commit(&once("b", "k"), 4.0);
    shared.settle(&landed(&a, "7"), 5.0);
    shared.settle(&done("b", "8"), 6.0);
    assert_eq!(answer(&mut shared, &once("c", "k"), 7.0), completed(6.0, "8"));
    assert_eq!(word(&shared), [(EntryState::Completed, Some(LateWord { at: 5.0, landed: true }))]);
}

#[test]
fn the_doubt_about_another_attempt_is_not_ended_by_one_that_did_not_happen() {
    let a = once("a", "k");
    let mut shared = doubted(&a);
    let b = again(once("b", "k"));
    assert_eq!(answer(&mut shared, &b, 3.0), EffectAnswer::New);
    shared.settle(&end("b", EffectEnd::Unknown), 4.0);
    shared.settle(&late(&a, EffectEnd::Free), 5.0);
    assert_eq!(answer(&mut shared, &once("c", "k"), 6.0), unknown("k", 4.0, 0));
    // of `b` it is known now, of `a` it is not, for all that the ledger keeps of it
    shared.settle(&late(&b, EffectEnd::Free), 7.0);
    assert_eq!(answer(&mut shared, &once("d", "k"), 8.0), unknown("k", 2.0, 0));
}

#[test]
fn under_a_key_that_the_tool_takes_a_late_answer_to_the_first_sending_is_no_conflict() {
    let resent = |id| with(once(id, "k"), |effect| effect.resend = true);
    let a = resent("a");
    let mut shared = doubted(&a);
    assert_eq!(answer(&mut shared, &resent("b"), 3.0), EffectAnswer::New);
    shared.settle(&landed(&a, "7"), 4.0);
    assert_eq!(word(&shared), [(EntryState::InFlight, None)]);
}

#[test]
fn what_ran_in_spite_of_a_doubt_and_succeeds_late_leaves_the_doubt_to_its_own_key() {
    let mut shared = doubted(&at(once("a", "k"), "x"));
    let b = at(again(once("b", "l")), "x");
    assert_eq!(answer(&mut shared, &b, 3.0), EffectAnswer::New);
    shared.settle(&end("b", EffectEnd::Unknown), 4.0);
    shared.settle(&landed(&b, "7"), 5.0);
    assert_eq!(answer(&mut shared, &at(once("c", "m"), "x"), 6.0), EffectAnswer::New);
    assert_eq!(answer(&mut shared, &at(once("d", "k"), "x"), 6.0), unknown("k", 2.0, 0));
}

#[test]
fn a_yes_that_was_said_before_is_none_to_what_came_into_doubt_since() {
    let said = |id, key, at| with(again(once(id, key)), |effect| effect.again_at = Some(at));
    let mut shared = doubted(&once("a", "k"));
    assert_eq!(answer(&mut shared, &said("b", "k", 1.9), 3.0), unknown("k", 2.0, 0));
    assert_eq!(answer(&mut shared, &said("c", "l", 1.9), 3.0), unknown("k", 2.0, 0));
    assert_eq!(answer(&mut shared, &said("d", "k", 2.0), 3.0), EffectAnswer::New);
}
