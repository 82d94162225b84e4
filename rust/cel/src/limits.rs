//! The bounds of an expression and of its evaluation, and the fuel that an evaluation burns.
use crate::error::{ErrorKind, EvalError, Fault};

/// Bounds. The defaults are those of policies; nothing in a policy can raise them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of source.
    pub source: usize,
    /// Brackets, calls and conditionals inside one another.
    pub nesting: usize,
    /// Nodes of the syntax tree.
    pub nodes: usize,
    /// Comprehensions inside one another.
    pub comprehensions: usize,
    /// Steps of one evaluation; about one a node, an element, or 64 bytes of text.
    pub fuel: u64,
    /// Bytes that one evaluation may allocate.
    pub memory: u64,
    /// Lists and maps inside one another in data that is compared, copied or printed.
    pub depth: usize,
    /// Bytes of one compiled regular expression.
    pub pattern: usize,
    /// Mistakes reported for one expression.
    pub diagnostics: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            source: 8 * 1024,
            nesting: 32,
            nodes: 2_000,
            comprehensions: 2,
            fuel: 100_000,
            memory: 1 << 20,
            depth: 64,
            pattern: 256 * 1024,
            diagnostics: 20,
        }
    }
}

impl Limits {
    /// The height that a syntax tree may have; evaluation recurses no deeper than this.
    pub(crate) fn height(&self) -> usize {
        self.nesting.saturating_mul(3)
    }
}

/// What an evaluation may still burn.
#[derive(Clone, Debug)]
pub struct Fuel {
    steps: u64,
    memory: u64,
    depth: usize,
    given: (u64, u64),
}

impl Fuel {
    /// The fuel of one evaluation.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self { steps: limits.fuel, memory: limits.memory, depth: limits.depth, given: (limits.fuel, limits.memory) }
    }

    /// The same, but with no more than `steps` steps: what is left of a decision's share.
    #[must_use]
    pub fn at_most(limits: &Limits, steps: u64) -> Self {
        let steps = limits.fuel.min(steps);
        Self { steps, memory: limits.memory, depth: limits.depth, given: (steps, limits.memory) }
    }

    /// Steps burnt so far.
    #[must_use]
    pub fn steps_used(&self) -> u64 {
        self.given.0.saturating_sub(self.steps)
    }

    /// Bytes allocated so far.
    #[must_use]
    pub fn memory_used(&self) -> u64 {
        self.given.1.saturating_sub(self.memory)
    }

    /// Lists and maps inside one another that data may have.
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    #[inline]
    pub(crate) fn burn(&mut self, steps: u64) -> Result<(), Fault> {
        match self.steps.checked_sub(steps) {
            Some(left) => {
                self.steps = left;
                Ok(())
            }
            None => {
                self.steps = 0;
                Err(out_of("fuel", ErrorKind::OutOfFuel))
            }
        }
    }

    /// Burns what reading this many bytes of text costs.
    #[inline]
    pub(crate) fn read(&mut self, bytes: usize) -> Result<(), Fault> {
        self.burn((bytes as u64) >> 6)
    }

    /// Takes this many bytes, and burns what writing them costs.
    pub(crate) fn allocate(&mut self, bytes: usize) -> Result<(), Fault> {
        let bytes = bytes as u64;
        match self.memory.checked_sub(bytes) {
            Some(left) => self.memory = left,
            None => {
                self.memory = 0;
                return Err(out_of("memory", ErrorKind::OutOfMemory));
            }
        }
        self.burn(bytes >> 6)
    }

    pub(crate) fn too_deep(&self) -> Fault {
        EvalError::fault(ErrorKind::TooDeep, format!("the data is nested deeper than {} levels", self.depth))
    }
}

#[cold]
fn out_of(what: &str, kind: ErrorKind) -> Fault {
    EvalError::fault(kind, format!("the expression used up its {what}"))
}
