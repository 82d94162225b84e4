//! Evaluation: a walk over the nodes, as deep as the tree is high and no deeper.
pub(crate) mod access;
pub(crate) mod arithmetic;
pub(crate) mod compare;
mod folds;
mod logic;

use crate::ast::Id;
use crate::compile::{Node, Nodes};
use crate::entries::{Entries, Key};
use crate::error::{ErrorKind, EvalError, Fault};
use crate::library;
use crate::program::Activation;
use crate::val::{List, Map, Val};
use crate::{Fuel, Span};
use callgate_value::Value;
use std::sync::Arc;

pub(crate) type Out<'a> = Result<Val<'a>, Fault>;

/// Is told what every node came to. With [`Silent`] nothing of it is left in the machine code.
pub(crate) trait Watch {
    /// Called once for each node that was evaluated, innermost first.
    fn saw(&mut self, id: Id, span: Span, out: &Out<'_>);
}

/// Watches nothing.
pub(crate) struct Silent;

impl Watch for Silent {
    #[inline(always)]
    fn saw(&mut self, _: Id, _: Span, _: &Out<'_>) {}
}

/// A value, or a constant of the program.
enum Operand<'a> {
    Lent(&'a Val<'static>),
    Own(Val<'a>),
}

impl<'a> Operand<'a> {
    #[inline]
    fn get(&self) -> &Val<'a> {
        match self {
            Self::Lent(value) => value,
            Self::Own(value) => value,
        }
    }
}

/// One evaluation.
pub(crate) struct Machine<'a, 'f, W> {
    nodes: &'a Nodes,
    activation: &'a dyn Activation,
    fuel: &'f mut Fuel,
    locals: Vec<Val<'a>>,
    watch: W,
}

impl<'a, 'f, W: Watch> Machine<'a, 'f, W> {
    pub fn new(nodes: &'a Nodes, activation: &'a dyn Activation, fuel: &'f mut Fuel, watch: W) -> Self {
        Self { nodes, activation, fuel, locals: Vec::new(), watch }
    }

    fn span(&self, id: Id) -> Span {
        self.nodes.spans.get(id as usize).copied().unwrap_or_default()
    }

    pub fn eval(&mut self, id: Id) -> Out<'a> {
        let mut out = self.fuel.burn(1).and_then(|()| self.node(id));
        if let Err(fault) = &mut out {
            if fault.span == Span::default() {
                fault.span = self.span(id);
            }
        }
        self.watch.saw(id, self.nodes.spans.get(id as usize).copied().unwrap_or_default(), &out);
        out
    }

