//! The macros that declare the model: one declaration gives the type, its reader and its JSON Schema.
//!
//! Documentation comments become the schema's descriptions, which editors show to policy authors.

/// The key that a field stands for: its name, without the `r#` that lets a Rust keyword be a name.
pub const fn key_of(field: &'static str) -> &'static str {
    match field.as_bytes() {
        [b'r', b'#', ..] => field.split_at(2).1,
        _ => field,
    }
}

/// A block of keys. `Option` fields may be left out; the others must be there.
///
/// `noun "detector"` says what an unknown key is called; `= "apiVersion"` gives a key that is no Rust name.
macro_rules! model {
    (@key $field:ident) => { $crate::model::declare::key_of(stringify!($field)) };
    (@key $field:ident $key:literal) => { $key };
    (@noun) => { "key" };
    (@noun $noun:literal) => { $noun };
    (
        $(#[doc = $doc:literal])*
        $(#[derive($($derive:ident),*)])?
        $(noun $noun:literal)?
        pub struct $name:ident {
            $($(#[doc = $field_doc:literal])* pub $field:ident: $ty:ty $(= $key:literal)?,)*
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(Clone, Debug $($(, $derive)*)?)]
        pub struct $name {
            $($(#[doc = $field_doc])* pub $field: $ty,)*
        }

        impl $name {
            /// The keys that this block takes.
            pub const KEYS: &'static [&'static str] = &[$(model!(@key $field $($key)?)),*];
        }

        impl $crate::model::reader::Model for $name {
            fn wanted() -> String {
                "a map".to_owned()
            }

            fn accepts(value: &callgate_value::Value) -> bool {
                matches!(value, callgate_value::Value::Map(_))
            }

            fn keys() -> &'static [&'static str] {
                Self::KEYS
            }

            fn read(value: &callgate_value::Value, reader: &mut $crate::model::reader::Reader) -> Option<Self> {
                let map = reader.map(value, model!(@noun $($noun)?), Self::KEYS)?;
                $(
                    let $field = <$ty as $crate::model::reader::Field>::take(map, model!(@key $field $($key)?), reader);
                )*
                Some(Self { $($field: $field?),* })
            }

            fn schema(defs: &mut $crate::model::schema::Defs) -> serde_json::Value {
                defs.object(stringify!($name), $crate::model::schema::text(&[$($doc),*]), |defs| vec![$((
                    model!(@key $field $($key)?),
                    $crate::model::schema::text(&[$($field_doc),*]),
                    <$ty as $crate::model::reader::Field>::REQUIRED,
                    <$ty as $crate::model::reader::Field>::schema(defs),
                )),*])
            }
        }
    };
}

/// A choice between words. `code UNKNOWN_KIND` gives an unknown word another code than `UNKNOWN_WORD`.
macro_rules! words {
    (@code) => { $crate::model::codes::UNKNOWN_WORD };
    (@code $code:ident) => { $crate::model::codes::$code };
    (
        $(#[doc = $doc:literal])*
        $(code $code:ident)?
        pub enum $name:ident {
            $($(#[doc = $word_doc:literal])* $variant:ident = $word:literal,)*
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[doc = $word_doc])* $variant,)*
        }

        impl $name {
            /// Every word, in the order in which pages list them.
            pub const WORDS: &'static [&'static str] = &[$($word),*];

            /// The word as it is written.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }
        }

        impl $crate::model::reader::Model for $name {
            fn wanted() -> String {
                $crate::model::words::one_of(Self::WORDS)
            }

            fn accepts(value: &callgate_value::Value) -> bool {
                matches!(value, callgate_value::Value::Str(_))
            }

            fn read(value: &callgate_value::Value, reader: &mut $crate::model::reader::Reader) -> Option<Self> {
                match $crate::model::words::read(value, Self::WORDS, words!(@code $($code)?), reader)? {
                    $($word => Some(Self::$variant),)*
                    _ => None,
                }
            }

            fn schema(defs: &mut $crate::model::schema::Defs) -> serde_json::Value {
                defs.named(stringify!($name), |_| $crate::model::words::schema(
                    stringify!($name),
                    &$crate::model::schema::text(&[$($doc),*]),
                    &[$(($word, $crate::model::schema::text(&[$($word_doc),*]))),*],
                ))
            }
        }
    };
}

/// A choice between types that YAML tells apart: the first whose type fits reads the value.
macro_rules! union {
    (
        $(#[doc = $doc:literal])*
        pub enum $name:ident {
            $($(#[doc = $variant_doc:literal])* $variant:ident($ty:ty),)*
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(Clone, Debug)]
        #[allow(clippy::large_enum_variant)]
        pub enum $name {
            $($(#[doc = $variant_doc])* $variant($ty),)*
        }

        impl $crate::model::reader::Model for $name {
            fn wanted() -> String {
                [$(<$ty as $crate::model::reader::Model>::wanted()),*].join(", or ")
            }

            fn accepts(value: &callgate_value::Value) -> bool {
                false $(|| <$ty as $crate::model::reader::Model>::accepts(value))*
            }

            fn read(value: &callgate_value::Value, reader: &mut $crate::model::reader::Reader) -> Option<Self> {
                $(
                    if <$ty as $crate::model::reader::Model>::accepts(value) {
                        return <$ty as $crate::model::reader::Model>::read(value, reader).map(Self::$variant);
                    }
                )*
                reader.wrong_type(value, &<Self as $crate::model::reader::Model>::wanted());
                None
            }

            fn schema(defs: &mut $crate::model::schema::Defs) -> serde_json::Value {
                defs.named(stringify!($name), |defs| serde_json::json!({
                    "description": $crate::model::schema::text(&[$($doc),*]),
                    "anyOf": [$($crate::model::schema::described(
                        <$ty as $crate::model::reader::Model>::schema(defs),
                        &$crate::model::schema::text(&[$($variant_doc),*]),
                    )),*],
                }))
            }
        }
    };
}

pub(crate) use {model, union, words};
