//! Effects in doubt and the calls that find out about them.
use std::sync::Arc;

use callgate_cel::Val;
use callgate_value::{read_json, SymbolKey, Value};
use rustc_hash::FxHashMap;

use super::prepare::EffectScope;
use super::settle::kept;
use super::{Holding, Verification};
use crate::call::Call;
use crate::expression::{Expression, Scope};
use crate::identify::tool_of;
use crate::outcome::{Judged, Outcome};
use crate::policy::{ErrorClass, Policy, Tool};
use crate::reading::{Readable, Reading};
use crate::shared::{EffectAnswer, Resolution};
use crate::task::{Out, Task};

/// Doubts that a task keeps; past it the older half can only be ended by a person.
const MOST: usize = 16_384;

/// An effect of which nobody knows, and what would tell.
#[derive(Clone, Debug)]
struct Doubt {
    key: String,
    /// The tool in doubt, in its form.
    tool: Arc<Tool>,
    arguments: Arc<Value>,
    /// The call that finds out.
    verification: Verification,
    since: f64,
    checked: u64,
}

/// The doubts that a task knows, by the exact identity of the call that would end them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Doubts {
    by_call: FxHashMap<u64, Vec<Doubt>>,
    count: usize,
}

impl Doubts {
    fn add(&mut self, key: &SymbolKey, doubt: Doubt) {
        let verification = &doubt.verification;
        let Ok(symbol) = key.call(&verification.tool, &verification.arguments) else { return };
        self.end(&doubt.key);
        if self.count >= MOST {
            self.by_call.clear();
            self.count = 0;
        }
        self.by_call.entry(symbol.0).or_default().push(doubt);
        self.count = self.count.saturating_add(1);
    }

    fn find(&self, key: &str) -> Option<&Doubt> {
        self.by_call.values().flatten().find(|doubt| doubt.key == key)
    }

    /// It is known what became of an effect.
    pub(crate) fn end(&mut self, key: &str) {
        if self.find(key).is_none() {
            return;
        }
        self.by_call.retain(|_, doubts| {
            doubts.retain(|doubt| doubt.key != key);
            !doubts.is_empty()
        });
        self.count = self.by_call.values().map(Vec::len).sum();
    }
}

impl Doubt {
    fn may_ask(&self) -> bool {
        self.tool.verify.as_ref().is_some_and(|verify| self.checked < verify.attempts)
    }

    /// The call that would tell, and how long to wait for it.
    fn proposal(&self, now: f64) -> Option<Verification> {
        let wait = (self.since + self.verification.after - now).max(0.0);
        self.may_ask().then(|| Verification { after: wait, ..self.verification.clone() })
    }
}

/// The variables of `landed_when` and `absent_when`: those of the call in doubt, and what the verifying call brought.
struct Answered<'a> {
    doubt: EffectScope<'a>,
    result: &'a Readable<'a>,
    error: &'a Value,
}

impl Scope for Answered<'_> {
    fn data(&self, name: &str) -> Option<&Value> {
        match name {
            "result" => self.result.whole(),
            "error" => Some(self.error),
            _ => self.doubt.data(name),
        }
    }

    fn result(&self, reading: Reading) -> Option<&Value> {
        self.result.read(reading)
    }

    fn value(&self, name: &str) -> Option<Val<'_>> {
        self.data(name).map(Val::from).or_else(|| self.doubt.value(name))
    }
}

impl Task {
    /// An effect has come into doubt: the call that would tell, where one is declared.
    pub(crate) fn doubt(&mut self, out: &Out) -> Option<Verification> {
        let Holding { claim, verification } = out.held.as_deref()?;
        let (effect, verification) = (claim.effect.as_ref()?, verification.as_deref()?);
        let doubt = Doubt {
            key: effect.effect.key.clone(),
            tool: Arc::clone(&out.call.tool),
            arguments: Arc::clone(&out.call.arguments),
            verification: verification.clone(),
            since: self.claim_time(),
            checked: 0,
        };
        let proposal = doubt.proposal(doubt.since);
        self.doubts.add(&self.key, doubt);
        proposal
    }

