//! From tokens to the syntax tree. Recursion is bounded by [`Limits::nesting`], the tree by
//! [`Limits::nodes`] and its height; a mistake is reported and parsing goes on at the next bracket or comma.
use crate::ast::{Arith, Ast, Compare, Element, Entry, Expr, Id, Literal, Name};
use crate::lex::{lex, Token};
use crate::{Code, Diagnostic, Limits, Span};

/// Words that are kept for later versions of the language; they name fields, but no variables.
pub(crate) const RESERVED: [&str; 17] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// The tree of `source`, or everything that is wrong with its syntax.
pub(crate) fn parse(source: &str, limits: &Limits) -> Result<Ast, Vec<Diagnostic>> {
    if source.len() > limits.source {
        let message = format!("the expression has {} bytes, at most {} are allowed", source.len(), limits.source);
        let end = (0..=limits.source).rev().find(|end| source.is_char_boundary(*end)).unwrap_or(0);
        return Err(vec![Diagnostic::new(Code::TooLarge, Span::new(end, source.len()), message)]);
    }
    let (tokens, faults) = lex(source);
    let mut parser =
        Parser { tokens, at: 0, nodes: Vec::new(), sizes: Vec::new(), depth: 0, faults, limits, stopped: false };
    let root = parser.whole();
    if parser.faults.is_empty() {
        return Ok(Ast::new(parser.nodes, root));
    }
    parser.faults.sort_by_key(|fault| fault.span);
    parser.faults.dedup_by_key(|fault| fault.span.start);
    parser.faults.truncate(limits.diagnostics);
    Err(parser.faults)
}

/// How large the tree under a node is.
#[derive(Clone, Copy, Default)]
struct Size {
    height: usize,
    /// Comprehensions inside one another.
    folds: usize,
}

pub(crate) struct Parser<'l> {
    tokens: Vec<(Token, Span)>,
    at: usize,
    nodes: Vec<(Expr, Span)>,
    sizes: Vec<Size>,
    depth: usize,
    faults: Vec<Diagnostic>,
    limits: &'l Limits,
    /// Set once a bound was hit: what follows would only repeat it.
    stopped: bool,
}

