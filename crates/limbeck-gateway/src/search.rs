//! Searching the catalogue, for the model, for programs and for people.

mod cursor;
mod text;

use std::sync::Arc;

pub use limbeck_catalog::Detail;
use limbeck_catalog::{Catalog, Hit, SearchAnswer, SearchQuery};
use limbeck_domain::text::{clean_line, cut};
use limbeck_domain::{CallError, EffectClass, Language, limits::QUERY_BYTES_MAX};
use limbeck_policy::Scope;
use serde::Serialize;
use serde_json::Value;

use crate::broker::FIRST_LIST_PATIENCE;
use crate::embeddings::Likeness;
use crate::{Gateway, Shared, listing};
use cursor::Fingerprint;

/// Hits of a query that asks for no number.
pub const LIMIT_DEFAULT: usize = 5;
/// Most hits of a query.
pub const LIMIT_MAX: usize = 50;
/// Most queries of a request.
pub const QUERIES_MAX: usize = 16;
/// Bytes of a tool's first sentence in an answer.
const SENTENCE_BYTES_MAX: usize = 200;

/// What to look for.
#[derive(Clone, Debug)]
pub struct SearchRequest {
    /// Free texts, each answered by itself; at most [`QUERIES_MAX`] are.
    pub queries: Vec<String>,
    /// Only tools of this server.
    pub server: Option<String>,
    /// Hits of each query; [`LIMIT_DEFAULT`] when absent, at most [`LIMIT_MAX`].
    pub limit: Option<usize>,
    /// How much of each tool is told.
    pub detail: Detail,
    /// Go on behind the answer that gave this.
    pub cursor: Option<String>,
    /// Language signatures are written in.
    pub language: Language,
}

impl Default for SearchRequest {
    fn default() -> Self {
        Self {
            queries: Vec::new(),
            server: None,
            limit: None,
            detail: Detail::default(),
            cursor: None,
            language: Language::Typescript,
        }
    }
}

/// What was found, query by query; the JSON of `limbeck search --json`.
#[derive(Clone, Debug, Serialize)]
pub struct SearchReport {
    /// In the order asked.
    pub queries: Vec<QueryReport>,
    /// What leads on to further tools, when some query has more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Servers whose tools are not known yet.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub starting: Vec<String>,
    /// Servers whose tools are not known because they cannot be used, each with its reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unavailable: Vec<String>,
    /// Servers behind the gateway, for an answer that makes sense when there are none.
    #[serde(skip)]
    pub servers: usize,
    /// How much of each tool is told.
    #[serde(skip)]
    pub detail: Detail,
    /// Language of the signatures.
    #[serde(skip)]
    pub language: Language,
    #[serde(skip)]
    fingerprint: Fingerprint,
}

/// What one query found.
#[derive(Clone, Debug, Serialize)]
pub struct QueryReport {
    /// The query, cut to [`QUERY_BYTES_MAX`].
    pub query: String,
    /// Best first.
    pub tools: Vec<HitReport>,
    /// Tools that matched in all.
    pub total: usize,
    /// Tools that earlier answers held.
    #[serde(skip)]
    pub from: usize,
    /// Callable expressions of the nearest tools, when none matched.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nearest: Vec<String>,
}

/// One tool that was found.
#[derive(Clone, Debug, Serialize)]
pub struct HitReport {
    /// Its server.
    pub server: String,
    /// Its name.
    pub tool: String,
    /// Exact callable expression.
    pub call: String,
    /// Signature with input and output types.
    pub signature: String,
    /// First sentence of its description.
    pub description: String,
    /// Whole description and commented types, at [`Detail::Full`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub declaration: Option<String>,
    /// What a call may do.
    pub effect: EffectClass,
    /// Compares only within one query.
    pub score: f64,
}

impl Gateway {
    /// Searches every server's tools; waits a bounded time for servers never listed before.
    ///
    /// # Errors
    ///
    /// [`CallError`] when `server` names none, or when `cursor` does not belong to this request and to the
    /// tools there are.
    pub async fn search(&self, request: &SearchRequest) -> Result<SearchReport, CallError> {
        let starting = self.shared.catalogue.discover(FIRST_LIST_PATIENCE).await;
        let catalog = Arc::clone(&self.exposed().searched);
        if let Some(server) = &request.server {
            catalog.resolve_server(server)?;
        }
        let Ranking {
            likeness,
            fingerprint,
            from,
        } = self.ranking(&catalog, request).await?;
        let queries = request.queries.iter().zip(from).enumerate();
        let mut report = SearchReport {
            queries: queries
                .map(|(place, (query, from))| {
                    let likeness = likeness.as_ref().and_then(|likeness| likeness.of(place));
                    query_report(&catalog, request, query, from, likeness)
                })
                .collect(),
            cursor: None,
            unavailable: listing::unavailable(&self.shared, &starting),
            starting: starting.iter().map(ToString::to_string).collect(),
            servers: catalog.servers().len(),
            detail: request.detail,
            language: request.language,
            fingerprint,
        };
        let all: Vec<usize> = report
            .queries
            .iter()
            .map(|query| query.tools.len())
            .collect();
        report.cursor = report.cursor_behind(&all);
        Ok(report)
    }

