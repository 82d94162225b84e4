//! A call as the host hands it over, and the same call once it is identified.
use std::sync::Arc;

use callgate_value::{Symbol, Value};

use crate::policy::{Effect, Tool};

/// A call as the host hands it over.
#[derive(Clone, Debug)]
pub struct Request {
    /// The tool's name.
    pub tool: Arc<str>,
    /// The arguments, a map.
    pub arguments: Arc<Value>,
    /// The host's id for it.
    pub call_id: Option<Arc<str>>,
    /// What the host computed for `hints`.
    pub hints: Option<Arc<Value>>,
    /// Why the arguments are none, where the host handed over something without a JSON form.
    pub fault: Option<Arc<str>>,
    /// A further attempt of a call that failed, made without asking the model: it takes no step, and is not answered with
    /// the attempt before.
    pub again: bool,
}

/// What part of something a call asks for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Asked {
    /// A range of a target, end exclusive; without an end it is not known how far it reaches. `list` is the target, and what
    /// the other arguments ask of it.
    Range { target: u64, list: u64, from: i64, to: Option<i64> },
    /// The page after a cursor, of the list that the other arguments name.
    Cursor { list: u64, page: u64 },
}

/// A call with its identities: what detectors, budgets and effects judge by.
#[derive(Clone, Debug)]
pub struct Call {
    /// The tool, in the form that matched.
    pub tool: Arc<Tool>,
    /// The arguments, as judged.
    pub arguments: Arc<Value>,
    /// What the host computed for `hints`.
    pub hints: Option<Arc<Value>>,
    /// Tells calls of a task apart, equal ones too.
    pub(crate) number: u64,
    /// Symbol of the tool's name.
    pub(crate) tool_symbol: u64,
    /// Exact identity.
    pub(crate) exact: Symbol,
    /// Loose identity.
    pub(crate) loose: u64,
    /// What it acts upon, where that is declared.
    pub(crate) target: Option<u64>,
    /// Index of the agent's session.
    pub(crate) session: usize,
    /// Symbol of the agent's name.
    pub(crate) agent: u64,
    /// The top-level fields of the loose arguments, (name, value), for `oscillation`.
    pub(crate) fields: Vec<(u64, u64)>,
    /// What part of something it asks for.
    pub(crate) asked: Option<Asked>,
    /// Why its arguments are none.
    pub(crate) fault: Option<Arc<str>>,
    /// A condition of one of its forms failed to evaluate.
    pub(crate) form_error: Option<String>,
}

impl Call {
    /// A symbol that it shares with the calls that are the same by the tool's loose identity, under one key.
    #[must_use]
    pub fn loose_symbol(&self) -> Symbol {
        Symbol(self.loose)
    }

    /// Whether its arguments are none that the tool takes.
    pub(crate) fn is_invalid(&self) -> bool {
        self.fault.is_some() || self.faults().is_some_and(|faults| !faults.is_empty())
    }

    /// What the tool's schema says of the arguments, with a key in place where the schema has one; none without a schema.
    pub(crate) fn faults(&self) -> Option<Vec<crate::schema::ArgumentFault>> {
        let schema = self.tool.parameters.as_ref().filter(|_| self.fault.is_none())?;
        let pass_as = self.tool.idempotency.as_ref().and_then(|it| it.pass_as.as_ref());
        // any key will do: a declared one is as long as this
        let key = pass_as.filter(|it| it.in_schema).map(|_| "0".repeat(64));
        let whole = key.and_then(|key| crate::claims::with_key(self, &key));
        Some(schema.faults(whole.as_ref().unwrap_or(&self.arguments)))
    }

    /// Whether its result says nothing but that it was made: what comes of it is seen by other calls.
    pub(crate) fn is_mute(&self) -> bool {
        self.tool.transfer || self.tool.effect == Effect::Ui
    }

    /// Whether its outcome is judged as a read's.
    pub(crate) fn is_read(&self) -> bool {
        self.tool.effect == crate::policy::Effect::Read
    }

    /// What a person's word about it is about: its target, where it has one; else the call. Of one tool.
    pub(crate) fn place(&self) -> u64 {
        match self.target {
            // both are keyed hashes already; an odd multiplier keeps the pair apart
            Some(target) => self.tool_symbol.rotate_left(17) ^ target.wrapping_mul(0x9E37_79B9_7F4A_7C15),
            None => self.loose,
        }
    }

    /// This agent's call, told apart from the same call of another agent.
    pub(crate) fn member(&self) -> u64 {
        // both are keyed hashes already; an odd multiplier keeps the pair apart
        self.agent.rotate_left(23) ^ self.loose.wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }
}
