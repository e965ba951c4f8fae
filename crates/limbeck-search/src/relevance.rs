//! Cut-off of hits: those with next to nothing of the query are not shown unasked.
//!
//! Scores do not say it, because they compare tools with each other: of tools that have nothing to do with a query one is
//! the best. The share of the query that a tool contains and the similarity of both do. They separate wrong tools from
//! right ones in few cases, so the bounds are those at which no labeled query over all captured tools loses a right answer;
//! `docs/guide/search.md` has the figures.

use crate::SearchHit;

/// Evidence for a tool that does not depend on other tools.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Relevance {
    /// The query has no words, was ranked by one kind of evidence, or by similarities of the caller, whose scale is not
    /// known.
    Unknown,
    /// Share of the query that the tool contains, and similarity of both: up to 1 each.
    Known { share: f64, similarity: f32 },
}

/// Weight of the similarity against the share.
const SIMILARITY_WEIGHT: f64 = 2.0;
/// Least relevance of the best of the first hits. Below it the query matches nothing.
const BEST_MIN: f64 = 0.45;
/// Least relevance of a hit.
const HIT_MIN: f64 = 0.35;
/// Factor of the square of the best relevance, which is also the least. The square, because much is known about a query
/// whose words a tool contains, and little about one in other words.
const SHARE_OF_BEST_SQUARE: f64 = 0.22;
/// Most relevance that the best hit may demand of the others. A tool with all words of the query and a similarity of 0.2
/// reaches it, so no tool is hidden by another whose author wrote the whole query into its text.
const DEMANDED_MAX: f64 = 1.4;
/// First hits of which one is the best.
const FIRST: usize = 5;

impl Relevance {
    fn value(self) -> Option<f64> {
        match self {
            Self::Unknown => None,
            Self::Known { share, similarity } => {
                Some(share + SIMILARITY_WEIGHT * f64::from(similarity.max(0.0)))
            }
        }
    }
}

/// Moves the relevant ones of the first `candidates` hits before all others and returns the number of relevant hits.
///
/// Hits behind the candidates are relevant if all candidates are: then there may be many, and none is known to be worse.
pub(crate) fn put_relevant_first(hits: &mut Vec<SearchHit>, candidates: usize) -> usize {
    let values: Option<Vec<f64>> = hits
        .iter()
        .take(candidates)
        .map(|hit| hit.relevance.value())
        .collect();
    let Some(values) = values else {
        return hits.len();
    };
    let best = values.iter().take(FIRST).copied().fold(0.0, f64::max);
    let min = match best < BEST_MIN {
        true => f64::INFINITY,
        false => (SHARE_OF_BEST_SQUARE * best * best).clamp(HIT_MIN, DEMANDED_MAX),
    };
    if values.iter().all(|value| *value >= min) {
        return hits.len();
    }
    let rest = hits.split_off(values.len());
    let both = hits.drain(..).zip(values);
    let (relevant, others): (Vec<_>, Vec<_>) = both.partition(|(_, value)| *value >= min);
    let count = relevant.len();
    let first = relevant.into_iter().chain(others).map(|(hit, _)| hit);
    *hits = first.chain(rest).collect();
    count
}
