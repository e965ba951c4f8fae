//! Answer to a query: the tools that match by words or by meaning, best first.
//!
//! Almost every tool matches a query of everyday words a little, and callers ask for few. So the best are selected and no
//! list is sorted as a whole. `reference.rs` ranks by full sorts, and tests compare both.

use std::ops::Range;
use std::sync::Arc;

use limbeck_catalog::nearest::{NEAREST_MAX, nearest_tools};
use limbeck_catalog::words::stems;
use limbeck_catalog::{Catalog, Tool, names};
use limbeck_domain::{ServerName, ToolId, limits, text};

use crate::bm25::WordScores;
use crate::fusion::{self, SIMILAR_TOOLS_MAX, SIMILARITY_MIN, Similarity};
use crate::index::SearchIndex;
use crate::query_terms::{self, QueryTerm};
use crate::relevance::Relevance;
use crate::semantic::SemanticIndex;
use crate::top_k::ScoredDocument;
use crate::{Evidence, SearchAnswer, SearchHit, SearchQuery, actions};

impl SearchIndex {
    /// Ranks the tools of `catalog` against `query`, best first. `catalog` is the snapshot the index was made of, or
    /// one with the same definitions.
    pub fn search(&self, catalog: &Catalog, query: &SearchQuery<'_>) -> SearchAnswer {
        answer(self, catalog, query)
    }
}

fn answer(index: &SearchIndex, catalog: &Catalog, query: &SearchQuery<'_>) -> SearchAnswer {
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
    let semantic = (query.evidence != Evidence::Words).then(|| index.semantic(catalog));
    let terms = query_terms::parse(index, semantic, query_text);
    let documents = match &server {
        Some(server) => index.documents().of(server),
        None => 0..index.documents().len(),
    };
    let mut nearest = Vec::new();
    let (hits, total) = if terms.is_empty() {
        let first = documents.clone().take(query.limit);
        let first = first.map(|document| (0.0, document, Relevance::Unknown));
        (first.collect(), documents.len())
    } else {
        let similarity =
            semantic.map(|semantic| similarity(index, semantic, query, &terms, &documents));
        let similar = Similarity::new(index, documents.start, similarity.unwrap_or_default());
        let words = || WordScores::new(index, &terms, documents.clone());
        let (hits, total) = match query.evidence {
            Evidence::Words => {
                let words = words();
                let hits = words.best(query.limit);
                (scored(&hits, |_| Relevance::Unknown), words.total())
            }
            Evidence::Meaning => {
                let mut hits = similar.best(SIMILARITY_MIN, SIMILAR_TOOLS_MAX);
                let total = hits.len();
                hits.truncate(query.limit);
                (scored(&hits, |_| Relevance::Unknown), total)
            }
            Evidence::Both => {
                let action = actions::of_query(query_text);
                let words = words();
                let (hits, total) = fusion::fuse(&words, &similar, action, query.limit);
                let relevance = |document| match query.similarity {
                    Some(_) => Relevance::Unknown,
                    None => Relevance::Known {
                        share: words.share(document),
                        similarity: similar.of(document),
                    },
                };
                (scored(&hits, relevance), total)
            }
        };
        if total == 0 {
            let tools = || tools(catalog, server.as_ref());
            let by_meaning = || {
                let best = similar.best(f32::MIN, NEAREST_MAX).into_iter();
                best.map(|scored| index.documents().tool(catalog, scored.document()))
            };
            nearest = nearest_calls(tools, query_text, by_meaning);
        }
        (hits, total)
    };
    let hits = hits
        .into_iter()
        .map(|(score, document, relevance)| SearchHit {
            tool: Arc::clone(index.documents().tool(catalog, document)),
            score,
            document,
            relevance,
        });
    let hits: Vec<SearchHit> = hits.collect();
    SearchAnswer {
        relevant: hits.len(),
        hits,
        total,
        nearest,
        unknown_server: None,
    }
}

/// Similarity of each of `documents` to the query: the caller's, or that of their embeddings. Empty when the query has no
/// embedding.
fn similarity(
    index: &SearchIndex,
    semantic: &SemanticIndex,
    query: &SearchQuery<'_>,
    terms: &[QueryTerm],
    documents: &Range<usize>,
) -> Vec<f32> {
    let given = query
        .similarity
        .filter(|given| given.len() == index.documents().len());
    match given {
        Some(given) => given[documents.clone()].to_vec(),
        None => match SemanticIndex::embed_query(terms.iter().map(|term| &*term.spelling)) {
            Some(embedding) => semantic.tools().cosines(&embedding, documents.clone()),
            None => Vec::new(),
        },
    }
}

fn scored(
    documents: &[ScoredDocument],
    relevance: impl Fn(usize) -> Relevance,
) -> Vec<(f64, usize, Relevance)> {
    let documents = documents.iter().map(|scored| {
        let document = scored.document();
        (scored.score(), document, relevance(document))
    });
    documents.collect()
}

/// Servers whose whole name is in `text`, in any style.
pub fn servers_named(catalog: &Catalog, text: &str) -> Vec<ServerName> {
    let asked = stems(text::cut(text, limits::QUERY_BYTES_MAX));
    let is_named = |server: &&ServerName| {
        let words = stems(server.as_str());
        !words.is_empty() && words.iter().all(|word| asked.contains(word))
    };
    let names = catalog.servers().map(|server| server.name());
    names.filter(is_named).cloned().collect()
}

/// The tools of `server`, or of all servers.
fn tools<'c>(
    catalog: &'c Catalog,
    server: Option<&ServerName>,
) -> Box<dyn Iterator<Item = &'c Arc<Tool>> + 'c> {
    match server {
        Some(server) => Box::new(catalog.tools_of(server).iter()),
        None => Box::new(catalog.tools()),
    }
}

/// Suggested calls when nothing matches: the nearest by name, else by meaning, else the first tools.
fn nearest_calls<'c, T, L>(
    tools: impl Fn() -> T,
    query: &str,
    by_meaning: impl Fn() -> L,
) -> Vec<String>
where
    T: Iterator<Item = &'c Arc<Tool>>,
    L: Iterator<Item = &'c Arc<Tool>>,
{
    let call = |id: &ToolId| names::call_expression(id.server.as_str(), &id.tool);
    let by_name = nearest_tools(tools().map(|tool| tool.id()), query);
    if !by_name.is_empty() {
        return by_name.iter().map(call).collect();
    }
    let mut nearest: Vec<String> = by_meaning().map(|tool| call(tool.id())).collect();
    if nearest.is_empty() {
        let first = tools().take(NEAREST_MAX);
        nearest = first.map(|tool| call(tool.id())).collect();
    }
    nearest
}
