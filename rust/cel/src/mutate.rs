//! Small changes of an expression that turn it into another one: what tests of a condition should notice.
use crate::ast::{each_child, Ast, Compare, Expr, Fold, Id, Literal};
use crate::lex::{lex, Token};
use crate::parse::parse;
use crate::{canonical, Limits, Span};

/// A change of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutation {
    /// What is replaced, in bytes.
    pub span: Span,
    /// By this.
    pub with: String,
    /// What was done: ``dropped a clause``.
    pub what: &'static str,
}

impl Mutation {
    /// The whole expression after the change.
    #[must_use]
    pub fn applied(&self, source: &str) -> String {
        let (start, end) = (self.span.start as usize, self.span.end as usize);
        let before = source.get(..start).unwrap_or_default();
        let after = source.get(end..).unwrap_or_default();
        format!("{before}{}{after}", self.with)
    }
}

/// All such changes, in the order of the text: comparisons flipped, clauses of `&&` and `||` dropped, tests negated, numbers
/// moved by one. None for a text that is no expression; a change that is written out as the expression was is left out.
///
/// ```
/// let source = "args.n > 5 && !args.ok";
/// let changed: Vec<String> = callgate_cel::mutations(source).iter().map(|it| it.applied(source)).collect();
/// assert_eq!(changed, [
///     "true && !args.ok",
///     "args.n >= 5 && !args.ok",
///     "args.n > 4 && !args.ok",
///     "args.n > 6 && !args.ok",
///     "args.n > 5 && true",
///     "args.n > 5 && !!(args.ok)",
/// ]);
/// ```
#[must_use]
pub fn mutations(source: &str) -> Vec<Mutation> {
    let limits = Limits::default();
    let Ok(ast) = parse(source, &limits) else { return Vec::new() };
    let (tokens, _) = lex(source);
    let mut walk = Walk { ast: &ast, tokens: &tokens, source, found: Vec::new() };
    walk.visit(ast.root, true);
    let plain = canonical(source).ok();
    let mut found: Vec<Mutation> = Vec::new();
    for mutation in walk.found {
        let changed = mutation.applied(source);
        // a place whose brackets could not be told leads to a text that cannot be read
        let is_new = parse(&changed, &limits).is_ok() && canonical(&changed).ok() != plain;
        if is_new && !found.iter().any(|other| other.applied(source) == changed) {
            found.push(mutation);
        }
    }
    // what is around comes before what is inside
    found.sort_by(|a, b| a.span.start.cmp(&b.span.start).then(b.span.end.cmp(&a.span.end)));
    found
}

struct Walk<'a> {
    ast: &'a Ast,
    tokens: &'a [(Token, Span)],
    source: &'a str,
    found: Vec<Mutation>,
}

impl Walk<'_> {
    /// `tests`: the node stands where a condition does.
    fn visit(&mut self, id: Id, tests: bool) {
        let ast = self.ast;
        let expr = ast.expr(id);
        if tests
            && !matches!(expr, Expr::And(_) | Expr::Or(_) | Expr::Not(_) | Expr::Bind { .. } | Expr::Ternary { .. })
        {
            let flips = matches!(expr, Expr::Compare { op, .. } if *op != Compare::In);
            if !flips && !matches!(expr, Expr::Literal(_)) {
                let span = self.balanced(ast.span(id));
                let text = self.text(span);
                self.add(span, format!("!({text})"), "negated a test");
            }
        }
        match expr {
            Expr::And(terms) | Expr::Or(terms) => {
                let neutral = if matches!(expr, Expr::And(_)) { "true" } else { "false" };
                for term in terms {
                    let span = self.balanced(ast.span(*term));
                    self.add(span, neutral.to_owned(), "dropped a clause");
                    self.visit(*term, true);
                }
            }
            Expr::Not(inner) => self.visit(*inner, true),
            Expr::Bind { value, body, .. } => {
                self.visit(*value, false);
                self.visit(*body, tests);
            }
            Expr::Ternary { condition, then, otherwise } => {
                self.visit(*condition, true);
                self.visit(*then, tests);
                self.visit(*otherwise, tests);
            }
            Expr::Comprehension(fold) => {
                self.visit(fold.range, false);
                if let Some(filter) = fold.filter {
                    self.visit(filter, true);
                }
                self.visit(fold.body, matches!(fold.fold, Fold::All | Fold::Exists | Fold::ExistsOne | Fold::Filter));
            }
            Expr::Compare { op, left, right } => {
                self.compare(*op, *left, *right);
                self.visit(*left, false);
                self.visit(*right, false);
            }
            Expr::Literal(literal) => self.number(literal, ast.span(id)),
            other => each_child(other, &mut |child| self.visit(child, false)),
        }
    }

    fn compare(&mut self, op: Compare, left: Id, right: Id) {
        let other = match op {
            Compare::Lt => "<=",
            Compare::Le => "<",
            Compare::Gt => ">=",
            Compare::Ge => ">",
            Compare::Eq => "!=",
            Compare::Ne => "==",
            Compare::In => return,
        };
        let (from, to) = (self.ast.span(left).end, self.ast.span(right).start);
        let sign = self
            .tokens
            .iter()
            .find(|(token, span)| *token == Token::Mark(op.sign()) && span.start >= from && span.end <= to);
        if let Some((_, span)) = sign {
            self.add(*span, other.to_owned(), "flipped a comparison");
        }
    }

    fn number(&mut self, literal: &Literal, span: Span) {
        let near: Vec<String> = match literal {
            Literal::Int(number) => [number.checked_sub(1), number.checked_add(1)]
                .into_iter()
                .flatten()
                .map(|number| number.to_string())
                .collect(),
            Literal::Uint(number) => [number.checked_sub(1), number.checked_add(1)]
                .into_iter()
                .flatten()
                .map(|number| format!("{number}u"))
                .collect(),
            Literal::Double(number) => vec![format!("{:?}", number - 1.0), format!("{:?}", number + 1.0)],
            _ => return,
        };
        for number in near {
            self.add(span, number, "moved a number");
        }
    }

    fn add(&mut self, span: Span, with: String, what: &'static str) {
        self.found.push(Mutation { span, with, what });
    }

    fn text(&self, span: Span) -> String {
        self.source.get(span.start as usize..span.end as usize).unwrap_or_default().to_owned()
    }

    /// The span with the brackets around its ends that belong to it: a part may begin or end inside of some.
    fn balanced(&self, span: Span) -> Span {
        let (mut depth, mut before) = (0_i32, 0_i32);
        for (token, _) in self.tokens.iter().filter(|(_, at)| at.start >= span.start && at.end <= span.end) {
            match token {
                Token::Mark("(") => depth = depth.saturating_add(1),
                Token::Mark(")") => {
                    depth = depth.saturating_sub(1);
                    before = before.min(depth);
                }
                _ => {}
            }
        }
        let (opens, closes) = (before.saturating_neg(), depth.saturating_sub(before));
        let mut whole = span;
        let earlier = self.tokens.iter().rev().filter(|(_, at)| at.end <= span.start);
        for (_, at) in earlier.take_while(|(token, _)| *token == Token::Mark("(")).take(count(opens)) {
            whole.start = at.start;
        }
        let later = self.tokens.iter().filter(|(_, at)| at.start >= span.end);
        for (_, at) in later.take_while(|(token, _)| *token == Token::Mark(")")).take(count(closes)) {
            whole.end = at.end;
        }
        whole
    }
}

fn count(number: i32) -> usize {
    usize::try_from(number).unwrap_or(0)
}
