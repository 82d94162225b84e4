//! From the checked tree to the form that is evaluated: names are slots, paths are one node, constants are folded.
use crate::ast::{each_child, Arith, Ast, Compare, Expr, Fold, Id, Literal};
use crate::check::{Checked, Resolved};
use crate::eval::{Machine, Silent};
use crate::functions::Func;
use crate::program::{Activation, Nothing};
use crate::val::{List, Map, Str, Val};
use crate::{entries, Env, Fuel, Limits, Span};
use regex::Regex;
use std::sync::Arc;

/// A node as it is evaluated; it has the number of the syntax node that it was made of.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    Const(Val<'static>),
    Variable {
        slot: usize,
        name: Box<str>,
    },
    Local(usize),
    /// A field of a field of … a local.
    LocalPath {
        local: usize,
        fields: Box<[Box<str>]>,
    },
    /// A field of a field of … a variable.
    Path {
        slot: usize,
        name: Box<str>,
        fields: Box<[Box<str>]>,
    },
    Unbound(Box<str>),
    UnboundCall(Box<str>),
    Select {
        operand: Id,
        field: Box<str>,
        optional: bool,
    },
    Has {
        operand: Id,
        field: Box<str>,
    },
    Index {
        operand: Id,
        index: Id,
        optional: bool,
    },
    List(Box<[(Id, bool)]>),
    Map(Box<[(Id, Id, bool)]>),
    Not(Id),
    Negate(Id),
    Chain {
        first: Id,
        rest: Box<[(Arith, Id)]>,
    },
    And(Box<[Id]>),
    Or(Box<[Id]>),
    Compare {
        op: Compare,
        left: Id,
        right: Id,
    },
    Ternary {
        condition: Id,
        then: Id,
        otherwise: Id,
    },
    Fold(Box<FoldNode>),
    Bind {
        value: Id,
        body: Id,
    },
    OptMap {
        target: Id,
        body: Id,
        flat: bool,
    },
    Matches {
        text: Id,
        regex: Box<Regex>,
    },
    Call {
        func: Func,
        args: Box<[Id]>,
    },
    Host {
        function: usize,
        name: Box<str>,
        args: Box<[Id]>,
    },
}

#[derive(Clone, Debug)]
pub(crate) struct FoldNode {
    pub fold: Fold,
    pub range: Id,
    pub two: bool,
    pub filter: Option<Id>,
    pub body: Id,
}

/// What is evaluated.
#[derive(Clone, Debug)]
pub(crate) struct Nodes {
    pub nodes: Vec<Node>,
    pub spans: Vec<Span>,
    pub root: Id,
}

/// Steps and bytes that folding one node may take; what needs more is left to the evaluation.
const FOLDING: (u64, u64) = (2_000, 16 * 1024);

/// The nodes of a tree that has no mistakes.
pub(crate) fn compile(ast: &Ast, checked: &mut Checked, env: &Env, limits: &Limits) -> Nodes {
    let mut out = Nodes { nodes: Vec::with_capacity(ast.len()), spans: Vec::with_capacity(ast.len()), root: ast.root };
    let names = Names { variables: env.variable_names().collect(), functions: env.function_names().collect() };
    for at in 0..ast.len() {
        let id = Id::try_from(at).unwrap_or(Id::MAX);
        let node = lower(ast, checked, &names, id);
        out.nodes.push(node);
        out.spans.push(ast.span(id));
        if let Some(value) = fold(ast, &out, id, limits) {
            if let Some(node) = out.nodes.last_mut() {
                *node = Node::Const(value);
            }
        }
    }
    out
}

/// What hosts are asked for, by slot and by number.
struct Names<'e> {
    variables: Vec<&'e str>,
    functions: Vec<&'e str>,
}

impl Names<'_> {
    fn variable(&self, slot: usize) -> Box<str> {
        self.variables.get(slot).copied().unwrap_or_default().into()
    }

    fn function(&self, number: usize) -> Box<str> {
        self.functions.get(number).copied().unwrap_or_default().into()
    }
}

