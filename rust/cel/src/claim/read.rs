//! From the nodes of a program to its claim.
use super::{Claim, Order, Place, Root, Step, Test};
use crate::ast::{Compare, Fold, Id};
use crate::compile::{Node, Nodes};
use crate::functions::Func;
use crate::types::Scalar;
use crate::val::Val;
use crate::Program;

impl Program {
    /// What has to be so for the expression to be true, or false.
    ///
    /// ```
    /// use callgate_cel::{Claim, Env, Limits, Order, Program, Scalar, Test, Type};
    /// let mut env = Env::new();
    /// env.variable("args", Type::Dyn);
    /// let program = Program::compile("!(args.n <= 5)", &env, None, &Limits::default()).unwrap();
    /// let Claim::Tested { place, test, holds } = program.claim(true) else { panic!() };
    /// assert_eq!((place.to_string().as_str(), test, holds), ("args.n", Test::Is(Order::AtMost, Scalar::Int(5)), false));
    /// ```
    #[must_use]
    pub fn claim(&self, truth: bool) -> Claim {
        let mut reader = Reader { nodes: self.nodes(), locals: Vec::new(), folds: 0, left: MOST_PARTS };
        reader.claim(reader.nodes.root, truth)
    }

    /// Whether it fails only where a test of its claim, or something opaque in it, fails: a choice fails with its condition
    /// whatever its branches come to, and a bound value may fail unread.
    #[must_use]
    pub fn fails_by_its_tests(&self) -> bool {
        !self.nodes().nodes.iter().any(|node| matches!(node, Node::Ternary { .. } | Node::Bind { .. }))
    }

    /// The literals and folded constants of the expression, each once.
    #[must_use]
    pub fn literals(&self) -> Vec<Scalar> {
        let mut found: Vec<Scalar> = Vec::new();
        for node in &self.nodes().nodes {
            let Node::Const(value) = node else { continue };
            if let Some(value) = literal(value).filter(|value| !found.contains(value)) {
                found.push(value);
            }
        }
        found
    }

    /// The value that the expression reads, if it does nothing else.
    #[must_use]
    pub fn place(&self) -> Option<Place> {
        let reader = Reader { nodes: self.nodes(), locals: Vec::new(), folds: 0, left: MOST_PARTS };
        reader.place(reader.nodes.root)
    }
}

/// What a local stands for.
enum Local {
    At(Place),
    /// The expression of a `cel.bind`.
    Bound(Id),
    Unknown,
}

struct Reader<'n> {
    nodes: &'n Nodes,
    locals: Vec<Local>,
    folds: usize,
    /// How many further parts are read: a name in a long expression may stand for another long one many times.
    left: usize,
}

/// Parts of a claim; what lies beyond is opaque.
const MOST_PARTS: usize = 4_000;

