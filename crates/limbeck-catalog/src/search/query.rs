//! Answers a query: which tools fit, by words and by meaning, and in which order.
//!
//! Almost every tool fits a query of everyday words a little, and few are asked for. So the best are picked and
//! no list is sorted whole; `reference.rs` does it the plain way, and tests hold both to the same answers.

use std::ops::Range;
use std::sync::Arc;

use limbeck_domain::{ServerName, ToolId, limits, text};

use super::index::Index;
use super::meaning::Meaning;
use super::places::{Best, Place};
use super::slots::{self, Slot};
use super::tokens;
use super::wording::Ranking;
use super::{Evidence, Hit, SearchAnswer, SearchQuery};
use crate::catalog::Catalog;
use crate::names;
use crate::nearest::{NEAREST_MAX, nearest_tools};
use crate::tool::Tool;

/// Weight of a tool's likeness, against its score by words, each in standard deviations over the tools: where no tool
/// holds a word of the query, and where some tool holds them all. From 4 to 7 and from 0.5 to 1 recall of the intents
/// that weights are chosen on differs by one query. With 3 for all queries it is better by three, but two keyword
/// queries of `tests/search.rs` no longer find their tool first.
pub(super) const MEANING_WEIGHT_MOST: f64 = 5.0;
pub(super) const MEANING_WEIGHT_LEAST: f64 = 0.5;
/// Likeness of a tool that is found by its meaning alone.
pub(super) const MEANING_MIN: f32 = 0.25;
/// Tools found by meaning.
pub(super) const MEANING_TOOLS_MAX: usize = 100;
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
    let documents = match &server {
        Some(server) => index.documents().of(server),
        None => 0..index.documents().len(),
    };
    let mut nearest = Vec::new();
    let (hits, total) = if slots.is_empty() {
        let first = documents.clone().take(query.limit);
        let first = first.map(|document| (0.0, document));
        (first.collect(), documents.len())
    } else {
        let likeness = meaning.map(|meaning| likeness(index, meaning, query, &slots, &documents));
        let like = Likeness {
            index,
            first: documents.start,
            of_each: likeness.unwrap_or_default(),
        };
        let words = || Ranking::new(index, &slots, documents.clone());
        let (hits, total) = match query.evidence {
            Evidence::Words => {
                let words = words();
                (words.best(query.limit), words.total())
            }
            Evidence::Meaning => {
                let mut hits = like.best(MEANING_MIN, MEANING_TOOLS_MAX);
                let total = hits.len();
                hits.truncate(query.limit);
                (hits, total)
            }
            Evidence::Both => fused(&words(), &like, query.limit),
        };
        if total == 0 {
            let tools = || tools(catalog, server.as_ref());
            let like = || {
                let like = like.best(f32::MIN, NEAREST_MAX).into_iter();
                like.map(|place| index.documents().tool(catalog, place.document()))
            };
            nearest = nearest_calls(tools, query_text, like);
        }
        (scored(&hits), total)
    };
    let hits = hits.into_iter().map(|(score, document)| Hit {
        tool: Arc::clone(index.documents().tool(catalog, document)),
        score,
    });
    SearchAnswer {
        hits: hits.collect(),
        total,
        nearest,
        unknown_server: None,
    }
}

/// How near each of `documents` is to the query in meaning, as the caller says or as the tools' vectors are to the
/// query's; empty when no word of the query has a meaning that is known.
fn likeness(
    index: &Index,
    meaning: &Meaning,
    query: &SearchQuery<'_>,
    slots: &[Slot],
    documents: &Range<usize>,
) -> Vec<f32> {
    let given = query
        .likeness
        .filter(|given| given.len() == index.documents().len());
    match given {
        Some(given) => given[documents.clone()].to_vec(),
        None => match Meaning::of(slots.iter().map(|slot| &*slot.spoken)) {
            Some(meant) => meaning.tools().cosines(&meant, documents.clone()),
            None => Vec::new(),
        },
    }
}

/// How near tools are to the query in meaning.
struct Likeness<'i> {
    index: &'i Index,
    /// The first of the tools that are asked for.
    first: usize,
    /// Of each of them; empty when it is not known.
    of_each: Vec<f32>,
}

