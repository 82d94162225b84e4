//! The types that the checker knows, and the notation in which signatures are written.
use std::fmt;
use std::sync::Arc;

/// The type of an expression, as far as it is known before evaluation.
#[derive(Clone, Debug, PartialEq)]
pub enum Type {
    /// Known only at evaluation; fits everywhere.
    Dyn,
    /// `null`
    Null,
    /// `true`, `false`
    Bool,
    /// A signed 64-bit integer.
    Int,
    /// An unsigned 64-bit integer.
    Uint,
    /// A binary64 number.
    Double,
    /// A JSON number: an int or a double, whichever comes. Compares with every number.
    Number,
    /// Text.
    String,
    /// Octets.
    Bytes,
    /// A length of time.
    Duration,
    /// A point in time.
    Timestamp,
    /// A type as a value, `type(x)`.
    Type,
    /// An IP address.
    Ip,
    /// A range of IP addresses.
    Cidr,
    /// A list of values of one type.
    List(Arc<Type>),
    /// A map: type of keys, type of values.
    Map(Arc<(Type, Type)>),
    /// A value that may be missing, `x.?y`.
    Optional(Arc<Type>),
    /// A map whose fields are known.
    Object(Arc<Object>),
    /// One of these types.
    Union(Arc<[Type]>),
    /// A value of the type that is one of these.
    OneOf(Arc<(Type, Vec<Scalar>)>),
    /// A variable of a signature; `N` stands for a numeric type, any other letter for every type.
    Param(char),
}

/// A literal that an enum lists.
#[derive(Clone, Debug, PartialEq)]
pub enum Scalar {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// An integer.
    Int(i64),
    /// Any other number.
    Double(f64),
    /// Text.
    String(Box<str>),
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Int(value) => write!(f, "{value}"),
            Self::Double(value) => write!(f, "{value:?}"),
            Self::String(value) => write!(f, "{value:?}"),
        }
    }
}

/// What is known of a field.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Its type.
    pub ty: Type,
    /// Whether it is always there. A field that may be absent must be tested with `has` before it is read.
    pub required: bool,
}

/// A map type with known fields.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Object {
    /// Fields by name, in the order of their declaration.
    pub fields: Vec<(Box<str>, Field)>,
    /// Whether other fields may exist too; they are dynamically typed.
    pub open: bool,
}

impl Object {
    /// An object without other fields than those that are added.
    #[must_use]
    pub fn closed() -> Self {
        Self::default()
    }

    /// An object that may have other fields too.
    #[must_use]
    pub fn open() -> Self {
        Self { fields: Vec::new(), open: true }
    }

    /// With a field that is always there.
    #[must_use]
    pub fn required(self, name: &str, ty: Type) -> Self {
        self.field(name, ty, true)
    }

    /// With a field that may be absent.
    #[must_use]
    pub fn optional(self, name: &str, ty: Type) -> Self {
        self.field(name, ty, false)
    }

    fn field(mut self, name: &str, ty: Type, required: bool) -> Self {
        self.fields.retain(|(known, _)| &**known != name);
        self.fields.push((name.into(), Field { ty, required }));
        self
    }

    /// The field of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|(known, _)| &**known == name).map(|(_, field)| field)
    }
}

impl From<Object> for Type {
    fn from(object: Object) -> Self {
        Self::Object(Arc::new(object))
    }
}

impl Type {
    /// `list(element)`
    #[must_use]
    pub fn list(element: Self) -> Self {
        Self::List(Arc::new(element))
    }

    /// `map(key, value)`
    #[must_use]
    pub fn map(key: Self, value: Self) -> Self {
        Self::Map(Arc::new((key, value)))
    }

    /// `optional(value)`
    #[must_use]
    pub fn optional(value: Self) -> Self {
        Self::Optional(Arc::new(value))
    }

    /// One of these types; flattened, and dyn if any of them is.
    #[must_use]
    pub fn union(types: impl IntoIterator<Item = Self>) -> Self {
        let mut members: Vec<Self> = Vec::new();
        for ty in types {
            match ty {
                Self::Dyn => return Self::Dyn,
                Self::Union(inner) => members.extend(inner.iter().cloned()),
                other => members.push(other),
            }
        }
        let mut unique: Vec<Self> = Vec::new();
        for member in members {
            if !unique.contains(&member) {
                unique.push(member);
            }
        }
        if unique.len() == 1 {
            return unique.pop().unwrap_or(Self::Dyn);
        }
        if unique.is_empty() {
            return Self::Dyn;
        }
        Self::Union(unique.into())
    }

    /// The same or null.
    #[must_use]
    pub fn nullable(self) -> Self {
        Self::union([self, Self::Null])
    }

    /// A value of this type that is one of `values`.
    #[must_use]
    pub fn one_of(self, values: Vec<Scalar>) -> Self {
        Self::OneOf(Arc::new((self, values)))
    }

    /// Without the list of its values.
    pub(crate) fn base(&self) -> &Self {
        match self {
            Self::OneOf(of) => of.0.base(),
            other => other,
        }
    }

    pub(crate) fn is_dyn(&self) -> bool {
        matches!(self, Self::Dyn | Self::Param(_))
    }

