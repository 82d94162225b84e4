//! From tokens to the syntax tree. Recursion is bounded by [`Limits::nesting`], the tree by
//! [`Limits::nodes`] and its height; a mistake is reported and parsing goes on at the next bracket or comma.
mod macros;
mod operands;
mod operators;

pub(crate) use macros::{MEMBER_MACROS, NO_FIELD};

use crate::ast::{each_child, Ast, Expr, Id};
use crate::habits;
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
            if self.word_operator() {
                if !matches!(self.peek(), Token::End) {
                    self.expr();
                }
                continue;
            }
            let closer = matches!(self.peek(), Token::Mark(")" | "]" | "}"));
            let message = format!("unexpected {}", self.found().trim_start_matches("a "));
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

    /// Reports and takes a word that is an operator elsewhere, `a and b`; one that stood before this, `not a`, is no
    /// value after all.
    fn word_operator(&mut self) -> bool {
        let is_value = !matches!(self.peek(), Token::Mark(_) | Token::Broken | Token::End);
        let before = self.at.checked_sub(1).and_then(|at| self.tokens.get(at));
        let (word, span, is_here) = match (self.peek(), before) {
            (Token::Name(word), _) if habits::operator(word).is_some() => (word.clone(), self.here(), true),
            (_, Some((Token::Name(word), span))) if is_value && matches!(&**word, "not" | "NOT") => {
                (word.clone(), *span, false)
            }
            _ => return false,
        };
        let Some(meant) = habits::operator(&word) else { return false };
        self.fault(Code::Syntax, span, format!("`{word}` is no operator"), Some(&format!("write `{meant}`")));
        if is_here {
            self.next();
        }
        true
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
        while !self.is(mark) && self.word_operator() {
            self.expr();
        }
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

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped
    }
}