    // every arm is a call of its own, so that the frame of this function, which is on the stack once a level, stays small
    #[inline]
    fn node(&mut self, id: Id) -> Out<'a> {
        let nodes = self.nodes;
        let Some(node) = nodes.nodes.get(id as usize) else { return Ok(Val::Null) };
        match node {
            Node::Const(value) => Ok(value.lend()),
            Node::Variable { slot, name } => self.variable(*slot, name),
            Node::Local(number) => self.locals.get(*number).cloned().ok_or_else(|| unbound("a local")),
            Node::LocalPath { local, fields } => self.local_path(*local, fields),
            Node::Path { slot, name, fields } => self.path(*slot, name, fields),
            Node::Unbound(name) => Err(unbound(name)),
            Node::UnboundCall(name) => Err(no_function(name)),
            Node::Select { operand, field, optional } => self.select(*operand, field, *optional),
            Node::Has { operand, field } => self.has(*operand, field),
            Node::Index { operand, index, optional } => self.index(*operand, *index, *optional),
            Node::List(elements) => self.list(elements),
            Node::Map(entries) => self.map(entries),
            Node::Not(operand) => self.not(*operand),
            Node::Negate(operand) => self.negate(*operand),
            Node::Chain { first, rest } => self.chain(*first, rest),
            Node::And(terms) => self.logic(terms, false),
            Node::Or(terms) => self.logic(terms, true),
            Node::Compare { op, left, right } => self.compare(*op, *left, *right),
            Node::Ternary { condition, then, otherwise } => self.ternary(*condition, *then, *otherwise),
            Node::Fold(fold) => self.fold(fold),
            Node::Bind { value, body } => self.bind(*value, *body),
            Node::OptMap { target, body, flat } => self.opt_map(*target, *body, *flat),
            Node::Matches { text, regex } => self.matches(*text, regex),
            Node::Call { func, args } => self.call(*func, args),
            Node::Host { function, name, args } => self.host(*function, name, args),
        }
    }

    /// The value of a node that is only looked at: a constant is not copied for it.
    #[inline]
    fn operand(&mut self, id: Id) -> Result<Operand<'a>, Fault> {
        let nodes = self.nodes;
        match nodes.nodes.get(id as usize) {
            Some(Node::Const(value)) => Ok(Operand::Lent(value)),
            _ => self.eval(id).map(Operand::Own),
        }
    }

    #[inline]
    fn variable(&mut self, slot: usize, name: &str) -> Out<'a> {
        match self.activation.variable(slot, name) {
            Ok(Some(value)) => Ok(value),
            Ok(None) => Err(unbound(name)),
            Err(fault) => Err(foreign(fault)),
        }
    }

    #[inline(never)]
    fn path(&mut self, slot: usize, name: &str, fields: &[Box<str>]) -> Out<'a> {
        let value = self.variable(slot, name)?;
        access::walk(&value, fields)
    }

    #[inline(never)]
    fn local_path(&mut self, local: usize, fields: &[Box<str>]) -> Out<'a> {
        match self.locals.get(local) {
            Some(value) => access::walk(value, fields),
            None => Err(unbound("a local")),
        }
    }

    #[inline(never)]
    fn list(&mut self, elements: &[(Id, bool)]) -> Out<'a> {
        self.fuel.allocate(elements.len().saturating_mul(size_of::<Val>()))?;
        let mut values = Vec::with_capacity(elements.len());
        for (element, optional) in elements {
            let value = self.eval(*element)?;
            values.extend(if *optional { unwrap_optional(value)? } else { Some(value) });
        }
        Ok(Val::List(List::owned(values)))
    }

    #[inline(never)]
    fn map(&mut self, nodes: &[(Id, Id, bool)]) -> Out<'a> {
        self.fuel.allocate(nodes.len().saturating_mul(size_of::<(Key, Val)>()))?;
        let mut entries = Vec::with_capacity(nodes.len());
        for (key, value, optional) in nodes {
            let key = self.eval(*key)?;
            let key = key_of(&key)?;
            let value = self.eval(*value)?;
            let value = if *optional { unwrap_optional(value)? } else { Some(value) };
            entries.extend(value.map(|value| (key, value)));
        }
        Ok(Val::Map(Map::Owned(Arc::new(Entries::new(entries)?))))
    }

    #[inline(never)]
    fn bind(&mut self, value: Id, body: Id) -> Out<'a> {
        let value = self.eval(value)?;
        self.locals.push(value);
        let out = self.eval(body);
        self.locals.pop();
        out
    }

    #[inline(never)]
    fn opt_map(&mut self, target: Id, body: Id, flat: bool) -> Out<'a> {
        let Some(value) = unwrap_optional(self.eval(target)?)? else { return Ok(Val::Optional(None)) };
        self.locals.push(value);
        let out = self.eval(body);
        self.locals.pop();
        match out? {
            Val::Optional(inner) if flat => Ok(Val::Optional(inner)),
            other if flat => Err(no_overload("optFlatMap", &[&other])),
            other => Ok(Val::some(other)),
        }
    }

    #[inline(never)]
    fn matches(&mut self, text: Id, regex: &regex::Regex) -> Out<'a> {
        let text = self.eval(text)?;
        match &text {
            Val::Str(text) => library::strings::matches(text, regex, self.fuel),
            other => Err(no_overload("matches", &[other])),
        }
    }

    #[inline(never)]
    fn call(&mut self, func: crate::functions::Func, args: &[Id]) -> Out<'a> {
        match args {
            [a] => {
                let given = [self.eval(*a)?];
                library::call(func, &given, self.fuel)
            }
            [a, b] => {
                let given = [self.eval(*a)?, self.eval(*b)?];
                library::call(func, &given, self.fuel)
            }
            more => {
                let given = self.all(more)?;
                library::call(func, &given, self.fuel)
            }
        }
    }

    fn all(&mut self, args: &[Id]) -> Result<Vec<Val<'a>>, Fault> {
        args.iter().map(|arg| self.eval(*arg)).collect()
    }

    #[inline(never)]
    fn host(&mut self, function: usize, name: &str, args: &[Id]) -> Out<'a> {
        let given = self.all(args)?;
        let activation = self.activation;
        activation.call(function, name, &given).map_err(|message| EvalError::fault(ErrorKind::HostFunction, message))
    }
}

