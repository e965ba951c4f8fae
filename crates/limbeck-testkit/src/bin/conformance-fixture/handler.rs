//! Request handler of the server, and notifications about changes.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::ErrorData;
use rmcp::handler::server::ServerHandler;
use rmcp::model::RequestStateCodec;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult,
    GetPromptRequestParams, GetPromptResponse, Implementation, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig,
    SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, Tool,
    UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, RoleServer, SubscriptionContext};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::broadcast;

use crate::{prompts, question, resources, tools};

/// Changes buffered for a slow subscriber.
const CHANGES_KEPT: usize = 64;

/// Server handle; clones share their state.
#[derive(Clone)]
pub(crate) struct Fixture(Arc<State>);

struct State {
    codec: RequestStateCodec,
    changes: broadcast::Sender<Change>,
    has_extra_tool: AtomicBool,
    has_extra_prompt: AtomicBool,
    subscribed: Mutex<BTreeSet<String>>,
}

/// List that has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// The list of tools.
    Tools,
    /// The list of prompts.
    Prompts,
}

impl Default for Fixture {
    fn default() -> Self {
        Self(Arc::new(State {
            // The fixture needs no secret; the key shows that a modified state is detected.
            codec: RequestStateCodec::new_unchecked(*b"the conformance fixture's own key"),
            changes: broadcast::Sender::new(CHANGES_KEPT),
            has_extra_tool: AtomicBool::new(false),
            has_extra_prompt: AtomicBool::new(false),
            subscribed: Mutex::default(),
        }))
    }
}

impl Fixture {
    pub(crate) fn codec(&self) -> &RequestStateCodec {
        &self.0.codec
    }

    /// Adds or removes the extra tool or prompt, and notifies all subscribers.
    pub(crate) async fn change(&self, change: Change, context: &RequestContext<RoleServer>) {
        let extra = match change {
            Change::Tools => &self.0.has_extra_tool,
            Change::Prompts => &self.0.has_extra_prompt,
        };
        extra.fetch_xor(true, Ordering::Relaxed);
        // An error means that there is no subscriber.
        let _ = self.0.changes.send(change);
        if !question::is_modern(context) {
            let _ = match change {
                Change::Tools => context.peer.notify_tool_list_changed().await,
                Change::Prompts => context.peer.notify_prompt_list_changed().await,
            };
        }
    }

    fn subscribed(&self) -> std::sync::MutexGuard<'_, BTreeSet<String>> {
        self.0
            .subscribed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Parses a complete result of the SDK from JSON.
pub(crate) fn result<T: DeserializeOwned>(mut json: Value) -> Result<T, ErrorData> {
    // The SDK leaves it out for clients of older revisions.
    json["resultType"] = "complete".into();
    typed(json)
}

/// Parses a value of the SDK from JSON.
pub(crate) fn typed<T: DeserializeOwned>(json: Value) -> Result<T, ErrorData> {
    serde_json::from_value(json)
        .map_err(|error| ErrorData::internal_error(format!("the fixture is wrong: {error}"), None))
}

impl ServerHandler for Fixture {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_logging()
            .enable_completions()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("conformance-fixture", "1.0.0"))
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        tools::list(self.0.has_extra_tool.load(Ordering::Relaxed))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools::get(name)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        tools::call(self, request, &context).await
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        resources::list()
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        resources::templates()
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        resources::read(&request.uri).map(Into::into)
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.subscribed().insert(request.uri);
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.subscribed().remove(&request.uri);
        Ok(())
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        prompts::list(self.0.has_extra_prompt.load(Ordering::Relaxed))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        prompts::get(request, &context).await
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        prompts::complete(&request)
    }

    async fn set_level(
        &self,
        _request: SetLevelRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        // Messages of every level are sent.
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changes = self.0.changes.subscribe();
        loop {
            let change = tokio::select! {
                () = context.cancelled() => return Ok(()),
                change = changes.recv() => change,
            };
            // The sink drops notifications that the client did not subscribe to.
            let _ = match change {
                Ok(Change::Tools) => context.sink().notify_tool_list_changed().await,
                Ok(Change::Prompts) => context.sink().notify_prompt_list_changed().await,
                Err(broadcast::error::RecvError::Lagged(_)) => continue,
                Err(broadcast::error::RecvError::Closed) => return Ok(()),
            };
        }
    }
}