impl Reader<'_> {
    fn node(&self, id: Id) -> Option<&Node> {
        self.nodes.nodes.get(id as usize)
    }

    fn claim(&mut self, id: Id, truth: bool) -> Claim {
        let nodes = self.nodes;
        let Some(left) = self.left.checked_sub(1) else { return Claim::Opaque };
        self.left = left;
        let Some(node) = nodes.nodes.get(id as usize) else { return Claim::Opaque };
        match node {
            Node::Const(Val::Bool(value)) => Claim::Truth(*value == truth),
            Node::Not(operand) => self.claim(*operand, !truth),
            Node::And(terms) | Node::Or(terms) => {
                let all = matches!(node, Node::And(_)) == truth;
                let claims = terms.iter().map(|term| self.claim(*term, truth)).collect();
                if all {
                    Claim::All(claims)
                } else {
                    Claim::Any(claims)
                }
            }
            Node::Ternary { condition, then, otherwise } => {
                let taken = Claim::All(vec![self.claim(*condition, true), self.claim(*then, truth)]);
                let passed = Claim::All(vec![self.claim(*condition, false), self.claim(*otherwise, truth)]);
                Claim::Any(vec![taken, passed])
            }
            Node::Compare { op, left, right } => self.compared(*op, *left, *right, truth),
            Node::Matches { text, regex } => self.tested(*text, Test::Matches(regex.as_str().into()), truth),
            Node::Has { operand, field } => match self.place(*operand) {
                Some(mut place) if place.through.is_empty() => {
                    place.steps.push(Step::Field(field.clone()));
                    Claim::Tested { place, test: Test::Present, holds: truth }
                }
                _ => Claim::Opaque,
            },
            Node::Call { func, args } => self.called(*func, args, truth),
            Node::Fold(fold) => {
                let (every, some) = match fold.fold {
                    Fold::All => (truth, !truth),
                    Fold::Exists => (!truth, truth),
                    Fold::ExistsOne => (false, truth),
                    _ => (false, false),
                };
                let (Some(place), true) = (self.place(fold.range), (every || some) && !fold.two) else {
                    return Claim::Opaque;
                };
                let element = Place { root: Root::Element(self.folds), steps: Vec::new(), through: Vec::new() };
                self.locals.push(Local::At(element));
                self.folds = self.folds.saturating_add(1);
                let body = Box::new(self.claim(fold.body, truth));
                self.folds = self.folds.saturating_sub(1);
                self.locals.pop();
                if every {
                    Claim::Every(place, body)
                } else {
                    Claim::Some(place, body)
                }
            }
            Node::Bind { value, body } => {
                let local = match self.place(*value) {
                    Some(place) => Local::At(place),
                    // an expression under a name is read where the name stands only if it reads no locals of its own
                    None if self.locals.is_empty() => Local::Bound(*value),
                    None => Local::Unknown,
                };
                self.locals.push(local);
                let body = self.claim(*body, truth);
                self.locals.pop();
                body
            }
            Node::Local(number) => match self.locals.get(*number) {
                Some(Local::Bound(value)) => {
                    // it was bound outside of all locals
                    let value = *value;
                    let inner = std::mem::take(&mut self.locals);
                    let claim = self.claim(value, truth);
                    self.locals = inner;
                    claim
                }
                _ => self.tested(id, Test::Holds, truth),
            },
            _ => self.tested(id, Test::Holds, truth),
        }
    }

    /// A test of what a node reads; opaque if it is no plain place.
    fn tested(&self, id: Id, test: Test, holds: bool) -> Claim {
        match self.place(id) {
            Some(place) => Claim::Tested { place, test, holds },
            None => Claim::Opaque,
        }
    }

    fn compared(&mut self, op: Compare, left: Id, right: Id, truth: bool) -> Claim {
        let Some(order) = Order::of(op) else { return self.within(left, right, truth) };
        for (side, other, order) in [(left, right, order), (right, left, order.turned())] {
            let Some(Node::Const(constant)) = self.node(other) else { continue };
            if let (Val::Bool(value), Order::Equal | Order::Other) = (constant, order) {
                let wanted = *value == ((order == Order::Equal) == truth);
                // `(a || b) == true` is `a || b`; a plain place may also be no bool at all
                if self.place(side).is_none() {
                    return self.claim(side, wanted);
                }
            }
            if let (Val::Type(name), Order::Equal | Order::Other) = (constant, order) {
                if let Some(Node::Call { func: Func::TypeOf, args }) = self.node(side) {
                    let holds = (order == Order::Equal) == truth;
                    return args.first().map_or(Claim::Opaque, |of| self.tested(*of, Test::Type(name), holds));
                }
            }
            if let (Val::Int(size), Some(Node::Call { func: Func::Size, args })) = (constant, self.node(side)) {
                let test = Test::Size(order, *size);
                return args.first().map_or(Claim::Opaque, |of| self.tested(*of, test, truth));
            }
            return match literal(constant) {
                Some(value) => self.tested(side, Test::Is(order, value), truth),
                None => Claim::Opaque,
            };
        }
        match self.place(right) {
            Some(other) => self.tested(left, Test::Against(order, other), truth),
            None => Claim::Opaque,
        }
    }

    fn within(&mut self, left: Id, right: Id, truth: bool) -> Claim {
        match (self.node(left), self.node(right)) {
            (_, Some(Node::Const(Val::List(list)))) => {
                let values: Option<Vec<Scalar>> = list.iter().map(|value| literal(&value)).collect();
                values.map_or(Claim::Opaque, |values| self.tested(left, Test::OneOf(values), truth))
            }
            (Some(Node::Const(constant)), _) => match literal(constant) {
                Some(value) => self.tested(right, Test::Has(value), truth),
                None => Claim::Opaque,
            },
            _ => match self.place(right) {
                Some(place) => self.tested(left, Test::Within(place), truth),
                None => Claim::Opaque,
            },
        }
    }

    fn called(&mut self, func: Func, args: &[Id], truth: bool) -> Claim {
        match (func, args) {
            (Func::StartsWith | Func::EndsWith | Func::Contains, [text, part]) => {
                let Some(Node::Const(Val::Str(part))) = self.node(*part) else { return Claim::Opaque };
                let part: Box<str> = (&**part).into();
                let test = match func {
                    Func::StartsWith => Test::StartsWith(part),
                    Func::EndsWith => Test::EndsWith(part),
                    _ => Test::Contains(part),
                };
                self.tested(*text, test, truth)
            }
            (Func::HasValue, [optional]) => match self.node(*optional) {
                Some(Node::Select { operand, field, optional: true }) => match self.place(*operand) {
                    Some(mut place) if place.through.is_empty() => {
                        place.steps.push(Step::Field(field.clone()));
                        Claim::Tested { place, test: Test::Present, holds: truth }
                    }
                    _ => Claim::Opaque,
                },
                _ => Claim::Opaque,
            },
            (Func::ToDyn | Func::ToBool, [inner]) => self.claim(*inner, truth),
            (Func::OrValue, _) => match self.place_of_call(func, args) {
                Some(place) => Claim::Tested { place, test: Test::Holds, holds: truth },
                None => Claim::Opaque,
            },
            _ => Claim::Opaque,
        }
    }

    /// The value that a node reads, if that is all it does.
    fn place(&self, id: Id) -> Option<Place> {
        let begin = |root: Root| Place { root, steps: Vec::new(), through: Vec::new() };
        let along = |mut place: Place, fields: &[Box<str>]| {
            place.steps.extend(fields.iter().map(|field| Step::Field(field.clone())));
            place
        };
        let local = |number: usize| match self.locals.get(number) {
            Some(Local::At(place)) if place.through.is_empty() => Some(place.clone()),
            _ => None,
        };
        match self.node(id)? {
            Node::Variable { name, .. } => Some(begin(Root::Variable(name.clone()))),
            Node::Path { name, fields, .. } => Some(along(begin(Root::Variable(name.clone())), fields)),
            Node::Local(number) => match self.locals.get(*number)? {
                Local::At(place) => Some(place.clone()),
                _ => None,
            },
            Node::LocalPath { local: number, fields } => Some(along(local(*number)?, fields)),
            Node::Select { operand, field, optional: false } => {
                let place = self.place(*operand).filter(|place| place.through.is_empty())?;
                Some(along(place, std::slice::from_ref(field)))
            }
            Node::Index { operand, index, optional: false } => {
                let mut place = self.place(*operand).filter(|place| place.through.is_empty())?;
                place.steps.push(match self.node(*index)? {
                    Node::Const(Val::Str(key)) => Step::Field((&**key).into()),
                    Node::Const(Val::Int(at)) => Step::At(*at),
                    _ => return None,
                });
                Some(place)
            }
            Node::Call { func, args } => self.place_of_call(*func, args),
            Node::Host { name, args, .. } => match &**args {
                [argument] => match self.node(*argument)? {
                    Node::Const(Val::Str(text)) => Some(begin(Root::Call(name.clone(), (&**text).into()))),
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        }
    }

    fn place_of_call(&self, func: Func, args: &[Id]) -> Option<Place> {
        match (func, args) {
            (Func::ToDyn, [inner]) => self.place(*inner),
            (
                Func::ToInt | Func::ToDouble | Func::ToString | Func::LowerAscii | Func::UpperAscii | Func::Trim,
                [inner],
            ) => {
                let mut place = self.place(*inner)?;
                place.through.insert(0, func.name().into());
                Some(place)
            }
            (Func::OrValue, [optional, default]) => {
                let Node::Select { operand, field, optional: true } = self.node(*optional)? else { return None };
                let Node::Const(default) = self.node(*default)? else { return None };
                let mut place = self.place(*operand).filter(|place| place.through.is_empty())?;
                place.steps.push(Step::Field(field.clone()));
                place.through.push(format!("orValue({:?})", literal(default)?).into());
                Some(place)
            }
            _ => None,
        }
    }
}

/// A constant as plain data; times and types have no such form.
fn literal(value: &Val<'_>) -> Option<Scalar> {
    Some(match value {
        Val::Null => Scalar::Null,
        Val::Bool(value) => Scalar::Bool(*value),
        Val::Int(value) => Scalar::Int(*value),
        Val::Uint(value) => Scalar::Int(i64::try_from(*value).ok()?),
        Val::Double(value) => Scalar::Double(*value),
        Val::Str(text) => Scalar::String((&**text).into()),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Env, Limits, Type};

    /// A claim as text: `args.n Is(More, Int(5))`, a contrary with `!`.
    fn told(claim: &Claim) -> String {
        let list = |claims: &[Claim]| claims.iter().map(told).collect::<Vec<_>>().join(", ");
        match claim {
            Claim::Truth(value) => value.to_string(),
            Claim::All(claims) => format!("all({})", list(claims)),
            Claim::Any(claims) => format!("any({})", list(claims)),
            Claim::Tested { place, test, holds } => {
                let test = match test {
                    Test::Within(other) => format!("in {other}"),
                    Test::Against(order, other) => format!("{order:?} {other}"),
                    test => format!("{test:?}"),
                };
                format!("{}{place} {test}", if *holds { "" } else { "!" })
            }
            Claim::Some(place, body) => format!("some {place}: {}", told(body)),
            Claim::Every(place, body) => format!("every {place}: {}", told(body)),
            Claim::Opaque => "?".to_owned(),
        }
    }

    fn of(source: &str) -> String {
        let mut env = Env::new();
        for name in ["args", "result", "variables.v", "call.tool"] {
            env.variable(name, Type::Dyn);
        }
        env.function("task.calls", "(string) -> int").unwrap();
        told(&Program::compile(source, &env, None, &Limits::default()).unwrap().claim(true))
    }

    #[test]
    fn conditions_are_read_as_trees_of_tests() {
        for (source, claim) in [
            ("true && 1 > 2", "false"),
            ("args.n > 5", "args.n Is(More, Int(5))"),
            ("5 < args.n", "args.n Is(More, Int(5))"),
            ("!(args.n > 5 || args.a)", "all(!args.n Is(More, Int(5)), !args.a Holds)"),
            (
                "args.n > 5 && args['a'].b[0] == 'x'",
                "all(args.n Is(More, Int(5)), args.a.b[0] Is(Equal, String(\"x\")))",
            ),
            ("args.a ? args.b : args.c", "any(all(args.a Holds, args.b Holds), all(!args.a Holds, args.c Holds))"),
            ("(args.a || args.b) == false", "all(!args.a Holds, !args.b Holds)"),
            ("args.a == true", "args.a Is(Equal, Bool(true))"),
            ("has(args.a) || args.?b.hasValue()", "any(args.a Present, args.b Present)"),
            ("args.t in ['a', 'b']", "args.t OneOf([String(\"a\"), String(\"b\")])"),
            ("'a' in args.t && args.x in args.y", "all(args.t Has(String(\"a\")), args.x in args.y)"),
            ("args.x >= args.y", "args.x AtLeast args.y"),
            ("size(args.x) > 3 && 4 == args.y.size()", "all(args.x Size(More, 3), args.y Size(Equal, 4))"),
            ("type(args.x) != string", "!args.x Type(\"string\")"),
            (
                "args.x.startsWith('a') && !args.x.matches('b+')",
                "all(args.x StartsWith(\"a\"), !args.x Matches(\"b+\"))",
            ),
            ("args.x.lowerAscii().trim().contains('a')", "trim of lowerAscii of args.x Contains(\"a\")"),
            ("double(args.n) > 1.5", "double of args.n Is(More, Double(1.5))"),
            ("args.?n.orValue(3) > 4", "orValue(Int(3)) of args.n Is(More, Int(4))"),
            ("args.l.exists(l, l.p > 5)", "some args.l: an element.p Is(More, Int(5))"),
            ("!args.l.all(l, l.p > 5)", "some args.l: !an element.p Is(More, Int(5))"),
            ("args.l.all(l, l in ['a'])", "every args.l: an element OneOf([String(\"a\")])"),
            ("cel.bind(v, args.n, v > 5)", "args.n Is(More, Int(5))"),
            (
                "cel.bind(v, args.n > 5 && args.a, v || args.b)",
                "any(all(args.n Is(More, Int(5)), args.a Holds), args.b Holds)",
            ),
            ("variables.v && call.tool == 'pay'", "all(variables.v Holds, call.tool Is(Equal, String(\"pay\")))"),
            ("task.calls('pay') >= 2", "task.calls(\"pay\") Is(AtLeast, Int(2))"),
            ("args.a + args.b > 3", "?"),
            (
                "args.l.exists_one(l, l > 1) || !args.l.exists_one(l, l > 1)",
                "any(some args.l: an element Is(More, Int(1)), ?)",
            ),
            ("[1, args.a].exists(x, x == 1)", "?"),
            ("args.at == timestamp('2024-01-01T00:00:00Z')", "?"),
        ] {
            assert_eq!(of(source), claim, "{source}");
        }
    }
}
