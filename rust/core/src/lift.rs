//! What a live host hands over, lifted: MCP results, HTTP-like results and results in the envelope's form are recognised
//! for what they say of success. Recorded runs are lifted already; nothing here is asked about them.
use std::sync::Arc;

use callgate_value::{to_json, Map, Value};

use crate::outcome::{Outcome, Reported, Said};
use crate::reading::json_of;

/// Keys of an MCP tool result.
const MCP_KEYS: &[&str] =
    &["content", "structuredContent", "structured_content", "isError", "is_error", "_meta", "meta"];
/// Types of the items of its content.
const MCP_ITEMS: &[&str] = &["text", "image", "audio", "resource", "resource_link"];
/// Keys of an HTTP-like result beside its status; the first that is there is its body.
const BODIES: &[&str] = &["body", "json", "data", "text", "content", "error", "message", "reason"];
/// The keys of the envelope.
const ENVELOPE: &[&str] = &["success", "code", "retryable", "data", "message"];

/// Lifts an outcome of a live host.
///
/// - An MCP tool result (`content`, `structuredContent`, `isError`): the result is `structuredContent`, else its one text
///   read as JSON, else its texts joined; `isError` is the host's flag.
/// - An HTTP-like map (`status` or `status_code` with a body or headers): the result stays the map; a status of 400 or more
///   is an error of type `http`.
/// - A map in the envelope's form (`success`, `code`, …): the result stays the map; `success: false` is an error of its
///   `code`, and `NO_DATA` with success is empty.
///
/// `failed_when` of a manifest has the last word on all of them.
#[must_use]
pub fn lift(mut outcome: Outcome) -> Outcome {
    let Some(result) = outcome.result.clone() else { return outcome };
    let Some(map) = result.as_map() else { return outcome };
    if is_mcp(map) {
        lift_mcp(map, &mut outcome);
    }
    let Some(result) = outcome.result.clone() else { return outcome };
    if let Some(map) = result.as_map() {
        if is_envelope(map) {
            lift_envelope(map, &mut outcome);
        } else if let Some(status) = http_status(map) {
            lift_http(map, status, &mut outcome);
        }
    }
    outcome
}

fn has_only(map: &Map, keys: &[&str]) -> bool {
    map.iter().all(|(key, _)| key.as_str().is_some_and(|key| keys.contains(&key)))
}

fn is_mcp(map: &Map) -> bool {
    let Some(content) = map.get("content").and_then(Value::as_list) else { return false };
    let is_item = |item: &Value| item.get("type").and_then(Value::as_str).is_some_and(|kind| MCP_ITEMS.contains(&kind));
    let says_more = MCP_KEYS.iter().skip(1).any(|key| map.get(key).is_some());
    has_only(map, MCP_KEYS) && content.iter().all(is_item) && (!content.is_empty() || says_more)
}

fn lift_mcp(map: &Map, outcome: &mut Outcome) {
    let field = |names: [&str; 2]| names.iter().find_map(|name| map.get(name)).filter(|it| !matches!(it, Value::Null));
    let content = map.get("content").and_then(Value::as_list).unwrap_or_default();
    let texts: Option<Vec<&str>> = content.iter().map(|item| item.get("text").and_then(Value::as_str)).collect();
    let failed = field(["isError", "is_error"]).and_then(Value::as_bool).unwrap_or(false);
    let lifted = match (field(["structuredContent", "structured_content"]), &texts) {
        (Some(structured), _) => structured.clone(),
        (None, Some(texts)) => match texts.as_slice() {
            [text] => json_of(text).unwrap_or_else(|| Value::from(*text)),
            texts => Value::from(texts.join("\n").as_str()),
        },
        (None, None) => Value::List(content.to_vec()),
    };
    outcome.is_error |= failed;
    if failed && outcome.error.is_none() {
        let message = texts.map(|texts| texts.join("\n")).filter(|text| !text.is_empty());
        outcome.error = message.map(|text| Reported { message: Some(text.into()), ..Reported::default() });
    }
    outcome.result = Some(Arc::new(lifted));
}

fn http_status(map: &Map) -> Option<i64> {
    let status = ["status_code", "status"].iter().find_map(|name| match map.get(name) {
        Some(Value::Int(status)) if (100..=599).contains(status) => Some(*status),
        _ => None,
    });
    let has_more = map.get("headers").is_some() || BODIES.iter().any(|name| map.get(name).is_some());
    status.filter(|_| has_more)
}

