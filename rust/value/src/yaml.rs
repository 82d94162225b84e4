//! Plain YAML: the part that files of policies are written in nearly always, read fast, or not at all.
//!
//! Plain are block maps and lists, flow maps and lists, scalars that stand on one line, block scalars without an
//! indentation of their own, comments, anchors and aliases, documents divided by `---`. Whatever is not plain makes this
//! reader give up: a fault of any kind, tabs, tags, texts over several lines, anything that parsers disagree on. The
//! careful reader, in Python over PyYAML, then reads the text anew; it is the one that knows faults and places.
//!
//! So the only thing that this reader has to be right about is what it does not give up on: of that it makes the same
//! values. Names and rules are those of YAML 1.2.2 as libyaml reads it.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
mod block;
mod block_scalar;
mod flow;
mod scalar;

use std::collections::HashMap;

use crate::{Text, Value};

/// Bytes of a text that count like a value where it is copied.
const TEXT_AS_A_VALUE: usize = 100;

/// How much a text may hold; more is left to the careful reader, which says so.
#[derive(Clone, Copy, Debug)]
pub struct YamlLimits {
    /// Maps and lists, one inside the other.
    pub depth: usize,
    /// Values and keys, with aliases expanded; what has a name counts twice.
    pub nodes: usize,
    /// Bytes of a key.
    pub key_length: usize,
}

/// The documents of a text, or None where something in it is not plain.
///
/// ```
/// use callgate_value::{read_yaml, to_json, YamlLimits};
/// let limits = YamlLimits { depth: 64, nodes: 100_000, key_length: 1_000 };
/// let documents = read_yaml("on: [no, 0.5] # two\n---\n- 010\n", limits).unwrap();
/// assert_eq!(documents.iter().map(to_json).collect::<Vec<_>>(), [r#"{"on":["no",0.5]}"#, "[10]"]);
/// assert!(read_yaml("a: 1\na: 2\n", limits).is_none());
/// ```
#[must_use]
pub fn read_yaml(text: &str, limits: YamlLimits) -> Option<Vec<Value>> {
    if text.chars().any(is_odd) {
        return None;
    }
    let mut reader = Reader {
        lines: text.split_terminator('\n').collect(),
        is_cut: !text.ends_with('\n'),
        at: 0,
        left: limits.nodes,
        key_length: limits.key_length,
        anchors: HashMap::new(),
    };
    reader.documents(limits.depth)
}

/// Characters that YAML refuses, that 1.1 and 1.2 take for different things, or that ask for care.
fn is_odd(char: char) -> bool {
    match char {
        '\n' | ' '..='~' => false,
        '\u{a0}'.. => matches!(char, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'),
        _ => true,
    }
}

/// What comes next, blank lines and comments passed over.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    /// A line that begins in this column.
    Column(usize),
    /// The line that divides two documents.
    Marker,
    End,
}

struct Reader<'a> {
    lines: Vec<&'a str>,
    /// Whether the last line has no end.
    is_cut: bool,
    /// The line that is read, from 0.
    at: usize,
    /// Values and keys that may still come.
    left: usize,
    key_length: usize,
    anchors: HashMap<&'a str, Value>,
}

impl<'a> Reader<'a> {
    fn documents(&mut self, depth: usize) -> Option<Vec<Value>> {
        let mut documents = Vec::new();
        loop {
            match self.next()? {
                Next::End => break,
                Next::Marker => {
                    if !is_done(self.line()?.get(3..)?) {
                        return None;
                    }
                    self.at += 1;
                    if self.next()? != Next::Column(0) {
                        return None; // an empty document, or one that begins further right
                    }
                }
                Next::Column(_) => {}
            }
            self.anchors.clear();
            // at the margin nothing but a marker or the end can follow a block
            documents.push(self.block(0, depth)?);
        }
        if documents.is_empty() {
            return None;
        }
        Some(documents)
    }

    /// Passes over blank lines and comments.
    fn next(&mut self) -> Option<Next> {
        while let Some(line) = self.lines.get(self.at) {
            let text = line.trim_start_matches(' ');
            if !text.is_empty() && !text.starts_with('#') {
                return match line.len() - text.len() {
                    0 if is_marker(line, "---") => Some(Next::Marker),
                    0 if is_marker(line, "...") => None,
                    column => Some(Next::Column(column)),
                };
            }
            self.at += 1;
        }
        Some(Next::End)
    }

    fn line(&self) -> Option<&'a str> {
        self.lines.get(self.at).copied()
    }

    /// The line from a column on; columns count bytes.
    fn rest(&self, column: usize) -> Option<&'a str> {
        self.line()?.get(column..)
    }

    /// Takes so many values from what the text may hold.
    fn count(&mut self, nodes: usize) -> Option<()> {
        self.left = self.left.checked_sub(nodes)?;
        Some(())
    }

    /// The value that an alias stands for, and the length of its name.
    fn alias(&mut self, text: &'a str, depth: usize) -> Option<(Value, usize)> {
        let name = name_of(text)?;
        let value = self.anchors.get(name)?;
        if height(value) > depth {
            return None;
        }
        let value = value.clone();
        self.count(size(&value))?;
        Some((value, name.len()))
    }
}

/// Whether a line says what divides documents.
fn is_marker(line: &str, marker: &str) -> bool {
    line.strip_prefix(marker).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

/// Whether nothing is left of a line but blanks and a comment.
fn is_done(rest: &str) -> bool {
    let text = rest.trim_start_matches(' ');
    text.is_empty() || (text.starts_with('#') && text.len() < rest.len())
}

/// The name of an anchor or alias at the beginning of a text.
fn name_of(text: &str) -> Option<&str> {
    let end = text.find(|char: char| !char.is_ascii_alphanumeric() && char != '_' && char != '-');
    text.get(..end.unwrap_or(text.len())).filter(|name| !name.is_empty())
}

/// What a copy of a value takes from the values that may still come: its values and keys, itself included, and more for
/// long texts, or aliases of one would take memory without end.
fn size(value: &Value) -> usize {
    let text = |text: &Text| 1 + text.as_bytes().len() / TEXT_AS_A_VALUE;
    match value {
        Value::List(items) => 1 + items.iter().map(size).sum::<usize>(),
        Value::Map(map) => 1 + map.iter().map(|(key, value)| text(key) + size(value)).sum::<usize>(),
        Value::Str(own) => text(own),
        _ => 1,
    }
}

/// Maps and lists, one inside the other.
fn height(value: &Value) -> usize {
    match value {
        Value::List(items) => 1 + items.iter().map(height).max().unwrap_or(0),
        Value::Map(map) => 1 + map.iter().map(|(_, value)| height(value)).max().unwrap_or(0),
        _ => 0,
    }
}
