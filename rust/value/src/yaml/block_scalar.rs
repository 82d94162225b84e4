//! Literal and folded block scalars, whose indentation is that of their first line.
use super::{is_done, Reader};
use crate::{Text, Value};

/// What happens to the line breaks at the end of a block scalar.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Chomping {
    Strip,
    Clip,
    Keep,
}

impl Reader<'_> {
    /// The text below a `|` or `>`, from what stands behind that sign on. It belongs to a key or item in the column
    /// `parent`.
    pub(super) fn block_scalar(&mut self, header: &str, parent: usize, folded: bool) -> Option<Value> {
        let (chomping, rest) = match header.chars().next() {
            Some('-') => (Chomping::Strip, header.get(1..)?),
            Some('+') => (Chomping::Keep, header.get(1..)?),
            _ => (Chomping::Clip, header),
        };
        if !is_done(rest) {
            return None;
        }
        self.at += 1;
        let lines = self.lines.get(self.at..)?;
        let first = lines.iter().find(|line| !is_blank(line))?;
        let indent = blanks(first);
        if indent <= parent {
            return None; // an empty text
        }
        let mut text = String::new();
        let mut breaks = 0; // of the last line with content, and of the empty ones since
        let mut was_deeper = true;
        let mut length = 0;
        for line in lines {
            if is_blank(line) && line.len() <= indent {
                breaks += 1;
            } else if is_blank(line) || blanks(line) < indent {
                break;
            } else {
                let content = line.get(indent..)?;
                let is_deeper = content.starts_with(' ');
                let folds = folded && !was_deeper && !is_deeper && !text.is_empty();
                match breaks {
                    1 if folds => text.push(' '),
                    _ => text.extend(std::iter::repeat_n('\n', if folds { breaks - 1 } else { breaks })),
                }
                text.push_str(content);
                (breaks, was_deeper) = (1, is_deeper);
            }
            length += 1;
        }
        // what ends it has to be a line with content: blanks that go beyond the indentation are a part of it
        if lines.get(length).map_or(self.is_cut, |line| is_blank(line)) {
            return None;
        }
        self.at += length;
        let kept = match chomping {
            Chomping::Strip => 0,
            Chomping::Clip => 1,
            Chomping::Keep => breaks,
        };
        text.extend(std::iter::repeat_n('\n', kept));
        Some(Value::Str(Text::from(text)))
    }
}

fn blanks(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

fn is_blank(line: &str) -> bool {
    blanks(line) == line.len()
}
