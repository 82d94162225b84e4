//! Flow maps and lists: `{a: 1, b: [2, 3]}`, over as many lines as they take.
use super::scalar::{ends_key, plain, quoted, start_of_plain};
use super::Reader;
use crate::{Map, Text, Value};

impl Reader<'_> {
    /// The map or list that begins in a column of the line that is read; the column moves behind it. Its further lines
    /// stand to the right of the column `parent`.
    pub(super) fn flow(&mut self, column: &mut usize, parent: usize, depth: usize) -> Option<Value> {
        let depth = depth.checked_sub(1)?;
        self.count(1)?;
        let is_map = self.rest(*column)?.starts_with('{');
        let end = if is_map { '}' } else { ']' };
        let (mut items, mut entries) = (Vec::new(), Vec::new());
        *column += 1;
        loop {
            if self.flow_next(column, parent)? == end {
                break;
            }
            if is_map {
                let key = self.flow_key(column)?;
                entries.push((key, self.flow_value(column, parent, depth)?));
            } else {
                items.push(self.flow_value(column, parent, depth)?);
            }
            match self.flow_next(column, parent)? {
                ',' => *column += 1,
                char if char == end => break,
                _ => return None,
            }
        }
        *column += 1;
        Some(if is_map { Value::Map(Map::new(entries).ok()?) } else { Value::List(items) })
    }

    /// The next character, blanks, comments and ends of lines passed over.
    fn flow_next(&mut self, column: &mut usize, parent: usize) -> Option<char> {
        let first = self.at;
        loop {
            let rest = self.rest(*column)?;
            let text = rest.trim_start_matches(' ');
            let here = *column + rest.len() - text.len();
            match text.chars().next() {
                Some('#') if here > 0 && text.len() == rest.len() => return None, // no blank before it
                None | Some('#') => (self.at, *column) = (self.at + 1, 0),
                Some(_) if self.at > first && here <= parent => return None,
                Some(char) => {
                    *column = here;
                    return Some(char);
                }
            }
        }
    }

    fn flow_value(&mut self, column: &mut usize, parent: usize, depth: usize) -> Option<Value> {
        let start = self.flow_next(column, parent)?;
        let text = self.rest(*column)?;
        let (value, length) = match start {
            '[' | '{' => return self.flow(column, parent, depth),
            '*' => {
                let (value, length) = self.alias(text.get(1..)?, depth)?;
                *column += 1 + length;
                let is_over = self.rest(*column)?.chars().next().is_none_or(|char| " ,]}".contains(char));
                return is_over.then_some(value);
            }
            '"' | '\'' => {
                let (value, length) = quoted(text)?;
                (Value::Str(value), length)
            }
            _ => {
                let written = flow_plain(text)?;
                (plain(written)?, written.len())
            }
        };
        self.count(1)?;
        *column += length;
        Some(value)
    }

    /// A key with its colon.
    fn flow_key(&mut self, column: &mut usize) -> Option<Text> {
        let text = self.rest(*column)?;
        let (key, length) = if text.starts_with(['"', '\'']) {
            quoted(text)?
        } else {
            let written = flow_plain(text)?;
            match plain(written)? {
                Value::Str(key) if written != "<<" => (key, written.len()),
                _ => return None,
            }
        };
        if length > self.key_length || !ends_key(text.get(length..)?) {
            return None;
        }
        self.count(1)?;
        *column += length + 1;
        Some(key)
    }
}

/// The plain scalar with which a text begins inside of brackets.
fn flow_plain(text: &str) -> Option<&str> {
    let mut before = '[';
    let mut chars = text.char_indices().peekable();
    let mut end = text.len();
    while let Some((at, char)) = chars.next() {
        let next = chars.peek().map(|(_, next)| *next);
        let is_over = match char {
            ',' | '[' | ']' | '{' | '}' => true,
            '#' => before == ' ',
            '?' => return None, // not the same in all versions of libyaml
            ':' if next.is_some_and(|next| ",?[]{}".contains(next)) => return None,
            ':' => next.is_none_or(|next| next == ' '),
            _ => false,
        };
        if is_over {
            end = at;
            break;
        }
        before = char;
    }
    let written = text.get(..end)?.trim_end_matches(' ');
    start_of_plain(written).then_some(written)
}
