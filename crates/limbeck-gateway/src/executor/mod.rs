//! Runs programs: one task, one state machine and one worker for each.

mod budget;
mod calls;
mod drive;
mod examine;
mod output;
mod replay;
mod rounds;
mod signals;
mod under_way;
mod words;

use std::sync::Arc;

use limbeck_domain::limits::{
    INPUT_BYTES_MAX, OUTPUT_TOKENS_DEFAULT, OUTPUT_TOKENS_MAX, OUTPUT_TOKENS_MIN,
    PROGRAM_BYTES_MAX, WALL_MS_MAX,
};
use limbeck_domain::{
    Envelope, ErrorKind, ExecutionId, ExecutionLimits, ExecutionStatus, Language, Mode,
    ProgramError, ProgramStart,
};
use limbeck_launcher::WorkerError;
use limbeck_policy::Scope;
use limbeck_store::{ExecutionSummary, NewExecution};
use limbeck_upstream::CallContext;
use serde_json::value::RawValue;

pub use calls::{InnerCall, inner_calls};
pub use examine::Examination;
pub use replay::{ReplayError, ReplayReport};

use crate::admission::Busy;
use crate::artifacts::{Draft, binary};
use crate::broker::{Broker, Journal};
use crate::clock::now_us;
use crate::ledger::Noted;
use crate::render::Render;
use crate::{Gateway, listing, sandbox};
use drive::{Drive, Ended};

/// A program and what it may use.
#[derive(Clone, Debug)]
pub struct ExecuteRequest {
    /// Language of `program`.
    pub language: Language,
    /// Source, as the model sent it.
    pub program: String,
    /// `input` of the program, JSON text.
    pub input: String,
    /// Wall clock in milliseconds; the configured default when absent, cut to [`WALL_MS_MAX`].
    pub timeout_ms: Option<u64>,
    /// Tools the program may call.
    pub scope: Scope,
    /// Who asks.
    pub principal: String,
    /// Where the request came from, for listings: a client's name or `run`.
    pub origin: String,
    /// How the answer is written.
    pub answer: AnswerForm,
}

/// How an answer is written, and how much of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct AnswerForm {
    /// Tokens (o200k_base) of it; [`OUTPUT_TOKENS_DEFAULT`] when absent, cut to [`OUTPUT_TOKENS_MIN`] and
    /// [`OUTPUT_TOKENS_MAX`].
    pub tokens_max: Option<u64>,
    /// Its notation, in which it is counted.
    pub render: Render,
}

impl Gateway {
    /// Runs a program to its end and gives what comes back, within the tokens asked for: a part that is
    /// over its share is kept as an artifact.
    ///
    /// Everything that goes wrong is in the envelope. `context.cancel` ends the run and the calls it has
    /// under way; `caller` hears of the calls' progress and is asked what their servers want to know.
    pub async fn execute(
        &self,
        request: ExecuteRequest,
        context: impl Into<CallContext>,
    ) -> Envelope {
        let envelope = self.admit(request, context.into()).await;
        self.shared.counters.execution(&envelope);
        envelope
    }

    async fn admit(&self, request: ExecuteRequest, context: CallContext) -> Envelope {
        let id = mint_id();
        if let Err(error) = check(&request) {
            return refused(id, error);
        }
        let admitted = tokio::select! {
            place = self.shared.admission.enter(&request.principal) => place,
            () = context.cancel.cancelled() => return refused(id, words::cancelled()),
        };
        match admitted {
            Ok(_place) => self.run(id, request, context).await,
            Err(error) => refused(id, busy(error)),
        }
    }

