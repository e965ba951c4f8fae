//! How well tools fit by the words they hold: BM25F, less for a part of the query that a tool does not hold.
//!
//! A query of everyday words finds nearly all tools, each by many words. So tools are scored block by block: all words
//! add to a block, which fits the innermost caches, before the next block's turn.

use std::ops::Range;

use super::documents::Server;
use super::index::{Index, WordId};
use super::places::{Best, Place};
use super::postings::Unread;
use super::slots::{By, Slot};

/// What a tool gains whose server the query names.
pub(super) const SERVER_NAMED_GAIN: f64 = 0.4;
/// Share of the score that does not depend on how much of the query a tool holds.
pub(super) const COVERAGE_BASE: f64 = 0.2;
/// What a tool gains whose whole name the query says: `create_issue` before `create_issue_comment`.
pub(super) const NAME_SAID_GAIN: f64 = 0.5;
/// How a word counts that is in no tool, against words that are: as one that is in one tool of a thousand.
pub(super) const UNKNOWN_WORTH: f64 = 6.0;
/// Tools scored at a time. A power of two, so that no place in a block needs a check.
const BLOCK: usize = 2048;

/// How well the tools of a range fit.
pub(super) struct Ranking<'i> {
    index: &'i Index,
    documents: Range<usize>,
    /// Of each of `documents`; 0 when it holds no word of the query.
    scores: Vec<f64>,
    /// Tools that hold one.
    total: usize,
    /// The largest share of the query that one of them holds, 0 to 1.
    covered: f64,
}

impl<'i> Ranking<'i> {
    /// Scores `documents` against the query.
    pub(super) fn new(index: &'i Index, slots: &[Slot], documents: Range<usize>) -> Self {
        let (mut scores, covered) = scores(index, slots, documents.clone());
        prefer_servers_said(index, slots, documents.start, &mut scores);
        let total = scores.iter().filter(|score| **score > 0.0).count();
        Self {
            index,
            documents,
            scores,
            total,
            covered,
        }
    }

    /// Tools that hold a word of the query.
    pub(super) fn total(&self) -> usize {
        self.total
    }

    /// The largest share of the query that one tool holds, 0 to 1.
    pub(super) fn covered(&self) -> f64 {
        self.covered
    }

    /// How well each tool fits, in catalogue order; 0 when it holds no word of the query.
    pub(super) fn scores(&self) -> &[f64] {
        &self.scores
    }

    /// The `count` best tools, best first.
    pub(super) fn best(&self, count: usize) -> Vec<Place> {
        let turns = self.index.documents().turns();
        let mut best = Best::new(count);
        for (document, score) in self.documents.clone().zip(&self.scores) {
            if *score > 0.0 {
                best.offer(Place::new(*score, document, turns));
            }
        }
        best.into_sorted()
    }
}

/// A word of the query, while its readings' postings are read.
struct Asked<'i> {
    /// How much it counts for how much of the query a tool holds.
    counts: f64,
    readings: Vec<Sought<'i>>,
}

/// A word of the index that may stand for it.
struct Sought<'i> {
    postings: Unread<'i>,
    /// What the word's worth in a tool is multiplied with.
    factor: f64,
    /// How much of the word of the query a tool holds that has this one.
    held: f64,
}

/// What is summed up of each tool of a block.
struct Block {
    score: Box<[f64; BLOCK]>,
    covered: Box<[f64; BLOCK]>,
    /// Of one word of the query: the best reading.
    best: Box<[f64; BLOCK]>,
    held: Box<[f64; BLOCK]>,
}

/// Score of each of `documents`, without what its server's name gains, and the largest share of the query that one
/// of them holds.
fn scores(index: &Index, slots: &[Slot], documents: Range<usize>) -> (Vec<f64>, f64) {
    let mut asked: Vec<Asked<'_>> = slots
        .iter()
        .map(|slot| Asked::new(index, slot, documents.start))
        .collect();
    let all: f64 = asked.iter().fold(0.0, |sum, asked| sum + asked.counts);
    let said = said(index, slots);
    let mut block = Block::new();
    let mut scores = Vec::with_capacity(documents.len());
    let mut most = 0.0_f64;
    for start in documents.clone().step_by(BLOCK) {
        let end = documents.end.min(start + BLOCK);
        for asked in &mut asked {
            block.add(asked, start, end);
        }
        let found = block.score.iter_mut().zip(block.covered.iter_mut());
        for (document, (score, covered)) in (start..end).zip(found) {
            let mut score = std::mem::take(score);
            let covered = std::mem::take(covered);
            let share = if all > 0.0 { covered / all } else { 1.0 };
            score *= COVERAGE_BASE + (1.0 - COVERAGE_BASE) * share;
            if score > 0.0 {
                most = most.max(share);
                let name_words = index.documents().name_words(document);
                score *= 1.0 + NAME_SAID_GAIN * share_said(name_words, &said);
            }
            scores.push(score);
        }
    }
    (scores, most)
}

