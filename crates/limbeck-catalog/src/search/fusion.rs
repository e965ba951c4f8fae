//! Adds up what words, meaning and verbs say of a tool.
//!
//! What each says has nothing in common with the others but that few tools stand out, so each counts by how far out a
//! tool stands: in standard deviations over all tools in scope.

use std::ops::Range;

use super::actions::Action;
use super::index::Index;
use super::places::{Best, Place};
use super::wording::Ranking;

/// Weight of a tool's likeness, against its score by words: where no tool holds a word of the query, and where some tool
/// holds them all. From 6 to 8 and from 0.8 to 1.2 recall of the intents that weights are chosen on is the same.
pub(super) const MEANING_WEIGHT_MOST: f64 = 7.0;
pub(super) const MEANING_WEIGHT_LEAST: f64 = 0.8;
/// Standard deviations that count of a tool's likeness. Texts do not stand out as far; likenesses that are given may.
pub(super) const LIKENESS_MAX: f64 = 8.0;
/// Weights of how near the tools of a server are to the query on average, and of whether the tool does what the query
/// asks for, against what words and meaning say together.
pub(super) const TOPIC_WEIGHT: f64 = 1.5;
pub(super) const ACTION_WEIGHT: f64 = 0.8;
/// Likeness of a tool that is found by its meaning alone.
pub(super) const MEANING_MIN: f32 = 0.2;
/// Tools found by meaning.
pub(super) const MEANING_TOOLS_MAX: usize = 100;

/// How near tools are to the query in meaning.
pub(super) struct Likeness<'i> {
    index: &'i Index,
    /// The first of the tools that are asked for.
    first: usize,
    /// Of each of them; empty when it is not known.
    of_each: Vec<f32>,
}

impl<'i> Likeness<'i> {
    /// Of the tools from `first` on; `of_each` is empty when it is not known.
    pub(super) fn new(index: &'i Index, first: usize, of_each: Vec<f32>) -> Self {
        Self {
            index,
            first,
            of_each,
        }
    }

    /// The tools nearest in meaning, best first, at most `count`.
    pub(super) fn best(&self, min: f32, count: usize) -> Vec<Place> {
        let turns = self.index.documents().turns();
        let mut best = Best::new(count);
        for (document, likeness) in (self.first..).zip(&self.of_each) {
            if *likeness >= min {
                best.offer(Place::new(f64::from(*likeness), document, turns));
            }
        }
        best.into_sorted()
    }

    /// Of each tool how near those of its server are on average: what they are about together tells more than the few
    /// words of one.
    fn topics(&self) -> Vec<f64> {
        let mut topics = Vec::with_capacity(self.of_each.len());
        let end = self.first + self.of_each.len();
        for server in self.index.documents().servers() {
            let Range { start, end } =
                server.documents.start.max(self.first)..server.documents.end.min(end);
            if start < end {
                let of_each = &self.of_each[start - self.first..end - self.first];
                let sum: f64 = of_each.iter().copied().map(f64::from).sum();
                topics.resize(end - self.first, sum / of_each.len() as f64);
            }
        }
        topics
    }
}

/// The best `limit` of the tools that words or meaning find, by the sum of what is said for them, and how many there are.
///
/// Where a tool holds all words of the query words decide, and the less of them any tool holds, the more meaning does.
pub(super) fn fused(
    words: &Ranking<'_>,
    like: &Likeness<'_>,
    asked: Option<Action>,
    limit: usize,
) -> (Vec<Place>, usize) {
    let all = words.scores().len();
    let covered = words.covered();
    let weight =
        MEANING_WEIGHT_MOST - (MEANING_WEIGHT_MOST - MEANING_WEIGHT_LEAST) * covered * covered;
    let topics = like.topics();
    let worded = Spread::of(words.scores().iter().copied(), all);
    let liked = Spread::of(like.of_each.iter().copied().map(f64::from), all);
    // About the deviation of what words and meaning say together.
    let unit = (1.0 + weight * weight).sqrt();
    let actions = &like.index.documents().actions()[like.first..];
    let gain = |at: usize| {
        let likeness = like.of_each.get(at).copied().map(f64::from);
        let likeness = likeness.map_or(0.0, |one| liked.deviations(one).min(LIKENESS_MAX));
        let topic = topics.get(at).map_or(0.0, |one| liked.deviations(*one));
        let agreement = agreement(asked, actions[at]);
        weight * likeness + unit * (TOPIC_WEIGHT * topic + ACTION_WEIGHT * agreement)
    };
    let turns = like.index.documents().turns();
    let mut best = Best::new(limit);
    let mut offer = |at: usize| {
        let score = worded.deviations(words.scores()[at]) + gain(at);
        best.offer(Place::new(score, like.first + at, turns));
    };
    let holding = words.scores().iter().enumerate();
    let holding = holding.filter(|(_, score)| **score > 0.0);
    holding.for_each(|(at, _)| offer(at));
    let mut total = words.total();
    for near in like.best(MEANING_MIN, MEANING_TOOLS_MAX) {
        let at = near.document() - like.first;
        if words.scores()[at] <= 0.0 {
            offer(at);
            total += 1;
        }
    }
    (best.into_sorted(), total)
}

/// 1 when the tool does what is asked for, -1 when it does the other, 0 when either is not known.
pub(super) fn agreement(asked: Option<Action>, does: Option<Action>) -> f64 {
    match (asked, does) {
        (Some(asked), Some(does)) if asked == does => 1.0,
        (Some(_), Some(_)) => -1.0,
        _ => 0.0,
    }
}

/// How far numbers lie apart.
pub(super) struct Spread {
    mean: f64,
    deviation: f64,
}

impl Spread {
    /// Of `all` numbers, of which those that are not given are nought.
    pub(super) fn of(given: impl Iterator<Item = f64>, all: usize) -> Self {
        let (mut sum, mut squares) = (0.0, 0.0);
        for number in given {
            sum += number;
            squares += number * number;
        }
        let all = all.max(1) as f64;
        let mean = sum / all;
        let variance = squares / all - mean * mean;
        // What rounding leaves of equal numbers is no difference.
        let deviation = if variance > 1e-9 {
            variance.sqrt()
        } else {
            1.0
        };
        Self { mean, deviation }
    }

    /// How far out a number lies, in standard deviations.
    pub(super) fn deviations(&self, number: f64) -> f64 {
        (number - self.mean) / self.deviation
    }
}
