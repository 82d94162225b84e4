//! Where a tool's keys are written: in its own block, or in that of a tool that it extends.
use callgate_core::compile::{ManifestDocument, Place};
use callgate_core::model::Pointer;
use callgate_value::Value;
use rustc_hash::FxHashMap;

use crate::dead::at;

/// Tools that extend each other, one after the other, at most.
const LONGEST: usize = 64;

/// The tools of some manifests as they are written.
pub(crate) struct Written<'d> {
    tools: FxHashMap<&'d str, (usize, &'d Value)>,
    order: Vec<&'d str>,
}

impl<'d> Written<'d> {
    pub(crate) fn of(manifests: &'d [ManifestDocument]) -> Self {
        let (mut tools, mut order) = (FxHashMap::default(), Vec::new());
        for (position, manifest) in manifests.iter().enumerate() {
            let block = manifest.document.get("spec").and_then(|spec| spec.get("tools")).and_then(Value::as_map);
            for (name, tool) in block.into_iter().flat_map(callgate_value::Map::iter) {
                if let Some(name) = name.as_str() {
                    tools.entry(name).or_insert_with(|| {
                        order.push(name);
                        (position, tool)
                    });
                }
            }
        }
        Self { tools, order }
    }

    /// The tools as they are written, in their order: name, manifest, and what is under the name.
    pub(crate) fn tools(&self) -> Vec<(&'d str, usize, &'d Value)> {
        let found = self.order.iter().filter_map(|name| self.tools.get(name).map(|(at, tool)| (*name, *at, *tool)));
        found.collect()
    }

    /// The tool that writes a key of `name`: itself, or the nearest one that it extends.
    pub(crate) fn writer(&self, name: &'d str, key: &str) -> Option<(&'d str, usize, &'d Value)> {
        self.chain(name).find(|(_, _, tool)| tool.get(key).is_some())
    }

    /// The tool that a mere alias stands for; of any other itself.
    pub(crate) fn meant(&self, name: &'d str) -> &'d str {
        self.chain(name).find(|(_, _, tool)| !is_alias(tool)).map_or(name, |(name, ..)| name)
    }

    fn chain(&self, name: &'d str) -> impl Iterator<Item = (&'d str, usize, &'d Value)> + '_ {
        let mut next = Some(name);
        let steps = std::iter::from_fn(move || {
            let name = next.take()?;
            let (position, tool) = *self.tools.get(name)?;
            next = tool.get("extends").and_then(Value::as_str);
            Some((name, position, tool))
        });
        steps.take(LONGEST)
    }

    /// Where a key of a tool, in one of its forms or in none, is written.
    pub(crate) fn place(&self, name: &'d str, form: Option<usize>, keys: &[&str]) -> Option<(Place, Pointer)> {
        let first = *keys.first()?;
        if let Some(form) = form {
            let (writer, position, tool) = self.writer(name, "forms")?;
            let written = tool.get("forms").and_then(Value::as_list).and_then(|forms| forms.get(form))?;
            if written.get(first).is_some() {
                let pointer = at(&["spec", "tools", writer, "forms"]).index(form);
                return Some((Place::Manifest(position), below(pointer, keys)));
            }
        }
        let (writer, position, _) = self.writer(name, first)?;
        Some((Place::Manifest(position), below(at(&["spec", "tools", writer]), keys)))
    }
}

/// Whether a tool says no more than which one it extends.
fn is_alias(tool: &Value) -> bool {
    let plain = |name: &str| matches!(name, "extends" | "description");
    let keys = || tool.as_map().into_iter().flat_map(callgate_value::Map::iter);
    tool.get("extends").is_some() && keys().all(|(name, _)| name.as_str().is_some_and(plain))
}

/// Keys below a place; one of digits is a position in a list.
fn below(pointer: Pointer, keys: &[&str]) -> Pointer {
    keys.iter().fold(pointer, |pointer, key| match key.parse::<usize>() {
        Ok(position) => pointer.index(position),
        Err(_) => pointer.key(key),
    })
}
