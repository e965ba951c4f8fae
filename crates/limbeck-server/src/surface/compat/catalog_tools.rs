//! The tools `search_tools`, `get_tool_signature` and `list_servers`: answers from the catalog in the forms of S1.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use limbeck_catalog::{Catalog, Detail, Tool};
use limbeck_domain::text::{clean_line, cut};
use limbeck_domain::{Language, ServerName, ToolId};
use limbeck_gateway::ServerReport;
use limbeck_gateway::search::SearchRequest;
use rmcp::model::{CallToolResult, JsonObject};
use serde_json::{Value, json};

use super::argument_rules::whole_number;
use super::s1_results::answer;
use crate::surface::built_in_results::{failed, with_hint};
use crate::surface::client_surface::Surface;

/// How long an answer waits for servers that it needs and that are not connected.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
/// Servers that one query connects.
const CONNECTED_MAX: usize = 8;
/// Shortest part of a server's name that names it.
const NAME_CHARS_MIN: usize = 3;
/// Hits of a search.
const LIMIT_DEFAULT: usize = 10;
/// Searches that one answer is made of: one of them has at most 50 hits, and a client may ask for 100.
const PAGES_MAX: usize = 2;
/// Characters of a description in `minimal` detail.
const MINIMAL_CHARS: usize = 100;
/// Bytes of a description.
const DESCRIPTION_BYTES: usize = 2_000;
/// Bytes of an answer, above which no further tool is added.
const ANSWER_BYTES: usize = 200 << 10;
/// Names of tools in a list of servers.
const TOOLS_NAMED_MAX: usize = 2_000;

/// Detail of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SearchDetail {
    Minimal,
    Standard,
    Full,
}

impl Surface {
    pub(super) async fn search_tools(&self, arguments: &JsonObject) -> CallToolResult {
        let text_of = |name: &str| arguments.get(name).and_then(Value::as_str);
        let query = text_of("query").unwrap_or_default();
        let server = text_of("server");
        let detail = match text_of("detail") {
            Some("minimal") => SearchDetail::Minimal,
            Some("full") => SearchDetail::Full,
            _ => SearchDetail::Standard,
        };
        let limit = arguments.get("limit").and_then(whole_number);
        let limit = limit.and_then(|limit| usize::try_from(limit).ok());
        let limit = limit.unwrap_or(LIMIT_DEFAULT);
        self.gateway.record_search(&self.principal, query);
        let connected = self.connect_named(query, server).await;
        let mut request = SearchRequest {
            queries: vec![query.to_owned()],
            server: server.map(str::to_owned),
            limit: Some(limit),
            ..SearchRequest::default()
        };
        let (mut hits, mut total) = (Vec::new(), 0);
        for _ in 0..PAGES_MAX {
            let report = match self.gateway.search(&request).await {
                Ok(report) => report,
                Err(error) => return failed(with_hint(&error.message, error.hint.as_deref())),
            };
            let cursor = report.cursor;
            for found in report.queries {
                total = found.total;
                hits.extend(found.tools);
            }
            match cursor {
                Some(cursor) if hits.len() < limit => request.cursor = Some(cursor),
                _ => break,
            }
        }
        hits.truncate(limit);
        let catalog = self.gateway.catalog();
        let query = query.to_owned();
        let answered = self.gateway.compute(move || {
            let found: Vec<(Arc<Tool>, f64)> = hits
                .iter()
                .filter_map(|hit| {
                    let id = ToolId::new(hit.server.as_str(), hit.tool.as_str());
                    Some((Arc::clone(catalog.tool(&id)?), hit.score))
                })
                .collect();
            let mut body = json!({
                "tools": described(&found, detail),
                "total": total,
                "query": query,
            });
            if !connected.is_empty() {
                body["lazyLoaded"] = json!(connected);
            }
            answer(&body)
        });
        answered
            .await
            .unwrap_or_else(|error| failed(error.to_string()))
    }

