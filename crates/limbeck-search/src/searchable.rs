//! Catalog snapshot together with its search index, which the first search builds.

use std::sync::{Arc, OnceLock};

use limbeck_catalog::Catalog;
use limbeck_domain::ToolId;

use crate::index::SearchIndex;
use crate::query::{SearchAnswer, SearchQuery};
use crate::servers_named;
use crate::spread::{PLACES, spread};

/// Hits among which the first places are spread before all that match are looked through.
const CANDIDATES: usize = 4 * PLACES;

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
    /// matches all tools, in catalog order. Scores compare only within one answer; ties break by id. At most four of the
    /// first five hits are tools of one server, as long as the query does not name that server and others match.
    pub fn search(&self, query: &SearchQuery<'_>) -> SearchAnswer {
        let index = self.index.get_or_init(|| SearchIndex::new(&self.catalog));
        let is_of_one_server = query.server.is_some() || self.catalog.servers().len() < 2;
        if is_of_one_server {
            return index.search(&self.catalog, query);
        }
        // The first places are the same for any number of hits: a cursor continues behind them.
        let limit = query.limit.max(CANDIDATES);
        let mut answer = index.search(&self.catalog, &SearchQuery { limit, ..*query });
        let is_ranked = answer.hits.first().is_some_and(|hit| hit.score > 0.0);
        if is_ranked {
            let named = servers_named(&self.catalog, query.text);
            answer.hits = spread(answer.hits, &named).unwrap_or_else(|hits| {
                if hits.len() == answer.total {
                    return hits;
                }
                // The candidates are all of one server, so the first of another is looked for among all that match.
                let limit = usize::MAX;
                let all = index.search(&self.catalog, &SearchQuery { limit, ..*query });
                spread(all.hits, &named).unwrap_or_else(|hits| hits)
            });
        }
        answer.hits.truncate(query.limit);
        answer
    }
}
