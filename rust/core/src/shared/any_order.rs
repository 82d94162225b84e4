//! What holds whatever comes in whatever order: claims, ends, releases, owners that die, messages that come twice, a clock that
//! jumps. Random runs from fixed seeds, beside a plain account of who was told what.
use std::collections::BTreeMap;

use super::{
    Amount, BreakerClaim, BreakerEnd, Claim, EffectAnswer, EffectClaim, EffectEnd, EffectKey, Resolution, Settlement,
    Shared,
};

const LEASE: f64 = 20.0;
const LIMIT: f64 = 40.0;
const PROBES: usize = 2;

/// Marsaglia, *Xorshift RNGs* (2003).
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

#[derive(Clone)]
enum Message {
    Commit(Claim),
    Settle(Settlement),
    Release(String),
    Resolve(Resolution),
}

/// What a caller was told and has done since.
#[derive(Clone)]
struct Told {
    key: String,
    until: f64,
    amount: f64,
    ended: bool,
    released: bool,
    /// Its lease was over at some time, even if the clock was set back since.
    dead: bool,
}

fn claim(random: &mut Random, n: usize) -> Claim {
    let key = format!("k{}", random.below(5));
    let effect = EffectKey {
        call: format!("call of {key}"),
        tool: "pay".to_owned(),
        target: Some(key.clone()),
        declared: true,
        once: true,
        key,
        verify: None,
    };
    let amount = [0.5, 1.0, 3.0][usize::try_from(random.below(3)).unwrap()];
    Claim {
        id: format!("c{n}"),
        task: "t".to_owned(),
        amounts: vec![Amount { counter: "tool_calls".to_owned(), amount, limit: Some(LIMIT) }],
        effect: Some(EffectClaim { effect, retain: None, again: random.below(4) == 0, again_at: None, resend: false }),
        breakers: vec![BreakerClaim {
            name: "tool:pay".to_owned(),
            failures: 2,
            open_for: 10.0,
            probes: PROBES as u64,
        }],
        denials: Vec::new(),
        lease: LEASE,
        forced: false,
    }
}

fn settlement(random: &mut Random, id: &str) -> Settlement {
    let pick = |of: u64| usize::try_from(of).unwrap();
    let ends = [EffectEnd::Completed { result: None }, EffectEnd::Free, EffectEnd::Free, EffectEnd::Unknown];
    let says = [BreakerEnd::Success, BreakerEnd::Failure, BreakerEnd::Failure, BreakerEnd::Neither];
    Settlement {
        id: id.to_owned(),
        task: "t".to_owned(),
        effect: Some(ends[pick(random.below(4))].clone()),
        breakers: vec![("tool:pay".to_owned(), says[pick(random.below(4))])],
        ..Settlement::default()
    }
}

fn send(shared: &mut Shared, message: &Message, now: f64) -> Option<super::Grant> {
    match message {
        Message::Commit(claim) => return Some(shared.commit(claim, now)),
        Message::Settle(settlement) => shared.settle(settlement, now),
        Message::Release(id) => shared.release(id, "t", now),
        Message::Resolve(resolution) => shared.resolve(resolution, now),
    };
    None
}