    /// Connects the servers that a query names, and returns those that were not connected before.
    async fn connect_named(&self, query: &str, server: Option<&str>) -> Vec<String> {
        let catalog = self.gateway.catalog();
        let named = named_servers(&catalog, query, server);
        if named.is_empty() {
            return Vec::new();
        }
        let ready = self.ready().await;
        let missing: Vec<ServerName> = named
            .into_iter()
            .filter(|name| !ready.contains(name.as_str()))
            .take(CONNECTED_MAX)
            .collect();
        if missing.is_empty() {
            return Vec::new();
        }
        let live_catalog = self.gateway.live_catalog();
        live_catalog.refresh_all(&missing, CONNECT_TIMEOUT).await;
        let ready = self.ready().await;
        let missing = missing.iter().map(ToString::to_string);
        missing.filter(|name| ready.contains(name)).collect()
    }

    /// Names of connected servers.
    async fn ready(&self) -> BTreeSet<String> {
        let reports = self.server_reports().await;
        let ready = reports.into_iter().filter(|report| report.state == "ready");
        ready.map(|report| report.name).collect()
    }

    /// Reports on all servers, made off the threads that serve: each has the signatures of its tools.
    async fn server_reports(&self) -> Vec<ServerReport> {
        let gateway = self.gateway.clone();
        let reports = self.gateway.compute(move || gateway.servers_now());
        reports.await.unwrap_or_default()
    }

    pub(super) async fn tool_signature(&self, arguments: &JsonObject) -> CallToolResult {
        let text_of = |name: &str| arguments.get(name).and_then(Value::as_str);
        let server = text_of("server").unwrap_or_default();
        let tool = text_of("tool").unwrap_or_default();
        match self.tool_of(server, tool).await {
            Some(tool) => {
                let described = self.gateway.compute(move || answer(&signature(&tool)));
                described
                    .await
                    .unwrap_or_else(|error| failed(error.to_string()))
            }
            None => failed(format!(
                "Error: Tool not found: {}/{}",
                clean_line(server, 128),
                clean_line(tool, 128)
            )),
        }
    }

    /// The tool of a server, which is connected first when its tools are not known.
    pub(in crate::surface) async fn tool_of(&self, server: &str, tool: &str) -> Option<Arc<Tool>> {
        let known =
            |catalog: &Catalog, name: &ServerName| catalog.server(name)?.tool(tool).cloned();
        let catalog = self.gateway.catalog();
        let name = catalog.resolve_server(server).ok()?;
        if let Some(tool) = known(&catalog, &name) {
            return Some(tool);
        }
        if !catalog.tools_of(&name).is_empty() {
            return None;
        }
        let asked = [name];
        let live_catalog = self.gateway.live_catalog();
        live_catalog.refresh_all(&asked, CONNECT_TIMEOUT).await;
        let [name] = &asked;
        known(&self.gateway.catalog(), name)
    }

    /// Connects the servers that S1 had connected at its start, and lists all.
    pub(super) async fn list_servers(&self) -> CallToolResult {
        if let Some(named) = &self.compat.connected_first {
            let catalog = self.gateway.catalog();
            let named = named.iter().filter(|name| catalog.server(name).is_some());
            let named: Vec<ServerName> = named.cloned().collect();
            let live_catalog = self.gateway.live_catalog();
            live_catalog.refresh_all(&named, CONNECT_TIMEOUT).await;
        } else if let Err(error) = self.gateway.servers(None, CONNECT_TIMEOUT).await {
            return failed(with_hint(&error.message, error.hint.as_deref()));
        }
        answer(&servers_listed(&self.server_reports().await))
    }
}

/// The server that a search is limited to, or those that the query names.
fn named_servers(catalog: &Catalog, query: &str, server: Option<&str>) -> Vec<ServerName> {
    if let Some(server) = server {
        return catalog.resolve_server(server).into_iter().collect();
    }
    let query = query.trim().to_lowercase();
    let is_named = |name: &str| {
        let name = name.to_lowercase();
        let is_long = |text: &str| text.chars().count() >= NAME_CHARS_MIN;
        is_long(&name) && query.contains(&name) || is_long(&query) && name.contains(&query)
    };
    let servers = catalog.servers().map(|server| server.name().clone());
    servers.filter(|name| is_named(name.as_str())).collect()
}

