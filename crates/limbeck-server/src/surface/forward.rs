//! Forwarding of requests to one exposed server: tool calls, resources, prompts, completions.

use std::sync::Arc;

use limbeck_domain::{ReadMethod, ServerName, text};
use limbeck_upstream::{CallContext, ResourceWatch};
use rmcp::ErrorData;
use rmcp::model::{
    CallToolResponse, CompleteRequestParams, CompleteResult, GetPromptResponse, JsonObject,
    ReadResourceResponse, Reference, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Value, json};

use super::client_exchanges::{Again, Outcome, ResumeParams};
use super::client_surface::Surface;
use super::exchange::{RequestIdentity, RequestKind};
use super::exposed_tools::ExposedTool;
use super::{direct_results, exposed_lists, upstream_results};
use crate::answer_place;
use limbeck_gateway::Gateway;
use limbeck_gateway::direct::{DirectAnswer, DirectCall, DirectError};

/// Bytes of a resource URI that a client may subscribe to; published ones are below 200 bytes.
const URI_BYTES_MAX: usize = 2 << 10;

/// What a client gets of a call or a read.
type DirectRead = Result<DirectAnswer, DirectError>;

impl Surface {
    /// All tools that a client lists: the built-in ones and those of exposed servers.
    pub(super) async fn all_tools(&self) -> Vec<Tool> {
        exposed_lists::discover_exposed(&self.gateway).await;
        self.exposed_tools().with_built_in(
            self.gateway.time_limits(),
            self.gateway.can_pause(),
            &self.compat,
        )
    }

    /// Calls a tool of an exposed server.
    pub(super) async fn call_listed(
        &self,
        listed: &ExposedTool,
        arguments: JsonObject,
        resume: ResumeParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let subject = self.subject("tools/call", &listed.tool.name, Some(&arguments));
        let call = DirectCall {
            principal: Arc::clone(&self.principal),
            tool: listed.id.clone(),
            arguments: Value::Object(arguments).to_string(),
        };
        let gateway = self.gateway.clone();
        let forwarded = self
            .exchange(
                RequestKind::Server,
                &subject,
                resume,
                context,
                direct_results::bytes,
                |calling| Box::pin(async move { gateway.call_directly(call, calling).await }),
                Some(self.again()),
            )
            .await?;
        match forwarded {
            Outcome::InputRequired(result) => Ok(result.into()),
            Outcome::Task(id) => self.created_task(&id).await,
            Outcome::Done(called) => {
                let paused = direct_results::paused(&called);
                let result = direct_results::result(called, Some(&listed.id))?;
                self.task_or(paused, context, result).await
            }
        }
    }

    pub(super) async fn read(
        &self,
        uri: &str,
        resume: ResumeParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let about = json!({ "uri": uri });
        let Some(server) = exposed_lists::server_of(&self.gateway, uri).await else {
            return Err(ErrorData::resource_not_found(
                "no server has this resource",
                Some(about),
            ));
        };
        let subject = self.subject("resources/read", uri, None);
        let params = about.to_string();
        let read = ReadMethod::ReadResource;
        match self
            .ask(server, read, params, &subject, resume, context)
            .await?
        {
            Outcome::InputRequired(result) => Ok(result.into()),
            Outcome::Task(_) => Err(no_task()),
            Outcome::Done(read) => {
                let raw = direct_results::read(read, Some(about))?;
                upstream_results::resource(&raw).map(Into::into)
            }
        }
    }

    pub(super) async fn prompt(
        &self,
        name: &str,
        arguments: Option<JsonObject>,
        resume: ResumeParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let (server, own) = self.prompt_of(name).await?;
        let subject = self.subject("prompts/get", name, arguments.as_ref());
        let mut params = json!({ "name": own });
        if let Some(arguments) = arguments {
            params["arguments"] = arguments.into();
        }
        let (get, params) = (ReadMethod::GetPrompt, params.to_string());
        match self
            .ask(server, get, params, &subject, resume, context)
            .await?
        {
            Outcome::InputRequired(result) => Ok(result.into()),
            Outcome::Task(_) => Err(no_task()),
            Outcome::Done(read) => {
                let raw = direct_results::read(read, None)?;
                upstream_results::result::<rmcp::model::GetPromptResult>(&raw).map(Into::into)
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
                let server = exposed_lists::server_of(&self.gateway, &resource.uri).await;
                let reference = json!({"type": "ref/resource", "uri": resource.uri});
                (server.ok_or_else(unknown)?, reference)
            }
            _ => {
                return Err(ErrorData::invalid_params(
                    "unknown kind of reference; use `ref/prompt` or `ref/resource`",
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
            .map_err(|failure| upstream_results::read_failed(failure, None))?;
        let bytes = raw.get().len();
        answer_place::take(context, bytes, bytes).await?;
        upstream_results::result(&raw)
    }

    async fn prompt_of(&self, name: &str) -> Result<(ServerName, String), ErrorData> {
        let prompts = exposed_lists::prompts(&self.gateway).await;
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
        subject: &RequestIdentity<'_>,
        resume: ResumeParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<Outcome<DirectRead>, ErrorData> {
        let gateway = self.gateway.clone();
        self.exchange(
            RequestKind::Server,
            subject,
            resume,
            context,
            direct_results::bytes,
            |calling| {
                Box::pin(async move {
                    gateway
                        .read_for_client(&server, method, params, calling)
                        .await
                })
            },
            Some(self.again()),
        )
        .await
    }

    /// Goes on with a call or read of this client that waits for a person.
    fn again(&self) -> Again<DirectRead> {
        let (gateway, principal) = (self.gateway.clone(), self.principal.clone());
        Box::new(move |id, calling| {
            Box::pin(async move { gateway.resume_directly(&id, &principal, calling).await })
        })
    }
}

/// The protocol has tasks for calls of tools alone.
fn no_task() -> ErrorData {
    ErrorData::internal_error("a read cannot become a task", None)
}

/// Subscribes to changes of a resource at its server.
///
/// # Errors
///
/// When no server has the resource, or its server cannot be reached.
pub(super) async fn watch(gateway: &Gateway, uri: &str) -> Result<ResourceWatch, ErrorData> {
    let about = || Some(json!({ "uri": text::cut(uri, URI_BYTES_MAX) }));
    let server = match uri.len() {
        0..=URI_BYTES_MAX => exposed_lists::server_of(gateway, uri).await,
        _ => None,
    };
    let unknown = || ErrorData::resource_not_found("no server has this resource", about());
    let server = server.ok_or_else(unknown)?;
    let watched = gateway.watch_directly(&server, uri).await;
    watched.map_err(|failure| upstream_results::read_failed(failure, about()))
}
