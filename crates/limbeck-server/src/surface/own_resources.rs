//! Resources of the gateway itself: a guide for writing programs, the servers, and each tool. A client reads them without
//! a tool of their own in its list.

use limbeck_gateway::clock::now_us;
use rmcp::ErrorData;
use rmcp::model::{
    CacheScope, ErrorCode, ReadResourceResult, Resource, ResourceContents, ResourceTemplate,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::json;

use super::client_surface::Surface;
use super::compat::catalog_tools::signature;
use super::compat::options::Predecessor;
use crate::answer_place;
use limbeck_gateway::artifacts::when;

/// How to write programs.
const GUIDE: &str = include_str!("own_resources/guide.md");
const GUIDE_URI: &str = "limbeck://guide";
const SERVERS_URI: &str = "limbeck://servers";
const TOOLS_PREFIX: &str = "limbeck://tools/";
/// The resource of mcp-server-code-execution-mode, whose prompts name it.
const CAPABILITIES_URI: &str = "resource://mcp-server-code-execution-mode/capabilities";
const CAPABILITIES: &str = include_str!("own_resources/capabilities.md");
const MARKDOWN: &str = "text/markdown";
const JSON: &str = "application/json";
/// Time that a client may cache the guide, which is a part of the executable.
const GUIDE_TTL_MS: u64 = 3_600_000;
/// Time that a client may cache the servers and tools, as it may their lists.
const LIST_TTL_MS: u64 = 60_000;
/// Bytes of an address in an error.
const URI_SHOWN_BYTES: usize = 256;

/// Resources that are always there, and that of S2 where its tool is listed.
pub(super) fn listed(lists_s2: bool) -> impl Iterator<Item = Resource> {
    let own = [
        Resource::new(GUIDE_URI, "guide")
            .with_title("How to write programs")
            .with_description("Calls, errors, printing and state of programs in both languages")
            .with_mime_type(MARKDOWN),
        Resource::new(SERVERS_URI, "servers")
            .with_title("Connected MCP servers")
            .with_description("Each server with its state and the names of its tools")
            .with_mime_type(JSON),
    ];
    let capabilities = lists_s2.then(|| {
        Resource::new(CAPABILITIES_URI, "code-execution-capabilities")
            .with_title("Code Execution Sandbox Helpers")
            .with_description("What a program of `run_python` can use")
            .with_mime_type(MARKDOWN)
    });
    own.into_iter().chain(capabilities)
}

/// Templates of resources that exist for every tool.
pub(super) fn templates() -> impl Iterator<Item = ResourceTemplate> {
    let tool = ResourceTemplate::new(format!("{TOOLS_PREFIX}{{server}}/{{tool}}"), "tool")
        .with_title("One tool")
        .with_description("Signature, schemas and hints of a tool")
        .with_mime_type(JSON);
    std::iter::once(tool)
}

impl Surface {
    /// Reads a resource of the gateway itself; `None` for every other address.
    pub(super) async fn read_own(
        &self,
        uri: &str,
        context: &RequestContext<RoleServer>,
    ) -> Option<Result<ReadResourceResult, ErrorData>> {
        let (text, media_type, ttl_ms) = match uri {
            GUIDE_URI => (GUIDE.to_owned(), MARKDOWN, GUIDE_TTL_MS),
            CAPABILITIES_URI => (CAPABILITIES.to_owned(), MARKDOWN, GUIDE_TTL_MS),
            SERVERS_URI => (self.servers_text().await, JSON, LIST_TTL_MS),
            _ => {
                let tool = self.tool_text(uri.strip_prefix(TOOLS_PREFIX)?).await;
                (
                    match tool {
                        Some(text) => text,
                        None => return Some(Err(self.in_terms_of_listed(unknown(uri)))),
                    },
                    JSON,
                    LIST_TTL_MS,
                )
            }
        };
        if let Err(error) = answer_place::take(context, text.len(), text.len()).await {
            return Some(Err(error));
        }
        let contents = ResourceContents::text(text, uri).with_mime_type(media_type);
        Some(Ok(ReadResourceResult::new(vec![contents])
            .with_ttl_ms(ttl_ms)
            .with_cache_scope(CacheScope::Private)))
    }

    /// The error of an unknown resource as the listed system wrote it: S2 called its address an invalid parameter.
    pub(super) fn in_terms_of_listed(&self, error: ErrorData) -> ErrorData {
        match error.code {
            ErrorCode::RESOURCE_NOT_FOUND if self.compat.lists(Predecessor::S2) => ErrorData {
                code: ErrorCode::INVALID_PARAMS,
                ..error
            },
            _ => error,
        }
    }

    /// Every server, from the catalog and the states of this moment. No server is started or asked.
    async fn servers_text(&self) -> String {
        let gateway = self.gateway.clone();
        let text = self.gateway.compute(move || {
            let servers = gateway.servers_now().into_iter().map(|server| {
                let tools = server.tools.iter().map(|tool| tool.name.as_str());
                json!({
                    "name": server.name,
                    "state": server.state,
                    "tools": tools.collect::<Vec<_>>(),
                })
            });
            let servers: Vec<_> = servers.collect();
            json!({"servers": servers, "at": when(now_us())}).to_string()
        });
        text.await.unwrap_or_default()
    }

    /// One tool, by the rest of its address.
    async fn tool_text(&self, path: &str) -> Option<String> {
        let (server, tool) = path.split_once('/')?;
        let tool = self.tool_of(&decoded(server)?, &decoded(tool)?).await?;
        let text = self.gateway.compute(move || {
            let mut body = signature(&tool);
            body["call"] = tool.call_expression().into();
            body["effect"] = tool.effect().as_str().into();
            body.to_string()
        });
        text.await.ok()
    }
}

fn unknown(uri: &str) -> ErrorData {
    let uri = limbeck_domain::text::cut(uri, URI_SHOWN_BYTES);
    ErrorData::resource_not_found(
        "no server has such a tool; `limbeck://servers` lists them",
        Some(json!({ "uri": uri })),
    )
}

/// A segment of an address without its percent-encoding; `None` when it is not UTF-8.
fn decoded(segment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(segment.len());
    let mut rest = segment.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        let escaped = behind.get(..2).filter(|_| first == b'%');
        let escaped = escaped.and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped =
            escaped.filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        match escaped.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = behind.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(first);
                rest = behind;
            }
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_resource_of_s2_is_listed_with_its_tool_alone() {
        let uris = |lists_s2: bool| {
            let listed = listed(lists_s2);
            listed
                .map(|resource| resource.uri.clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(uris(false), [GUIDE_URI, SERVERS_URI]);
        assert_eq!(uris(true), [GUIDE_URI, SERVERS_URI, CAPABILITIES_URI]);
    }

    #[test]
    fn a_segment_is_decoded_once() {
        for (segment, expected) in [
            ("list_issues", Some("list_issues")),
            ("my%2Fserver", Some("my/server")),
            ("%C3%A9%20x", Some("é x")),
            ("100%", Some("100%")),
            ("%zz%2", Some("%zz%2")),
            ("%252F", Some("%2F")),
            ("%FF", None),
        ] {
            assert_eq!(decoded(segment).as_deref(), expected, "{segment}");
        }
    }

    #[test]
    fn the_guides_are_short() {
        for guide in [GUIDE, CAPABILITIES] {
            let tokens = limbeck_gateway::tokens::count(guide);
            assert!((100..1_200).contains(&tokens), "{tokens} tokens");
        }
    }
}
