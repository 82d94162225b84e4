//! Runs the detectors over symbols that stand for calls: for measurements, and nothing else.
use std::sync::Arc;

use callgate_value::{Map, Symbol, SymbolKey, Value};
use rustc_hash::FxHashMap;

use crate::call::Call;
use crate::claims::Held;
use crate::detect::cycle::CycleStream;
use crate::detect::window::Window;
use crate::detect::Observation;
use crate::expression::{EvaluationError, Expression, Scope};
use crate::gain::{Gain, Offer};
use crate::observe::Closed;
use crate::outcome::Judged;
use crate::policy::{Cycle, Policy, Tool};
use crate::task::Task;
use crate::verdict::Grade;

/// What the steps found, totalled over all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    /// Earlier occurrences of the newest symbol in the window.
    pub repeats: u64,
    /// Periods of the cycles that were going round, 0 without one.
    pub periods: u64,
    /// Different symbols in the window.
    pub distinct: u64,
    /// Entropy of the window in bits.
    pub entropy: f64,
}

/// Pushes each symbol into a window and a stream of cycles, and asks both for what they say.
#[must_use]
pub fn detector_steps(symbols: impl Iterator<Item = u64>, window: usize, max_period: usize, laps: u64) -> Totals {
    let mut window = Window::new(window);
    let by = Cycle { max_period, laps, mismatches: 0, cool_down: None };
    let mut cycles = CycleStream::new(&by);
    let mut totals = Totals::default();
    for symbol in symbols {
        window.push(symbol);
        cycles.push(Some(symbol), symbol, 0, 0.0);
        let period = cycles.period_by(&by).and_then(|period| u64::try_from(period).ok()).unwrap_or(0);
        totals.repeats = totals.repeats.saturating_add(window.count(symbol).saturating_sub(1));
        totals.periods = totals.periods.saturating_add(period);
        totals.distinct = totals.distinct.saturating_add(window.distinct());
        totals.entropy += window.entropy();
    }
    totals
}

/// Sends each symbol as an allowed call of an undeclared tool, with a result that the symbol decides, through all
/// detectors of a policy: asked before it, told of it, told of what came back. Answers with findings and notes, together.
#[must_use]
pub fn all_detector_steps(policy: &Policy, symbols: impl Iterator<Item = u64>) -> u64 {
    let key = SymbolKey::new([7; 16]);
    let mut task = Task::new(policy, "measured", key.to_bytes(), 0.0);
    let session = task.session(policy, "root");
    let tool = Arc::new(Tool::undeclared("measured", Arc::clone(&policy.undeclared)));
    let (arguments, id) = (Arc::new(Value::Map(Map::default())), Arc::<str>::from("call"));
    let mut said = 0_usize;
    let mut now = 0.0;
    for (number, symbol) in (1..).zip(symbols) {
        now += 1.0;
        let call = Arc::new(Call { number, ..call_of(&tool, &arguments, session, symbol) });
        said = said.saturating_add(task.pass_detectors(policy, &call, observation(&call, &id, now)));
    }
    u64::try_from(said).unwrap_or(u64::MAX)
}

impl Task {
    /// What decide and observe do with the detectors, and nothing else of either.
    fn pass_detectors(&mut self, policy: &Policy, call: &Arc<Call>, seen: Observation) -> usize {
        let (mut findings, mut closed) = (Vec::new(), Closed::default());
        self.gather(policy, call, &Held::default(), &mut findings);
        self.dispatch(policy, call, seen.at);
        self.came_back(call);
        self.feed(policy, seen, &mut None, &mut closed);
        findings.len().saturating_add(closed.remarks.notes.len())
    }
}

fn call_of(tool: &Arc<Tool>, arguments: &Arc<Value>, session: usize, symbol: u64) -> Call {
    Call {
        tool: Arc::clone(tool),
        arguments: Arc::clone(arguments),
        hints: None,
        number: 0,
        tool_symbol: 1,
        exact: Symbol(symbol),
        loose: symbol,
        target: None,
        session,
        agent: 2,
        fields: Vec::new(),
        asked: None,
        fault: None,
        form_error: None,
    }
}

fn observation(call: &Arc<Call>, id: &Arc<str>, now: f64) -> Observation {
    let judged = Judged {
        failed: false,
        by_version: false,
        class: None,
        in_doubt: false,
        kind: Arc::clone(id),
        result: Some(call.loose),
        failure: None,
        error_key: None,
        grade: Grade::Sufficient,
        gaps: Vec::new(),
        state: None,
        offer: Offer { items: vec![call.loose], ..Offer::default() },
        error: None,
        expression_error: None,
        picks: Vec::new(),
    };
    let (call, call_id) = (Arc::clone(call), Arc::clone(id));
    let gain = Gain::default();
    Observation {
        call,
        call_id,
        at: now,
        judged,
        outcome: None,
        others: 0,
        first: false,
        fed: true,
        retrying: false,
        retries: 0,
        from_cache: false,
        marks: Vec::new(),
        gain,
        cells: 0,
        feeds_needs: false,
        fresh_look: None,
        passed_over: false,
        new_target: false,
        worked: 0,
    }
}

/// Variables by name, for [`evaluate_many`].
struct Named<'a>(FxHashMap<&'a str, &'a Value>);

impl Scope for Named<'_> {
    fn data(&self, name: &str) -> Option<&Value> {
        self.0.get(name).copied()
    }
}

/// Evaluates a condition on the same variables again and again, as a rule's is; answers with how often it held.
///
/// # Errors
/// What is wrong with the expression, or the first error of an evaluation.
pub fn evaluate_many(source: &str, variables: &Map, times: u64) -> Result<u64, String> {
    let mut env = callgate_cel::Env::new();
    for (name, _) in variables.iter() {
        env.variable(&name.to_lossy(), callgate_cel::Type::Dyn);
    }
    let wanted = Some(callgate_cel::Type::Bool);
    let condition = Expression::compile(source, &env, wanted)
        .map_err(|faults| faults.first().map_or_else(String::new, |fault| fault.message.clone()))?;
    let scope = Named(variables.iter().filter_map(|(name, value)| Some((name.as_str()?, value))).collect());
    let mut held = 0_u64;
    for _ in 0..times {
        let answer = condition.test(&scope).map_err(|error: EvaluationError| error.to_string())?;
        held = held.saturating_add(u64::from(answer));
    }
    Ok(held)
}
