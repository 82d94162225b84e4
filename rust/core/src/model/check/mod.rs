//! Faults of sense that one document shows by itself, and that a declaration of keys cannot say.
use super::envelope::{GuardBinding, GuardException, GuardPolicy, GuardTest, ToolManifest};
use super::fault::Fault;

/// What is being looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// A file as it is written: whatever `extends` supplies may be missing.
    Layer,
    /// What all layers together say: nothing may be missing.
    Resolved,
}

/// A document whose sense can be checked.
pub trait Checked {
    /// Adds the faults of sense. `clean` says that the form had no fault, so that what is missing is missing indeed.
    fn check(&self, stage: Stage, clean: bool, faults: &mut Vec<Fault>);
}

impl Checked for ToolManifest {
    fn check(&self, _: Stage, _: bool, _: &mut Vec<Fault>) {}
}
impl Checked for GuardPolicy {
    fn check(&self, _: Stage, _: bool, _: &mut Vec<Fault>) {}
}
impl Checked for GuardBinding {
    fn check(&self, _: Stage, _: bool, _: &mut Vec<Fault>) {}
}
impl Checked for GuardException {
    fn check(&self, _: Stage, _: bool, _: &mut Vec<Fault>) {}
}
impl Checked for GuardTest {
    fn check(&self, _: Stage, _: bool, _: &mut Vec<Fault>) {}
}
