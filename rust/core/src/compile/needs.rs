//! `spec.needs`: what the task has to find out.
use super::{at, shared, Faults, Place, Tools};
use crate::model::fallback::{Need as Written, Resolve};
use crate::model::policy::PolicySpec;
use crate::model::texts::Name;
use crate::model::{codes, Fault};
use crate::policy::Need;

/// Whether the policy says what its tasks have to find out.
pub(crate) fn are_declared(spec: &PolicySpec) -> bool {
    spec.needs.as_ref().is_some_and(|needs| !needs.is_empty())
}

pub(crate) fn compile(spec: &PolicySpec, tools: &Tools, faults: &mut Faults) -> Vec<Need> {
    let written = spec.needs.iter().flatten().enumerate();
    written.filter_map(|(index, need)| one(index, need, tools, faults)).collect()
}

fn names(list: Option<&Vec<Name>>) -> Vec<String> {
    list.into_iter().flatten().map(|name| name.as_str().to_owned()).collect()
}

fn one(index: usize, written: &Written, tools: &Tools, faults: &mut Faults) -> Option<Need> {
    let place = at(&["spec", "needs"]).index(index);
    // that there are fields, and not too many, was checked where the policy was read
    let fields = names(Some(&written.fields));
    let bit = |name: &String| {
        let position =
            fields.iter().position(|field| field == name).and_then(|position| u32::try_from(position).ok())?;
        1_u64.checked_shl(position)
    };
    let all = || fields.iter().filter_map(bit).fold(0, |mask, bit| mask | bit);
    let essential = match &written.essential {
        Some(essential) => names(Some(essential)).iter().filter_map(bit).fold(0, |mask, bit| mask | bit),
        None => all(),
    };
    let known: Vec<&str> = tools.keys().map(String::as_str).collect();
    for (position, name) in written.from.iter().flatten().enumerate() {
        if !tools.contains_key(name.as_str()) && !tools.is_empty() {
            let message = format!("`{}` is no tool of the manifests in force", name.as_str());
            let fault = Fault::value(codes::UNDECLARED_NAME, place.key("from").index(position), message);
            faults.undeclared(fault, name.as_str(), &known);
        }
    }
    let declares = |entry: &crate::policy::ToolEntry| {
        entry.base.result.records.is_some() || entry.forms.iter().any(|(_, tool)| tool.result.records.is_some())
    };
    let fillable = written.from.as_ref().map_or_else(|| tools.values().any(declares), |from| !from.is_empty());
    if !fillable && !tools.is_empty() {
        let message = format!("no tool can fill the need `{}`", written.id.as_str());
        let fault = Fault::value(codes::UNFILLABLE_NEED, place, message).warning();
        let hint = "name tools under `from`, or declare `result.records` of a tool";
        faults.add(Place::Policy, fault.hint(hint));
    }
    Some(Need {
        id: shared(written.id.as_str()),
        from: written.from.as_ref().map(|from| from.iter().map(|name| shared(name.as_str())).collect()),
        min_records: written.min_records.map_or(1, |records| records.get()),
        key: names(written.key.as_ref()),
        keeps_last: written.resolve == Some(Resolve::Last),
        essential,
        fields,
    })
}