    async fn run(
        &self,
        id: ExecutionId,
        request: ExecuteRequest,
        context: CallContext,
    ) -> Envelope {
        let CallContext { cancel, caller, .. } = context;
        let language = request.language;
        let worker = match self.shared.workers.take(language).await {
            Ok(worker) => worker,
            Err(error) => return refused(id, no_worker(&error)),
        };
        let (limits, warning) = self.limits_of(&request);
        let (budget, over_budget) = budget_of(&request.answer);
        let render = request.answer.render;
        let start = match self.program_start(&request, limits) {
            Ok(start) => start,
            Err(error) => return refused(id, error),
        };
        let started_us = start.now_us;
        let sandbox = worker.sandbox().clone();
        let new = NewExecution {
            id: id.clone(),
            principal: request.principal.clone(),
            start: start.clone(),
            guest_hash: worker.ready().guest_hash.clone(),
            sandbox: sandbox.clone(),
            created_us: start.now_us,
            origin: request.origin.clone(),
        };
        if let Err(error) = self.shared.store.begin(new).await {
            return refused(id, no_journal(&error));
        }
        let journal = Journal::new(self.shared.store.clone(), id.clone());
        let scope = Arc::new(request.scope);
        let principal: Arc<str> = request.principal.into();
        let broker = || {
            let cancel = cancel.child_token();
            Broker {
                shared: Arc::clone(&self.shared),
                scope: Arc::clone(&scope),
                principal: Arc::clone(&principal),
                journal: journal.clone(),
                reads: cancel.child_token(),
                cancel,
                caller: caller.clone(),
                language,
                emissions: Arc::default(),
                backlog: Arc::default(),
            }
        };
        let drive = Drive::new(worker, broker(), start.clone());
        let mut ended = drive.run(&cancel).await;
        for _ in 0..WORKERS_REPLACED_MAX {
            if !ended.unheard {
                break;
            }
            match self.shared.workers.take(language).await {
                Ok(worker) if *worker.sandbox() == sandbox => {
                    let drive = Drive::new(worker, broker(), start.clone());
                    ended = drive.run(&cancel).await;
                }
                Ok(_) | Err(_) => break,
            }
        }
        ended.warnings.extend(warning);
        ended.warnings.extend(over_budget);
        ended.warnings.extend(sandbox::warning(&sandbox));
        let rounds = ended.rounds;
        let envelope = self.close(id, ended, started_us).await;
        let shown = self.fitted(envelope, &principal, budget, render).await;
        self.note(Noted {
            principal: &principal,
            origin: &request.origin,
            start: &start,
            shown: &shown,
            render,
            rounds,
            spent: journal.spent(),
        })
        .await;
        shown
    }

    /// The answer within its budget; what is left out of it is kept.
    async fn fitted(
        &self,
        envelope: Envelope,
        principal: &str,
        budget: usize,
        render: Render,
    ) -> Envelope {
        let envelope = self.without_binaries(envelope, principal).await;
        // Most answers are counted in microseconds; a large one is read several times.
        let is_large = envelope
            .value
            .as_ref()
            .is_some_and(|value| value.get().len() > LARGE_BYTES);
        let fitted = if is_large {
            let unfitted = envelope.clone();
            tokio::task::spawn_blocking(move || budget::fit(envelope, budget, render))
                .await
                .unwrap_or_else(|_| budget::nothing_shown(unfitted))
        } else {
            budget::fit(envelope, budget, render)
        };
        let budget::Fitted { mut envelope, kept } = fitted;
        for kept in kept {
            let draft = Draft {
                id: kept.id.clone(),
                media_type: kept.media_type.to_owned(),
                name: Some(format!("{} of {}", kept.what, envelope.execution_id)),
                content: kept.content,
            };
            if let Err(error) = self.shared.keep(principal, draft).await {
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    "an artifact could not be kept"
                );
                budget::not_kept(&mut envelope, &kept.id);
            }
        }
        envelope
    }

    /// The answer with handles where a program returned binary content, as of a raw result.
    async fn without_binaries(&self, mut envelope: Envelope, principal: &str) -> Envelope {
        let value = envelope.value.as_ref().map_or("", |value| value.get());
        let Some((value, drafts)) = binary::without_content(value) else {
            return envelope;
        };
        for draft in drafts {
            if let Err(error) = self.shared.keep(principal, draft).await {
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    "an artifact could not be kept"
                );
                return envelope;
            }
        }
        if let Ok(value) = RawValue::from_string(value) {
            envelope.value = Some(value);
            envelope.warnings.push(
                "binary content of the value was kept as artifacts; `emit(handle)` shows one"
                    .to_owned(),
            );
        }
        envelope
    }

    /// Writes the whole envelope into the journal.
    async fn close(&self, id: ExecutionId, ended: Ended, started_us: u64) -> Envelope {
        let summary = ExecutionSummary {
            calls: ended.calls,
            took_us: now_us().saturating_sub(started_us),
        };
        let mut envelope = output::envelope(id.clone(), ended);
        if let Err(error) = self.shared.store.finish(&id, &envelope, summary).await {
            tracing::error!(execution = %id, error = &error as &dyn std::error::Error, "end of execution could not be written");
            envelope
                .warnings
                .push(format!("the journal could not be written: {error}"));
        }
        envelope
    }

    fn limits_of(&self, request: &ExecuteRequest) -> (ExecutionLimits, Option<String>) {
        let asked = request.timeout_ms.unwrap_or(self.shared.wall_ms);
        let wall_ms = asked.clamp(1, WALL_MS_MAX);
        let warning = (wall_ms != asked)
            .then(|| format!("timeout_ms {asked} is outside 1 to {WALL_MS_MAX}; used {wall_ms}"));
        let limits = ExecutionLimits {
            wall_ms,
            cpu_ms: self.shared.cpu_ms,
            ..ExecutionLimits::default()
        };
        (limits, warning)
    }

    fn program_start(
        &self,
        request: &ExecuteRequest,
        limits: ExecutionLimits,
    ) -> Result<ProgramStart, ProgramError> {
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(|error| {
            ProgramError::new(
                ErrorKind::Gateway,
                format!("the system gave no random seed: {error}"),
            )
            .with_hint("check that /dev/urandom is readable, then run the program again")
        })?;
        Ok(ProgramStart {
            language: request.language,
            program: request.program.clone(),
            input: request.input.clone(),
            servers: listing::server_names_json(&self.shared).to_string(),
            seed,
            now_us: now_us(),
            limits,
            mode: Mode::Run,
        })
    }
}

