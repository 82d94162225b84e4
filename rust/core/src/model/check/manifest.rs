//! What a manifest says about a tool that cannot be meant.
use callgate_value::Value;

use super::arguments;
use crate::model::codes;
use crate::model::fault::{Fault, Pointer};
use crate::model::manifest::{BreakerScope, Coverage, Effect, ErrorClass, ManifestSpec, ResultContract, Tool, Waiting};
use crate::model::times::Duration;

pub(super) fn check(spec: &ManifestSpec, at: &Pointer, faults: &mut Vec<Fault>) {
    for (name, tool) in spec.tools.iter().flat_map(|tools| tools.iter()) {
        // what a tool extends is not known here: it is checked as a whole when the manifests come together
        if tool.extends.is_none() {
            faults.extend(check_tool(tool, spec.server.is_some(), &at.key("tools").key(name)));
        }
    }
}

/// The faults of sense of a tool that stands at `place`, of a manifest with or without a server.
pub fn check_tool(tool: &Tool, has_server: bool, place: &Pointer) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut view = View { at: place, server: has_server, faults: &mut faults };
    let forms = tool.forms.as_deref().unwrap_or_default();
    let some_read = tool.effect == Some(Effect::Read) || forms.iter().any(|form| form.effect == Some(Effect::Read));
    view.keys(tool, tool, some_read);
    let parameters = std::iter::once(&tool.parameters).chain(forms.iter().map(|form| &form.parameters));
    let schemas: Vec<&Value> = parameters.flatten().map(|schema| &schema.0).collect();
    // a tool that declares nothing may be given anything where no form says otherwise
    let of_tool = if tool.parameters.is_some() { schemas.as_slice() } else { &[] };
    arguments::check(tool, of_tool, place, view.faults);
    view.shadowed("forms", "form", forms.iter().map(|form| form.when.is_none()));
    for (index, form) in forms.iter().enumerate() {
        let form_at = place.key("forms").index(index);
        // what the form itself writes, so that the tool's own faults are not told again for each form
        let written = Tool::default().in_form(form);
        let seen = tool.in_form(form);
        let mut view = View { at: &form_at, server: has_server, faults: &mut faults };
        view.keys(&written, &seen, seen.effect == Some(Effect::Read));
        let schema = seen.parameters.as_ref().map(|schema| &schema.0);
        arguments::check(&written, schema.as_slice(), &form_at, &mut faults);
    }
    faults
}

/// One place of a manifest at which the keys of a tool are written.
struct View<'v> {
    at: &'v Pointer,
    server: bool,
    faults: &'v mut Vec<Fault>,
}

