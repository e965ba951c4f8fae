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
use super::slots;
use super::tokens;
use super::vectors::{Unit, Vectors};
use super::wording::Ranking;
use super::{Evidence, Hit, SearchAnswer, SearchQuery};
use crate::catalog::Catalog;
use crate::names;
use crate::nearest::{NEAREST_MAX, nearest_tools};
use crate::tool::Tool;

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
/// Tools whose ranks by words are told in order. With so many, hardly a tool found by meaning has a worse rank by
/// words and yet a chance.
const WORDS_RANKED_MIN: usize = 256;

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
        (
            first.map(|document| (0.0, document)).collect(),
            documents.len(),
        )
    } else {
        let words = slots.iter().map(|slot| &*slot.spoken);
        let likeness = meaning.and_then(|meaning| Likeness::new(index, meaning, query, words));
        let words = match query.evidence {
            Evidence::Meaning => Ranking::none(index),
            Evidence::Words | Evidence::Both => Ranking::new(index, &slots, documents.clone()),
        };
        let like = |min, count| by_meaning(index, likeness.as_ref(), documents.clone(), min, count);
        let (hits, total) = match query.evidence {
            Evidence::Words => (scored(&words.best(query.limit)), words.total()),
            Evidence::Meaning | Evidence::Both => {
                let like = like(MEANING_MIN, MEANING_TOOLS_MAX);
                fused(index, &words, &like, query.limit)
            }
        };
        if total == 0 {
            let tools = || tools(catalog, server.as_ref());
            let like = || {
                let like = like(f32::MIN, NEAREST_MAX).into_iter();
                like.map(|place| index.documents().tool(catalog, place.document()))
            };
            nearest = nearest_calls(tools, query_text, like);
        }
        (hits, total)
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

/// How near tools are to the query in meaning.
enum Likeness<'q> {
    /// As the caller says, tool by tool.
    Given(&'q [f32]),
    /// As the tools' vectors are to the query's.
    Table(&'q Vectors, Unit),
}

impl<'q> Likeness<'q> {
    /// None when no word of the query has a meaning that is known.
    fn new<'w>(
        index: &Index,
        meaning: &'q Meaning,
        query: &SearchQuery<'q>,
        words: impl Iterator<Item = &'w str>,
    ) -> Option<Self> {
        let given = query
            .likeness
            .filter(|given| given.len() == index.documents().len());
        match given {
            Some(given) => Some(Self::Given(given)),
            None => Some(Self::Table(meaning.tools(), Meaning::of(words)?)),
        }
    }

    /// Gives `found` each of `documents` that is alike by at least `min`, with its likeness; what `found` gives back
    /// is the least from then on.
    fn each(
        &self,
        documents: Range<usize>,
        mut min: f32,
        mut found: impl FnMut(usize, f32) -> f32,
    ) {
        match self {
            Self::Given(likeness) => {
                for document in documents {
                    if likeness[document] >= min {
                        min = found(document, likeness[document]);
                    }
                }
            }
            Self::Table(vectors, to) => vectors.each_like(to, documents, min, found),
        }
    }
}

/// The tools nearest in meaning, best first, at most `count`.
fn by_meaning(
    index: &Index,
    likeness: Option<&Likeness<'_>>,
    documents: Range<usize>,
    min: f32,
    count: usize,
) -> Vec<Place> {
    let mut best = Best::new(count);
    if let Some(likeness) = likeness {
        let turns = index.documents().turns();
        likeness.each(documents, min, |document, likeness| {
            best.offer(Place::new(f64::from(likeness), document, turns));
            // Scores are likenesses, so nothing is lost.
            best.score_min().map_or(min, |least| least as f32)
        });
    }
    best.into_sorted()
}

/// The best `limit` by the ranks in both lists, best first, and how many tools stand in either.
fn fused(
    index: &Index,
    words: &Ranking<'_>,
    like: &[Place],
    limit: usize,
) -> (Vec<(f64, usize)>, usize) {
    let worth = |rank: usize| 1.0 / (FUSION_K + 1.0 + rank as f64);
    let mut gains: Vec<(usize, f64)> = like
        .iter()
        .enumerate()
        .map(|(rank, place)| (place.document(), MEANING_WEIGHT * worth(rank)))
        .collect();
    gains.sort_unstable_by_key(|(document, _)| *document);
    let gain = |document: usize| {
        let found = gains.binary_search_by_key(&document, |(document, _)| *document);
        found.map_or(0.0, |at| gains[at].1)
    };
    let turns = index.documents().turns();
    let place = |score: f64, document: usize| Place::new(score, document, turns);

    // A tool beyond these that is not near in meaning has `limit` tools before it, and each is worth more.
    let ranked = words.best(limit.max(WORDS_RANKED_MIN));
    let mut hits: Vec<Place> = ranked
        .iter()
        .enumerate()
        .map(|(rank, ranked)| place(worth(rank) + gain(ranked.document()), ranked.document()))
        .collect();
    let mut beyond = Vec::new();
    let mut total = words.total();
    for (document, gain) in &gains {
        match words.place(*document) {
            None => {
                hits.push(place(*gain, *document));
                total += 1;
            }
            Some(found) if ranked.last().is_none_or(|last| *last < found) => beyond.push(found),
            Some(_) => {}
        }
    }
    if let Some(least) = nth(&mut hits, limit) {
        beyond.retain(|found| worth(ranked.len()) + gain(found.document()) >= least.score());
    }
    beyond.sort_unstable();
    for (rank, found) in words.ranks(&beyond).into_iter().zip(&beyond) {
        let score = worth(rank) + gain(found.document());
        hits.push(place(score, found.document()));
    }
    nth(&mut hits, limit);
    hits.truncate(limit);
    hits.sort_unstable();
    (scored(&hits), total)
}

/// The last of the `count` best, which come first from then on; none when there are fewer.
fn nth(hits: &mut [Place], count: usize) -> Option<Place> {
    let last = count.checked_sub(1).filter(|last| *last < hits.len())?;
    Some(*hits.select_nth_unstable(last).1)
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
