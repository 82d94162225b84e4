//! What an evaluation can come to where only the types of some variables are known: true, false, another value, an error.
//!
//! Never too little: what is not worked out counts as possible. So "it always errs" and "it is never true" are proofs, and
//! their contraries are not.
mod ways;

use ways::{either, is_open, select, type_name, Gives, Way};

use crate::ast::{Arith, Compare, Fold, Id};
use crate::check::{arithmetic, equatable, ordered, takes, with_article};
use crate::compile::{FoldNode, Node, Nodes};
use crate::eval::compare::equal;
use crate::functions::{self, Func};
use crate::val::Val;
use crate::{Fuel, Limits, Program, Span, Type};

/// What an evaluation can come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prospect {
    /// It may be true.
    pub may_be_true: bool,
    /// It may be false.
    pub may_be_false: bool,
    /// It may be a value of another type than bool.
    pub may_be_other: bool,
    /// It may be an error; a bound that is hit is always possible, and not counted.
    pub may_err: bool,
    /// The part that makes it err, and why, where it always does.
    pub blame: Option<(Span, String)>,
}

impl Prospect {
    /// Whether every evaluation ends in an error.
    #[must_use]
    pub fn always_errs(&self) -> bool {
        !self.may_be_true && !self.may_be_false && !self.may_be_other
    }
}

impl Program {
    /// What the expression can come to, given the types of some of its variables; any value, or none, where `known` has no
    /// type for one.
    ///
    /// ```
    /// use callgate_cel::{Env, Limits, Program, Type};
    /// let mut env = Env::new();
    /// env.variable("result", Type::Dyn);
    /// let program = Program::compile("size(result.items) == 0", &env, Some(Type::Bool), &Limits::default()).unwrap();
    /// let text = program.prospect(&|_| Some(Type::String));
    /// assert!(text.always_errs());
    /// assert_eq!(text.blame.unwrap().1, "a string has no field `items`");
    /// ```
    #[must_use]
    pub fn prospect(&self, known: &dyn Fn(&str) -> Option<Type>) -> Prospect {
        let mut seer = Seer { nodes: self.nodes(), known, locals: Vec::new() };
        let way = seer.see(seer.nodes.root);
        let (may_be_true, may_be_false) = way.gives.truth();
        let may_be_other = way.gives.may_be_other();
        let always = !may_be_true && !may_be_false && !may_be_other;
        Prospect { may_be_true, may_be_false, may_be_other, may_err: way.errs, blame: way.blame.filter(|_| always) }
    }
}

struct Seer<'s> {
    nodes: &'s Nodes,
    known: &'s dyn Fn(&str) -> Option<Type>,
    locals: Vec<Gives>,
}