fn unwrap_optional(value: Val<'_>) -> Result<Option<Val<'_>>, Fault> {
    match value {
        Val::Optional(inner) => Ok(inner.map(|inner| (*inner).clone())),
        other => Err(no_overload("?", &[&other])),
    }
}

/// The key that a value is.
pub(crate) fn key_of<'a>(value: &Val<'a>) -> Result<Key<'a>, Fault> {
    if let Some(fault) = raw_fault(value) {
        return Err(fault);
    }
    Key::of(value, false).ok_or_else(|| {
        EvalError::fault(ErrorKind::BadKey, format!("a value of type {} cannot be the key of a map", value.type_name()))
    })
}

/// An error from the host, perhaps of another expression: here it belongs to the variable that was asked for.
#[cold]
fn foreign(mut fault: Fault) -> Fault {
    fault.span = Span::default();
    fault
}

#[cold]
pub(crate) fn unbound(name: &str) -> Fault {
    EvalError::fault(ErrorKind::NoSuchVariable, format!("`{name}` has no value here"))
}

#[cold]
fn no_function(name: &str) -> Fault {
    EvalError::fault(ErrorKind::NoSuchFunction, format!("there is no function `{name}`"))
}

/// The function or operator does not take these values; raw data among them is named first.
#[cold]
pub(crate) fn no_overload(name: &str, args: &[&Val<'_>]) -> Fault {
    if let Some(fault) = args.iter().find_map(|arg| raw_fault(arg)) {
        return fault;
    }
    let types: Vec<&str> = args.iter().map(|arg| arg.type_name()).collect();
    EvalError::fault(ErrorKind::NoSuchOverload, format!("`{name}` does not take {}", types.join(" and ")))
}

/// What is wrong with a value that CEL has no form for.
#[cold]
pub(crate) fn raw_fault(value: &Val<'_>) -> Option<Fault> {
    let Val::Raw(raw) = value else { return None };
    Some(match raw {
        Value::Str(_) => {
            EvalError::fault(ErrorKind::NotUnicode, "the text has lone surrogates, it is no valid Unicode")
        }
        Value::BigInt(_) => EvalError::fault(ErrorKind::Overflow, "the integer does not fit into 64 bits"),
        Value::Foreign(foreign) => {
            let message = format!("a host value of kind {:?} has no form here", foreign.kind);
            EvalError::fault(ErrorKind::HostValue, message.to_lowercase())
        }
        _ => EvalError::fault(ErrorKind::HostValue, "this value has no form here"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What asks for nothing costs nothing: the watcher has no size, and its answer to a node is an empty function that the
    /// compiler has to take in wherever it is called.
    #[test]
    fn an_evaluation_that_nobody_watches_carries_no_watcher() {
        struct Told<'o>(#[allow(dead_code)] &'o mut dyn FnMut());
        assert_eq!(size_of::<Silent>(), 0);
        let pointers = size_of::<Machine<'_, '_, Told<'_>>>() - size_of::<Machine<'_, '_, Silent>>();
        assert_eq!(pointers, size_of::<Told<'_>>());
    }
}
