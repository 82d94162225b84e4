//! A policy watched at work: what the parts of its expressions came to, and what came of its calls. What coverage counts.
//!
//! A policy that is not watched pays for it with one look at an empty place for each expression that is evaluated.
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use callgate_cel::{ErrorKind, Fuel, Limits, Observer, Program, Seen, Span, Val};
use callgate_value::{to_json, Value};

use crate::call::Request;
use crate::identify::identify_alone;
use crate::policy::{Policy, Tool};
use crate::replay::Row;
use crate::task::Task;
use crate::verdict::{Action, Evidence, ExitDecision, Status};
use crate::Reason;

/// Letters of a value that are kept.
const SHOWN: usize = 60;

/// What a part of an expression has come to, at least once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcomes {
    /// `true`
    pub was_true: bool,
    /// `false`
    pub was_false: bool,
}

/// A part of an expression that is true or false.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its number in the program.
    pub node: u32,
    /// Where it stands, in bytes.
    pub span: Span,
}

/// Is told what the parts of one expression come to.
#[derive(Debug)]
pub struct Witness {
    parts: Vec<Part>,
    /// By node, one more than there are: the last is the expression as a whole.
    marks: Box<[AtomicU8]>,
    log: Option<(usize, Arc<Log>)>,
}

const TRUE: u8 = 1;
const FALSE: u8 = 2;

impl Witness {
    /// Watches a program. With a log, it also tells every evaluation, under the number that is given.
    pub(crate) fn of(program: &Program, log: Option<(usize, Arc<Log>)>) -> Self {
        let parts = program.parts().filter(|(node, _)| *node != program.root());
        let parts: Vec<Part> = parts.map(|(node, span)| Part { node, span }).collect();
        let most = parts.iter().map(|part| part.node).max().map_or(0, |node| node as usize);
        let marks = (0..=most.saturating_add(1)).map(|_| AtomicU8::new(0)).collect();
        Self { parts, marks, log }
    }

    /// The parts that are true or false, without the expression as a whole.
    #[must_use]
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// What a part came to since the last time; none: the expression as a whole.
    #[must_use]
    pub fn take(&self, node: Option<u32>) -> Outcomes {
        let at = node.map_or(self.marks.len().saturating_sub(1), |node| node as usize);
        let marks = self.marks.get(at).map_or(0, |mark| mark.swap(0, Ordering::Relaxed));
        Outcomes { was_true: marks & TRUE != 0, was_false: marks & FALSE != 0 }
    }

    fn mark(&self, at: usize, value: bool) {
        if let Some(mark) = self.marks.get(at) {
            mark.fetch_or(if value { TRUE } else { FALSE }, Ordering::Relaxed);
        }
    }

    pub(crate) fn whole(&self, value: bool) {
        self.mark(self.marks.len().saturating_sub(1), value);
    }

    /// Evaluates with this witness; `call` names the call that it is evaluated for.
    pub(crate) fn watch<T>(&self, call: Option<&str>, evaluate: impl FnOnce(&mut dyn Observer) -> T) -> T {
        let mut watching = Watching { witness: self, values: Vec::new() };
        let out = evaluate(&mut watching);
        if let Some((expression, log)) = &self.log {
            let values = watching.values;
            log.lock().push(Evaluation { expression: *expression, call: call.unwrap_or("").to_owned(), values });
        }
        out
    }
}

struct Watching<'w> {
    witness: &'w Witness,
    values: Vec<(Span, String)>,
}

impl Observer for Watching<'_> {
    fn saw(&mut self, node: u32, _: Span, seen: Seen) {
        match seen {
            Seen::True => self.witness.mark(node as usize, true),
            Seen::False => self.witness.mark(node as usize, false),
            Seen::Value | Seen::Error(_) => {}
        }
    }

    fn came_to(&mut self, node: u32, span: Span, out: Result<&Val<'_>, ErrorKind>) {
        self.saw(node, span, Seen::of(out));
        if self.witness.log.is_some() {
            self.values.push((span, told(out)));
        }
    }
}