/// One random run; what was met in it, so that the test can say that it met everything.
fn run(seed: u64, backwards: bool) -> BTreeMap<&'static str, u32> {
    let mut random = Random(seed);
    let mut shared = Shared::new();
    let mut told: BTreeMap<String, Told> = BTreeMap::new();
    let mut completed: Vec<String> = Vec::new();
    let mut sent: Vec<Message> = Vec::new();
    let mut met: BTreeMap<&'static str, u32> = BTreeMap::new();
    let mut now = 1_000.0;
    for n in 0..400 {
        now += [0.0, 1.0, 5.0][usize::try_from(random.below(3)).unwrap()];
        if random.below(60) == 0 {
            now += if backwards && random.below(2) == 0 { -300.0 } else { 30.0 };
        }
        told.values_mut().for_each(|it| it.dead |= it.until <= now);
        let live: Vec<String> = told.iter().filter(|(_, it)| !it.ended).map(|(id, _)| id.clone()).collect();
        let some =
            |random: &mut Random| live.get(usize::try_from(random.below(64)).unwrap() % live.len().max(1)).cloned();
        let (kind, owner) = (random.below(10), some(&mut random));
        let message = match (kind, owner) {
            (0..=4, _) | (_, None) => Message::Commit(claim(&mut random, n)),
            (5..=6, Some(id)) => Message::Settle(settlement(&mut random, &id)),
            (7, Some(id)) => Message::Release(id),
            _ => {
                let landed = [Some(true), Some(false), None][usize::try_from(random.below(3)).unwrap()];
                let key = format!("k{}", random.below(5));
                Message::Resolve(Resolution { key, landed, result: None, by: "anna".to_owned() })
            }
        };
        let doubted: Vec<String> =
            shared.entries().into_iter().filter(|entry| entry.in_doubt(now)).map(|entry| entry.effect.key).collect();
        let grant = send(&mut shared, &message, now);
        match &message {
            Message::Commit(claim) => {
                let (grant, effect) = (grant.unwrap(), claim.effect.as_ref().unwrap());
                let key = &effect.effect.key;
                *met.entry(match &grant.effect {
                    Some(EffectAnswer::New) => "new",
                    Some(EffectAnswer::InFlight { .. }) => "in flight",
                    Some(EffectAnswer::Completed { .. }) => "completed",
                    Some(EffectAnswer::Unknown { .. }) => "unknown",
                    _ => panic!("{grant:?}"),
                })
                .or_default() += 1;
                *met.entry(if grant.short.is_empty() { "enough" } else { "short" }).or_default() += 1;
                for open in &grant.open {
                    *met.entry(if open.probing { "probing" } else { "open" }).or_default() += 1;
                }
                if grant.taken {
                    let others = told.values().filter(|it| it.key == *key && !it.ended && !it.dead);
                    assert_eq!(others.count(), 0, "seed {seed}: two live owners of {key}");
                    assert!(!completed.contains(key), "seed {seed}: {key} happened, and was begun again");
                    assert!(effect.again || !doubted.contains(key), "seed {seed}: {key} begun while in doubt");
                    let (until, amount) = (now + LEASE, claim.amounts[0].amount);
                    let it = Told { key: key.clone(), until, amount, ended: false, released: false, dead: false };
                    told.insert(claim.id.clone(), it);
                }
            }
            Message::Settle(settlement) => {
                let it = told.get_mut(&settlement.id).unwrap();
                it.ended = true;
                if matches!(settlement.effect, Some(EffectEnd::Completed { .. })) {
                    let owner = shared.entries().into_iter().find(|entry| entry.effect.key == it.key);
                    // who took it over after the lease answers for it now
                    if owner.is_some_and(|entry| entry.owner == settlement.id) {
                        completed.push(it.key.clone());
                    }
                }
            }
            Message::Release(id) => {
                let it = told.get_mut(id).unwrap();
                (it.ended, it.released) = (true, true);
            }
            Message::Resolve(resolution) => {
                if resolution.landed == Some(true) && doubted.contains(&resolution.key) {
                    completed.push(resolution.key.clone());
                }
            }
        }
        sent.push(message);
        // so late, at most, that its id is still known
        let back = usize::try_from(random.below(20)).unwrap();
        let again = sent[sent.len().saturating_sub(1 + back)].clone();
        if !matches!(again, Message::Resolve(_)) {
            send(&mut shared, &again, now);
        }

        let spent: f64 = told.values().filter(|it| !it.released).map(|it| it.amount).sum();
        let stands = shared.counters("t").get("tool_calls").copied().unwrap_or(0.0);
        assert!((stands - spent).abs() < 1e-9, "seed {seed}: {stands} counted, {spent} told");
        assert!(stands <= LIMIT, "seed {seed}: {stands} of {LIMIT}");
        let probing = shared.probes("tool:pay", now);
        assert!(probing <= PROBES, "seed {seed}: {probing} probes");
        *met.entry("probes at most").or_default() += u32::from(probing == PROBES);
    }
    met
}

#[test]
fn one_live_owner_a_key_no_counter_over_its_limit_and_no_probe_too_many() {
    let mut met: BTreeMap<&'static str, u32> = BTreeMap::new();
    for seed in 1..=60 {
        for (situation, count) in run(u64::wrapping_mul(seed, 0x9E37_79B9_7F4A_7C15), seed % 2 == 0) {
            *met.entry(situation).or_default() += count;
        }
    }
    let all = ["completed", "enough", "in flight", "new", "open", "probes at most", "probing", "short", "unknown"];
    assert_eq!(met.keys().copied().collect::<Vec<_>>(), all, "{met:?}");
}
