//! Suggestions for a name that does not exist: the most similar existing names.

use limbeck_domain::{ToolId, text};

use crate::names;
use crate::words;

/// Most names suggested.
pub const NEAREST_MAX: usize = 3;
/// Bytes of the unknown name that are compared.
const ASKED_BYTES_MAX: usize = 80;
/// Most names compared; a hint is not worth more time.
const COMPARED_MAX: usize = 20_000;
/// Least similarity of a suggestion. Jaro-Winkler gives unrelated words about 0.5.
const SIMILARITY_MIN: f64 = 0.62;

/// The tools with the names most similar to `name`, best first.
pub fn nearest_tools<'c>(tools: impl Iterator<Item = &'c ToolId>, name: &str) -> Vec<ToolId> {
    nearest(name, tools.map(|id| (&*id.tool, id)))
        .into_iter()
        .cloned()
        .collect()
}

/// The items whose names are most similar to `asked`, best first, ties in the given order.
pub(crate) fn nearest<'n, T>(asked: &str, names: impl Iterator<Item = (&'n str, T)>) -> Vec<T> {
    let asked = ComparedName::new(text::cut(asked, ASKED_BYTES_MAX));
    let mut scored = names
        .take(COMPARED_MAX)
        .map(|(name, item)| (asked.similarity(name), item))
        .filter(|(score, _)| *score >= SIMILARITY_MIN)
        .collect::<Vec<_>>();
    scored.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    scored.truncate(NEAREST_MAX);
    scored.into_iter().map(|(_, item)| item).collect()
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
        let is_one_mistake = self.fold.len() >= 3 && strsim::osa_distance(&self.fold, &fold) == 1;
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
