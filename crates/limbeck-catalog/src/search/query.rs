//! Answers a query: how well each tool fits.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use limbeck_domain::{ServerName, ToolId, limits, text};

use super::index::{Index, WordId};
use super::slots::{self, By, Slot};
use super::tokens;
use super::{Evidence, Hit, SearchAnswer, SearchQuery};
use crate::catalog::Catalog;
use crate::names;
use crate::nearest::{NEAREST_MAX, nearest_tools};
use crate::tool::Tool;

/// Saturation of a word's frequency, the usual value.
pub(super) const K1: f64 = 1.2;
/// What a tool gains whose server the query names.
pub(super) const SERVER_NAMED_GAIN: f64 = 0.4;
/// Share of the score that does not depend on how much of the query a tool holds.
pub(super) const COVERAGE_BASE: f64 = 0.35;
/// What a tool gains whose whole name the query says: `create_issue` before `create_issue_comment`.
pub(super) const NAME_SAID_GAIN: f64 = 0.5;
/// How a word counts that is in no tool, against words that are: as one that is in one tool of a thousand.
pub(super) const UNKNOWN_WORTH: f64 = 6.0;
/// Constant of reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009), smaller than theirs: there are few
/// right tools, and the first ranks are to count. Best of 5, 20 and 60 over the labelled queries.
pub(super) const FUSION_K: f64 = 5.0;
/// Weight of a tool's rank by meaning, against its rank by words. Best of 0 to 1 in steps of a fifth: with more,
/// meaning takes places that words had filled rightly.
pub(super) const MEANING_WEIGHT: f64 = 0.4;
/// Likeness of a tool that is found by its meaning alone.
pub(super) const MEANING_MIN: f32 = 0.35;
/// Tools found by meaning.
pub(super) const MEANING_TOOLS_MAX: usize = 100;

/// A document and how well it fits.
type Ranked<'c> = (f64, usize, &'c Arc<Tool>);

pub(super) fn answer(index: &Index, catalog: &Catalog, query: &SearchQuery<'_>) -> SearchAnswer {
    let server = match query
        .server
        .map(|name| catalog.resolve_server(name))
        .transpose()
    {
        Ok(server) => server,
        Err(error) => {
            return SearchAnswer {
                unknown_server: Some(error),
                ..SearchAnswer::default()
            };
        }
    };
    let query_text = text::cut(query.text, limits::QUERY_BYTES_MAX);
    let meaning = (query.evidence != Evidence::Words).then(|| index.meaning(catalog));
    let slots = slots::read(index, meaning, query_text);
    let in_scope: Vec<(usize, &Arc<Tool>)> = catalog
        .tools()
        .enumerate()
        .filter(|(_, tool)| {
            let server = server.as_ref();
            server.is_none_or(|server| *server == tool.id().server)
        })
        .collect();
    let mut nearest = Vec::new();
    let hits = if slots.is_empty() {
        let all = in_scope.into_iter();
        all.map(|(document, tool)| (0.0, document, tool)).collect()
    } else {
        let given = query
            .likeness
            .filter(|given| given.len() == index.documents());
        let likeness = match (meaning, given) {
            (None, _) => Vec::new(),
            (Some(_), Some(given)) => given.to_vec(),
            (Some(meaning), None) => meaning.likeness(slots.iter().map(|slot| &*slot.spoken)),
        };
        let by_words = match query.evidence {
            Evidence::Meaning => Vec::new(),
            Evidence::Words | Evidence::Both => by_words(index, &in_scope, &slots),
        };
        let hits = match query.evidence {
            Evidence::Words => by_words,
            Evidence::Meaning | Evidence::Both => {
                fused(by_words, by_meaning(&in_scope, &likeness, MEANING_MIN))
            }
        };
        if hits.is_empty() {
            nearest = nearest_calls(&in_scope, query_text, &likeness);
        }
        hits
    };
    let total = hits.len();
    let hits = hits.into_iter().take(query.limit);
    SearchAnswer {
        hits: hits
            .map(|(score, _, tool)| Hit {
                tool: Arc::clone(tool),
                score,
            })
            .collect(),
        total,
        nearest,
        unknown_server: None,
    }
}

