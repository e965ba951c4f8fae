//! What `rmcp` asks when the server asks us.
//!
//! A transport that sees raw text hands notifications to the [`Listener`] itself, in their order, and puts
//! the text of a request into [`RawParams`]; from one that does not, both come typed and are made into
//! text again.

use std::sync::Arc;

use rmcp::RoleClient;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ClientResult, CustomResult, ElicitationCapability, ErrorData,
    FormElicitationCapability, Implementation, JsonObject, NumberOrString, ProtocolVersion,
    RootsCapabilities, SamplingCapability, ServerNotification, ServerRequest, TASKS_EXTENSION_ID,
    UrlElicitationCapability,
};
use rmcp::service::{InboundStreamOrigin, NotificationContext, RequestContext, Service};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::listener::Listener;
use crate::{Answers, Era};

/// `params` of a server's request as it sent them; travels in the request's extensions.
#[derive(Clone)]
pub(crate) struct RawParams(pub(crate) Option<Arc<RawValue>>);

/// Answers a server's requests and takes its notifications.
pub(crate) struct Handler {
    pub(crate) listener: Arc<Listener>,
    pub(crate) era: Era,
}

impl Service<RoleClient> for Handler {
    async fn handle_request(
        &self,
        request: ServerRequest,
        context: RequestContext<RoleClient>,
    ) -> Result<ClientResult, ErrorData> {
        let origin = match context.extensions.get::<InboundStreamOrigin>() {
            Some(InboundStreamOrigin::OutboundRequest(NumberOrString::Number(id))) => Some(*id),
            Some(InboundStreamOrigin::OutboundRequest(NumberOrString::String(_)))
            | Some(InboundStreamOrigin::Unassociated)
            | None => None,
        };
        let raw = context.extensions.get::<RawParams>().cloned();
        let (method, params) = request_parts(&request, raw);
        let taken_back = self.listener.question(context.id.clone());
        let answer = self.listener.asked(&method, params, origin);
        let answer = tokio::select! {
            answer = answer => answer.map(|value| ClientResult::CustomResult(CustomResult(value))),
            () = taken_back.cancelled() => Err(withdrawn()),
            () = context.ct.cancelled() => Err(withdrawn()),
        };
        self.listener.answered(&context.id);
        answer
    }

    async fn handle_notification(
        &self,
        notification: ServerNotification,
        _: NotificationContext<RoleClient>,
    ) -> Result<(), ErrorData> {
        if let Some((method, params)) = notification_parts(&notification) {
            self.listener.notified(&method, params.as_deref());
        }
        Ok(())
    }

    fn get_info(&self) -> ClientConfig {
        client_config(self.listener.declares(), self.era)
    }
}

/// What a server may ignore that asked and then did not want to know.
fn withdrawn() -> ErrorData {
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
        // `rmcp` may learn of requests that we do not know.
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

/// What we say of ourselves in the handshake, or in each request.
fn client_config(declares: Answers, era: Era) -> ClientConfig {
    let mut capabilities = ClientCapabilities::default();
    if declares.elicitation_form || declares.elicitation_url {
        let mut elicitation = ElicitationCapability::new();
        if declares.elicitation_form {
            elicitation = elicitation.with_form(FormElicitationCapability::default());
        }
        if declares.elicitation_url {
            elicitation = elicitation.with_url(UrlElicitationCapability::default());
        }
        capabilities.elicitation = Some(elicitation);
    }
    capabilities.sampling = declares.sampling.then(SamplingCapability::default);
    capabilities.roots = declares.roots.then(RootsCapabilities::default);
    if era == Era::Modern {
        // Tasks are polled by the pool, so every caller can wait for one.
        let tasks = (TASKS_EXTENSION_ID.to_owned(), JsonObject::new());
        capabilities.extensions = Some([tasks].into());
    }
    ClientConfig::new(
        capabilities,
        Implementation::new("limbeck", env!("CARGO_PKG_VERSION")),
    )
    .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
}