impl Parser<'_> {
    fn peek(&self) -> &Token {
        self.tokens.get(self.at).map_or(&Token::End, |(token, _)| token)
    }

    fn peek_after(&self) -> &Token {
        self.tokens.get(self.at.saturating_add(1)).map_or(&Token::End, |(token, _)| token)
    }

    fn here(&self) -> Span {
        self.tokens.get(self.at).or(self.tokens.last()).map(|(_, span)| *span).unwrap_or_default()
    }

    /// The end of the token before this one.
    fn behind(&self) -> Span {
        let before = self.at.checked_sub(1).and_then(|at| self.tokens.get(at));
        before.map(|(_, span)| *span).unwrap_or_default()
    }

    fn next(&mut self) {
        self.at = self.at.saturating_add(1).min(self.tokens.len().saturating_sub(1));
    }

    fn is(&self, mark: &str) -> bool {
        matches!(self.peek(), Token::Mark(found) if *found == mark)
    }

    fn accept(&mut self, mark: &str) -> bool {
        let found = self.is(mark);
        if found {
            self.next();
        }
        found
    }

    pub(crate) fn fault(&mut self, code: Code, span: Span, message: impl Into<String>, hint: Option<&str>) {
        if !self.stopped {
            self.faults.push(Diagnostic { code, span, message: message.into(), hint: hint.map(str::to_owned) });
        }
    }

    /// Reports a bound that was hit and ends parsing.
    fn stop(&mut self, span: Span, message: String) {
        self.fault(Code::TooLarge, span, message, None);
        self.stopped = true;
        self.at = self.tokens.len().saturating_sub(1);
    }

    fn found(&self) -> String {
        match self.peek() {
            Token::End => "the end of the expression".to_owned(),
            Token::Mark(mark) => format!("`{mark}`"),
            Token::Name(name) | Token::Quoted(name) => format!("`{name}`"),
            Token::Int(_) | Token::Uint(_) | Token::Double(_) => "a number".to_owned(),
            Token::Str(_) | Token::Bytes(_) | Token::Broken => "a literal".to_owned(),
        }
    }

    /// Adds a node; its children were added before it.
    pub(crate) fn push(&mut self, expr: Expr, span: Span) -> Id {
        let mut size = Size::default();
        each_child(&expr, &mut |child| {
            let of = self.sizes.get(child as usize).copied().unwrap_or_default();
            size.height = size.height.max(of.height);
            size.folds = size.folds.max(of.folds);
        });
        size.height = size.height.saturating_add(1);
        if let Expr::Comprehension(fold) = &expr {
            let inner = [Some(fold.body), fold.filter].into_iter().flatten();
            let inner = inner.filter_map(|id| self.sizes.get(id as usize)).map(|size| size.folds).max();
            size.folds = size.folds.max(inner.unwrap_or(0).saturating_add(1));
            if size.folds > self.limits.comprehensions {
                let message = format!("comprehensions are nested deeper than {} levels", self.limits.comprehensions);
                self.stop(span, message);
            }
        }
        if size.height > self.limits.height() {
            self.stop(span, format!("the expression is nested deeper than {} levels", self.limits.height()));
        } else if self.nodes.len() >= self.limits.nodes {
            self.stop(span, format!("the expression has more than {} parts", self.limits.nodes));
        }
        let id = Id::try_from(self.nodes.len()).unwrap_or(Id::MAX);
        self.nodes.push((expr, span));
        self.sizes.push(size);
        id
    }

    pub(crate) fn expr_of(&self, id: Id) -> &Expr {
        self.nodes.get(id as usize).map_or(&Expr::Broken, |(expr, _)| expr)
    }

    pub(crate) fn span_of(&self, id: Id) -> Span {
        self.nodes.get(id as usize).map(|(_, span)| *span).unwrap_or_default()
    }

    fn broken(&mut self, span: Span) -> Id {
        self.push(Expr::Broken, span)
    }

    fn whole(&mut self) -> Id {
        if matches!(self.peek(), Token::End) && self.faults.is_empty() {
            self.fault(Code::Syntax, self.here(), "the expression is empty", None);
        }
        // a character that means nothing was reported: that it leaves two values side by side is no further mistake
        let unknown = self.faults.iter().any(|fault| fault.code == Code::Syntax);
        let root = self.expr();
        while !matches!(self.peek(), Token::End) {
            let closer = matches!(self.peek(), Token::Mark(")" | "]" | "}"));
            let message = format!("unexpected {}", self.found());
            let hint = if closer { "it closes nothing" } else { "an operator is missing before it" };
            if !unknown {
                self.fault(Code::Syntax, self.here(), message, Some(hint));
            }
            self.skip();
            if matches!(self.peek(), Token::Mark(")" | "]" | "}" | "," | ":" | "?")) {
                self.next();
            }
            if !matches!(self.peek(), Token::End) {
                self.expr();
            }
        }
        root
    }

    /// Skips to a token at which parsing can go on.
    fn skip(&mut self) {
        while !matches!(self.peek(), Token::End | Token::Mark("," | ")" | "]" | "}" | ":" | "?" | "&&" | "||")) {
            self.next();
        }
        if matches!(self.peek(), Token::Mark("&&" | "||")) {
            self.next();
        }
    }

    /// Takes `mark`, or reports that it is missing and skips to where it may stand.
    fn expect(&mut self, mark: &'static str, open: Span) -> Span {
        if !self.is(mark) {
            let message = format!("expected `{mark}`, found {}", self.found());
            let hint = match mark {
                ")" | "]" | "}" => Some(format!("it closes the bracket at byte {}", open.start)),
                _ => None,
            };
            self.fault(Code::Syntax, self.here(), message, hint.as_deref());
            while !self.is(mark) && !matches!(self.peek(), Token::End | Token::Mark(")" | "]" | "}" | ",")) {
                self.next();
            }
        }
        let span = self.here();
        if self.accept(mark) {
            return span;
        }
        self.behind()
    }

    pub(crate) fn expr(&mut self) -> Id {
        if self.depth > self.limits.nesting {
            let span = self.here();
            self.stop(span, format!("brackets are nested deeper than {} levels", self.limits.nesting));
            return self.broken(span);
        }
        self.depth = self.depth.saturating_add(1);
        let id = self.ternary();
        self.depth = self.depth.saturating_sub(1);
        id
    }

    fn ternary(&mut self) -> Id {
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

    fn or(&mut self) -> Id {
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

    fn and(&mut self) -> Id {
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

    fn covering(&self, ids: &[Id]) -> Span {
        let span = |id: Option<&Id>| id.map(|id| self.span_of(*id)).unwrap_or_default();
        span(ids.first()).to(span(ids.last()))
    }

    fn relation(&mut self) -> Id {
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

    fn sum(&mut self) -> Id {
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

    fn product(&mut self) -> Id {
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

    fn chain(&mut self, first: Id, rest: Vec<(Arith, Id)>) -> Id {
        match rest.last() {
            None => first,
            Some((_, last)) => {
                let span = self.span_of(first).to(self.span_of(*last));
                self.push(Expr::Chain { first, rest }, span)
            }
        }
    }

    fn unary(&mut self) -> Id {
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

    fn postfix(&mut self) -> Id {
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

    fn field_name(&mut self) -> Option<Name> {
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
    fn arguments(&mut self) -> Vec<Id> {
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

    fn primary(&mut self) -> Id {
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

    fn missing_operand(&mut self, span: Span) -> Id {
        let message = format!("expected a value, found {}", self.found());
        self.fault(Code::Syntax, span, message, None);
        if !matches!(self.peek(), Token::End | Token::Mark(")" | "]" | "}" | "," | ":")) {
            self.next();
        }
        self.broken(span)
    }

    /// A minus that belongs to the number behind it.
    fn negative(&mut self, start: Span) -> Id {
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

    fn name(&mut self, rooted: bool, start: Span) -> Id {
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

    fn list(&mut self, open: Span) -> Id {
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

    fn map(&mut self, open: Span) -> Id {
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
    fn call(&mut self, target: Option<Id>, name: Name, args: Vec<Id>, start: Span) -> Id {
        let span = start.to(self.behind());
        match self.expand(target, &name, &args, span) {
            Some(expr) => self.push(expr, span),
            None => self.push(Expr::Call { target, name, args }, span),
        }
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped
    }
}

/// Calls `visit` with each child of a node.
pub(crate) fn each_child(expr: &Expr, visit: &mut dyn FnMut(Id)) {
    match expr {
        Expr::Literal(_) | Expr::Ident { .. } | Expr::Broken => {}
        Expr::Select { operand, .. } | Expr::Has { operand, .. } | Expr::Not(operand) | Expr::Negate(operand) => {
            visit(*operand);
        }
        Expr::Index { operand, index, .. } => [*operand, *index].into_iter().for_each(visit),
        Expr::Call { target, args, .. } => target.iter().chain(args).copied().for_each(visit),
        Expr::List(elements) => elements.iter().map(|element| element.value).for_each(visit),
        Expr::Map(entries) => entries.iter().flat_map(|entry| [entry.key, entry.value]).for_each(visit),
        Expr::Chain { first, rest } => [*first].into_iter().chain(rest.iter().map(|(_, id)| *id)).for_each(visit),
        Expr::And(terms) | Expr::Or(terms) => terms.iter().copied().for_each(visit),
        Expr::Compare { left, right, .. } => [*left, *right].into_iter().for_each(visit),
        Expr::Ternary { condition, then, otherwise } => [*condition, *then, *otherwise].into_iter().for_each(visit),
        Expr::Comprehension(fold) => {
            [Some(fold.range), fold.filter, Some(fold.body)].into_iter().flatten().for_each(visit);
        }
        Expr::Bind { value, body, .. } => [*value, *body].into_iter().for_each(visit),
        Expr::OptMap { target, body, .. } => [*target, *body].into_iter().for_each(visit),
    }
}
