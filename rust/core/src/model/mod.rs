//! The policy model: the one place that says what policy documents consist of.
//!
//! Each block of keys is declared once ([`declare`]). The declaration gives the Rust type that the engine compiles, the
//! reader that reports every fault of a document in one pass, and the JSON Schema that editors use; its documentation
//! comments are the help that policy authors see. What a declaration cannot say (two keys that contradict each other)
//! is in `check`.
//!
//! Every key may be left out unless something is meaningless without it, because files are layers: they are merged by
//! `extends` before they are compiled. Null means "as if no layer had written this".
pub mod binding;
pub mod budgets;
pub mod cel;
pub(crate) mod check;
pub mod codes;
pub mod data;
pub(crate) mod declare;
pub mod detectors;
pub mod envelope;
pub mod exception;
pub mod fallback;
pub mod fault;
pub mod guard_test;
pub mod limit;
pub mod manifest;
pub mod numbers;
pub mod policy;
pub mod reader;
pub mod schema;
pub(crate) mod spelling;
pub mod texts;
pub mod times;
pub(crate) mod words;

pub use check::{Checked, Stage};
pub use codes::Code;
pub use envelope::{GuardBinding, GuardException, GuardPolicy, GuardTest, ToolManifest};
pub use fault::{Fault, Part, Pointer, Segment, Severity};
pub use reader::{Model, Named, Reader};

use callgate_value::Value;

/// The kinds of documents, in the order in which pages list them.
pub const KINDS: &[&str] = &["ToolManifest", "GuardPolicy", "GuardBinding", "GuardException", "GuardTest"];

/// Reads a document of a known kind, and reports every fault in it.
///
/// The document comes back even if there are faults, with the faulty places left out, unless too much of it is missing;
/// it must not be compiled unless no fault is an error.
#[must_use]
pub fn read<T: Checked>(document: &Value, stage: Stage) -> (Option<T>, Vec<Fault>) {
    let mut reader = Reader::default();
    let read = T::read(document, &mut reader);
    let mut faults = reader.into_faults();
    faults.iter_mut().for_each(lead_home::<T>);
    let clean = faults.is_empty();
    match &read {
        Some(read) => {
            T::check(read.spec(), stage, clean, &mut faults);
            read.check_beside(&mut faults);
        }
        // a fault of the envelope must not hide those of the spec; those of its form are reported already
        None => {
            let spec = document.get("spec").and_then(|spec| T::Spec::read(spec, &mut Reader::default()));
            if let Some(spec) = spec {
                T::check(&spec, stage, clean, &mut faults);
            }
        }
    }
    (read, faults)
}

/// A key that stands in the wrong one of envelope, `metadata` and `spec` is told where it belongs.
fn lead_home<T: Checked>(fault: &mut Fault) {
    if fault.code != codes::UNKNOWN_KEY {
        return;
    }
    let (block, key) = match fault.pointer.0.as_slice() {
        [Segment::Key(key)] => ("", key),
        [Segment::Key(block), Segment::Key(key)] if block == "metadata" || block == "spec" => (block.as_str(), key),
        _ => return,
    };
    let homes = [("spec", T::Spec::keys()), ("metadata", envelope::Metadata::KEYS), ("", T::keys())];
    let home = homes.iter().find(|(home, keys)| *home != block && keys.contains(&key.as_str()));
    if let Some((home, _)) = home {
        let hint = match (*home, block) {
            ("", _) => format!("`{key}` belongs beside `{block}`, not below it"),
            (home, "") => format!("`{key}` belongs below `{home}`: indent it, and put it there"),
            (home, _) => format!("`{key}` belongs below `{home}`"),
        };
        fault.hint = Some(hint);
    }
}

/// Every fault of a document of the kind `kind`: of its form, and of its sense as far as one file can tell.
#[must_use]
pub fn validate(kind: &str, document: &Value, stage: Stage) -> Vec<Fault> {
    match kind {
        "ToolManifest" => read::<ToolManifest>(document, stage).1,
        "GuardPolicy" => read::<GuardPolicy>(document, stage).1,
        "GuardBinding" => read::<GuardBinding>(document, stage).1,
        "GuardException" => read::<GuardException>(document, stage).1,
        "GuardTest" => read::<GuardTest>(document, stage).1,
        _ => {
            let fault =
                Fault::value(codes::UNKNOWN_KIND, Pointer::default().key("kind"), format!("unknown kind `{kind}`"));
            vec![fault.hint(spelling::did_you_mean(kind, KINDS))]
        }
    }
}

/// The JSON Schema 2020-12 of a kind of documents, if there is such a kind.
#[must_use]
pub fn json_schema(kind: &str) -> Option<serde_json::Value> {
    let mut defs = schema::Defs::default();
    let root = match kind {
        "ToolManifest" => <ToolManifest as Model>::schema(&mut defs),
        "GuardPolicy" => <GuardPolicy as Model>::schema(&mut defs),
        "GuardBinding" => <GuardBinding as Model>::schema(&mut defs),
        "GuardException" => <GuardException as Model>::schema(&mut defs),
        "GuardTest" => <GuardTest as Model>::schema(&mut defs),
        _ => return None,
    };
    Some(defs.document(kind, root))
}
