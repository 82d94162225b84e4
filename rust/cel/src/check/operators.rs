//! Operators: which types they take, and which comparisons come out the same whatever happens.
use super::{with_article, Checker};
use crate::ast::{Arith, Compare, Expr, Id, Literal};
use crate::diagnostic::did_you_mean;
use crate::types::Scalar;
use crate::{Code, Type};

impl Checker<'_> {
    pub(super) fn not(&mut self, id: Id, operand: Id) -> Type {
        let ty = self.visit(operand);
        if !ty.fits(&Type::Bool) {
            let message = format!("`!` needs a bool, found {}", with_article(&ty));
            self.report(Code::MissingOverload, self.ast.span(id), message, None);
        }
        Type::Bool
    }

    pub(super) fn negate(&mut self, id: Id, operand: Id) -> Type {
        let ty = self.visit(operand);
        match ty.base() {
            Type::Int | Type::Double | Type::Number | Type::Duration => ty.base().clone(),
            Type::Dyn | Type::Param(_) | Type::Union(_) => Type::Dyn,
            _ => {
                let message = format!("`-` needs a number, found {}", with_article(&ty));
                self.report(Code::MissingOverload, self.ast.span(id), message, None);
                Type::Dyn
            }
        }
    }

    /// `&&` if `all`, else `||`.
    pub(super) fn logic(&mut self, terms: &[Id], all: bool) -> Type {
        let known =
            terms.iter().flat_map(|term| if all { self.if_true(*term) } else { self.if_false(*term) }).collect();
        self.knowing(known, |checker| {
            for term in terms {
                checker.term(*term, if all { "&&" } else { "||" });
            }
        });
        Type::Bool
    }

    fn term(&mut self, term: Id, sign: &str) {
        let ty = self.visit(term);
        if !ty.fits(&Type::Bool) {
            let message = format!("`{sign}` needs a bool, found {}", with_article(&ty));
            self.report(Code::MissingOverload, self.ast.span(term), message, None);
        }
    }

    pub(super) fn ternary(&mut self, condition: Id, then: Id, otherwise: Id) -> Type {
        let ty = self.visit(condition);
        if !ty.fits(&Type::Bool) {
            let message = format!("the condition of `?` must be a bool, found {}", with_article(&ty));
            self.report(Code::MissingOverload, self.ast.span(condition), message, None);
        }
        let known = self.if_true(condition);
        let then = self.knowing(known, |checker| checker.visit(then));
        let known = self.if_false(condition);
        let otherwise = self.knowing(known, |checker| checker.visit(otherwise));
        then.join(&otherwise)
    }

    pub(super) fn chain(&mut self, first: Id, rest: &[(Arith, Id)]) -> Type {
        let mut ty = self.visit(first);
        let mut span = self.ast.span(first);
        for (op, operand) in rest {
            let right = self.visit(*operand);
            span = span.to(self.ast.span(*operand));
            ty = match arithmetic(*op, &ty, &right) {
                Some(result) => result,
                None => {
                    let message =
                        format!("`{}` does not take {} and {}", op.sign(), with_article(&ty), with_article(&right));
                    let hint = arithmetic_hint(*op, &ty, &right);
                    self.report(Code::MissingOverload, span, message, hint);
                    Type::Dyn
                }
            };
        }
        ty
    }

    pub(super) fn compare(&mut self, id: Id, op: Compare, left: Id, right: Id) -> Type {
        let left_ty = self.visit(left);
        let right_ty = self.visit(right);
        match op {
            Compare::Eq | Compare::Ne => self.equality(id, op, (left, &left_ty), (right, &right_ty)),
            Compare::In => self.membership(id, (left, &left_ty), (right, &right_ty)),
            _ if !ordered(&left_ty, &right_ty) => {
                let (a, b) = (with_article(&left_ty), with_article(&right_ty));
                let message = format!("`{}` does not compare {a} with {b}", op.sign());
                let hint = match (left_ty.base(), right_ty.base()) {
                    (Type::String, other) | (other, Type::String) if other.is_numeric() => {
                        Some("convert the text with `double(…)`, or the number with `string(…)`")
                    }
                    _ => None,
                };
                self.report(Code::MissingOverload, self.ast.span(id), message, hint);
            }
            _ => {}
        }
        Type::Bool
    }

    fn equality(&mut self, id: Id, op: Compare, left: (Id, &Type), right: (Id, &Type)) {
        let always = if op == Compare::Eq { "false" } else { "true" };
        if !equatable(left.1, right.1) {
            let (a, b) = (with_article(left.1), with_article(right.1));
            let message = format!("{a} never equals {b}: this is always {always}");
            let hint = match (left.1.base(), right.1.base()) {
                (Type::String, other) | (other, Type::String) if other.is_numeric() => {
                    Some("convert one side, or leave out the quotes")
                }
                _ => None,
            };
            return self.report(Code::NeverTrue, self.ast.span(id), message, hint);
        }
        self.outside_enum(left.1, right.0, always);
        self.outside_enum(right.1, left.0, always);
    }

    /// Reports a literal that is none of the values that the other side may have.
    fn outside_enum(&mut self, ty: &Type, literal: Id, always: &str) {
        let (Some(values), Some(scalar)) = (enum_of(ty), self.scalar(literal)) else { return };
        if values.iter().any(|value| same_scalar(value, &scalar)) {
            return;
        }
        let texts = values.iter().filter_map(|value| match value {
            Scalar::String(text) => Some(&**text),
            _ => None,
        });
        let meant = match &scalar {
            Scalar::String(text) => did_you_mean(text, texts),
            _ => None,
        };
        let hint = meant.unwrap_or_else(|| {
            let listed: Vec<String> = values.iter().take(8).map(ToString::to_string).collect();
            let more = if values.len() > 8 { ", …" } else { "" };
            format!("it is one of {}{more}", listed.join(", "))
        });
        let message = format!("{scalar} is none of the possible values: this is always {always}");
        self.report_with(Code::NeverTrue, self.ast.span(literal), message, Some(hint));
    }

    fn scalar(&self, id: Id) -> Option<Scalar> {
        match self.ast.expr(id) {
            Expr::Literal(Literal::Null) => Some(Scalar::Null),
            Expr::Literal(Literal::Bool(value)) => Some(Scalar::Bool(*value)),
            Expr::Literal(Literal::Int(value)) => Some(Scalar::Int(*value)),
            Expr::Literal(Literal::Double(value)) => Some(Scalar::Double(*value)),
            Expr::Literal(Literal::Str(value)) => Some(Scalar::String(value.clone())),
            _ => None,
        }
    }

    fn membership(&mut self, id: Id, left: (Id, &Type), right: (Id, &Type)) {
        let element = match right.1.base() {
            Type::List(element) => Some((**element).clone()),
            Type::Map(entry) => Some(entry.0.clone()),
            Type::Object(object) => {
                if let (Expr::Literal(Literal::Str(key)), false) = (self.ast.expr(left.0), object.open) {
                    if object.get(key).is_none() {
                        let hint = did_you_mean(key, object.fields.iter().map(|(name, _)| &**name));
                        let message = format!("there is no field `{key}`: this is always false");
                        return self.report_with(Code::NeverTrue, self.ast.span(left.0), message, hint);
                    }
                }
                Some(Type::String)
            }
            Type::Dyn | Type::Param(_) => None,
            Type::Union(members) => {
                let able = members.iter().any(|ty| matches!(ty.base(), Type::List(_) | Type::Map(_) | Type::Object(_)));
                if !able {
                    self.no_membership(id, right.1);
                }
                None
            }
            _ => {
                self.no_membership(id, right.1);
                None
            }
        };
        if element.is_some_and(|element| !equatable(left.1, &element)) {
            let message =
                format!("{} is never in {}: this is always false", with_article(left.1), with_article(right.1));
            return self.report(Code::NeverTrue, self.ast.span(id), message, None);
        }
        if let Expr::List(elements) = self.ast.expr(right.0) {
            for element in elements {
                self.outside_enum(left.1, element.value, "false");
            }
        }
    }

    fn no_membership(&mut self, id: Id, ty: &Type) {
        let message = format!("`in` needs a list or a map, found {}", with_article(ty));
        let hint = matches!(ty.base(), Type::String).then_some("for text in text, `x.contains(\"…\")`");
        self.report(Code::MissingOverload, self.ast.span(id), message, hint);
    }
}