    pub(crate) fn is_numeric(&self) -> bool {
        matches!(self.base(), Self::Int | Self::Uint | Self::Double | Self::Number)
    }

    /// The types of a union, or the type itself.
    pub(crate) fn members(&self) -> &[Self] {
        match self {
            Self::Union(members) => members,
            other => std::slice::from_ref(other),
        }
    }

    /// Whether a value of this type may stand where `wanted` is asked for. A union may if one of its members may.
    #[must_use]
    pub fn fits(&self, wanted: &Self) -> bool {
        match (self.base(), wanted.base()) {
            (Self::Dyn | Self::Param(_), _) | (_, Self::Dyn) => true,
            (ty, Self::Param('N')) => ty.members().iter().any(Self::is_numeric),
            (_, Self::Param(_)) => true,
            (Self::Union(members), wanted) => members.iter().any(|member| member.fits(wanted)),
            (ty, Self::Union(members)) => members.iter().any(|member| ty.fits(member)),
            (Self::Int | Self::Double, Self::Number) => true,
            (Self::List(a), Self::List(b)) | (Self::Optional(a), Self::Optional(b)) => a.fits(b),
            (Self::Map(a), Self::Map(b)) => a.0.fits(&b.0) && a.1.fits(&b.1),
            (Self::Object(object), Self::Map(b)) => {
                Self::String.fits(&b.0) && object.fields.iter().all(|(_, field)| field.ty.fits(&b.1))
            }
            (Self::Map(a), Self::Object(_)) => a.0.fits(&Self::String),
            (Self::Object(_), Self::Object(_)) => true,
            (a, b) => a == b,
        }
    }

    /// A type that covers both.
    pub(crate) fn join(&self, other: &Self) -> Self {
        if self == other {
            return self.clone();
        }
        match (self.base(), other.base()) {
            (a, b) if a == b => a.clone(),
            (Self::Int | Self::Double | Self::Number, Self::Int | Self::Double | Self::Number) => Self::Number,
            (Self::List(a), Self::List(b)) => Self::list(a.join(b)),
            (Self::Optional(a), Self::Optional(b)) => Self::optional(a.join(b)),
            (Self::Map(a), Self::Map(b)) => Self::map(a.0.join(&b.0), a.1.join(&b.1)),
            (a, Self::Null) | (Self::Null, a) => a.clone().nullable(),
            _ => Self::Dyn,
        }
    }

    /// With the variables of a signature replaced.
    pub(crate) fn bind(&self, bound: &[(char, Self)]) -> Self {
        match self {
            Self::Param(name) => bound.iter().find(|(known, _)| known == name).map_or(Self::Dyn, |(_, ty)| ty.clone()),
            Self::List(element) => Self::list(element.bind(bound)),
            Self::Optional(value) => Self::optional(value.bind(bound)),
            Self::Map(entry) => Self::map(entry.0.bind(bound), entry.1.bind(bound)),
            other => other.clone(),
        }
    }

    /// Notes what the variables of `wanted` stand for when a value of this type stands there.
    pub(crate) fn infer(&self, wanted: &Self, bound: &mut Vec<(char, Self)>) {
        match (self.base(), wanted) {
            (_, Self::Param(name)) => match bound.iter_mut().find(|(known, _)| known == name) {
                Some((_, ty)) => *ty = ty.join(self),
                None => bound.push((*name, self.clone())),
            },
            (Self::List(a), Self::List(b)) | (Self::Optional(a), Self::Optional(b)) => a.infer(b, bound),
            (Self::Map(a), Self::Map(b)) => {
                a.0.infer(&b.0, bound);
                a.1.infer(&b.1, bound);
            }
            (Self::Object(_), Self::Map(b)) => {
                Self::String.infer(&b.0, bound);
                Self::Dyn.infer(&b.1, bound);
            }
            (Self::Dyn, Self::List(b) | Self::Optional(b)) => Self::Dyn.infer(b, bound),
            _ => {}
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dyn => f.write_str("dyn"),
            Self::Null => f.write_str("null"),
            Self::Bool => f.write_str("bool"),
            Self::Int => f.write_str("int"),
            Self::Uint => f.write_str("uint"),
            Self::Double => f.write_str("double"),
            Self::Number => f.write_str("number"),
            Self::String => f.write_str("string"),
            Self::Bytes => f.write_str("bytes"),
            Self::Duration => f.write_str("duration"),
            Self::Timestamp => f.write_str("timestamp"),
            Self::Type => f.write_str("type"),
            Self::Ip => f.write_str("ip"),
            Self::Cidr => f.write_str("cidr"),
            Self::List(element) => write!(f, "list({element})"),
            Self::Map(entry) => write!(f, "map({}, {})", entry.0, entry.1),
            Self::Optional(value) => write!(f, "optional({value})"),
            Self::Object(_) => f.write_str("object"),
            Self::Union(members) => {
                for (at, member) in members.iter().enumerate() {
                    if at > 0 {
                        f.write_str(" or ")?;
                    }
                    member.fmt(f)?;
                }
                Ok(())
            }
            Self::OneOf(of) => of.0.fmt(f),
            Self::Param(name) => write!(f, "{name}"),
        }
    }
}
