//! The checker: resolves names and functions, finds the type of every node, and reports all that cannot work.
mod calls;
mod folds;
pub(crate) mod meant;
mod names;
mod operators;
mod presence;

pub(crate) use calls::takes;
pub(crate) use operators::{arithmetic, equatable, ordered};

use crate::ast::{Ast, Expr, Id, Literal};
use crate::env::Tests;
use crate::functions::Func;
use crate::{Code, Diagnostic, Env, Limits, Span, Type};
use regex::Regex;
use std::collections::HashMap;

/// What a name or a call stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Resolved {
    #[default]
    Nothing,
    /// The variable in this slot.
    Variable(usize),
    /// The variable of a comprehension or binding, counted from the outside.
    Local(usize),
    /// A type as a value.
    TypeName(&'static str),
    /// A function of the language; `bare` if what stands before the dot is a namespace and no value.
    Builtin { func: Func, bare: bool },
    /// A function of the host.
    Host { function: usize, bare: bool },
    /// Nothing of that name: an error at evaluation, where the checker was told to let it pass.
    Unbound,
}

/// A variable that an expression reads, with the first field if only that field is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The variable's name as it was declared.
    pub variable: Box<str>,
    /// The field behind it, `amount` in `args.amount`.
    pub field: Option<Box<str>>,
    /// Where it stands.
    pub span: Span,
}

/// What the checker found out.
pub(crate) struct Checked {
    pub types: Vec<Type>,
    pub resolved: Vec<Resolved>,
    pub references: Vec<Reference>,
    /// Literal patterns of `matches`, by call.
    pub patterns: HashMap<Id, Regex>,
    pub faults: Vec<Diagnostic>,
    /// What the whole has tested for.
    pub tests: Tests,
}

impl Checked {
    pub fn resolved(&self, id: Id) -> Resolved {
        self.resolved.get(id as usize).copied().unwrap_or_default()
    }

    pub fn ty(&self, id: Id) -> &Type {
        self.types.get(id as usize).unwrap_or(&Type::Dyn)
    }
}

/// Checks the tree against `env` and, if a type is wanted, against that.
pub(crate) fn check(ast: &Ast, env: &Env, expect: Option<&Type>, limits: &Limits) -> Checked {
    let out = Checked {
        types: vec![Type::Dyn; ast.len()],
        resolved: vec![Resolved::Nothing; ast.len()],
        references: Vec::new(),
        patterns: HashMap::new(),
        faults: Vec::new(),
        tests: Tests::default(),
    };
    let (scopes, bound, present) = (Vec::new(), Vec::new(), env.known_present().to_vec());
    let mut checker = Checker { ast, env, limits, out, scopes, bound, present };
    let ty = checker.visit(ast.root);
    let mut tests = checker.tests(ast.root);
    let outer = |path: &String| !path.starts_with('#');
    tests.if_true.retain(outer);
    tests.if_false.retain(outer);
    checker.out.tests = tests;
    if let Some(expect) = expect.filter(|expect| !ty.fits(expect)) {
        let message = format!("expected {}, found {}", with_article(expect), with_article(&ty));
        let hint = match (expect, ty.base()) {
            (Type::Bool, Type::Int | Type::Double | Type::Number | Type::String | Type::List(_)) => {
                Some("compare it with something")
            }
            (Type::String, ty) if ty.is_numeric() => Some("write `string(…)`"),
            _ => None,
        };
        checker.report(Code::WrongResult, ast.span(ast.root), message, hint);
    }
    let mut out = checker.out;
    out.faults.sort_by_key(|fault| fault.span);
    out.faults.dedup();
    out.faults.truncate(limits.diagnostics);
    out
}

pub(crate) fn with_article(ty: &Type) -> String {
    let article = match ty.base().members().first().map(Type::base) {
        Some(Type::Int | Type::Ip | Type::Object(_) | Type::Optional(_)) => "an ",
        Some(Type::Null | Type::Dyn | Type::Bytes | Type::Param(_)) | None => "",
        Some(_) => "a ",
    };
    format!("{article}{ty}")
}

