//! `GuardException`: a finding that is lifted for a while.
use super::declare::model;
use super::reader::Named;
use super::texts::{Name, ReasonName, Text};
use super::times::Moment;

model! {
    /// A finding that is lifted for a while. Once expired it is as if it were not there.
    pub struct ExceptionSpec {
        /// The policy, by name.
        pub policy: Name,
        /// The reasons that are lifted. Hard budgets, deadlines, denials and what is known of effects cannot be.
        pub lifts: Vec<ReasonName>,
        /// Which calls it is about. Left out: all.
        pub r#match: Option<ExceptionMatch>,
        /// Who answers for it.
        pub owner: Text,
        /// Why it is right.
        pub justification: Text,
        /// When it ends: a day (its end in UTC), or a moment in UTC.
        pub expires: Moment,
    }
}

model! {
    /// Which calls an exception is about. All that is written must fit; of a list, one entry.
    #[derive(Default)]
    pub struct ExceptionMatch {
        /// Tools by name.
        pub tools: Option<Vec<Name>>,
        /// Agents by name.
        pub agents: Option<Vec<Text>>,
        /// Tenants by name.
        pub tenants: Option<Vec<Text>>,
        /// Labels of the task, each with its value.
        pub labels: Option<Named<Text>>,
    }
}
