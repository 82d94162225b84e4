//! What is asked of shared state before a call runs and told to it afterwards, and what it answers. JSON text is the
//! form in which stores keep and pass these.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::text::{never, unsaid};

/// What a call has to hold before it runs: all of it is taken, or nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Claim {
    /// What makes it the same: asked twice under one id, it is answered twice and taken once.
    pub id: String,
    /// Whose counters, denials and doubts are meant.
    pub task: String,
    /// What it takes of budgets.
    pub amounts: Vec<Amount>,
    /// Its entry in the ledger.
    pub effect: Option<EffectClaim>,
    /// The breakers that it has to pass.
    pub breakers: Vec<BreakerClaim>,
    /// Denials that would speak against it, in the order in which they are looked for.
    pub denials: Vec<String>,
    /// Seconds after which whoever took it counts as dead: what it took is spent, its effect unknown, its probe free.
    pub lease: f64,
    /// The call runs whatever the answer is, as in modes `warn` and `audit`: the answer is the same, but counters are
    /// raised past their limits too, a new effect is begun, and open breakers hold no probe for it.
    pub forced: bool,
}

/// Part of a counter of the task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Amount {
    /// `steps`, `tool_calls`, `retries`, `tokens`, `cost`, `tool:NAME` or `group:NAME`; any other name is one more counter.
    pub counter: String,
    /// How much of it. Less than nothing, or no number, counts as nothing. Of nothing (what is only reported afterwards) there is
    /// enough as long as the counter stands below the limit.
    pub amount: f64,
    /// What the counter may stand at afterwards; None: anything.
    pub limit: Option<f64>,
}

/// An effect that is about to happen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EffectKey {
    /// Hex SHA-256 of the key; of an effect that may happen again, the claim's id.
    pub key: String,
    /// The manifest declares the key.
    pub declared: bool,
    /// It must happen once. Otherwise equal ones do not stand in each other's way, but one that was lost is unknown.
    pub once: bool,
    /// The tool.
    pub tool: String,
    /// Hex digest of what it acts upon, where that is declared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Hex SHA-256 of the call's loose identity: another one under a declared key is a conflict.
    pub call: String,
    /// The verifying call, as JSON `{"tool": …, "arguments": …}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verify: Option<String>,
}

/// The part of a claim that the ledger answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EffectClaim {
    /// Which effect.
    #[serde(flatten)]
    pub effect: EffectKey,
    /// Seconds for which a completed entry is remembered; None: for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retain: Option<f64>,
    /// A person said yes: it may run although an earlier attempt is unknown.
    #[serde(skip_serializing_if = "unsaid")]
    pub again: bool,
    /// When they said so, if that was before the claim: what came into doubt since is not meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub again_at: Option<f64>,
    /// It takes its key, and doing it twice under one key is doing it once: it may run although an earlier attempt under
    /// its own key is unknown.
    #[serde(skip_serializing_if = "unsaid")]
    pub resend: bool,
}

/// A breaker that the call has to pass.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BreakerClaim {
    /// `tool:NAME` or `server:NAME`.
    pub name: String,
    /// Transient failures in a row that open it.
    pub failures: u64,
    /// Seconds for which it stays open.
    pub open_for: f64,
    /// Calls that may find out at the same time whether it can be closed.
    pub probes: u64,
}

/// The answer to a claim.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Grant {
    /// The claim's.
    pub id: String,
    /// Everything was taken. Where not, and the claim is not forced, nothing was.
    pub taken: bool,
    /// Counters that have too little left, in the claim's order.
    pub short: Vec<String>,
    /// All counters of the task, as they stand afterwards.
    pub counts: BTreeMap<String, f64>,
    /// What the ledger says, where the claim has an effect.
    pub effect: Option<EffectAnswer>,
    /// Breakers that let nothing through.
    pub open: Vec<OpenBreaker>,
    /// The first of the claim's denials that is on record.
    pub denied: Option<String>,
}

