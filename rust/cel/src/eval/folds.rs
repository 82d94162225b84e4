//! Comprehensions: each goes over a list or a map and makes a bool, a list or a map of it.
use super::{key_of, no_overload, Machine, Out, Watch};
use crate::ast::{Fold, Id};
use crate::compile::FoldNode;
use crate::entries::{Entries, Key};
use crate::error::{ErrorKind, EvalError, Fault};
use crate::library::lists::sort_by_keys;
use crate::val::{List, Map, Str, Val};
use callgate_value::Text;
use std::sync::Arc;

/// What a comprehension goes over.
enum Range<'a> {
    List(List<'a>),
    Entries(Vec<(Val<'a>, Val<'a>)>),
}

impl<'a> Range<'a> {
    fn len(&self) -> usize {
        match self {
            Self::List(list) => list.len(),
            Self::Entries(entries) => entries.len(),
        }
    }
}

/// The key of a map from the data.
pub(super) fn text_key(key: &Text) -> Result<Val<'_>, Fault> {
    match key {
        Text::Utf8(text) => Ok(Val::Str(Str::Borrowed(text))),
        Text::Surrogates(_) => {
            Err(EvalError::fault(ErrorKind::NotUnicode, "a key has lone surrogates, it is no valid Unicode"))
        }
    }
}

