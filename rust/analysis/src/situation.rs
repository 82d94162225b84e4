//! A call in its circumstances, made of wishes: what came before, what it is given, what comes back.
use std::sync::Arc;

use callgate_cel::{Place, Root, Step};
use callgate_core::policy::{Policy, Tool};
use callgate_core::{Outcome, Reported};
use callgate_value::{Map, Value};

use crate::wish::{put, remove, Wanted, Wish};

/// Calls made before the one that matters, at most.
pub(crate) const MOST_BEFORE: u64 = 600;

/// A call and all that a rule can see around it.
#[derive(Clone, Debug)]
pub(crate) struct Situation {
    pub(crate) tool: Arc<str>,
    pub(crate) arguments: Value,
    pub(crate) hints: Option<Value>,
    pub(crate) context: Value,
    pub(crate) task: String,
    pub(crate) agent: String,
    pub(crate) call_id: Option<String>,
    /// Agents above this one.
    pub(crate) depth: u64,
    pub(crate) now: f64,
    /// Calls before it, by tool; the empty name stands for the tool itself.
    pub(crate) before: Vec<(String, u64)>,
    pub(crate) tokens: f64,
    pub(crate) cost: f64,
    /// Whether the very call was made before, with the same result.
    pub(crate) again: bool,
    pub(crate) result: Option<Value>,
    pub(crate) error: Option<Reported>,
    /// Two wishes contradict each other, or nothing can be done for one.
    pub(crate) is_impossible: bool,
}

impl Situation {
    /// A plain call that succeeds with plain data.
    pub(crate) fn plain(tool: &str, arguments: Value) -> Self {
        Self {
            tool: tool.into(),
            arguments,
            hints: Some(Value::Map(Map::default())),
            context: Value::Map(Map::default()),
            task: "task".to_owned(),
            agent: "root".to_owned(),
            call_id: None,
            depth: 0,
            now: 1.0,
            before: Vec::new(),
            tokens: 0.0,
            cost: 0.0,
            again: false,
            result: Some(Value::Map(Map::default())),
            error: None,
            is_impossible: false,
        }
    }

    /// Puts each wish into place, its value of that number.
    pub(crate) fn with(mut self, policy: &Policy, tool: &Tool, wishes: &[Wish], choice: &[usize]) -> Self {
        for (wish, at) in wishes.iter().zip(choice) {
            match &wish.wanted {
                Wanted::Absent => self.absent(&wish.place),
                Wanted::Values(values) => match values.get(*at) {
                    Some(value) => self.put(policy, tool, &wish.place, value.clone()),
                    None => self.is_impossible = true,
                },
            }
        }
        self
    }

    /// What comes back.
    pub(crate) fn outcome(&self) -> Outcome {
        let failed = self.error.is_some();
        Outcome {
            result: self.result.clone().map(Arc::new),
            error: self.error.clone(),
            is_error: failed,
            ..Outcome::default()
        }
    }

    fn absent(&mut self, place: &Place) {
        let Root::Variable(name) = &place.root else { return };
        match &**name {
            "args" => remove(&mut self.arguments, &place.steps),
            "task.context" => remove(&mut self.context, &place.steps),
            "result" => {
                if let Some(result) = &mut self.result {
                    remove(result, &place.steps);
                }
            }
            _ => {}
        }
    }

    fn put(&mut self, policy: &Policy, tool: &Tool, place: &Place, value: Value) {
        let name = match &place.root {
            Root::Variable(name) => &**name,
            Root::Call(name, argument) if **name == *"task.calls" => {
                self.before.push((argument.to_string(), count(&value)));
                return;
            }
            Root::Call(..) | Root::Element(_) => return,
        };
        let text = || value.as_str().map(str::to_owned);
        match (name, place.steps.as_slice()) {
            ("args", steps) => put(&mut self.arguments, steps, value),
            ("hints", steps) => put(self.hints.get_or_insert(Value::Null), steps, value),
            ("task.context", steps) => put(&mut self.context, steps, value),
            ("result", steps) => put(self.result.get_or_insert(Value::Null), steps, value),
            ("records", steps) => match records_at(tool) {
                Some(at) => {
                    let steps: Vec<Step> = at.into_iter().chain(steps.iter().cloned()).collect();
                    put(self.result.get_or_insert(Value::Null), &steps, value);
                }
                None => self.is_impossible = true,
            },
            ("error", [Step::Field(field)]) => self.fail(field, &value),
            ("call.tool" | "tool.name", []) => self.is_impossible |= value.as_str() != Some(&*self.tool),
            ("call.id", []) => self.call_id = text(),
            ("task.id", []) => self.task = text().unwrap_or_default(),
            ("call.agent" | "session.agent", []) => self.agent = text().unwrap_or_default(),
            ("session.depth", []) => self.depth = count(&value).min(64),
            ("task.elapsed" | "session.elapsed" | "now", []) => {
                self.now = value.as_f64().filter(|now| *now >= 0.0).unwrap_or(self.now);
            }
            ("call.round", []) => self.before.push((String::new(), count(&value).saturating_sub(1))),
            ("grade", []) => self.grade(tool, value.as_str().unwrap_or_default()),
            ("gaps", []) => self.gap(tool, &value),
            ("gain", []) => self.again = value.as_f64() == Some(0.0),
            (name, []) => {
                if let Some((resource, figure)) = name.strip_prefix("budget.").and_then(|it| it.split_once('.')) {
                    self.spend(policy, resource, figure, value.as_f64().unwrap_or(0.0));
                }
            }
            _ => {}
        }
    }