fn lower(ast: &Ast, checked: &mut Checked, names: &Names<'_>, id: Id) -> Node {
    let resolved = checked.resolved(id);
    match (ast.expr(id), resolved) {
        (_, Resolved::Variable(slot)) => Node::Variable { slot, name: names.variable(slot) },
        (_, Resolved::Local(number)) => Node::Local(number),
        (_, Resolved::TypeName(name)) => Node::Const(Val::Type(name)),
        (Expr::Literal(literal), _) => Node::Const(literal_value(literal)),
        (Expr::Ident { name, .. }, _) => Node::Unbound(name.clone()),
        (Expr::Select { operand, field, optional }, _) => {
            if !optional {
                if let Some(path) = path(ast, checked, names, id) {
                    return path;
                }
            }
            Node::Select { operand: *operand, field: field.text.clone(), optional: *optional }
        }
        (Expr::Has { operand, field }, _) => Node::Has { operand: *operand, field: field.text.clone() },
        (Expr::Index { operand, index, optional }, _) => {
            Node::Index { operand: *operand, index: *index, optional: *optional }
        }
        (Expr::Call { target, name, args }, _) => {
            let with_target = || target.iter().chain(args).copied().collect::<Box<[Id]>>();
            let bare = || args.iter().copied().collect::<Box<[Id]>>();
            match resolved {
                Resolved::Builtin { func: Func::Matches, bare: alone } => {
                    let given = if alone { bare() } else { with_target() };
                    match (checked.patterns.remove(&id), given.first()) {
                        (Some(regex), Some(text)) => Node::Matches { text: *text, regex: Box::new(regex) },
                        _ => Node::Call { func: Func::Matches, args: given },
                    }
                }
                Resolved::Builtin { func, bare: true } => Node::Call { func, args: bare() },
                Resolved::Builtin { func, bare: false } => Node::Call { func, args: with_target() },
                Resolved::Host { function, bare: alone } => {
                    let args = if alone { bare() } else { with_target() };
                    Node::Host { function, name: names.function(function), args }
                }
                _ => Node::UnboundCall(name.text.clone()),
            }
        }
        (Expr::List(elements), _) => {
            Node::List(elements.iter().map(|element| (element.value, element.optional)).collect())
        }
        (Expr::Map(entries), _) => {
            Node::Map(entries.iter().map(|entry| (entry.key, entry.value, entry.optional)).collect())
        }
        (Expr::Not(operand), _) => Node::Not(*operand),
        (Expr::Negate(operand), _) => Node::Negate(*operand),
        (Expr::Chain { first, rest }, _) => Node::Chain { first: *first, rest: rest.clone().into() },
        (Expr::And(terms), _) => Node::And(terms.clone().into()),
        (Expr::Or(terms), _) => Node::Or(terms.clone().into()),
        (Expr::Compare { op, left, right }, _) => Node::Compare { op: *op, left: *left, right: *right },
        (Expr::Ternary { condition, then, otherwise }, _) => {
            Node::Ternary { condition: *condition, then: *then, otherwise: *otherwise }
        }
        (Expr::Comprehension(fold), _) => Node::Fold(Box::new(FoldNode {
            fold: fold.fold,
            range: fold.range,
            two: fold.second.is_some(),
            filter: fold.filter,
            body: fold.body,
        })),
        (Expr::Bind { value, body, .. }, _) => Node::Bind { value: *value, body: *body },
        (Expr::OptMap { target, body, flat, .. }, _) => Node::OptMap { target: *target, body: *body, flat: *flat },
        (Expr::Broken, _) => Node::Unbound("?".into()),
    }
}

