//! Masking of text that changes from run to run, so that two results that mean the same are the same text.
//!
//! What counts as such is fixed by the policy language ("Identity" under "What feeds what"): in failed results and error
//! texts clocks, process numbers, durations, paths under temporary folders, UUIDs and hex; in successful results only
//! the paths. Plain numbers are never masked: a line number or a count is news.
use std::borrow::Cow;
use std::sync::LazyLock;

use memchr::{memchr3_iter, memchr_iter};
use regex::Regex;

// ASCII classes throughout: what is masked is ASCII, and only they let the regex engine build its fast automaton. What
// may be followed by nothing to mask is bounded, so that no text is read again and again from each of its words.

/// A path under a temporary folder. What stands before it must not make it a part of another path.
const TEMP_PATH: &str = r#"(?x:
    (?: ^ | [^A-Za-z0-9_.~/\\-] )
    (?P<path>
      (?: (?:/private)?/tmp | (?:/private)?/var/tmp | (?:/private)?/var/folders
        | [A-Za-z]:\\ (?: [^/:*?"<>|\r\n\t]* \\ )? [tT][eE]?[mM][pP] | %[tT][eE]?[mM][pP]% | \$\{?TMPDIR\}? )
      [/\\]+ [^\x20\t\r\n"'`<>|*?:;,()\[\]{}]+
    )
)"#;

const CLOCK: &str = r"(?x:
    [0-9]{4}-[0-9]{2}-[0-9]{2}[T\x20][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]+)?)?
      (?:\x20?(?:Z|UTC|GMT)(?-u:\b)|\x20?[+-][0-9]{2}:?[0-9]{2}(?-u:\b))?
  | [0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]+)?
)";

const UUID: &str = r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}";

const PROCESS: &str = r"(?x: [pP][iI][dD] [\x20:=\#]{0,3} [0-9]+ | [A-Za-z_][A-Za-z0-9_.-]{0,60} \[[0-9]+\] )";

const HEX: &str = r"0[xX][0-9a-fA-F]+ | [0-9a-fA-F]{8,}";

const DURATION: &str = r"(?x:
    [0-9]+(?:[.,][0-9]+){0,6} \x20?
    (?: ns|nsecs?|nanos(?:econds?)? | (?:u|µ|μ)s|usecs?|micros(?:econds?)? | ms|msecs?|millis(?:econds?)?
      | s|secs?|seconds? | mins?|minutes? | h|hrs?|hours? )
  | (?:[0-9]+h)?[0-9]+m(?:[0-9]+(?:\.[0-9]+)?s)?
  | [0-9]+h[0-9]+m?
)";

static TEMP_PATHS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(TEMP_PATH).ok());

static VOLATILE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let whole = format!(
        r"(?x) {TEMP_PATH} | (?-u:\b)(?: (?P<clock>{CLOCK}) | (?P<uuid>{UUID}) | (?P<process>{PROCESS})
          | (?P<duration>{DURATION})(?-u:\b) | (?P<hex>{HEX})(?-u:\b) )"
    );
    Regex::new(&whole).ok()
});

/// The text of a failed result or an error with everything volatile replaced by `<time>`, `<pid>`, `<duration>`,
/// `<path>`, `<uuid>` or `<hex>`.
///
/// ```
/// use callgate_value::mask_failure;
/// assert_eq!(mask_failure("12:30:01 worker[81]: no /tmp/x91/a after 2.5 s, line 7"),
///            "<time> worker[<pid>]: no <path> after <duration>, line 7");
/// ```
#[must_use]
pub fn mask_failure(text: &str) -> Cow<'_, str> {
    if !text.bytes().any(|byte| byte.is_ascii_digit()) {
        return mask_success(text);
    }
    let Some(pattern) = VOLATILE.as_ref() else {
        return Cow::Borrowed(text);
    };
    replace(text, |from| {
        let found = pattern.captures_at(text, from)?;
        if let Some(path) = found.name("path") {
            return Some((path.start(), path.end(), Cow::Borrowed("<path>")));
        }
        let whole = found.get(0)?;
        let with: Cow<'static, str> = if found.name("clock").is_some() {
            Cow::Borrowed("<time>")
        } else if found.name("uuid").is_some() {
            Cow::Borrowed("<uuid>")
        } else if found.name("duration").is_some() {
            Cow::Borrowed("<duration>")
        } else if found.name("process").is_some() {
            match whole.as_str().split_once('[') {
                Some((name, _)) => Cow::Owned(format!("{name}[<pid>]")),
                None => Cow::Borrowed("<pid>"),
            }
        } else {
            Cow::Borrowed(if is_hex_name(whole.as_str()) { "<hex>" } else { "" })
        };
        Some((whole.start(), whole.end(), with))
    })
}

