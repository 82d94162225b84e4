//! The tools that a policy can be tried with: those in force, or stand-ins where no manifest is.
use std::sync::Arc;

use callgate_core::compile::ManifestDocument;
use callgate_core::expression::Claim;
use callgate_core::policy::{Detectors, Mode, Policy, Rule, Tool, ToolEntry};
use callgate_value::{Map, Value};

use crate::claims::{cases, Claims};
use crate::sample::sample;
use crate::wish::{put, wishes, Wanted};

/// A name that no manifest has.
pub(crate) const UNDECLARED: &str = "some_tool";

/// A tool in one of its forms, with arguments that bring it into that form.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub(crate) tool: Arc<Tool>,
    pub(crate) schema: Option<Value>,
    /// What the arguments have to be for the form.
    pub(crate) claim: Claim,
    /// Arguments that have the form, the likeliest first.
    pub(crate) arguments: Vec<Value>,
}

/// The schemas of the tools' arguments, from the documents.
pub(crate) fn schema_of<'d>(manifests: &'d [ManifestDocument], tool: &str) -> Option<&'d Value> {
    let declared =
        |manifest: &'d ManifestDocument| manifest.document.get("spec")?.get("tools")?.get(tool)?.get("parameters");
    manifests.iter().find_map(declared)
}

/// Whether a form of the tool takes other arguments than the tool itself.
pub(crate) fn forms_differ(manifests: &[ManifestDocument], tool: &str) -> bool {
    manifests.iter().any(|manifest| {
        let tool = manifest.document.get("spec").and_then(|spec| spec.get("tools")).and_then(|tools| tools.get(tool));
        let forms = tool.and_then(|tool| tool.get("forms")).and_then(Value::as_list).unwrap_or_default();
        forms.iter().any(|form| form.get("parameters").is_some())
    })
}

/// Every tool in force in every form, in the order of their names, and an undeclared one where such are allowed.
pub(crate) fn callers(policy: &Policy, manifests: &[ManifestDocument]) -> Vec<Caller> {
    let mut names: Vec<&String> = policy.tools.keys().collect();
    names.sort();
    let mut found = Vec::new();
    for name in names {
        let Some(entry) = policy.tools.get(name) else { continue };
        let schema = schema_of(manifests, name);
        for (at, (when, tool)) in entry.forms.iter().enumerate() {
            let Some(when) = when else { continue };
            let claims = Claims { policy, with_params: true };
            let mut whole = vec![claims.of(when, true)];
            let earlier = entry.forms.iter().take(at).filter_map(|(when, _)| when.as_ref());
            whole.extend(earlier.map(|when| claims.of(when, false)));
            let claim = Claim::All(whole);
            let arguments = fitting(&claim, schema);
            found.push(Caller { tool: Arc::clone(tool), schema: schema.cloned(), claim, arguments });
        }
        let always = entry.forms.iter().find(|(when, _)| when.is_none()).map(|(_, tool)| tool);
        let tool = Arc::clone(always.unwrap_or(&entry.base));
        // none of the forms before it
        let claims = Claims { policy, with_params: true };
        let conditions = entry.forms.iter().filter_map(|(when, _)| when.as_ref());
        let claim = Claim::All(conditions.map(|when| claims.of(when, false)).collect());
        let arguments = fitting(&claim, schema);
        found.push(Caller { tool, schema: schema.cloned(), claim, arguments });
    }
    if !policy.refuse_undeclared {
        found.push(undeclared(policy, UNDECLARED));
    }
    found
}

/// A tool that no manifest declares.
pub(crate) fn undeclared(policy: &Policy, name: &str) -> Caller {
    let detectors = policy.undeclared_special.get(name).unwrap_or(&policy.undeclared);
    let tool = Arc::new(Tool::undeclared(name, Arc::clone(detectors)));
    Caller { tool, schema: None, claim: Claim::Truth(true), arguments: vec![plain(None)] }
}

/// Plain arguments.
pub(crate) fn plain(schema: Option<&Value>) -> Value {
    match schema.map(|schema| sample(schema, schema, 0)) {
        Some(Value::Map(map)) => Value::Map(map),
        _ => Value::Map(Map::default()),
    }
}

/// Arguments for which a claim about `args` can hold.
pub(crate) fn fitting(claim: &Claim, schema: Option<&Value>) -> Vec<Value> {
    let mut found = Vec::new();
    for way in cases(claim).unwrap_or_default().into_iter().take(16) {
        let mut arguments = plain(schema);
        for wish in wishes(&way, schema) {
            if let Wanted::Values(values) = wish.wanted {
                if let Some(first) = values.into_iter().next() {
                    put(&mut arguments, &wish.place.steps, first);
                }
            }
        }
        found.push(arguments);
    }
    found.push(plain(schema));
    found
}

/// The policy with the rules that are given and no detectors, enforced: what it says of a call is said by these alone.
pub(crate) fn only_rules(policy: &Policy, rules: Vec<Rule>) -> Policy {
    let bare = Arc::new(Detectors::default());
    Policy { rules, mode: Mode::Enforce, on_error_allow_reads: false, ..with_detectors(policy, &|_| Arc::clone(&bare)) }
}

/// The policy with other thresholds for each tool.
pub(crate) fn with_detectors(policy: &Policy, of: &dyn Fn(&Tool) -> Arc<Detectors>) -> Policy {
    let other = |tool: &Arc<Tool>| Arc::new(Tool { detectors: of(tool), ..(**tool).clone() });
    let entry = |entry: &ToolEntry| ToolEntry {
        base: other(&entry.base),
        undecided: other(&entry.undecided),
        forms: entry.forms.iter().map(|(when, tool)| (when.clone(), other(tool))).collect(),
    };
    let stand_in = |name: &str, detectors: &Arc<Detectors>| of(&Tool::undeclared(name, Arc::clone(detectors)));
    Policy {
        tools: policy.tools.iter().map(|(name, tool)| (name.clone(), entry(tool))).collect(),
        undeclared: stand_in(UNDECLARED, &policy.undeclared),
        undeclared_special: policy
            .undeclared_special
            .iter()
            .map(|(name, detectors)| (name.clone(), stand_in(name, detectors)))
            .collect(),
        ..policy.clone()
    }
}

/// Tools for a policy that names none, such as a pack: one of each class that detectors tell apart.
const STAND_INS: &str = r#"{"apiVersion": "callgate/v1", "kind": "ToolManifest", "metadata": {"name": "stand-ins"}, "spec": {"tools": {
    "a_read": {"effect": "read", "result": {"records": "result.items"}},
    "a_write": {"effect": "write", "result": {"state": "result.state"}},
    "an_effect": {"effect": "external"},
    "a_transfer": {"effect": "control", "transfer": true}
}}}"#;

/// The manifest of the stand-ins.
pub(crate) fn stand_ins() -> Option<ManifestDocument> {
    let document = callgate_value::read_json(STAND_INS.as_bytes()).ok()?;
    Some(ManifestDocument { name: "stand-ins".to_owned(), document })
}
