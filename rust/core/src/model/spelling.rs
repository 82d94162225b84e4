//! "Did you mean": the known word that is nearest to a misspelt one.

/// The nearest of `words`, if it is near enough to be what was meant.
#[must_use]
pub fn nearest<'w>(wrong: &str, words: &[&'w str]) -> Option<&'w str> {
    const ALIKE: f64 = 0.8;
    // swapped or dropped letters in short words rank low by prefix similarity alone, so few edits count as near too
    let edits = |word: &str| strsim::damerau_levenshtein(&wrong.to_lowercase(), &word.to_lowercase());
    let near = |word: &&&str| {
        let allowed = (wrong.chars().count().max(word.chars().count()) / 3).min(3);
        edits(word) <= allowed || strsim::jaro_winkler(wrong, word) >= ALIKE
    };
    words.iter().filter(near).min_by_key(|word| edits(word)).copied()
}

/// Words that other tools use for what the language calls otherwise. Of each line, a word that is known where another
/// one was written is what was meant; several may be, in different places of the language.
const SYNONYMS: &[&[&str]] = &[
    // what becomes of a call
    &["refuse", "deny", "denied", "block", "reject", "forbid", "disallow", "prevent", "prohibit", "drop"],
    &["allow", "permit", "accept", "pass", "approve", "grant", "ok"],
    &["note", "warn", "warning", "log", "notify", "inform", "advise", "comment", "alert"],
    &["ask", "confirm", "approve", "approval", "review", "escalate", "human", "require_approval", "prompt"],
    &["stop", "abort", "halt", "kill", "terminate", "quit", "end", "break"],
    &["retry", "repeat", "again"],
    &["exit", "finish", "end", "return", "done"],
    // modes
    &["enforce", "strict", "enforced", "enforcing", "block", "active"],
    &["audit", "shadow", "dry_run", "dryrun", "dry-run", "monitor", "log", "observe", "permissive"],
    // phases
    &["admit", "before", "pre", "request", "call", "input"],
    &["observe", "after", "post", "response", "result", "output"],
    // effects
    &["read", "readonly", "read_only", "read-only", "safe", "none", "query"],
    &["write", "update", "modify", "mutate", "edit", "change"],
    &["external", "send", "side_effect", "irreversible", "destructive", "network", "remote"],
    &["ui", "browser", "screen", "gui"],
    // severities, and classes of errors
    &["info", "information", "notice", "debug"],
    &["low", "minor"],
    &["medium", "moderate", "normal", "warning", "warn"],
    &["high", "major", "error", "severe"],
    &["critical", "fatal", "blocker"],
    &["transient", "temporary", "retryable", "retriable"],
    &["permanent", "fatal", "final"],
    &["ambiguous", "uncertain", "unclear"],
    &["format", "malformed", "invalid", "syntax"],
    &["denied", "forbidden", "unauthorized", "refused"],
    // kinds of documents
    &["GuardPolicy", "Policy", "AgentPolicy", "ToolPolicy", "PolicySet", "Guard", "Rules"],
    &["ToolManifest", "Manifest", "Tools", "ToolSet", "Toolset", "ToolList"],
    &["GuardBinding", "Binding", "PolicyBinding"],
    &["GuardException", "Exception", "PolicyException", "Exemption", "Waiver"],
    &["GuardTest", "Test", "PolicyTest", "TestSuite", "TestCase", "Tests"],
    // how a run ends
    &["finish_with_gaps", "finish_gaps", "finish_partial", "gaps", "partial", "finish_with_gap"],
    &["escalate", "human", "handoff", "hand_off", "hand_over"],
    // keys
    &["when", "if", "condition", "cond", "expression", "expr", "cel", "match"],
    &["id", "name", "key"],
    &["message", "reason", "text", "msg", "description"],
    &["description", "desc", "summary", "title"],
    &["budgets", "budget", "limits", "limit", "quotas", "quota"],
    &["detectors", "guards", "checks"],
    &["parameters", "schema", "input_schema", "inputSchema", "arguments", "args", "params"],
    &["arguments", "args", "parameters", "params", "input"],
    &["extends", "inherits", "base", "parent", "from", "imports", "include", "includes"],
    &["tool_calls", "calls", "max_calls", "max_tool_calls"],
    &["tokens", "max_tokens", "token_limit"],
    &["steps", "max_steps", "iterations", "max_iterations", "turns", "max_turns", "rounds"],
    &["refuse_after", "max", "limit", "threshold", "block_after", "deny_after"],
    &["note_after", "warn_after", "log_after"],
    &["effect", "kind", "type", "side_effects", "access"],
    &["result", "output", "response", "returns"],
    &["expect", "expected", "assert", "asserts"],
    &["steps", "calls", "run", "trace"],
    &["fixtures", "fixture", "setup", "shared"],
    &["use", "fixture", "include", "import"],
    &["wait", "sleep", "delay", "pause"],
];