/// `variable.field.field` or `local.field.field` as one node.
fn path(ast: &Ast, checked: &Checked, names: &Names<'_>, id: Id) -> Option<Node> {
    let mut fields = Vec::new();
    let mut at = id;
    loop {
        if let Resolved::Variable(slot) = checked.resolved(at) {
            fields.reverse();
            let name = names.variable(slot);
            return Some(Node::Path { slot, name, fields: fields.into() });
        }
        if let Resolved::Local(local) = checked.resolved(at) {
            fields.reverse();
            return Some(Node::LocalPath { local, fields: fields.into() });
        }
        match ast.expr(at) {
            Expr::Select { operand, field, optional: false } => {
                fields.push(field.text.clone());
                at = *operand;
            }
            _ => return None,
        }
    }
}

fn literal_value(literal: &Literal) -> Val<'static> {
    match literal {
        Literal::Null => Val::Null,
        Literal::Bool(value) => Val::Bool(*value),
        Literal::Int(value) => Val::Int(*value),
        Literal::Uint(value) => Val::Uint(*value),
        Literal::Double(value) => Val::Double(*value),
        Literal::Str(text) => Val::Str(Str::Owned((&**text).into())),
        Literal::Bytes(bytes) => Val::Bytes((&**bytes).into()),
    }
}

/// The value of a node whose children are all constant.
fn fold(ast: &Ast, out: &Nodes, id: Id, limits: &Limits) -> Option<Val<'static>> {
    let foldable = matches!(
        out.nodes.last()?,
        Node::Select { .. }
            | Node::Has { .. }
            | Node::Index { .. }
            | Node::List(_)
            | Node::Map(_)
            | Node::Not(_)
            | Node::Negate(_)
            | Node::Chain { .. }
            | Node::And(_)
            | Node::Or(_)
            | Node::Compare { .. }
            | Node::Ternary { .. }
            | Node::Matches { .. }
            | Node::Call { .. }
    );
    if !foldable {
        return None;
    }
    let mut constant = true;
    let mut visit = |child: Id| constant &= matches!(out.nodes.get(child as usize), Some(Node::Const(_)));
    match out.nodes.last()? {
        // the target of `math.abs(x)` is no value
        Node::Call { args, .. } => args.iter().copied().for_each(visit),
        _ => each_child(ast.expr(id), &mut visit),
    }
    if !constant {
        return None;
    }
    let limits = Limits { fuel: FOLDING.0, memory: FOLDING.1, ..limits.clone() };
    let mut fuel = Fuel::new(&limits);
    let activation: &dyn Activation = &Nothing;
    let value = Machine::new(out, activation, &mut fuel, Silent).eval(id).ok()?;
    keep(&value, 8)
}

/// The value without anything borrowed.
fn keep(value: &Val<'_>, depth: usize) -> Option<Val<'static>> {
    let deeper = depth.checked_sub(1)?;
    Some(match value {
        Val::Null => Val::Null,
        Val::Bool(value) => Val::Bool(*value),
        Val::Int(value) => Val::Int(*value),
        Val::Uint(value) => Val::Uint(*value),
        Val::Double(value) => Val::Double(*value),
        Val::Str(text) => Val::Str(Str::Owned((&**text).into())),
        Val::Bytes(bytes) => Val::Bytes(bytes.clone()),
        Val::Duration(nanos) => Val::Duration(*nanos),
        Val::Timestamp(at) => Val::Timestamp(*at),
        Val::Type(name) => Val::Type(name),
        Val::Ip(address) => Val::Ip(*address),
        Val::Cidr(cidr) => Val::Cidr(*cidr),
        Val::Optional(None) => Val::Optional(None),
        Val::Optional(Some(inner)) => Val::Optional(Some(Arc::new(keep(inner, deeper)?))),
        Val::List(list) => {
            Val::List(List::owned(list.iter().map(|value| keep(&value, deeper)).collect::<Option<_>>()?))
        }
        Val::Map(Map::Owned(map)) => {
            let mut kept = Vec::new();
            for (key, value) in map.iter() {
                let key = keep(&key.to_val(), 1)?;
                kept.push((entries::Key::of(&key, false)?, keep(value, deeper)?));
            }
            Val::Map(Map::Owned(Arc::new(entries::Entries::new(kept).ok()?)))
        }
        Val::Map(Map::Json(_)) | Val::Raw(_) => return None,
    })
}
