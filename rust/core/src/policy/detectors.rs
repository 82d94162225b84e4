//! Thresholds of the detectors, for one tool.
use serde::{Deserialize, Serialize};

/// How far a detector has to count for what. A rung that is absent is off.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rungs {
    /// Note at every observation at or above.
    pub note_after: Option<u64>,
    /// Refuse once reached.
    pub refuse_after: Option<u64>,
    /// Stop at the observation that reaches this.
    pub exit_after: Option<u64>,
    /// Seconds after the last observation after which one call is let through.
    pub cool_down: Option<f64>,
}

impl Rungs {
    /// Whether an observation with this count is noted.
    #[must_use]
    pub fn notes(&self, count: u64) -> bool {
        self.note_after.is_some_and(|after| count >= after)
    }

    /// Whether the count is high enough to refuse the next call, cool-down aside.
    #[must_use]
    pub fn reached(&self, count: u64) -> bool {
        self.refuse_after.is_some_and(|after| count >= after)
    }

    /// Whether the cool-down after the last observation is over.
    #[must_use]
    pub fn cooled(&self, last: f64, now: f64) -> bool {
        self.cool_down.is_some_and(|pause| now >= last + pause)
    }
}

/// `exact_repeat`
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ExactRepeat {
    /// For every call.
    pub rungs: Rungs,
    /// Instead, for reads whose last result was sufficient.
    pub sufficient_reads: Option<u64>,
}

/// `cycle`, and the periods of `transfer_cycle`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cycle {
    /// The longest period looked for.
    pub max_period: usize,
    /// How many laps make a cycle.
    pub laps: u64,
    /// How many comparisons may fail.
    pub mismatches: usize,
    /// Seconds after the last observation after which one member is let through.
    pub cool_down: Option<f64>,
}

/// `oscillation`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Oscillation {
    /// Largest share of arguments that differ.
    pub arguments_at_most: f64,
    /// Smallest share of items that were known.
    pub known_records: f64,
    /// Counts.
    pub rungs: Rungs,
}

/// `no_gain`
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NoGain {
    /// For one tool's reads.
    pub rungs: Rungs,
    /// For the whole task.
    pub exit_after: Option<u64>,
    /// Whether a filled cell of the task's needs is what counts, and not whatever is new to the task.
    pub towards_needs: bool,
}

/// `diversity`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Diversity {
    /// Calls that the window must hold.
    pub min_calls: usize,
    /// Note below this share of distinct calls.
    pub note_below: Option<f64>,
    /// Refuse below this share of distinct calls.
    pub refuse_below: Option<f64>,
    /// Note below this entropy, in bits.
    pub entropy_note_below: Option<f64>,
}

/// Thresholds of all detectors, for one tool.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Detectors {
    /// `consecutive`
    pub consecutive: Option<Rungs>,
    /// `exact_repeat`
    pub exact_repeat: Option<ExactRepeat>,
    /// `frequency`
    pub frequency: Option<Rungs>,
    /// `cycle`
    pub cycle: Option<Cycle>,
    /// `oscillation`
    pub oscillation: Option<Oscillation>,
    /// `same_error`
    pub same_error: Option<Rungs>,
    /// Its `transient_after`: transient failures of a tool in a row that feed no detector.
    pub transient_after: Option<u64>,
    /// `same_result`
    pub same_result: Option<Rungs>,
    /// `no_gain`
    pub no_gain: Option<NoGain>,
    /// `empty_streak`
    pub empty_streak: Option<Rungs>,
    /// `state_oscillation`
    pub state_oscillation: Option<Rungs>,
    /// `transfer_streak`
    pub transfer_streak: Option<Rungs>,
    /// `transfer_cycle`
    pub transfer_cycle: Option<Cycle>,
    /// `diversity`
    pub diversity: Option<Diversity>,
    /// `unknown_tool`
    pub unknown_tool: Option<Rungs>,
    /// `invalid_arguments`
    pub invalid_arguments: Option<Rungs>,
    /// `repeated_effect`
    pub repeated_effect: Option<Rungs>,
    /// `denied`
    pub denied: Option<Rungs>,
}

impl Detectors {
    /// What of these may be held against a tool of which nothing is declared: notes, and refusals only where they are
    /// safe blind.
    #[must_use]
    pub fn blind(&self) -> Self {
        let notes = |rungs: Rungs| Rungs { refuse_after: None, exit_after: None, ..rungs };
        let soft = |rungs: Option<Rungs>| rungs.map(notes);
        let patient = |rungs: Rungs| Rungs {
            refuse_after: rungs.refuse_after.map(|it| it.saturating_mul(2)),
            exit_after: None,
            ..rungs
        };
        let mut blind = self.clone();
        blind.consecutive = soft(blind.consecutive);
        blind.frequency = soft(blind.frequency);
        blind.oscillation = blind.oscillation.map(|it| Oscillation { rungs: notes(it.rungs), ..it });
        blind.same_error = blind.same_error.map(patient);
        blind.same_result = soft(blind.same_result);
        blind.no_gain = blind.no_gain.map(|it| NoGain { rungs: notes(it.rungs), ..it });
        blind.empty_streak = soft(blind.empty_streak);
        blind.state_oscillation = soft(blind.state_oscillation);
        blind.transfer_streak = soft(blind.transfer_streak);
        blind.repeated_effect = soft(blind.repeated_effect);
        blind.diversity = blind.diversity.map(|it| Diversity { refuse_below: None, ..it });
        blind
    }

    /// What a detector has to keep for both: whatever either of them counts.
    #[must_use]
    pub(crate) fn widest(&self, other: &Self) -> Self {
        let least = |one: Option<u64>, other: Option<u64>| one.into_iter().chain(other).min();
        let cools = |one: Rungs, other: Rungs| Rungs { cool_down: one.cool_down.or(other.cool_down), ..one };
        let pair = |one: Oscillation, other: Oscillation| Oscillation {
            arguments_at_most: one.arguments_at_most.max(other.arguments_at_most),
            known_records: one.known_records.min(other.known_records),
            ..one
        };
        let gain = |one: NoGain, other: NoGain| NoGain {
            exit_after: least(one.exit_after, other.exit_after),
            // there is one streak: where either looks at the needs, it does
            towards_needs: one.towards_needs || other.towards_needs,
            ..one
        };
        Self {
            consecutive: self.consecutive.or(other.consecutive),
            exact_repeat: self.exact_repeat.or(other.exact_repeat),
            frequency: either(self.frequency, other.frequency, cools),
            cycle: self.cycle.or(other.cycle),
            oscillation: either(self.oscillation, other.oscillation, pair),
            same_error: self.same_error.or(other.same_error),
            transient_after: least(self.transient_after, other.transient_after),
            same_result: self.same_result.or(other.same_result),
            no_gain: either(self.no_gain, other.no_gain, gain),
            empty_streak: self.empty_streak.or(other.empty_streak),
            state_oscillation: self.state_oscillation.or(other.state_oscillation),
            transfer_streak: self.transfer_streak.or(other.transfer_streak),
            transfer_cycle: self.transfer_cycle.or(other.transfer_cycle),
            diversity: self.diversity.or(other.diversity),
            unknown_tool: self.unknown_tool.or(other.unknown_tool),
            invalid_arguments: self.invalid_arguments.or(other.invalid_arguments),
            repeated_effect: self.repeated_effect.or(other.repeated_effect),
            denied: self.denied.or(other.denied),
        }
    }
}

fn either<T>(one: Option<T>, other: Option<T>, both: impl FnOnce(T, T) -> T) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(both(one, other)),
        (one, other) => one.or(other),
    }
}
