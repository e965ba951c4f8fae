//! Answers a query: how well each tool fits.

use std::collections::HashMap;
use std::sync::Arc;

use limbeck_domain::{ServerName, limits, text};

use super::index::{Index, WordId};
use super::slots::{self, Slot};
use super::tokens;
use super::{Hit, SearchAnswer, SearchQuery};
use crate::catalog::Catalog;
use crate::names;
use crate::nearest::nearest_tools;
use crate::tool::Tool;

/// Saturation of a word's frequency, the usual value.
const K1: f64 = 1.2;
/// Factor for the tools of a server the query names.
const SERVER_NAMED_FACTOR: f64 = 1.4;
/// Share of the score that does not depend on how much of the query a tool holds.
const COVERAGE_BASE: f64 = 0.35;
/// What a tool gains whose whole name the query says: `create_issue` before `create_issue_comment`.
const NAME_SAID_GAIN: f64 = 0.5;

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
    let slots = slots::read(index, query_text);
    let in_scope = |tool: &Tool| {
        server
            .as_ref()
            .is_none_or(|server| *server == tool.id().server)
    };
    let hits = match slots.as_slice() {
        [] => catalog
            .tools()
            .filter(|tool| in_scope(tool))
            .map(|tool| (0.0, tool))
            .collect(),
        slots => ranked(index, catalog, query_text, slots, in_scope),
    };
    let nearest = match hits.as_slice() {
        [] => nearest_calls(catalog.tools().filter(|tool| in_scope(tool)), query_text),
        _ => Vec::new(),
    };
    let total = hits.len();
    let hits = hits.into_iter().take(query.limit).map(|(score, tool)| Hit {
        tool: Arc::clone(tool),
        score,
    });
    SearchAnswer {
        hits: hits.collect(),
        total,
        nearest,
        unknown_server: None,
    }
}

fn ranked<'c>(
    index: &Index,
    catalog: &'c Catalog,
    query: &str,
    slots: &[Slot],
    in_scope: impl Fn(&Tool) -> bool,
) -> Vec<(f64, &'c Arc<Tool>)> {
    let scores = scores(index, slots);
    let said = said(slots);
    let named = named_servers(catalog, query);
    let mut hits = Vec::new();
    for (document, tool) in catalog.tools().enumerate() {
        let mut score = scores[document];
        if score <= 0.0 || !in_scope(tool) {
            continue;
        }
        score *= 1.0 + NAME_SAID_GAIN * share_said(index.name_words(document), &said);
        if named.contains(&&tool.id().server) {
            score *= SERVER_NAMED_FACTOR;
        }
        hits.push((score, tool));
    }
    hits.sort_by(|(a, one), (b, other)| b.total_cmp(a).then_with(|| one.id().cmp(other.id())));
    hits
}

/// BM25F score of each document, less for a part of the query that it does not hold.
fn scores(index: &Index, slots: &[Slot]) -> Vec<f64> {
    let mut scores = vec![0.0; index.documents()];
    let mut covered = vec![0.0; index.documents()];
    let mut best = vec![0.0_f64; index.documents()];
    let mut asked = 0.0;
    let mut seen = vec![0_usize; index.documents()];
    for (number, slot) in (1..).zip(slots) {
        let mut touched = Vec::new();
        for (document, _) in slot
            .readings
            .iter()
            .flat_map(|reading| index.postings(reading.word))
        {
            let document = *document as usize;
            if seen[document] != number {
                seen[document] = number;
                touched.push(document);
            }
        }
        // What is not the word itself is as rare as all readings together: a rare synonym of a common
        // word says no more than the common word does.
        let worth = idf(index.documents(), touched.len());
        for reading in &slot.readings {
            let postings = index.postings(reading.word);
            let idf = match reading.is_said() {
                true => idf(index.documents(), postings.len()),
                false => worth,
            };
            for (document, frequency) in postings {
                let saturated = frequency * (K1 + 1.0) / (K1 + frequency);
                let best = &mut best[*document as usize];
                *best = best.max(reading.weight * idf * saturated);
            }
        }
        let counts = if slot.optional { 0.0 } else { worth };
        asked += counts;
        for document in touched {
            scores[document] += std::mem::take(&mut best[document]);
            covered[document] += counts;
        }
    }
    if asked > 0.0 {
        for (score, covered) in scores.iter_mut().zip(covered) {
            *score *= COVERAGE_BASE + (1.0 - COVERAGE_BASE) * covered / asked;
        }
    }
    scores
}

fn idf(documents: usize, holding: usize) -> f64 {
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

/// Servers whose whole name stands in the query.
fn named_servers<'c>(catalog: &'c Catalog, query: &str) -> Vec<&'c ServerName> {
    let asked = tokens::words(query);
    let is_named = |server: &&ServerName| {
        let words = tokens::words(server.as_str());
        !words.is_empty() && words.iter().all(|word| asked.contains(word))
    };
    catalog
        .servers()
        .map(|server| server.name())
        .filter(is_named)
        .collect()
}

fn nearest_calls<'c>(tools: impl Iterator<Item = &'c Arc<Tool>>, query: &str) -> Vec<String> {
    nearest_tools(tools, query)
        .iter()
        .map(|id| names::call_expression(id.server.as_str(), &id.tool))
        .collect()
}