/// Tools of a search, best first.
fn described(found: &[(Arc<Tool>, f64)], detail: SearchDetail) -> Vec<Value> {
    let mut bytes = 0;
    let tools = found.iter().map(|(tool, score)| {
        let description = description(tool);
        let mut body = json!({
            "server": tool.id().server,
            "tool": tool.id().tool,
        });
        match detail {
            SearchDetail::Minimal => body["description"] = shortened(&description).into(),
            SearchDetail::Standard | SearchDetail::Full => {
                body["description"] = description.into();
                body["score"] = ((score * 100.0).round() / 100.0).into();
            }
        }
        if detail == SearchDetail::Full {
            body["inputSchema"] = tool.definition().input_schema.clone();
        }
        body
    });
    tools
        .take_while(|body| {
            bytes += body.to_string().len();
            bytes <= ANSWER_BYTES
        })
        .collect()
}

fn description(tool: &Tool) -> String {
    let description = tool.definition().description.as_deref();
    cut(description.unwrap_or_default(), DESCRIPTION_BYTES).to_owned()
}

fn shortened(description: &str) -> String {
    match description.char_indices().nth(MINIMAL_CHARS) {
        Some((end, _)) => format!("{}...", cut(description, end)),
        None => description.to_owned(),
    }
}

/// Everything about one tool.
pub(in crate::surface) fn signature(tool: &Tool) -> Value {
    let definition = tool.definition();
    let mut body = json!({
        "server": tool.id().server,
        "tool": tool.id().tool,
        "signature": tool.declaration(Detail::Full, Language::Typescript),
        "description": definition.description.as_deref().unwrap_or_default(),
        "inputSchema": definition.input_schema,
    });
    let hints = definition.annotations;
    let hints = [
        ("readOnlyHint", hints.read_only),
        ("destructiveHint", hints.destructive),
        ("idempotentHint", hints.idempotent),
    ];
    let hints = hints.into_iter();
    let hints = hints.filter_map(|(name, hint)| Some((name.to_owned(), hint?.into())));
    let hints: JsonObject = hints.collect();
    if !hints.is_empty() {
        body["annotations"] = hints.into();
    }
    if let Some(schema) = &definition.output_schema {
        body["outputSchema"] = schema.clone();
    }
    body
}

/// Servers that are connected or failed to be, and names of those that connect when they are searched or called.
fn servers_listed(reports: &[ServerReport]) -> Value {
    let (mut servers, mut available) = (Vec::new(), Vec::new());
    let (mut named, mut total) = (0, 0);
    for report in reports {
        let status = match report.state {
            "ready" => "connected",
            "starting" => "connecting",
            "not_started" | "disabled" | "stopped" => {
                available.push(report.name.as_str());
                continue;
            }
            _ => "error",
        };
        total += report.tools.len();
        let mut server = json!({
            "name": report.name,
            "status": status,
            "toolCount": report.tools.len(),
        });
        named += report.tools.len();
        if named <= TOOLS_NAMED_MAX {
            let tools = report.tools.iter().map(|tool| tool.name.as_str());
            server["tools"] = tools.collect();
        }
        servers.push(server);
    }
    json!({"servers": servers, "available": available, "totalTools": total})
}

#[cfg(test)]
mod tests {
    use limbeck_catalog::ServerTools;
    use limbeck_domain::ToolDefinition;

    use super::*;

