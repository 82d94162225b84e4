//! To whom a policy applies, and what is lifted of it for a while.
use std::collections::BTreeMap;
use std::sync::Arc;

use super::Mode;
use crate::about::About;
use crate::Reason;

/// Agents, tenants and labels: all that is written must fit; of a list, one entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Match {
    /// Agents by name; none: every agent.
    pub agents: Option<Vec<String>>,
    /// Tenants by name; none: every task, one without a tenant too.
    pub tenants: Option<Vec<String>>,
    /// Labels that the task must carry, each with its value.
    pub labels: BTreeMap<String, String>,
}

impl Match {
    /// Whether an agent of a task is meant.
    #[must_use]
    pub fn fits(&self, agent: &str, about: &About) -> bool {
        let one_of = |names: &Option<Vec<String>>, name: Option<&str>| {
            names.as_ref().is_none_or(|names| names.iter().any(|have| Some(have.as_str()) == name))
        };
        one_of(&self.agents, Some(agent))
            && one_of(&self.tenants, about.tenant.as_deref())
            && self.labels.iter().all(|(name, value)| about.labels.get(name) == Some(value))
    }
}

/// The binding that a policy applies under, as verdicts show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// Its name.
    pub name: Arc<str>,
    /// The policy's name.
    pub policy: Arc<str>,
    /// The mode in force.
    pub mode: Mode,
    /// Whether the policy is being rolled out here, in a mode weaker than its own.
    pub rollout: bool,
}

/// Findings that are lifted for a while.
#[derive(Clone, Debug, PartialEq)]
pub struct Exception {
    /// Its name.
    pub name: Arc<str>,
    /// The reasons that it lifts, each with the rule's id for [`Reason::Rule`].
    pub lifts: Vec<(Reason, Option<Arc<str>>)>,
    /// The tools that it is about; none: all.
    pub tools: Option<Vec<String>>,
    /// Whose calls it is about.
    pub matching: Match,
    /// When it ends, in seconds since 1970-01-01T00:00:00Z.
    pub expires: f64,
}

impl Exception {
    /// Whether it stands for a call at a moment on the wall clock. Where the moment is not known it does not.
    #[must_use]
    pub fn covers(&self, tool: &str, agent: &str, about: &About, moment: Option<f64>) -> bool {
        moment.is_some_and(|moment| moment < self.expires)
            && self.tools.as_ref().is_none_or(|tools| tools.iter().any(|name| name == tool))
            && self.matching.fits(agent, about)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about(tenant: Option<&str>, labels: &[(&str, &str)]) -> About {
        let labels = labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        About { tenant: tenant.map(str::to_owned), labels, ..About::default() }
    }

    #[test]
    fn all_that_is_written_must_fit_and_of_a_list_one_entry() {
        let names = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
        let labels = BTreeMap::from([("team".to_owned(), "a".to_owned())]);
        let matching = Match { agents: names(&["root", "worker"]), tenants: names(&["acme"]), labels };
        let acme = about(Some("acme"), &[("team", "a"), ("env", "prod")]);
        assert!(matching.fits("worker", &acme));
        assert!(!matching.fits("other", &acme));
        assert!(!matching.fits("worker", &about(Some("zeta"), &[("team", "a")])));
        assert!(!matching.fits("worker", &about(None, &[("team", "a")])));
        assert!(!matching.fits("worker", &about(Some("acme"), &[("team", "b")])));
        assert!(!matching.fits("worker", &about(Some("acme"), &[])));
        assert!(Match::default().fits("anyone", &about(None, &[])));
    }

    #[test]
    fn an_exception_ends_at_its_moment_and_without_one_never_begins() {
        let exception = Exception {
            name: "x".into(),
            lifts: Vec::new(),
            tools: Some(vec!["grep".to_owned()]),
            matching: Match::default(),
            expires: 100.0,
        };
        let covers = |tool: &str, moment: Option<f64>| exception.covers(tool, "root", &about(None, &[]), moment);
        assert!(covers("grep", Some(99.9)));
        assert!(!covers("grep", Some(100.0)));
        assert!(!covers("grep", None));
        assert!(!covers("ls", Some(0.0)));
    }
}
