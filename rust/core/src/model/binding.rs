//! `GuardBinding`: which policy applies to whom.
use super::data::Data;
use super::declare::model;
use super::policy::Mode;
use super::reader::Named;
use super::texts::{Name, Text};

model! {
    /// Which policy applies to whom. Where several bindings match, each applies and the strictest verdict wins.
    pub struct BindingSpec {
        /// The policy, by name.
        pub policy: Name,
        /// Whom it applies to. Left out: everyone.
        pub r#match: Option<Match>,
        /// Another mode than the policy's own. A weaker one needs `rollout: true`.
        pub mode: Option<Mode>,
        /// That the policy is being rolled out: its mode may be weaker here, and every verdict shows it.
        pub rollout: Option<bool>,
        /// The values of the policy's parameters.
        pub parameters: Option<Named<Data>>,
    }
}

model! {
    /// Whom something applies to. All that is written must fit; of a list, one entry.
    #[derive(Default)]
    pub struct Match {
        /// Agents by name.
        pub agents: Option<Vec<Text>>,
        /// Tenants by name.
        pub tenants: Option<Vec<Text>>,
        /// Labels of the task, each with its value.
        pub labels: Option<Named<Text>>,
    }
}