    fn tool(description: &str) -> Arc<Tool> {
        Arc::new(Tool::new(ToolDefinition {
            id: ToolId::new("crm", "list"),
            title: None,
            description: Some(description.to_owned()),
            input_schema: json!({"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}),
            output_schema: Some(json!({"type": "object"})),
            annotations: limbeck_domain::ToolAnnotations {
                read_only: Some(true),
                ..Default::default()
            },
        }))
    }

    #[test]
    fn a_hit_has_the_fields_of_its_detail() {
        let long = format!("Lists {}", "é".repeat(200));
        let found = [(tool(&long), 0.876_5)];
        let of = |detail| described(&found, detail).remove(0);
        let minimal = of(SearchDetail::Minimal);
        assert_eq!(
            minimal["description"].as_str().unwrap().chars().count(),
            103
        );
        assert!(minimal["description"].as_str().unwrap().ends_with("é..."));
        assert_eq!(minimal.get("score"), None);
        let standard = of(SearchDetail::Standard);
        assert_eq!(
            (&standard["description"], &standard["score"]),
            (&json!(long), &json!(0.88))
        );
        assert_eq!(standard.get("inputSchema"), None);
        assert_eq!(
            of(SearchDetail::Full)["inputSchema"]["required"],
            json!(["id"])
        );
    }

    #[test]
    fn an_answer_has_a_bound_and_keeps_the_best_tools() {
        let found: Vec<_> = (0..300).map(|_| (tool(&"d".repeat(2_000)), 0.5)).collect();
        let shown = described(&found, SearchDetail::Full).len();
        assert!((80..110).contains(&shown), "{shown}");
    }

    #[test]
    fn a_signature_has_the_fields_of_both_documented_forms() {
        let body = signature(&tool("Lists rows."));
        for field in [
            "server",
            "tool",
            "signature",
            "description",
            "inputSchema",
            "annotations",
            "outputSchema",
        ] {
            assert!(body.get(field).is_some(), "{field} in {body}");
        }
        assert!(
            body["signature"]
                .as_str()
                .unwrap()
                .contains("tools.crm.list(")
        );
        assert_eq!(body["annotations"], json!({"readOnlyHint": true}));
    }

    #[test]
    fn a_query_names_a_server_by_its_name_or_a_part_of_it() {
        let servers = ["supabase", "git", "db"].map(|name| ServerTools::unlisted(name.into()));
        let catalog = Catalog::new(servers.into());
        let named = |query: &str, server: Option<&str>| {
            let named = named_servers(&catalog, query, server);
            named.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(named("Supabase execute sql", None), ["supabase"]);
        assert_eq!(named("supa", None), ["supabase"]);
        // Two letters name no server, neither as a query nor as a name in it.
        assert_eq!(named("ba", None), [""; 0]);
        assert_eq!(named("db rows", None), [""; 0]);
        assert_eq!(named("rows", Some("db")), ["db"]);
        assert_eq!(named("supabase", Some("git")), ["git"]);
    }

    #[test]
    fn servers_have_the_states_of_s1_and_the_others_are_available() {
        let report = |name: &str, state: &'static str, tools: usize| ServerReport {
            name: name.to_owned(),
            source: String::new(),
            state,
            transport: "stdio",
            generation: None,
            protocol: None,
            in_flight: 0,
            queued: 0,
            error: None,
            next_step: None,
            stderr: String::new(),
            tools: (0..tools)
                .map(|n| limbeck_gateway::ToolReport {
                    name: format!("t{n}"),
                    call: String::new(),
                    signature: String::new(),
                    description: String::new(),
                    effect: limbeck_domain::EffectClass::Read,
                    changed_us: None,
                    contradictions: 0,
                })
                .collect(),
            dropped: Vec::new(),
            switched_off: Vec::new(),
            held: Vec::new(),
        };
        let listed = servers_listed(&[
            report("a", "ready", 2),
            report("b", "failed", 0),
            report("c", "starting", 0),
            report("d", "disabled", 3),
            report("e", "not_started", 1),
            report("huge", "ready", 3_000),
        ]);
        assert_eq!(
            listed["servers"][0],
            json!({"name": "a", "status": "connected", "toolCount": 2, "tools": ["t0", "t1"]})
        );
        let status = |at: usize| listed["servers"][at]["status"].as_str().unwrap();
        assert_eq!([status(1), status(2)], ["error", "connecting"]);
        assert_eq!(listed["available"], json!(["d", "e"]));
        assert_eq!(
            (&listed["totalTools"], listed["servers"][3].get("tools")),
            (&json!(3_002), None)
        );
    }
}
