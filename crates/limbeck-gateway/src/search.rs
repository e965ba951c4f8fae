//! Searching the catalogue, for the model, for programs and for people.

use std::fmt::Write as _;
use std::sync::Arc;

use limbeck_catalog::{Catalog, Hit, SearchQuery};
use limbeck_domain::text::{clean_line, cut};
use limbeck_domain::{CallError, EffectClass, Language, limits::QUERY_BYTES_MAX};
use limbeck_policy::Scope;
use serde::Serialize;
use serde_json::Value;

use crate::Gateway;
use crate::broker::FIRST_LIST_PATIENCE;
use crate::listing;

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
    /// Language signatures are written in.
    pub language: Language,
}

/// What was found, query by query; the JSON of `limbeck search --json`.
#[derive(Clone, Debug, Serialize)]
pub struct SearchReport {
    /// In the order asked.
    pub queries: Vec<QueryReport>,
    /// Servers whose tools are not known yet.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub starting: Vec<String>,
    /// Servers whose tools are not known because they cannot be used, each with its reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unavailable: Vec<String>,
    /// Servers behind the gateway, for an answer that makes sense when there are none.
    #[serde(skip)]
    pub servers: usize,
    /// Language of the signatures.
    #[serde(skip)]
    pub language: Language,
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
    /// [`CallError`] when `server` names none.
    pub async fn search(&self, request: &SearchRequest) -> Result<SearchReport, CallError> {
        let starting = self.shared.catalogue.discover(FIRST_LIST_PATIENCE).await;
        let catalog = Arc::clone(&self.exposed().searched);
        if let Some(server) = &request.server {
            catalog.resolve_server(server)?;
        }
        Ok(SearchReport {
            queries: query_reports(&catalog, request, &Scope::everything()),
            unavailable: listing::unavailable(&self.shared, &starting),
            starting: starting.iter().map(ToString::to_string).collect(),
            servers: catalog.servers().len(),
            language: request.language,
        })
    }
}

/// The answer of `search()` in a program: one list, tools outside its scope left out.
pub(crate) fn program_hits(catalog: &Catalog, request: &SearchRequest, scope: &Scope) -> Value {
    let mut hits = Vec::new();
    for query in request.queries.iter().take(QUERIES_MAX) {
        for hit in matching(catalog, request, query, scope).hits {
            let mut entry = listing::tool_json(&hit.tool, request.language);
            if let Value::Object(entry) = &mut entry {
                entry.insert("score".to_owned(), hit.score.into());
            }
            hits.push(entry);
        }
    }
    Value::Array(hits)
}

fn query_reports(catalog: &Catalog, request: &SearchRequest, scope: &Scope) -> Vec<QueryReport> {
    let queries = request.queries.iter().take(QUERIES_MAX);
    queries
        .map(|query| {
            let matching = matching(catalog, request, query, scope);
            QueryReport {
                query: cut(query, QUERY_BYTES_MAX).to_owned(),
                tools: reports(&matching.hits, request.language),
                total: matching.total,
                nearest: matching.nearest,
            }
        })
        .collect()
}

/// The tools of one query that may be seen.
struct Matching {
    hits: Vec<Hit>,
    total: usize,
    nearest: Vec<String>,
}

fn matching(catalog: &Catalog, request: &SearchRequest, query: &str, scope: &Scope) -> Matching {
    let limit = request.limit.unwrap_or(LIMIT_DEFAULT).clamp(1, LIMIT_MAX);
    let answer = catalog.search(&SearchQuery {
        text: query,
        server: request.server.as_deref(),
        limit: usize::MAX,
    });
    let mut hits = answer.hits;
    hits.retain(|hit| scope.covers(hit.tool.id()));
    let total = hits.len();
    hits.truncate(limit);
    Matching {
        hits,
        total,
        nearest: answer.nearest,
    }
}

fn reports(hits: &[Hit], language: Language) -> Vec<HitReport> {
    hits.iter().map(|hit| hit_report(hit, language)).collect()
}

fn hit_report(hit: &Hit, language: Language) -> HitReport {
    let tool = &hit.tool;
    HitReport {
        server: tool.id().server.to_string(),
        tool: tool.id().tool.to_string(),
        call: tool.call_expression(),
        signature: tool.signature(language).to_owned(),
        description: clean_line(&tool.summary(), SENTENCE_BYTES_MAX),
        effect: tool.effect(),
        score: hit.score,
    }
}

impl SearchReport {
    /// The report as the model reads it: one signature a line, grouped by query.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for query in &self.queries {
            query.write(&mut text, self.queries.len() > 1, self.language);
        }
        if self.servers == 0 {
            text.push_str("No MCP servers are configured. Add one to .mcp.json or limbeck.toml.\n");
        }
        for server in &self.unavailable {
            let _ = writeln!(text, "Not available: {server}");
        }
        if !self.starting.is_empty() {
            // Writing into a string cannot fail.
            let _ = writeln!(
                text,
                "Still starting, search again in a moment: {}",
                self.starting.join(", ")
            );
        }
        text
    }
}

impl QueryReport {
    fn write(&self, text: &mut String, headed: bool, language: Language) {
        let comment = match language {
            Language::Typescript => "//",
            Language::Python => "#",
        };
        let query = clean_line(&self.query, SENTENCE_BYTES_MAX);
        if headed {
            let _ = writeln!(text, "## {query}");
        }
        for hit in &self.tools {
            let _ = writeln!(
                text,
                "{comment} {} · {}",
                hit.effect.as_str(),
                hit.description
            );
            let _ = writeln!(text, "{}", hit.signature);
        }
        if self.tools.len() < self.total {
            let _ = writeln!(
                text,
                "({} of {} shown; raise `limit` or narrow the query)",
                self.tools.len(),
                self.total
            );
        }
        if self.tools.is_empty() {
            let _ = writeln!(text, "Nothing matches `{query}`.");
            if !self.nearest.is_empty() {
                let _ = writeln!(text, "Nearest: {}", self.nearest.join(", "));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remarks_are_comments_of_the_language_asked_for() {
        for (language, remark) in [
            (Language::Typescript, "// read · Gives a file.\n"),
            (Language::Python, "# read · Gives a file.\n"),
        ] {
            let hit = HitReport {
                server: "files".to_owned(),
                tool: "get".to_owned(),
                call: "tools.files.get".to_owned(),
                signature: "the signature".to_owned(),
                description: "Gives a file.".to_owned(),
                effect: EffectClass::Read,
                score: 1.0,
            };
            let query = QueryReport {
                query: "file".to_owned(),
                tools: vec![hit],
                total: 1,
                nearest: Vec::new(),
            };
            let report = SearchReport {
                queries: vec![query],
                starting: Vec::new(),
                unavailable: Vec::new(),
                servers: 1,
                language,
            };
            assert_eq!(report.text(), format!("{remark}the signature\n"));
        }
    }
}
