//! What a part of an expression may come to: values of a type, a constant, an error.
use crate::check::with_article;
use crate::val::Val;
use crate::{Span, Type};

/// The values that a part may have.
#[derive(Clone, Debug)]
pub(super) enum Gives {
    /// None: it always errs.
    Nothing,
    /// This one.
    Constant(Val<'static>),
    /// A bool, one of these.
    Truth { yes: bool, no: bool },
    /// Any of this type.
    Of(Type),
}

impl Gives {
    pub(super) fn truth(&self) -> (bool, bool) {
        match self {
            Self::Nothing => (false, false),
            Self::Constant(Val::Bool(value)) => (*value, !*value),
            Self::Constant(_) => (false, false),
            Self::Truth { yes, no } => (*yes, *no),
            Self::Of(ty) => {
                let able = ty.fits(&Type::Bool);
                (able, able)
            }
        }
    }

    pub(super) fn may_be_other(&self) -> bool {
        match self {
            Self::Nothing | Self::Truth { .. } | Self::Constant(Val::Bool(_)) => false,
            Self::Constant(_) => true,
            Self::Of(ty) => *ty.base() != Type::Bool,
        }
    }

    /// The type of the values; any where there are none.
    pub(super) fn ty(&self) -> Type {
        match self {
            Self::Nothing => Type::Dyn,
            Self::Truth { .. } => Type::Bool,
            Self::Of(ty) => ty.clone(),
            Self::Constant(value) => match value {
                Val::Null => Type::Null,
                Val::Bool(_) => Type::Bool,
                Val::Int(_) => Type::Int,
                Val::Uint(_) => Type::Uint,
                Val::Double(_) => Type::Double,
                Val::Str(_) => Type::String,
                Val::Bytes(_) => Type::Bytes,
                Val::Duration(_) => Type::Duration,
                Val::Timestamp(_) => Type::Timestamp,
                Val::Type(_) => Type::Type,
                Val::Ip(_) => Type::Ip,
                Val::Cidr(_) => Type::Cidr,
                Val::List(_) => Type::list(Type::Dyn),
                Val::Map(_) => Type::map(Type::Dyn, Type::Dyn),
                Val::Optional(_) => Type::optional(Type::Dyn),
                Val::Raw(_) => Type::Dyn,
            },
        }
    }
}

/// What a part may come to.
#[derive(Clone, Debug)]
pub(super) struct Way {
    pub(super) gives: Gives,
    pub(super) errs: bool,
    pub(super) blame: Option<(Span, String)>,
}

impl Way {
    pub(super) fn surely(gives: Gives) -> Self {
        Self { gives, errs: false, blame: None }
    }

    pub(super) fn perhaps(gives: Gives) -> Self {
        Self { gives, errs: true, blame: None }
    }

    pub(super) fn never(span: Span, why: String) -> Self {
        Self { gives: Gives::Nothing, errs: true, blame: Some((span, why)) }
    }

    pub(super) fn is_nothing(&self) -> bool {
        matches!(self.gives, Gives::Nothing)
    }
}

/// A type that says nothing about whether an operation works: JSON numbers come as ints or doubles.
pub(super) fn is_open(ty: &Type) -> bool {
    ty.is_dyn() || matches!(ty.base(), Type::Number | Type::Union(_))
}

/// `way.field`
pub(super) fn select(way: Way, field: &str, span: Span) -> Way {
    if way.is_nothing() {
        return way;
    }
    let ty = way.gives.ty();
    let able = is_open(&ty) || matches!(ty.base(), Type::Map(_) | Type::Object(_) | Type::Optional(_));
    if !able {
        return Way::never(span, format!("{} has no field `{field}`", with_article(&ty)));
    }
    let found = match ty.base() {
        Type::Object(object) => object.get(field).map(|field| (field.ty.clone(), field.required)),
        _ => None,
    };
    match found {
        Some((ty, true)) => Way { gives: Gives::Of(ty), errs: way.errs, blame: None },
        Some((ty, false)) => Way::perhaps(Gives::Of(ty)),
        None => Way::perhaps(Gives::Of(Type::Dyn)),
    }
}

pub(super) fn either(one: &Gives, other: &Gives) -> Gives {
    let bools = |gives: &Gives| !gives.may_be_other();
    if bools(one) && bools(other) {
        let ((a, b), (c, d)) = (one.truth(), other.truth());
        return Gives::Truth { yes: a || c, no: b || d };
    }
    let (a, b) = (one.ty(), other.ty());
    Gives::Of(if a == b { a } else { Type::Dyn })
}

/// The name that `type(x)` gives for values of this type, where all of them have one.
pub(super) fn type_name(ty: &Type) -> Option<&'static str> {
    Some(match ty.base() {
        Type::Null => "null_type",
        Type::Bool => "bool",
        Type::Int => "int",
        Type::Uint => "uint",
        Type::Double => "double",
        Type::String => "string",
        Type::Bytes => "bytes",
        Type::List(_) => "list",
        Type::Map(_) | Type::Object(_) => "map",
        _ => return None,
    })
}
