//! What can be said of a program without running it: its calls judged, and the plan of them.
//!
//! A worker parses the program and asks, as it does before every run; it is not answered and has done its
//! work. Nothing is recorded: there is no execution.

use std::time::Duration;

use limbeck_catalog::{Finding, FindingKind, Findings, Plan};
use limbeck_domain::{ErrorKind, HostOp, Language, Mode, ProgramError, ProgramStart, Sites};
use limbeck_launcher::{Worker, WorkerError};
use limbeck_wire::{FromWorker, ToWorker};
use serde::Serialize;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use super::{ExecuteRequest, busy, check, no_worker, words};
use crate::Gateway;
use crate::broker::Judge;

/// What a program would meet, and what it may call.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Examination {
    /// Whether it may run: there are no errors.
    pub ok: bool,
    /// What is wrong with it.
    #[serde(flatten)]
    pub findings: Findings,
    /// What it may call, when that was asked for and the program can be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<Plan>,
}

/// How far a worker came.
enum Read {
    /// The calls that stand in the program.
    Sites(Sites),
    /// It cannot be read.
    Refused(ProgramError),
}

impl Gateway {
    /// Judges the calls of a program and, with [`Mode::Plan`], tells what it may call. Nothing of it runs.
    ///
    /// A program that cannot be parsed is a finding. `input` and `origin` of the request do not matter.
    ///
    /// # Errors
    ///
    /// [`ProgramError`], when the request is wrong, was cancelled, or no worker reads the program in time.
    pub async fn examine(
        &self,
        request: ExecuteRequest,
        mode: Mode,
        cancel: &CancellationToken,
    ) -> Result<Examination, ProgramError> {
        check(&request)?;
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(words::cancelled()),
            examined = self.examined(&request, mode) => examined,
        }
    }

    async fn examined(
        &self,
        request: &ExecuteRequest,
        mode: Mode,
    ) -> Result<Examination, ProgramError> {
        let admission = &self.shared.admission;
        let _place = admission.enter(&request.principal).await.map_err(busy)?;
        let workers = &self.shared.workers;
        let worker = workers.take(request.language).await;
        let worker = worker.map_err(|error| no_worker(&error))?;
        let (limits, _) = self.limits_of(request);
        let mut start = self.program_start(request, limits)?;
        start.mode = mode;
        let sites = match read(worker, start).await? {
            Read::Sites(sites) => sites,
            Read::Refused(error) => return Ok(unreadable(error)),
        };
        let judge = Judge {
            shared: &self.shared,
            scope: &request.scope,
            language: request.language,
            mode,
        };
        let findings = judge.findings(&sites).await;
        Ok(Examination {
            ok: findings.errors.is_empty(),
            findings,
            plan: (mode == Mode::Plan).then(|| judge.plan(&sites)),
        })
    }
}

/// Has a worker parse the program. The worker is killed.
async fn read(mut worker: Worker, start: ProgramStart) -> Result<Read, ProgramError> {
    let (limits, language) = (start.limits, start.language);
    let deadline = Instant::now() + Duration::from_millis(limits.wall_ms);
    let conversation = async {
        worker
            .send(&ToWorker::Start(Box::new(start)), &limits)
            .await?;
        worker.receive().await
    };
    let frame = match timeout_at(deadline, conversation).await {
        Ok(Ok(frame)) => frame,
        Ok(Err(error)) => return Err(words::lost(&error)),
        Err(_) => return Err(words::out_of_time(limits.wall_ms, None)),
    };
    tokio::spawn(worker.kill());
    match frame {
        FromWorker::Call(call) if call.op == HostOp::Check => match Sites::parse(&call.body) {
            Ok(sites) => Ok(Read::Sites(sites)),
            Err(error) => Err(ProgramError::new(ErrorKind::WorkerLost, error.to_string())),
        },
        FromWorker::Done(done) => match done.result.map_err(ProgramError::from) {
            Err(error) if error.kind == ErrorKind::Syntax => Ok(Read::Refused(error)),
            Err(error) => Err(error),
            // The worker could not tell what it calls, and the guest accepts it.
            Ok(_) if language == Language::Python => Ok(Read::Sites(Sites::default())),
            Ok(_) => Err(words::lost(&WorkerError::Gone)),
        },
        // Nothing of the program runs, so it asks and prints nothing.
        FromWorker::Call(_) | FromWorker::Log(_) | FromWorker::Idle(_) | FromWorker::Ready(_) => {
            Err(words::lost(&WorkerError::Gone))
        }
    }
}

fn unreadable(error: ProgramError) -> Examination {
    let finding = Finding {
        line: error.line.unwrap_or(1),
        column: error.column.unwrap_or(1),
        kind: FindingKind::Syntax,
        message: error.message,
        hint: error.hint,
        edit: None,
    };
    Examination {
        findings: Findings {
            errors: vec![finding],
            ..Findings::default()
        },
        ..Examination::default()
    }
}