/// The values that a type lists, if it lists all that it may be.
fn enum_of(ty: &Type) -> Option<Vec<Scalar>> {
    match ty {
        Type::OneOf(of) => Some(of.1.clone()),
        Type::Union(members) => {
            let mut values = Vec::new();
            for member in members.iter() {
                match member {
                    Type::Null => values.push(Scalar::Null),
                    other => values.extend(enum_of(other)?),
                }
            }
            Some(values)
        }
        _ => None,
    }
}

#[allow(clippy::cast_precision_loss)] // enums of ints beyond 2^53 against a double literal: nothing is lost but a hint
fn same_scalar(a: &Scalar, b: &Scalar) -> bool {
    match (a, b) {
        (Scalar::Int(int), Scalar::Double(double)) | (Scalar::Double(double), Scalar::Int(int)) => {
            *int as f64 == *double
        }
        _ => a == b,
    }
}

/// Whether two values of these types may be equal.
pub(crate) fn equatable(a: &Type, b: &Type) -> bool {
    let one = |a: &Type, b: &Type| match (a.base(), b.base()) {
        (Type::Dyn | Type::Param(_), _) | (_, Type::Dyn | Type::Param(_)) => true,
        (a, b) if a.is_numeric() && b.is_numeric() => true,
        (Type::List(a), Type::List(b)) | (Type::Optional(a), Type::Optional(b)) => equatable(a, b),
        (Type::Map(_) | Type::Object(_), Type::Map(_) | Type::Object(_)) => true,
        (a, b) => a == b,
    };
    a.base().members().iter().any(|a| b.base().members().iter().any(|b| one(a, b)))
}