/// The word that is known for one that other tools use.
fn synonym<'w>(wrong: &str, words: &[&'w str]) -> Option<&'w str> {
    let wrong = wrong.to_lowercase();
    let lines = SYNONYMS.iter().filter(|line| line.iter().any(|word| word.eq_ignore_ascii_case(&wrong)));
    lines.flat_map(|line| line.iter()).find_map(|meant| words.iter().find(|word| *word == meant)).copied()
}

/// A hint for a misspelt word: the nearest known one, or all of them.
#[must_use]
pub fn did_you_mean(wrong: &str, words: &[&str]) -> String {
    match synonym(wrong, words).or_else(|| nearest(wrong, words)) {
        Some(word) => format!("did you mean `{word}`?"),
        None => format!("known here: {}", words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")),
    }
}

/// The same for a name that authors give, such as a tool's: no words of other tools, and of many names the first few.
#[must_use]
pub fn near_name(wrong: &str, names: &[&str]) -> String {
    const SHOWN: usize = 12;
    if let Some(name) = nearest(wrong, names) {
        return format!("did you mean `{name}`?");
    }
    let shown: Vec<String> = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
    let more = names.len().saturating_sub(SHOWN);
    let rest = if more == 0 { String::new() } else { format!(", and {more} more") };
    format!("known here: {}{rest}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::{did_you_mean, nearest, SYNONYMS};

    #[test]
    fn a_misspelt_word_is_led_back_to_the_known_one() {
        let words = ["exact_repeat", "cycle", "no_gain", "note_after"];
        assert_eq!(nearest("exact_repeats", &words), Some("exact_repeat"));
        assert_eq!(nearest("note_aftr", &words), Some("note_after"));
        assert_eq!(nearest("cylce", &words), Some("cycle"));
        assert_eq!(nearest("Cycle", &words), Some("cycle"));
    }

    #[test]
    fn the_word_of_another_tool_is_led_to_ours() {
        let actions = ["note", "ask", "refuse", "stop", "retry", "exit"];
        for (wrong, meant) in
            [("deny", "refuse"), ("Block", "refuse"), ("warn", "note"), ("log", "note"), ("abort", "stop")]
        {
            assert_eq!(did_you_mean(wrong, &actions), format!("did you mean `{meant}`?"));
        }
        assert_eq!(did_you_mean("approve", &["refuse", "allow"]), "did you mean `allow`?");
        assert_eq!(did_you_mean("approve", &actions), "did you mean `ask`?");
        assert_eq!(did_you_mean("Policy", &["ToolManifest", "GuardPolicy"]), "did you mean `GuardPolicy`?");
        let exits = ["finish", "finish_with_gaps", "escalate"];
        assert_eq!(did_you_mean("finish_gaps", &exits), "did you mean `finish_with_gaps`?");
        assert_eq!(did_you_mean("shadow", &["enforce", "warn", "audit"]), "did you mean `audit`?");
        // here no call is let through by a word: nothing that is known means the same
        assert!(did_you_mean("allow", &actions).starts_with("known here: "));
    }

    #[test]
    fn every_line_of_synonyms_begins_with_a_word_of_the_language() {
        let schemas: String = crate::model::KINDS
            .iter()
            .map(|kind| crate::model::json_schema(kind).map(|schema| schema.to_string()).unwrap_or_default())
            .collect();
        for line in SYNONYMS {
            assert!(schemas.contains(&format!("\"{}\"", line[0])), "{}", line[0]);
        }
    }

    #[test]
    fn a_word_unlike_any_known_one_gets_the_whole_list() {
        assert_eq!(did_you_mean("banana", &["read", "write"]), "known here: `read`, `write`");
    }
}
