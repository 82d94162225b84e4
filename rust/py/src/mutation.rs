//! Mutation for Python: policies with a small mistake each, judged over the runs of tests with the GIL released.
use std::collections::BTreeMap;

use callgate_analysis::{tell_apart as search, try_out, Edit, Fate, Part, Run, Scope, Suite};
use callgate_core::compile::ManifestDocument;
use callgate_core::model::{Pointer, Segment};
use callgate_core::policy::Match;
use callgate_core::About;
use pyo3::prelude::*;

use crate::lift::to_python;
use crate::model::lift_document;
use crate::policy::CompiledPolicy;

/// Adds what this module has to the Python module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(mutate_expression, module)?)?;
    module.add_function(wrap_pyfunction!(tell_apart, module)?)?;
    module.add_function(wrap_pyfunction!(try_mutants, module)?)
}

/// (lines of a trace, tenant, labels, when it began)
type Lines = (Vec<u8>, Option<String>, Option<BTreeMap<String, String>>, Option<f64>);

/// (binding, agents, tenants, labels, whether it is a rollout)
type Named = (String, Option<Vec<String>>, Option<Vec<String>>, BTreeMap<String, String>, bool);

/// (resolved policy, manifests with their names, exceptions, whom it applies to)
type Judging<'py> = (Bound<'py, PyAny>, Vec<(String, Bound<'py, PyAny>)>, Vec<Bound<'py, PyAny>>, Option<Named>);

#[derive(FromPyObject)]
enum Step {
    #[pyo3(transparent)]
    Index(usize),
    #[pyo3(transparent)]
    Key(String),
}

/// (suite, policy, document, pointer, whether the value is taken away, what stands there instead)
type Change<'py> = (usize, usize, i64, Vec<Step>, bool, Bound<'py, PyAny>);

/// (suite, policy, [(run, rows, endings)])
type Differing<'py> = (usize, CompiledPolicy, Vec<(usize, Vec<Bound<'py, PyAny>>, Vec<Bound<'py, PyAny>>)>);

/// The small changes of an expression that turn it into another one.
///
/// Args:
///     source: the expression, of whatever type; it is taken for a condition.
///
/// Returns:
///     (start, end, replacement, what) of each, in code points of the text; none for a text that is no expression.
///
/// Example:
///     >>> from callgate import _core
///     >>> _core.mutate_expression("a < 1")[0]
///     (2, 3, '<=', 'flipped a comparison')
#[pyfunction]
#[pyo3(signature = (source))]
fn mutate_expression(source: &str) -> Vec<(usize, usize, String, &'static str)> {
    let points = |byte: u32| source.get(..byte as usize).map_or(0, |text| text.chars().count());
    let found = callgate_analysis::mutations(source).into_iter();
    found.map(|it| (points(it.span.start), points(it.span.end), it.with, it.what)).collect()
}

/// Judges mutants of policies over the runs of tests, and tells which runs come out otherwise than under the policy itself.
///
/// Args:
///     suites: the tests by what judges them: (policies, runs). A policy is (resolved policy, manifests with their names,
///         exceptions, whom it applies to), the last None for everyone, else (binding, agents, tenants, labels, rollout) as
///         for `bind_policies`; a run is (lines of a trace, tenant, labels, when it began in seconds since 1970).
///     mutants: each a list of edits (suite, policy, document, pointer, removed, value); `policy` is its position in the
///         suite, `document` -1 for the policy, else the position of the manifest.
///     enough: no more runs of a mutant are judged once so many have come out otherwise.
///     threads: how many are used, 1 or 2.
///
/// Returns:
///     For each mutant None where it does not compile or changes nothing; else for each suite whose policy it changes
///     (suite, the mutated policy, [(run, rows, endings)] of the runs that differ).
///
/// Raises:
///     TypeError: a document holds something that YAML has no form for.
#[pyfunction]
#[pyo3(signature = (suites, mutants, *, enough, threads = 2))]
fn try_mutants<'py>(
    py: Python<'py>,
    suites: Vec<(Vec<Judging<'py>>, Vec<Lines>)>,
    mutants: Vec<Vec<Change<'py>>>,
    enough: usize,
    threads: usize,
) -> PyResult<Vec<Option<Vec<Differing<'py>>>>> {
    let suites = suites.iter().map(|(parts, runs)| {
        Ok(Suite { parts: parts.iter().map(part).collect::<PyResult<Vec<_>>>()?, runs: runs.iter().map(run).collect() })
    });
    let suites = suites.collect::<PyResult<Vec<_>>>()?;
    let mut edits: Vec<BTreeMap<usize, Vec<Edit>>> = Vec::with_capacity(mutants.len());
    for mutant in mutants {
        let mut by_suite: BTreeMap<usize, Vec<Edit>> = BTreeMap::new();
        for (suite, part, document, pointer, removed, value) in mutant {
            by_suite.entry(suite).or_default().push(edit(part, document, pointer, removed, &value)?);
        }
        edits.push(by_suite);
    }
    let fates = py.detach(|| try_out(&suites, &edits, enough, threads));
    let told = fates.into_iter().map(|fate| match fate {
        Fate::Void => Ok(None),
        Fate::Judged(found) => found
            .into_iter()
            .map(|differing| {
                let runs = differing.runs.iter().map(|(run, judged)| {
                    let plain = |values: &[callgate_value::Value]| {
                        values.iter().map(|value| to_python(py, value)).collect::<PyResult<Vec<_>>>()
                    };
                    Ok((*run, plain(&judged.rows)?, plain(&judged.endings)?))
                });
                let runs = runs.collect::<PyResult<Vec<_>>>()?;
                Ok((differing.suite, CompiledPolicy { guard: differing.guard }, runs))
            })
            .collect::<PyResult<Vec<_>>>()
            .map(Some),
    });
    told.collect()
}