    fn fail(&mut self, field: &str, value: &Value) {
        let error = self.error.get_or_insert_with(Reported::default);
        match (field, value) {
            ("type", value) => error.kind = value.as_str().map(Into::into),
            ("status", value) => {
                #[allow(clippy::cast_possible_truncation)] // statuses are small
                let status = value.as_f64().map(|status| status as i64);
                error.status = status;
            }
            ("message", value) => error.message = value.as_str().map(Into::into),
            ("class", value) => {
                error.kind = Some(match value.as_str().unwrap_or_default() {
                    "transient" => "network".into(),
                    "ambiguous" => "timeout".into(),
                    "format" => "invalid_arguments".into(),
                    "denied" => "denied".into(),
                    _ => "tool_error".into(),
                });
            }
            _ => {}
        }
        self.result = None;
    }

    fn grade(&mut self, tool: &Tool, grade: &str) {
        match grade {
            "failed" => self.fail("message", &Value::from("it failed")),
            "ungraded" => self.result = None,
            "empty" | "partial" | "sufficient" => {
                let Some(at) = records_at(tool) else { return };
                let full = record(&tool.result.required_fields, &tool.result.wanted_fields, 0);
                let records = match grade {
                    "empty" => Vec::new(),
                    "partial" => vec![Value::Map(Map::default())],
                    _ => vec![full; usize::try_from(tool.result.min_records.clamp(1, 64)).unwrap_or(1)],
                };
                put(self.result.get_or_insert(Value::Null), &at, Value::List(records));
            }
            _ => {}
        }
    }

    /// Records that lack a wanted field.
    fn gap(&mut self, tool: &Tool, value: &Value) {
        let (Some(at), Some(field)) = (records_at(tool), value.as_list().and_then(<[Value]>::first)) else {
            return;
        };
        let wanted: Vec<String> =
            tool.result.wanted_fields.iter().filter(|name| Some(name.as_str()) != field.as_str()).cloned().collect();
        let lacking = record(&tool.result.required_fields, &wanted, 0);
        put(self.result.get_or_insert(Value::Null), &at, Value::List(vec![lacking]));
    }

    fn spend(&mut self, policy: &Policy, resource: &str, figure: &str, wanted: f64) {
        let budgets = &policy.budgets;
        let limit = match resource {
            "steps" => budgets.steps,
            "tool_calls" => budgets.tool_calls,
            "tokens" => budgets.tokens,
            "cost" => budgets.cost,
            _ => None,
        };
        let used = match (figure, limit) {
            ("used", _) => wanted,
            ("left", Some(limit)) => limit - wanted,
            ("share", Some(limit)) => wanted * limit,
            _ => return,
        };
        match resource {
            "tokens" => self.tokens = used.max(0.0),
            "cost" => self.cost = used.max(0.0),
            "steps" | "tool_calls" => self.before.push((String::new(), count(&Value::Float(used.ceil())))),
            _ => {}
        }
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // clamped first
fn count(value: &Value) -> u64 {
    value.as_f64().map_or(0.0, |number| number.clamp(0.0, MOST_BEFORE as f64)) as u64
}

/// Where the records stand in a result, if the manifest's expression only reads them.
pub(crate) fn records_at(tool: &Tool) -> Option<Vec<Step>> {
    let expression = tool.result.records.as_ref()?;
    // an expression that guards itself reads the records of a field all the same
    let field = || expression.fields_of("result").first().map(|field| vec![Step::Field((*field).into())]);
    result_steps(expression).or_else(field)
}

/// The way from `result` to what an expression reads, or to what it reads if the result is a map.
pub(crate) fn result_steps(expression: &callgate_core::expression::Expression) -> Option<Vec<Step>> {
    let place = expression.place()?;
    let is_result = matches!(&place.root, Root::Variable(name) if **name == *"result");
    (is_result && place.through.is_empty()).then_some(place.steps)
}

/// A record with these fields, each with a text of that number.
pub(crate) fn record(required: &[String], wanted: &[String], number: u64) -> Value {
    let text = Value::from(format!("r{number}").as_str());
    let names = required.iter().chain(wanted);
    let mut entries: Vec<(callgate_value::Text, Value)> = Vec::new();
    for name in names {
        if !entries.iter().any(|(key, _)| key.as_str() == Some(name)) {
            entries.push((name.as_str().into(), text.clone()));
        }
    }
    if entries.is_empty() {
        entries.push(("id".into(), text));
    }
    Map::new(entries).map_or(Value::Null, Value::Map)
}
