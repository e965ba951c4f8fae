//! Suggestions for a name that does not exist: the most similar existing names.

use limbeck_domain::{ToolId, text};

use crate::names;
use crate::words;

/// Most names suggested.
pub const NEAREST_MAX: usize = 3;
/// Bytes of a name; what is longer is no name with a mistake in it.
const NAME_BYTES_MAX: usize = 256;
/// Bytes of the unknown name that are compared.
const ASKED_BYTES_MAX: usize = 80;
/// Most names compared; a hint is not worth more time.
const COMPARED_MAX: usize = 20_000;
/// Most bytes by which one mistake changes the length of a name: a character that is missing.
const MISTAKE_BYTES_MAX: usize = 4;
/// Least similarity of a suggestion. Jaro-Winkler gives unrelated words about 0.5.
const SIMILARITY_MIN: f64 = 0.62;

/// The tools with the names most similar to `name`, best first.
pub fn nearest_tools<'c>(tools: impl Iterator<Item = &'c ToolId>, name: &str) -> Vec<ToolId> {
    nearest(name, tools.map(|id| (&*id.tool, id)))
        .into_iter()
        .cloned()
        .collect()
}

/// The items whose names are most similar to `asked`, best first, ties in the given order. None for a text that is too
/// long to be a name.
pub(crate) fn nearest<'n, T>(asked: &str, names: impl Iterator<Item = (&'n str, T)>) -> Vec<T> {
    if asked.len() > NAME_BYTES_MAX {
        return Vec::new();
    }
    #[cfg(test)]
    tests::LISTS_COMPARED.set(tests::LISTS_COMPARED.get() + 1);
    let asked = ComparedName::new(text::cut(asked, ASKED_BYTES_MAX));
    let mut scored = names
        .take(COMPARED_MAX)
        .map(|(name, item)| (asked.similarity(text::cut(name, NAME_BYTES_MAX)), item))
        .filter(|(score, _)| *score >= SIMILARITY_MIN)
        .collect::<Vec<_>>();
    scored.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    scored.truncate(NEAREST_MAX);
    scored.into_iter().map(|(_, item)| item).collect()
}

/// Whether `asked` is `value` with other letters in one place, with other capitals, or cut. Values that only look alike mean
/// something else: a model that took `cancelled` for `delivered` would report the wrong orders.
pub(crate) fn is_slip_of(asked: &str, value: &str) -> bool {
    let bound = |text| names::fold(text::cut(text, NAME_BYTES_MAX));
    let (asked, value) = (bound(asked), bound(value));
    if asked.len() < 3 {
        return asked == value;
    }
    asked == value
        || value.starts_with(&asked)
        || asked.starts_with(&value) && value.len() >= 3
        || is_one_mistake(&asked, &value)
}

/// A name prepared for comparison with many.
struct ComparedName {
    fold: String,
    words: Vec<String>,
}

impl ComparedName {
    fn new(name: &str) -> Self {
        Self {
            fold: names::fold(name),
            words: words::stems(name),
        }
    }

    /// Similarity from 0 to 1: the Jaro-Winkler similarity of the whole names, or the share of common words when larger.
    fn similarity(&self, name: &str) -> f64 {
        let fold = names::fold(name);
        // Two letters in the wrong order: in a short name Jaro-Winkler takes them for another word.
        let is_one_mistake = self.fold.len() >= 3
            && self.fold.len().abs_diff(fold.len()) <= MISTAKE_BYTES_MAX
            && is_one_mistake(&self.fold, &fold);
        let mistyped = if is_one_mistake { 0.95 } else { 0.0 };
        let whole = strsim::jaro_winkler(&self.fold, &fold);
        let words = words::stems(name);
        let common = self
            .words
            .iter()
            .filter(|word| words.contains(word))
            .count();
        let all = self.words.len() + words.len();
        // Names with the same words in another order are nearly equal.
        let shared = if all == 0 {
            0.0
        } else {
            0.98 * (2 * common) as f64 / all as f64
        };
        whole.max(shared).max(mistyped)
    }
}

