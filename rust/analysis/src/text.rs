//! Texts that a regular expression matches, made from the expression itself.
use regex_syntax::hir::{Class, Hir, HirKind};

/// Texts made of one pattern at most.
const MOST: usize = 6;
/// Characters of one text at most.
const LONGEST: usize = 2_000;

/// A few texts that the pattern matches; none where that takes more than writing it out. Each was tried.
pub(crate) fn matching(pattern: &str) -> Vec<String> {
    let (Ok(hir), Ok(regex)) = (regex_syntax::parse(pattern), regex::Regex::new(pattern)) else { return Vec::new() };
    let mut found: Vec<String> = Vec::new();
    for choice in 0..MOST {
        let mut text = String::new();
        write(&hir, choice, &mut text);
        // what looks around itself may want a neighbour
        for around in ["", " ", "a", "\n"] {
            let tried =
                [text.clone(), format!("{around}{text}"), format!("{text}{around}"), format!("{around}{text}{around}")];
            if let Some(fits) = tried.into_iter().find(|text| regex.is_match(text)) {
                if !found.contains(&fits) {
                    found.push(fits);
                }
                break;
            }
        }
    }
    found
}

/// Writes a text for the expression; of alternatives and classes the one of that number, if there are so many.
fn write(hir: &Hir, choice: usize, text: &mut String) {
    if text.len() > LONGEST {
        return;
    }
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => text.push_str(&String::from_utf8_lossy(&literal.0)),
        HirKind::Class(class) => text.extend(one_of(class, choice)),
        HirKind::Repetition(repetition) => {
            let most = repetition.max.unwrap_or(u32::MAX);
            // once, where that is allowed: it says more than nothing
            let times = repetition.min.max(1).min(most);
            for _ in 0..times.min(256) {
                write(&repetition.sub, choice, text);
            }
        }
        HirKind::Capture(capture) => write(&capture.sub, choice, text),
        HirKind::Concat(parts) => parts.iter().for_each(|part| write(part, choice, text)),
        HirKind::Alternation(parts) => {
            let at = choice.checked_rem(parts.len()).unwrap_or(0);
            if let Some(part) = parts.get(at) {
                write(part, choice, text);
            }
        }
    }
}

/// A character of the class: a letter or digit where it has one.
fn one_of(class: &Class, choice: usize) -> Option<char> {
    let ranges: Vec<(char, char)> = match class {
        Class::Unicode(class) => class.ranges().iter().map(|range| (range.start(), range.end())).collect(),
        Class::Bytes(class) => {
            class.ranges().iter().map(|range| (char::from(range.start()), char::from(range.end()))).collect()
        }
    };
    let has = |letter: char| ranges.iter().any(|(from, to)| (*from..=*to).contains(&letter));
    let plain: Vec<char> = ['a', '1', 'A', ' ', 'x', '-'].into_iter().filter(|letter| has(*letter)).collect();
    let at = choice.checked_rem(plain.len()).unwrap_or(0);
    plain.get(at).copied().or_else(|| ranges.first().map(|(from, _)| *from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_found_for_patterns_as_rules_have_them() {
        for pattern in [
            "^(ls|cat|grep|git (status|diff))\\b",
            r"(^|[;&|(`\n] *)(sed +-[a-zA-Z]*i|tee|mv|cp|rm|touch|mkdir|patch)\b",
            r"[^0-9&=<-]>{1,2} *[^&> ]",
            r"^\d{3}-\d{2}-\d{4}$",
            r"\bDROP\s+TABLE\b",
            "(?i)^select .* from users$",
            "^$",
            r"\.env$",
            "[äöü]{2,}",
        ] {
            let found = matching(pattern);
            assert!(!found.is_empty(), "{pattern}");
        }
    }

    #[test]
    fn what_nothing_matches_gives_nothing() {
        assert_eq!(matching(r"a\bb"), Vec::<String>::new());
        assert_eq!(matching("(a"), Vec::<String>::new());
    }
}