    /// The ledger says that an effect is in doubt: the call that would tell, if it was not made often enough.
    pub(crate) fn doubted(&mut self, policy: &Policy, call: &Call, answer: &EffectAnswer) -> Option<Verification> {
        let EffectAnswer::Unknown { since, key, verify, checked } = answer else { return None };
        let now = self.claim_time();
        let doubt = match self.doubts.find(key) {
            Some(doubt) => Doubt { checked: *checked, since: *since, ..doubt.clone() },
            None => told(policy, call, key, verify.as_deref()?, *since, *checked)?,
        };
        let proposal = doubt.proposal(now);
        self.doubts.add(&self.key, doubt);
        proposal
    }

    /// What an outcome says about effects in doubt, and what to ask next where it says nothing yet.
    pub(crate) fn verified(
        &mut self,
        policy: &Policy,
        call: &Call,
        out: &Out,
        (judged, outcome): (&Judged, &Outcome),
    ) -> (Vec<Resolution>, Option<Verification>) {
        if self.doubts.count == 0 || !self.doubts.by_call.contains_key(&call.exact.0) {
            return (Vec::new(), None);
        }
        // a failure that passes by itself says nothing, and will be tried again
        if judged.class == Some(ErrorClass::Transient) {
            return (Vec::new(), None);
        }
        let doubts = self.doubts.by_call.remove(&call.exact.0).unwrap_or_default();
        self.doubts.count = self.doubts.count.saturating_sub(doubts.len());
        let result = Readable::new(outcome.result.as_deref(), call.tool.has_fields);
        let (mut resolutions, mut proposal) = (Vec::new(), None);
        let by = format!("{}:{}", call.tool.name, out.dispatch_name());
        for mut doubt in doubts {
            // what a cache answers is as old as it says, whenever it was asked
            let as_of = out.dispatched - outcome.cached.unwrap_or(0.0).max(0.0);
            let early = as_of < doubt.since + doubt.verification.after;
            let landed = self.reads(policy, &doubt, judged, &result);
            let resolution = |landed, result| Resolution { key: doubt.key.clone(), landed, result, by: by.clone() };
            match landed {
                Some(true) => resolutions.push(resolution(Some(true), kept(outcome))),
                Some(false) if !early => resolutions.push(resolution(Some(false), None)),
                // what is not there yet may still come: it was asked too early, and that was no attempt
                Some(false) => {
                    proposal = proposal.or_else(|| doubt.proposal(self.claim_time()));
                    self.doubts.add(&self.key, doubt);
                }
                None => {
                    resolutions.push(resolution(None, None));
                    doubt.checked = doubt.checked.saturating_add(1);
                    let again = doubt.may_ask().then(|| doubt.verification.clone());
                    proposal = proposal.or(again);
                    self.doubts.add(&self.key, doubt);
                }
            }
        }
        (resolutions, proposal)
    }

    /// Whether the effect took place, by the verifying call's answer; nothing where it does not say.
    fn reads(&self, policy: &Policy, doubt: &Doubt, judged: &Judged, result: &Readable<'_>) -> Option<bool> {
        let verify = doubt.tool.verify.as_ref().filter(|_| !judged.failed)?;
        let no_error = Value::Null;
        let of = EffectScope { task: self, policy, arguments: &doubt.arguments, hints: None, confirmation: 1 };
        let scope = Answered { doubt: of, result, error: &no_error };
        let holds = |when: &Option<Expression>| when.as_ref().is_some_and(|when| when.test(&scope) == Ok(true));
        if holds(&verify.landed_when) {
            return Some(true);
        }
        holds(&verify.absent_when).then_some(false)
    }
}

/// A doubt as the ledger tells of it: another generation or process has begun it.
fn told(policy: &Policy, call: &Call, key: &str, verify: &str, since: f64, checked: u64) -> Option<Doubt> {
    let told = read_json(verify.as_bytes()).ok()?;
    let of = told.get("call")?;
    let arguments = Arc::new(of.get("arguments")?.clone());
    let tool = tool_of(policy, &call.tool, &arguments);
    let after = tool.verify.as_ref()?.after;
    let name = told.get("tool")?.as_str()?.into();
    let verification = Verification { tool: name, arguments: Arc::new(told.get("arguments")?.clone()), after };
    Some(Doubt { key: key.to_owned(), tool, arguments, verification, since, checked })
}
