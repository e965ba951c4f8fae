//! Search of a program, which runs in the turns of its principal.

use std::sync::Arc;

use limbeck_domain::CallError;
use limbeck_policy::Scope;
use limbeck_search::SearchableCatalog;
use serde_json::Value;

use super::{QUERIES_MAX, SearchRequest, ToolSearch, found};
use crate::artifacts::select::StopFlag;
use crate::embeddings::EndpointSimilarity;
use crate::policy_notes::PolicyNotes;
use crate::program_listings;

impl ToolSearch {
    /// The answer of `search()` in a program, as JSON text: one list, without the tools outside of its scope. Starts
    /// connecting the servers that the request names.
    pub(crate) async fn program_hits(
        &self,
        principal: &str,
        request: SearchRequest,
        scope: &Arc<Scope>,
        notes: PolicyNotes,
    ) -> Result<String, CallError> {
        let request = Arc::new(request);
        let (search, asked, scope) = (self.clone(), Arc::clone(&request), Arc::clone(scope));
        let visible = self.computing.run(principal, move |_| {
            let catalog = search.live_catalog.searchable();
            search.connect_named(catalog.catalog(), &asked, &scope);
            catalog.only(|id| scope.covers(id))
        });
        let visible = visible.await?;
        let queries = request.queries.iter().take(QUERIES_MAX);
        let queries: Vec<&str> = queries.map(String::as_str).collect();
        let similarity = self
            .embeddings
            .similarity(visible.catalog(), &queries)
            .await;
        let asked = Arc::clone(&request);
        let hits = self.computing.run(principal, move |stop| {
            hits_json(&visible, &asked, similarity.as_ref(), &notes, stop).to_string()
        });
        Ok(hits.await?)
    }
}

/// Hits of all queries as one list, up to the query at which the program has ended.
fn hits_json(
    catalog: &SearchableCatalog,
    request: &SearchRequest,
    similarity: Option<&EndpointSimilarity>,
    notes: &PolicyNotes,
    stop: &StopFlag,
) -> Value {
    let mut hits = Vec::new();
    let queries = request.queries.iter().take(QUERIES_MAX).enumerate();
    for (place, query) in queries.take_while(|_| !stop.is_set()) {
        let similarity = similarity.and_then(|similarity| similarity.of(place));
        for hit in found(catalog, request, query, 0, similarity).hits {
            let note = notes.of(&hit.tool);
            let mut entry = program_listings::hit_json(&hit.tool, request.language, note.as_ref());
            if let Value::Object(entry) = &mut entry {
                entry.insert("score".to_owned(), hit.score.into());
            }
            hits.push(entry);
        }
    }
    Value::Array(hits)
}
