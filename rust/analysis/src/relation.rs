//! How the conditions of two policies' rules stand to each other: which fires wherever the other does, if that is proved.
//!
//! An expression that fails is no plain false: before a call it refuses under `on_error: refuse`. So a condition counts
//! as wider only if both are proved: where the old one is true, so is the new one; and where the new one is false, the
//! old one neither was true nor failed.
use callgate_cel::{Claim, Order, Place, Root, Scalar, Step, Test};
use callgate_core::compile::ManifestDocument;
use callgate_core::policy::{Policy, Rule};
use callgate_value::Value;

use crate::caller::{forms_differ, schema_of};
use crate::claims::Claims;
use crate::clash::clash;
use crate::domain;

/// How a new condition stands to an old one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// Each fires exactly where the other does.
    Equal,
    /// The new one fires wherever the old one did.
    Wider,
    /// The new one fires only where the old one did.
    Narrower,
    /// Neither is proved.
    Unknown,
}

impl Relation {
    /// The word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Equal => "equal",
            Self::Wider => "wider",
            Self::Narrower => "narrower",
            Self::Unknown => "unknown",
        }
    }
}

/// The rules that both policies have, by id, and how the condition of the new one stands to that of the old one, over the
/// tools that the new rule is about.
///
/// `manifests` are those that are the same for both: only their schemas are believed. `with_params`: parameters have the
/// values that the policies give them, as under a binding; else they may be anything, the same in both.
#[must_use]
pub fn relations(
    old: &Policy,
    new: &Policy,
    manifests: &[ManifestDocument],
    with_params: bool,
) -> Vec<(String, Relation)> {
    let pairs = new.rules.iter().filter_map(|rule| {
        let before = old.rules.iter().find(|before| before.id == rule.id)?;
        Some((before, rule))
    });
    pairs
        .map(|(before, rule)| (rule.id.to_string(), relation(old, before, new, rule, manifests, with_params)))
        .collect()
}

fn relation(
    old: &Policy,
    before: &Rule,
    new: &Policy,
    rule: &Rule,
    manifests: &[ManifestDocument],
    with_params: bool,
) -> Relation {
    if before.phase != rule.phase {
        return Relation::Unknown;
    }
    let names: Vec<Option<&String>> = match rule.tools.as_slice() {
        [] => vec![None],
        names => names.iter().map(Some).collect(),
    };
    if ![old, new].iter().all(|policy| policy.variables.iter().all(|(_, it)| it.fails_by_its_tests()))
        || ![before, rule].iter().all(|rule| rule.when.fails_by_its_tests())
    {
        return Relation::Unknown;
    }
    let (was, is) = (Claims { policy: old, with_params }, Claims { policy: new, with_params });
    let earlier = (was.of(&before.when, true), was.of(&before.when, false));
    let later = (is.of(&rule.when, true), is.of(&rule.when, false));
    let schemas = names.iter().map(|name| {
        let name = name.as_ref()?;
        schema_of(manifests, name).filter(|_| !forms_differ(manifests, name))
    });
    let schemas: Vec<Option<&Value>> = schemas.collect();
    let within = |inner: &Claim, not_outer: &Claim| schemas.iter().all(|schema| covers(inner, not_outer, *schema));
    match (within(&earlier.0, &later.1), within(&later.0, &earlier.1)) {
        (true, true) => Relation::Equal,
        (true, false) => Relation::Wider,
        (false, true) => Relation::Narrower,
        (false, false) => Relation::Unknown,
    }
}

/// Whether one condition fires wherever another does, and fails or fires wherever the other fails: `holds` is what has to be
/// so for that other to be true, `not` what has to be so for the one to be false.
fn covers(holds: &Claim, not: &Claim, schema: Option<&Value>) -> bool {
    let never = |claim: Claim| clash(&claim, &|place| domain::of(place, schema)).is_some();
    never(Claim::All(vec![holds.clone(), lenient(not, schema)]))
        && never(Claim::All(vec![not.clone(), lenient(holds, schema)]))
}

/// The claim, or that a test of it fails: what has to be so for an expression not to come to the contrary.
fn lenient(claim: &Claim, schema: Option<&Value>) -> Claim {
    match claim {
        Claim::Truth(truth) => Claim::Truth(*truth),
        Claim::All(claims) => Claim::All(claims.iter().map(|claim| lenient(claim, schema)).collect()),
        Claim::Any(claims) => Claim::Any(claims.iter().map(|claim| lenient(claim, schema)).collect()),
        Claim::Tested { place, test, .. } => {
            let mut ways = vec![claim.clone()];
            ways.extend(failures(place, test, schema));
            Claim::Any(ways)
        }
        Claim::Some(..) | Claim::Every(..) | Claim::Opaque => Claim::Opaque,
    }
}

