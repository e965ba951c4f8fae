//! Answers a query: which tools fit, by words and by meaning, and in which order.
//!
//! Almost every tool fits a query of everyday words a little, and few are asked for. So the best are picked and
//! no list is sorted whole; `reference.rs` does it the plain way, and tests hold both to the same answers.

use std::ops::Range;
use std::sync::Arc;

use limbeck_domain::{ServerName, ToolId, limits, text};

use super::fusion::{self, Likeness, MEANING_MIN, MEANING_TOOLS_MAX};
use super::index::Index;
use super::meaning::Meaning;
use super::places::Place;
use super::slots::{self, Slot};
use super::wording::Ranking;
use super::{Evidence, Hit, SearchAnswer, SearchQuery, actions, tokens};
use crate::catalog::Catalog;
use crate::names;
use crate::nearest::{NEAREST_MAX, nearest_tools};
use crate::tool::Tool;

/// Answers `query` about the snapshot that `index` was made of.
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
        let like = Likeness::new(index, documents.start, likeness.unwrap_or_default());
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
            Evidence::Both => {
                let action = actions::of_query(query_text);
                fusion::fused(&words(), &like, action, query.limit)
            }
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