fn told(out: Result<&Val<'_>, ErrorKind>) -> String {
    let value = match out {
        Ok(value) => value,
        Err(kind) => return format!("error: {}", kind.as_str()),
    };
    let Ok(value) = value.to_value(&mut Fuel::new(&Limits::default())) else { return value.type_name().to_string() };
    let text = to_json(&value);
    if text.chars().count() <= SHOWN {
        return text;
    }
    let mut short: String = text.chars().take(SHOWN.saturating_sub(1)).collect();
    short.push('…');
    short
}

/// One evaluation of an expression: what each of its parts came to, innermost first.
#[derive(Clone, Debug)]
pub struct Evaluation {
    /// The number of the expression.
    pub expression: usize,
    /// The id of the call that it was evaluated for; empty where expressions do not see one.
    pub call: String,
    /// Place in bytes, and the value, shortened.
    pub values: Vec<(Span, String)>,
}

/// Evaluations in their order.
#[derive(Debug, Default)]
pub struct Log(Mutex<Vec<Evaluation>>);

impl Log {
    fn lock(&self) -> MutexGuard<'_, Vec<Evaluation>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The evaluations since the last time.
    pub fn take(&self) -> Vec<Evaluation> {
        std::mem::take(&mut *self.lock())
    }
}

/// What a reason did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Did {
    /// A note.
    Note,
    /// A refusal, or what stands in its place.
    Refuse,
    /// The end of the task, at an observation.
    Exit,
}

/// Something that came of a run.
#[derive(Clone, Debug)]
pub enum Event {
    /// A call was judged, in this form of its tool, and these substitutes were proposed after it.
    Called {
        /// The form.
        tool: Arc<Tool>,
        /// The proposed tools; none where the call was not observed.
        offers: Option<Vec<Arc<str>>>,
    },
    /// A reason spoke about a call.
    Said {
        /// The reason.
        reason: Reason,
        /// What it did.
        did: Did,
        /// The form of the tool.
        tool: Arc<Tool>,
        /// Its evidence.
        evidence: Evidence,
    },
    /// A task ended.
    Ended {
        /// How far it got.
        status: Option<Status>,
        /// How it was ended, where it was stopped.
        exit: Option<ExitDecision>,
        /// Of each need, whether it was met.
        needs: Vec<bool>,
    },
}

/// What came of the runs that were judged under a policy.
#[derive(Debug, Default)]
pub struct Watch(Mutex<Vec<Event>>);

impl Watch {
    /// What came since the last time.
    pub fn take(&self) -> Vec<Event> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn add(&self, event: Event) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(event);
    }

    /// What was decided of a call, once its round is over.
    pub(crate) fn row(&self, row: &Row, tool: &Arc<Tool>) {
        let say = |reason, did, evidence: &Evidence| {
            self.add(Event::Said { reason, did, tool: Arc::clone(tool), evidence: evidence.clone() });
        };
        for finding in &row.verdict.findings {
            let did = if finding.action == Action::Allow { Did::Note } else { Did::Refuse };
            say(finding.reason, did, &finding.evidence);
        }
        for note in &row.notes {
            say(note.reason, Did::Note, &note.evidence);
        }
        if let Some(stop) = row.stop.as_ref().filter(|_| row.verdict.action != Action::Stop) {
            let evidence = match &stop.evidence {
                Value::Map(map) => map.get("count").map(|count| ("count", count.clone())).into_iter().collect(),
                _ => Vec::new(),
            };
            say(stop.reason, Did::Exit, &evidence);
        }
        let offers = row.assessment.as_ref().map(|it| it.offers.iter().map(|offer| Arc::clone(&offer.tool)).collect());
        self.add(Event::Called { tool: Arc::clone(tool), offers });
    }
}

impl Task {
    /// The form that a call has.
    pub(crate) fn form_of(&self, policy: &Policy, request: &Request) -> Arc<Tool> {
        identify_alone(policy, &self.key, request).tool
    }

    /// Tells whoever watches the policy how the task ended.
    pub(crate) fn tell_end(&self, policy: &Policy) {
        if let Some(watch) = &policy.watch {
            let needs = policy.needs.iter().map(|need| !self.needs.is_open(need)).collect();
            let exit = self.stopped().map(|stop| stop.exit);
            watch.add(Event::Ended { status: self.status(policy), exit, needs });
        }
    }
}