impl<'i> Asked<'i> {
    fn new(index: &'i Index, slot: &Slot, start: usize) -> Self {
        let documents = index.documents().len();
        // What is not the word itself is as rare as all readings together: a rare synonym of a common
        // word says no more than the common word does.
        let worth = match holding(index, slot) {
            0 => UNKNOWN_WORTH,
            holding => idf(documents, holding),
        };
        let readings = slot.readings.iter().map(|reading| {
            let postings = index.postings(reading.word);
            let own = idf(documents, postings.documents().len());
            let (idf, held) = match reading.by {
                By::Same => (own, 1.0),
                By::Letters | By::Synonym => (worth, 1.0),
                By::Meaning => (own.min(worth), reading.weight),
            };
            Sought {
                postings: postings.from(start),
                factor: reading.weight * idf,
                held,
            }
        });
        Self {
            counts: if slot.optional { 0.0 } else { worth },
            readings: readings.collect(),
        }
    }
}

impl Block {
    fn new() -> Self {
        let zeros = || Box::new([0.0; BLOCK]);
        Self {
            score: zeros(),
            covered: zeros(),
            best: zeros(),
            held: zeros(),
        }
    }

    /// Adds what a word of the query finds among the tools from `start` to `end`: of each tool the best reading.
    fn add(&mut self, asked: &mut Asked<'_>, start: usize, end: usize) {
        let mut is_found = false;
        for sought in &mut asked.readings {
            let (documents, worths) = sought.postings.before(end, BLOCK);
            is_found |= !documents.is_empty();
            for (document, worth) in documents.iter().zip(worths) {
                let at = (*document as usize).wrapping_sub(start) % BLOCK;
                let score = sought.factor * worth;
                self.best[at] = self.best[at].max(score);
                self.held[at] = self.held[at].max(sought.held);
            }
        }
        if is_found {
            for at in 0..BLOCK {
                self.score[at] += std::mem::take(&mut self.best[at]);
                self.covered[at] += asked.counts * std::mem::take(&mut self.held[at]);
            }
        }
    }
}

/// How many tools hold what may stand for a word of the query; what is merely near in meaning is left out.
fn holding(index: &Index, slot: &Slot) -> usize {
    let readings = slot.readings.iter();
    let postings: Vec<&[u32]> = readings
        .filter(|reading| reading.by != By::Meaning)
        .map(|reading| index.postings(reading.word).documents())
        .collect();
    if let [documents] = postings.as_slice() {
        return documents.len();
    }
    let mut is_holding = vec![0_u64; index.documents().len().div_ceil(64)];
    for document in postings.into_iter().flatten() {
        is_holding[*document as usize / 64] |= 1 << (document % 64);
    }
    let holding = is_holding.iter().map(|bits| bits.count_ones() as usize);
    holding.sum()
}

pub(super) fn idf(documents: usize, holding: usize) -> f64 {
    let (all, holding) = (documents as f64, holding as f64);
    (1.0 + (all - holding + 0.5) / (holding + 0.5)).ln()
}

/// Of each word of the index the weight of its best reading; 0 when the query does not say it.
fn said(index: &Index, slots: &[Slot]) -> Vec<f64> {
    let mut said = vec![0.0_f64; index.words_count()];
    for reading in slots.iter().flat_map(|slot| &slot.readings) {
        let best = &mut said[reading.word as usize];
        *best = best.max(reading.weight);
    }
    said
}

fn share_said(name_words: &[WordId], said: &[f64]) -> f64 {
    let sum: f64 = name_words.iter().map(|word| said[*word as usize]).sum();
    sum / name_words.len().max(1) as f64
}

/// Raises the scores, which begin with that of `first`, of tools of whose server's name the query says a part.
fn prefer_servers_said(index: &Index, slots: &[Slot], first: usize, scores: &mut [f64]) {
    let mut is_said = vec![false; index.words_count()];
    for reading in slots.iter().flat_map(|slot| &slot.readings) {
        is_said[reading.word as usize] |= matches!(reading.by, By::Same | By::Letters);
    }
    let share = |server: &Server| {
        let words = &server.words;
        let held = words.iter().filter(|word| is_said[**word as usize]).count();
        held as f64 / words.len().max(1) as f64
    };
    let end = first + scores.len();
    for server in index.documents().servers() {
        let own = server.documents.start.max(first)..server.documents.end.min(end);
        if own.is_empty() {
            continue;
        }
        let share = share(server);
        if share > 0.0 {
            for score in &mut scores[own.start - first..own.end - first] {
                *score *= 1.0 + SERVER_NAMED_GAIN * share;
            }
        }
    }
}