struct Checker<'c> {
    ast: &'c Ast,
    env: &'c Env,
    limits: &'c Limits,
    out: Checked,
    scopes: Vec<(Box<str>, Type)>,
    /// What the locals of `cel.bind` have tested for, by the number of the local.
    bound: Vec<(usize, Tests)>,
    /// Paths of fields that are known to be there at this point.
    present: Vec<String>,
}

impl Checker<'_> {
    fn report(&mut self, code: Code, span: Span, message: impl Into<String>, hint: Option<&str>) {
        self.report_with(code, span, message, hint.map(str::to_owned));
    }

    fn report_with(&mut self, code: Code, span: Span, message: impl Into<String>, hint: Option<String>) {
        let always = matches!(code, Code::BadPattern | Code::DynamicPattern);
        if self.env.checked || always {
            self.out.faults.push(Diagnostic { code, span, message: message.into(), hint });
        }
    }

    fn resolve(&mut self, id: Id, resolved: Resolved) {
        if let Some(place) = self.out.resolved.get_mut(id as usize) {
            *place = resolved;
        }
    }

    fn visit(&mut self, id: Id) -> Type {
        let ty = self.type_of(id);
        if let Some(place) = self.out.types.get_mut(id as usize) {
            *place = ty.clone();
        }
        ty
    }

    fn type_of(&mut self, id: Id) -> Type {
        // the tree is lent for longer than `self`, so that no node is copied
        let ast = self.ast;
        match ast.expr(id) {
            Expr::Literal(literal) => literal_type(literal),
            Expr::Ident { name, rooted } => self.ident(id, name, *rooted),
            Expr::Select { operand, field, optional } => self.select(id, *operand, field, *optional),
            Expr::Has { operand, field } => self.has(*operand, field),
            Expr::Index { operand, index, optional } => self.index(id, *operand, *index, *optional),
            Expr::Call { target, name, args } => self.call(id, *target, name, args),
            Expr::List(elements) => self.list(elements),
            Expr::Map(entries) => self.map(entries),
            Expr::Not(operand) => self.not(id, *operand),
            Expr::Negate(operand) => self.negate(id, *operand),
            Expr::Chain { first, rest } => self.chain(*first, rest),
            Expr::And(terms) => self.logic(terms, true),
            Expr::Or(terms) => self.logic(terms, false),
            Expr::Compare { op, left, right } => self.compare(id, *op, *left, *right),
            Expr::Ternary { condition, then, otherwise } => self.ternary(*condition, *then, *otherwise),
            Expr::Comprehension(fold) => self.comprehension(fold),
            Expr::Bind { name, value, body } => {
                let ty = self.visit(*value);
                let tests = self.tests(*value);
                self.bound.push((self.scopes.len(), tests));
                let found = self.scoped(&[(name, ty)], |checker| checker.visit(*body));
                self.bound.pop();
                found
            }
            Expr::OptMap { target, name, body, flat } => self.opt_map(*target, name, *body, *flat),
            Expr::Broken => Type::Dyn,
        }
    }

    /// Runs `inner` with these names bound.
    fn scoped<T>(&mut self, names: &[(&crate::ast::Name, Type)], inner: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.scopes.len();
        self.scopes.extend(names.iter().map(|(name, ty)| (name.text.clone(), ty.clone())));
        let result = inner(self);
        self.scopes.truncate(outer);
        // what was known of the names bound here means nothing outside, where the same number is another variable
        let numbers = outer..outer.saturating_add(names.len());
        self.present.retain(|path| !numbers.clone().any(|number| presence::is_of_local(path, number)));
        result
    }
}

fn literal_type(literal: &Literal) -> Type {
    match literal {
        Literal::Null => Type::Null,
        Literal::Bool(_) => Type::Bool,
        Literal::Int(_) => Type::Int,
        Literal::Uint(_) => Type::Uint,
        Literal::Double(_) => Type::Double,
        Literal::Str(_) => Type::String,
        Literal::Bytes(_) => Type::Bytes,
    }
}
