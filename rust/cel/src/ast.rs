//! The syntax tree: nodes in one list, children by number, a byte span for each.
use crate::Span;

/// The number of a node in its tree.
pub(crate) type Id = u32;

/// A name with the place where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    pub text: Box<str>,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Literal {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    Str(Box<str>),
    Bytes(Box<[u8]>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compare {
    Lt,
    Le,
    Gt,
    Ge,
    Eq,
    Ne,
    In,
}

impl Compare {
    pub fn sign(self) -> &'static str {
        match self {
            Self::Lt => "<",
            Self::Le => "<=",
            Self::Gt => ">",
            Self::Ge => ">=",
            Self::Eq => "==",
            Self::Ne => "!=",
            Self::In => "in",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arith {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
}

impl Arith {
    pub fn sign(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Sub => "-",
            Self::Mul => "*",
            Self::Div => "/",
            Self::Rem => "%",
        }
    }
}

/// What a comprehension makes of its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fold {
    All,
    Exists,
    ExistsOne,
    Map,
    Filter,
    TransformMap,
    TransformMapEntry,
    SortBy,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Element {
    pub value: Id,
    pub optional: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub key: Id,
    pub value: Id,
    pub optional: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Comprehension {
    pub fold: Fold,
    pub range: Id,
    /// One name, or two: index and value of a list, key and value of a map.
    pub first: Name,
    pub second: Option<Name>,
    pub filter: Option<Id>,
    pub body: Id,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expr {
    Literal(Literal),
    /// A name; `rooted` if a dot stands before it.
    Ident {
        name: Box<str>,
        rooted: bool,
    },
    Select {
        operand: Id,
        field: Name,
        optional: bool,
    },
    Index {
        operand: Id,
        index: Id,
        optional: bool,
    },
    /// `has(operand.field)`
    Has {
        operand: Id,
        field: Name,
    },
    Call {
        target: Option<Id>,
        name: Name,
        args: Vec<Id>,
    },
    List(Vec<Element>),
    Map(Vec<Entry>),
    Not(Id),
    Negate(Id),
    /// `first op a op b …`, from left to right; one node, so that long sums stay flat.
    Chain {
        first: Id,
        rest: Vec<(Arith, Id)>,
    },
    And(Vec<Id>),
    Or(Vec<Id>),
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
    Comprehension(Box<Comprehension>),
    /// `cel.bind(name, value, body)`
    Bind {
        name: Name,
        value: Id,
        body: Id,
    },
    /// `target.optMap(name, body)`; `flat` for `optFlatMap`.
    OptMap {
        target: Id,
        name: Name,
        body: Id,
        flat: bool,
    },
    /// Stands where a mistake was reported.
    Broken,
}

/// A whole expression.
#[derive(Clone, Debug)]
pub(crate) struct Ast {
    nodes: Vec<(Expr, Span)>,
    pub root: Id,
}

static BROKEN: Expr = Expr::Broken;

impl Ast {
    pub fn new(nodes: Vec<(Expr, Span)>, root: Id) -> Self {
        Self { nodes, root }
    }

    pub fn expr(&self, id: Id) -> &Expr {
        self.nodes.get(id as usize).map_or(&BROKEN, |(expr, _)| expr)
    }

    pub fn span(&self, id: Id) -> Span {
        self.nodes.get(id as usize).map(|(_, span)| *span).unwrap_or_default()
    }

    pub fn len(&self) -> usize {
        self.nodes.len()
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
