//! Catalog snapshot together with its search index, which the first search builds.

use std::sync::{Arc, OnceLock};

use limbeck_catalog::Catalog;
use limbeck_catalog::nearest::NEAREST_MAX;
use limbeck_domain::ToolId;

use crate::index::SearchIndex;
use crate::query::{SearchAnswer, SearchHit, SearchQuery};
use crate::spread::{PLACES, spread};
use crate::{relevance, servers_named};

/// Hits of which the relevant come first, and among which the first places are spread before all that match are looked
/// through.
const CANDIDATES: usize = 8 * PLACES;

/// A catalog that can be searched. Cloning is cheap, and clones share the index.
#[derive(Clone, Debug, Default)]
pub struct SearchableCatalog {
    catalog: Arc<Catalog>,
    index: Arc<OnceLock<SearchIndex>>,
}

impl SearchableCatalog {
    /// Takes a catalog; its index is built by the first search.
    pub fn new(catalog: Arc<Catalog>) -> Self {
        Self {
            catalog,
            index: Arc::default(),
        }
    }

    /// Replaces the catalog by one with the same definitions, and keeps the index.
    ///
    /// For [`Catalog::taught`]: the index reads names, texts and input schemas, and never observed results.
    #[must_use]
    pub fn with_same_definitions(&self, catalog: Arc<Catalog>) -> Self {
        Self {
            catalog,
            index: Arc::clone(&self.index),
        }
    }

    /// Keeps only the tools for which `keep` returns true, as [`Catalog::only`] does. The index is shared when every
    /// tool is kept, and built again otherwise, so that scores do not depend on hidden tools.
    #[must_use]
    pub fn only(&self, keep: impl Fn(&ToolId) -> bool) -> Self {
        let kept = self.catalog.only(keep);
        if Arc::ptr_eq(&kept, &self.catalog) {
            self.clone()
        } else {
            Self::new(kept)
        }
    }

    /// The catalog that is searched.
    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// Ranks tools against `query`, best first.
    ///
    /// Query text over [`QUERY_BYTES_MAX`](limbeck_domain::limits::QUERY_BYTES_MAX) is cut. A text without words
    /// matches all tools, in catalog order. Scores compare only within one answer; ties break by id. The first hits,
    /// [`SearchAnswer::relevant`] of them, have something of the query; the others match a little. Of the first five at
    /// most four are tools of one server, and at most two have nearly the same text, as long as others are relevant and
    /// the query does not name their servers.
    pub fn search(&self, query: &SearchQuery<'_>) -> SearchAnswer {
        let index = self.index.get_or_init(|| SearchIndex::new(&self.catalog));
        // The first places are the same for any number of hits: a cursor continues behind them.
        let limit = query.limit.max(CANDIDATES);
        let mut answer = index.search(&self.catalog, &SearchQuery { limit, ..*query });
        answer.relevant = relevance::put_relevant_first(&mut answer.hits, CANDIDATES);
        if answer.relevant == 0 {
            let nearest = answer.hits.iter().take(NEAREST_MAX);
            answer
                .nearest
                .extend(nearest.map(|hit| hit.tool.call_expression()));
        }
        let is_ranked = answer.hits.first().is_some_and(|hit| hit.score > 0.0);
        let is_of_one_server = query.server.is_some() || self.catalog.servers().len() < 2;
        if is_ranked && !is_of_one_server {
            self.spread(index, query, &mut answer);
        }
        answer.hits.truncate(query.limit);
        answer.relevant = answer.relevant.min(answer.hits.len());
        answer
    }

    /// Spreads the first places among the relevant hits of `answer`.
    fn spread(&self, index: &SearchIndex, query: &SearchQuery<'_>, answer: &mut SearchAnswer) {
        let named = servers_named(&self.catalog, query.text);
        let similarity = |one: &SearchHit, other: &SearchHit| {
            index.similarity_between(one.document, other.document)
        };
        let candidates = answer.relevant.min(CANDIDATES);
        let first = spread(&answer.hits[..candidates], &named, similarity);
        let are_all_relevant = answer.relevant == answer.hits.len();
        if first.is_full || !are_all_relevant || answer.total <= candidates {
            answer.hits.splice(..candidates, first.hits);
            return;
        }
        // The candidates are too much alike, so others are looked for among all that match.
        let limit = usize::MAX;
        let mut all = index.search(&self.catalog, &SearchQuery { limit, ..*query });
        answer.relevant = relevance::put_relevant_first(&mut all.hits, limit);
        let first = spread(&all.hits[..answer.relevant], &named, similarity);
        all.hits.splice(..answer.relevant, first.hits);
        answer.hits = all.hits;
    }
}
