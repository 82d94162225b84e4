//! What a Python object that JSON does not know holds, read without running any code of its class.
//!
//! Attributes are never looked up on the object. Its class's `__mro__` and the `__dict__`s of those classes are read
//! through the descriptors of `type`, which a metaclass cannot override; fields come from the instance's dict and
//! slots through the interpreter's own descriptors. Anything else found in their place makes the object opaque.
use callgate_value::{Digest, ForeignKind};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyInt, PyString, PyTuple, PyType};
use pyo3::PyTypeInfo;

/// What an object is called, and what to pass in its place.
#[derive(Debug)]
pub struct Description {
    /// The name of its class.
    pub name: String,
    /// Advice.
    pub hint: &'static str,
}

/// What an object is made of.
pub enum Fields<'py> {
    /// The value of a member of an enumeration.
    Enum(Bound<'py, PyAny>),
    /// Field names and their values, in the order of declaration.
    Record(Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>)>),
}

/// The text that stands for a `bytes`: its SHA-256 and its length.
pub fn bytes_text(bytes: &[u8]) -> String {
    format!("{}:{}", Digest::of(bytes), bytes.len())
}

/// The name of an object's class, with advice for who passed it as an argument.
pub fn describe(object: &Bound<'_, PyAny>) -> Description {
    let reach = reach(object.py()).ok();
    let name = reach.and_then(|reach| reach.class_name(object)).unwrap_or_else(|| "object".to_owned());
    let hint = match name.as_str() {
        "bytes" | "bytearray" | "memoryview" => "decode it, or write it as base64 text",
        "datetime" | "date" | "time" => "write it as text, for instance with `.isoformat()`",
        "Decimal" => "write it as text, or as a float",
        "UUID" => "write it as text with `str()`",
        "set" | "frozenset" => "make it a sorted list",
        _ => match reach.and_then(|reach| reach.kind(object)) {
            Some(Kind::Dataclass) => "pass `dataclasses.asdict()` of it",
            Some(Kind::Model) => "pass its fields, for instance with `.model_dump(mode=\"json\")`",
            Some(Kind::Enum) => "pass its `.value`",
            Some(Kind::Numpy) => "make it plain Python with `.tolist()`",
            None => "pass text, numbers, booleans, None, lists, or dicts with text keys",
        },
    };
    Description { name, hint }
}

/// Kinds of classes that are known by what they declare.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Dataclass,
    Model,
    Enum,
    Numpy,
}

/// Where models of pydantic's kind declare their fields, newest first.
const MODEL_FIELDS: [&str; 3] = ["__pydantic_fields__", "model_fields", "__fields__"];

/// The interpreter's own ways to read classes and objects, and the standard types that have a text form.
pub struct Reach {
    mro_of: Py<PyAny>,
    dict_of: Py<PyAny>,
    name_of: Py<PyAny>,
    getset: Py<PyType>,
    member: Py<PyType>,
    enum_base: Py<PyAny>,
    standard: Vec<Standard>,
    time_zones: Vec<Py<PyAny>>,
}

/// A standard type with a text form.
struct Standard {
    class: Py<PyAny>,
    kind: ForeignKind,
    /// The unbound method or getter's `__get__` that yields the text, or the number of a UUID.
    text: Py<PyAny>,
    /// Reads the time zone, for types that have one.
    zone: Option<Py<PyAny>>,
}

static REACH: PyOnceLock<Reach> = PyOnceLock::new();

