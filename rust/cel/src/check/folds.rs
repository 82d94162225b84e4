//! Comprehensions and `optMap`.
use super::{with_article, Checker};
use crate::ast::{Comprehension, Fold, Id, Name};
use crate::types::Object;
use crate::{Code, Type};

impl Checker<'_> {
    pub(super) fn comprehension(&mut self, fold: &Comprehension) -> Type {
        let range = self.visit(fold.range);
        let (key, value, list) = self.range_types(fold.range, &range);
        let names: Vec<(&Name, Type)> = match &fold.second {
            Some(second) => vec![(&fold.first, key.clone()), (second, value.clone())],
            None => vec![(&fold.first, if list { value.clone() } else { key.clone() })],
        };
        let number = self.scopes.len().saturating_add(names.len()).saturating_sub(1);
        let (body, kept) = self.scoped(&names, |checker| {
            if let Some(filter) = fold.filter {
                let ty = checker.visit(filter);
                checker.needs_bool(filter, &ty);
            }
            let known = fold.filter.map(|filter| checker.if_true(filter)).unwrap_or_default();
            let body = checker.knowing(known, |checker| checker.visit(fold.body));
            let kept = if fold.fold == Fold::Filter { checker.if_true(fold.body) } else { Vec::new() };
            (body, kept)
        });
        match fold.fold {
            Fold::All | Fold::Exists | Fold::ExistsOne => {
                self.needs_bool(fold.body, &body);
                Type::Bool
            }
            Fold::Filter => {
                self.needs_bool(fold.body, &body);
                Type::list(narrowed(if list { &value } else { &key }, number, &kept))
            }
            Fold::Map => Type::list(body),
            Fold::SortBy => range.base().clone(),
            Fold::TransformMap => Type::map(if list { Type::Int } else { key }, body),
            Fold::TransformMapEntry => match body.base() {
                Type::Map(_) => body.base().clone(),
                ty if ty.fits(&Type::map(Type::Dyn, Type::Dyn)) => Type::map(Type::Dyn, Type::Dyn),
                _ => {
                    let message = format!("`transformMapEntry` needs a map, found {}", with_article(&body));
                    let hint = Some("write one entry, `{key: value}`");
                    self.report(Code::MissingOverload, self.ast.span(fold.body), message, hint);
                    Type::map(Type::Dyn, Type::Dyn)
                }
            },
        }
    }

    fn needs_bool(&mut self, id: Id, ty: &Type) {
        if !ty.fits(&Type::Bool) {
            let message = format!("the condition must be a bool, found {}", with_article(ty));
            self.report(Code::MissingOverload, self.ast.span(id), message, None);
        }
    }

    /// Types of index and value, or key and value, and whether it is surely a list.
    fn range_types(&mut self, id: Id, ty: &Type) -> (Type, Type, bool) {
        match ty.base() {
            Type::List(element) => (Type::Int, (**element).clone(), true),
            Type::Map(entry) => (entry.0.clone(), entry.1.clone(), false),
            Type::Object(_) => (Type::String, Type::Dyn, false),
            Type::Dyn | Type::Param(_) => (Type::Dyn, Type::Dyn, false),
            Type::Union(members) => {
                let able = |ty: &&Type| matches!(ty.base(), Type::List(_) | Type::Map(_) | Type::Object(_));
                let able: Vec<&Type> = members.iter().filter(able).collect();
                match able.as_slice() {
                    [] => self.no_range(id, ty),
                    [one] => self.range_types(id, one),
                    _ => (Type::Dyn, Type::Dyn, false),
                }
            }
            _ => self.no_range(id, ty),
        }
    }

    fn no_range(&mut self, id: Id, ty: &Type) -> (Type, Type, bool) {
        let message = format!("a list or a map is needed here, found {}", with_article(ty));
        self.report(Code::MissingOverload, self.ast.span(id), message, None);
        (Type::Dyn, Type::Dyn, false)
    }

    pub(super) fn opt_map(&mut self, target: Id, name: &Name, body: Id, flat: bool) -> Type {
        let ty = self.visit(target);
        let inner = match ty.base() {
            Type::Optional(inner) => (**inner).clone(),
            Type::Dyn | Type::Param(_) | Type::Union(_) => Type::Dyn,
            _ => {
                let message = format!("an optional is needed here, found {}", with_article(&ty));
                let hint = Some("`x.?field` and `x[?key]` give one");
                self.report(Code::MissingOverload, self.ast.span(target), message, hint);
                Type::Dyn
            }
        };
        let found = self.scoped(&[(name, inner)], |checker| checker.visit(body));
        if !flat {
            return Type::optional(found);
        }
        if !found.fits(&Type::optional(Type::Dyn)) {
            let message = format!("`optFlatMap` needs an optional, found {}", with_article(&found));
            self.report(Code::MissingOverload, self.ast.span(body), message, Some("`optMap` takes a plain value"));
        }
        found
    }
}

/// The elements that a filter keeps have the fields that it tested.
fn narrowed(element: &Type, number: usize, kept: &[String]) -> Type {
    let Type::Object(object) = element.base() else { return element.clone() };
    let prefix = format!("#{number}.");
    let tested: Vec<&str> = kept.iter().filter_map(|path| path.strip_prefix(&*prefix)).collect();
    if tested.is_empty() {
        return element.clone();
    }
    let mut fields = object.fields.clone();
    for (name, field) in &mut fields {
        field.required |= tested.contains(&&**name);
    }
    Object { fields, open: object.open }.into()
}