/// A value above this is fitted on a thread of its own.
const LARGE_BYTES: usize = 256 << 10;

/// Tokens of the answer, and a warning when they are not those asked for.
fn budget_of(answer: &AnswerForm) -> (usize, Option<String>) {
    let Some(asked) = answer.tokens_max else {
        return (OUTPUT_TOKENS_DEFAULT, None);
    };
    let budget = usize::try_from(asked).unwrap_or(usize::MAX);
    let budget = budget.clamp(OUTPUT_TOKENS_MIN, OUTPUT_TOKENS_MAX);
    let warning = (budget as u64 != asked).then(|| {
        format!(
            "max_output_tokens {asked} is outside {OUTPUT_TOKENS_MIN} to {OUTPUT_TOKENS_MAX}; used {budget}"
        )
    });
    (budget, warning)
}

/// How often a program is given to another worker because the last was killed before it said anything:
/// whatever kills one that waits may have killed all that wait.
const WORKERS_REPLACED_MAX: usize = 4;

/// An id that sorts by time: `ex_` and a version 7 UUID without its hyphens.
fn mint_id() -> ExecutionId {
    ExecutionId::new(format!("ex_{}", uuid::Uuid::now_v7().simple()))
}

fn check(request: &ExecuteRequest) -> Result<(), ProgramError> {
    let wrong = |message: String| ProgramError::new(ErrorKind::Request, message);
    if request.program.trim().is_empty() {
        return Err(wrong("the program is empty".to_owned())
            .with_hint("send a program in `code`, for example `return 1 + 1`"));
    }
    if request.program.len() > PROGRAM_BYTES_MAX {
        return Err(wrong(format!(
            "program of {} bytes, at most {PROGRAM_BYTES_MAX} are allowed",
            request.program.len()
        ))
        .with_hint("pass data in `input` instead of writing it into the program"));
    }
    if request.input.len() > INPUT_BYTES_MAX {
        return Err(wrong(format!(
            "input of {} bytes, at most {INPUT_BYTES_MAX} are allowed",
            request.input.len()
        )));
    }
    Ok(())
}

/// The envelope of a program that never started; the journal knows nothing of it.
fn refused(id: ExecutionId, error: ProgramError) -> Envelope {
    output::envelope(id, Ended::before_start(error))
}

fn busy(busy: Busy) -> ProgramError {
    ProgramError::new(ErrorKind::Busy, busy.to_string())
        .with_hint("wait until one has ended, then send the program again")
}

fn no_worker(error: &WorkerError) -> ProgramError {
    if let WorkerError::Tier { sandbox, minimum } = error {
        return sandbox::refusal(sandbox, *minimum);
    }
    tracing::error!(error = error as &dyn std::error::Error, "no worker");
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
    ProgramError::new(
        ErrorKind::Gateway,
        format!(
            "no worker could be started: {error}{}",
            cause.unwrap_or_default()
        ),
    )
    .with_hint(
        "check that the `limbeck` executable was not replaced or removed, then restart the gateway",
    )
}

fn no_journal(error: &limbeck_store::StoreError) -> ProgramError {
    tracing::error!(error = error as &dyn std::error::Error, "journal failed");
    ProgramError::new(
        ErrorKind::Gateway,
        format!("the journal could not be written, so nothing ran: {error}"),
    )
    .with_hint("free disk space or choose another `--state-dir`")
}

/// Maps the status from how the run ended.
fn status_of(error: Option<&ProgramError>) -> ExecutionStatus {
    match error.map(|error| error.kind) {
        None => ExecutionStatus::Completed,
        Some(ErrorKind::Cancelled) => ExecutionStatus::Cancelled,
        Some(
            ErrorKind::Syntax
            | ErrorKind::Contract
            | ErrorKind::Exception
            | ErrorKind::Timeout
            | ErrorKind::CpuLimit
            | ErrorKind::MemoryLimit
            | ErrorKind::StackLimit
            | ErrorKind::OutputLimit
            | ErrorKind::CallLimit
            | ErrorKind::NeverSettles
            | ErrorKind::Busy
            | ErrorKind::Request
            | ErrorKind::WorkerLost
            | ErrorKind::Gateway,
        ) => ExecutionStatus::Failed,
    }
}
