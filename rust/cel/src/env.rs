//! What an expression may name: variables with their types, host functions, names of later phases.
use crate::signature::{parse_signature, Overload};
use crate::Type;
use std::sync::Arc;

/// Which fields an expression has tested for: paths such as `args.note` that are there if it came out true, or false.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tests {
    /// There if it is true.
    pub if_true: Vec<String>,
    /// There if it is false.
    pub if_false: Vec<String>,
}

/// The names that expressions are checked against. Made once, shared by all expressions of one phase.
#[derive(Clone, Debug)]
pub struct Env {
    variables: Vec<(Box<str>, Type)>,
    functions: Vec<(Box<str>, Vec<Overload>)>,
    later: Vec<(Box<str>, Box<str>)>,
    tests: Vec<(Box<str>, Tests)>,
    present: Vec<String>,
    container: Box<str>,
    habits: Vec<(Box<str>, Box<str>)>,
    perhaps: Vec<(Box<str>, Arc<[Type]>)>,
    pub(crate) checked: bool,
    pub(crate) dynamic_patterns: bool,
}

impl Default for Env {
    fn default() -> Self {
        Self::new()
    }
}

impl Env {
    /// Without variables and host functions.
    #[must_use]
    pub fn new() -> Self {
        Self {
            variables: Vec::new(),
            functions: Vec::new(),
            later: Vec::new(),
            tests: Vec::new(),
            present: Vec::new(),
            container: Box::default(),
            habits: Vec::new(),
            perhaps: Vec::new(),
            checked: true,
            dynamic_patterns: false,
        }
    }

    /// Declares a variable and returns its slot, by which the evaluation asks for it. A name with dots
    /// (`call.tool`) is one variable, too; the longest declared name wins. Declaring a name again changes its type.
    pub fn variable(&mut self, name: &str, ty: Type) -> usize {
        if let Some(slot) = self.slot(name) {
            if let Some((_, known)) = self.variables.get_mut(slot) {
                *known = ty;
            }
            return slot;
        }
        self.variables.push((name.into(), ty));
        self.variables.len().saturating_sub(1)
    }

    /// Declares a host function, such as `task.calls` with `(string) -> int`, or an overload of it; `string.(int) -> int`
    /// stands behind a value. Returns its number, by which the evaluation calls it.
    ///
    /// # Errors
    /// The signature, if it cannot be read.
    pub fn function(&mut self, name: &str, signature: &str) -> Result<usize, String> {
        let overload = parse_signature(signature).ok_or_else(|| signature.to_owned())?;
        if let Some(at) = self.functions.iter().position(|(known, _)| &**known == name) {
            if let Some((_, overloads)) = self.functions.get_mut(at) {
                overloads.push(overload);
            }
            return Ok(at);
        }
        self.functions.push((name.into(), vec![overload]));
        Ok(self.functions.len().saturating_sub(1))
    }

    /// Names a variable that exists only in a later phase, so that its use is reported as that.
    pub fn later(&mut self, name: &str, phase: &str) {
        self.later.push((name.into(), phase.into()));
    }

    /// Says that a variable is the outcome of tests for fields: `variables.known && args.x > 3` reads `args.x` only where
    /// `variables.known` found it.
    pub fn tested(&mut self, name: &str, tests: Tests) {
        self.tests.retain(|(known, _)| &**known != name);
        self.tests.push((name.into(), tests));
    }

    /// Says that these fields are there wherever the expression is evaluated: something before it has tested for them.
    pub fn present(&mut self, paths: &[String]) {
        self.present.extend_from_slice(paths);
    }

    /// Names a word that authors may write for a variable, such as `arguments` for `args`, so that it is told as that.
    pub fn mistaken(&mut self, word: &str, meant: &str) {
        self.habits.push((word.into(), meant.into()));
    }

    /// Says what a variable of dynamic type may turn out to be, so that a field's name without the variable is told as that.
    pub fn may_be(&mut self, variable: &str, types: Arc<[Type]>) {
        self.perhaps.push((variable.into(), types));
    }

    /// What variables of dynamic type may turn out to be.
    pub(crate) fn perhaps(&self) -> impl Iterator<Item = (&str, &[Type])> {
        self.perhaps.iter().map(|(name, types)| (&**name, &**types))
    }

    /// The variables with their types.
    pub(crate) fn typed(&self) -> impl Iterator<Item = (&str, &Type)> {
        self.variables.iter().map(|(name, ty)| (&**name, ty))
    }

    /// The variable that a word is written for, if it exists here.
    pub(crate) fn meant_by(&self, word: &str) -> Option<&str> {
        let meant = self.habits.iter().find(|(known, _)| &**known == word).map(|(_, meant)| &**meant)?;
        self.variable_names().any(|name| name.split('.').next() == Some(meant)).then_some(meant)
    }

    /// The namespace in which names are looked up first.
    pub fn container(&mut self, name: &str) {
        self.container = name.into();
    }

    /// Leaves types and names to the evaluation: only syntax is checked.
    pub fn unchecked(&mut self) {
        self.checked = false;
    }

    /// Allows `matches` with a pattern that is computed. Policies never do.
    pub fn dynamic_patterns(&mut self) {
        self.dynamic_patterns = true;
    }

    /// The slot of a variable.
    #[must_use]
    pub fn slot(&self, name: &str) -> Option<usize> {
        self.variables.iter().position(|(known, _)| &**known == name)
    }

    pub(crate) fn type_of(&self, slot: usize) -> Type {
        self.variables.get(slot).map_or(Type::Dyn, |(_, ty)| ty.clone())
    }

    /// What a variable has tested for, if it is known to be such a test.
    pub(crate) fn tests_of(&self, name: &str) -> Option<&Tests> {
        self.tests.iter().find(|(known, _)| &**known == name).map(|(_, tests)| tests)
    }

    /// The fields that are there whatever the expression says.
    pub(crate) fn known_present(&self) -> &[String] {
        &self.present
    }

    pub(crate) fn variable_names(&self) -> impl Iterator<Item = &str> {
        self.variables.iter().map(|(name, _)| &**name)
    }

    pub(crate) fn function_names(&self) -> impl Iterator<Item = &str> {
        self.functions.iter().map(|(name, _)| &**name)
    }

    pub(crate) fn host_function(&self, name: &str) -> Option<(usize, &[Overload])> {
        let at = self.functions.iter().position(|(known, _)| &**known == name)?;
        self.functions.get(at).map(|(_, overloads)| (at, &**overloads))
    }

    pub(crate) fn phase_of(&self, name: &str) -> Option<&str> {
        self.later.iter().find(|(known, _)| &**known == name).map(|(_, phase)| &**phase)
    }

    /// The slot of `name` as seen from the container; `rooted` names are taken as they are.
    pub(crate) fn resolve(&self, name: &str, rooted: bool) -> Option<usize> {
        let mut container = if rooted { "" } else { &*self.container };
        while !container.is_empty() {
            if let Some(slot) = self.slot(&format!("{container}.{name}")) {
                return Some(slot);
            }
            container = container.rsplit_once('.').map_or("", |(outer, _)| outer);
        }
        self.slot(name)
    }
}
