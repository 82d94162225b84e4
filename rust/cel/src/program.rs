//! A compiled expression and what it is evaluated against.
use crate::ast::{each_child, Ast, Id};
use crate::check::meant::in_has;
use crate::check::{check, Checked, Reference};
use crate::compile::{compile, Node, Nodes};
use crate::env::Tests;
use crate::error::{ErrorKind, EvalError, Fault};
use crate::eval::{Machine, Out, Silent, Watch};
use crate::parse::parse;
use crate::val::Val;
use crate::{Diagnostic, Env, Fuel, Limits, Span, Type};

/// Where an evaluation gets the values of variables and host functions from.
///
/// Slots and function numbers are those that [`Env::variable`] and [`Env::function`] returned; the names are for hosts that
/// would rather go by name. Values are asked for when they are needed, each time they are needed: a host that computes one
/// keeps it.
pub trait Activation {
    /// The value of a variable, nothing if it has none here.
    ///
    /// # Errors
    /// What went wrong if the host computes the value and fails.
    fn variable(&self, slot: usize, name: &str) -> Result<Option<Val<'_>>, Box<EvalError>>;

    /// Calls a host function; a value before the dot is the first argument.
    ///
    /// # Errors
    /// What went wrong, in words.
    fn call(&self, function: usize, name: &str, args: &[Val<'_>]) -> Result<Val<'_>, String> {
        let _ = (function, args);
        Err(format!("the host has no function `{name}`"))
    }
}

/// No variables and no functions.
pub struct Nothing;

impl Activation for Nothing {
    fn variable(&self, _: usize, _: &str) -> Result<Option<Val<'_>>, Box<EvalError>> {
        Ok(None)
    }
}

/// Values by slot.
impl Activation for Vec<Val<'_>> {
    #[inline]
    fn variable(&self, slot: usize, _: &str) -> Result<Option<Val<'_>>, Box<EvalError>> {
        Ok(self.get(slot).cloned())
    }
}

/// What a part of an expression came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// `true`
    True,
    /// `false`
    False,
    /// Any other value.
    Value,
    /// An error, perhaps one that was absorbed further out.
    Error(ErrorKind),
}

impl Seen {
    /// What an outcome is seen as.
    #[must_use]
    pub fn of(out: Result<&Val<'_>, ErrorKind>) -> Self {
        match out {
            Ok(Val::Bool(true)) => Self::True,
            Ok(Val::Bool(false)) => Self::False,
            Ok(_) => Self::Value,
            Err(kind) => Self::Error(kind),
        }
    }
}

/// Is told what every part of an expression came to, innermost first.
pub trait Observer {
    /// Called once for each evaluation of a part; inside comprehensions, once an element. `node` names the part within its
    /// program, as [`Program::parts`] does.
    fn saw(&mut self, node: u32, span: Span, seen: Seen);

    /// The same with the value itself, for observers that want to show it. Tells `saw` unless it is overridden.
    fn came_to(&mut self, node: u32, span: Span, out: Result<&Val<'_>, ErrorKind>) {
        self.saw(node, span, Seen::of(out));
    }
}

struct Told<'o>(&'o mut dyn Observer);

impl Watch for Told<'_> {
    fn saw(&mut self, id: Id, span: Span, out: &Out<'_>) {
        self.0.came_to(id, span, out.as_ref().map_err(|fault| fault.kind));
    }
}

/// An expression that was checked and is ready to be evaluated, many times and from many threads.
#[derive(Clone, Debug)]
pub struct Program {
    nodes: Nodes,
    source: Box<str>,
    ty: Type,
    expect: Option<Type>,
    references: Vec<Reference>,
    conditions: Vec<Id>,
    tests: Tests,
}

impl Program {
    /// Parses, checks and compiles `source`.
    ///
    /// ```
    /// use callgate_cel::{Env, Limits, Program, Type};
    /// let mut env = Env::new();
    /// env.variable("amount", Type::Number);
    /// let faults = Program::compile("amuont > 100", &env, Some(Type::Bool), &Limits::default()).unwrap_err();
    /// assert_eq!(faults[0].message, "undeclared name `amuont`");
    /// assert_eq!(faults[0].hint.as_deref(), Some("did you mean `amount`?"));
    /// ```
    ///
    /// # Errors
    /// All that is wrong with it, in the order in which it stands in the source. With syntax errors types are not looked at.
    pub fn compile(source: &str, env: &Env, expect: Option<Type>, limits: &Limits) -> Result<Self, Vec<Diagnostic>> {
        let ast = parse(source, limits).map_err(|faults| in_has(source, env, faults))?;
        let mut checked = check(&ast, env, expect.as_ref(), limits);
        if !checked.faults.is_empty() {
            return Err(checked.faults);
        }
        let nodes = compile(&ast, &mut checked, env, limits);
        let conditions = conditions(&ast, &checked, &nodes);
        Ok(Self {
            nodes,
            source: source.into(),
            ty: checked.ty(ast.root).clone(),
            expect,
            references: checked.references,
            conditions,
            tests: checked.tests,
        })
    }