/// The tools that hold words of the query, best first.
fn by_words<'c>(
    index: &Index,
    in_scope: &[(usize, &'c Arc<Tool>)],
    slots: &[Slot],
) -> Vec<Ranked<'c>> {
    let scores = scores(index, slots);
    let said = said(slots);
    let named = servers_said(index, slots);
    let mut hits = Vec::new();
    for &(document, tool) in in_scope {
        let mut score = scores[document];
        if score <= 0.0 {
            continue;
        }
        score *= 1.0 + NAME_SAID_GAIN * share_said(index.name_words(document), &said);
        if let Some(share) = named.get(&tool.id().server) {
            score *= 1.0 + SERVER_NAMED_GAIN * share;
        }
        hits.push((score, document, tool));
    }
    sort(&mut hits);
    hits
}

/// The tools nearest in meaning, best first.
fn by_meaning<'c>(
    in_scope: &[(usize, &'c Arc<Tool>)],
    likeness: &[f32],
    min: f32,
) -> Vec<Ranked<'c>> {
    if likeness.is_empty() {
        return Vec::new();
    }
    let like = in_scope
        .iter()
        .filter(|(document, _)| likeness[*document] >= min);
    let mut hits: Vec<Ranked<'c>> = like
        .map(|(document, tool)| (f64::from(likeness[*document]), *document, *tool))
        .collect();
    sort(&mut hits);
    hits.truncate(MEANING_TOOLS_MAX);
    hits
}

/// Both lists in one, by the ranks in each.
fn fused<'c>(by_words: Vec<Ranked<'c>>, by_meaning: Vec<Ranked<'c>>) -> Vec<Ranked<'c>> {
    let worth = |rank: usize| 1.0 / (FUSION_K + 1.0 + rank as f64);
    let mut hits: Vec<Ranked<'c>> = Vec::with_capacity(by_words.len());
    let mut places = HashMap::with_capacity(by_words.len());
    for (rank, (_, document, tool)) in by_words.into_iter().enumerate() {
        places.insert(document, hits.len());
        hits.push((worth(rank), document, tool));
    }
    for (rank, (_, document, tool)) in by_meaning.into_iter().enumerate() {
        let gain = MEANING_WEIGHT * worth(rank);
        match places.get(&document) {
            Some(place) => hits[*place].0 += gain,
            None => hits.push((gain, document, tool)),
        }
    }
    sort(&mut hits);
    hits
}