impl<'a, W: Watch> Machine<'a, '_, W> {
    fn range(&mut self, id: Id) -> Result<Range<'a>, Fault> {
        let value = self.eval(id)?;
        let map = match value {
            Val::List(list) => return Ok(Range::List(list)),
            Val::Map(map) => map,
            other => return Err(no_overload("a comprehension", &[&other])),
        };
        self.fuel.burn(map.len() as u64)?;
        self.fuel.allocate(map.len().saturating_mul(size_of::<(Val, Val)>()))?;
        Ok(Range::Entries(match &map {
            Map::Json(map) => {
                map.iter().map(|(key, value)| Ok((text_key(key)?, Val::from(value)))).collect::<Result<_, Fault>>()?
            }
            Map::Owned(entries) => entries.iter().map(|(key, value)| (key.to_val(), value.clone())).collect(),
        }))
    }

    #[inline(never)]
    pub(super) fn fold(&mut self, node: &FoldNode) -> Out<'a> {
        let range = self.range(node.range)?;
        match node.fold {
            Fold::All => self.quantify(node, &range, false),
            Fold::Exists => self.quantify(node, &range, true),
            Fold::ExistsOne => self.exists_one(node, &range),
            Fold::Map => self.list_of(node, &range, false),
            Fold::Filter => self.list_of(node, &range, true),
            Fold::TransformMap | Fold::TransformMapEntry => self.map_of(node, &range),
            Fold::SortBy => self.sort_by(node, &range),
        }
    }

    /// Binds the element at `at` and evaluates `id`.
    fn with(&mut self, node: &FoldNode, range: &Range<'a>, at: usize, id: Id) -> Out<'a> {
        self.fuel.burn(1)?;
        let outer = self.locals.len();
        match (range, node.two) {
            (Range::List(list), two) => {
                if two {
                    self.locals.push(Val::Int(i64::try_from(at).unwrap_or(i64::MAX)));
                }
                self.locals.extend(list.get(at));
            }
            (Range::Entries(entries), two) => {
                if let Some((key, value)) = entries.get(at) {
                    self.locals.push(key.clone());
                    if two {
                        self.locals.push(value.clone());
                    }
                }
            }
        }
        let out = self.eval(id);
        self.locals.truncate(outer);
        out
    }

    fn condition(&mut self, node: &FoldNode, range: &Range<'a>, at: usize, id: Id) -> Result<bool, Fault> {
        match self.with(node, range, at, id)? {
            Val::Bool(value) => Ok(value),
            other => Err(no_overload("a condition", &[&other])),
        }
    }

    /// `exists` if `decisive` is true, else `all`.
    fn quantify(&mut self, node: &FoldNode, range: &Range<'a>, decisive: bool) -> Out<'a> {
        let mut failed: Option<Fault> = None;
        for at in 0..range.len() {
            match self.condition(node, range, at, node.body) {
                Ok(value) if value == decisive => return Ok(Val::Bool(decisive)),
                Ok(_) => {}
                Err(fault) if fault.kind.is_limit() => return Err(fault),
                Err(fault) => failed = failed.or(Some(fault)),
            }
        }
        match failed {
            Some(fault) => Err(fault),
            None => Ok(Val::Bool(!decisive)),
        }
    }

    fn exists_one(&mut self, node: &FoldNode, range: &Range<'a>) -> Out<'a> {
        let mut found = 0_usize;
        for at in 0..range.len() {
            if self.condition(node, range, at, node.body)? {
                found = found.saturating_add(1);
            }
        }
        Ok(Val::Bool(found == 1))
    }

    /// `map` with or without a filter, or `filter` if `elements` are kept themselves.
    fn list_of(&mut self, node: &FoldNode, range: &Range<'a>, elements: bool) -> Out<'a> {
        let mut values = Vec::new();
        for at in 0..range.len() {
            let value = if elements {
                if !self.condition(node, range, at, node.body)? {
                    continue;
                }
                match range {
                    Range::List(list) => list.get(at),
                    Range::Entries(entries) => entries.get(at).map(|(key, _)| key.clone()),
                }
            } else {
                if self.skipped(node, range, at)? {
                    continue;
                }
                Some(self.with(node, range, at, node.body)?)
            };
            self.fuel.allocate(size_of::<Val>())?;
            values.extend(value);
        }
        Ok(Val::List(List::owned(values)))
    }

    fn skipped(&mut self, node: &FoldNode, range: &Range<'a>, at: usize) -> Result<bool, Fault> {
        match node.filter {
            Some(filter) => Ok(!self.condition(node, range, at, filter)?),
            None => Ok(false),
        }
    }

    fn map_of(&mut self, node: &FoldNode, range: &Range<'a>) -> Out<'a> {
        let mut entries: Vec<(Key<'a>, Val<'a>)> = Vec::new();
        for at in 0..range.len() {
            if self.skipped(node, range, at)? {
                continue;
            }
            let value = self.with(node, range, at, node.body)?;
            self.fuel.allocate(size_of::<(Key, Val)>())?;
            if node.fold == Fold::TransformMap {
                let key = match range {
                    Range::List(_) => Val::Int(i64::try_from(at).unwrap_or(i64::MAX)),
                    Range::Entries(all) => all.get(at).map_or(Val::Null, |(key, _)| key.clone()),
                };
                entries.push((key_of(&key)?, value));
                continue;
            }
            match &value {
                Val::Map(Map::Owned(map)) => {
                    self.fuel.burn(map.len() as u64)?;
                    self.fuel.allocate(map.len().saturating_mul(size_of::<(Key, Val)>()))?;
                    entries.extend(map.iter().cloned());
                }
                Val::Map(Map::Json(map)) => {
                    self.fuel.burn(map.len() as u64)?;
                    self.fuel.allocate(map.len().saturating_mul(size_of::<(Key, Val)>()))?;
                    for (key, value) in map.iter() {
                        entries.push((key_of(&text_key(key)?)?, Val::from(value)));
                    }
                }
                other => return Err(no_overload("transformMapEntry", &[other])),
            }
        }
        Ok(Val::Map(Map::Owned(Arc::new(Entries::new(entries)?))))
    }

    fn sort_by(&mut self, node: &FoldNode, range: &Range<'a>) -> Out<'a> {
        let Range::List(list) = range else {
            return Err(EvalError::fault(ErrorKind::NoSuchOverload, "`sortBy` needs a list"));
        };
        self.fuel.allocate(list.len().saturating_mul(size_of::<(Val, Val)>()))?;
        let mut keyed = Vec::with_capacity(list.len());
        for (at, value) in list.iter().enumerate() {
            keyed.push((self.with(node, range, at, node.body)?, value));
        }
        sort_by_keys(keyed, self.fuel)
    }
}
