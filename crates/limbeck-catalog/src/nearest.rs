//! Names like a name: what a message tells when one is not there.

use std::sync::Arc;

use limbeck_domain::{ToolId, text};

use crate::names;
use crate::search;
use crate::tool::Tool;

/// Names told at most.
pub(crate) const NEAREST_MAX: usize = 3;
/// Bytes of the name asked for that are compared.
const ASKED_BYTES_MAX: usize = 80;
/// Names of one kind that are compared; beyond that a hint is not worth the time.
const COMPARED_MAX: usize = 20_000;
/// Likeness under which a name is not worth telling. Jaro-Winkler gives unrelated words about 0.5.
const LIKENESS_MIN: f64 = 0.62;

/// The tools whose names are most like `name`, best first.
pub(crate) fn nearest_tools<'c>(
    tools: impl Iterator<Item = &'c Arc<Tool>>,
    name: &str,
) -> Vec<ToolId> {
    nearest(name, tools.map(|tool| (&*tool.id().tool, tool.id())))
        .into_iter()
        .cloned()
        .collect()
}

/// The names most like `asked`, best first, ties by order given.
pub(crate) fn nearest<'n, T>(asked: &str, names: impl Iterator<Item = (&'n str, T)>) -> Vec<T> {
    let asked = Likeness::of(text::cut(asked, ASKED_BYTES_MAX));
    let mut scored = names
        .take(COMPARED_MAX)
        .map(|(name, item)| (asked.to(name), item))
        .filter(|(score, _)| *score >= LIKENESS_MIN)
        .collect::<Vec<_>>();
    scored.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    scored.truncate(NEAREST_MAX);
    scored.into_iter().map(|(_, item)| item).collect()
}

/// A name made ready to be compared with many.
struct Likeness {
    fold: String,
    words: Vec<String>,
}

impl Likeness {
    fn of(name: &str) -> Self {
        Self {
            fold: names::fold(name),
            words: search::words(name),
        }
    }

    /// From 0 to 1: the whole names' Jaro-Winkler likeness, or the share of words in common when larger.
    fn to(&self, name: &str) -> f64 {
        let whole = strsim::jaro_winkler(&self.fold, &names::fold(name));
        let words = search::words(name);
        let common = self
            .words
            .iter()
            .filter(|word| words.contains(word))
            .count();
        let all = self.words.len() + words.len();
        // As many words in common as there are counts as nearly equal, whatever their order.
        let shared = if all == 0 {
            0.0
        } else {
            0.98 * (2 * common) as f64 / all as f64
        };
        whole.max(shared)
    }
}
