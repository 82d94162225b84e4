//! Text. Positions and lengths are counted in code points; the cost follows the bytes.
use super::Found;
use crate::error::{ErrorKind, EvalError, Fault};
use crate::eval::Out;
use crate::functions::Func;
use crate::val::{List, Str, Val};
use crate::Fuel;
use regex::Regex;

/// `text.matches(regex)`
pub(crate) fn matches<'a>(text: &str, regex: &Regex, fuel: &mut Fuel) -> Out<'a> {
    // searching for a pattern costs more a byte than reading does
    fuel.burn((text.len() as u64) >> 3)?;
    Ok(Val::Bool(regex.is_match(text)))
}

pub(super) fn call<'a>(func: Func, args: &[Val<'a>], fuel: &mut Fuel) -> Found<'a> {
    let found = match (func, args) {
        (Func::Size, [Val::List(list)]) => Val::Int(length(list.len())),
        (Func::Size, [Val::Map(map)]) => Val::Int(length(map.len())),
        (Func::Size, [Val::Bytes(bytes)]) => Val::Int(length(bytes.len())),
        (Func::Size, [Val::Str(text)]) => {
            fuel.read(text.len())?;
            Val::Int(length(text.chars().count()))
        }
        (_, [Val::Str(text), rest @ ..]) => {
            fuel.read(text.len())?;
            return of_text(func, text, rest, fuel);
        }
        (Func::Join, [Val::List(list), rest @ ..]) => return join(list, rest, fuel),
        _ => return Ok(None),
    };
    Ok(Some(found))
}

fn of_text<'a>(func: Func, text: &Str<'a>, rest: &[Val<'a>], fuel: &mut Fuel) -> Found<'a> {
    let found = match (func, rest) {
        (Func::Contains, [Val::Str(part)]) => Val::Bool(text.contains(&**part)),
        (Func::StartsWith, [Val::Str(part)]) => Val::Bool(text.starts_with(&**part)),
        (Func::EndsWith, [Val::Str(part)]) => Val::Bool(text.ends_with(&**part)),
        (Func::Matches, [Val::Str(pattern)]) => {
            // compiling costs far more than it may seem
            fuel.burn((pattern.len() as u64).saturating_mul(50))?;
            let regex = crate::pattern::compile(pattern, 256 * 1024).map_err(bad)?;
            return matches(text, &regex, fuel).map(Some);
        }
        (Func::CharAt, [Val::Int(at)]) => {
            let start = offset(text, *at)?;
            let rest = text.get(start..).unwrap_or_default();
            let end = rest.chars().next().map_or(0, char::len_utf8);
            part(text, start, start.saturating_add(end), fuel)?
        }
        (Func::IndexOf, [Val::Str(needle)]) => Val::Int(index(text, text.find(&**needle))),
        (Func::IndexOf, [Val::Str(needle), Val::Int(from)]) => {
            let start = offset(text, *from)?;
            let found = text.get(start..).and_then(|rest| rest.find(&**needle));
            Val::Int(index(text, found.map(|found| found.saturating_add(start))))
        }
        (Func::LastIndexOf, [Val::Str(needle)]) => Val::Int(index(text, text.rfind(&**needle))),
        (Func::LastIndexOf, [Val::Str(needle), Val::Int(from)]) => {
            let last = offset(text, *from)?;
            // the last match that starts at or before `last`
            let mut end = last.saturating_add(needle.len()).min(text.len());
            while !text.is_char_boundary(end) {
                end = end.saturating_sub(1);
            }
            Val::Int(index(text, text.get(..end).and_then(|head| head.rfind(&**needle))))
        }
        (Func::LowerAscii, []) => owned(text.to_ascii_lowercase(), fuel)?,
        (Func::UpperAscii, []) => owned(text.to_ascii_uppercase(), fuel)?,
        (Func::Trim, []) => {
            let trimmed = text.trim();
            let start = text.len().saturating_sub(text.trim_start().len()).min(text.len());
            part(text, start, start.saturating_add(trimmed.len()), fuel)?
        }
        (Func::Reverse, []) => owned(text.chars().rev().collect(), fuel)?,
        (Func::Quote, []) => owned(quote(text), fuel)?,
        (Func::Replace, [Val::Str(old), Val::Str(new)]) => replace(text, old, new, usize::MAX, fuel)?,
        (Func::Replace, [Val::Str(old), Val::Str(new), Val::Int(times)]) => {
            replace(text, old, new, usize::try_from(*times).unwrap_or(usize::MAX), fuel)?
        }
        (Func::Split, [Val::Str(separator)]) => split(text, separator, usize::MAX, fuel)?,
        (Func::Split, [Val::Str(separator), Val::Int(limit)]) => {
            split(text, separator, usize::try_from(*limit).unwrap_or(usize::MAX), fuel)?
        }
        (Func::Substring, [Val::Int(start)]) => part(text, offset(text, *start)?, text.len(), fuel)?,
        (Func::Substring, [Val::Int(start), Val::Int(end)]) => {
            let (start, end) = (offset(text, *start)?, offset(text, *end)?);
            if start > end {
                return Err(EvalError::fault(ErrorKind::OutOfRange, "the end lies before the start"));
            }
            part(text, start, end, fuel)?
        }
        _ => return Ok(None),
    };
    Ok(Some(found))
}

pub(crate) fn length(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

pub(crate) fn bad(message: impl Into<String>) -> Fault {
    EvalError::fault(ErrorKind::BadArgument, message)
}

/// The text as a value, its memory paid for.
pub(crate) fn owned<'a>(text: String, fuel: &mut Fuel) -> Out<'a> {
    fuel.allocate(text.len())?;
    Ok(text.into())
}

/// The byte at which the code point of that number begins; the number behind the last one is the end.
fn offset(text: &str, at: i64) -> Result<usize, Fault> {
    let range = || EvalError::fault(ErrorKind::OutOfRange, format!("position {at} is out of range"));
    let wanted = usize::try_from(at).map_err(|_| range())?;
    let starts = text.char_indices().map(|(start, _)| start).chain([text.len()]);
    starts.clone().nth(wanted).ok_or_else(range)
}

/// The number of the code point that begins at a byte, or -1.
fn index(text: &str, at: Option<usize>) -> i64 {
    at.and_then(|at| text.get(..at)).map_or(-1, |head| length(head.chars().count()))
}

/// Part of a text: lent where the text is lent.
fn part<'a>(text: &Str<'a>, start: usize, end: usize, fuel: &mut Fuel) -> Out<'a> {
    match text {
        Str::Borrowed(text) => Ok(Val::Str(Str::Borrowed(text.get(start..end).unwrap_or_default()))),
        Str::Owned(text) => owned(text.get(start..end).unwrap_or_default().to_owned(), fuel),
    }
}

