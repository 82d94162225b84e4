//! Operators, from the conditional down to the signs. Chains of one level are one node, so that they do not make the tree higher.
use super::Parser;
use crate::ast::{Arith, Compare, Expr, Id};
use crate::lex::Token;
use crate::Span;

impl Parser<'_> {
    pub(super) fn ternary(&mut self) -> Id {
        let condition = self.or();
        if !self.accept("?") {
            return condition;
        }
        let open = self.behind();
        let then = self.or();
        self.expect(":", open);
        let otherwise = self.expr();
        let span = self.span_of(condition).to(self.span_of(otherwise));
        self.push(Expr::Ternary { condition, then, otherwise }, span)
    }

    pub(super) fn or(&mut self) -> Id {
        let first = self.and();
        if !self.is("||") {
            return first;
        }
        let mut terms = vec![first];
        while self.accept("||") {
            terms.push(self.and());
        }
        let span = self.covering(&terms);
        self.push(Expr::Or(terms), span)
    }

    pub(super) fn and(&mut self) -> Id {
        let first = self.relation();
        if !self.is("&&") {
            return first;
        }
        let mut terms = vec![first];
        while self.accept("&&") {
            terms.push(self.relation());
        }
        let span = self.covering(&terms);
        self.push(Expr::And(terms), span)
    }

    pub(super) fn covering(&self, ids: &[Id]) -> Span {
        let span = |id: Option<&Id>| id.map(|id| self.span_of(*id)).unwrap_or_default();
        span(ids.first()).to(span(ids.last()))
    }

    pub(super) fn relation(&mut self) -> Id {
        let mut left = self.sum();
        loop {
            let op = match self.peek() {
                Token::Mark("<") => Compare::Lt,
                Token::Mark("<=") => Compare::Le,
                Token::Mark(">") => Compare::Gt,
                Token::Mark(">=") => Compare::Ge,
                Token::Mark("==") => Compare::Eq,
                Token::Mark("!=") => Compare::Ne,
                Token::Name(name) if &**name == "in" => Compare::In,
                _ => return left,
            };
            self.next();
            let right = self.sum();
            let span = self.span_of(left).to(self.span_of(right));
            left = self.push(Expr::Compare { op, left, right }, span);
        }
    }

    pub(super) fn sum(&mut self) -> Id {
        let first = self.product();
        let mut rest = Vec::new();
        loop {
            let op = match self.peek() {
                Token::Mark("+") => Arith::Add,
                Token::Mark("-") => Arith::Sub,
                _ => return self.chain(first, rest),
            };
            self.next();
            rest.push((op, self.product()));
        }
    }

    pub(super) fn product(&mut self) -> Id {
        let first = self.unary();
        let mut rest = Vec::new();
        loop {
            let op = match self.peek() {
                Token::Mark("*") => Arith::Mul,
                Token::Mark("/") => Arith::Div,
                Token::Mark("%") => Arith::Rem,
                _ => return self.chain(first, rest),
            };
            self.next();
            rest.push((op, self.unary()));
        }
    }

    pub(super) fn chain(&mut self, first: Id, rest: Vec<(Arith, Id)>) -> Id {
        match rest.last() {
            None => first,
            Some((_, last)) => {
                let span = self.span_of(first).to(self.span_of(*last));
                self.push(Expr::Chain { first, rest }, span)
            }
        }
    }

    pub(super) fn unary(&mut self) -> Id {
        let mut signs = Vec::new();
        while let Token::Mark(sign @ ("!" | "-")) = *self.peek() {
            if matches!((sign, self.peek_after()), ("-", Token::Int(_) | Token::Double(_))) {
                break;
            }
            signs.push((sign, self.here()));
            self.next();
        }
        let mut operand = self.postfix();
        for (sign, at) in signs.into_iter().rev() {
            let span = at.to(self.span_of(operand));
            let expr = if sign == "!" { Expr::Not(operand) } else { Expr::Negate(operand) };
            operand = self.push(expr, span);
            if self.stopped {
                break;
            }
        }
        operand
    }
}