/// The one [`Reach`] of this process.
///
/// # Errors
/// What Python raises where the standard library cannot be imported.
pub fn reach(py: Python<'_>) -> PyResult<&'static Reach> {
    REACH.get_or_try_init(py, || Reach::new(py))
}

impl Reach {
    fn new(py: Python<'_>) -> PyResult<Self> {
        let getter = |class: &Bound<'_, PyAny>, name: &str| -> PyResult<Py<PyAny>> {
            Ok(class.getattr("__dict__")?.get_item(name)?.getattr("__get__")?.unbind())
        };
        let class = |module: &str, name: &str| py.import(module)?.getattr(name);
        let of_type = PyType::type_object(py).into_any();
        let standard = |module: &str, name: &str, kind, method: &str, zoned: bool| -> PyResult<Standard> {
            let class = class(module, name)?;
            let text =
                if kind == ForeignKind::Uuid { getter(&class, method)? } else { class.getattr(method)?.unbind() };
            let zone = if zoned { Some(getter(&class, "tzinfo")?) } else { None };
            Ok(Standard { class: class.unbind(), kind, text, zone })
        };
        Ok(Self {
            mro_of: getter(&of_type, "__mro__")?,
            dict_of: getter(&of_type, "__dict__")?,
            name_of: getter(&of_type, "__name__")?,
            getset: class("types", "GetSetDescriptorType")?.cast_into()?.unbind(),
            member: class("types", "MemberDescriptorType")?.cast_into()?.unbind(),
            enum_base: class("enum", "Enum")?.unbind(),
            standard: vec![
                standard("datetime", "datetime", ForeignKind::DateTime, "isoformat", true)?,
                standard("datetime", "date", ForeignKind::Date, "isoformat", false)?,
                standard("datetime", "time", ForeignKind::Time, "isoformat", true)?,
                standard("decimal", "Decimal", ForeignKind::Decimal, "__str__", false)?,
                standard("uuid", "UUID", ForeignKind::Uuid, "int", false)?,
            ],
            time_zones: vec![class("datetime", "timezone")?.unbind(), class("zoneinfo", "ZoneInfo")?.unbind()],
        })
    }

    fn class_name(&self, object: &Bound<'_, PyAny>) -> Option<String> {
        let name = self.name_of.bind(object.py()).call1((object.get_type(),)).ok()?;
        Some(name.cast::<PyString>().ok()?.to_string_lossy().into_owned())
    }

    /// The text form of exactly a standard type. What derives from one may hold more than its text tells.
    pub fn standard_text(&self, object: &Bound<'_, PyAny>) -> Option<(ForeignKind, String)> {
        let py = object.py();
        let class = object.get_type();
        let standard = self.standard.iter().find(|standard| class.is(&standard.class))?;
        if let Some(zone) = &standard.zone {
            let zone = zone.bind(py).call1((object,)).ok()?;
            let known = zone.is_none() || self.time_zones.iter().any(|class| zone.get_type().is(class));
            if !known {
                return None; // its offset is the answer of somebody's method
            }
        }
        let answer = standard.text.bind(py).call1((object,)).ok()?;
        let text = match standard.kind {
            ForeignKind::Uuid => uuid_text(answer.cast_exact::<PyInt>().ok()?.extract().ok()?),
            // the exponent's letter follows the decimal context
            ForeignKind::Decimal => {
                answer.cast::<PyString>().ok()?.to_str().ok()?.replace("e+", "E+").replace("e-", "E-")
            }
            _ => answer.cast::<PyString>().ok()?.to_str().ok()?.to_owned(),
        };
        Some((standard.kind, text))
    }

    /// The classes that an object's class derives from, itself first, each with its dict.
    fn lineage<'py>(&self, object: &Bound<'py, PyAny>) -> Option<Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>)>> {
        let py = object.py();
        let mro = self.mro_of.bind(py).call1((object.get_type(),)).ok()?.cast_into::<PyTuple>().ok()?;
        mro.iter().map(|class| Some((class.clone(), self.dict_of.bind(py).call1((class,)).ok()?))).collect()
    }

    fn kind(&self, object: &Bound<'_, PyAny>) -> Option<Kind> {
        let lineage = self.lineage(object)?;
        let declares = |name: &str| declared(&lineage, name).is_some_and(|fields| fields.cast::<PyDict>().is_ok());
        let module = declared(&lineage, "__module__");
        if lineage.iter().any(|(class, _)| class.is(&self.enum_base)) {
            Some(Kind::Enum)
        } else if declares("__dataclass_fields__") {
            Some(Kind::Dataclass)
        } else if MODEL_FIELDS.iter().any(|name| declares(name)) {
            Some(Kind::Model)
        } else if module.is_some_and(|name| name.cast::<PyString>().is_ok_and(|name| name.to_string_lossy() == "numpy"))
        {
            Some(Kind::Numpy)
        } else {
            None
        }
    }

    /// What an enumeration's member, a dataclass or a model of pydantic's kind holds.
    pub fn fields<'py>(&self, object: &Bound<'py, PyAny>) -> Option<Fields<'py>> {
        let py = object.py();
        let lineage = self.lineage(object)?;
        let stored = self.instance_dict(object, &lineage);
        if lineage.iter().any(|(class, _)| class.is(&self.enum_base)) {
            return Some(Fields::Enum(held(&stored?, intern!(py, "_value_").as_any())?));
        }
        let names = std::iter::once("__dataclass_fields__").chain(MODEL_FIELDS);
        let declared = names.filter_map(|name| declared(&lineage, name)?.cast_into::<PyDict>().ok()).next()?;
        let mut fields = Vec::new();
        for (name, _) in declared.iter() {
            if !name.is_exact_instance_of::<PyString>() {
                return None;
            }
            let held = stored.as_ref().and_then(|stored| held(stored, &name));
            if let Some(value) = held.or_else(|| self.slot(object, &lineage, &name)) {
                fields.push((name, value));
            }
        }
        let extra = self.slot(object, &lineage, PyString::intern(py, "__pydantic_extra__").as_any());
        if let Some(extra) = extra.and_then(|extra| extra.cast_into::<PyDict>().ok()) {
            fields.extend(extra.iter());
        }
        Some(Fields::Record(fields))
    }

    /// The dict in which an object keeps its attributes, if it has one that the interpreter made.
    fn instance_dict<'py>(
        &self,
        object: &Bound<'py, PyAny>,
        lineage: &[(Bound<'py, PyAny>, Bound<'py, PyAny>)],
    ) -> Option<Bound<'py, PyDict>> {
        let descriptor = declared(lineage, "__dict__")?;
        self.read(&descriptor, &self.getset, object)?.cast_into().ok()
    }

    fn slot<'py>(
        &self,
        object: &Bound<'py, PyAny>,
        lineage: &[(Bound<'py, PyAny>, Bound<'py, PyAny>)],
        name: &Bound<'py, PyAny>,
    ) -> Option<Bound<'py, PyAny>> {
        let descriptor = lineage.iter().find_map(|(_, dict)| dict.get_item(name).ok())?;
        self.read(&descriptor, &self.member, object)
    }

    /// What a descriptor of exactly the interpreter's type `of` reads from an object.
    fn read<'py>(
        &self,
        descriptor: &Bound<'py, PyAny>,
        of: &Py<PyType>,
        object: &Bound<'py, PyAny>,
    ) -> Option<Bound<'py, PyAny>> {
        if !descriptor.get_type().is(of) {
            return None;
        }
        descriptor.call_method1(intern!(object.py(), "__get__"), (object, object.get_type())).ok()
    }
}

/// What the first class that declares `name` holds under it.
fn declared<'py>(lineage: &[(Bound<'py, PyAny>, Bound<'py, PyAny>)], name: &str) -> Option<Bound<'py, PyAny>> {
    lineage.iter().find_map(|(_, dict)| dict.get_item(name).ok())
}

/// What a dict of attributes holds under a name. Read entry by entry: a look-up may ask a key of another type whether it
/// equals the name.
fn held<'py>(stored: &Bound<'py, PyDict>, name: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
    let wanted = name.cast_exact::<PyString>().ok()?.to_str().ok()?;
    let named = |key: &Bound<'py, PyAny>| {
        key.is(name) || key.cast_exact::<PyString>().is_ok_and(|key| key.to_str().is_ok_and(|key| key == wanted))
    };
    stored.iter().find(|(key, _)| named(key)).map(|(_, value)| value)
}

/// A UUID's 128 bits in its usual form.
fn uuid_text(bits: u128) -> String {
    let hex = format!("{bits:032x}");
    let mut text = String::with_capacity(36);
    for (at, digit) in hex.chars().enumerate() {
        if matches!(at, 8 | 12 | 16 | 20) {
            text.push('-');
        }
        text.push(digit);
    }
    text
}
