//! Handler that `rmcp` calls for requests and notifications of a server.
//!
//! Our transports pass notifications to [`ServerMessages`] themselves, in order, and put the raw text of a
//! request into [`RawParams`]. Messages that arrive typed are serialized again.

use std::sync::Arc;

use rmcp::RoleClient;
use rmcp::model::{
    self, ClientConfig, ClientResult, CustomResult, ElicitationCapability, ErrorData,
    FormElicitationCapability, Implementation, JsonObject, NumberOrString, ProtocolVersion,
    RootsCapabilities, SamplingCapability, ServerNotification, ServerRequest, TASKS_EXTENSION_ID,
    UrlElicitationCapability,
};
use rmcp::service::{InboundStreamOrigin, NotificationContext, RequestContext, Service};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::protocol::ProtocolGeneration;
use crate::server_messages::ServerMessages;
use crate::server_request::ClientCapabilities;

/// Raw `params` of a server's request; stored in the request's extensions.
#[derive(Clone)]
pub(crate) struct RawParams(pub(crate) Option<Arc<RawValue>>);

/// `rmcp` service that forwards requests and notifications to [`ServerMessages`].
pub(crate) struct ClientHandler {
    pub(crate) server_messages: Arc<ServerMessages>,
    pub(crate) generation: ProtocolGeneration,
}

impl Service<RoleClient> for ClientHandler {
    async fn handle_request(
        &self,
        request: ServerRequest,
        context: RequestContext<RoleClient>,
    ) -> Result<ClientResult, ErrorData> {
        // Over HTTP, the request whose stream this message arrived on identifies its call.
        let origin = match context.extensions.get::<InboundStreamOrigin>() {
            Some(InboundStreamOrigin::OutboundRequest(NumberOrString::Number(id))) => Some(*id),
            Some(InboundStreamOrigin::OutboundRequest(NumberOrString::String(_)))
            | Some(InboundStreamOrigin::Unassociated)
            | None => None,
        };
        let raw = context.extensions.get::<RawParams>().cloned();
        let (method, params) = request_parts(&request, raw);
        let withdrawn = self.server_messages.register_request(context.id.clone());
        let answer = self.server_messages.handle_request(&method, params, origin);
        // The server may withdraw its request, or its connection may end, while the client still thinks about
        // it.
        let answer = tokio::select! {
            answer = answer => answer.map(|value| ClientResult::CustomResult(CustomResult(value))),
            () = withdrawn.cancelled() => Err(request_cancelled()),
            () = context.ct.cancelled() => Err(request_cancelled()),
        };
        self.server_messages.forget_request(&context.id);
        answer
    }

    async fn handle_notification(
        &self,
        notification: ServerNotification,
        _: NotificationContext<RoleClient>,
    ) -> Result<(), ErrorData> {
        if let Some((method, params)) = notification_parts(&notification) {
            self.server_messages
                .handle_notification(&method, params.as_deref());
        }
        Ok(())
    }

    fn get_info(&self) -> ClientConfig {
        client_config(self.server_messages.declared(), self.generation)
    }
}

/// Response to a request that the server has cancelled.
fn request_cancelled() -> ErrorData {
    ErrorData::internal_error("the request was cancelled", None)
}

fn request_parts(
    request: &ServerRequest,
    raw: Option<RawParams>,
) -> (String, Option<Arc<RawValue>>) {
    let method = match request {
        ServerRequest::PingRequest(_) => "ping",
        ServerRequest::CreateMessageRequest(_) => "sampling/createMessage",
        ServerRequest::ListRootsRequest(_) => "roots/list",
        ServerRequest::ElicitRequest(_) => "elicitation/create",
        ServerRequest::CustomRequest(request) => request.method.as_str(),
        // Newer versions of `rmcp` may add requests that are not supported here.
        _ => "",
    };
    let params = match (raw, request) {
        (Some(RawParams(params)), _) => params,
        (None, ServerRequest::CreateMessageRequest(request)) => raw_of(&request.params),
        (None, ServerRequest::ElicitRequest(request)) => raw_of(&request.params),
        (None, ServerRequest::CustomRequest(request)) => request.params.as_ref().and_then(raw_of),
        (None, _) => None,
    };
    (method.to_owned(), params)
}

fn notification_parts(
    notification: &ServerNotification,
) -> Option<(String, Option<Arc<RawValue>>)> {
    let named = |method: &str| Some((method.to_owned(), None));
    match notification {
        ServerNotification::ProgressNotification(progress) => Some((
            "notifications/progress".to_owned(),
            raw_of(&progress.params),
        )),
        ServerNotification::ResourceUpdatedNotification(updated) => Some((
            "notifications/resources/updated".to_owned(),
            raw_of(&updated.params),
        )),
        ServerNotification::ToolListChangedNotification(_) => {
            named("notifications/tools/list_changed")
        }
        ServerNotification::ResourceListChangedNotification(_) => {
            named("notifications/resources/list_changed")
        }
        ServerNotification::PromptListChangedNotification(_) => {
            named("notifications/prompts/list_changed")
        }
        _ => None,
    }
}

fn raw_of(params: &impl Serialize) -> Option<Arc<RawValue>> {
    to_raw_value(params).ok().map(Arc::from)
}

/// Client information of the handshake, or of each request with a modern server.
fn client_config(declared: ClientCapabilities, generation: ProtocolGeneration) -> ClientConfig {
    ClientConfig::new(
        client_capabilities(declared, generation),
        Implementation::new("limbeck", env!("CARGO_PKG_VERSION")),
    )
    .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
}

/// MCP capabilities of a client that can answer the requests in `declared`.
pub(crate) fn client_capabilities(
    declared: ClientCapabilities,
    generation: ProtocolGeneration,
) -> model::ClientCapabilities {
    let mut capabilities = model::ClientCapabilities::default();
    if declared.elicitation_form || declared.elicitation_url {
        let mut elicitation = ElicitationCapability::new();
        if declared.elicitation_form {
            elicitation = elicitation.with_form(FormElicitationCapability::default());
        }
        if declared.elicitation_url {
            elicitation = elicitation.with_url(UrlElicitationCapability::default());
        }
        capabilities.elicitation = Some(elicitation);
    }
    capabilities.sampling = declared.sampling.then(SamplingCapability::default);
    capabilities.roots = declared.roots.then(RootsCapabilities::default);
    if generation == ProtocolGeneration::Modern {
        // Tasks are polled by the pool, so they work for every caller.
        let tasks = (TASKS_EXTENSION_ID.to_owned(), JsonObject::new());
        capabilities.extensions = Some([tasks].into());
    }
    capabilities
}