/// What has to be so for a test to fail: its value is not there, or of a kind that it cannot be asked of.
fn failures(place: &Place, test: &Test, schema: Option<&Value>) -> Vec<Claim> {
    if !place.through.is_empty() || matches!(test, Test::Within(_) | Test::Against(..)) {
        return vec![Claim::Opaque];
    }
    let mut found = Vec::new();
    // whether a field is there is asked of what is around it
    let mut read = place.clone();
    if *test == Test::Present {
        read.steps.pop();
    }
    if may_lack(&read, schema) {
        found.push(Claim::Tested { place: read.clone(), test: Test::Present, holds: false });
    }
    let Some(fits) = kinds_of(test) else { return found };
    let known = domain::of(&read, schema).kinds;
    let possible = known.unwrap_or_else(|| if is_data(&read) { KINDS.to_vec() } else { fits.to_vec() });
    let wrong = possible.into_iter().filter(|kind| !fits.contains(kind));
    found.extend(wrong.map(|kind| Claim::Tested { place: read.clone(), test: Test::Type(kind), holds: true }));
    found
}

/// The kinds of JSON values, as `domain` and `type` name them; a number is of type double as well as any other.
const KINDS: &[&str] = &["null_type", "bool", "number", "string", "list", "map"];

/// The kinds of values that a test can be asked of; none: all.
fn kinds_of(test: &Test) -> Option<&'static [&'static str]> {
    Some(match test {
        Test::Holds => &["bool"],
        Test::Is(Order::Equal | Order::Other, _) | Test::OneOf(_) | Test::Type(_) => return None,
        Test::Is(_, Scalar::Null) => &["null_type"],
        Test::Is(_, Scalar::Bool(_)) => &["bool"],
        Test::Is(_, Scalar::Int(_) | Scalar::Double(_)) => &["number"],
        Test::Is(_, Scalar::String(_)) => &["string"],
        Test::StartsWith(_) | Test::EndsWith(_) | Test::Contains(_) | Test::Matches(_) => &["string"],
        Test::Size(..) => &["string", "list", "map"],
        Test::Has(_) => &["list", "map"],
        Test::Present => &["map"],
        Test::Within(_) | Test::Against(..) => &[],
    })
}

/// Whether a place is data of the host, which may be anything; all else has the type that the checker knows.
fn is_data(place: &Place) -> bool {
    match &place.root {
        Root::Variable(name) => {
            let data = ["args", "result", "error", "hints", "params", "constants", "records", "task.context"];
            data.contains(&&**name) || !place.steps.is_empty()
        }
        Root::Element(_) | Root::Call(..) => true,
    }
}

/// Whether there may be nothing at a place that is read.
fn may_lack(place: &Place, schema: Option<&Value>) -> bool {
    let Root::Variable(name) = &place.root else { return true };
    match (&**name, place.steps.as_slice()) {
        ("args", []) => false,
        ("args", steps) => !is_required(steps, schema),
        ("result" | "error" | "hints", _) => true,
        (_, []) => false,
        _ => true,
    }
}

/// Whether every step of a way is a field that the schema of the arguments asks for.
fn is_required(steps: &[Step], schema: Option<&Value>) -> bool {
    let Some(root) = schema else { return false };
    steps.iter().enumerate().all(|(at, step)| {
        let (Step::Field(name), Some(before)) = (step, steps.get(..at)) else { return false };
        let around = domain::at(root, before);
        let required = around.and_then(|around| around.get("required")).and_then(Value::as_list);
        required.is_some_and(|names| names.iter().any(|other| other.as_str() == Some(&**name)))
    })
}

#[cfg(test)]
mod tests {
    use callgate_core::compile::compile;
    use callgate_value::read_json;

    use super::*;

