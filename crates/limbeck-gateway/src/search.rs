//! Tool search for models, programs and users.

mod cursor;
mod program;
mod text;

use std::sync::Arc;

use limbeck_catalog::Catalog;
pub use limbeck_catalog::Detail;
use limbeck_domain::text::{clean_line, cut};
use limbeck_domain::{
    CallCode, CallError, EffectClass, Language, ServerName, ToolId, limits::QUERY_BYTES_MAX,
};
use limbeck_policy::{PolicyNote, Scope};
use limbeck_search::{SearchAnswer, SearchHit, SearchQuery, SearchableCatalog, servers_named};
use serde::Serialize;

use crate::computing::Computing;
use crate::embeddings::{Embeddings, EndpointSimilarity};
use crate::exposure::Exposure;
use crate::listings::Listings;
use crate::live_catalog::{FIRST_LIST_TIMEOUT, LiveCatalog};
use crate::skills::SkillHit;
use cursor::Fingerprint;

/// Hits of a query without a limit.
pub const LIMIT_DEFAULT: usize = 5;
/// Most hits of a query.
pub const LIMIT_MAX: usize = 50;
/// Most queries of a request.
pub const QUERIES_MAX: usize = 16;
/// Bytes of a tool's first sentence in an answer.
const SENTENCE_BYTES_MAX: usize = 200;

/// Search of one or more queries.
#[derive(Clone, Debug)]
pub struct SearchRequest {
    /// Free texts, each with hits of its own; those after the first [`QUERIES_MAX`] are ignored.
    pub queries: Vec<String>,
    /// Only tools of this server.
    pub server: Option<String>,
    /// Hits of each query; [`LIMIT_DEFAULT`] when absent, at most [`LIMIT_MAX`].
    pub limit: Option<usize>,
    /// Amount of detail about each tool.
    pub detail: Detail,
    /// Cursor of an earlier answer, to continue after it.
    pub cursor: Option<String>,
    /// Language of the signatures.
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

/// Hits by query; the JSON of `limbeck search --json`.
#[derive(Clone, Debug, Serialize)]
pub struct SearchReport {
    /// In the order asked.
    pub queries: Vec<QueryReport>,
    /// Skills that match, which are not tools.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<SkillHit>,
    /// Cursor to further hits, when a query has more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Servers whose tools are not known yet.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub starting: Vec<String>,
    /// Servers whose tools are unknown because they do not work, each with its reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unavailable: Vec<String>,
    /// Servers of whose tools not all are known, because their lists are too long, each with how many are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub incomplete: Vec<String>,
    /// Servers that are not searched because clients list their tools.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub listed_directly: Vec<String>,
    /// Sentences about the configuration.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<String>,
    /// Number of servers, for the text of an empty answer.
    #[serde(skip)]
    pub servers: usize,
    /// Amount of detail about each tool.
    #[serde(skip)]
    pub detail: Detail,
    /// Language of the signatures.
    #[serde(skip)]
    pub language: Language,
    #[serde(skip)]
    fingerprint: Fingerprint,
}

/// Hits of one query.
#[derive(Clone, Debug, Serialize)]
pub struct QueryReport {
    /// The query, cut to [`QUERY_BYTES_MAX`].
    pub query: String,
    /// Best first.
    pub tools: Vec<HitReport>,
    /// Number of all matching tools.
    pub total: usize,
    /// Number of hits in earlier answers.
    #[serde(skip)]
    pub from: usize,
    /// Callable expressions of the nearest tools, when none matched.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nearest: Vec<String>,
}

/// Tool that matched.
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
    /// That a call asks a person first, or is denied, for the principal who searches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// Score, comparable only within one query.
    pub score: f64,
}

/// Search over the tools of all servers, ranked by embeddings where an endpoint is configured.
#[derive(Clone, Debug)]
pub(crate) struct ToolSearch {
    live_catalog: LiveCatalog,
    exposure: Arc<Exposure>,
    embeddings: Arc<Embeddings>,
    listings: Listings,
    computing: Computing,
}

impl ToolSearch {
    pub(crate) fn new(
        live_catalog: LiveCatalog,
        exposure: Arc<Exposure>,
        embeddings: Arc<Embeddings>,
        listings: Listings,
        computing: Computing,
    ) -> Self {
        Self {
            live_catalog,
            exposure,
            embeddings,
            listings,
            computing,
        }
    }

