//! Coverage: what of a policy its runs have exercised. Each rule and each boolean part of an expression both ways, each
//! rung, budget, edge, form, need and exit that is written.
use std::sync::Arc;

use callgate_core::compile::{ManifestDocument, Place};
use callgate_core::model::Pointer;
use callgate_core::policy::Policy;
use callgate_core::watch::{Evaluation, Event, Log, Outcomes, Watch, Witness};
use callgate_core::{ExitDecision, Status};
use callgate_value::Value;
use rustc_hash::FxHashMap;

use crate::budgets::Budget;
use crate::coverable::coverable;
use crate::detectors::Rung;
use crate::reached::{self, Scope};
use crate::watched::{watched, Watched};
use crate::written::Written;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// A rule as a whole.
    Rule,
    /// Another condition, or a boolean part of one.
    Part,
    /// A rung of a detector, or a limit of a wait.
    Rung,
    /// A budget.
    Budget,
    /// An edge of the fallback.
    Edge,
    /// A form of a tool, or the tool itself.
    Form,
    /// A need.
    Need,
    /// A way in which a run ends.
    Exit,
}

impl Counted {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Rule => "rule",
            Self::Part => "part",
            Self::Rung => "rung",
            Self::Budget => "budget",
            Self::Edge => "edge",
            Self::Form => "form",
            Self::Need => "need",
            Self::Exit => "exit",
        }
    }
}

/// Something that a run can exercise.
#[derive(Clone, Debug)]
pub struct Item {
    /// Which document it stands in.
    pub place: Place,
    /// Where in it.
    pub pointer: Pointer,
    /// From which to which code point of the text there; none: all of it.
    pub span: Option<(usize, usize)>,
    /// What it is.
    pub kind: Counted,
    /// What it has to do: `fires`, `is true`, `refuses`.
    pub outcome: &'static str,
    /// What it belongs to, as authors call it: ``the rule `ceiling` ``.
    pub owner: String,
}

/// How it shows that an item was exercised.
pub(crate) enum Shown {
    /// A part of an expression, none for the whole, came to this.
    Came { witness: usize, node: Option<u32>, truth: bool },
    /// A call had this form; none: the tool itself.
    Formed { tool: String, form: Option<usize> },
    /// A rung spoke.
    Rung(Scope, Rung),
    /// A limit of a wait spoke.
    Waited { tool: String, form: Option<usize>, key: &'static str },
    /// A budget refused.
    Spent(Budget),
    /// A call of `from` was followed by the proposal of `to`, or not.
    Offered { from: Arc<str>, to: Arc<str>, truth: bool },
    /// A run ended with the need met, or not.
    Met { need: usize, truth: bool },
    /// A run was ended in this state with this decision.
    Ended { status: Status, exit: ExitDecision },
}

/// A policy that is watched, and all that can be exercised in it.
pub struct Coverage {
    policy: Policy,
    items: Vec<Item>,
    shown: Vec<Shown>,
    witnesses: Vec<Arc<Witness>>,
    expressions: Vec<(Place, Pointer, Arc<str>)>,
    /// By tool: whose forms it has, and which tool it stands for.
    roots: FxHashMap<String, (String, String)>,
    watch: Arc<Watch>,
    log: Option<Arc<Log>>,
}

/// The tool that writes a form, and which of its forms it is; none: the tool itself.
type FormOf = (String, Option<usize>);

/// An evaluation with the place of its expression, and its text.
pub type Placed<'c> = (Place, &'c Pointer, &'c str, Evaluation);

impl Coverage {
    /// Watches a compiled policy. `document` is the resolved policy that it was compiled from, `manifests` those in force.
    /// With `values` every evaluation is kept, with the values of its parts.
    #[must_use]
    pub fn new(policy: &Policy, document: &Value, manifests: &[ManifestDocument], values: bool) -> Self {
        let log = values.then(|| Arc::new(Log::default()));
        let watch = Arc::new(Watch::default());
        let Watched { mut policy, sites } = watched(policy, manifests, log.as_ref());
        policy.watch = Some(Arc::clone(&watch));
        let written = Written::of(manifests);
        let (items, shown) = coverable(&policy, document, &written, &sites).into_iter().unzip();
        let root = |(name, ..): (&str, usize, &Value)| {
            let forms = written.writer(name, "forms").map_or(name, |(writer, ..)| writer);
            (name.to_owned(), (forms.to_owned(), written.meant(name).to_owned()))
        };
        Self {
            policy,
            items,
            shown,
            witnesses: sites.iter().filter_map(|site| site.expression.witness().cloned()).collect(),
            expressions: sites
                .into_iter()
                .map(|site| (site.place, site.pointer, Arc::from(site.expression.written())))
                .collect(),
            roots: written.tools().into_iter().map(root).collect(),
            watch,
            log,
        }
    }

