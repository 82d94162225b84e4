//! `"%s is %.2f".format([…])`
use super::convert::{double_text, to_double};
use super::strings::bad;
use super::Found;
use crate::error::Fault;
use crate::eval::no_overload;
use crate::time::{duration_text, timestamp_text};
use crate::val::{List, Map, Str, Val};
use crate::Fuel;
use std::fmt::Write;

/// Digits behind the point that may be asked for.
const PRECISION: usize = 100;

pub(super) fn call<'a>(args: &[Val<'a>], fuel: &mut Fuel) -> Found<'a> {
    let [Val::Str(pattern), Val::List(values)] = args else { return Ok(None) };
    fuel.read(pattern.len())?;
    let mut out = Writer { text: String::new(), paid: 0 };
    let mut values = values.iter();
    let mut rest: &str = pattern;
    while let Some((plain, directive)) = rest.split_once('%') {
        out.text.push_str(plain);
        if let Some(after) = directive.strip_prefix('%') {
            out.text.push('%');
            rest = after;
            continue;
        }
        let (precision, verb, after) = directive_parts(directive)?;
        rest = after;
        let value = values.next().ok_or_else(|| bad("there are fewer values than places in the format"))?;
        fuel.burn(1)?;
        out.directive(verb, precision, &value, fuel)?;
        out.pay(fuel)?;
    }
    out.text.push_str(rest);
    if values.next().is_some() {
        return Err(bad("there are more values than places in the format"));
    }
    out.pay(fuel)?;
    Ok(Some(out.text.into()))
}

/// Precision, verb and the rest of what stands behind a `%`.
fn directive_parts(text: &str) -> Result<(Option<usize>, char, &str), Fault> {
    let mut rest = text;
    let mut precision = None;
    if let Some(digits) = rest.strip_prefix('.') {
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        let (number, after) = digits.split_at_checked(end).unwrap_or((digits, ""));
        let wanted = number.parse::<usize>().ok().filter(|wanted| *wanted <= PRECISION);
        precision = Some(wanted.ok_or_else(|| bad(format!("the precision must be a number up to {PRECISION}")))?);
        rest = after;
    }
    let verb = rest.chars().next().ok_or_else(|| bad("the format ends behind a `%`"))?;
    Ok((precision, verb, rest.get(verb.len_utf8()..).unwrap_or_default()))
}

struct Writer {
    text: String,
    paid: usize,
}

impl Writer {
    /// Pays for the text that was written since the last time.
    fn pay(&mut self, fuel: &mut Fuel) -> Result<(), Fault> {
        fuel.allocate(self.text.len().saturating_sub(self.paid))?;
        self.paid = self.text.len();
        Ok(())
    }

    fn directive(
        &mut self,
        verb: char,
        precision: Option<usize>,
        value: &Val<'_>,
        fuel: &mut Fuel,
    ) -> Result<(), Fault> {
        let refused = || no_overload(&format!("%{verb}"), &[value]);
        match (verb, value) {
            ('s', value) => return self.any(value, fuel, 0),
            ('d' | 'e' | 'f', Val::Double(value)) if !value.is_finite() => self.text.push_str(&double_text(*value)),
            ('d', Val::Int(value)) => self.push(format_args!("{value}")),
            ('d', Val::Uint(value)) => self.push(format_args!("{value}")),
            ('f', Val::Int(_) | Val::Uint(_) | Val::Double(_)) => {
                let value = to_double(value)?.ok_or_else(refused)?;
                self.push(format_args!("{value:.*}", precision.unwrap_or(6)));
            }
            ('e', Val::Int(_) | Val::Uint(_) | Val::Double(_)) => {
                let value = to_double(value)?.ok_or_else(refused)?;
                let text = format!("{value:.*e}", precision.unwrap_or(6));
                let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
                let (sign, digits) = exponent.strip_prefix('-').map_or(('+', exponent), |digits| ('-', digits));
                self.push(format_args!("{mantissa}e{sign}{digits:0>2}"));
            }
            ('b', Val::Bool(value)) => self.push(format_args!("{}", u8::from(*value))),
            ('b' | 'o' | 'x' | 'X', Val::Int(value)) => {
                if *value < 0 {
                    self.text.push('-');
                }
                self.radix(verb, value.unsigned_abs());
            }
            ('b' | 'o' | 'x' | 'X', Val::Uint(value)) => self.radix(verb, *value),
            ('x' | 'X', Val::Str(text)) => self.hex(verb, text.as_bytes(), fuel)?,
            ('x' | 'X', Val::Bytes(bytes)) => self.hex(verb, bytes, fuel)?,
            ('d' | 'e' | 'f' | 'b' | 'o' | 'x' | 'X', _) => return Err(refused()),
            _ => return Err(bad(format!("`%{verb}` is no place for a value; there are %s %d %f %e %b %o %x %X"))),
        }
        Ok(())
    }

