//! A rule of the policy's author.
use std::sync::Arc;

use crate::expression::Expression;
use crate::verdict::Action;

/// When a rule is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Before a call.
    Admit,
    /// After it.
    Observe,
}

/// What a rule does when it fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleEffect {
    /// It adds a note.
    Note,
    /// Before a call: it asks, refuses or stops.
    Hold(Action),
    /// After a call: it proposes to try again.
    Retry,
    /// After a call: it ends the task.
    Exit,
}

/// A rule of the policy's author.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Its stable name.
    pub id: Arc<str>,
    /// When it is asked.
    pub phase: Phase,
    /// The tools that it is about; empty: all.
    pub tools: Vec<String>,
    /// Its condition.
    pub when: Expression,
    /// What it does.
    pub action: RuleEffect,
    /// Its observation code.
    pub code: Option<Arc<str>>,
    /// Its sentence.
    pub message: Option<Expression>,
}

impl Rule {
    /// Whether it is asked about this call.
    pub(crate) fn is_about(&self, call: &crate::call::Call) -> bool {
        self.tools.is_empty() || self.tools.iter().any(|name| **name == *call.tool.name)
    }

    /// Its sentence; none without one, or where it fails.
    pub(crate) fn words(&self, scope: &dyn crate::expression::Scope) -> Option<String> {
        let text = self.message.as_ref()?.evaluate(scope).ok()?;
        text.as_str().map(str::to_owned)
    }
}
