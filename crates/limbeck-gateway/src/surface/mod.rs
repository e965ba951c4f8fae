//! What an MCP client sees: two tools, `search` and `execute`, and a digest of what stands behind; and, of
//! servers whose entries say so, their tools, resources and prompts as they are.
//!
//! Both eras of the protocol are served by one process; the SDK picks by the client's first message.
//! Listing and the handshake answer at once and start no upstream.

#![expect(
    deprecated,
    reason = "sampling, roots, logging and resources/subscribe are what legacy peers have"
)]

mod answers;
mod arguments;
mod capabilities;
mod convert;
mod events;
pub(crate) mod exchange;
mod forward;
mod instructions;
mod kept;
mod lists;
mod logging;
mod session;
mod stdio;
mod tools;

pub use stdio::serve_stdio;

use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestMethod,
    CompleteRequestParams, CompleteResult, CustomRequest, CustomResult, ErrorCode,
    GetPromptRequestParams, GetPromptResponse, Implementation, JsonObject, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ServerConfig, SetLevelRequestMethod,
    SetLevelRequestParams, SubscribeRequestMethod, SubscribeRequestParams, SubscriptionFilter,
    Tool, UnsubscribeRequestMethod, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer, SubscriptionContext};
use serde_json::Value;

use crate::artifacts::URI_PREFIX;
use crate::exposure::Exposed;
use crate::{ExecuteRequest, Gateway};
use answers::{envelope_result, failed, text, with_hint};
use arguments::{ExecuteArguments, SearchArguments};
use exchange::{Kind, Outcome};
use forward::{Forwarded, Retry};
pub(crate) use instructions::instructions;
use session::Session;

/// Names that no other tool is listed by.
pub(crate) const BUILT_IN: [&str; 2] = [tools::SEARCH, tools::EXECUTE];
/// How long a client may keep a list; it hears of changes before.
const LISTS_TTL_MS: u64 = 60_000;
/// Bytes repeated of the name of a method nobody has.
const METHOD_SHOWN_BYTES: usize = 128;

/// The server face of a gateway.
#[derive(Clone, Debug)]
pub struct Surface {
    gateway: Gateway,
    principal: Arc<str>,
    session: Arc<Session>,
}

impl Surface {
    /// A surface over a running gateway for the clients of `principal`: who an execution belongs to,
    /// whose limits it counts against and whose `store` it sees.
    pub fn new(gateway: Gateway, principal: impl Into<Arc<str>>) -> Self {
        let principal = principal.into();
        Self {
            gateway: gateway.used_by(&principal),
            principal,
            session: Arc::default(),
        }
    }

    async fn search(&self, arguments: JsonObject) -> CallToolResult {
        let asked = Value::Object(arguments.clone()).to_string();
        let request = match SearchArguments::read(arguments) {
            Ok(request) => request,
            Err(message) => return failed(message),
        };
        self.gateway.connect_named(&request);
        match self.gateway.search(&request).await {
            Ok(report) => {
                let answer = report.text();
                self.gateway.note_search(&self.principal, &asked, &answer);
                text(answer, false)
            }
            Err(error) => failed(with_hint(&error.message, error.hint.as_deref())),
        }
    }

    async fn execute(
        &self,
        arguments: JsonObject,
        retry: Retry,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = match ExecuteArguments::read(arguments) {
            Ok(arguments) => arguments,
            Err(message) => return Ok(failed(message).into()),
        };
        let request = ExecuteRequest {
            language: arguments.language,
            program: arguments.code,
            input: arguments.input,
            timeout_ms: arguments.timeout_ms,
            scope: arguments.scope,
            principal: self.principal.to_string(),
            origin: "mcp".to_owned(),
            answer: arguments.answer,
        };
        let render = request.answer.render;
        let subject = self.subject("tools/call", tools::EXECUTE);
        let gateway = self.gateway.clone();
        let forwarded = self
            .exchange(Kind::Program, &subject, retry, context, |calling| {
                Box::pin(async move {
                    Outcome::Program(Box::new(gateway.execute(request, calling).await))
                })
            })
            .await?;
        Ok(match forwarded {
            Forwarded::InputRequired(result) => result.into(),
            Forwarded::Done(Outcome::Program(envelope)) => {
                envelope_result(&envelope, render).into()
            }
            Forwarded::Done(Outcome::Raw(_)) => {
                let message = "a server answered for a program";
                return Err(ErrorData::internal_error(message, None));
            }
        })
    }
}

/// Every tool a client sees: ours, then those of servers that are listed as they are.
pub(crate) fn listed_tools(exposed: &Exposed) -> Vec<Tool> {
    let direct = exposed.tools.iter().map(|listed| listed.tool.clone());
    tools::all().into_iter().chain(direct).collect()
}