fn replace<'a>(text: &Str<'a>, old: &str, new: &str, times: usize, fuel: &mut Fuel) -> Out<'a> {
    let found = text.matches(old).take(times).count();
    if found == 0 {
        return Ok(Val::Str(text.clone()));
    }
    // the memory is asked for before it is taken: a short text may become a very long one
    let grown = found.saturating_mul(new.len()).saturating_add(text.len());
    fuel.allocate(grown)?;
    Ok(text.replacen(old, new, times).into())
}

fn split<'a>(text: &Str<'a>, separator: &str, limit: usize, fuel: &mut Fuel) -> Out<'a> {
    let mut values = Vec::new();
    let mut add = |piece: Str<'a>| {
        fuel.allocate(size_of::<Val>())?;
        if let Str::Owned(piece) = &piece {
            fuel.allocate(piece.len())?;
        }
        values.push(Val::Str(piece));
        Ok::<(), Fault>(())
    };
    let whole: &str = text;
    let mut pieces: Box<dyn Iterator<Item = &str>> = if limit == 0 {
        Box::new(std::iter::empty())
    } else if separator.is_empty() {
        // one code point each, what is left over in the last one
        let last = limit.saturating_sub(1);
        let head = whole.char_indices().take(last).filter_map(|(at, c)| whole.get(at..at.saturating_add(c.len_utf8())));
        let rest = whole.char_indices().nth(last).and_then(|(at, _)| whole.get(at..));
        Box::new(head.chain(rest))
    } else {
        Box::new(whole.splitn(limit, separator))
    };
    pieces.try_for_each(|piece| {
        add(match text {
            Str::Borrowed(whole) => {
                let start = (piece.as_ptr() as usize).saturating_sub(whole.as_ptr() as usize);
                Str::Borrowed(whole.get(start..start.saturating_add(piece.len())).unwrap_or_default())
            }
            Str::Owned(_) => Str::Owned(piece.into()),
        })
    })?;
    drop(pieces);
    Ok(Val::List(List::owned(values)))
}

fn join<'a>(list: &List<'a>, rest: &[Val<'a>], fuel: &mut Fuel) -> Found<'a> {
    let separator: &str = match rest {
        [] => "",
        [Val::Str(separator)] => separator,
        _ => return Ok(None),
    };
    let mut text = String::new();
    for (at, value) in list.iter().enumerate() {
        let Val::Str(piece) = &value else {
            return Err(crate::eval::no_overload("join", &[&value]));
        };
        let between = if at > 0 { separator } else { "" };
        fuel.burn(1)?;
        fuel.allocate(between.len().saturating_add(piece.len()))?;
        text.push_str(between);
        text.push_str(piece);
    }
    Ok(Some(text.into()))
}

/// The text in quotes, with escapes for quotes, backslashes and control characters that have one.
fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len().saturating_add(2));
    quoted.push('"');
    for c in text.chars() {
        match c {
            '\u{7}' => quoted.push_str("\\a"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{c}' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\u{b}' => quoted.push_str("\\v"),
            '\\' => quoted.push_str("\\\\"),
            '"' => quoted.push_str("\\\""),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}