/// What the ledger says of an effect. Times are those of the claims and settlements that told of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case", deny_unknown_fields)]
pub enum EffectAnswer {
    /// Nothing is known of it; it is begun now, if everything else is taken too.
    New,
    /// Another call is at it.
    InFlight {
        /// When that began.
        since: f64,
    },
    /// It happened.
    Completed {
        /// When.
        at: f64,
        /// What the call brought then, as JSON, where it was kept.
        result: Option<String>,
    },
    /// Nobody knows whether it happened, or whether another one of the same task, tool and target did.
    Unknown {
        /// Since when.
        since: f64,
        /// The key of the entry in doubt.
        key: String,
        /// The call that would find out, as JSON `{"tool": …, "arguments": …}`.
        verify: Option<String>,
        /// How often it was asked in vain.
        checked: u64,
    },
    /// The declared key stands for a call with other arguments.
    Conflict {
        /// Since when.
        since: f64,
    },
}

/// A breaker that lets nothing through.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OpenBreaker {
    /// `tool:NAME` or `server:NAME`.
    pub name: String,
    /// Seconds after which asking again may help.
    pub retry_after: f64,
    /// Its time is over, and others are finding out whether it can be closed.
    pub probing: bool,
}

/// How calls, approvals, denials and reports of usage end in shared state. Each has an id of its own or a claim's, and
/// counts once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settlement {
    /// The claim's that it ends; without one, an id that nothing else has.
    pub id: String,
    /// Whose counters and denials are meant.
    pub task: String,
    /// Usage to add; limits are not looked at.
    pub amounts: Vec<Amount>,
    /// What became of the claim's effect.
    pub effect: Option<EffectEnd>,
    /// What the call says of each breaker that it passed.
    pub breakers: Vec<(String, BreakerEnd)>,
    /// Doubts about other entries that it ends.
    pub resolve: Vec<Resolution>,
    /// What a call of the task brought after all that was given up before, and was told as unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late: Option<Box<LateEnd>>,
    /// Denials to put on record.
    pub deny: Vec<String>,
    /// Denials to take off the record.
    pub lift: Vec<String>,
}

/// What became of an effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case", deny_unknown_fields)]
pub enum EffectEnd {
    /// It happened.
    Completed {
        /// What the call brought, as JSON, where it is to be kept.
        result: Option<String>,
    },
    /// It did not happen, and may be tried again.
    Free,
    /// Nobody knows.
    Unknown,
}

/// What became of an effect whose call was given up and went on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LateEnd {
    /// The claim that began it.
    pub owner: String,
    /// What it claimed.
    pub effect: EffectClaim,
    /// What became of it.
    pub end: EffectEnd,
}

/// What a call says of a breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BreakerEnd {
    /// The tool answered.
    Success,
    /// A transient failure.
    Failure,
    /// Nothing.
    Neither,
}

/// What was found out about an entry in doubt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Resolution {
    /// The entry's.
    pub key: String,
    /// It happened; it did not; None: it was asked for once more in vain.
    pub landed: Option<bool>,
    /// What it brought, as JSON, where that is known.
    pub result: Option<String>,
    /// Who found out: a call's id, or a person.
    pub by: String,
}

/// How an effect stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryState {
    /// A call is at it.
    #[default]
    InFlight,
    /// It happened.
    Completed,
    /// Nobody knows whether it did.
    Unknown,
}

/// What the call of an effect told after all, where that goes against what the ledger had from others by then.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LateWord {
    /// When.
    pub at: f64,
    /// It happened; else it did not.
    pub landed: bool,
}

/// What the ledger knows of an effect. As text it leaves out what says nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Entry {
    /// Which effect.
    #[serde(flatten)]
    pub effect: EffectKey,
    /// The task that began it last.
    pub task: String,
    /// How it stands.
    pub state: EntryState,
    /// The claim that began it last.
    pub owner: String,
    /// When that was.
    pub began: f64,
    /// When its owner counts as dead.
    pub lease_until: f64,
    /// When it was completed, or came into doubt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<f64>,
    /// Seconds for which it is remembered once it is completed; None: for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retain: Option<f64>,
    /// When it is forgotten; None: never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retain_until: Option<f64>,
    /// What it brought, as JSON, where it was kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// How often the doubt was looked into in vain.
    #[serde(skip_serializing_if = "never")]
    pub checked: u64,
    /// Who ended the doubt, where somebody did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Since when an attempt before the owner's is in doubt, where a person let it run in spite of that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doubt: Option<f64>,
    /// A person let another call of the tool run in spite of this doubt: it stands in the way of its own key alone.
    #[serde(skip_serializing_if = "unsaid")]
    pub waived: bool,
    /// What a call of it told late that goes against how it stands, or stood.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late: Option<LateWord>,
}
