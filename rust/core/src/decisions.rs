//! What people have decided about calls of a task: who said what, and how far it goes.
use std::sync::Arc;

use callgate_value::Value;
use serde::{Deserialize, Serialize};

use crate::call::Call;
use crate::claims::{Grants, Scope};
use crate::fields::map;

/// Decisions that are told one by one; the oldest go first.
const MOST: usize = 256;

/// A yes to a call that was asked about.
#[derive(Clone, Debug, Default)]
pub struct Yes {
    /// Who said it.
    pub by: Option<String>,
    /// How far it goes.
    pub grants: Grants,
}

/// A no to a call that was asked about.
#[derive(Clone, Debug, Default)]
pub struct No {
    /// Who said it.
    pub by: Option<String>,
    /// How far it goes.
    pub scope: Scope,
    /// Why; the model reads it.
    pub why: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Decision {
    call_id: String,
    tool: String,
    approved: bool,
    by: Option<String>,
    reach: String,
    why: Option<String>,
    at: f64,
}

/// The decisions, in their order.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Decisions {
    told: Vec<Decision>,
}

impl Decisions {
    pub(crate) fn approved(&mut self, call: &Call, call_id: &Arc<str>, yes: &Yes, at: f64) {
        self.add(call, call_id, (true, yes.by.as_ref(), yes.grants.name(), None), at);
    }

    pub(crate) fn denied(&mut self, call: &Call, call_id: &Arc<str>, no: &No, at: f64) {
        self.add(call, call_id, (false, no.by.as_ref(), no.scope.name(), no.why.as_ref()), at);
    }

    fn add(
        &mut self,
        call: &Call,
        call_id: &Arc<str>,
        (approved, by, reach, why): (bool, Option<&String>, &str, Option<&String>),
        at: f64,
    ) {
        if self.told.len() >= MOST {
            self.told.remove(0);
        }
        let (call_id, tool, reach) = (call_id.to_string(), call.tool.name.to_string(), reach.to_owned());
        self.told.push(Decision { call_id, tool, approved, by: by.cloned(), reach, why: why.cloned(), at });
    }

    /// As reports tell them.
    pub(crate) fn to_value(&self) -> Value {
        let optional = |text: Option<&str>| text.map_or(Value::Null, Value::from);
        let told = self.told.iter().map(|it| {
            map(vec![
                ("call_id", Value::from(it.call_id.as_str())),
                ("tool", Value::from(it.tool.as_str())),
                ("approved", Value::Bool(it.approved)),
                ("by", optional(it.by.as_deref())),
                ("reach", Value::from(it.reach.as_str())),
                ("why", optional(it.why.as_deref())),
                ("at", Value::Float(it.at)),
            ])
        });
        Value::List(told.collect())
    }
}
