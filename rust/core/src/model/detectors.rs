//! `spec.detectors`: thresholds of everything that recognises a loop. What feeds each is in the policy language.
use super::declare::{model, words};
use super::numbers::{Amount, Count, Share};
use super::reader::Named;
use super::times::Duration;

/// The thresholds that most detectors have, as numbers. A rung that is left out is off.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rungs {
    /// A note from this count on.
    pub note_after: Option<u64>,
    /// Refusal once this count is reached.
    pub refuse_after: Option<u64>,
    /// The exit decision once this count is reached.
    pub exit_after: Option<u64>,
    /// Seconds after which one call is let through again.
    pub cool_down: Option<f64>,
}

/// A detector with rungs, and whatever other keys it has.
macro_rules! detector {
    ($(#[doc = $doc:literal])* $name:ident $({ $($(#[doc = $field_doc:literal])* $field:ident: $ty:ty,)* })?) => {
        model! {
            $(#[doc = $doc])*
            #[derive(Default)]
            pub struct $name {
                $($($(#[doc = $field_doc])* pub $field: Option<$ty>,)*)?
                /// From this many observations on, a note goes along with the result.
                pub note_after: Option<Count<1>>,
                /// Once this many are observed, the next such call is refused.
                pub refuse_after: Option<Count<1>>,
                /// Once this many are observed, the run is stopped with its exit decision.
                pub exit_after: Option<Count<1>>,
                /// After this time without a further observation one call is let through again.
                pub cool_down: Option<Duration>,
            }
        }

        impl $name {
            /// The rungs as numbers.
            #[must_use]
            pub fn rungs(&self) -> Rungs {
                Rungs {
                    note_after: self.note_after.map(Count::get),
                    refuse_after: self.refuse_after.map(Count::get),
                    exit_after: self.exit_after.map(Count::get),
                    cool_down: self.cool_down.map(Duration::seconds),
                }
            }
        }
    };
}

detector! {
    /// The same call again and again, where results are not known.
    Consecutive
}
detector! {
    /// The same call with the same result, and nothing changed in between.
    ExactRepeat {
        /// Another threshold for reads whose last result was sufficient.
        sufficient_reads: SufficientReads,
    }
}
detector! {
    /// The same fingerprint many times in the window. Evidence, unless a rung is written.
    Frequency
}
detector! {
    /// One tool, few arguments vary, and nearly all that it returns is known already.
    Oscillation {
        /// The largest share of arguments that may differ for two calls to be alike. One that differs is always alike.
        arguments_at_most: Share,
        /// The smallest share of known records for a result to bring nothing.
        known_records: Share,
    }
}
detector! {
    /// The same error under whatever arguments.
    SameError {
        /// How many transient failures of a tool in a row count for nothing; further ones are failures like any other.
        transient_after: Count<1>,
    }
}
detector! {
    /// The same result under ever-new arguments.
    SameResult
}
detector! {
    /// Results that bring nothing new. Notes and refusals look at one tool's reads, the exit at the whole task.
    NoGain {
        /// What counts as new. Default: `needs` where needs are declared, else `task`.
        towards: Towards,
    }
}
detector! {
    /// Searches that keep returning nothing.
    EmptyStreak
}
detector! {
    /// A target that returns to an earlier state although each write succeeds.
    StateOscillation
}
detector! {
    /// Control passed from agent to agent without anything done in between.
    TransferStreak
}
detector! {
    /// Calls of a tool that does not exist.
    UnknownTool
}
detector! {
    /// A call whose arguments do not fit, repeated.
    InvalidArguments
}
detector! {
    /// An external effect that has taken place already.
    RepeatedEffect
}
detector! {
    /// A call that a person or rule has denied.
    Denied
}

model! {
    /// The threshold of `exact_repeat` for reads whose last result was sufficient.
    #[derive(Default)]
    pub struct SufficientReads {
        /// Once this many equal results are observed, the next such call is refused.
        pub refuse_after: Option<Count<1>>,
    }
}

words! {
    /// What counts as new.
    pub enum Towards {
        /// Anything that the task has not seen yet.
        Task = "task",
        /// A missing cell of the task's `needs`.
        Needs = "needs",
    }
}

model! {
    /// A sequence of calls and results that repeats: A-B-A-B, A-B-C-A-B-C.
    #[derive(Default)]
    pub struct Cycle {
        /// The longest sequence that is looked for, in calls.
        pub max_period: Option<Count<1, 100_000>>,
        /// How many times in a row make a cycle.
        pub laps: Option<Count<2, 1_000>>,
        /// How many calls may be out of line.
        pub mismatches: Option<Count<0, 1_000>>,
        /// After this time without a further observation one call is let through again.
        pub cool_down: Option<Duration>,
    }
}

model! {
    /// Control that goes round between agents.
    #[derive(Default)]
    pub struct TransferCycle {
        /// How many times in a row make a cycle.
        pub laps: Option<Count<2, 1_000>>,
        /// After this time without a further observation one call is let through again.
        pub cool_down: Option<Duration>,
    }
}

model! {
    /// How many different calls there are among all calls in the window. Evidence, unless a threshold is written.
    #[derive(Default)]
    pub struct Diversity {
        /// How many calls the window must hold for the share to mean something.
        pub min_calls: Option<Count<1>>,
        /// A note where the share of different calls is below this.
        pub note_below: Option<Share>,
        /// A repeated call is refused where the share is below this.
        pub refuse_below: Option<Share>,
        /// A note where the Shannon entropy of the window, in bits, is below this.
        pub entropy_note_below: Option<Amount>,
    }
}

/// The detectors, declared once for the policy and once for single tools.
macro_rules! detectors {
    ($($(#[doc = $doc:literal])* $field:ident: $ty:ident,)*) => {
        model! {
            /// The thresholds of all detectors. A detector or rung that no layer writes is off.
            #[derive(Default)]
            noun "detector"
            pub struct Detectors {
                /// How many observations `frequency` and `diversity` look back upon.
                pub window: Option<Count<1, 10_000_000>>,
                $($(#[doc = $doc])* pub $field: Option<$ty>,)*
                /// Thresholds for single tools or groups, by name. They override those above.
                pub r#for: Option<Named<ToolDetectors>>,
            }
        }

        model! {
            /// Thresholds for one tool or group.
            #[derive(Default)]
            noun "detector"
            pub struct ToolDetectors {
                $($(#[doc = $doc])* pub $field: Option<$ty>,)*
            }
        }

        impl Detectors {
            /// The thresholds of the policy without those for single tools.
            #[must_use]
            pub fn general(&self) -> ToolDetectors {
                ToolDetectors { $($field: self.$field.clone(),)* }
            }
        }
    };
}

detectors! {
    /// The same call again and again, where results are not known.
    consecutive: Consecutive,
    /// The same call with the same result, and nothing changed in between.
    exact_repeat: ExactRepeat,
    /// The same fingerprint many times in the window.
    frequency: Frequency,
    /// A sequence of calls and results that repeats.
    cycle: Cycle,
    /// One tool, few arguments vary, and nearly all that it returns is known already.
    oscillation: Oscillation,
    /// The same error under whatever arguments.
    same_error: SameError,
    /// The same result under ever-new arguments.
    same_result: SameResult,
    /// Results that bring nothing new.
    no_gain: NoGain,
    /// Searches that keep returning nothing.
    empty_streak: EmptyStreak,
    /// A target that returns to an earlier state.
    state_oscillation: StateOscillation,
    /// Control passed from agent to agent.
    transfer_streak: TransferStreak,
    /// Control that goes round between agents.
    transfer_cycle: TransferCycle,
    /// How many different calls there are among all calls.
    diversity: Diversity,
    /// Calls of a tool that does not exist.
    unknown_tool: UnknownTool,
    /// A call whose arguments do not fit, repeated.
    invalid_arguments: InvalidArguments,
    /// An external effect that has taken place already.
    repeated_effect: RepeatedEffect,
    /// A call that a person or rule has denied.
    denied: Denied,
}

impl ToolDetectors {
    /// The detectors that have rungs and are written here, by name.
    #[must_use]
    pub fn with_rungs(&self) -> Vec<(&'static str, Rungs)> {
        macro_rules! rungs {
            ($($field:ident),*) => {
                [$((stringify!($field), self.$field.as_ref().map(|detector| detector.rungs()))),*]
            };
        }
        rungs![
            consecutive,
            exact_repeat,
            frequency,
            oscillation,
            same_error,
            same_result,
            no_gain,
            empty_streak,
            state_oscillation,
            transfer_streak,
            unknown_tool,
            invalid_arguments,
            repeated_effect,
            denied
        ]
        .into_iter()
        .filter_map(|(name, rungs)| rungs.map(|rungs| (name, rungs)))
        .collect()
    }
}
