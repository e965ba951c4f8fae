//! Requests that one exposed server answers: calls of its tools, its resources, its prompts.

use std::sync::Arc;

use limbeck_domain::{ReadMethod, ServerName, text};
use limbeck_upstream::{CallContext, Watch};
use rmcp::ErrorData;
use rmcp::model::{
    CallToolResponse, CompleteRequestParams, CompleteResult, GetPromptResponse,
    InputRequiredResult, InputResponses, JsonObject, ReadResourceResponse, Reference, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Value, json};

use super::exchange::{Exchange, Kind, Outcome, Subject, Turn, answers, is_modern};
use super::logging::Level;
use super::{Surface, convert, lists};
use crate::Gateway;
use crate::direct::{DirectCall, Failure};
use crate::exposure::Listed;

/// Address of a resource that may be watched; those in the wild are below 200 bytes.
const URI_BYTES_MAX: usize = 2 << 10;

/// What a client sends when it comes back with answers.
pub(super) struct Retry {
    pub(super) responses: Option<InputResponses>,
    pub(super) state: Option<String>,
}

/// How a request ended for now.
pub(super) enum Forwarded {
    Done(Outcome),
    InputRequired(InputRequiredResult),
}

impl Surface {
    /// Our own tools and those that are listed as they are.
    pub(super) async fn all_tools(&self) -> Vec<Tool> {
        lists::know_exposed(&self.gateway).await;
        super::listed_tools(&self.gateway.exposed())
    }

    /// Calls a tool that is listed as it is.
    pub(super) async fn call_listed(
        &self,
        listed: &Listed,
        arguments: JsonObject,
        retry: Retry,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let call = DirectCall {
            principal: Arc::clone(&self.principal),
            tool: listed.id.clone(),
            arguments: Value::Object(arguments).to_string(),
        };
        let subject = self.subject("tools/call", &listed.tool.name);
        let gateway = self.gateway.clone();
        let forwarded = self
            .exchange(Kind::Server, &subject, retry, context, |calling| {
                Box::pin(async move { Outcome::Raw(gateway.call_directly(call, calling).await) })
            })
            .await?;
        match forwarded {
            Forwarded::InputRequired(result) => Ok(result.into()),
            Forwarded::Done(outcome) => match raw(outcome)? {
                Ok(raw) => Ok(convert::tool_result(&raw).into()),
                Err(failure) => convert::call_failed(failure, &listed.id).map(Into::into),
            },
        }
    }

    pub(super) async fn read(
        &self,
        uri: &str,
        retry: Retry,
        context: &RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let about = json!({ "uri": uri });
        let Some(server) = lists::server_of(&self.gateway, uri).await else {
            return Err(ErrorData::resource_not_found(
                "no server has this resource",
                Some(about),
            ));
        };
        let subject = self.subject("resources/read", uri);
        let params = about.to_string();
        let read = ReadMethod::ReadResource;
        match self
            .ask(server, read, params, &subject, retry, context)
            .await?
        {
            Forwarded::InputRequired(result) => Ok(result.into()),
            Forwarded::Done(outcome) => {
                let raw = raw(outcome)?;
                let raw = raw.map_err(|failure| convert::read_failed(failure, Some(about)))?;
                convert::result::<rmcp::model::ReadResourceResult>(&raw).map(Into::into)
            }
        }
    }

    pub(super) async fn prompt(
        &self,
        name: &str,
        arguments: Option<JsonObject>,
        retry: Retry,
        context: &RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let (server, own) = self.prompt_of(name).await?;
        let mut params = json!({ "name": own });
        if let Some(arguments) = arguments {
            params["arguments"] = arguments.into();
        }
        let subject = self.subject("prompts/get", name);
        let (get, params) = (ReadMethod::GetPrompt, params.to_string());
        match self
            .ask(server, get, params, &subject, retry, context)
            .await?
        {
            Forwarded::InputRequired(result) => Ok(result.into()),
            Forwarded::Done(outcome) => {
                let raw = raw(outcome)?.map_err(|failure| convert::read_failed(failure, None))?;
                convert::result::<rmcp::model::GetPromptResult>(&raw).map(Into::into)
            }
        }
    }

