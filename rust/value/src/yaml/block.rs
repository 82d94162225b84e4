//! Block maps and lists: what the columns of lines hold together.
use super::scalar::{ends_key, plain, quoted, start_of_plain};
use super::{is_done, name_of, size, Next, Reader};
use crate::{Map, Text, Value};

impl<'a> Reader<'a> {
    /// The map or list that begins in a column of the line that is read.
    pub(super) fn block(&mut self, column: usize, depth: usize) -> Option<Value> {
        if is_item(self.rest(column)?) {
            self.block_list(column, false, depth)
        } else {
            self.block_map(column, depth)
        }
    }

    fn block_map(&mut self, column: usize, depth: usize) -> Option<Value> {
        let depth = depth.checked_sub(1)?;
        self.count(1)?;
        let mut entries = Vec::new();
        loop {
            let (key, length) = key(self.rest(column)?, self.key_length)?;
            self.count(1)?;
            entries.push((key, self.value(column, column + length + 1, true, depth)?));
            if !self.goes_on(column)? {
                return Some(Value::Map(Map::new(entries).ok()?));
            }
        }
    }

    /// A list, `indentless` where its items stand in the column of the key that it belongs to.
    fn block_list(&mut self, column: usize, indentless: bool, depth: usize) -> Option<Value> {
        let depth = depth.checked_sub(1)?;
        self.count(1)?;
        let mut items = Vec::new();
        loop {
            let rest = self.rest(column + 1)?;
            let text = rest.trim_start_matches(' ');
            let inner = column + 1 + rest.len() - text.len();
            items.push(if is_done(rest) {
                self.value(column, column + 1, false, depth)?
            } else if is_item(text) {
                self.block_list(inner, false, depth)?
            } else if key(text, self.key_length).is_some() {
                self.block_map(inner, depth)?
            } else {
                self.value(column, inner, false, depth)?
            });
            if !self.goes_on(column)? {
                return Some(Value::List(items));
            }
            if !is_item(self.rest(column)?) {
                return indentless.then_some(Value::List(items));
            }
        }
    }

    /// Whether the block that stands in a column has a further line. One that begins further right would be a part of
    /// what was read before it, or a fault.
    fn goes_on(&mut self, column: usize) -> Option<bool> {
        match self.next()? {
            Next::Column(next) if next > column => None,
            next => Some(next == Next::Column(column)),
        }
    }

    /// The value of a key or item in the column `parent`, from a column of this line on or on lines below.
    fn value(&mut self, parent: usize, column: usize, of_key: bool, depth: usize) -> Option<Value> {
        let rest = self.rest(column)?;
        if is_done(rest) {
            self.at += 1;
            return self.below(parent, of_key, depth);
        }
        let text = rest.trim_start_matches(' ');
        let column = column + rest.len() - text.len();
        let (start, behind) = (text.chars().next()?, text.get(1..));
        let value = match start {
            '&' => return self.anchored(parent, column + 1, of_key, depth),
            '|' | '>' => {
                self.count(1)?;
                return self.block_scalar(behind?, parent, start == '>');
            }
            '[' | '{' => {
                let mut column = column;
                let value = self.flow(&mut column, parent, depth)?;
                self.end_of_line(column)?;
                return Some(value);
            }
            '*' => {
                let (value, length) = self.alias(behind?, depth)?;
                self.end_of_line(column + 1 + length)?;
                return Some(value);
            }
            '"' | '\'' => {
                let (value, length) = quoted(text)?;
                self.end_of_line(column + length)?;
                Value::Str(value)
            }
            _ => {
                let text =
                    text.find(" #").map_or(text, |end| text.get(..end).unwrap_or_default()).trim_end_matches(' ');
                if !start_of_plain(text) || text.ends_with(':') || text.contains(": ") {
                    return None;
                }
                self.at += 1;
                plain(text)?
            }
        };
        self.count(1)?;
        Some(value)
    }

    /// What lines below say of a key or item in the column `parent`.
    fn below(&mut self, parent: usize, of_key: bool, depth: usize) -> Option<Value> {
        match self.next()? {
            Next::Column(column) if column > parent => self.block(column, depth),
            Next::Column(column) if column == parent && of_key && is_item(self.rest(column)?) => {
                self.block_list(column, true, depth)
            }
            _ => {
                self.count(1)?;
                Some(Value::Null)
            }
        }
    }

    /// A value with a name, from the column of the name on.
    fn anchored(&mut self, parent: usize, column: usize, of_key: bool, depth: usize) -> Option<Value> {
        let name = name_of(self.rest(column)?)?;
        let column = column + name.len();
        let rest = self.rest(column)?;
        let text = rest.trim_start_matches(' ');
        let value = if is_done(rest) {
            self.at += 1;
            match self.next()? {
                Next::Column(column) if column > parent => self.block(column, depth)?,
                _ => return None,
            }
        } else if !rest.starts_with(' ') || text.starts_with(['&', '*']) || key(text, self.key_length).is_some() {
            return None; // the name would be that of a key
        } else {
            self.value(parent, column, of_key, depth)?
        };
        // it is kept twice, and what has a name may stand inside of what has another
        self.count(size(&value))?;
        // a name that is given again, or stands inside of what it names, is left to the careful reader
        self.anchors.insert(name, value.clone()).is_none().then_some(value)
    }

    /// Leaves the line that is read, behind which there is nothing but a comment.
    fn end_of_line(&mut self, column: usize) -> Option<()> {
        if !is_done(self.rest(column)?) {
            return None;
        }
        self.at += 1;
        Some(())
    }
}

/// Whether a text begins with an item of a list.
fn is_item(text: &str) -> bool {
    text.strip_prefix('-').is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

/// The key with which a text begins, and its length up to the colon.
fn key(text: &str, longest: usize) -> Option<(Text, usize)> {
    let (key, length) = if text.starts_with(['"', '\'']) {
        quoted(text)?
    } else {
        let end = text.match_indices(':').map(|(at, _)| at).find(|at| text.get(*at..).is_some_and(ends_key))?;
        let written = text.get(..end)?;
        if !start_of_plain(written) || written.ends_with(' ') || written.contains(" #") || written == "<<" {
            return None;
        }
        let Value::Str(key) = plain(written)? else { return None };
        (key, end)
    };
    (length <= longest && text.get(length..).is_some_and(ends_key)).then_some((key, length))
}
