//! Calls of `search` and `execute`.

use limbeck_domain::{ErrorKind, Mode, ProgramError};
use limbeck_gateway::{ExecuteRequest, OnAsk};
use rmcp::ErrorData;
use rmcp::model::{CallToolResponse, CallToolResult, JsonObject};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::arguments::{ArgumentError, ExecuteArguments, SearchArguments};
use super::built_in_results::{failed, program_result, result_bytes, text, with_hint};
use super::built_in_tools::BuiltInTool;
use super::client_surface::Surface;
use super::exchange::RequestKind;
use super::forward::{Outcome, ResumeParams};

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
        let arguments = match ExecuteArguments::read(arguments) {
            Ok(arguments) => arguments,
            Err(ArgumentError { message, hint }) => {
                let error = ProgramError::new(ErrorKind::Request, message).with_hint(hint);
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
        };
        if arguments.mode != Mode::Run {
            return Ok(self
                .examine(request, arguments.mode, &context.ct)
                .await
                .into());
        }
        let subject = self.subject("tools/call", BuiltInTool::Execute.name());
        let gateway = self.gateway.clone();
        let forwarded = self
            .exchange(
                RequestKind::Program,
                &subject,
                resume,
                context,
                result_bytes,
                |calling| Box::pin(async move { gateway.answer(request, calling).await }),
            )
            .await?;
        Ok(match forwarded {
            Outcome::InputRequired(result) => result.into(),
            Outcome::Done(shown) => program_result(shown).into(),
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
