//! Names, fields and indices.
use super::meant::asking_first;
use super::{with_article, Checker, Reference, Resolved};
use crate::ast::{Element, Entry, Expr, Id, Literal, Name};
use crate::diagnostic::did_you_mean;
use crate::functions;
use crate::habits;
use crate::val::TYPE_NAMES;
use crate::{Code, Span, Type};

impl Checker<'_> {
    pub(super) fn ident(&mut self, id: Id, name: &str, rooted: bool) -> Type {
        if let Some(at) = self.local(name, rooted) {
            self.resolve(id, Resolved::Local(at));
            return self.scopes.get(at).map_or(Type::Dyn, |(_, ty)| ty.clone());
        }
        if let Some(ty) = self.variable(id, name, rooted) {
            return ty;
        }
        self.resolve(id, Resolved::Unbound);
        self.undeclared(self.ast.span(id), name);
        Type::Dyn
    }

    /// The number of the innermost local of that name.
    pub(super) fn local(&self, name: &str, rooted: bool) -> Option<usize> {
        if rooted {
            return None;
        }
        self.scopes.iter().rposition(|(known, _)| &**known == name)
    }

    /// Resolves a declared variable or the name of a type.
    fn variable(&mut self, id: Id, name: &str, rooted: bool) -> Option<Type> {
        if let Some(slot) = self.env.resolve(name, rooted) {
            self.resolve(id, Resolved::Variable(slot));
            let span = self.ast.span(id);
            self.out.references.push(Reference { variable: name.into(), field: None, span });
            return Some(self.env.type_of(slot));
        }
        let ty = TYPE_NAMES.iter().find(|known| **known == name)?;
        self.resolve(id, Resolved::TypeName(ty));
        Some(Type::Type)
    }

    fn undeclared(&mut self, span: Span, name: &str) {
        if let Some(phase) = self.env.phase_of(name) {
            let message = format!("`{name}` exists only in {phase}");
            return self.report(Code::LaterPhase, span, message, None);
        }
        let namespace = |function: &str| function.strip_prefix(name).is_some_and(|rest| rest.starts_with('.'));
        if functions::names().any(namespace) || self.env.function_names().any(namespace) {
            let message = format!("`{name}` is a namespace of functions, no value");
            return self.report(Code::UndeclaredName, span, message, None);
        }
        let habit = |meant: Option<&str>| meant.map(|meant| format!("write `{meant}`"));
        let locals = self.scopes.iter().map(|(name, _)| &**name);
        let roots = self.env.variable_names().map(|name| name.split_once('.').map_or(name, |(root, _)| root));
        let hint = habit(habits::literal(name))
            .or_else(|| self.place_of(name))
            .or_else(|| habit(self.env.meant_by(name)))
            .or_else(|| did_you_mean(name, locals.chain(roots)))
            .or_else(|| self.near_place(name));
        self.report_with(Code::UndeclaredName, span, format!("undeclared name `{name}`"), hint);
    }

    /// The dotted name that a chain of plain selections spells, if its first name is no local.
    pub(super) fn dotted(&self, id: Id) -> Option<(String, bool)> {
        match self.ast.expr(id) {
            Expr::Ident { name, rooted } if self.local(name, *rooted).is_none() => Some((name.to_string(), *rooted)),
            Expr::Select { operand, field, optional: false } => {
                let (mut name, rooted) = self.dotted(*operand)?;
                name.push('.');
                name.push_str(&field.text);
                Some((name, rooted))
            }
            _ => None,
        }
    }

    pub(super) fn select(&mut self, id: Id, operand: Id, field: &Name, optional: bool) -> Type {
        if !optional {
            if let Some((name, rooted)) = self.dotted(id) {
                if let Some(ty) = self.variable(id, &name, rooted) {
                    return ty;
                }
                if let Some(ty) = self.missing_part(id, &name, field) {
                    return ty;
                }
            }
        }
        let ty = self.visit(operand);
        self.note_field(operand, &field.text);
        let known = optional || self.path(id).is_some_and(|path| self.is_present(&path));
        let found = self.field_type(&ty, field, (!known).then_some(operand));
        if !known {
            if let Some(path) = self.path(id) {
                // reported once is enough
                self.present.push(path);
            }
        }
        if optional && !matches!(found, Type::Optional(_)) {
            return Type::optional(found);
        }
        found
    }

    /// Reports a field that is missing from a variable of which only parts are declared (`call.tool`, `call.id`).
    fn missing_part(&mut self, id: Id, name: &str, field: &Name) -> Option<Type> {
        let (owner, _) = name.rsplit_once('.')?;
        if self.env.resolve(owner, false).is_some() || self.env.phase_of(owner).is_some() {
            return None;
        }
        let parts = || self.env.variable_names().filter_map(|known| known.strip_prefix(owner)?.strip_prefix('.'));
        parts().next()?;
        if parts().any(|part| part.split_once('.').is_some_and(|(first, _)| first == &*field.text)) {
            return None;
        }
        let elsewhere = self.env.slot(&field.text).map(|_| format!("write `{}`", field.text));
        let hint = did_you_mean(&field.text, parts()).or(elsewhere);
        self.report_with(Code::MissingField, field.span, format!("`{owner}` has no field `{}`", field.text), hint);
        self.resolve(id, Resolved::Unbound);
        Some(Type::Dyn)
    }

    /// Notes the first field of a variable for the list of references.
    fn note_field(&mut self, operand: Id, field: &str) {
        let span = self.ast.span(operand);
        if let Some(last) = self.out.references.last_mut().filter(|last| last.span == span && last.field.is_none()) {
            last.field = Some(field.into());
        }
    }

    pub(super) fn has(&mut self, operand: Id, field: &Name) -> Type {
        let ty = self.visit(operand);
        self.note_field(operand, &field.text);
        self.field_type(&ty, field, None);
        Type::Bool
    }

    /// The type of a field; `read` is what it is read of, if it matters that it may be absent.
    pub(super) fn field_type(&mut self, ty: &Type, field: &Name, read: Option<Id>) -> Type {
        let name = &*field.text;
        match ty.base() {
            Type::Dyn | Type::Param(_) => Type::Dyn,
            Type::Object(object) => match object.get(name) {
                Some(found) => {
                    if let (false, Some(owner)) = (found.required, read) {
                        let message = format!("`{name}` may be absent");
                        let hint = asking_first(self.written(owner).as_deref(), name);
                        self.report_with(Code::AbsentField, field.span, message, Some(hint));
                    }
                    found.ty.clone()
                }
                None if object.open => Type::Dyn,
                None => {
                    let hint = did_you_mean(name, object.fields.iter().map(|(name, _)| &**name));
                    self.report_with(Code::MissingField, field.span, format!("there is no field `{name}`"), hint);
                    Type::Dyn
                }
            },
            Type::Map(entry) if entry.0.fits(&Type::String) => entry.1.clone(),
            Type::Optional(inner) => {
                let found = self.field_type(inner, field, None);
                if matches!(found, Type::Optional(_)) {
                    return found;
                }
                Type::optional(found)
            }
            Type::Union(members) => {
                let has_fields = |member: &&Type| match member.base() {
                    Type::Object(object) => object.open || object.get(name).is_some(),
                    Type::Map(_) | Type::Optional(_) => true,
                    _ => false,
                };
                let able: Vec<&Type> = members.iter().filter(has_fields).collect();
                match able.as_slice() {
                    [] => {
                        let member = members.iter().find(|member| matches!(member.base(), Type::Object(_)));
                        match member {
                            Some(member) => self.field_type(member, field, read),
                            None => self.no_fields(ty, field),
                        }
                    }
                    [one] => self.field_type(one, field, read),
                    many => {
                        let before = self.out.faults.len();
                        let types: Vec<Type> = many.iter().map(|member| self.field_type(member, field, read)).collect();
                        self.note_required_elsewhere(before, many, field, read);
                        Type::union(types)
                    }
                }
            }
            _ => self.no_fields(ty, field),
        }
    }

    /// Adds to what was found since `before` that some of what a value can be requires the field.
    fn note_required_elsewhere(&mut self, before: usize, members: &[&Type], field: &Name, read: Option<Id>) {
        let requires = |member: &&Type| match member.base() {
            Type::Object(object) => object.get(&field.text).is_some_and(|found| found.required),
            _ => false,
        };
        let owner = read.and_then(|owner| self.written(owner)).filter(|_| members.iter().any(requires));
        let Some(owner) = owner else { return };
        for fault in self.out.faults.iter_mut().skip(before).filter(|fault| fault.code == Code::AbsentField) {
            if let Some(hint) = &mut fault.hint {
                *hint = format!("not all that `{owner}` can be requires it: {hint}");
            }
        }
    }

    fn no_fields(&mut self, ty: &Type, field: &Name) -> Type {
        let member = functions::builtin(&field.text).filter(|found| functions::has_style(&found.overloads, true));
        let hint = member.map(|_| format!("a call needs brackets, `{}()`", field.text));
        let message = format!("{} has no field `{}`", with_article(ty), field.text);
        self.report_with(Code::MissingOverload, field.span, message, hint);
        Type::Dyn
    }

    pub(super) fn index(&mut self, id: Id, operand: Id, index: Id, optional: bool) -> Type {
        let ty = self.visit(operand);
        let index_ty = self.visit(index);
        let key = match self.ast.expr(index) {
            Expr::Literal(Literal::Str(text)) => Some(Name { text: text.clone(), span: self.ast.span(index) }),
            _ => None,
        };
        if let Some(key) = &key {
            self.note_field(operand, &key.text);
        }
        let known = optional || self.path(id).is_some_and(|path| self.is_present(&path));
        let read = (!known).then_some(operand);
        let found = self.element_type(id, &ty, (index, &index_ty), key.as_ref(), read);
        if optional && !matches!(found, Type::Optional(_)) {
            return Type::optional(found);
        }
        found
    }

    fn element_type(&mut self, id: Id, ty: &Type, index: (Id, &Type), key: Option<&Name>, read: Option<Id>) -> Type {
        match ty.base() {
            Type::Dyn | Type::Param(_) => Type::Dyn,
            Type::List(element) => {
                if !index.1.is_dyn() && !index.1.members().iter().any(|ty| ty.is_dyn() || ty.is_numeric()) {
                    let message = format!("a list is indexed by an int, not by {}", with_article(index.1));
                    self.report(Code::MissingOverload, self.ast.span(index.0), message, None);
                }
                (**element).clone()
            }
            Type::Map(entry) => {
                let numeric = index.1.is_numeric() && entry.0.is_numeric();
                if !numeric && !index.1.fits(&entry.0) {
                    let message = format!("the keys are of type {}, not {}", entry.0, index.1);
                    self.report(Code::MissingOverload, self.ast.span(index.0), message, None);
                }
                entry.1.clone()
            }
            Type::Object(_) => match key {
                Some(key) => self.field_type(ty, key, read),
                None => {
                    if !index.1.fits(&Type::String) {
                        let message = format!("the keys of an object are strings, not {}", with_article(index.1));
                        self.report(Code::MissingOverload, self.ast.span(index.0), message, None);
                    }
                    Type::Dyn
                }
            },
            Type::Optional(inner) => {
                let found = self.element_type(id, inner, index, key, None);
                if matches!(found, Type::Optional(_)) {
                    return found;
                }
                Type::optional(found)
            }
            Type::Union(members) => {
                let able = |member: &&Type| {
                    matches!(member.base(), Type::List(_) | Type::Map(_) | Type::Object(_) | Type::Optional(_))
                };
                let able: Vec<&Type> = members.iter().filter(able).collect();
                match able.as_slice() {
                    [] => self.no_elements(id, ty),
                    [one] => self.element_type(id, one, index, key, read),
                    _ => Type::Dyn,
                }
            }
            _ => self.no_elements(id, ty),
        }
    }

    fn no_elements(&mut self, id: Id, ty: &Type) -> Type {
        let message = format!("{} cannot be indexed", with_article(ty));
        let hint = matches!(ty.base(), Type::String).then_some("a character is `x.charAt(n)`");
        self.report(Code::MissingOverload, self.ast.span(id), message, hint);
        Type::Dyn
    }

    pub(super) fn list(&mut self, elements: &[Element]) -> Type {
        let mut common: Option<Type> = None;
        for element in elements {
            let mut ty = self.visit(element.value);
            if element.optional {
                ty = self.unwrapped(element.value, ty);
            }
            common = Some(match common {
                Some(common) => common.join(&ty),
                None => ty,
            });
        }
        Type::list(common.unwrap_or(Type::Dyn))
    }

    pub(super) fn map(&mut self, entries: &[Entry]) -> Type {
        let mut common: Option<(Type, Type)> = None;
        for entry in entries {
            let key = self.visit(entry.key);
            let able = |ty: &Type| {
                matches!(ty.base(), Type::Bool | Type::Int | Type::Uint | Type::String | Type::Number) || ty.is_dyn()
            };
            if !key.members().iter().any(able) {
                let message = format!("{} cannot be the key of a map", with_article(&key));
                let hint = Some("keys are strings, ints, uints or bools");
                self.report(Code::MissingOverload, self.ast.span(entry.key), message, hint);
            }
            let mut value = self.visit(entry.value);
            if entry.optional {
                value = self.unwrapped(entry.value, value);
            }
            common = Some(match common {
                Some((keys, values)) => (keys.join(&key), values.join(&value)),
                None => (key, value),
            });
        }
        let (key, value) = common.unwrap_or((Type::Dyn, Type::Dyn));
        Type::map(key, value)
    }

    /// The type inside an optional that stands behind `?` in a list or map.
    fn unwrapped(&mut self, id: Id, ty: Type) -> Type {
        match ty.base() {
            Type::Optional(inner) => (**inner).clone(),
            Type::Dyn | Type::Param(_) => Type::Dyn,
            _ => {
                let message = format!("`?` needs an optional here, found {}", with_article(&ty));
                self.report(Code::MissingOverload, self.ast.span(id), message, Some("write it without `?`"));
                ty
            }
        }
    }
}