/// Whether values of these types may have an order.
pub(crate) fn ordered(a: &Type, b: &Type) -> bool {
    let able = |ty: &Type| {
        matches!(ty.base(), Type::String | Type::Bytes | Type::Bool | Type::Duration | Type::Timestamp)
            || ty.is_numeric()
    };
    let one = |a: &Type, b: &Type| match (a.base(), b.base()) {
        (a, b) if a.is_dyn() => b.is_dyn() || able(b),
        (a, b) if b.is_dyn() => able(a),
        (a, b) => (a.is_numeric() && b.is_numeric()) || (able(a) && a == b),
    };
    a.base().members().iter().any(|a| b.base().members().iter().any(|b| one(a, b)))
}

/// The type of `a op b`, or nothing if there is no such operator.
pub(crate) fn arithmetic(op: Arith, a: &Type, b: &Type) -> Option<Type> {
    match (a.base(), b.base()) {
        (Type::Union(_), _) | (_, Type::Union(_)) => {
            let pairs = a.base().members().iter().flat_map(|a| b.base().members().iter().map(move |b| (a, b)));
            let mut able = pairs.filter_map(|(a, b)| arithmetic(op, a, b));
            let first = able.next()?;
            return Some(able.fold(first, |so_far, ty| so_far.join(&ty)));
        }
        (a, b) if a.is_dyn() || b.is_dyn() => {
            let known = if a.is_dyn() { b } else { a };
            let able = known.is_dyn()
                || known.is_numeric()
                || matches!(
                    (op, known),
                    (Arith::Add, Type::String | Type::Bytes | Type::List(_))
                        | (Arith::Add | Arith::Sub, Type::Duration | Type::Timestamp)
                );
            return able.then_some(Type::Dyn);
        }
        _ => {}
    }
    let result = match (op, a.base(), b.base()) {
        (_, Type::Int, Type::Int) => Type::Int,
        (_, Type::Uint, Type::Uint) => Type::Uint,
        (Arith::Rem, _, _) => return None,
        (_, Type::Double, Type::Double) => Type::Double,
        (Arith::Add, Type::String, Type::String) => Type::String,
        (Arith::Add, Type::Bytes, Type::Bytes) => Type::Bytes,
        (Arith::Add, Type::List(a), Type::List(b)) => Type::list(a.join(b)),
        (Arith::Add | Arith::Sub, Type::Duration, Type::Duration) => Type::Duration,
        (Arith::Add | Arith::Sub, Type::Timestamp, Type::Duration) => Type::Timestamp,
        (Arith::Add, Type::Duration, Type::Timestamp) => Type::Timestamp,
        (Arith::Sub, Type::Timestamp, Type::Timestamp) => Type::Duration,
        _ => return None,
    };
    Some(result)
}

fn arithmetic_hint(op: Arith, a: &Type, b: &Type) -> Option<&'static str> {
    match (op, a.base(), b.base()) {
        (Arith::Rem, a, b) if a.is_numeric() && b.is_numeric() => Some("`%` is for ints, write `int(…)`"),
        (_, a, b) if a.is_numeric() && b.is_numeric() => {
            Some("both sides must be of one kind: a JSON number may come as an int or a double, write `double(…)`")
        }
        (Arith::Add, Type::String, _) | (Arith::Add, _, Type::String) => {
            Some("write `string(…)` around what is no text")
        }
        _ => None,
    }
}
