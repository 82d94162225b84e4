//! Operands: literals, names, lists, maps, and what stands behind a value.
use super::{Parser, RESERVED};
use crate::ast::{Element, Entry, Expr, Id, Literal, Name};
use crate::lex::Token;
use crate::{Code, Span};

impl Parser<'_> {
    pub(super) fn postfix(&mut self) -> Id {
        let mut operand = self.primary();
        loop {
            let start = self.span_of(operand);
            if self.accept(".") {
                let optional = self.accept("?");
                let Some(field) = self.field_name() else { return operand };
                let quoted = matches!(self.tokens.get(self.at.saturating_sub(1)), Some((Token::Quoted(_), _)));
                operand = if !optional && !quoted && self.is("(") {
                    let args = self.arguments();
                    self.call(Some(operand), field, args, start)
                } else {
                    let span = start.to(field.span);
                    self.push(Expr::Select { operand, field, optional }, span)
                };
            } else if self.is("[") {
                let open = self.here();
                self.next();
                let optional = self.accept("?");
                let index = self.expr();
                let end = self.expect("]", open);
                operand = self.push(Expr::Index { operand, index, optional }, start.to(end));
            } else if self.is("{") && matches!(self.expr_of(operand), Expr::Ident { .. } | Expr::Select { .. }) {
                let hint = "write a map, `{\"name\": value}`";
                self.fault(Code::Unsupported, start, "protobuf messages are not part of this language", Some(hint));
                operand = self.primary();
            } else {
                return operand;
            }
            if self.stopped {
                return operand;
            }
        }
    }

    pub(super) fn field_name(&mut self) -> Option<Name> {
        let span = self.here();
        let text = match self.peek() {
            Token::Name(name) if !matches!(&**name, "true" | "false" | "null" | "in") => name.clone(),
            Token::Quoted(name) => name.clone(),
            _ => {
                let message = format!("expected a field or function name after `.`, found {}", self.found());
                let hint = match self.peek() {
                    Token::Name(_) | Token::Str(_) => {
                        Some("a key that is no plain name stands in brackets, `x[\"key\"]`")
                    }
                    _ => None,
                };
                self.fault(Code::Syntax, span, message, hint);
                if !matches!(self.peek(), Token::Mark(_) | Token::End) {
                    self.next();
                }
                return None;
            }
        };
        self.next();
        Some(Name { text, span })
    }

    /// The arguments of a call, the brackets taken.
    pub(super) fn arguments(&mut self) -> Vec<Id> {
        let open = self.here();
        self.next();
        let mut args = Vec::new();
        while !self.is(")") && !matches!(self.peek(), Token::End) {
            args.push(self.expr());
            if !self.accept(",") {
                break;
            }
            if self.is(")") {
                self.fault(Code::Syntax, self.behind(), "a call takes no trailing comma", None);
            }
        }
        self.expect(")", open);
        args
    }

    pub(super) fn primary(&mut self) -> Id {
        let span = self.here();
        let token = self.peek().clone();
        let literal = match token {
            Token::Int(value) => match i64::try_from(value) {
                Ok(value) => Literal::Int(value),
                Err(_) => {
                    self.fault(Code::BadLiteral, span, format!("`{value}` does not fit into a 64-bit int"), None);
                    Literal::Int(0)
                }
            },
            Token::Mark("-") => return self.negative(span),
            Token::Uint(value) => Literal::Uint(value),
            Token::Double(value) => Literal::Double(value),
            Token::Str(text) => Literal::Str(text),
            Token::Bytes(bytes) => Literal::Bytes(bytes),
            Token::Broken => {
                self.next();
                return self.broken(span);
            }
            Token::Mark("(") => {
                self.next();
                let inner = self.expr();
                self.expect(")", span);
                return inner;
            }
            Token::Mark("[") => return self.list(span),
            Token::Mark("{") => return self.map(span),
            Token::Mark(".") if matches!(self.peek_after(), Token::Name(_)) => {
                self.next();
                return self.name(true, span);
            }
            Token::Name(name) => match &*name {
                "true" => Literal::Bool(true),
                "false" => Literal::Bool(false),
                "null" => Literal::Null,
                "in" => return self.missing_operand(span),
                _ => return self.name(false, span),
            },
            Token::Quoted(_) => {
                let hint = Some("backquotes are for fields only, as in `x.`a-b``");
                self.fault(Code::Syntax, span, "a name in backquotes needs a value before it", hint);
                self.next();
                return self.broken(span);
            }
            Token::Mark(_) | Token::End => return self.missing_operand(span),
        };
        self.next();
        self.push(Expr::Literal(literal), span)
    }

    pub(super) fn missing_operand(&mut self, span: Span) -> Id {
        let message = format!("expected a value, found {}", self.found());
        self.fault(Code::Syntax, span, message, None);
        if !matches!(self.peek(), Token::End | Token::Mark(")" | "]" | "}" | "," | ":")) {
            self.next();
        }
        self.broken(span)
    }

    /// A minus that belongs to the number behind it.
    pub(super) fn negative(&mut self, start: Span) -> Id {
        self.next();
        let span = start.to(self.here());
        let literal = match self.peek() {
            Token::Int(value) => Literal::Int(0_i64.checked_sub_unsigned(*value).unwrap_or(i64::MIN)),
            Token::Double(value) => Literal::Double(-value),
            _ => return self.missing_operand(start),
        };
        self.next();
        self.push(Expr::Literal(literal), span)
    }

    pub(super) fn name(&mut self, rooted: bool, start: Span) -> Id {
        let span = self.here();
        let Token::Name(text) = self.peek().clone() else { return self.missing_operand(span) };
        if RESERVED.contains(&&*text) {
            let message = format!("`{text}` is a reserved word");
            self.fault(Code::Syntax, span, message, Some("it may name a field, but no variable"));
        }
        self.next();
        if self.is("(") {
            let args = self.arguments();
            return self.call(None, Name { text, span }, args, start);
        }
        self.push(Expr::Ident { name: text, rooted }, start.to(span))
    }

    pub(super) fn list(&mut self, open: Span) -> Id {
        self.next();
        let mut elements = Vec::new();
        while !self.is("]") && !matches!(self.peek(), Token::End) {
            let optional = self.accept("?");
            elements.push(Element { value: self.expr(), optional });
            if !self.accept(",") {
                break;
            }
        }
        let end = self.expect("]", open);
        self.push(Expr::List(elements), open.to(end))
    }

    pub(super) fn map(&mut self, open: Span) -> Id {
        self.next();
        let mut entries = Vec::new();
        while !self.is("}") && !matches!(self.peek(), Token::End) {
            let optional = self.accept("?");
            let key = self.expr();
            self.expect(":", open);
            // where no colon was found, the value is not missed on top of it
            let value = match self.peek() {
                Token::Mark("}" | ",") | Token::End if !self.faults.is_empty() => self.broken(self.here()),
                _ => self.expr(),
            };
            entries.push(Entry { key, value, optional });
            if !self.accept(",") {
                break;
            }
        }
        let end = self.expect("}", open);
        self.push(Expr::Map(entries), open.to(end))
    }

    /// A call whose closing bracket was just taken: a macro, or a function.
    pub(super) fn call(&mut self, target: Option<Id>, name: Name, args: Vec<Id>, start: Span) -> Id {
        let span = start.to(self.behind());
        match self.expand(target, &name, &args, span) {
            Some(expr) => self.push(expr, span),
            None => self.push(Expr::Call { target, name, args }, span),
        }
    }
}
