//! Tools that are like another: `run_cmd: {extends: bash}` has the keys of `bash`, and its own in their place.
use rustc_hash::FxHashMap;

use super::{at, Faults, Place};
use crate::model::check::check_tool;
use crate::model::envelope::ToolManifest;
use crate::model::manifest::Tool;
use crate::model::spelling::did_you_mean;
use crate::model::texts::Name;
use crate::model::{codes, Fault};

/// Puts what each tool extends into it, over all manifests that are in force, by their position.
///
/// An alias, which adds nothing of its own, keeps the name of the tool that it comes to: it shares what that is compiled to.
pub(crate) fn resolve(read: &mut [(usize, ToolManifest)], faults: &mut Faults) {
    let mut written: FxHashMap<String, Tool> = FxHashMap::default();
    for (name, tool) in read.iter().flat_map(|(_, manifest)| manifest.spec.tools.iter().flat_map(|it| it.iter())) {
        written.entry(name.to_owned()).or_insert_with(|| tool.clone());
    }
    for (position, manifest) in read {
        let has_server = manifest.spec.server.is_some();
        let Some(tools) = &mut manifest.spec.tools else { continue };
        for (name, tool) in tools.iter_mut() {
            if tool.extends.is_none() {
                continue;
            }
            let place = at(&["spec", "tools", name]);
            match whole(name, tool, &written) {
                Ok(_) if tool.is_alias() => tool.extends = root(tool, &written),
                Ok(found) => {
                    // what names no argument there is a fault of the tool that writes it, and told of that one
                    let inherited = tool.parameters.is_none() && tool.identity.is_none() && tool.forms.is_none();
                    *tool = found;
                    for fault in check_tool(tool, has_server, &place) {
                        if !(inherited && fault.code == codes::UNDECLARED_ARGUMENT) {
                            faults.add(Place::Manifest(*position), fault);
                        }
                    }
                }
                Err(Broken::Unknown(missing)) => {
                    let names: Vec<&str> = written.keys().map(String::as_str).collect();
                    let message = format!("`{missing}` is no tool of the manifests in force");
                    let fault = Fault::value(codes::UNDECLARED_NAME, place.key("extends"), message);
                    faults.add(Place::Manifest(*position), fault.hint(did_you_mean(&missing, &names)));
                }
                Err(Broken::Circle(names)) => {
                    let message = format!("`extends` goes round in a circle: `{}`", names.join("` → `"));
                    let fault = Fault::value(codes::CONTRADICTING_KEYS, place.key("extends"), message);
                    faults.add(Place::Manifest(*position), fault.hint("leave one of them out"));
                }
            }
        }
    }
}

/// The first tool along the way of an alias that is none itself; the way ends, since it has been walked.
fn root(tool: &Tool, written: &FxHashMap<String, Tool>) -> Option<Name> {
    let base = tool.extends.clone()?;
    match written.get(base.as_str()) {
        Some(below) if below.is_alias() => root(below, written),
        _ => Some(base),
    }
}

enum Broken {
    Unknown(String),
    Circle(Vec<String>),
}

/// The tool with all that it extends, near before far.
fn whole(name: &str, tool: &Tool, written: &FxHashMap<String, Tool>) -> Result<Tool, Broken> {
    let mut path = vec![name.to_owned()];
    let mut found = tool.clone();
    while let Some(base) = found.extends.take() {
        let base = base.as_str().to_owned();
        let circle = path.contains(&base);
        path.push(base.clone());
        if circle {
            return Err(Broken::Circle(path));
        }
        let Some(below) = written.get(&base) else { return Err(Broken::Unknown(base)) };
        found = found.over(below);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use callgate_value::read_json;

    use crate::compile::{at, compile, Located, ManifestDocument};
    use crate::model::Pointer;

    fn faults(manifests: &[&str]) -> Vec<(Pointer, String)> {
        let policy = br#"{"apiVersion": "callgate/v1", "kind": "GuardPolicy", "metadata": {"name": "p"},
            "spec": {"budgets": {"preset": "simple"}}}"#;
        let documents: Vec<ManifestDocument> = manifests
            .iter()
            .enumerate()
            .map(|(position, tools)| {
                let json = format!(
                    r#"{{"apiVersion": "callgate/v1", "kind": "ToolManifest", "metadata": {{"name": "m{position}"}},
                        "spec": {{"tools": {tools}}}}}"#
                );
                ManifestDocument { name: format!("m{position}"), document: read_json(json.as_bytes()).unwrap() }
            })
            .collect();
        let (_, found) = compile(&read_json(policy).unwrap(), &documents);
        let told = |located: Located| (located.fault.pointer, located.fault.message);
        found.into_iter().map(told).collect()
    }

    #[test]
    fn a_tool_may_extend_one_of_another_manifest_that_extends_a_third() {
        let found = faults(&[
            r#"{"mine": {"extends": "shell", "timeout": "5s"}}"#,
            r#"{"shell": {"extends": "bash"}, "bash": {"effect": "read", "cache": {"ttl": "5m"}}}"#,
        ]);
        assert_eq!(found, []);
    }

    #[test]
    fn a_tool_that_is_not_there_and_a_circle_are_told_at_their_place() {
        let found = faults(&[r#"{"a": {"extends": "b"}, "b": {"extends": "a"}, "c": {"extends": "bsh"}, "bash": {}}"#]);
        let told = |tool: &str, message: &str| (at(&["spec", "tools", tool, "extends"]), message.to_owned());
        assert_eq!(
            found,
            [
                told("a", "`extends` goes round in a circle: `a` → `b` → `a`"),
                told("b", "`extends` goes round in a circle: `b` → `a` → `b`"),
                told("c", "`bsh` is no tool of the manifests in force"),
            ]
        );
    }

    #[test]
    fn what_contradicts_an_inherited_key_is_told_of_the_tool_that_extends() {
        let found = faults(&[r#"{"bash": {"effect": "write"}, "mine": {"extends": "bash", "cache": {"ttl": "5m"}}}"#]);
        let message = "a tool of effect `write` is never answered from a cache";
        assert_eq!(found, [(at(&["spec", "tools", "mine", "cache"]), message.to_owned())]);
    }
}
