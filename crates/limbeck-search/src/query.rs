//! Search queries and their answers.

use std::sync::Arc;

use limbeck_catalog::{ResolveError, Tool};

use crate::relevance::Relevance;

/// A search request.
#[derive(Clone, Copy, Debug)]
pub struct SearchQuery<'q> {
    /// Free text; an empty text matches all tools.
    pub text: &'q str,
    /// Only server to search, in any style that [`limbeck_catalog::Catalog::resolve_server`] accepts.
    pub server: Option<&'q str>,
    /// Most hits returned.
    pub limit: usize,
    /// Evidence that counts.
    pub evidence: Evidence,
    /// Similarity of each tool to `text`, -1 to 1, in catalog order, in place of the built-in embeddings. Ignored when its
    /// length is not the number of tools.
    pub similarity: Option<&'q [f32]>,
}

impl<'q> SearchQuery<'q> {
    /// Asks for all tools of all servers that match `text`.
    pub fn new(text: &'q str) -> Self {
        Self {
            text,
            server: None,
            limit: usize::MAX,
            evidence: Evidence::Both,
            similarity: None,
        }
    }
}

/// Evidence a search ranks by. The single kinds are for measurements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Evidence {
    /// Words and meaning, their scores added.
    #[default]
    Both,
    /// Words only.
    Words,
    /// Embeddings only.
    Meaning,
}

/// One tool that matches.
#[derive(Clone, Debug)]
pub struct SearchHit {
    /// The tool.
    pub tool: Arc<Tool>,
    /// Score; compares only within one answer.
    pub score: f64,
    /// Number of the tool in the index.
    pub(crate) document: usize,
    /// Evidence that the tool is meant, beside its score.
    pub(crate) relevance: Relevance,
}

/// Result of a search.
#[derive(Clone, Debug, Default)]
pub struct SearchAnswer {
    /// Best tools, best first.
    pub hits: Vec<SearchHit>,
    /// Number of the first hits that are worth showing unasked. The others have next to nothing of the query.
    pub relevant: usize,
    /// Number of tools that match, those beyond the limit included.
    pub total: usize,
    /// Callable expressions of up to three tools that are nearest to the query; empty when a hit is relevant.
    pub nearest: Vec<String>,
    /// Error of resolving [`SearchQuery::server`]; nothing was searched then.
    pub unknown_server: Option<ResolveError>,
}
