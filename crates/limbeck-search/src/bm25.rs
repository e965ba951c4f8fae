//! Scores of tools by their words: BM25F, scaled down by the share of the query that a tool does not contain.
//!
//! A query of everyday words matches nearly all tools, each by many words. Tools are therefore scored in blocks that fit
//! the innermost caches: all words of the query are added to one block before the next block starts.

use std::ops::Range;

use crate::documents::IndexedServer;
use crate::index::SearchIndex;
use crate::postings::PostingsCursor;
use crate::query_terms::{MatchKind, QueryTerm};
use crate::top_k::{ScoredDocument, TopK};
use crate::vocabulary::WordId;

/// Largest gain of a tool whose server the query names.
pub(crate) const SERVER_NAMED_GAIN: f64 = 0.4;
/// Share of the score that does not depend on how much of the query a tool contains.
pub(crate) const COVERAGE_BASE: f64 = 0.2;
/// Largest gain of a tool whose name is in the query: `create_issue` before `create_issue_comment`.
pub(crate) const NAME_MATCH_GAIN: f64 = 0.5;
/// Inverse document frequency of a word that no tool contains: that of a word in one tool of a thousand.
pub(crate) const UNKNOWN_WORD_IDF: f64 = 6.0;
/// Tools scored at a time. A power of two, so that an index into a block needs no bounds check.
const BLOCK: usize = 2048;

/// Scores of a range of tools.
pub(crate) struct WordScores<'i> {
    index: &'i SearchIndex,
    documents: Range<usize>,
    /// One for each of `documents`; 0 for a tool without a word of the query.
    scores: Vec<f64>,
    /// For each of `documents` the share of the query that it contains, 0 to 1.
    shares: Vec<f64>,
    /// Number of tools that contain a word of the query.
    total: usize,
    /// Largest share of the query that one tool contains, 0 to 1.
    covered: f64,
}

impl<'i> WordScores<'i> {
    /// Scores `documents` against the query.
    pub(crate) fn new(
        index: &'i SearchIndex,
        terms: &[QueryTerm],
        documents: Range<usize>,
    ) -> Self {
        let Scores {
            mut scores,
            shares,
            covered,
        } = Scores::new(index, terms, documents.clone());
        boost_named_servers(index, terms, documents.start, &mut scores);
        let total = scores.iter().filter(|score| **score > 0.0).count();
        Self {
            index,
            documents,
            scores,
            shares,
            total,
            covered,
        }
    }

    /// Number of tools that contain a word of the query.
    pub(crate) fn total(&self) -> usize {
        self.total
    }

    /// Largest share of the query that one tool contains, 0 to 1.
    pub(crate) fn covered(&self) -> f64 {
        self.covered
    }

    /// Share of the query that `document`, one of the range, contains: 0 to 1.
    pub(crate) fn share(&self, document: usize) -> f64 {
        self.shares[document - self.documents.start]
    }

    /// One score for each tool in range, in catalog order; 0 for a tool without a word of the query.
    pub(crate) fn scores(&self) -> &[f64] {
        &self.scores
    }

    /// The `count` best tools, best first.
    pub(crate) fn best(&self, count: usize) -> Vec<ScoredDocument> {
        let tie_breaks = self.index.documents().tie_breaks();
        let mut best = TopK::new(count);
        for (document, score) in self.documents.clone().zip(&self.scores) {
            if *score > 0.0 {
                best.offer(ScoredDocument::new(*score, document, tie_breaks));
            }
        }
        best.into_sorted()
    }
}

/// A word of the query, with a cursor into the postings of each of its expansions.
struct TermCursor<'i> {
    /// Weight of the word in the share of the query that a tool contains.
    coverage: f64,
    expansions: Vec<ExpansionCursor<'i>>,
}

/// Cursor into the postings of one expansion.
struct ExpansionCursor<'i> {
    postings: PostingsCursor<'i>,
    /// Factor of the word's weight in a tool.
    factor: f64,
    /// Share of the query's word that a tool with this expansion contains.
    coverage: f64,
}

/// Sums of the tools of one block.
struct Block {
    score: Box<[f64; BLOCK]>,
    covered: Box<[f64; BLOCK]>,
    /// Scratch space for one word of the query: its best expansion.
    best: Box<[f64; BLOCK]>,
    best_coverage: Box<[f64; BLOCK]>,
}

/// Scores of documents, without the gain of their servers' names.
struct Scores {
    scores: Vec<f64>,
    /// For each document the share of the query that it contains.
    shares: Vec<f64>,
    /// The largest of them.
    covered: f64,
}

impl Scores {
    fn new(index: &SearchIndex, terms: &[QueryTerm], documents: Range<usize>) -> Self {
        let mut cursors: Vec<TermCursor<'_>> = terms
            .iter()
            .map(|term| TermCursor::new(index, term, documents.start))
            .collect();
        let all: f64 = cursors
            .iter()
            .fold(0.0, |sum, cursor| sum + cursor.coverage);
        let word_weights = word_weights(index, terms);
        let mut block = Block::new();
        let mut scores = Vec::with_capacity(documents.len());
        let mut shares = Vec::with_capacity(documents.len());
        let mut most = 0.0_f64;
        for start in documents.clone().step_by(BLOCK) {
            let end = documents.end.min(start + BLOCK);
            for cursor in &mut cursors {
                block.add(cursor, start, end);
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
                    score *= 1.0 + NAME_MATCH_GAIN * name_coverage(name_words, &word_weights);
                }
                scores.push(score);
                shares.push(if score > 0.0 { share } else { 0.0 });
            }
        }
        Self {
            scores,
            shares,
            covered: most,
        }
    }
}

