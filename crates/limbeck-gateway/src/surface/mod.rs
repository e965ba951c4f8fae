//! What an MCP client sees: two tools, `search` and `execute`, and a digest of what stands behind.
//!
//! Both eras of the protocol are served by one process; the SDK picks by the client's first message.
//! Listing and the handshake answer at once and start no upstream.

mod arguments;
mod tools;

use std::fmt::Write as _;
use std::sync::Arc;

use limbeck_domain::Envelope;
use rmcp::ErrorData;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock,
    Implementation, JsonObject, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, RoleServer};

use crate::{ExecuteRequest, Gateway};
use arguments::{ExecuteArguments, SearchArguments};

/// Bytes of the catalogue digest in `instructions`: about 500 tokens.
const DIGEST_BYTES_MAX: usize = 1_600;
/// Who asks over stdio: the local user.
const LOCAL: &str = "local";

const INTRODUCTION: &str = "Limbeck runs TypeScript and Python programs that call the tools of all connected MCP servers. \
Use `search` to find tools with their exact signatures, then `execute` one program that calls as many of them as the task needs \
(`await tools.server.tool({...})`, loops, `Promise.all`) and returns only what you want to read.";

/// The server face of a gateway.
#[derive(Clone, Debug)]
pub struct Surface {
    gateway: Gateway,
    principal: Arc<str>,
}

impl Surface {
    /// A surface over a running gateway for the clients of `principal`: who an execution belongs to,
    /// whose limits it counts against and whose `store` it sees.
    pub fn new(gateway: Gateway, principal: impl Into<Arc<str>>) -> Self {
        Self {
            gateway,
            principal: principal.into(),
        }
    }

    async fn search(&self, arguments: JsonObject) -> CallToolResult {
        let request = match SearchArguments::read(arguments) {
            Ok(request) => request,
            Err(message) => return failed(message),
        };
        match self.gateway.search(&request).await {
            Ok(report) => text(report.text(), false),
            Err(error) => failed(with_hint(&error.message, error.hint.as_deref())),
        }
    }

    async fn execute(
        &self,
        arguments: JsonObject,
        context: &RequestContext<RoleServer>,
    ) -> CallToolResult {
        let arguments = match ExecuteArguments::read(arguments) {
            Ok(arguments) => arguments,
            Err(message) => return failed(message),
        };
        let request = ExecuteRequest {
            language: arguments.language,
            program: arguments.code,
            input: arguments.input,
            timeout_ms: arguments.timeout_ms,
            scope: arguments.scope,
            principal: self.principal.to_string(),
            origin: "mcp".to_owned(),
        };
        let envelope = self.gateway.execute(request, context.ct.clone()).await;
        envelope_result(&envelope)
    }

    fn instructions(&self) -> String {
        let catalog = self.gateway.shared.catalogue.snapshot();
        let total = catalog.servers().len();
        let mut text = INTRODUCTION.to_owned();
        if total == 0 {
            text.push_str("\nNo MCP servers are configured.");
            return text;
        }
        let mut shown = 0;
        let mut lines = String::new();
        for server in catalog.servers() {
            let mut line = format!("\n- {}", server.name());
            if !server.tools().is_empty() {
                let _ = write!(line, " ({} tools): {}", server.tools().len(), server.line());
            }
            if lines.len() + line.len() > DIGEST_BYTES_MAX {
                break;
            }
            lines.push_str(&line);
            shown += 1;
        }
        let _ = write!(text, "\nServers ({shown} of {total} shown):{lines}");
        text
    }
}

/// The envelope once, as text: clients that find `structuredContent` drop the text, and others
/// would show both.
fn envelope_result(envelope: &Envelope) -> CallToolResult {
    match serde_json::to_string(envelope) {
        Ok(json) => text(json, envelope.error.is_some()),
        Err(error) => failed(format!(
            "the result could not be written: {error}; it is kept: `limbeck executions {}`",
            envelope.execution_id
        )),
    }
}

fn text(text: String, is_error: bool) -> CallToolResult {
    let content = vec![ContentBlock::text(text)];
    if is_error {
        CallToolResult::error(content)
    } else {
        CallToolResult::success(content)
    }
}

fn failed(message: String) -> CallToolResult {
    text(message, true)
}

fn with_hint(message: &str, hint: Option<&str>) -> String {
    match hint {
        Some(hint) => format!("{message}\nhint: {hint}"),
        None => message.to_owned(),
    }
}

impl ServerHandler for Surface {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("limbeck", env!("CARGO_PKG_VERSION")))
            .with_instructions(self.instructions())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        // The list is the same for every client and changes only with the executable, but what a
        // gateway offers is its user's own affair.
        Ok(ListToolsResult::with_all_items(tools::all())
            .with_ttl_ms(60_000)
            .with_cache_scope(CacheScope::Private))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let result = match &*request.name {
            tools::SEARCH => self.search(arguments).await,
            tools::EXECUTE => self.execute(arguments, &context).await,
            other => {
                let name = limbeck_domain::text::clean_line(other, 128);
                return Err(ErrorData::invalid_params(
                    format!(
                        "unknown tool `{name}`; there are `search` and `execute`, and other servers' tools are called inside a program"
                    ),
                    None,
                ));
            }
        };
        Ok(result.into())
    }

    // Not offered, so not answered: an empty list would claim a capability that was not declared.

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(ErrorData::method_not_found::<
            rmcp::model::ListPromptsRequestMethod,
        >())
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Err(ErrorData::method_not_found::<
            rmcp::model::ListResourcesRequestMethod,
        >())
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Err(ErrorData::method_not_found::<
            rmcp::model::ListResourceTemplatesRequestMethod,
        >())
    }
}

/// Why serving ended badly.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The client did not get through the handshake.
    #[error("the client did not finish its handshake")]
    Handshake(#[source] Box<rmcp::service::ServerInitializeError>),
    /// The task that serves ended unexpectedly.
    #[error("serving ended unexpectedly")]
    Task(#[source] tokio::task::JoinError),
}

/// Serves one client on this process's standard input and output until it closes them.
///
/// # Errors
///
/// [`ServeError`]; a client that goes away before or after its handshake is no error.
pub async fn serve_stdio(gateway: Gateway) -> Result<(), ServeError> {
    let surface = Arc::new(Surface::new(gateway, LOCAL));
    let running = match rmcp::serve_server(surface, rmcp::transport::stdio_pipes()).await {
        Ok(running) => running,
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(ServeError::Handshake(Box::new(error))),
    };
    running.waiting().await.map_err(ServeError::Task)?;
    Ok(())
}