/// The text of a successful result with paths under temporary folders replaced by `<path>`, and nothing else.
#[must_use]
pub fn mask_success(text: &str) -> Cow<'_, str> {
    if !may_hold_temp_path(text.as_bytes()) {
        return Cow::Borrowed(text);
    }
    let Some(pattern) = TEMP_PATHS.as_ref() else {
        return Cow::Borrowed(text);
    };
    replace(text, |from| {
        let path = pattern.captures_at(text, from)?.name("path")?;
        Some((path.start(), path.end(), Cow::Borrowed("<path>")))
    })
}

/// The text with each of `words` replaced by `<arg>` where it stands as a whole word, the longest first.
///
/// Used to take a call's own arguments out of its error text. An empty word is nowhere.
#[must_use]
pub fn mask_words<'a>(text: &'a str, words: &[&str]) -> Cow<'a, str> {
    let mut words: Vec<&str> = words.iter().copied().filter(|word| !word.is_empty()).collect();
    words.sort_by(|a, b| b.len().cmp(&a.len()).then(a.cmp(b)));
    words.dedup();
    let mut spans: Vec<(usize, usize)> = Vec::new();
    for word in words {
        for (start, found) in text.match_indices(word) {
            let end = start + found.len();
            if is_whole(text, start, end) && spans.iter().all(|(from, to)| end <= *from || *to <= start) {
                spans.push((start, end));
            }
        }
    }
    spans.sort_unstable();
    let mut spans = spans.into_iter();
    replace(text, |_| spans.next().map(|(start, end)| (start, end, Cow::Borrowed("<arg>"))))
}

/// Replaces what `next` finds from a place on: start, end, replacement. An empty replacement leaves the text as it is.
fn replace<'a>(
    text: &'a str,
    mut next: impl FnMut(usize) -> Option<(usize, usize, Cow<'static, str>)>,
) -> Cow<'a, str> {
    let mut out = String::new();
    let mut copied = 0;
    let mut from = 0;
    while let Some((start, end, with)) = next(from) {
        from = end;
        if with.is_empty() {
            continue;
        }
        out.push_str(text.get(copied..start).unwrap_or_default());
        out.push_str(&with);
        copied = end;
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(text.get(copied..).unwrap_or_default());
    Cow::Owned(out)
}

/// Whether a run of hex digits names something rather than counts it.
fn is_hex_name(text: &str) -> bool {
    text.starts_with("0x")
        || text.starts_with("0X")
        || (text.bytes().any(|byte| byte.is_ascii_digit()) && text.bytes().any(|byte| byte.is_ascii_alphabetic()))
}

fn is_whole(text: &str, start: usize, end: usize) -> bool {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let edge = |outside: Option<char>, inside: Option<char>| !(outside.is_some_and(word) && inside.is_some_and(word));
    let parts = (text.get(..start), text.get(start..end), text.get(end..));
    let (Some(before), Some(inside), Some(after)) = parts else {
        return false;
    };
    edge(before.chars().next_back(), inside.chars().next()) && edge(after.chars().next(), inside.chars().next_back())
}

/// A cheap look for what every temporary path holds: `tmp`, `temp` or `var/folders` beside a separator.
fn may_hold_temp_path(text: &[u8]) -> bool {
    // Each kind has an `m` with a `p` after it, or is under `/folders/`.
    let leads = |at: usize| {
        let word = text.get(at.saturating_add(1)..).unwrap_or_default();
        let starts = |name: &[u8]| word.get(..name.len()).is_some_and(|head| head.eq_ignore_ascii_case(name));
        starts(b"tmp") || starts(b"temp") || starts(b"{tmp") || starts(b"folders/")
    };
    memchr3_iter(b'/', b'\\', b'%', text).chain(memchr_iter(b'$', text)).any(leads)
}
