//! Plays situations through the engine: the same `Task` that judges real calls.
use std::sync::Arc;

use callgate_core::policy::Policy;
use callgate_core::{About, Action, Event, Finding, Note, Request, Stop, Task};
use callgate_value::Value;

use crate::situation::Situation;

/// What came of a situation.
#[derive(Default)]
pub(crate) struct Played {
    pub(crate) findings: Vec<Finding>,
    pub(crate) notes: Vec<Note>,
    pub(crate) stop: Option<Stop>,
}

/// An allowance of engine calls for one search, and a key that makes every search come out the same.
pub(crate) struct Trial<'p> {
    pub(crate) policy: &'p Policy,
    pub(crate) left: usize,
}

pub(crate) fn request(tool: &str, arguments: Value, hints: Option<Value>, call_id: Option<&str>) -> Request {
    Request {
        tool: tool.into(),
        arguments: Arc::new(arguments),
        call_id: call_id.map(Into::into),
        hints: hints.map(Arc::new),
        fault: None,
        again: false,
    }
}

impl<'p> Trial<'p> {
    pub(crate) fn new(policy: &'p Policy, left: usize) -> Self {
        Self { policy, left }
    }

    /// Takes from the allowance; false once it is used up.
    pub(crate) fn take(&mut self, calls: usize) -> bool {
        match self.left.checked_sub(calls) {
            Some(left) => {
                self.left = left;
                true
            }
            None => {
                self.left = 0;
                false
            }
        }
    }

    /// Plays a situation; `other` gives arguments for calls of other tools before it. Nothing once the allowance is used up.
    pub(crate) fn play(&mut self, situation: &Situation, other: &dyn Fn(&str) -> Value) -> Option<Played> {
        if situation.is_impossible {
            return Some(Played::default());
        }
        let earlier: u64 = situation.before.iter().map(|(_, count)| *count).sum();
        let calls = usize::try_from(earlier).unwrap_or(usize::MAX).saturating_mul(2).saturating_add(4);
        if !self.take(calls) {
            return None;
        }
        let policy = self.policy;
        let about = About { context: situation.context.clone(), ..About::default() };
        let mut task = Task::new(policy, &situation.task, [7; 16], 0.0).with(about);
        let mut parent = if situation.depth == 0 { situation.agent.clone() } else { "root".to_owned() };
        task.begin_round(policy, &parent, Some(0.0));
        task.end_round(policy, &parent);
        for depth in 1..=situation.depth {
            let name = if depth == situation.depth { situation.agent.clone() } else { format!("agent {depth}") };
            let name = if name == parent { format!("{name} below") } else { name };
            if task.spawn(policy, &parent, &name, Some(0.0)).is_err() {
                return Some(Played::default());
            }
            parent = name;
        }
        let agent = parent;
        if situation.tokens > 0.0 || situation.cost > 0.0 {
            let usage = Event::Usage { tokens: situation.tokens, cost: situation.cost };
            task.event(policy, &agent, usage, Some(0.0));
        }
        for (name, count) in &situation.before {
            let name = if name.is_empty() { &*situation.tool } else { name };
            for _ in 0..*count {
                self.one(&mut task, &agent, request(name, other(name), None, None), situation, 0.5);
            }
        }
        let call = || {
            let hints = situation.hints.clone();
            request(&situation.tool, situation.arguments.clone(), hints, situation.call_id.as_deref())
        };
        if situation.again {
            self.one(&mut task, &agent, call(), situation, 0.5);
        }
        Some(self.one(&mut task, &agent, call(), situation, situation.now))
    }

    /// One call: admitted, and observed if it may run.
    pub(crate) fn one(&self, task: &mut Task, agent: &str, call: Request, situation: &Situation, now: f64) -> Played {
        let policy = self.policy;
        let mut played = Played::default();
        for verdict in task.admit(policy, agent, &[call], Some(now)) {
            played.notes.extend(verdict.notes);
            played.findings.extend(verdict.findings);
            played.stop = verdict.stop;
            if verdict.action == Action::Allow {
                if let Ok(told) = task.observe(policy, &verdict.call_id, &situation.outcome(), Some(now)) {
                    played.notes.extend(told.notes);
                    played.stop = told.stop;
                }
            } else if verdict.action == Action::Ask {
                // a person says yes, so that what follows is seen
                let approved = task.approve(policy, &verdict.call_id, Some(now)).ok();
                if approved.is_some_and(|verdict| verdict.action == Action::Allow) {
                    if let Ok(told) = task.observe(policy, &verdict.call_id, &situation.outcome(), Some(now)) {
                        played.notes.extend(told.notes);
                    }
                }
            }
        }
        played.notes.extend(task.drain_remarks(policy));
        played
    }
}
