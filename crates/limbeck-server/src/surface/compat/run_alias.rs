//! Calls of the earlier systems' tools.

use limbeck_gateway::{AnswerForm, ExecuteRequest, OnAsk};
use limbeck_upstream::CallContext;
use rmcp::ErrorData;
use rmcp::model::{CallToolResponse, CallToolResult, JsonObject};
use rmcp::service::{RequestContext, RoleServer};
use tokio::time::Instant;

use super::alias::{Alias, AliasKind, ArgumentMeaning};
use super::alias_arguments::{AliasProgram, ArgumentMistake, checked, in_words_of};
use super::execution_log::LoggedCall;
use super::finished_run::FinishedRun;
use super::options::Predecessor;
use super::{execution_log, s0_results, s1_results, s2_results};
use crate::surface::client_exchanges::{Outcome, ResumeParams};
use crate::surface::client_surface::Surface;
use crate::surface::exchange::RequestKind;

/// Tokens of an answer of which 25,000 characters are shown, so that nothing is cut twice.
const S0_TOKENS: u64 = 60_000;

impl Surface {
    /// Calls a tool of an earlier system.
    pub(in crate::surface) async fn call_alias(
        &self,
        alias: &'static Alias,
        arguments: JsonObject,
        resume: ResumeParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if alias.kind() != AliasKind::Run
            && let Err(mistake) = checked(alias, &arguments)
        {
            return Ok(self.refused(alias, &mistake).into());
        }
        let result = match alias.kind() {
            AliasKind::Run => return self.run_alias(alias, arguments, resume, context).await,
            AliasKind::Health => self.health(),
            AliasKind::SearchTools => self.search_tools(&arguments).await,
            AliasKind::ToolSignature => self.tool_signature(&arguments).await,
            AliasKind::ListServers => self.list_servers().await,
        };
        Ok(result.into())
    }

    async fn run_alias(
        &self,
        alias: &'static Alias,
        arguments: JsonObject,
        resume: ResumeParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let subject = self.subject("tools/call", alias.name(), Some(&arguments));
        let redaction = self.gateway.redaction();
        let log = self.compat.execution_log.as_ref();
        let log = log.filter(|_| alias.system == Predecessor::S0);
        let logged = log.map(|log| (log, LoggedCall::of(&arguments, alias.language())));
        let has_time = [ArgumentMeaning::TimeoutMs, ArgumentMeaning::TimeoutS]
            .into_iter()
            .filter_map(|meaning| arguments.get(alias.argument(meaning)?))
            .any(|time| !time.is_null());
        let read = AliasProgram::read(alias, arguments, &self.gateway.catalog());
        let read = read.and_then(|mut program| {
            let settings = &self.compat.settings;
            settings.apply(alias.system, &mut program, has_time)?;
            self.within_rate(alias)?;
            Ok(program)
        });
        let program = match read {
            Ok(program) => program,
            Err(mistake) => {
                if let Some((log, call)) = &logged {
                    log.append(call, execution_log::refused(&mistake.message()), redaction)
                        .await;
                }
                return Ok(self.refused(alias, &mistake).into());
            }
        };
        let AliasProgram {
            code,
            language,
            timeout_ms,
            scope,
            servers,
            models,
        } = program;
        let request = ExecuteRequest {
            language,
            program: code,
            input: "null".to_owned(),
            timeout_ms: Some(timeout_ms),
            scope,
            principal: self.principal.to_string(),
            origin: "mcp".to_owned(),
            answer: AnswerForm {
                tokens_max: (alias.system == Predecessor::S0).then_some(S0_TOKENS),
                ..AnswerForm::default()
            },
            on_ask: OnAsk::Wait,
            models,
        };
        let surface = self.clone();
        let forwarded = self
            .exchange(
                RequestKind::Program,
                &subject,
                resume,
                context,
                FinishedRun::bytes,
                |calling| Box::pin(async move { surface.finished(request, calling).await }),
                // Clients of these systems know no state that outlives a gateway.
                None,
            )
            .await?;
        let run = match forwarded {
            Outcome::InputRequired(result) => return Ok(result.into()),
            Outcome::Task(id) => return self.created_task(&id).await,
            Outcome::Done(run) => run.with_hint(|hint| in_words_of(alias, hint)),
        };
        if let Some((log, call)) = &logged {
            log.append(call, execution_log::ended(&run), redaction)
                .await;
        }
        let result = match alias.system {
            Predecessor::S0 => s0_results::result(&run, language),
            Predecessor::S1 => s1_results::result(&run),
            Predecessor::S2 => s2_results::result(&run, &servers, self.compat.payload),
        };
        Ok(result.into())
    }

    /// Runs a program and measures the time from the request to its end.
    async fn finished(&self, request: ExecuteRequest, calling: CallContext) -> FinishedRun {
        let begun = Instant::now();
        let timeout_ms = request.timeout_ms.unwrap_or_default();
        let shown = self.gateway.answer(request, calling).await;
        let took = begun.elapsed();
        FinishedRun {
            envelope: shown.envelope,
            took_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            timeout_ms,
            calls: shown.tool_calls,
            models: shown.model_calls,
        }
    }

    /// Counts an execution of S0's tools against the rate that its settings have.
    fn within_rate(&self, alias: &Alias) -> Result<(), ArgumentMistake> {
        let Some(rate) = self.compat.settings.rate else {
            return Ok(());
        };
        if alias.system != Predecessor::S0 {
            return Ok(());
        }
        self.rates.take(rate, &self.principal).map_err(|seconds| {
            let (requests, window) = (rate.requests_max, rate.window_ms.div_ceil(1_000));
            ArgumentMistake::TooMany(format!(
                "Rate limit exceeded: at most {requests} requests per {window}s; try again in {seconds}s"
            ))
        })
    }

    fn refused(&self, alias: &Alias, mistake: &ArgumentMistake) -> CallToolResult {
        match alias.system {
            Predecessor::S0 => s0_results::refused(mistake, alias.name()),
            Predecessor::S1 => s1_results::refused(mistake, alias.name()),
            Predecessor::S2 => s2_results::refused(mistake, self.compat.payload),
        }
    }
}