    /// The policy, watched: what is judged under it counts.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// All that can be exercised.
    #[must_use]
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// The positions of the items that were exercised since the last time.
    #[must_use]
    pub fn take(&self) -> Vec<usize> {
        let came: Vec<FxHashMap<Option<u32>, Outcomes>> = self
            .witnesses
            .iter()
            .map(|witness| {
                let nodes = witness.parts().iter().map(|part| Some(part.node));
                nodes.chain([None]).map(|node| (node, witness.take(node))).collect()
            })
            .collect();
        let events: Vec<(Event, Option<FormOf>)> = self
            .watch
            .take()
            .into_iter()
            .map(|event| (self.form(&event), event))
            .map(|(form, it)| (it, form))
            .collect();
        let is_shown = |shown: &Shown| match shown {
            Shown::Came { witness, node, truth } => {
                let outcomes = came.get(*witness).and_then(|came| came.get(node));
                outcomes.is_some_and(|it| if *truth { it.was_true } else { it.was_false })
            }
            other => events.iter().any(|(event, form)| self.shows(event, form.as_ref(), other)),
        };
        self.shown.iter().enumerate().filter(|(_, shown)| is_shown(shown)).map(|(at, _)| at).collect()
    }

    /// The evaluations since the last time.
    #[must_use]
    pub fn take_evaluations(&self) -> Vec<Placed<'_>> {
        let evaluations = self.log.as_ref().map(|log| log.take()).unwrap_or_default();
        let placed = evaluations.into_iter().filter_map(|evaluation| {
            let (place, pointer, source) = self.expressions.get(evaluation.expression)?;
            Some((*place, pointer, &**source, evaluation))
        });
        placed.collect()
    }

    /// The form that an event is about, by the tool that writes it.
    fn form(&self, event: &Event) -> Option<FormOf> {
        let (Event::Called { tool, .. } | Event::Said { tool, .. }) = event else { return None };
        let entry = self.policy.tools.get(&*tool.name)?;
        let (forms, meant) = self.roots.get(&*tool.name)?;
        let form = entry.forms.iter().position(|(_, form)| Arc::ptr_eq(form, tool));
        match form {
            Some(form) => Some((forms.clone(), Some(form))),
            None => Arc::ptr_eq(&entry.base, tool).then(|| (meant.clone(), None)),
        }
    }

    fn shows(&self, event: &Event, at: Option<&FormOf>, shown: &Shown) -> bool {
        let is_at = |tool: &String, form: Option<usize>| at.is_some_and(|at| at.0 == *tool && at.1 == form);
        match (event, shown) {
            (Event::Called { .. }, Shown::Formed { tool, form }) => is_at(tool, *form),
            (Event::Called { tool, offers: Some(offers) }, Shown::Offered { from, to, truth }) => {
                tool.name == *from && offers.contains(to) == *truth
            }
            (Event::Said { reason, did, tool, evidence }, Shown::Rung(scope, rung)) => {
                scope.is_of(tool) && reached::is_rung(rung, *reason, *did, tool, evidence)
            }
            (Event::Said { reason, did, tool, evidence }, Shown::Waited { tool: name, form, key }) => {
                is_at(name, *form) && reached::is_wait(key, *reason, *did, tool, evidence)
            }
            (Event::Said { reason, tool, evidence, .. }, Shown::Spent(budget)) => {
                reached::is_spent(budget, &self.policy, *reason, tool, evidence)
            }
            (Event::Ended { needs, .. }, Shown::Met { need, truth }) => needs.get(*need) == Some(truth),
            (Event::Ended { status, exit, .. }, Shown::Ended { status: wanted, exit: decision }) => {
                *status == Some(*wanted) && *exit == Some(*decision)
            }
            _ => false,
        }
    }
}
