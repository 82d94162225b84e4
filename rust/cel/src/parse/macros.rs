//! The macros: calls that the parser turns into nodes of their own.
use super::Parser;
use crate::ast::{Comprehension, Expr, Fold, Id, Literal, Name};
use crate::{Code, Span};

/// What `has` is told that gets no field.
pub(crate) const NO_FIELD: &str = "`has` takes a field, as in `has(x.field)`";

/// Names of macros that stand behind a value, for "did you mean".
pub(crate) const MEMBER_MACROS: [&str; 13] = [
    "all",
    "exists",
    "exists_one",
    "existsOne",
    "map",
    "filter",
    "transformList",
    "transformMap",
    "transformMapEntry",
    "sortBy",
    "optMap",
    "optFlatMap",
    "bind",
];

impl Parser<'_> {
    /// What the call stands for, if it is a macro's.
    pub(crate) fn expand(&mut self, target: Option<Id>, name: &Name, args: &[Id], span: Span) -> Option<Expr> {
        if self.is_stopped() {
            return None;
        }
        match (target, &*name.text, args) {
            (None, "has", [arg]) => Some(self.has(*arg)),
            (Some(target), "bind", [var, value, body]) if self.is_cel(target) => {
                Some(Expr::Bind { name: self.variable(*var)?, value: *value, body: *body })
            }
            (Some(target), "iterVar", [depth, unique]) if self.is_cel(target) => {
                let name = format!("@it:{}:{}", self.number(*depth)?, self.number(*unique)?).into();
                Some(Expr::Ident { name, rooted: false })
            }
            (Some(target), "index", [index]) if self.is_cel(target) => {
                Some(Expr::Ident { name: format!("@index{}", self.number(*index)?).into(), rooted: false })
            }
            (Some(target), "block", [slots, body]) if self.is_cel(target) => self.block(*slots, *body, span),
            (Some(target), "optMap" | "optFlatMap", [var, body]) => {
                let flat = &*name.text == "optFlatMap";
                Some(Expr::OptMap { target, name: self.variable(*var)?, body: *body, flat })
            }
            (Some(range), _, _) => self.comprehension(range, &name.text, args),
            _ => None,
        }
    }

    fn comprehension(&mut self, range: Id, name: &str, args: &[Id]) -> Option<Expr> {
        let (fold, second, filter, body) = match (name, args) {
            ("all", [_, body]) => (Fold::All, None, None, body),
            ("all", [_, second, body]) => (Fold::All, Some(second), None, body),
            ("exists", [_, body]) => (Fold::Exists, None, None, body),
            ("exists", [_, second, body]) => (Fold::Exists, Some(second), None, body),
            ("exists_one" | "existsOne", [_, body]) => (Fold::ExistsOne, None, None, body),
            ("exists_one" | "existsOne", [_, second, body]) => (Fold::ExistsOne, Some(second), None, body),
            ("map", [_, body]) => (Fold::Map, None, None, body),
            ("map", [_, filter, body]) => (Fold::Map, None, Some(filter), body),
            ("filter", [_, body]) => (Fold::Filter, None, None, body),
            ("transformList", [_, second, body]) => (Fold::Map, Some(second), None, body),
            ("transformList", [_, second, filter, body]) => (Fold::Map, Some(second), Some(filter), body),
            ("transformMap", [_, second, body]) => (Fold::TransformMap, Some(second), None, body),
            ("transformMap", [_, second, filter, body]) => (Fold::TransformMap, Some(second), Some(filter), body),
            ("transformMapEntry", [_, second, body]) => (Fold::TransformMapEntry, Some(second), None, body),
            ("transformMapEntry", [_, second, filter, body]) => {
                (Fold::TransformMapEntry, Some(second), Some(filter), body)
            }
            ("sortBy", [_, body]) => (Fold::SortBy, None, None, body),
            _ => return None,
        };
        let first = self.variable(*args.first()?)?;
        let second = match second {
            Some(second) => Some(self.variable(*second)?),
            None => None,
        };
        if let Some(second) = second.as_ref().filter(|second| second.text == first.text) {
            let message = format!("`{}` names both variables", second.text);
            self.fault(Code::Syntax, second.span, message, Some("give them different names"));
        }
        Some(Expr::Comprehension(Box::new(Comprehension {
            fold,
            range,
            first,
            second,
            filter: filter.copied(),
            body: *body,
        })))
    }

    fn has(&mut self, arg: Id) -> Expr {
        match self.expr_of(arg).clone() {
            Expr::Select { operand, field, optional: false } => Expr::Has { operand, field },
            Expr::Broken => Expr::Broken,
            _ => {
                let span = self.span_of(arg);
                let hint = Some("write `has(x.field)`; for a key in brackets, `\"key\" in x`");
                self.fault(Code::Syntax, span, NO_FIELD, hint);
                Expr::Broken
            }
        }
    }

    /// The variable that an argument names.
    fn variable(&mut self, arg: Id) -> Option<Name> {
        let span = self.span_of(arg);
        match self.expr_of(arg) {
            Expr::Ident { name, rooted: false } => Some(Name { text: name.clone(), span }),
            Expr::Broken => None,
            _ => {
                let hint = Some("as `x` in `list.all(x, x > 0)`");
                self.fault(Code::Syntax, span, "the name of a variable must stand here", hint);
                None
            }
        }
    }

    fn is_cel(&self, target: Id) -> bool {
        matches!(self.expr_of(target), Expr::Ident { name, .. } if &**name == "cel")
    }

    fn number(&self, arg: Id) -> Option<i64> {
        match self.expr_of(arg) {
            Expr::Literal(Literal::Int(value)) => Some(*value),
            _ => None,
        }
    }

    /// `cel.block([a, b], body)`: a value for each `cel.index(n)`, in order.
    fn block(&mut self, slots: Id, body: Id, span: Span) -> Option<Expr> {
        let Expr::List(elements) = self.expr_of(slots).clone() else { return None };
        let mut body = body;
        for (at, element) in elements.iter().enumerate().skip(1).rev() {
            let name = Name { text: format!("@index{at}").into(), span };
            body = self.push(Expr::Bind { name, value: element.value, body }, span);
        }
        let name = Name { text: "@index0".into(), span };
        Some(Expr::Bind { name, value: elements.first()?.value, body })
    }
}