    /// What the tools are ranked by. A cursor leads on in the order it came from, or nowhere.
    async fn ranking(
        &self,
        catalog: &Arc<Catalog>,
        request: &SearchRequest,
    ) -> Result<Ranking, CallError> {
        let asked = request.queries.len().min(QUERIES_MAX);
        let by_table = Fingerprint::of(catalog, request, None);
        if let Some(cursor) = &request.cursor
            && let Ok(from) = by_table.read(cursor, asked)
        {
            return Ok(Ranking {
                likeness: None,
                fingerprint: by_table,
                from,
            });
        }
        let queries: Vec<&str> = request.queries.iter().map(String::as_str).collect();
        let embeddings = &self.shared.embeddings;
        let likeness = embeddings.likeness(catalog, &queries[..asked]).await;
        let print = likeness.as_ref().map(|likeness| likeness.print);
        let fingerprint = Fingerprint::of(catalog, request, print);
        let from = match &request.cursor {
            Some(cursor) => fingerprint.read(cursor, asked)?,
            None => vec![0; asked],
        };
        Ok(Ranking {
            likeness,
            fingerprint,
            from,
        })
    }

    /// Starts connecting the servers that `request` names, so that they stand ready for the program that
    /// follows.
    pub(crate) fn connect_named(&self, request: &SearchRequest) {
        let catalog = Arc::clone(&self.exposed().searched);
        connect_named(&self.shared, &catalog, request, &Scope::everything());
    }
}

/// What tools are ranked by, and where their list goes on.
struct Ranking {
    /// Absent when the table in the binary says what they mean.
    likeness: Option<Likeness>,
    fingerprint: Fingerprint,
    /// Of each query, how many tools came before.
    from: Vec<usize>,
}

/// Starts connecting each server whose name stands in `request` and of which `scope` covers a tool. Without
/// waiting: its tools are known, or are being asked for already.
pub(crate) fn connect_named(
    shared: &Shared,
    catalog: &Catalog,
    request: &SearchRequest,
    scope: &Scope,
) {
    let queries = request.queries.iter().take(QUERIES_MAX);
    let texts = queries.chain(&request.server).map(String::as_str);
    for server in texts.flat_map(|text| catalog.servers_named(text)) {
        let mut tools = catalog.tools_of(&server).iter();
        if tools.any(|tool| scope.covers(tool.id())) {
            shared.catalogue.refresh_later(&server);
        }
    }
}

/// The answer of `search()` in a program: one list, in which tools outside its scope do not exist.
pub(crate) async fn program_hits(
    shared: &Shared,
    catalog: &Arc<Catalog>,
    request: &SearchRequest,
    scope: &Scope,
) -> Value {
    let catalog = catalog.only(|id| scope.covers(id));
    let queries = request.queries.iter().take(QUERIES_MAX);
    let queries: Vec<&str> = queries.map(String::as_str).collect();
    let likeness = shared.embeddings.likeness(&catalog, &queries).await;
    let mut hits = Vec::new();
    for (place, query) in queries.into_iter().enumerate() {
        let likeness = likeness.as_ref().and_then(|likeness| likeness.of(place));
        for hit in found(&catalog, request, query, 0, likeness).hits {
            let mut entry = listing::tool_json(&hit.tool, request.language);
            if let Value::Object(entry) = &mut entry {
                entry.insert("score".to_owned(), hit.score.into());
            }
            hits.push(entry);
        }
    }
    Value::Array(hits)
}

/// What fits `query`, from place `from` on.
fn found(
    catalog: &Catalog,
    request: &SearchRequest,
    query: &str,
    from: usize,
    likeness: Option<&[f32]>,
) -> SearchAnswer {
    let limit = request.limit.unwrap_or(LIMIT_DEFAULT).clamp(1, LIMIT_MAX);
    let mut answer = catalog.search(&SearchQuery {
        server: request.server.as_deref(),
        limit: from.saturating_add(limit),
        likeness,
        ..SearchQuery::new(query)
    });
    answer.hits.drain(..from.min(answer.hits.len()));
    answer
}

fn query_report(
    catalog: &Catalog,
    request: &SearchRequest,
    query: &str,
    from: usize,
    likeness: Option<&[f32]>,
) -> QueryReport {
    let answer = found(catalog, request, query, from, likeness);
    let tools = answer.hits.iter();
    QueryReport {
        query: cut(query, QUERY_BYTES_MAX).to_owned(),
        tools: tools.map(|hit| hit_report(hit, request)).collect(),
        total: answer.total,
        from: from.min(answer.total),
        nearest: answer.nearest,
    }
}

fn hit_report(hit: &Hit, request: &SearchRequest) -> HitReport {
    let tool = &hit.tool;
    let is_full = request.detail == Detail::Full;
    HitReport {
        server: tool.id().server.to_string(),
        tool: tool.id().tool.to_string(),
        call: tool.call_expression(),
        signature: tool.signature(request.language).to_owned(),
        description: clean_line(&tool.summary(), SENTENCE_BYTES_MAX),
        declaration: is_full.then(|| tool.declaration(Detail::Full, request.language)),
        effect: tool.effect(),
        score: hit.score,
    }
}

impl SearchReport {
    /// The cursor behind the first `shown` tools of each query, unless nothing is left.
    fn cursor_behind(&self, shown: &[usize]) -> Option<String> {
        let ends = self.queries.iter().zip(shown);
        let ends = ends.map(|(query, shown)| (query.from + shown, query.total));
        let is_rest = ends.clone().any(|(end, total)| end < total);
        is_rest.then(|| self.fingerprint.cursor(ends.map(|(end, _)| end)))
    }
}

#[cfg(test)]
mod tests;