impl View<'_> {
    fn report(&mut self, fault: Fault) {
        self.faults.push(fault);
    }

    /// The keys `written` here, of a tool that is `seen` by the calls that they hold for.
    fn keys(&mut self, written: &Tool, seen: &Tool, read: bool) {
        self.effects(written, seen, read);
        self.waiting(written, seen);
        self.retries(written);
        self.repeated_effect(written, seen);
        self.zeros(written);
        if let Some(coverage) = &written.coverage {
            self.coverage(coverage);
        }
        if let Some(result) = &written.result {
            self.records(result);
        }
        self.shadowed("errors", "entry", written.errors.iter().flatten().map(|entry| entry.when.is_none()));
    }

    fn effects(&mut self, written: &Tool, seen: &Tool, read: bool) {
        if written.cache.is_some() && !read {
            let effect = seen.effect.unwrap_or(Effect::Unknown).as_str();
            let message = format!("a tool of effect `{effect}` is never answered from a cache");
            let fault = Fault::key(codes::CACHED_EFFECT, self.at.key("cache"), message);
            self.report(fault.hint("take `cache` out, or declare `effect: read` if the tool changes nothing"));
        }
        if seen.effect != Some(Effect::Read) {
            return;
        }
        let keys = [
            ("touches", written.touches.as_ref().is_some_and(|tags| !tags.is_empty())),
            ("idempotency", written.idempotency.is_some()),
            ("verify", written.verify.is_some()),
        ];
        for (key, there) in keys {
            if there {
                let message = format!("`{key}` says nothing about a tool of effect `read`, which changes nothing");
                let fault = Fault::key(codes::SENSELESS_FOR_EFFECT, self.at.key(key), message);
                self.report(fault.hint(format!("take `{key}` out, or declare another effect")));
            }
        }
    }

    /// Once a poll is stale, an answer as old as that must not be handed out any more.
    fn waiting(&mut self, written: &Tool, seen: &Tool) {
        const STALE: f64 = 600.0; // what `waiting` means where it does not say
        let stale = match &seen.waiting {
            Some(Waiting::Flag(true)) => Some(STALE),
            Some(Waiting::Poll(poll)) => match &poll.max_stale {
                Some(limit) => limit.value().map(Duration::seconds),
                None => Some(STALE),
            },
            _ => return,
        };
        let ttl = seen.cache.as_ref().and_then(|cache| cache.ttl).map_or(0.0, Duration::seconds);
        if stale.is_some_and(|stale| ttl > stale) && (written.waiting.is_some() || written.cache.is_some()) {
            let key = if written.cache.is_some() { "cache" } else { "waiting" };
            let message = "`cache.ttl` is longer than `waiting.max_stale`: stale answers would be handed out again";
            let fault = Fault::key(codes::CACHED_POLL, self.at.key(key), message).warning();
            self.report(fault.hint("write a `cache.ttl` of at most `waiting.max_stale` (10m where it is left out)"));
        }
    }

    fn retries(&mut self, written: &Tool) {
        if let Some(retry) = &written.retry {
            for (index, class) in retry.classes.iter().flatten().enumerate() {
                if matches!(class, ErrorClass::Format | ErrorClass::Denied) {
                    let place = self.at.key("retry").key("classes").index(index);
                    let message = format!("errors of class `{}` are never retried", class.as_str());
                    self.report(Fault::value(codes::NEVER_RETRIED, place, message).hint("take it out"));
                }
            }
            let backoff = retry.backoff.as_ref();
            let bounds = backoff.and_then(|backoff| backoff.initial.zip(backoff.max));
            if let Some((initial, max)) = bounds.filter(|(initial, max)| initial > max) {
                let place = self.at.key("retry").key("backoff");
                let message = format!("the first wait of {}s is longer than the longest of {}s", initial.0, max.0);
                let fault = Fault::value(codes::CONTRADICTING_KEYS, place.key("initial"), message);
                self.report(fault.related(place.key("max"), "the longest wait"));
            }
        }
        if written.breaker.as_ref().is_some_and(|breaker| breaker.scope == Some(BreakerScope::Server)) && !self.server {
            let place = self.at.key("breaker").key("scope");
            let fault =
                Fault::value(codes::CONTRADICTING_KEYS, place, "the manifest names no server that could be left alone");
            self.report(fault.hint("add `server` to `spec`, or write `scope: tool`"));
        }
    }

    /// An attempt that failed may have had its effect all the same: without a key, a further one has it twice.
    fn repeated_effect(&mut self, written: &Tool, seen: &Tool) {
        let Some(retry) = &seen.retry else { return };
        let never =
            retry.max.is_some_and(|max| max.get() == 0) || retry.classes.as_ref().is_some_and(std::vec::Vec::is_empty);
        let harmless = seen.idempotent == Some(true) || seen.idempotency.is_some();
        let key = match (written.retry.is_some(), written.effect.is_some()) {
            (true, _) => "retry",
            (false, true) => "effect",
            (false, false) => return,
        };
        let Some(effect @ (Effect::Write | Effect::External)) = seen.effect else { return };
        if never || harmless {
            return;
        }
        let message = format!("a further attempt may have the effect twice: `{}`, and no key", effect.as_str());
        let fault = Fault::key(codes::RETRIED_WITHOUT_KEY, self.at.key(key), message).warning();
        self.report(fault.hint("declare `idempotency`, or `idempotent: true` where twice is the same as once"));
    }

    fn zeros(&mut self, written: &Tool) {
        let zero = |duration: Option<Duration>| duration.is_some_and(|duration| duration.seconds() == 0.0);
        if zero(written.timeout) {
            let fault = Fault::value(codes::SENSELESS_VALUE, self.at.key("timeout"), "no call ends within 0s");
            self.report(fault.hint("leave `timeout` out for none"));
        }
        if zero(written.breaker.as_ref().and_then(|breaker| breaker.open_for)) {
            let place = self.at.key("breaker").key("open_for");
            let fault = Fault::value(codes::SENSELESS_VALUE, place, "a breaker that opens for 0s never opens");
            self.report(fault.hint("leave `breaker` out for none"));
        }
    }

    fn coverage(&mut self, coverage: &Coverage) {
        let place = self.at.key("coverage");
        let range = [("target", &coverage.target), ("offset", &coverage.offset), ("length", &coverage.length)];
        let range = range.into_iter().find_map(|(key, cel)| cel.as_ref().map(|_| key));
        let fault = match (&coverage.cursor, &coverage.next, range) {
            (Some(_), _, Some(key)) => Some(("cursor", format!("`cursor` and `{key}` exclude each other"))),
            (_, Some(_), Some(key)) => Some(("next", format!("`next` and `{key}` exclude each other"))),
            (Some(_), None, _) => Some(("cursor", "`cursor` needs `next`: where the next cursor stands".to_owned())),
            (None, Some(_), _) => Some(("next", "`next` needs `cursor`: where a call names its own".to_owned())),
            _ => None,
        };
        if let Some((key, message)) = fault {
            let fault = Fault::value(codes::CONTRADICTING_KEYS, place.key(key), message);
            self.report(fault.hint("write {target, offset, length} or {cursor, next}"));
        }
    }

    fn records(&mut self, result: &ResultContract) {
        if result.records.is_some() {
            return;
        }
        let keys = [
            ("key", result.key.is_some()),
            ("required_fields", result.required_fields.is_some()),
            ("wanted_fields", result.wanted_fields.is_some()),
            ("min_records", result.min_records.is_some()),
        ];
        if let Some((key, _)) = keys.into_iter().find(|(_, there)| *there) {
            let message = format!("`{key}` needs `records`: where in the result the records stand");
            let fault = Fault::value(codes::CONTRADICTING_KEYS, self.at.key("result").key(key), message);
            self.report(fault.hint("add `records`, as in records: result.items"));
        }
    }

    /// Entries of a list behind one that has no condition and so always matches.
    fn shadowed(&mut self, list: &str, noun: &str, unconditional: impl Iterator<Item = bool>) {
        let mut first: Option<usize> = None;
        for (index, always) in unconditional.enumerate() {
            match first {
                Some(first) => {
                    let message = format!("this {noun} is never reached: an earlier one has no condition");
                    let fault = Fault::value(codes::SHADOWED_ENTRY, self.at.key(list).index(index), message);
                    let fault = fault.related(self.at.key(list).index(first), "this one always matches");
                    self.report(fault.hint("move the one without `when` to the end"));
                }
                None if always => first = Some(index),
                None => {}
            }
        }
    }
}