    fn policy(when: &str, tools: &str, manifests: &[ManifestDocument]) -> Policy {
        let when = when.replace('"', "\\\"");
        let text = format!(
            r#"{{"apiVersion": "callgate/v1", "kind": "GuardPolicy", "metadata": {{"name": "p"}}, "spec": {{
                "constants": {{"most": 100}}, "variables": {{"large": "args.n > constants.most"}},
                "budgets": {{"steps": 9, "tokens": 9}}, "time": {{"task": "1m"}},
                "rules": [{{"id": "r", "tools": {tools}, "when": "{when}", "action": "refuse"}}]}}}}"#
        );
        let (policy, faults) = compile(&read_json(text.as_bytes()).unwrap(), manifests);
        policy.unwrap_or_else(|| panic!("{when}: {faults:?}"))
    }

    #[track_caller]
    fn stands(before: &str, after: &str) -> &'static str {
        let policies = [before, after].map(|when| policy(when, "[]", &[]));
        relations(&policies[0], &policies[1], &[], false)[0].1.name()
    }

    #[test]
    fn a_lower_bound_that_falls_is_wider_and_one_that_rises_narrower() {
        assert_eq!(stands("args.n > 100", "args.n > 50"), "wider");
        assert_eq!(stands("args.n > 100", "args.n >= 100"), "wider");
        assert_eq!(stands("args.n > 100", "args.n > 200"), "narrower");
        assert_eq!(stands("args.n > 100", "100 < args.n"), "equal");
        assert_eq!(stands("args.n > 100", "!(args.n <= 100)"), "wider"); // NaN is not at most 100 either
        assert_eq!(stands("args.n > 100", "args.n < 50"), "unknown");
    }

    #[test]
    fn more_alternatives_are_wider_and_more_conditions_narrower() {
        assert_eq!(stands("args.t == 'a'", "args.t == 'a' || args.t == 'b'"), "wider");
        assert_eq!(stands("args.t in ['a', 'b']", "args.t in ['a', 'b', 'c']"), "wider");
        assert_eq!(stands("args.n > 5", "args.n > 5 && args.m > 5"), "narrower");
        assert_eq!(stands("call.tool == 'a' || call.round > 3", "call.tool == 'a'"), "narrower");
        assert_eq!(stands("args.t.startsWith('/a/b')", "args.t.startsWith('/a')"), "wider");
        assert_eq!(stands("args.t.matches('a+')", "args.t.matches('a+') && args.t.contains('b')"), "narrower");
    }

    #[test]
    fn a_condition_that_no_longer_fails_is_not_taken_for_the_same() {
        // without `n` the old one failed, which refuses; the new one lets it through
        assert_eq!(stands("args.n > 100", "has(args.n) && args.n > 100"), "narrower");
        assert_eq!(stands("has(args.n) && args.n > 100", "args.n > 100"), "wider");
        // a text is no number: the old one failed on it, and so did not fire
        assert_eq!(stands("args.n > 100", "type(args.n) == string || args.n > 100"), "wider");
        // the new one asks for `m` too: where that is missing, it fails on small numbers that the old one let through
        assert_eq!(stands("args.n > 100", "args.n > 100 || (has(args.n) && args.m > 5)"), "wider");
        assert_eq!(stands("args.n > 100 && args.m > 5", "args.n > 100"), "wider");
    }

    #[test]
    fn what_is_not_worked_out_is_unknown() {
        assert_eq!(stands("args.a + args.b > 3", "args.a + args.b > 2"), "unknown");
        assert_eq!(stands("args.a ? args.n > 5 : args.n > 9", "args.a ? args.n > 4 : args.n > 9"), "unknown");
        assert_eq!(stands("args.l.exists(e, e > 5)", "args.l.exists(e, e > 4)"), "unknown");
    }

    #[test]
    fn variables_and_constants_are_put_in() {
        assert_eq!(stands("variables.large", "args.n > 50"), "wider");
        assert_eq!(stands("args.n > 100", "variables.large"), "equal");
    }

    #[test]
    fn a_schema_that_asks_for_a_field_says_that_it_is_there() {
        let schema = r#"{"spec": {"tools": {"pay": {"parameters": {"type": "object", "required": ["n", "m"],
            "properties": {"n": {"type": "number"}, "m": {"type": "number"}}}}}}}"#;
        let envelope = schema.replacen(
            "{\"spec\"",
            r#"{"apiVersion": "callgate/v1", "kind": "ToolManifest", "metadata": {"name": "m"}, "spec""#,
            1,
        );
        let document = read_json(envelope.as_bytes()).unwrap();
        let manifests = [ManifestDocument { name: "m".to_owned(), document }];
        let [before, after] =
            ["args.n > 5", "args.n > 5 && args.m > 5"].map(|when| policy(when, "[\"pay\"]", &manifests));
        assert_eq!(relations(&before, &after, &manifests, false)[0].1, Relation::Narrower);
    }
}