impl Seer<'_> {
    fn span(&self, id: Id) -> Span {
        self.nodes.spans.get(id as usize).copied().unwrap_or_default()
    }

    fn variable(&self, name: &str) -> Way {
        match (self.known)(name) {
            Some(ty) => Way::surely(Gives::Of(ty)),
            None => Way::perhaps(Gives::Of(Type::Dyn)),
        }
    }

    fn see(&mut self, id: Id) -> Way {
        let nodes = self.nodes;
        let span = self.span(id);
        match nodes.nodes.get(id as usize) {
            None => Way::perhaps(Gives::Of(Type::Dyn)),
            Some(node) => self.node(node, span),
        }
    }

    fn node(&mut self, node: &Node, span: Span) -> Way {
        match node {
            Node::Const(value) => Way::surely(Gives::Constant(value.clone())),
            Node::Variable { name, .. } => self.variable(name),
            Node::Local(number) => Way::surely(self.locals.get(*number).cloned().unwrap_or(Gives::Of(Type::Dyn))),
            Node::LocalPath { local, fields } => {
                let start = Way::surely(self.locals.get(*local).cloned().unwrap_or(Gives::Of(Type::Dyn)));
                fields.iter().fold(start, |way, field| select(way, field, span))
            }
            Node::Path { name, fields, .. } => {
                fields.iter().fold(self.variable(name), |way, field| select(way, field, span))
            }
            Node::Unbound(name) | Node::UnboundCall(name) => Way::never(span, format!("`{name}` has no value here")),
            Node::Select { operand, field, optional } => {
                let found = select(self.see(*operand), field, span);
                if *optional && !found.is_nothing() {
                    return Way::perhaps(Gives::Of(Type::optional(Type::Dyn)));
                }
                found
            }
            Node::Has { operand, field } => {
                let found = select(self.see(*operand), field, span);
                if found.is_nothing() {
                    return found;
                }
                Way { gives: Gives::Truth { yes: true, no: true }, errs: found.errs, blame: None }
            }
            Node::Index { operand, index, optional } => {
                let (value, index) = (self.see(*operand), self.see(*index));
                if value.is_nothing() {
                    return value;
                }
                if index.is_nothing() {
                    return index;
                }
                let ty = value.gives.ty();
                let able = |ty: &Type| {
                    is_open(ty)
                        || matches!(ty.base(), Type::List(_) | Type::Map(_) | Type::Object(_) | Type::Optional(_))
                };
                if !able(&ty) {
                    return Way::never(span, format!("{} cannot be indexed", with_article(&ty)));
                }
                Way::perhaps(Gives::Of(if *optional { Type::optional(Type::Dyn) } else { Type::Dyn }))
            }
            Node::List(elements) => {
                let parts: Vec<Id> = elements.iter().map(|(element, _)| *element).collect();
                self.built(&parts, Type::list(Type::Dyn), elements.iter().any(|(_, optional)| *optional))
            }
            Node::Map(entries) => {
                let parts: Vec<Id> = entries.iter().flat_map(|(key, value, _)| [*key, *value]).collect();
                self.built(&parts, Type::map(Type::Dyn, Type::Dyn), true)
            }
            Node::Not(operand) => {
                let way = self.see(*operand);
                let (yes, no) = way.gives.truth();
                self.truth_of(&[way], yes || no, no, yes, span, "`!` needs a bool")
            }
            Node::Negate(operand) => {
                let way = self.see(*operand);
                if way.is_nothing() {
                    return way;
                }
                let ty = way.gives.ty();
                if !is_open(&ty) && !ty.is_numeric() && *ty.base() != Type::Duration {
                    return Way::never(span, format!("`-` needs a number, found {}", with_article(&ty)));
                }
                Way::perhaps(Gives::Of(ty))
            }
            Node::Chain { first, rest } => self.chain(*first, rest, span),
            Node::And(terms) => self.logic(terms, false, span),
            Node::Or(terms) => self.logic(terms, true, span),
            Node::Compare { op, left, right } => self.compare(*op, *left, *right, span),
            Node::Ternary { condition, then, otherwise } => self.ternary(*condition, *then, *otherwise, span),
            Node::Fold(fold) => self.fold(fold, span),
            Node::Bind { value, body } => {
                let value = self.see(*value);
                if value.is_nothing() {
                    return value;
                }
                self.locals.push(value.gives);
                let mut body = self.see(*body);
                self.locals.pop();
                body.errs |= value.errs;
                body
            }
            Node::OptMap { target, body, .. } => {
                let target = self.see(*target);
                if target.is_nothing() {
                    return target;
                }
                let ty = target.gives.ty();
                if !is_open(&ty) && !matches!(ty.base(), Type::Optional(_)) {
                    let found = with_article(&ty);
                    return Way::never(span, format!("an optional is needed here, found {found}"));
                }
                self.locals.push(Gives::Of(Type::Dyn));
                self.see(*body);
                self.locals.pop();
                Way::perhaps(Gives::Of(Type::optional(Type::Dyn)))
            }
            Node::Matches { text, .. } => {
                let text = self.see(*text);
                self.applied(Func::Matches, vec![text, Way::surely(Gives::Of(Type::String))], span)
            }
            Node::Call { func, args } => {
                let given = args.iter().map(|arg| self.see(*arg)).collect();
                self.applied(*func, given, span)
            }
            Node::Host { args, .. } => {
                let given: Vec<Way> = args.iter().map(|arg| self.see(*arg)).collect();
                match given.into_iter().find(Way::is_nothing) {
                    Some(nothing) => nothing,
                    None => Way::perhaps(Gives::Of(Type::Dyn)),
                }
            }
        }
    }

    /// A list or map of these parts.
    fn built(&mut self, parts: &[Id], ty: Type, may_err: bool) -> Way {
        let mut errs = may_err;
        for part in parts {
            let way = self.see(*part);
            if way.is_nothing() {
                return way;
            }
            errs |= way.errs;
        }
        Way { gives: Gives::Of(ty), errs, blame: None }
    }

    /// A bool made of `parts`: `able` if one of them can be a bool at all.
    fn truth_of(&self, parts: &[Way], able: bool, yes: bool, no: bool, span: Span, wanted: &str) -> Way {
        let other = parts.iter().any(|way| way.errs || way.gives.may_be_other());
        if able {
            return Way { gives: Gives::Truth { yes, no }, errs: other, blame: None };
        }
        match parts.iter().find(|way| way.is_nothing()) {
            Some(nothing) => nothing.clone(),
            None => Way::never(span, wanted.to_owned()),
        }
    }

    /// `||` if `decisive` is true, else `&&`.
    fn logic(&mut self, terms: &[Id], decisive: bool, span: Span) -> Way {
        let ways: Vec<Way> = terms.iter().map(|term| self.see(*term)).collect();
        let can = |way: &Way, truth: bool| {
            let (yes, no) = way.gives.truth();
            if truth {
                yes
            } else {
                no
            }
        };
        // what decides for certain absorbs the errors beside it
        let decides = |way: &Way| !way.errs && !way.gives.may_be_other() && can(way, decisive) && !can(way, !decisive);
        if ways.iter().any(decides) {
            return Way::surely(Gives::Truth { yes: decisive, no: !decisive });
        }
        let decided = ways.iter().any(|way| can(way, decisive));
        let otherwise = ways.iter().all(|way| can(way, !decisive));
        let (yes, no) = if decisive { (decided, otherwise) } else { (otherwise, decided) };
        self.truth_of(&ways, yes || no, yes, no, span, "a bool is needed here")
    }

    fn ternary(&mut self, condition: Id, then: Id, otherwise: Id, span: Span) -> Way {
        let condition = self.see(condition);
        let (yes, no) = condition.gives.truth();
        if !yes && !no {
            return self.truth_of(&[condition], false, false, false, span, "a bool is needed here");
        }
        let mut open: Vec<Way> = Vec::new();
        open.extend(yes.then(|| self.see(then)));
        open.extend(no.then(|| self.see(otherwise)));
        let errs = condition.errs || condition.gives.may_be_other() || open.iter().any(|way| way.errs);
        let mut values: Vec<Way> = open.iter().filter(|way| !way.is_nothing()).cloned().collect();
        let gives = match (values.pop(), values.pop()) {
            (None, _) => return open.into_iter().next().unwrap_or_else(|| Way::perhaps(Gives::Of(Type::Dyn))),
            (Some(only), None) => only.gives,
            (Some(one), Some(other)) => either(&one.gives, &other.gives),
        };
        Way { gives, errs, blame: None }
    }

    fn chain(&mut self, first: Id, rest: &[(Arith, Id)], span: Span) -> Way {
        let first = self.see(first);
        if first.is_nothing() {
            return first;
        }
        let mut ty = first.gives.ty();
        for (op, operand) in rest {
            let right = self.see(*operand);
            if right.is_nothing() {
                return right;
            }
            let right = right.gives.ty();
            ty = if is_open(&ty) || is_open(&right) {
                Type::Dyn
            } else {
                match arithmetic(*op, &ty, &right) {
                    Some(result) => result,
                    None => {
                        let (a, b) = (with_article(&ty), with_article(&right));
                        return Way::never(span, format!("`{}` does not take {a} and {b}", op.sign()));
                    }
                }
            };
        }
        // sums overflow, quotients divide by zero
        Way::perhaps(Gives::Of(ty))
    }

    fn compare(&mut self, op: Compare, left: Id, right: Id, span: Span) -> Way {
        let (left, right) = (self.see(left), self.see(right));
        for side in [&left, &right] {
            if side.is_nothing() {
                return side.clone();
            }
        }
        let errs = left.errs || right.errs;
        let (a, b) = (left.gives.ty(), right.gives.ty());
        let truth = |yes: bool, no: bool, errs: bool| Way { gives: Gives::Truth { yes, no }, errs, blame: None };
        match op {
            Compare::Eq | Compare::Ne => {
                if let (Gives::Constant(a), Gives::Constant(b)) = (&left.gives, &right.gives) {
                    if let Ok(equal) = equal(a, b, &mut Fuel::new(&Limits::default()), 0) {
                        let holds = equal == (op == Compare::Eq);
                        return truth(holds, !holds, errs);
                    }
                }
                if !is_open(&a) && !is_open(&b) && !equatable(&a, &b) {
                    return truth(op == Compare::Ne, op == Compare::Eq, errs);
                }
                // data without a form here errs even where it is only compared
                truth(true, true, errs || a.is_dyn() || b.is_dyn())
            }
            Compare::In => {
                let able = is_open(&b) || matches!(b.base(), Type::List(_) | Type::Map(_) | Type::Object(_));
                if !able {
                    let found = with_article(&b);
                    return Way::never(span, format!("`in` needs a list or a map, found {found}"));
                }
                truth(true, true, true)
            }
            _ if !is_open(&a) && !is_open(&b) && !ordered(&a, &b) => {
                let (a, b) = (with_article(&a), with_article(&b));
                Way::never(span, format!("`{}` does not compare {a} with {b}", op.sign()))
            }
            _ => truth(true, true, errs || is_open(&a) || is_open(&b)),
        }
    }

    fn fold(&mut self, fold: &FoldNode, span: Span) -> Way {
        let range = self.see(fold.range);
        if range.is_nothing() {
            return range;
        }
        let ty = range.gives.ty();
        let able = is_open(&ty) || matches!(ty.base(), Type::List(_) | Type::Map(_) | Type::Object(_));
        if !able {
            let found = with_article(&ty);
            return Way::never(span, format!("a list or a map is needed here, found {found}"));
        }
        // an empty range asks nothing of the body, so that nothing is known of it
        Way::perhaps(match fold.fold {
            Fold::All | Fold::Exists | Fold::ExistsOne => Gives::Truth { yes: true, no: true },
            Fold::Map | Fold::Filter | Fold::SortBy => Gives::Of(Type::list(Type::Dyn)),
            Fold::TransformMap | Fold::TransformMapEntry => Gives::Of(Type::map(Type::Dyn, Type::Dyn)),
        })
    }

    fn applied(&self, func: Func, given: Vec<Way>, span: Span) -> Way {
        if let Some(nothing) = given.iter().find(|way| way.is_nothing()) {
            return nothing.clone();
        }
        let types: Vec<Type> = given.iter().map(|way| way.gives.ty()).collect();
        let errs = given.iter().any(|way| way.errs);
        if let (Func::TypeOf, [ty]) = (func, types.as_slice()) {
            return match type_name(ty) {
                Some(name) => Way { gives: Gives::Constant(Val::Type(name)), errs, blame: None },
                None => Way::perhaps(Gives::Of(Type::Type)),
            };
        }
        if func == Func::ToDyn {
            return given.into_iter().next().unwrap_or_else(|| Way::perhaps(Gives::Of(Type::Dyn)));
        }
        let Some(builtin) = functions::builtin(func.name()) else { return Way::perhaps(Gives::Of(Type::Dyn)) };
        // a number may be of the type that is wanted
        let opened: Vec<Type> = types.iter().map(|ty| if is_open(ty) { Type::Dyn } else { ty.clone() }).collect();
        let fitting: Vec<_> = builtin.overloads.iter().filter(|overload| takes(overload, &opened)).collect();
        let Some(first) = fitting.first() else {
            let shown: Vec<String> = types.iter().map(with_article).collect();
            return Way::never(span, format!("`{}` does not take {}", func.name(), shown.join(" and ")));
        };
        let same = fitting.iter().all(|overload| overload.result == first.result);
        let plain = matches!(first.result, Type::Bool | Type::Int | Type::String | Type::Double);
        let may_err = errs || func != Func::Size && !matches!(first.result, Type::Bool) || types.iter().any(is_open);
        let gives = match (&first.result, same && plain) {
            (Type::Bool, true) => Gives::Truth { yes: true, no: true },
            (result, true) => Gives::Of(result.clone()),
            _ => Gives::Of(Type::Dyn),
        };
        Way { gives, errs: may_err, blame: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Env;

    fn on_text(source: &str) -> Prospect {
        let mut env = Env::new();
        env.variable("result", Type::Dyn);
        env.variable("args", Type::Dyn);
        let program = Program::compile(source, &env, None, &Limits::default()).unwrap();
        program.prospect(&|name| (name == "result").then_some(Type::String))
    }

    fn errs(source: &str, at: &str, why: &str) {
        let found = on_text(source);
        assert!(found.always_errs(), "{source}: {found:?}");
        let (span, words) = found.blame.unwrap();
        assert_eq!((span.text(source), &*words), (at, why), "{source}");
    }

    #[test]
    fn what_needs_a_map_errs_on_text_and_the_part_that_does_is_named() {
        errs("result.items", "result.items", "a string has no field `items`");
        errs("size(result.items) == 0", "result.items", "a string has no field `items`");
        errs("has(result.items) && size(result.items) == 0", "has(result.items)", "a string has no field `items`");
        errs("args.x > 1 ? result.a : result.b", "result.a", "a string has no field `a`");
        errs("result['items']", "result['items']", "a string cannot be indexed");
        errs("result.?items.orValue([])", "result.?items", "a string has no field `items`");
        errs("result >= 400", "result >= 400", "`>=` does not compare a string with an int");
        errs("'x' in result", "'x' in result", "`in` needs a list or a map, found a string");
        errs("result.all(r, r.ok)", "result.all(r, r.ok)", "a list or a map is needed here, found a string");
        errs("result + 1 > 2", "result + 1", "`+` does not take a string and an int");
        errs("!result", "!result", "`!` needs a bool");
        errs("cel.bind(r, result, r.items)", "r.items", "a string has no field `items`");
        errs("result.sort()[0] == 1", "result.sort()", "`sort` does not take a string");
        errs("result.ok && result.done", "result.ok", "a string has no field `ok`");
    }

    #[test]
    fn what_is_guarded_or_made_for_text_does_not_always_err() {
        for source in [
            "type(result) == map && size(result.items) == 0",
            "type(result) == string ? [] : result.items",
            "type(result) != map || size(result.items) == 0",
            "size(result) == 0",
            "result.contains('no results')",
            "result == ''",
            "result == []",
            "args.raw || result.ok",
            "args.n > 5 && result.ok",
            "args.plain ? [] : result.items",
            "[1].all(x, result.ok)",
            "result.split(',').size() > 3",
            "result.matches('^no ') || size(result.items) == 0",
            "int(result) > 4",
            "dyn(result) == 'x'",
        ] {
            assert!(!on_text(source).always_errs(), "{source}: {:?}", on_text(source));
        }
    }

    #[test]
    fn a_condition_that_is_decided_by_the_type_has_one_truth() {
        let truth = |source: &str| {
            let found = on_text(source);
            (found.may_be_true, found.may_be_false)
        };
        assert_eq!(truth("type(result) == string"), (true, false));
        assert_eq!(truth("type(result) != map"), (true, false));
        assert_eq!(truth("type(result) == map"), (false, true));
        assert_eq!(truth("type(result) == string || result.status >= 400"), (true, false));
        assert_eq!(truth("result == 5"), (false, true));
        assert_eq!(truth("!(type(result) == string) && args.x"), (false, true));
        assert_eq!(truth("result.startsWith('Error')"), (true, true));
    }
}