impl ServerHandler for Surface {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(self.capabilities())
            .with_server_info(Implementation::new("limbeck", env!("CARGO_PKG_VERSION")))
            .with_instructions(instructions(&self.gateway.exposed().searched))
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let (tools, next) = lists::page(self.all_tools().await, cursor(request.as_ref()))?;
        // What a gateway offers is its user's own affair.
        let mut result = ListToolsResult::with_all_items(tools)
            .with_ttl_ms(LISTS_TTL_MS)
            .with_cache_scope(CacheScope::Private);
        result.next_cursor = next;
        Ok(result)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let exposed = self.gateway.exposed();
        exposed.tool(name).map(|listed| listed.tool.clone())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let retry = Retry {
            responses: request.input_responses,
            state: request.request_state,
        };
        match &*request.name {
            tools::SEARCH => Ok(self.search(arguments).await.into()),
            tools::EXECUTE => self.execute(arguments, retry, &context).await,
            other => {
                let mut exposed = self.gateway.exposed();
                if exposed.tool(other).is_none() {
                    // It may be a tool of a server that nobody has listed so far.
                    lists::know_exposed(&self.gateway).await;
                    exposed = self.gateway.exposed();
                }
                match exposed.tool(other) {
                    Some(listed) => self.call_listed(listed, arguments, retry, &context).await,
                    None => Err(unknown_tool(other)),
                }
            }
        }
    }

    // Prompts and templates are those of exposed servers; resources are artifacts as well. Where no server can be
    // exposed the lists are empty, with hints of how long they may be kept, as revision 2026-07-28 wants all lists.

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let listed = lists::prompts(&self.gateway).await;
        let prompts = listed.into_iter().map(|listed| listed.prompt).collect();
        let (prompts, next) = lists::page(prompts, cursor(request.as_ref()))?;
        let mut result = ListPromptsResult::with_all_items(prompts)
            .with_ttl_ms(LISTS_TTL_MS)
            .with_cache_scope(CacheScope::Private);
        result.next_cursor = next;
        Ok(result)
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let retry = Retry {
            responses: request.input_responses,
            state: request.request_state,
        };
        self.prompt(&request.name, request.arguments, retry, &context)
            .await
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let listed = lists::resources(&self.gateway).await;
        let listed = listed.into_iter().map(|(_, resource)| resource);
        let resources = self.kept_resources().await.into_iter().chain(listed);
        let (resources, next) = lists::page(resources.collect(), cursor(request.as_ref()))?;
        let mut result = ListResourcesResult::with_all_items(resources)
            .with_ttl_ms(LISTS_TTL_MS)
            .with_cache_scope(CacheScope::Private);
        result.next_cursor = next;
        Ok(result)
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let listed = lists::templates(&self.gateway).await;
        let templates = listed.into_iter().map(|(_, template)| template).collect();
        let (templates, next) = lists::page(templates, cursor(request.as_ref()))?;
        let mut result = ListResourceTemplatesResult::with_all_items(templates)
            .with_ttl_ms(LISTS_TTL_MS)
            .with_cache_scope(CacheScope::Private);
        result.next_cursor = next;
        Ok(result)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        if let Some(id) = request.uri.strip_prefix(URI_PREFIX) {
            return self.read_kept(id, &request.uri).await.map(Into::into);
        }
        let retry = Retry {
            responses: request.input_responses,
            state: request.request_state,
        };
        self.read(&request.uri, retry, &context).await
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        self.offered::<CompleteRequestMethod>()?;
        self.completion(&request, &context).await
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.offered::<SetLevelRequestMethod>()?;
        self.session.set_level(request.level.into());
        Ok(())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.offered::<SubscribeRequestMethod>()?;
        let watch = forward::watch(&self.gateway, &request.uri).await?;
        self.session.subscribe(request.uri, watch)
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.offered::<UnsubscribeRequestMethod>()?;
        self.session.unsubscribe(&request.uri);
        Ok(())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        // The SDK repeats the name, which may be as long as a request.
        let name = limbeck_domain::text::clean_line(&request.method, METHOD_SHOWN_BYTES);
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, name, None))
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        if self.may_expose() {
            let (gateway, session) = (self.gateway.clone(), Arc::clone(&self.session));
            tokio::spawn(events::tell(gateway, session, context.peer));
        }
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        let mut accepted = requested.clone();
        if let Some(resources) = &mut accepted.resource_subscriptions {
            resources.truncate(session::SUBSCRIPTIONS_MAX);
        }
        self.may_expose().then_some(accepted)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        events::stream(&self.gateway, &context).await;
        Ok(())
    }
}

fn cursor(request: Option<&PaginatedRequestParams>) -> Option<&str> {
    request?.cursor.as_deref()
}

fn unknown_tool(name: &str) -> ErrorData {
    let name = limbeck_domain::text::clean_line(name, 128);
    ErrorData::invalid_params(
        format!(
            "unknown tool `{name}`; there are `search` and `execute`, and other servers' tools are called inside a program"
        ),
        None,
    )
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
