//! Search: which tools do what a few words say.
//!
//! Two kinds of evidence are gathered and their scores added. By words: [`tokens`] parts text into stems,
//! [`synonyms`] knows which words stand for each other, [`index`] holds the words of all tools. By meaning: [`table`]
//! holds what the pieces of words mean, [`meaning`] adds them up. [`slots`] reads a query, [`wording`] scores the tools
//! by their words, [`actions`] knows whether they look up or change, [`fusion`] adds it all up and [`query`] answers.
//! All of it is plain tables and arithmetic, so equal catalogues give equal answers. `docs/search.md` tells the method
//! and its figures.

mod actions;
mod documents;
mod fusion;
mod index;
mod meaning;
mod places;
mod postings;
mod query;
#[cfg(test)]
mod reference;
mod slots;
mod spoken;
mod synonyms;
mod table;
mod tokens;
mod vectors;
mod wording;

use std::sync::Arc;

pub(crate) use index::Index;
pub(crate) use query::servers_named;
pub(crate) use tokens::words;

use crate::catalog::Catalog;
use crate::resolve::ResolveError;
use crate::tool::Tool;

/// What is looked for.
#[derive(Clone, Copy, Debug)]
pub struct SearchQuery<'q> {
    /// Free text; empty asks for all tools.
    pub text: &'q str,
    /// The only server to look at, in any style [`crate::Catalog::resolve_server`] accepts.
    pub server: Option<&'q str>,
    /// Hits given at most.
    pub limit: usize,
    /// What counts.
    pub evidence: Evidence,
    /// How near each tool is to `text` in meaning, -1 to 1, in catalogue order: takes the place of what the built-in
    /// table says. One that is not as long as the catalogue does not count.
    pub likeness: Option<&'q [f32]>,
}

impl<'q> SearchQuery<'q> {
    /// All tools of all servers that fit `text`.
    pub fn new(text: &'q str) -> Self {
        Self {
            text,
            server: None,
            limit: usize::MAX,
            evidence: Evidence::Both,
            likeness: None,
        }
    }
}

/// What a search goes by. Each kind alone is for measuring what it is worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Evidence {
    /// Words and meaning, their scores added.
    #[default]
    Both,
    /// Words alone.
    Words,
    /// Meaning alone.
    Meaning,
}

/// One tool that fits.
#[derive(Clone, Debug)]
pub struct Hit {
    /// The tool.
    pub tool: Arc<Tool>,
    /// How well it fits; comparable only within one answer.
    pub score: f64,
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct SearchAnswer {
    /// The best tools, best first.
    pub hits: Vec<Hit>,
    /// Tools that fit, those beyond the limit included.
    pub total: usize,
    /// Without a hit: calls of up to three tools with a name like the query.
    pub nearest: Vec<String>,
    /// Why nothing was looked at: the server asked for does not exist.
    pub unknown_server: Option<ResolveError>,
}

impl Index {
    /// Answers `query` about the snapshot this index was made of.
    pub(crate) fn search(&self, catalog: &Catalog, query: &SearchQuery<'_>) -> SearchAnswer {
        query::answer(self, catalog, query)
    }
}
