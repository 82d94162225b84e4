//! `verify.tool`: the tool that finds out what became of a call has to be there, and must not act itself.
use super::{at, spec, Faults, Place, Tools};
use crate::model::manifest::{self as written, ManifestSpec};
use crate::model::{codes, Fault, Pointer};
use crate::policy::{Effect, ToolEntry};

/// Looks at the `verify` of each tool of a manifest, and of its forms, where it is written.
pub(crate) fn check(position: usize, spec: &ManifestSpec, tools: &Tools, faults: &mut Faults) {
    for (name, tool) in spec.tools.iter().flat_map(|tools| tools.iter()) {
        let place = at(&["spec", "tools", name]);
        one(position, &place, tool.verify.as_ref(), tools, faults);
        for (index, form) in tool.forms.iter().flatten().enumerate() {
            one(position, &place.key("forms").index(index), form.verify.as_ref(), tools, faults);
        }
    }
}

fn one(position: usize, of: &Pointer, verify: Option<&written::Verify>, tools: &Tools, faults: &mut Faults) {
    let Some(verify) = verify else { return };
    let (name, place) = (verify.tool.as_str(), of.key("verify").key("tool"));
    let Some(entry) = tools.get(name) else {
        let message = format!("`{name}` is no tool of the manifests in force, so nobody can find out");
        let fault = Fault::value(codes::UNDECLARED_NAME, place, message);
        faults.undeclared_in(Place::Manifest(position), fault, name, &spec::tool_names(tools));
        return;
    };
    if let Some(effect) = acts(entry) {
        let message = format!("`{name}` is of effect `{effect}`: to find out what became of a call would be to act");
        let fault = Fault::value(codes::ACTING_VERIFIER, place, message);
        faults.add(Place::Manifest(position), fault.hint("name a tool of effect `read`"));
    }
}

/// The effect of a tool that acts, whatever form its call has. Of effect `unknown` nothing is known, so nothing is said.
fn acts(entry: &ToolEntry) -> Option<&'static str> {
    let acting = |effect: Effect| match effect {
        Effect::Write => Some("write"),
        Effect::External => Some("external"),
        Effect::Ui => Some("ui"),
        Effect::Read | Effect::Control | Effect::Unknown => None,
    };
    let every = entry.forms.iter().all(|(_, form)| acting(form.effect).is_some());
    acting(entry.base.effect).filter(|_| every)
}