    fn push(&mut self, text: std::fmt::Arguments<'_>) {
        // writing to a string does not fail
        let _ = self.text.write_fmt(text);
    }

    fn radix(&mut self, verb: char, value: u64) {
        match verb {
            'b' => self.push(format_args!("{value:b}")),
            'o' => self.push(format_args!("{value:o}")),
            'x' => self.push(format_args!("{value:x}")),
            _ => self.push(format_args!("{value:X}")),
        }
    }

    fn hex(&mut self, verb: char, bytes: &[u8], fuel: &mut Fuel) -> Result<(), Fault> {
        fuel.burn(bytes.len() as u64 >> 4)?;
        for byte in bytes {
            if verb == 'x' {
                self.push(format_args!("{byte:02x}"));
            } else {
                self.push(format_args!("{byte:02X}"));
            }
        }
        Ok(())
    }

    /// Any value as text.
    fn any(&mut self, value: &Val<'_>, fuel: &mut Fuel, depth: usize) -> Result<(), Fault> {
        fuel.burn(1)?;
        let deeper = depth.checked_add(1).filter(|depth| *depth <= fuel.depth());
        match value {
            Val::Null => self.text.push_str("null"),
            Val::Bool(value) => self.push(format_args!("{value}")),
            Val::Int(value) => self.push(format_args!("{value}")),
            Val::Uint(value) => self.push(format_args!("{value}")),
            Val::Double(value) => self.text.push_str(&double_text(*value)),
            Val::Str(text) => self.text.push_str(text),
            Val::Bytes(bytes) => self.text.push_str(&String::from_utf8_lossy(bytes)),
            Val::Duration(nanos) => self.text.push_str(&duration_text(*nanos)),
            Val::Timestamp(at) => self.text.push_str(&timestamp_text(*at)),
            Val::Type(name) => self.text.push_str(name),
            Val::Ip(address) => self.push(format_args!("{address}")),
            Val::Cidr(cidr) => self.push(format_args!("{cidr}")),
            Val::List(list) => return self.list(list, fuel, deeper.ok_or_else(|| fuel.too_deep())?),
            Val::Map(map) => return self.map(map, fuel, deeper.ok_or_else(|| fuel.too_deep())?),
            Val::Optional(_) | Val::Raw(_) => return Err(no_overload("%s", &[value])),
        }
        self.pay(fuel)
    }

    fn list(&mut self, list: &List<'_>, fuel: &mut Fuel, depth: usize) -> Result<(), Fault> {
        self.text.push('[');
        for (at, value) in list.iter().enumerate() {
            if at > 0 {
                self.text.push_str(", ");
            }
            self.any(&value, fuel, depth)?;
        }
        self.text.push(']');
        Ok(())
    }

    /// Entries sorted by the text of their keys, so that equal maps are printed alike.
    fn map(&mut self, map: &Map<'_>, fuel: &mut Fuel, depth: usize) -> Result<(), Fault> {
        fuel.burn(map.len() as u64)?;
        let mut entries: Vec<(String, Val<'_>)> = Vec::with_capacity(map.len());
        let mut add = |key: Val<'_>, value| {
            let mut writer = Self { text: String::new(), paid: 0 };
            writer.any(&key, fuel, depth)?;
            entries.push((writer.text, value));
            Ok::<(), Fault>(())
        };
        match map {
            Map::Json(map) => {
                for (key, value) in map.iter() {
                    let key = key.as_str().ok_or_else(|| bad("a key has lone surrogates, it is no valid Unicode"))?;
                    add(Val::Str(Str::Borrowed(key)), Val::from(value))?;
                }
            }
            Map::Owned(map) => {
                for (key, value) in map.iter() {
                    add(key.to_val(), value.clone())?;
                }
            }
        }
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        self.text.push('{');
        for (at, (key, value)) in entries.iter().enumerate() {
            if at > 0 {
                self.text.push_str(", ");
            }
            self.text.push_str(key);
            self.text.push_str(": ");
            self.any(value, fuel, depth)?;
        }
        self.text.push('}');
        Ok(())
    }
}
