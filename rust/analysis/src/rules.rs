//! Whether a rule fires: calls and results are made of what its condition asks, and played until it does.
use callgate_cel::{Claim, Place, Root, Scalar, Step, Test};
use callgate_core::compile::ManifestDocument;
use callgate_core::policy::{Phase, Policy, Rule};
use callgate_core::Reason;
use callgate_value::Value;

use crate::caller::{only_rules, plain, schema_of, undeclared, Caller};
use crate::claims::{cases, is, value, Claims};
use crate::situation::Situation;
use crate::trial::{Played, Trial};
use crate::wish::{wishes, Wanted, Wish};

/// Engine calls for one rule.
const CALLS: usize = 2_000;
/// Combinations of values that are tried for one case of a condition.
const COMBINATIONS: usize = 160;

/// Whether a run was found that fires the rule.
pub(crate) fn fires(policy: &Policy, tools: &[Caller], manifests: &[ManifestDocument], rule: &Rule) -> bool {
    let alone = only_rules(policy, vec![rule.clone()]);
    let mut trial = Trial::new(&alone, CALLS);
    let claims = Claims { policy, with_params: true };
    let condition = claims.of(&rule.when, true);
    for caller in about(policy, tools, rule, &condition) {
        for extra in circumstances(&claims, rule, &caller) {
            let whole = Claim::All(vec![condition.clone(), caller.claim.clone(), extra]);
            match search(&mut trial, policy, manifests, rule, &caller, &whole) {
                Some(true) => return true,
                Some(false) => {}
                None => return false,
            }
        }
    }
    false
}

/// The tools that the rule may be asked about.
fn about(policy: &Policy, tools: &[Caller], rule: &Rule, condition: &Claim) -> Vec<Caller> {
    let mut names: Vec<String> = rule.tools.clone();
    let mut found = tools.to_vec();
    if rule.tools.is_empty() {
        named(condition, &mut names);
    } else {
        found.retain(|caller| names.iter().any(|name| **name == *caller.tool.name));
    }
    // those that the condition names come first
    found.sort_by_key(|caller| !names.iter().any(|name| **name == *caller.tool.name));
    if !policy.refuse_undeclared {
        let known = |name: &String| found.iter().any(|caller| *caller.tool.name == **name);
        let others: Vec<Caller> =
            names.iter().filter(|name| !known(name)).map(|name| undeclared(policy, name)).collect();
        found.splice(0..0, others);
    }
    found
}

/// Names of tools that the condition asks for.
fn named(claim: &Claim, names: &mut Vec<String>) {
    match claim {
        Claim::All(claims) | Claim::Any(claims) => claims.iter().for_each(|claim| named(claim, names)),
        Claim::Tested { place: Place { root: Root::Variable(name), .. }, .. }
            if matches!(&**name, "call.tool" | "tool.name") =>
        {
            for wish in wishes(&[claim], None) {
                if let Wanted::Values(values) = wish.wanted {
                    names
                        .extend(values.iter().filter_map(Value::as_str).filter(|it| !it.is_empty()).map(str::to_owned));
                }
            }
        }
        _ => {}
    }
}

/// What else has to be so: for a rule that looks at an outcome, the kinds of outcomes that the manifest tells apart.
fn circumstances(claims: &Claims<'_>, rule: &Rule, caller: &Caller) -> Vec<Claim> {
    if rule.phase == Phase::Admit {
        return vec![Claim::Truth(true)];
    }
    let contract = &caller.tool.result;
    let failed = |truth| contract.failed_when.as_ref().map(|when| claims.of(when, truth));
    let empty = |truth| contract.empty_when.as_ref().map(|when| claims.of(when, truth));
    let all = |parts: Vec<Option<Claim>>| Claim::All(parts.into_iter().flatten().collect());
    vec![
        all(vec![failed(false), empty(false)]),
        all(vec![failed(false), empty(true)]),
        all(vec![failed(true)]),
        is("grade", callgate_cel::Scalar::String("sufficient".into())),
        Claim::Truth(true),
    ]
}

