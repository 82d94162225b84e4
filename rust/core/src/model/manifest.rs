//! `ToolManifest`: what is known about tools.
use super::cel::Cel;
use super::data::{Data, DataMap};
use super::declare::{model, union, words};
use super::limit::Limit;
use super::numbers::{Count, Factor};
use super::reader::Named;
use super::texts::{Name, Pattern, Text};
use super::times::Duration;

model! {
    /// The tools of a manifest.
    #[derive(Default)]
    pub struct ManifestSpec {
        /// The server that these tools live on.
        pub server: Option<Name>,
        /// The tools by name.
        pub tools: Option<Named<Tool>>,
    }
}

words! {
    /// What a call of a tool may change.
    pub enum Effect {
        /// Nothing: calling it again is safe, and its results may be reused.
        Read = "read",
        /// The task's own workspace; it can be undone there.
        Write = "write",
        /// The world outside: a message sent, an order placed.
        External = "external",
        /// A user interface, which may have changed without saying so.
        Ui = "ui",
        /// The agent itself: plans, thoughts, transfers.
        Control = "control",
        /// Not known. The default.
        Unknown = "unknown",
    }
}

/// The keys that a tool and its forms have in common are declared once.
macro_rules! tool_keys {
    ($($(#[doc = $doc:literal])* $field:ident: $ty:ty,)*) => {
        model! {
            /// A tool and what is known about it.
            #[derive(Default)]
            pub struct Tool {
                /// What the tool does, for people and for tool search.
                pub description: Option<Text>,
                /// A tool of the manifests in force that this one is like: its keys hold where this tool writes none, each
                /// as a whole.
                pub extends: Option<Name>,
                $($(#[doc = $doc])* pub $field: Option<$ty>,)*
                /// Ways of calling this tool that differ in what they do. The first that matches wins, and its keys replace
                /// the tool's own. List writes before reads, so that `cat x > y` is no read.
                pub forms: Option<Vec<Form>>,
                /// How many tokens the tool's definition takes in a prompt; estimated where it is left out.
                pub definition_tokens: Option<Count>,
            }
        }

        model! {
            /// One way of calling a tool: when it is meant, and which of the tool's keys it replaces.
            #[derive(Default)]
            pub struct Form {
                /// When a call has this form. A form without a condition matches every call.
                pub when: Option<Cel>,
                $($(#[doc = $doc])* pub $field: Option<$ty>,)*
            }
        }

        impl Tool {
            /// The tool as a call of this form sees it: the form's keys replace the tool's own, each as a whole.
            #[must_use]
            pub fn in_form(&self, form: &Form) -> Self {
                Self {
                    $($field: form.$field.clone().or_else(|| self.$field.clone()),)*
                    ..self.clone()
                }
            }

            /// Whether it says no more than which tool it extends, and what it does in words.
            #[must_use]
            pub fn is_alias(&self) -> bool {
                self.extends.is_some() && self.forms.is_none() $(&& self.$field.is_none())*
            }

            /// This tool on top of the one that it extends: its keys replace those of the other, each as a whole.
            #[must_use]
            pub fn over(&self, below: &Self) -> Self {
                Self {
                    description: self.description.clone().or_else(|| below.description.clone()),
                    extends: below.extends.clone(),
                    $($field: self.$field.clone().or_else(|| below.$field.clone()),)*
                    forms: self.forms.clone().or_else(|| below.forms.clone()),
                    definition_tokens: self.definition_tokens.clone().or_else(|| below.definition_tokens.clone()),
                }
            }
        }
    };
}

tool_keys! {
    /// Groups that the tool belongs to, for budgets and thresholds over several tools.
    groups: Vec<Name>,
    /// What a call may change. Left out, it is `unknown`, and less is enforced.
    effect: Effect,
    /// Whether calling twice does no more than calling once. Default: true for `read`, else false.
    idempotent: bool,
    /// Tags of the world that the tool reads. A landed write ends the repeats of calls that share one with its `touches`.
    reads: Vec<Name>,
    /// Tags of the world that the tool changes.
    touches: Vec<Name>,
    /// The arguments, as JSON Schema 2020-12. Calls that do not fit are refused with every fault.
    parameters: DataMap,
    /// What makes two calls the same call. The exact fingerprint is not affected.
    identity: Identity,
    /// What the tool's results mean.
    result: ResultContract,
    /// A poll: calls that wait for something. `true` means no limit on unchanged answers, and at most 10m without a change.
    waiting: Waiting,
    /// How calls walk through something large: by offset and length, or by a cursor.
    coverage: Coverage,
    /// Whether a call passes control to another agent.
    transfer: bool,
    /// What errors mean. The first entry that matches wins.
    errors: Vec<ErrorRule>,
    /// Which failures are tried again, how often and how soon.
    retry: Retry,
    /// When the tool is left alone after failures.
    breaker: Breaker,
    /// How long a call may take.
    timeout: Duration,
    /// How long an earlier result may be handed out again. For tools of effect `read` only.
    cache: Cache,
    /// The key that tells one effect from another, made by the engine and handed to the tool.
    idempotency: Idempotency,
    /// The call that finds out what became of an effect whose outcome is not known.
    verify: Verify,
}

union! {
    /// Which arguments are trimmed.
    pub enum Trim {
        /// `true`: every text among the arguments.
        All(bool),
        /// These arguments.
        Arguments(Vec<Name>),
    }
}

model! {
    /// What makes two calls the same call. Argument lists take names of top-level arguments.
    #[derive(Default)]
    pub struct Identity {
        /// Volatile arguments, such as request ids. They are left out.
        pub ignore: Option<Vec<Name>>,
        /// Arguments whose blanks at both ends are dropped and inner blanks collapsed, or `true` for all texts.
        pub trim: Option<Trim>,
        /// Arguments in which upper and lower case mean the same.
        pub casefold: Option<Vec<Name>>,
        /// Arguments that are paths: different spellings of one path are the same.
        pub paths: Option<Vec<Name>>,
        /// Lists in which order means nothing.
        pub unordered: Option<Vec<Name>>,
        /// Values of arguments that are left out: written or left out, the same call.
        pub defaults: Option<Named<Data>>,
        /// Arguments that name the thing acted upon (a path, an order id); not the words of a search.
        pub target: Option<Vec<Name>>,
        /// An equivalence key that the host computed, such as `hints.group`. It replaces the arguments.
        pub group: Option<Cel>,
    }
}

model! {
    /// What a tool's results mean: failed, empty, enough; which records they hold; what in them is volatile.
    #[derive(Default)]
    pub struct ResultContract {
        /// When a result is a failure. Left out, the host's error flag says so.
        pub failed_when: Option<Cel>,
        /// When a result is empty. Without this or `records` no result is.
        pub empty_when: Option<Cel>,
        /// The list of records.
        pub records: Option<Cel>,
        /// The fields that identify a record. Left out, the whole record does.
        pub key: Option<Vec<Name>>,
        /// Fields that a record must carry to count.
        pub required_fields: Option<Vec<Name>>,
        /// Fields that are wanted: those missing are reported as gaps and never lower the grade.
        pub wanted_fields: Option<Vec<Name>>,
        /// How many records must carry all required fields for the result to be sufficient.
        pub min_records: Option<Count>,
        /// Volatile top-level fields of the result. They are left out when results are compared.
        pub ignore: Option<Vec<Name>>,
        /// Volatile text, as regular expressions. Matches are left out when results are compared.
        pub ignore_text: Option<Vec<Pattern>>,
        /// A field that says whether this is new, such as `result.data_hash`. It is believed first.
        pub version: Option<Cel>,
        /// The state that the target is left in, such as `result.content_sha`.
        pub state: Option<Cel>,
    }
}

union! {
    /// Whether, and how long, calls wait for something.
    pub enum Waiting {
        /// `true`: a poll without a limit on unchanged answers; `false`: no poll.
        Flag(bool),
        /// A poll with these bounds.
        Poll(Poll),
    }
}

model! {
    /// The bounds of a poll.
    #[derive(Default)]
    pub struct Poll {
        /// How many equal answers in a row are let through. Left out: `unlimited`.
        pub max_unchanged: Option<Limit<Count<1>>>,
        /// How long the answer may stay the same. Left out: 10m.
        pub max_stale: Option<Limit<Duration>>,
        /// How long to wait before asking again. An earlier call is refused with the time to wait.
        pub min_interval: Option<Duration>,
    }
}

model! {
    /// How calls walk through something large: `{target, offset, length}`, or `{cursor, next}`.
    #[derive(Default)]
    pub struct Coverage {
        /// What is walked through, such as `args.path`.
        pub target: Option<Cel>,
        /// Where a call starts, such as `args.offset`.
        pub offset: Option<Cel>,
        /// How much it asks for, such as `args.limit`. Left out, up to the end.
        pub length: Option<Cel>,
        /// The cursor that a call asks for, such as `args.cursor`.
        pub cursor: Option<Cel>,
        /// The cursor that its result names next, such as `result.next`.
        pub next: Option<Cel>,
    }
}

words! {
    /// What kind of failure an error is.
    pub enum ErrorClass {
        /// It may pass by itself: a time-out, 429, 503, the network.
        Transient = "transient",
        /// It will not pass by itself: 401, 404, a bad argument.
        Permanent = "permanent",
        /// Whether the effect took place is not known: a write that timed out.
        Ambiguous = "ambiguous",
        /// The call itself was malformed. Never retried.
        Format = "format",
        /// A person or rule said no.
        Denied = "denied",
    }
}

model! {
    /// What one sort of error means.
    pub struct ErrorRule {
        /// When an error is of this sort. An entry without a condition matches every error.
        pub when: Option<Cel>,
        /// Its class.
        pub class: ErrorClass,
        /// A name for it, by which `same_error` tells it from others.
        pub r#type: Option<Name>,
    }
}

model! {
    /// Which failures are tried again, how often and how soon.
    #[derive(Default)]
    pub struct Retry {
        /// The classes of errors that are tried again.
        pub classes: Option<Vec<ErrorClass>>,
        /// How many further attempts there may be.
        pub max: Option<Count>,
        /// How long to wait before each.
        pub backoff: Option<Backoff>,
    }
}

words! {
    /// How waiting times are spread, so that many callers do not come back at once.
    pub enum Jitter {
        /// Not at all.
        None = "none",
        /// Anything from zero to the computed time.
        Full = "full",
        /// Half of the computed time, and anything up to the other half.
        Equal = "equal",
        /// Anything from the initial time to three times the last one.
        Decorrelated = "decorrelated",
        /// The computed time, give or take a fifth.
        Proportional = "proportional",
    }
}

model! {
    /// Waiting times that grow from attempt to attempt.
    #[derive(Default)]
    pub struct Backoff {
        /// The first waiting time.
        pub initial: Option<Duration>,
        /// What it is multiplied by each time.
        pub factor: Option<Factor>,
        /// The longest waiting time.
        pub max: Option<Duration>,
        /// How waiting times are spread.
        pub jitter: Option<Jitter>,
    }
}

words! {
    /// What a breaker opens for.
    pub enum BreakerScope {
        /// The tool.
        Tool = "tool",
        /// All tools of its server.
        Server = "server",
    }
}

model! {
    /// When a tool is left alone after failures that may pass by themselves.
    #[derive(Default)]
    pub struct Breaker {
        /// How many such failures in a row open it.
        pub failures: Option<Count<1>>,
        /// How long it stays open.
        pub open_for: Option<Duration>,
        /// How many calls may then try at once.
        pub probes: Option<Count<1>>,
        /// What it opens for. Default: the tool.
        pub scope: Option<BreakerScope>,
    }
}

model! {
    /// How long an earlier result may be handed out again.
    #[derive(Default)]
    pub struct Cache {
        /// The age up to which it may.
        pub ttl: Option<Duration>,
    }
}

model! {
    /// The key that tells one effect from another. The engine makes it; the model has no say in it.
    pub struct Idempotency {
        /// The parts of the key, as CEL: `[task.id, "create_order", args.order_ref]`.
        pub key: Cel,
        /// The argument in which the tool gets the key. It is no part of the fingerprint.
        pub pass_as: Option<Name>,
        /// How long the key is remembered.
        pub retain: Option<Duration>,
    }
}

model! {
    /// The call that finds out what became of an effect whose outcome is not known.
    pub struct Verify {
        /// The tool to call.
        pub tool: Name,
        /// Its arguments, as CEL over the call in doubt.
        pub arguments: Option<Named<Cel>>,
        /// When its result says that the effect took place.
        pub landed_when: Option<Cel>,
        /// When its result says that it did not, and will not.
        pub absent_when: Option<Cel>,
        /// How long to wait before asking.
        pub after: Option<Duration>,
        /// How often to ask.
        pub attempts: Option<Count<1>>,
    }
}

#[cfg(test)]
mod tests {
    use callgate_value::read_json;

    use super::{Effect, Tool};
    use crate::model::reader::{Model, Reader};

    #[test]
    fn a_form_replaces_the_keys_that_it_writes_and_no_others() {
        let json = br#"{"effect": "unknown", "groups": ["shell"], "forms": [{"when": "args.a", "effect": "read"}]}"#;
        let tool = Tool::read(&read_json(json).unwrap(), &mut Reader::default()).unwrap();
        let seen = tool.in_form(&tool.forms.as_ref().unwrap()[0]);
        assert_eq!(seen.effect, Some(Effect::Read));
        assert_eq!(seen.groups, tool.groups);
    }
}
