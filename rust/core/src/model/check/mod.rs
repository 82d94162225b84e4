//! Faults of sense that one document shows by itself, and that a declaration of keys cannot say.
mod arguments;
mod budgets;
mod detectors;
mod exception;
mod guard_test;
mod locked;
mod manifest;
mod policy;

pub(crate) use manifest::check_tool;

use super::binding::BindingSpec;
use super::envelope::{GuardBinding, GuardException, GuardPolicy, GuardTest, ToolManifest};
use super::exception::ExceptionSpec;
use super::fault::{Fault, Pointer};
use super::guard_test::TestSpec;
use super::manifest::ManifestSpec;
use super::policy::PolicySpec;
use super::reader::Model;

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
pub trait Checked: Model {
    /// What stands under `spec`.
    type Spec: Model;

    /// What stands under `spec` of a document that could be read.
    fn spec(&self) -> &Self::Spec;

    /// Adds the faults of sense in `spec`. `clean` says that the form had no fault, so that what is missing is missing
    /// indeed.
    fn check(spec: &Self::Spec, stage: Stage, clean: bool, faults: &mut Vec<Fault>);

    /// Adds those in what stands beside `spec`.
    fn check_beside(&self, _: &mut Vec<Fault>) {}
}

/// Where `spec` stands.
fn at() -> Pointer {
    Pointer::default().key("spec")
}

impl Checked for ToolManifest {
    type Spec = ManifestSpec;

    fn spec(&self) -> &ManifestSpec {
        &self.spec
    }

    fn check(spec: &ManifestSpec, _: Stage, _: bool, faults: &mut Vec<Fault>) {
        manifest::check(spec, &at(), faults);
    }
}

impl Checked for GuardPolicy {
    type Spec = PolicySpec;

    fn spec(&self) -> &PolicySpec {
        &self.spec
    }

    fn check(spec: &PolicySpec, stage: Stage, clean: bool, faults: &mut Vec<Fault>) {
        policy::check(spec, &at(), stage, clean, faults);
    }

    fn check_beside(&self, faults: &mut Vec<Fault>) {
        if let Some(invariants) = self.verification.as_ref().and_then(|verification| verification.invariants.as_ref()) {
            let at = Pointer::default().key("verification").key("invariants");
            policy::unique_ids(invariants.iter().map(|invariant| &invariant.id), &at, "invariant", faults);
        }
    }
}

impl Checked for GuardBinding {
    type Spec = BindingSpec;

    fn spec(&self) -> &BindingSpec {
        &self.spec
    }

    fn check(_: &BindingSpec, _: Stage, _: bool, _: &mut Vec<Fault>) {}
}

impl Checked for GuardException {
    type Spec = ExceptionSpec;

    fn spec(&self) -> &ExceptionSpec {
        &self.spec
    }

    fn check(spec: &ExceptionSpec, _: Stage, _: bool, faults: &mut Vec<Fault>) {
        exception::check(spec, &at(), faults);
    }
}

impl Checked for GuardTest {
    type Spec = TestSpec;

    fn spec(&self) -> &TestSpec {
        &self.spec
    }

    fn check(spec: &TestSpec, _: Stage, clean: bool, faults: &mut Vec<Fault>) {
        guard_test::check(spec, &at(), clean, faults);
    }
}