/// True once the rule has fired, false if nothing fired it, none if the allowance is used up.
fn search(
    trial: &mut Trial<'_>,
    policy: &Policy,
    manifests: &[ManifestDocument],
    rule: &Rule,
    caller: &Caller,
    whole: &Claim,
) -> Option<bool> {
    let other = |name: &str| plain(schema_of(manifests, name));
    for way in cases(whole).unwrap_or_else(|| vec![flat(whole)]) {
        let mut wanted = wishes(&way, caller.schema.as_ref());
        if way.iter().any(|leaf| matches!(leaf, Claim::Opaque)) {
            unread(rule, &mut wanted, caller.schema.as_ref());
        }
        let sizes: Vec<usize> = wanted
            .iter()
            .map(|wish| match &wish.wanted {
                Wanted::Values(values) => values.len(),
                Wanted::Absent => 1,
            })
            .collect();
        for choice in choices(&sizes) {
            let situation = Situation::plain(&caller.tool.name, plain(caller.schema.as_ref()));
            let situation = situation.with(policy, &caller.tool, &wanted, &choice);
            let played = trial.play(&situation, &other)?;
            if has_fired(rule, &played) {
                return Some(true);
            }
        }
    }
    Some(false)
}

fn has_fired(rule: &Rule, played: &Played) -> bool {
    // a rule about arguments that the tool refuses anyway has nothing to say
    if played.findings.iter().any(|finding| finding.reason == Reason::InvalidArguments) {
        return false;
    }
    match rule.phase {
        Phase::Admit => played.findings.iter().any(|finding| finding.rule.as_ref() == Some(&rule.id)),
        Phase::Observe => {
            let noted = played.notes.iter().any(|note| note.rule.as_ref() == Some(&rule.id));
            noted || played.stop.as_ref().is_some_and(|stop| stop.rule.as_deref() == Some(&*rule.id))
        }
    }
}

/// All leaves of a claim with too many cases: a guess.
fn flat(claim: &Claim) -> Vec<&Claim> {
    match claim {
        Claim::All(claims) => claims.iter().flat_map(flat).collect(),
        Claim::Any(claims) => claims.first().map(flat).unwrap_or_default(),
        leaf => vec![leaf],
    }
}

/// Wishes for what an expression reads in a way that is not worked out: any values, and those around its literals.
fn unread(rule: &Rule, wanted: &mut Vec<Wish>, schema: Option<&Value>) {
    let literals = rule.when.literals();
    for variable in ["args", "result", "hints"] {
        for field in rule.when.fields_of(variable) {
            let steps = vec![Step::Field(field.into())];
            let place = Place { root: Root::Variable(variable.into()), steps, through: Vec::new() };
            if wanted.iter().all(|wish| wish.place != place) {
                let leaf = Claim::Tested { place, test: Test::Present, holds: true };
                wanted.extend(wishes(&[&leaf], schema).into_iter().map(|wish| around(wish, &literals)));
            }
        }
    }
}

fn around(wish: Wish, literals: &[Scalar]) -> Wish {
    let Wanted::Values(mut values) = wish.wanted else { return wish };
    for literal in literals {
        values.push(value(literal));
        match literal {
            Scalar::Int(number) => {
                let near = [number.saturating_add(1), number.saturating_sub(1), number.saturating_mul(2)];
                values.extend(near.map(Value::Int));
            }
            Scalar::Double(number) => values.extend([number + 1.0, number - 1.0, number * 2.0].map(Value::Float)),
            _ => {}
        }
    }
    Wish { wanted: Wanted::Values(values), ..wish }
}

/// Which value of each wish is taken: the first of all, then those with ever more second thoughts.
fn choices(sizes: &[usize]) -> Vec<Vec<usize>> {
    let most: usize = sizes.iter().map(|size| size.saturating_sub(1)).fold(0, usize::saturating_add);
    let mut found = Vec::new();
    for sum in 0..=most.min(64) {
        spread(sizes, sum, &mut Vec::new(), &mut found);
        if found.len() >= COMBINATIONS {
            break;
        }
    }
    found.truncate(COMBINATIONS);
    found
}

fn spread(sizes: &[usize], sum: usize, so_far: &mut Vec<usize>, found: &mut Vec<Vec<usize>>) {
    if found.len() >= COMBINATIONS {
        return;
    }
    let Some((size, rest)) = sizes.split_first() else {
        if sum == 0 {
            found.push(so_far.clone());
        }
        return;
    };
    let room: usize = rest.iter().map(|size| size.saturating_sub(1)).fold(0, usize::saturating_add);
    for take in sum.saturating_sub(room)..=sum.min(size.saturating_sub(1)) {
        so_far.push(take);
        spread(rest, sum.saturating_sub(take), so_far, found);
        so_far.pop();
    }
}