impl Likeness<'_> {
    /// The tools nearest in meaning, best first, at most `count`.
    fn best(&self, min: f32, count: usize) -> Vec<Place> {
        let turns = self.index.documents().turns();
        let mut best = Best::new(count);
        for (document, likeness) in (self.first..).zip(&self.of_each) {
            if *likeness >= min {
                best.offer(Place::new(f64::from(*likeness), document, turns));
            }
        }
        best.into_sorted()
    }
}

/// The best `limit` of the tools that words or meaning find, by the sum of their scores, and how many there are.
///
/// Scores of words and of meaning have nothing in common but that few tools stand out, so each counts by how far out
/// it stands: in standard deviations over all tools in scope. Where a tool holds all words of the query words decide,
/// and the less of them any tool holds, the more meaning does.
fn fused(words: &Ranking<'_>, like: &Likeness<'_>, limit: usize) -> (Vec<Place>, usize) {
    let all = words.scores().len();
    let covered = words.covered();
    let weight =
        MEANING_WEIGHT_MOST - (MEANING_WEIGHT_MOST - MEANING_WEIGHT_LEAST) * covered * covered;
    let word_unit = deviation(words.scores().iter().copied(), all);
    let liked = like.of_each.iter().copied().map(f64::from);
    let meaning_unit = deviation(liked, all);
    let gain = |at: usize| {
        let likeness = like.of_each.get(at).copied().map_or(0.0, f64::from);
        weight * likeness / meaning_unit
    };
    let turns = like.index.documents().turns();
    let mut best = Best::new(limit);
    for (at, score) in words.scores().iter().enumerate() {
        if *score > 0.0 {
            let score = score / word_unit + gain(at);
            best.offer(Place::new(score, like.first + at, turns));
        }
    }
    let mut total = words.total();
    for near in like.best(MEANING_MIN, MEANING_TOOLS_MAX) {
        let at = near.document() - like.first;
        if words.scores()[at] <= 0.0 {
            best.offer(Place::new(gain(at), near.document(), turns));
            total += 1;
        }
    }
    (best.into_sorted(), total)
}

/// Standard deviation of `all` numbers, of which those that are not given are nought; 1 when they do not differ.
pub(super) fn deviation(given: impl Iterator<Item = f64>, all: usize) -> f64 {
    let (mut sum, mut squares) = (0.0, 0.0);
    for number in given {
        sum += number;
        squares += number * number;
    }
    let all = all.max(1) as f64;
    let variance = squares / all - (sum / all) * (sum / all);
    // What rounding leaves of equal numbers is no difference.
    if variance > 1e-9 {
        variance.sqrt()
    } else {
        1.0
    }
}

fn scored(places: &[Place]) -> Vec<(f64, usize)> {
    let scored = places.iter().map(|place| (place.score(), place.document()));
    scored.collect()
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

/// The tools of `server`, or all.
fn tools<'c>(
    catalog: &'c Catalog,
    server: Option<&ServerName>,
) -> Box<dyn Iterator<Item = &'c Arc<Tool>> + 'c> {
    match server {
        Some(server) => Box::new(catalog.tools_of(server).iter()),
        None => Box::new(catalog.tools()),
    }
}

/// What comes nearest when nothing fits: by name, else by meaning, else the first there are.
fn nearest_calls<'c, T, L>(tools: impl Fn() -> T, query: &str, like: impl Fn() -> L) -> Vec<String>
where
    T: Iterator<Item = &'c Arc<Tool>>,
    L: Iterator<Item = &'c Arc<Tool>>,
{
    let call = |id: &ToolId| names::call_expression(id.server.as_str(), &id.tool);
    let by_name = nearest_tools(tools(), query);
    if !by_name.is_empty() {
        return by_name.iter().map(call).collect();
    }
    let mut nearest: Vec<String> = like().map(|tool| call(tool.id())).collect();
    if nearest.is_empty() {
        let first = tools().take(NEAREST_MAX);
        nearest = first.map(|tool| call(tool.id())).collect();
    }
    nearest
}