fn lift_http(map: &Map, status: i64, outcome: &mut Outcome) {
    let body = BODIES.iter().find_map(|name| map.get(name));
    if status >= 400 && outcome.error.is_none() {
        let message = body.map(text_of).map(Into::into);
        outcome.error = Some(Reported { kind: Some("http".into()), status: Some(status), message });
    }
    outcome.said = Some(Said { data: body.cloned().map(Arc::new), ..Said::default() });
}

fn is_envelope(map: &Map) -> bool {
    let has_success = map.get("success").is_some_and(|success| success.as_bool().is_some());
    has_success && map.get("code").is_some_and(|code| code.as_str().is_some()) && has_only(map, ENVELOPE)
}

fn lift_envelope(map: &Map, outcome: &mut Outcome) {
    let text = |name: &str| map.get(name).and_then(Value::as_str).map(Arc::<str>::from);
    let (success, code) = (map.get("success").and_then(Value::as_bool), text("code"));
    if success == Some(false) && outcome.error.is_none() {
        let kind = code.as_deref().map(|code| code.to_lowercase().into());
        outcome.error = Some(Reported { kind, status: None, message: text("message") });
    }
    outcome.said = Some(Said {
        retryable: map.get("retryable").and_then(Value::as_bool),
        is_empty: success == Some(true) && code.as_deref() == Some("NO_DATA"),
        data: Some(Arc::new(map.get("data").cloned().unwrap_or(Value::Null))),
        message: text("message"),
        code,
    });
}

fn text_of(value: &Value) -> String {
    match value {
        Value::Str(text) => text.to_lossy().into_owned(),
        other => to_json(other),
    }
}

#[cfg(test)]
mod tests {
    use callgate_value::read_json;

    use super::*;

    fn lifted(text: &str) -> Outcome {
        let result = Some(Arc::new(read_json(text.as_bytes()).unwrap()));
        lift(Outcome { result, ..Outcome::default() })
    }

    fn result(text: &str) -> String {
        to_json(lifted(text).result.as_deref().unwrap())
    }

    #[test]
    fn an_mcp_result_is_what_it_holds() {
        assert_eq!(result(r#"{"content":[{"type":"text","text":"x"}],"structuredContent":{"a":1}}"#), r#"{"a":1}"#);
        assert_eq!(result(r#"{"content":[{"type":"text","text":"{\"a\": 1}"}]}"#), r#"{"a":1}"#);
        assert_eq!(result(r#"{"content":[{"type":"text","text":"12"}]}"#), r#""12""#);
        assert_eq!(result(r#"{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#), r#""a\nb""#);
        assert_eq!(
            result(r#"{"content":[{"type":"image","data":"…","mimeType":"image/png"}],"isError":false}"#),
            r#"[{"type":"image","data":"…","mimeType":"image/png"}]"#
        );
    }

    #[test]
    fn an_mcp_error_is_the_hosts_flag_with_its_text() {
        let outcome = lifted(r#"{"content":[{"type":"text","text":"no such part"}],"isError":true}"#);
        assert!(outcome.is_error);
        assert_eq!(outcome.error.unwrap().message.as_deref(), Some("no such part"));
    }

    #[test]
    fn what_only_looks_like_mcp_stays_as_it_is() {
        for text in [
            r#"{"content":[]}"#,
            r#"{"content":"text"}"#,
            r#"{"content":[{"text":"x"}]}"#,
            r#"{"content":[{"type":"text","text":"x"}],"title":"a page"}"#,
        ] {
            assert_eq!(result(text), text);
        }
    }

    #[test]
    fn an_http_status_of_400_or_more_is_an_error_and_the_result_stays() {
        let text = r#"{"status":503,"body":"try later"}"#;
        let outcome = lifted(text);
        let expected = Reported { kind: Some("http".into()), status: Some(503), message: Some("try later".into()) };
        assert_eq!((outcome.error, to_json(outcome.result.as_deref().unwrap())), (Some(expected), text.to_owned()));
        assert_eq!(lifted(r#"{"status":200,"body":"fine"}"#).error, None);
        assert_eq!(lifted(r#"{"status":404}"#).error, None);
        assert_eq!(lifted(r#"{"status":"503","body":"x"}"#).error, None);
    }

    #[test]
    fn an_envelope_says_itself_what_it_is() {
        let failed = lifted(r#"{"success":false,"code":"OUT_OF_STOCK","retryable":true,"message":"none left"}"#);
        assert_eq!(failed.error.unwrap().kind.as_deref(), Some("out_of_stock"));
        assert_eq!(failed.said.unwrap().retryable, Some(true));
        assert!(lifted(r#"{"success":true,"code":"NO_DATA"}"#).said.unwrap().is_empty);
        assert!(lifted(r#"{"success":true,"items":[]}"#).said.is_none());
    }
}