    /// Evaluates the expression.
    ///
    /// # Errors
    /// The first error that was not absorbed, with the part of the expression that failed, or the bound that was hit.
    pub fn evaluate<'a>(&'a self, activation: &'a dyn Activation, fuel: &mut Fuel) -> Result<Val<'a>, EvalError> {
        let out = Machine::new(&self.nodes, activation, fuel, Silent).eval(self.nodes.root);
        self.finish(out)
    }

    /// The same, and tells `observer` what every part came to.
    ///
    /// # Errors
    /// As [`Program::evaluate`].
    pub fn observe<'a>(
        &'a self,
        activation: &'a dyn Activation,
        fuel: &mut Fuel,
        observer: &mut dyn Observer,
    ) -> Result<Val<'a>, EvalError> {
        let out = Machine::new(&self.nodes, activation, fuel, Told(observer)).eval(self.nodes.root);
        self.finish(out)
    }

    /// What was not known before the evaluation is tested after it.
    fn finish<'a>(&self, out: Result<Val<'a>, Fault>) -> Result<Val<'a>, EvalError> {
        let value = out.map_err(|fault| *fault)?;
        match &self.expect {
            Some(expect) if !has_type(&value, expect) => Err(EvalError {
                kind: ErrorKind::WrongResult,
                span: self.nodes.spans.get(self.nodes.root as usize).copied().unwrap_or_default(),
                message: format!("expected {expect}, found {}", value.type_name()),
            }),
            _ => Ok(value),
        }
    }

    /// The text that it was made of.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The type of its result, as far as it is known.
    #[must_use]
    pub fn result_type(&self) -> &Type {
        &self.ty
    }

    /// Every place at which a variable is read, with the first field behind it.
    #[must_use]
    pub fn references(&self) -> &[Reference] {
        &self.references
    }

    pub(crate) fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    /// Which fields are known to be there once it is true, or false.
    #[must_use]
    pub fn tests(&self) -> &Tests {
        &self.tests
    }

    /// Whether it may come to true and to false: by its type, or because nothing else is taken. A constant may not.
    #[must_use]
    pub fn is_condition(&self) -> bool {
        let constant = matches!(self.nodes.nodes.get(self.nodes.root as usize), Some(Node::Const(_)));
        !constant && (*self.ty.base() == Type::Bool || self.expect == Some(Type::Bool))
    }

    /// The number of the expression as a whole; of one that only binds names, of what it is bound in.
    #[must_use]
    pub fn root(&self) -> u32 {
        let mut root = self.nodes.root;
        while let Some(Node::Bind { body, .. }) = self.nodes.nodes.get(root as usize) {
            root = *body;
        }
        root
    }

    /// The parts that may be true or false, by number and span: what coverage counts.
    pub fn parts(&self) -> impl Iterator<Item = (u32, Span)> + '_ {
        self.conditions.iter().map(|id| (*id, self.nodes.spans.get(*id as usize).copied().unwrap_or_default()))
    }
}

/// The nodes of type bool that are evaluated, without constants and without those that only follow another one.
fn conditions(ast: &Ast, checked: &Checked, nodes: &Nodes) -> Vec<Id> {
    let mut found = Vec::new();
    let mut open = vec![ast.root];
    while let Some(id) = open.pop() {
        if matches!(nodes.nodes.get(id as usize), Some(Node::Const(_))) {
            continue;
        }
        // what binds a name comes to what its body comes to, and `!` to the contrary of its operand
        let follows = matches!(nodes.nodes.get(id as usize), Some(Node::Bind { .. } | Node::Not(_)));
        if *checked.ty(id).base() == Type::Bool && !follows {
            found.push(id);
        }
        each_child(ast.expr(id), &mut |child| open.push(child));
    }
    found.sort_unstable();
    found
}

/// Whether a value is of a type, looked at from the outside only.
fn has_type(value: &Val<'_>, ty: &Type) -> bool {
    match ty {
        Type::Dyn | Type::Param(_) => true,
        Type::Null => matches!(value, Val::Null),
        Type::Bool => matches!(value, Val::Bool(_)),
        Type::Int => matches!(value, Val::Int(_)),
        Type::Uint => matches!(value, Val::Uint(_)),
        Type::Double => matches!(value, Val::Double(_)),
        Type::Number => matches!(value, Val::Int(_) | Val::Uint(_) | Val::Double(_)),
        Type::String => matches!(value, Val::Str(_)),
        Type::Bytes => matches!(value, Val::Bytes(_)),
        Type::Duration => matches!(value, Val::Duration(_)),
        Type::Timestamp => matches!(value, Val::Timestamp(_)),
        Type::Type => matches!(value, Val::Type(_)),
        Type::Ip => matches!(value, Val::Ip(_)),
        Type::Cidr => matches!(value, Val::Cidr(_)),
        Type::List(_) => matches!(value, Val::List(_)),
        Type::Map(_) | Type::Object(_) => matches!(value, Val::Map(_)),
        Type::Optional(_) => matches!(value, Val::Optional(_)),
        Type::Union(members) => members.iter().any(|member| has_type(value, member)),
        Type::OneOf(of) => has_type(value, &of.0),
    }
}
