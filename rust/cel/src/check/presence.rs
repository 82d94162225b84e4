//! Which optional fields are known to be there: `has(x.f) && …`, `!has(x.f) || …`, `has(x.f) ? … : …`, `"f" in x`.
//!
//! A field is named by a path, `args.a.b`, or `#0.a` for the first local. In `a && b` each side may rely on the other: where
//! the test on one side is false, the whole is false whatever the other side does, errors included. So each side may rely
//! on what the whole implies, and that is found once. A test may stand under a name: a local of `cel.bind`, or a variable
//! of the host that is known to be one.
use super::Checker;
use crate::ast::{Compare, Expr, Id, Literal};
use crate::env::Tests;

/// Whether `path` starts at the local of that number.
pub(super) fn is_of_local(path: &str, number: usize) -> bool {
    path.strip_prefix('#').and_then(|rest| rest.split('.').next()).is_some_and(|first| first == number.to_string())
}

impl Checker<'_> {
    /// The path of a node that reads a field of a field of … a variable.
    pub(super) fn path(&self, id: Id) -> Option<String> {
        match self.ast.expr(id) {
            Expr::Ident { name, rooted } => Some(match self.local(name, *rooted) {
                Some(number) => format!("#{number}"),
                None => name.to_string(),
            }),
            Expr::Select { operand, field, .. } => Some(format!("{}.{}", self.path(*operand)?, field.text)),
            Expr::Index { operand, index, .. } => match self.ast.expr(*index) {
                Expr::Literal(Literal::Str(key)) => Some(format!("{}.{key}", self.path(*operand)?)),
                _ => None,
            },
            _ => None,
        }
    }

    pub(super) fn is_present(&self, path: &str) -> bool {
        self.present.iter().any(|known| known == path)
    }

    /// Runs `inner` while these paths are known to be there too.
    pub(super) fn knowing<T>(&mut self, paths: Vec<String>, inner: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.present.len();
        self.present.extend(paths);
        let result = inner(self);
        self.present.truncate(before);
        result
    }

    /// What is there if the node is true, or false; each path once, so that tests under names of tests do not grow.
    pub(super) fn tests(&self, id: Id) -> Tests {
        let unique = |mut paths: Vec<String>| {
            paths.sort_unstable();
            paths.dedup();
            paths
        };
        Tests { if_true: unique(self.if_true(id)), if_false: unique(self.if_false(id)) }
    }

    /// What is there if the node is true.
    pub(super) fn if_true(&self, id: Id) -> Vec<String> {
        match self.ast.expr(id) {
            Expr::Has { operand, field } => {
                let whole = self.path(*operand).map(|path| format!("{path}.{}", field.text));
                let mut paths: Vec<String> = whole.into_iter().collect();
                paths.extend(self.prefixes(*operand));
                paths
            }
            Expr::And(terms) => terms.iter().flat_map(|term| self.if_true(*term)).collect(),
            Expr::Or(terms) => self.in_all(terms, true),
            Expr::Not(operand) => self.if_false(*operand),
            Expr::Compare { op: Compare::In, left, right } => match self.ast.expr(*left) {
                Expr::Literal(Literal::Str(key)) => {
                    let whole = self.path(*right).map(|path| format!("{path}.{key}"));
                    whole.into_iter().chain(self.prefixes(*right)).collect()
                }
                _ => Vec::new(),
            },
            Expr::Compare { op: Compare::Eq, left, right } => self.compared(*left, *right, true),
            Expr::Compare { op: Compare::Ne, left, right } => self.compared(*left, *right, false),
            Expr::Ternary { condition, then, otherwise } => self.chosen(*condition, *then, *otherwise, true),
            Expr::Ident { .. } | Expr::Select { .. } => {
                self.tests_of(id).map(|tests| tests.if_true.clone()).unwrap_or_default()
            }
            // `x.?f.hasValue()`
            Expr::Call { target: Some(target), name, args } if &*name.text == "hasValue" && args.is_empty() => {
                self.prefixes(*target)
            }
            _ => Vec::new(),
        }
    }

    /// What is there if the node is false.
    pub(super) fn if_false(&self, id: Id) -> Vec<String> {
        match self.ast.expr(id) {
            Expr::Or(terms) => terms.iter().flat_map(|term| self.if_false(*term)).collect(),
            Expr::And(terms) => self.in_all(terms, false),
            Expr::Not(operand) => self.if_true(*operand),
            Expr::Compare { op: Compare::Eq, left, right } => self.compared(*left, *right, false),
            Expr::Compare { op: Compare::Ne, left, right } => self.compared(*left, *right, true),
            Expr::Ternary { condition, then, otherwise } => self.chosen(*condition, *then, *otherwise, false),
            Expr::Ident { .. } | Expr::Select { .. } => {
                self.tests_of(id).map(|tests| tests.if_false.clone()).unwrap_or_default()
            }
            _ => Vec::new(),
        }
    }

    /// What a test of its own, under a name, has found: a local of `cel.bind`, or a variable of the host.
    fn tests_of(&self, id: Id) -> Option<&Tests> {
        if let Expr::Ident { name, rooted } = self.ast.expr(id) {
            if let Some(number) = self.local(name, *rooted) {
                return self.bound.iter().find(|(local, _)| *local == number).map(|(_, tests)| tests);
            }
        }
        let (name, _) = self.dotted(id)?;
        self.env.tests_of(&name)
    }

    /// `x == true` is `x`, `x == false` its contrary, and `!=` the other way round.
    fn compared(&self, left: Id, right: Id, equal: bool) -> Vec<String> {
        let (side, literal) = match (self.ast.expr(left), self.ast.expr(right)) {
            (_, Expr::Literal(Literal::Bool(value))) => (left, *value),
            (Expr::Literal(Literal::Bool(value)), _) => (right, *value),
            _ => return Vec::new(),
        };
        if literal == equal {
            self.if_true(side)
        } else {
            self.if_false(side)
        }
    }

    /// What both branches imply; a branch that is a literal of the other truth is never the one that was taken.
    fn chosen(&self, condition: Id, then: Id, otherwise: Id, truth: bool) -> Vec<String> {
        let never = |id: Id| matches!(self.ast.expr(id), Expr::Literal(Literal::Bool(value)) if *value != truth);
        let of = |id: Id| if truth { self.if_true(id) } else { self.if_false(id) };
        let taken = || self.if_true(condition).into_iter().chain(of(then)).collect::<Vec<_>>();
        let passed = || self.if_false(condition).into_iter().chain(of(otherwise)).collect::<Vec<_>>();
        match (never(then), never(otherwise)) {
            (true, true) => Vec::new(),
            (true, false) => passed(),
            (false, true) => taken(),
            (false, false) => {
                let other = passed();
                taken().into_iter().filter(|path| other.contains(path)).collect()
            }
        }
    }

    /// What every one of the terms implies.
    fn in_all(&self, terms: &[Id], truth: bool) -> Vec<String> {
        let of = |term: &Id| if truth { self.if_true(*term) } else { self.if_false(*term) };
        let mut terms = terms.iter();
        let mut common = terms.next().map(of).unwrap_or_default();
        for term in terms {
            let other = of(term);
            common.retain(|path| other.contains(path));
        }
        common
    }

    /// The path of a node and of all that it goes through.
    fn prefixes(&self, id: Id) -> Vec<String> {
        let mut paths = Vec::new();
        let mut at = id;
        loop {
            paths.extend(self.path(at));
            match self.ast.expr(at) {
                Expr::Select { operand, .. } | Expr::Index { operand, .. } => at = *operand,
                _ => return paths,
            }
        }
    }
}