/// Whether the names differ by one character more, less or other, or by two neighbours in the wrong order. In linear time:
/// a distance takes the product of the lengths, for every tool.
fn is_one_mistake(one: &str, other: &str) -> bool {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let same = one.iter().zip(&other).take_while(|(a, b)| a == b).count();
    let (one, other) = (&one[same..], &other[same..]);
    let ends = one.iter().rev().zip(other.iter().rev());
    let same = ends.take_while(|(a, b)| a == b).count();
    match (&one[..one.len() - same], &other[..other.len() - same]) {
        ([], [_]) | ([_], []) | ([_], [_]) => true,
        ([a, b], [c, d]) => a == d && b == c,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use limbeck_domain::limits::FINDINGS_MAX;
    use limbeck_domain::{Language, Mode, ServerName, Sites, ToolDefinition};
    use serde_json::{Value, json};

    use super::*;
    use crate::{Catalog, CheckOptions, ServerTools};

    thread_local! {
        /// Names that were looked for among others in this test.
        pub(super) static LISTS_COMPARED: Cell<usize> = const { Cell::new(0) };
    }

    #[test]
    fn a_value_is_suggested_for_a_slip_and_not_for_another_word() {
        for asked in ["Shipped", "shiped", "shippd", "ship", "shipped_"] {
            assert!(is_slip_of(asked, "shipped"), "{asked}");
        }
        for (asked, value) in [
            ("delivered", "cancelled"),
            ("completed", "placed"),
            ("a", "all"),
        ] {
            assert!(!is_slip_of(asked, value), "{asked}");
        }
    }

    #[test]
    fn suggestions_are_computed_for_the_findings_that_are_listed_and_for_no_others() {
        let definition = ToolDefinition {
            id: ToolId::new("s", "read_file"),
            title: None,
            description: None,
            input_schema: json!({"type": "object"}),
            output_schema: None,
            annotations: Default::default(),
        };
        let server = ServerTools::new(ServerName::from("s"), vec![definition], None);
        let catalog = Catalog::new(vec![server]);
        let caller = CheckOptions {
            language: Language::Typescript,
            mode: Mode::Check,
            refuses: &|_| None,
        };
        for guarded in [false, true] {
            let sites: Vec<Value> = (1..=100)
                .map(|line| {
                    let tool = format!("reed_file_x{line}");
                    json!({"line": line, "column": 1, "server": "s", "tool": tool, "complete": true, "guarded": guarded})
                })
                .collect();
            let sites = Sites::parse(&json!({ "sites": sites }).to_string()).unwrap();
            LISTS_COMPARED.set(0);
            let findings = catalog.check(&sites, &caller);
            let listed = if guarded {
                &findings.warnings
            } else {
                &findings.errors
            };
            assert!(listed.len() >= FINDINGS_MAX, "{findings:?}");
            assert!(listed[0].hint.as_deref().unwrap().contains("read_file"));
            assert_eq!(LISTS_COMPARED.get(), FINDINGS_MAX, "{guarded}");
        }
    }

    #[test]
    fn a_text_that_is_longer_than_names_has_no_similar_name_and_one_as_long_as_a_name_has() {
        let known = "a".repeat(NAME_BYTES_MAX);
        let names = || std::iter::once((known.as_str(), ()));
        assert_eq!(nearest(&format!("{known}a"), names()).len(), 0);
        assert_eq!(nearest(&known, names()).len(), 1);
    }

    #[test]
    fn one_mistake_is_a_distance_of_one() {
        let mut names = vec![String::new()];
        // All names of at most four letters: each is followed by those with one letter more.
        for place in 0..40 {
            let name = names[place].clone();
            names.extend(["a", "b", "ü"].map(|letter| format!("{name}{letter}")));
        }
        for one in &names {
            for other in &names {
                let distance = strsim::osa_distance(one, other);
                assert_eq!(is_one_mistake(one, other), distance == 1, "{one} {other}");
            }
        }
        assert_eq!(names.len(), 121);
    }

    #[test]
    fn one_mistake_is_found_also_where_it_changes_the_length() {
        for (asked, known) in [
            ("abc", "abcd"),
            ("abcd", "abc"),
            ("acb", "abc"),
            ("ab𝐀c", "abc"),
        ] {
            let found = nearest(asked, std::iter::once((known, ())));
            assert_eq!(found.len(), 1, "{asked} {known}");
        }
    }
}
