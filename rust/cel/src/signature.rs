//! Signatures as text: `(string, int) -> int` for a function, `string.(int) -> int` for one that stands behind a value.
use crate::Type;

/// One way to call a function.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Overload {
    /// Whether it stands behind a value, which then is the first parameter.
    pub member: bool,
    pub params: Vec<Type>,
    /// Whether the last parameter may be given many times.
    pub variadic: bool,
    pub result: Type,
}

/// The overload that `text` describes.
pub(crate) fn parse_signature(text: &str) -> Option<Overload> {
    let mut reader = Reader { rest: text };
    let mut params = Vec::new();
    let member = !reader.rest.starts_with('(');
    if member {
        params.push(reader.ty(0)?);
        reader.take(".")?;
    }
    reader.take("(")?;
    let mut variadic = false;
    while reader.take(")").is_none() {
        params.push(reader.ty(0)?);
        variadic = reader.take("...").is_some();
        if reader.take(",").is_none() {
            reader.take(")")?;
            break;
        }
    }
    reader.take("->")?;
    let result = reader.ty(0)?;
    reader.rest.is_empty().then_some(Overload { member, params, variadic, result })
}

struct Reader<'t> {
    rest: &'t str,
}

impl Reader<'_> {
    fn take(&mut self, mark: &str) -> Option<()> {
        self.rest = self.rest.trim_start().strip_prefix(mark)?.trim_start();
        Some(())
    }

    fn ty(&mut self, depth: usize) -> Option<Type> {
        let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at_checked(end)?;
        self.rest = rest;
        let deeper = depth.checked_add(1).filter(|depth| *depth < 8)?;
        Some(match name {
            "dyn" => Type::Dyn,
            "null" => Type::Null,
            "bool" => Type::Bool,
            "int" => Type::Int,
            "uint" => Type::Uint,
            "double" => Type::Double,
            "number" => Type::Number,
            "string" => Type::String,
            "bytes" => Type::Bytes,
            "duration" => Type::Duration,
            "timestamp" => Type::Timestamp,
            "type" => Type::Type,
            "ip" => Type::Ip,
            "cidr" => Type::Cidr,
            "list" | "optional" => {
                self.take("(")?;
                let inner = self.ty(deeper)?;
                self.take(")")?;
                if name == "list" {
                    Type::list(inner)
                } else {
                    Type::optional(inner)
                }
            }
            "map" => {
                self.take("(")?;
                let key = self.ty(deeper)?;
                self.take(",")?;
                let value = self.ty(deeper)?;
                self.take(")")?;
                Type::map(key, value)
            }
            _ => {
                let mut letters = name.chars();
                let letter = letters.next().filter(char::is_ascii_uppercase)?;
                letters.next().is_none().then_some(Type::Param(letter))?
            }
        })
    }
}