    /// Searches every server's tools for `principal`; waits a bounded time for servers never listed before.
    ///
    /// # Errors
    ///
    /// [`CallError`] when no server is called `server`, or when `cursor` belongs to another request or to
    /// other tools.
    pub(crate) async fn search(
        &self,
        principal: &str,
        request: &SearchRequest,
    ) -> Result<SearchReport, CallError> {
        let starting = self.live_catalog.discover(FIRST_LIST_TIMEOUT).await;
        let exposed = self.exposure.current();
        let searched = exposed.searched.clone();
        let catalog = searched.catalog();
        if let Some(server) = &request.server
            && let Err(error) = catalog.resolve_server(server)
        {
            return Err(
                match exposed
                    .listed_directly
                    .contains(&ServerName::from(server.as_str()))
                {
                    true => listed_directly(server),
                    false => error.into(),
                },
            );
        }
        let Ranking {
            similarity,
            fingerprint,
            from,
        } = self.ranking(catalog, request).await?;
        let (within, asked) = (searched.clone(), request.clone());
        let ranked = self.computing.run(principal, move |_| {
            let queries = asked.queries.iter().zip(from).enumerate();
            let reports = queries.map(|(place, (query, from))| {
                let similarity = similarity
                    .as_ref()
                    .and_then(|similarity| similarity.of(place));
                query_report(&within, &asked, query, from, similarity)
            });
            reports.collect::<Vec<_>>()
        });
        let mut report = SearchReport {
            queries: ranked.await?,
            skills: Vec::new(),
            cursor: None,
            unavailable: self.listings.unavailable(&starting),
            incomplete: self.listings.incomplete(catalog),
            listed_directly: exposed
                .listed_directly
                .iter()
                .map(ToString::to_string)
                .collect(),
            notices: catalog.absences().notices.clone(),
            starting: starting.iter().map(ToString::to_string).collect(),
            servers: catalog.servers().len() + exposed.listed_directly.len(),
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

    /// Ranking of a request. A cursor continues in the ranking it came from, or is rejected.
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
                similarity: None,
                fingerprint: by_table,
                from,
            });
        }
        let queries: Vec<&str> = request.queries.iter().map(String::as_str).collect();
        let similarity = self.embeddings.similarity(catalog, &queries[..asked]).await;
        let print = similarity.as_ref().map(|similarity| similarity.fingerprint);
        let fingerprint = Fingerprint::of(catalog, request, print);
        let from = match &request.cursor {
            Some(cursor) => fingerprint.read(cursor, asked)?,
            None => vec![0; asked],
        };
        Ok(Ranking {
            similarity,
            fingerprint,
            from,
        })
    }

    /// [`ToolSearch::connect_named`] over the servers that clients search.
    pub(crate) fn connect_named_by_client(&self, request: &SearchRequest) {
        let exposed = self.exposure.current();
        self.connect_named(exposed.searched.catalog(), request, &Scope::everything());
    }

    /// Starts connecting each server that `request` names and of which `scope` covers a tool. Does not wait:
    /// its tools are known, or are being listed already.
    pub(crate) fn connect_named(&self, catalog: &Catalog, request: &SearchRequest, scope: &Scope) {
        let queries = request.queries.iter().take(QUERIES_MAX);
        let texts = queries.chain(&request.server).map(String::as_str);
        for server in texts.flat_map(|text| servers_named(catalog, text)) {
            let mut tools = catalog.tools_of(&server).iter();
            if tools.any(|tool| scope.covers(tool.id())) {
                self.live_catalog.refresh_later(&server);
            }
        }
    }
}

/// Ranking of the hits, and the position at which each query continues.
struct Ranking {
    /// Absent when the table in the binary ranks them.
    similarity: Option<EndpointSimilarity>,
    fingerprint: Fingerprint,
    /// Number of hits in earlier answers, by query.
    from: Vec<usize>,
}

/// Error of a search among the tools of a server that is not searched.
fn listed_directly(server: &str) -> CallError {
    let server = clean_line(server, SENTENCE_BYTES_MAX);
    let message =
        format!("the tools of server `{server}` are not searched: clients list them directly");
    CallError::new(CallCode::InvalidArguments, message)
        .with_hint("call them by their names in your list of tools, or from a program")
}

/// Hits of `query` after the first `from`. Only the relevant ones are in an answer, until a cursor goes on behind them.
fn found(
    catalog: &SearchableCatalog,
    request: &SearchRequest,
    query: &str,
    from: usize,
    similarity: Option<&[f32]>,
) -> SearchAnswer {
    let limit = request.limit.unwrap_or(LIMIT_DEFAULT).clamp(1, LIMIT_MAX);
    let mut answer = catalog.search(&SearchQuery {
        server: request.server.as_deref(),
        limit: from.saturating_add(limit),
        similarity,
        ..SearchQuery::new(query)
    });
    if from < answer.relevant || from == 0 {
        answer.hits.truncate(answer.relevant);
    }
    if answer.relevant == 0 {
        answer.total = 0;
    }
    answer.hits.drain(..from.min(answer.hits.len()));
    answer
}

fn query_report(
    catalog: &SearchableCatalog,
    request: &SearchRequest,
    query: &str,
    from: usize,
    similarity: Option<&[f32]>,
) -> QueryReport {
    let answer = found(catalog, request, query, from, similarity);
    let tools = answer.hits.iter();
    QueryReport {
        query: cut(query, QUERY_BYTES_MAX).to_owned(),
        tools: tools.map(|hit| hit_report(hit, request)).collect(),
        total: answer.total,
        from: from.min(answer.total),
        nearest: answer.nearest,
    }
}

fn hit_report(hit: &SearchHit, request: &SearchRequest) -> HitReport {
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
        policy: None,
        score: hit.score,
    }
}

impl SearchReport {
    /// Adds to every tool what the policy says about its calls.
    pub(crate) fn add_notes(&mut self, note: impl Fn(&ToolId, EffectClass) -> Option<PolicyNote>) {
        for hit in self.queries.iter_mut().flat_map(|query| &mut query.tools) {
            let tool = ToolId::new(hit.server.as_str(), hit.tool.as_str());
            hit.policy = note(&tool, hit.effect).map(|note| note.to_string());
        }
    }

    /// Cursor after the first `shown` hits of each query; `None` when none are left.
    fn cursor_behind(&self, shown: &[usize]) -> Option<String> {
        let ends = self.queries.iter().zip(shown);
        let ends = ends.map(|(query, shown)| (query.from + shown, query.total));
        let is_rest = ends.clone().any(|(end, total)| end < total);
        is_rest.then(|| self.fingerprint.cursor(ends.map(|(end, _)| end)))
    }
}

#[cfg(test)]
mod tests;
