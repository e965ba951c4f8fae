//! Calls of `search` and `execute`.

use limbeck_domain::{ErrorKind, Mode, ProgramError};
use limbeck_gateway::{AnswerForm, ExecuteRequest, ModelsRequest, OnAsk, ResumeError, Shown};
use rmcp::ErrorData;
use rmcp::model::{CallToolResponse, CallToolResult, JsonObject};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::arguments::{ArgumentError, ExecuteArguments, SearchArguments};
use super::built_in_results::{failed, paused, program_result, result_bytes, text, with_hint};
use super::built_in_tools::BuiltInTool;
use super::client_exchanges::{Again, Outcome, ResumeParams};
use super::client_surface::Surface;
use super::exchange::RequestKind;

impl Surface {
    pub(super) async fn search(&self, arguments: JsonObject) -> CallToolResult {
        let asked = Value::Object(arguments.clone()).to_string();
        let request = match SearchArguments::read(arguments) {
            Ok(request) => request,
            Err(error) => return failed(error.to_string()),
        };
        self.gateway.connect_named(&request);
        match self.gateway.search(&request).await {
            Ok(report) => {
                let answer = match self.gateway.compute(move || report.text()).await {
                    Ok(answer) => answer,
                    Err(error) => return failed(error.to_string()),
                };
                self.gateway.note_search(&self.principal, &asked, &answer);
                text(answer, false)
            }
            Err(error) => failed(with_hint(&error.message, error.hint.as_deref())),
        }
    }

    pub(super) async fn execute(
        &self,
        arguments: JsonObject,
        resume: ResumeParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let subject = self.subject("tools/call", BuiltInTool::Execute.name(), Some(&arguments));
        let arguments = match ExecuteArguments::read(arguments) {
            Ok(arguments) => arguments,
            Err(ArgumentError { message, hint }) => {
                let error = ProgramError::new(ErrorKind::Request, message).with_hint(hint);
                self.note_refusal(BuiltInTool::Execute.name(), ErrorKind::Request.as_str());
                return Ok(program_result(self.gateway.not_run(error)).into());
            }
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
            on_ask: OnAsk::Wait,
            models: ModelsRequest::default(),
        };
        if arguments.mode != Mode::Run {
            return Ok(self
                .examine(request, arguments.mode, &context.ct)
                .await
                .into());
        }
        let gateway = self.gateway.clone();
        let again = self.executing_again(request.answer);
        let forwarded = self
            .exchange(
                RequestKind::Program,
                &subject,
                resume,
                context,
                result_bytes,
                |calling| Box::pin(async move { gateway.answer(request, calling).await }),
                Some(again),
            )
            .await?;
        match forwarded {
            Outcome::InputRequired(result) => Ok(result.into()),
            Outcome::Task(id) => self.created_task(&id).await,
            Outcome::Done(shown) => {
                let paused = paused(&shown);
                self.task_or(paused, context, program_result(shown)).await
            }
        }
    }

    /// Goes on with a program whose client sent its request again after a restart.
    fn executing_again(&self, form: AnswerForm) -> Again<Shown> {
        let (gateway, principal) = (self.gateway.clone(), self.principal.clone());
        Box::new(move |id, calling| {
            Box::pin(async move {
                let resumed = gateway
                    .resume(id.as_str(), Some(&principal), form, OnAsk::Wait, calling)
                    .await;
                match resumed {
                    Ok(shown) => shown,
                    Err(ResumeError::Ended(shown)) => *shown,
                    Err(error) => {
                        let failed = ProgramError::new(ErrorKind::Gateway, error.to_string());
                        gateway.not_run(match error.hint() {
                            Some(hint) => failed.with_hint(hint),
                            None => failed,
                        })
                    }
                }
            })
        })
    }

    async fn examine(
        &self,
        request: ExecuteRequest,
        mode: Mode,
        cancel: &CancellationToken,
    ) -> CallToolResult {
        match self.gateway.examine(request, mode, cancel).await {
            Ok(examination) => match serde_json::to_string(&examination) {
                Ok(json) => text(json, false),
                Err(error) => failed(format!("the findings could not be serialized: {error}")),
            },
            Err(error) => program_result(self.gateway.not_run(error)),
        }
    }
}
