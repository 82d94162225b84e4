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

/// A hint for a misspelt word: the nearest known one, or all of them.
#[must_use]
pub fn did_you_mean(wrong: &str, words: &[&str]) -> String {
    match nearest(wrong, words) {
        Some(word) => format!("did you mean `{word}`?"),
        None => format!("known here: {}", words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::{did_you_mean, nearest};

    #[test]
    fn a_misspelt_word_is_led_back_to_the_known_one() {
        let words = ["exact_repeat", "cycle", "no_gain", "note_after"];
        assert_eq!(nearest("exact_repeats", &words), Some("exact_repeat"));
        assert_eq!(nearest("note_aftr", &words), Some("note_after"));
        assert_eq!(nearest("cylce", &words), Some("cycle"));
        assert_eq!(nearest("Cycle", &words), Some("cycle"));
    }

    #[test]
    fn a_word_unlike_any_known_one_gets_the_whole_list() {
        assert_eq!(did_you_mean("banana", &["read", "write"]), "known here: `read`, `write`");
    }
}
