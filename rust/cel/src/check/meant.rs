//! What was meant where a name is undeclared or a field may be absent: the words of hints, made of what there is.
use std::collections::HashSet;

use super::Checker;
use crate::ast::{Expr, Id, Literal};
use crate::diagnostic::nearest;
use crate::parse::NO_FIELD;
use crate::{Code, Diagnostic, Env, Object, Type};

const SHOWN: usize = 3;

/// A field or a part of a variable.
struct Place {
    /// How it is written, `args.amount`.
    path: String,
    /// Of what it is a part, `args`.
    owner: String,
    /// Its own name, `amount`.
    name: String,
    there: There,
}

/// Whether a place is there.
#[derive(Clone, Copy, PartialEq)]
enum There {
    Always,
    /// Its object is known, and has it or not.
    MayBeAbsent,
    /// Its variable may turn out to be an object that has it.
    Perhaps,
}

impl Checker<'_> {
    /// What an undeclared name stands for that is a field or a part of a variable.
    pub(super) fn place_of(&self, name: &str) -> Option<String> {
        match places(self.env, name).as_slice() {
            [] => None,
            [place] => {
                let there = if self.is_present(&place.path) { There::Always } else { place.there };
                let (path, owner) = (&place.path, &place.owner);
                let first = asking_first(Some(owner), name);
                Some(match there {
                    There::Always => format!("write `{path}`"),
                    There::MayBeAbsent => format!("write `{path}`, which may be absent: {first}"),
                    There::Perhaps => format!("write `{path}`, which `{owner}` does not always have: {first}"),
                })
            }
            many => Some(format!("write {}", listed(many, |path| format!("`{path}`")))),
        }
    }

    /// The field or part of a variable that is spelt nearly like an undeclared name.
    pub(super) fn near_place(&self, name: &str) -> Option<String> {
        let all = all_places(self.env);
        let near = nearest(name, all.iter().map(|place| place.name.as_str()))?;
        let place = all.iter().find(|place| place.name == near)?;
        Some(format!("did you mean `{}`?", place.path))
    }

    /// How a node is written again: names, fields and keys, nothing that is computed.
    pub(super) fn written(&self, id: Id) -> Option<String> {
        match self.ast.expr(id) {
            Expr::Ident { name, .. } => Some(name.to_string()),
            Expr::Select { operand, field, optional: false } if is_name(&field.text) => {
                Some(format!("{}.{}", self.written(*operand)?, field.text))
            }
            Expr::Index { operand, index, optional: false } => match self.ast.expr(*index) {
                Expr::Literal(Literal::Str(key)) => Some(format!("{}[{key:?}]", self.written(*operand)?)),
                _ => None,
            },
            _ => None,
        }
    }
}

/// How a field is read that may be absent.
pub(super) fn asking_first(owner: Option<&str>, field: &str) -> String {
    match owner {
        Some(owner) if is_name(field) => {
            format!("test it first, `has({owner}.{field}) && …`, or read it as `{owner}.?{field}.orValue(…)`")
        }
        Some(owner) => {
            format!("test it first, `{field:?} in {owner} && …`, or read it as `{owner}[?{field:?}].orValue(…)`")
        }
        None => "test it first with `has`, or read it with `.?` and `orValue`".to_owned(),
    }
}

/// The mistakes of a text that does not follow the grammar, with `has(name)` led to the field that is meant.
pub(crate) fn in_has(source: &str, env: &Env, mut faults: Vec<Diagnostic>) -> Vec<Diagnostic> {
    for fault in faults.iter_mut().filter(|fault| fault.code == Code::Syntax && fault.message == NO_FIELD) {
        match places(env, fault.span.text(source)).as_slice() {
            [] => {}
            [Place { path, there: There::Always, .. }] => {
                fault.hint = Some(format!("`{path}` is always there: leave the test out"));
            }
            many => fault.hint = Some(format!("write {}", listed(many, |path| format!("`has({path})`")))),
        }
    }
    faults
}

/// Where a name is a field or a part of a variable.
fn places(env: &Env, name: &str) -> Vec<Place> {
    all_places(env).into_iter().filter(|place| place.name == name).collect()
}

/// All fields and parts of variables, each once.
fn all_places(env: &Env) -> Vec<Place> {
    let mut all: Vec<Place> = Vec::new();
    let mut known: HashSet<String> = HashSet::new();
    let mut add = |owner: &str, name: &str, there: There| {
        let path = format!("{owner}.{name}");
        if is_name(name) && known.insert(path.clone()) {
            all.push(Place { path, owner: owner.to_owned(), name: name.to_owned(), there });
        }
    };
    for (name, ty) in env.typed() {
        for (field, always) in fields(ty) {
            add(name, field, if always { There::Always } else { There::MayBeAbsent });
        }
        if let Some((owner, part)) = name.rsplit_once('.') {
            add(owner, part, There::Always);
        }
    }
    for (name, types) in env.perhaps() {
        for (field, _) in types.iter().flat_map(fields) {
            add(name, field, There::Perhaps);
        }
    }
    all
}

/// The fields of an object, or of the objects that a value can be, and whether they are always there.
fn fields<'t>(ty: &'t Type) -> Vec<(&'t str, bool)> {
    let object = |member: &'t Type| match member.base() {
        Type::Object(object) => Some(&**object),
        _ => None,
    };
    let objects: Vec<&Object> = ty.members().iter().filter_map(object).collect();
    let names = objects.iter().flat_map(|object| object.fields.iter().map(|(name, _)| &**name));
    let always = |name: &str| objects.iter().all(|object| object.get(name).is_some_and(|field| field.required));
    names.map(|name| (name, always(name))).collect()
}

/// Some places, each as it is to be written.
fn listed(places: &[Place], write: impl Fn(&str) -> String) -> String {
    let shown: Vec<String> = places.iter().take(SHOWN).map(|place| write(&place.path)).collect();
    match shown.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => shown.concat(),
    }
}

fn is_name(text: &str) -> bool {
    let mut letters = text.chars();
    letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}
