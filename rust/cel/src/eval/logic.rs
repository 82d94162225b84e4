//! `&&`, `||`, `!` and `?:`.
use super::{no_overload, Machine, Out, Watch};
use crate::ast::Id;
use crate::error::Fault;
use crate::val::Val;

impl<'a, W: Watch> Machine<'a, '_, W> {
    /// `||` if `decisive` is true, else `&&`: the first side that has this value decides, errors on the others notwithstanding.
    #[inline(never)]
    pub(super) fn logic(&mut self, terms: &[Id], decisive: bool) -> Out<'a> {
        let mut failed: Option<Fault> = None;
        for term in terms {
            match self.eval(*term) {
                Ok(Val::Bool(value)) if value == decisive => return Ok(Val::Bool(decisive)),
                Ok(Val::Bool(_)) => {}
                Ok(other) => {
                    let mut fault = no_overload(if decisive { "||" } else { "&&" }, &[&other]);
                    fault.span = self.span(*term);
                    failed = failed.or(Some(fault));
                }
                Err(fault) if fault.kind.is_limit() => return Err(fault),
                Err(fault) => failed = failed.or(Some(fault)),
            }
        }
        match failed {
            Some(fault) => Err(fault),
            None => Ok(Val::Bool(!decisive)),
        }
    }

    #[inline(never)]
    pub(super) fn not(&mut self, operand: Id) -> Out<'a> {
        match self.eval(operand)? {
            Val::Bool(value) => Ok(Val::Bool(!value)),
            other => Err(no_overload("!", &[&other])),
        }
    }

    #[inline(never)]
    pub(super) fn ternary(&mut self, condition: Id, then: Id, otherwise: Id) -> Out<'a> {
        match self.eval(condition)? {
            Val::Bool(true) => self.eval(then),
            Val::Bool(false) => self.eval(otherwise),
            other => Err(no_overload("?:", &[&other])),
        }
    }
}