impl<'i> TermCursor<'i> {
    fn new(index: &'i SearchIndex, term: &QueryTerm, start: usize) -> Self {
        let documents = index.documents().len();
        // An expansion counts as often as all expansions of the word together: a rare synonym of a common word says no
        // more than the common word does.
        let shared = match document_frequency(index, term) {
            0 => UNKNOWN_WORD_IDF,
            frequency => idf(documents, frequency),
        };
        let expansions = term.expansions.iter().map(|expansion| {
            let postings = index.postings(expansion.word);
            let own = idf(documents, postings.documents().len());
            let (idf, coverage) = match expansion.kind {
                MatchKind::Exact => (own, 1.0),
                MatchKind::Spelling | MatchKind::Synonym => (shared, 1.0),
                MatchKind::Semantic => (own.min(shared), expansion.weight),
            };
            ExpansionCursor {
                postings: postings.cursor_from(start),
                factor: expansion.weight * idf,
                coverage,
            }
        });
        Self {
            coverage: if term.optional { 0.0 } else { shared },
            expansions: expansions.collect(),
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
            best_coverage: zeros(),
        }
    }

    /// Adds one word of the query to the tools from `start` to `end`, each by its best expansion.
    fn add(&mut self, term: &mut TermCursor<'_>, start: usize, end: usize) {
        let mut is_found = false;
        for cursor in &mut term.expansions {
            let (documents, weights) = cursor.postings.take_before(end, BLOCK);
            is_found |= !documents.is_empty();
            for (document, weight) in documents.iter().zip(weights) {
                let at = (*document as usize).wrapping_sub(start) % BLOCK;
                let score = cursor.factor * weight;
                self.best[at] = self.best[at].max(score);
                self.best_coverage[at] = self.best_coverage[at].max(cursor.coverage);
            }
        }
        if is_found {
            for at in 0..BLOCK {
                self.score[at] += std::mem::take(&mut self.best[at]);
                self.covered[at] += term.coverage * std::mem::take(&mut self.best_coverage[at]);
            }
        }
    }
}

/// Number of tools that contain an expansion of the word, expansions by meaning excluded.
fn document_frequency(index: &SearchIndex, term: &QueryTerm) -> usize {
    let expansions = term.expansions.iter();
    let postings: Vec<&[u32]> = expansions
        .filter(|expansion| expansion.kind != MatchKind::Semantic)
        .map(|expansion| index.postings(expansion.word).documents())
        .collect();
    if let [documents] = postings.as_slice() {
        return documents.len();
    }
    // One bit for each document, since a document may contain several expansions.
    let mut is_holding = vec![0_u64; index.documents().len().div_ceil(64)];
    for document in postings.into_iter().flatten() {
        is_holding[*document as usize / 64] |= 1 << (document % 64);
    }
    is_holding
        .iter()
        .map(|bits| bits.count_ones() as usize)
        .sum()
}

/// Inverse document frequency of a word in `frequency` of `documents` documents, as BM25 defines it.
pub(crate) fn idf(documents: usize, frequency: usize) -> f64 {
    let (all, frequency) = (documents as f64, frequency as f64);
    (1.0 + (all - frequency + 0.5) / (frequency + 0.5)).ln()
}

/// For each word of the index the weight of its best match in the query, 0 without one.
fn word_weights(index: &SearchIndex, terms: &[QueryTerm]) -> Vec<f64> {
    let mut weights = vec![0.0_f64; index.vocabulary().len()];
    for expansion in terms.iter().flat_map(|term| &term.expansions) {
        let best = &mut weights[expansion.word as usize];
        *best = best.max(expansion.weight);
    }
    weights
}

fn name_coverage(name_words: &[WordId], word_weights: &[f64]) -> f64 {
    let sum: f64 = name_words
        .iter()
        .map(|word| word_weights[*word as usize])
        .sum();
    sum / name_words.len().max(1) as f64
}

/// Raises the scores of tools whose server's name is in the query, wholly or in part. `scores[0]` belongs to `first`.
fn boost_named_servers(index: &SearchIndex, terms: &[QueryTerm], first: usize, scores: &mut [f64]) {
    let mut is_in_query = vec![false; index.vocabulary().len()];
    for expansion in terms.iter().flat_map(|term| &term.expansions) {
        is_in_query[expansion.word as usize] |=
            matches!(expansion.kind, MatchKind::Exact | MatchKind::Spelling);
    }
    let share = |server: &IndexedServer| {
        let words = &server.words;
        let held = words
            .iter()
            .filter(|word| is_in_query[**word as usize])
            .count();
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
