//! Requests and notifications of a client, as methods of the SDK's server trait.

use rmcp::ErrorData;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestMethod,
    CompleteRequestParams, CompleteResult, CustomRequest, CustomResult, ErrorCode,
    GetPromptRequestParams, GetPromptResponse, GetTaskParams, GetTaskResult, Implementation,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ServerConfig,
    SetLevelRequestMethod, SetLevelRequestParams, SubscribeRequestMethod, SubscribeRequestParams,
    SubscriptionFilter, Tool, UnsubscribeRequestMethod, UnsubscribeRequestParams, UpdateTaskParams,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer, SubscriptionContext};

use super::built_in_tools::BuiltInTool;
use super::client_exchanges::ResumeParams;
use super::client_surface::Surface;
use super::compat::alias::alias_named;
use super::compat::options::Predecessor;
use super::compat::right_name::unknown_tool;
use super::instructions::instructions;
use super::{change_notifications, exposed_lists, forward, legacy_session, own_resources};
use limbeck_gateway::artifacts::URI_PREFIX;

/// Time that a client may cache a list; it is notified of earlier changes.
const LISTS_TTL_MS: u64 = 60_000;
/// Bytes of an unknown method's name in the error.
const METHOD_SHOWN_BYTES: usize = 128;

impl ServerHandler for Surface {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(self.capabilities())
            .with_server_info(Implementation::new("limbeck", env!("CARGO_PKG_VERSION")))
            .with_instructions(instructions(
                self.gateway.exposed().searched.catalog(),
                &self.compat,
            ))
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let (tools, next) = exposed_lists::page(self.all_tools().await, cursor(request.as_ref()))?;
        // Lists differ by principal, so shared caches must not keep them.
        let mut result = ListToolsResult::with_all_items(tools)
            .with_ttl_ms(LISTS_TTL_MS)
            .with_cache_scope(CacheScope::Private);
        result.next_cursor = next;
        Ok(result)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let tools = self.exposed_tools();
        tools.get(name).map(|listed| listed.tool.clone())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let operation = format!("tools/call {}", request.name);
        let called = self.called(request, context).await;
        self.noted(&operation, called)
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        self.polled_task(&request.task_id, &context).await
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.answered_task(&request.task_id, request.input_responses)
            .await
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.cancelled_task(&request.task_id).await
    }

    // Prompts come from exposed servers, resources and templates from the gateway as well. All lists carry cache hints, which
    // revision 2026-07-28 requires.

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let listed = exposed_lists::prompts(&self.gateway).await;
        let prompts = listed.into_iter().map(|listed| listed.prompt).collect();
        let (prompts, next) = exposed_lists::page(prompts, cursor(request.as_ref()))?;
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
        let resume = ResumeParams {
            responses: request.input_responses,
            state: request.request_state,
        };
        self.prompt(&request.name, request.arguments, resume, &context)
            .await
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let listed = exposed_lists::resources(&self.gateway).await;
        let listed = listed.into_iter().map(|(_, resource)| resource);
        let own = own_resources::listed(self.compat.lists(Predecessor::S2));
        let artifacts = self.artifact_resources().await.into_iter();
        let resources = artifacts.chain(own).chain(listed);
        let (resources, next) = exposed_lists::page(resources.collect(), cursor(request.as_ref()))?;
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
        let listed = exposed_lists::templates(&self.gateway).await;
        let templates = listed.into_iter().map(|(_, template)| template);
        let templates = own_resources::templates().chain(templates).collect();
        let (templates, next) = exposed_lists::page(templates, cursor(request.as_ref()))?;
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
            let read = self.read_artifact(id, &request.uri, &context).await;
            return read.map(Into::into);
        }
        if let Some(read) = self.read_own(&request.uri, &context).await {
            return read.map(Into::into);
        }
        let resume = ResumeParams {
            responses: request.input_responses,
            state: request.request_state,
        };
        let read = self.read(&request.uri, resume, &context).await;
        read.map_err(|error| self.in_terms_of_listed(error))
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
        // The SDK would repeat the whole name, which may be as long as a request.
        let name = limbeck_domain::text::clean_line(&request.method, METHOD_SHOWN_BYTES);
        self.note_refusal(&name, "method_not_found");
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, name, None))
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        // Also without servers to expose: a changed configuration may add some.
        tokio::spawn(change_notifications::notify_legacy_client(
            self.clone(),
            context.peer,
        ));
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        let mut accepted = requested.clone();
        if let Some(resources) = &mut accepted.resource_subscriptions {
            resources.truncate(legacy_session::SUBSCRIPTIONS_MAX);
        }
        Some(accepted)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        change_notifications::notify_modern_client(self, &context).await;
        Ok(())
    }
}

impl Surface {
    /// Calls a tool of the gateway, of an exposed server or of an earlier system.
    async fn called(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let resume = ResumeParams {
            responses: request.input_responses,
            state: request.request_state,
        };
        match BuiltInTool::from_name(&request.name) {
            Some(BuiltInTool::Search) => Ok(self.search(arguments).await.into()),
            Some(BuiltInTool::Execute) => self.execute(arguments, resume, &context).await,
            Some(BuiltInTool::Resume) => self.resume(arguments, resume, &context).await,
            None => {
                let alias = alias_named(&request.name);
                if let Some(alias) = alias.filter(|alias| self.compat.lists(alias.system)) {
                    return self.call_alias(alias, arguments, resume, &context).await;
                }
                let mut tools = self.exposed_tools();
                if tools.get(&request.name).is_none() {
                    // It may be a tool of a server whose tools were never listed.
                    exposed_lists::discover_exposed(&self.gateway).await;
                    tools = self.exposed_tools();
                }
                match (tools.get(&request.name), alias) {
                    (Some(listed), _) => {
                        self.call_listed(listed, arguments, resume, &context).await
                    }
                    // Every tool of an earlier system can be called, listed or not.
                    (None, Some(alias)) => {
                        self.call_alias(alias, arguments, resume, &context).await
                    }
                    (None, None) => Err(unknown_tool(&request.name, &self.compat)),
                }
            }
        }
    }
}

fn cursor(request: Option<&PaginatedRequestParams>) -> Option<&str> {
    request?.cursor.as_deref()
}
