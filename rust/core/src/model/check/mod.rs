//! Faults of sense that one document shows by itself, and that a declaration of keys cannot say.
mod budgets;
mod detectors;
mod exception;
mod guard_test;
mod locked;
mod manifest;
mod policy;

use super::envelope::{GuardBinding, GuardException, GuardPolicy, GuardTest, ToolManifest};
use super::fault::{Fault, Pointer};

/// What is being looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// A file as it is written: whatever `extends` supplies may be missing, and what contradicts itself is an error.
    Layer,
    /// What all layers together say: nothing may be missing. Rungs that contradict each other are no error here, since
    /// merging pulls an inherited rung down.
    Resolved,
}

/// A document whose sense can be checked.
pub trait Checked {
    /// Adds the faults of sense. `clean` says that the form had no fault, so that what is missing is missing indeed.
    fn check(&self, stage: Stage, clean: bool, faults: &mut Vec<Fault>);
}

/// Where `spec` stands.
fn spec() -> Pointer {
    Pointer::default().key("spec")
}

impl Checked for ToolManifest {
    fn check(&self, _: Stage, _: bool, faults: &mut Vec<Fault>) {
        manifest::check(&self.spec, &spec(), faults);
    }
}

impl Checked for GuardPolicy {
    fn check(&self, stage: Stage, clean: bool, faults: &mut Vec<Fault>) {
        policy::check(&self.spec, &spec(), stage, clean, faults);
        if let Some(invariants) = self.verification.as_ref().and_then(|verification| verification.invariants.as_ref()) {
            let at = Pointer::default().key("verification").key("invariants");
            policy::unique_ids(invariants.iter().map(|invariant| &invariant.id), &at, "invariant", faults);
        }
    }
}

impl Checked for GuardBinding {
    fn check(&self, _: Stage, _: bool, _: &mut Vec<Fault>) {}
}

impl Checked for GuardException {
    fn check(&self, _: Stage, _: bool, faults: &mut Vec<Fault>) {
        exception::check(&self.spec, &spec(), faults);
    }
}

impl Checked for GuardTest {
    fn check(&self, _: Stage, clean: bool, faults: &mut Vec<Fault>) {
        guard_test::check(&self.spec, &spec(), clean, faults);
    }
}