/// Best first, ties by name.
fn sort(hits: &mut [Ranked<'_>]) {
    hits.sort_unstable_by(|(a, _, one), (b, _, other)| {
        b.total_cmp(a).then_with(|| one.id().cmp(other.id()))
    });
}

/// BM25F score of each document, less for a part of the query that it does not hold.
fn scores(index: &Index, slots: &[Slot]) -> Vec<f64> {
    let documents = index.documents();
    let mut scores = vec![0.0; documents];
    let mut covered = vec![0.0; documents];
    let mut asked = 0.0;
    let mut found = Found::new(documents);
    for slot in slots {
        for reading in slot
            .readings
            .iter()
            .filter(|reading| reading.by != By::Meaning)
        {
            found.touch(index.postings(reading.word));
        }
        // What is not the word itself is as rare as all readings together: a rare synonym of a common
        // word says no more than the common word does.
        let worth = match found.touched.len() {
            0 => UNKNOWN_WORTH,
            holding => idf(documents, holding),
        };
        for reading in &slot.readings {
            let postings = index.postings(reading.word);
            let own = idf(documents, postings.len());
            let (idf, held) = match reading.by {
                By::Same => (own, 1.0),
                By::Letters | By::Synonym => (worth, 1.0),
                By::Meaning => (own.min(worth), reading.weight),
            };
            found.touch(postings);
            for (document, frequency) in postings {
                let saturated = frequency * (K1 + 1.0) / (K1 + frequency);
                found.hold(*document as usize, reading.weight * idf * saturated, held);
            }
        }
        let counts = if slot.optional { 0.0 } else { worth };
        asked += counts;
        found.take(|document, score, held| {
            scores[document] += score;
            covered[document] += counts * held;
        });
    }
    if asked > 0.0 {
        for (score, covered) in scores.iter_mut().zip(covered) {
            *score *= COVERAGE_BASE + (1.0 - COVERAGE_BASE) * covered / asked;
        }
    }
    scores
}

/// What one word of the query finds: of each document the best reading.
struct Found {
    touched: Vec<usize>,
    is_touched: Vec<bool>,
    score: Vec<f64>,
    held: Vec<f64>,
}

impl Found {
    fn new(documents: usize) -> Self {
        Self {
            touched: Vec::new(),
            is_touched: vec![false; documents],
            score: vec![0.0; documents],
            held: vec![0.0; documents],
        }
    }

    fn touch(&mut self, postings: &[(u32, f64)]) {
        for (document, _) in postings {
            let document = *document as usize;
            if !std::mem::replace(&mut self.is_touched[document], true) {
                self.touched.push(document);
            }
        }
    }

    fn hold(&mut self, document: usize, score: f64, held: f64) {
        self.score[document] = self.score[document].max(score);
        self.held[document] = self.held[document].max(held);
    }

    /// Gives what was found and forgets it.
    fn take(&mut self, mut give: impl FnMut(usize, f64, f64)) {
        for document in self.touched.drain(..) {
            self.is_touched[document] = false;
            let score = std::mem::take(&mut self.score[document]);
            give(document, score, std::mem::take(&mut self.held[document]));
        }
    }
}

pub(super) fn idf(documents: usize, holding: usize) -> f64 {
    let (all, holding) = (documents as f64, holding as f64);
    (1.0 + (all - holding + 0.5) / (holding + 0.5)).ln()
}

/// Words of the index that the query says, each with the weight of its best reading.
fn said(slots: &[Slot]) -> HashMap<WordId, f64> {
    let mut said = HashMap::new();
    for reading in slots.iter().flat_map(|slot| &slot.readings) {
        let best = said.entry(reading.word).or_insert(0.0_f64);
        *best = best.max(reading.weight);
    }
    said
}

fn share_said(name_words: &[WordId], said: &HashMap<WordId, f64>) -> f64 {
    let sum: f64 = name_words.iter().filter_map(|word| said.get(word)).sum();
    sum / name_words.len().max(1) as f64
}

/// Servers of whose name the query says a part, and how much of it.
fn servers_said<'i>(index: &'i Index, slots: &[Slot]) -> HashMap<&'i ServerName, f64> {
    let readings = slots.iter().flat_map(|slot| &slot.readings);
    let said: HashSet<WordId> = readings
        .filter(|reading| matches!(reading.by, By::Same | By::Letters))
        .map(|reading| reading.word)
        .collect();
    let share = |words: &[WordId]| {
        let held = words.iter().filter(|word| said.contains(word)).count();
        held as f64 / words.len().max(1) as f64
    };
    let servers = index.server_words();
    let shares = servers.map(|(server, words)| (server, share(words)));
    shares.filter(|(_, share)| *share > 0.0).collect()
}

/// Servers whose whole name stands in `text`.
pub(crate) fn servers_named(catalog: &Catalog, text: &str) -> Vec<ServerName> {
    let asked = tokens::words(text::cut(text, limits::QUERY_BYTES_MAX));
    let is_named = |server: &&ServerName| {
        let words = tokens::words(server.as_str());
        !words.is_empty() && words.iter().all(|word| asked.contains(word))
    };
    let names = catalog.servers().map(|server| server.name());
    names.filter(is_named).cloned().collect()
}

/// What comes nearest when nothing fits: by name, else by meaning, else the first there are.
fn nearest_calls(in_scope: &[(usize, &Arc<Tool>)], query: &str, likeness: &[f32]) -> Vec<String> {
    let tools = || in_scope.iter().map(|(_, tool)| *tool);
    let call = |id: &ToolId| names::call_expression(id.server.as_str(), &id.tool);
    let by_name = nearest_tools(tools(), query);
    if !by_name.is_empty() {
        return by_name.iter().map(call).collect();
    }
    let mut like = by_meaning(in_scope, likeness, f32::MIN);
    like.truncate(NEAREST_MAX);
    if !like.is_empty() {
        return like.iter().map(|(_, _, tool)| call(tool.id())).collect();
    }
    tools()
        .take(NEAREST_MAX)
        .map(|tool| call(tool.id()))
        .collect()
}
