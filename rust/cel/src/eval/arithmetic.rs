//! `+ - * / %` and the unary minus, checked.
use super::{no_overload, Machine, Out, Watch};
use crate::ast::{Arith, Id};
use crate::error::{ErrorKind, EvalError, Fault};
use crate::time::overflow;
use crate::val::{List, Str, Val};
use crate::Fuel;

impl<'a, W: Watch> Machine<'a, '_, W> {
    #[inline(never)]
    pub(super) fn chain(&mut self, first: Id, rest: &[(Arith, Id)]) -> Out<'a> {
        let mut value = self.eval(first)?;
        let start = self.span(first);
        for (op, operand) in rest {
            let right = self.eval(*operand)?;
            value = arithmetic(*op, value, right, self.fuel).map_err(|mut fault| {
                fault.span = start.to(self.span(*operand));
                fault
            })?;
        }
        Ok(value)
    }

    #[inline(never)]
    pub(super) fn negate(&mut self, operand: Id) -> Out<'a> {
        match self.eval(operand)? {
            Val::Int(value) => value.checked_neg().map(Val::Int).ok_or_else(too_large),
            Val::Double(value) => Ok(Val::Double(-value)),
            Val::Duration(nanos) => nanos.checked_neg().map(Val::Duration).ok_or_else(overflow),
            other => Err(no_overload("-", &[&other])),
        }
    }
}

#[cold]
pub(crate) fn too_large() -> Fault {
    EvalError::fault(ErrorKind::Overflow, "the result does not fit into 64 bits")
}

#[cold]
fn by_zero() -> Fault {
    EvalError::fault(ErrorKind::DivideByZero, "division by zero")
}

fn arithmetic<'a>(op: Arith, a: Val<'a>, b: Val<'a>, fuel: &mut Fuel) -> Out<'a> {
    match (op, &a, &b) {
        (_, Val::Int(a), Val::Int(b)) => ints(op, *a, *b).map(Val::Int),
        (_, Val::Uint(a), Val::Uint(b)) => uints(op, *a, *b).map(Val::Uint),
        (Arith::Add, Val::Double(a), Val::Double(b)) => Ok(Val::Double(a + b)),
        (Arith::Sub, Val::Double(a), Val::Double(b)) => Ok(Val::Double(a - b)),
        (Arith::Mul, Val::Double(a), Val::Double(b)) => Ok(Val::Double(a * b)),
        (Arith::Div, Val::Double(a), Val::Double(b)) => Ok(Val::Double(a / b)),
        (Arith::Add, Val::Str(a), Val::Str(b)) => concat(a, b, fuel),
        (Arith::Add, Val::Bytes(a), Val::Bytes(b)) => {
            fuel.allocate(a.len().saturating_add(b.len()))?;
            Ok(Val::Bytes(a.iter().chain(b.iter()).copied().collect()))
        }
        (Arith::Add, Val::List(a), Val::List(b)) => join(a, b, fuel),
        (Arith::Add, Val::Duration(a), Val::Duration(b)) => a.checked_add(*b).map(Val::Duration).ok_or_else(overflow),
        (Arith::Sub, Val::Duration(a), Val::Duration(b)) => a.checked_sub(*b).map(Val::Duration).ok_or_else(overflow),
        (Arith::Add, Val::Timestamp(at), Val::Duration(nanos))
        | (Arith::Add, Val::Duration(nanos), Val::Timestamp(at)) => at.plus(*nanos).map(Val::Timestamp),
        (Arith::Sub, Val::Timestamp(at), Val::Duration(nanos)) => {
            at.plus(nanos.checked_neg().ok_or_else(overflow)?).map(Val::Timestamp)
        }
        (Arith::Sub, Val::Timestamp(a), Val::Timestamp(b)) => a.since(*b).map(Val::Duration),
        _ => Err(no_overload(op.sign(), &[&a, &b])),
    }
}

fn ints(op: Arith, a: i64, b: i64) -> Result<i64, Fault> {
    let value = match op {
        Arith::Add => a.checked_add(b),
        Arith::Sub => a.checked_sub(b),
        Arith::Mul => a.checked_mul(b),
        Arith::Div | Arith::Rem if b == 0 => return Err(by_zero()),
        Arith::Div => a.checked_div(b),
        Arith::Rem => a.checked_rem(b),
    };
    value.ok_or_else(too_large)
}

fn uints(op: Arith, a: u64, b: u64) -> Result<u64, Fault> {
    let value = match op {
        Arith::Add => a.checked_add(b),
        Arith::Sub => a.checked_sub(b),
        Arith::Mul => a.checked_mul(b),
        Arith::Div | Arith::Rem if b == 0 => return Err(by_zero()),
        Arith::Div => a.checked_div(b),
        Arith::Rem => a.checked_rem(b),
    };
    value.ok_or_else(too_large)
}

fn concat<'a>(a: &Str<'a>, b: &Str<'a>, fuel: &mut Fuel) -> Out<'a> {
    let len = a.len().saturating_add(b.len());
    fuel.allocate(len)?;
    let mut text = String::with_capacity(len);
    text.push_str(a);
    text.push_str(b);
    Ok(text.into())
}

fn join<'a>(a: &List<'a>, b: &List<'a>, fuel: &mut Fuel) -> Out<'a> {
    let len = a.len().saturating_add(b.len());
    fuel.allocate(len.saturating_mul(size_of::<Val>()))?;
    fuel.burn(len as u64)?;
    Ok(Val::List(List::owned(a.iter().chain(b.iter()).collect())))
}