    pub(super) async fn completion(
        &self,
        request: &CompleteRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let (server, reference) = match &request.r#ref {
            Reference::Prompt(prompt) => {
                let (server, own) = self.prompt_of(&prompt.name).await?;
                (server, json!({"type": "ref/prompt", "name": own}))
            }
            Reference::Resource(resource) => {
                let unknown = || ErrorData::invalid_params("no server has this resource", None);
                let server = lists::server_of(&self.gateway, &resource.uri).await;
                let reference = json!({"type": "ref/resource", "uri": resource.uri});
                (server.ok_or_else(unknown)?, reference)
            }
            _ => {
                return Err(ErrorData::invalid_params(
                    "a reference of this kind is unknown",
                    None,
                ));
            }
        };
        let mut params = json!({"ref": reference, "argument": request.argument});
        if let Some(context) = &request.context {
            params["context"] = json!(context);
        }
        let calling = CallContext::new(context.ct.clone());
        let raw = self
            .gateway
            .read_directly(&server, ReadMethod::Complete, params.to_string(), calling)
            .await
            .map_err(|failure| convert::read_failed(failure, None))?;
        convert::result(&raw)
    }

    async fn prompt_of(&self, name: &str) -> Result<(ServerName, String), ErrorData> {
        let prompts = lists::prompts(&self.gateway).await;
        let found = prompts
            .into_iter()
            .find(|listed| listed.prompt.name == name);
        found
            .map(|listed| (listed.server, listed.name))
            .ok_or_else(|| {
                let name = text::clean_line(name, 128);
                ErrorData::invalid_params(format!("unknown prompt `{name}`"), None)
            })
    }

    async fn ask(
        &self,
        server: ServerName,
        method: ReadMethod,
        params: String,
        subject: &Subject<'_>,
        retry: Retry,
        context: &RequestContext<RoleServer>,
    ) -> Result<Forwarded, ErrorData> {
        let gateway = self.gateway.clone();
        self.exchange(Kind::Server, subject, retry, context, |calling| {
            Box::pin(async move {
                Outcome::Raw(
                    gateway
                        .read_directly(&server, method, params, calling)
                        .await,
                )
            })
        })
        .await
    }

    pub(super) fn subject<'a>(&'a self, method: &'static str, name: &'a str) -> Subject<'a> {
        Subject {
            principal: &self.principal,
            method,
            name,
        }
    }

    /// Begins `work`, or goes on with what the client comes back for, and reports to the client meanwhile.
    pub(super) async fn exchange(
        &self,
        kind: Kind,
        subject: &Subject<'_>,
        retry: Retry,
        context: &RequestContext<RoleServer>,
        work: impl FnOnce(CallContext) -> futures::future::BoxFuture<'static, Outcome>,
    ) -> Result<Forwarded, ErrorData> {
        let exchanges = &self.gateway.shared.exchanges;
        let level = self.log_level(context);
        let mut responses = retry.responses.unwrap_or_default();
        let mut exchange = match &retry.state {
            Some(state) => {
                let mut exchange = exchanges.take(subject, state)?;
                exchange.answer(&mut responses);
                exchange
            }
            None => {
                let declared = context.client_capabilities().unwrap_or_default();
                Exchange::begin(kind, answers(&declared), level, work)
            }
        };
        match exchange.go_on(&mut responses, context, level).await? {
            Turn::Done(outcome) => Ok(Forwarded::Done(outcome)),
            Turn::Waiting => exchanges
                .put_aside(subject, exchange)
                .map(Forwarded::InputRequired),
        }
    }

    /// Messages the client wants: a modern one says so with each request, a legacy one once and for all.
    fn log_level(&self, context: &RequestContext<RoleServer>) -> Option<Level> {
        if is_modern(context) {
            return context.meta.log_level().map(Level::from);
        }
        Some(self.session.level())
    }
}

fn raw(outcome: Outcome) -> Result<Result<Box<serde_json::value::RawValue>, Failure>, ErrorData> {
    match outcome {
        Outcome::Raw(result) => Ok(result),
        Outcome::Program(_) => Err(ErrorData::internal_error("a program answered a call", None)),
    }
}

/// Has the server of a resource tell of its changes.
///
/// # Errors
///
/// When no server has it, or its server cannot be reached.
pub(super) async fn watch(gateway: &Gateway, uri: &str) -> Result<Watch, ErrorData> {
    let about = || Some(json!({ "uri": text::cut(uri, URI_BYTES_MAX) }));
    let server = match uri.len() {
        0..=URI_BYTES_MAX => lists::server_of(gateway, uri).await,
        _ => None,
    };
    let unknown = || ErrorData::resource_not_found("no server has this resource", about());
    let server = server.ok_or_else(unknown)?;
    let watched = gateway.watch_directly(&server, uri).await;
    watched.map_err(|failure| convert::read_failed(failure, about()))
}
