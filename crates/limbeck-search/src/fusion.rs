//! Sum of all evidence for a tool: its words, its meaning and its verb.
//!
//! The kinds of evidence have no common scale. Each counts by its z-score: the standard deviations that a tool lies above
//! the mean of all tools in scope.

use std::ops::Range;

use crate::actions::Action;
use crate::bm25::WordScores;
use crate::index::SearchIndex;
use crate::top_k::{ScoredDocument, TopK};

/// Weights of similarity against the score by words: where no tool contains a word of the query, and where one tool
/// contains all of them. Recall of the tuning queries is the same from 6 to 8 and from 0.8 to 1.2.
pub(crate) const MEANING_WEIGHT_MOST: f64 = 7.0;
pub(crate) const MEANING_WEIGHT_LEAST: f64 = 0.8;
/// Largest z-score of a similarity that counts. Those of the built-in table stay below; those of a caller may not.
pub(crate) const SIMILARITY_DEVIATIONS_MAX: f64 = 8.0;
/// Weights, against words and meaning together, of the average similarity of a server's tools, and of the agreement
/// between the verbs of query and tool.
pub(crate) const TOPIC_WEIGHT: f64 = 1.5;
pub(crate) const ACTION_WEIGHT: f64 = 0.8;
/// Least similarity of a tool that matches by meaning alone.
pub(crate) const SIMILARITY_MIN: f32 = 0.2;
/// Most tools that match by meaning alone.
pub(crate) const SIMILAR_TOOLS_MAX: usize = 100;

/// Similarity of tools to the query, by meaning.
pub(crate) struct Similarity<'i> {
    index: &'i SearchIndex,
    /// First tool in scope.
    first: usize,
    /// One value for each tool in scope; empty when the query has no embedding.
    values: Vec<f32>,
}

impl<'i> Similarity<'i> {
    /// Takes one value for each tool from `first` on, or none when the query has no embedding.
    pub(crate) fn new(index: &'i SearchIndex, first: usize, values: Vec<f32>) -> Self {
        Self {
            index,
            first,
            values,
        }
    }

    /// The `count` most similar tools with a similarity of at least `min`, best first.
    pub(crate) fn best(&self, min: f32, count: usize) -> Vec<ScoredDocument> {
        let tie_breaks = self.index.documents().tie_breaks();
        let mut best = TopK::new(count);
        for (document, similarity) in (self.first..).zip(&self.values) {
            if *similarity >= min {
                best.offer(ScoredDocument::new(
                    f64::from(*similarity),
                    document,
                    tie_breaks,
                ));
            }
        }
        best.into_sorted()
    }

    /// Similarity of `document`, one of those in scope; 0 when the query has no embedding.
    pub(crate) fn of(&self, document: usize) -> f32 {
        let value = self.values.get(document - self.first);
        value.copied().unwrap_or_default()
    }

    /// For each tool the average similarity of its server's tools. Together they tell the topic better than the few words
    /// of one tool.
    fn topic_similarities(&self) -> Vec<f64> {
        let mut topics = Vec::with_capacity(self.values.len());
        let end = self.first + self.values.len();
        for server in self.index.documents().servers() {
            let Range { start, end } =
                server.documents.start.max(self.first)..server.documents.end.min(end);
            if start < end {
                let values = &self.values[start - self.first..end - self.first];
                let sum: f64 = values.iter().copied().map(f64::from).sum();
                topics.resize(end - self.first, sum / values.len() as f64);
            }
        }
        topics
    }
}

/// The best `limit` of the tools that match by words or by meaning, and the number of tools that match.
///
/// Words decide where one tool contains all words of the query; the less of the query any tool contains, the more meaning
/// weighs.
pub(crate) fn fuse(
    words: &WordScores<'_>,
    similarity: &Similarity<'_>,
    requested: Option<Action>,
    limit: usize,
) -> (Vec<ScoredDocument>, usize) {
    let all = words.scores().len();
    let covered = words.covered();
    let weight =
        MEANING_WEIGHT_MOST - (MEANING_WEIGHT_MOST - MEANING_WEIGHT_LEAST) * covered * covered;
    let topics = similarity.topic_similarities();
    let word_scores = ZScore::of(words.scores().iter().copied(), all);
    let similarities = ZScore::of(similarity.values.iter().copied().map(f64::from), all);
    // About the standard deviation of the sum of both, so that topic and action weigh the same beside any `weight`.
    let unit = (1.0 + weight * weight).sqrt();
    let actions = &similarity.index.documents().actions()[similarity.first..];
    let gain = |at: usize| {
        let own = similarity.values.get(at).copied().map(f64::from);
        let own = own.map_or(0.0, |one| {
            similarities.deviations(one).min(SIMILARITY_DEVIATIONS_MAX)
        });
        let topic = topics
            .get(at)
            .map_or(0.0, |one| similarities.deviations(*one));
        let agreement = agreement(requested, actions[at]);
        weight * own + unit * (TOPIC_WEIGHT * topic + ACTION_WEIGHT * agreement)
    };
    let tie_breaks = similarity.index.documents().tie_breaks();
    let mut best = TopK::new(limit);
    let mut offer = |at: usize| {
        let score = word_scores.deviations(words.scores()[at]) + gain(at);
        best.offer(ScoredDocument::new(
            score,
            similarity.first + at,
            tie_breaks,
        ));
    };
    let matching = words.scores().iter().enumerate();
    let matching = matching.filter(|(_, score)| **score > 0.0);
    matching.for_each(|(at, _)| offer(at));
    let mut total = words.total();
    for near in similarity.best(SIMILARITY_MIN, SIMILAR_TOOLS_MAX) {
        let at = near.document() - similarity.first;
        // Those with a word of the query were offered above.
        if words.scores()[at] <= 0.0 {
            offer(at);
            total += 1;
        }
    }
    (best.into_sorted(), total)
}

/// 1 when the tool's action is the requested one, -1 when it is the other, 0 when either is unknown.
pub(crate) fn agreement(requested: Option<Action>, action: Option<Action>) -> f64 {
    match (requested, action) {
        (Some(requested), Some(action)) if requested == action => 1.0,
        (Some(_), Some(_)) => -1.0,
        _ => 0.0,
    }
}

/// Standard score: a number's distance from the mean, in standard deviations.
pub(crate) struct ZScore {
    mean: f64,
    deviation: f64,
}

impl ZScore {
    /// Mean and deviation of `all` numbers; those that `given` leaves out are zero.
    pub(crate) fn of(given: impl Iterator<Item = f64>, all: usize) -> Self {
        let (mut sum, mut squares) = (0.0, 0.0);
        for number in given {
            sum += number;
            squares += number * number;
        }
        let all = all.max(1) as f64;
        let mean = sum / all;
        let variance = squares / all - mean * mean;
        // The variance of equal numbers is not exactly zero after rounding.
        let deviation = if variance > 1e-9 {
            variance.sqrt()
        } else {
            1.0
        };
        Self { mean, deviation }
    }

    /// The standard score of `number`.
    pub(crate) fn deviations(&self, number: f64) -> f64 {
        (number - self.mean) / self.deviation
    }
}