fn edit(part: usize, document: i64, pointer: Vec<Step>, removed: bool, value: &Bound<'_, PyAny>) -> PyResult<Edit> {
    let steps = pointer.into_iter().map(|step| match step {
        Step::Index(position) => Segment::Index(position),
        Step::Key(key) => Segment::Key(key),
    });
    let value = if removed { None } else { Some(lift_document(value)?) };
    Ok(Edit { part, manifest: usize::try_from(document).ok(), pointer: Pointer(steps.collect()), value })
}

/// (steps, decision, the mutant's decision, whether the tools are stand-ins)
type Apart<'py> = (Vec<Bound<'py, PyAny>>, Bound<'py, PyAny>, Bound<'py, PyAny>, bool);

/// Looks for a run that a policy and its mutant judge otherwise. Deterministic and bounded.
///
/// Args:
///     policy: the resolved policy.
///     manifests: the manifests in force, each with its name; without any, stand-ins are used.
///     edits: (document, pointer, removed, value): `document` is -1 for the policy, else the position of the manifest.
///     moment: a time in seconds at which something may be over for one of them alone.
///
/// Returns:
///     The steps of the run up to the call that is judged otherwise, what the policy and what its mutant decides of that one,
///     and whether the tools are stand-ins (`a_read`, `a_write`, `an_effect`, `a_transfer`); None where none was found.
///
/// Raises:
///     TypeError: a document holds something that YAML has no form for.
#[pyfunction]
#[pyo3(signature = (policy, manifests, edits, moment))]
fn tell_apart<'py>(
    py: Python<'py>,
    policy: Bound<'py, PyAny>,
    manifests: Vec<(String, Bound<'py, PyAny>)>,
    edits: Vec<(i64, Vec<Step>, bool, Bound<'py, PyAny>)>,
    moment: Option<f64>,
) -> PyResult<Option<Apart<'py>>> {
    let part = part(&(policy, manifests, Vec::new(), None))?;
    let edits =
        edits.into_iter().map(|(document, pointer, removed, value)| edit(0, document, pointer, removed, &value));
    let edits = edits.collect::<PyResult<Vec<_>>>()?;
    let Some(found) = py.detach(|| search(&part, &edits, moment)) else { return Ok(None) };
    let steps = found.steps.iter().map(|step| to_python(py, step)).collect::<PyResult<Vec<_>>>()?;
    Ok(Some((steps, to_python(py, &found.row)?, to_python(py, &found.other)?, found.is_stood_in)))
}

fn part(judging: &Judging<'_>) -> PyResult<Part> {
    let (document, manifests, exceptions, named) = judging;
    let manifests = manifests
        .iter()
        .map(|(name, document)| Ok(ManifestDocument { name: name.clone(), document: lift_document(document)? }));
    let scope = named.clone().map(|(binding, agents, tenants, labels, rollout)| Scope {
        binding,
        matching: Match { agents, tenants, labels },
        rollout,
    });
    Ok(Part {
        document: lift_document(document)?,
        manifests: manifests.collect::<PyResult<Vec<_>>>()?,
        exceptions: exceptions.iter().map(lift_document).collect::<PyResult<Vec<_>>>()?,
        scope,
    })
}

fn run((lines, tenant, labels, began): &Lines) -> Run {
    let about =
        About { tenant: tenant.clone(), labels: labels.clone().unwrap_or_default(), began: *began, ..About::default() };
    Run { lines: lines.clone(), about }
}
