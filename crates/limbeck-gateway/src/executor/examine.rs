//! Check and plan of a program that is not run.
//!
//! A worker parses the program and sends its tool calls in a check frame, as before every run. The gateway does not
//! answer and kills the worker. There is no execution, so nothing is recorded.

use std::sync::Arc;
use std::time::Duration;

use limbeck_catalog::{Finding, FindingKind, Findings, Plan};
use limbeck_domain::{
    DynamicSite, ErrorKind, Language, Mode, ProgramError, ProgramStart, Sites, SitesError,
};
use limbeck_launcher::{Worker, WorkerError};
use limbeck_wire::{FromWorker, ToWorker};
use serde::Serialize;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use super::handle::Executor;
use super::messages;
use super::request::ExecuteRequest;
use crate::broker::ProgramCheck;
use crate::computing::ComputingError;

/// Findings of a check, and the plan when it was asked for.
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

/// What a worker read of a program.
enum Read {
    /// The tool calls written in it, as the worker sent them; `None` where the analysis cannot read it.
    Sites(Option<String>),
    /// It cannot be parsed.
    Refused(ProgramError),
    /// It is written in another language than it was sent as.
    WrittenIn(Language),
}

impl Executor {
    /// Checks the calls of a program and, with [`Mode::Plan`], returns what it may call. The program is not run.
    ///
    /// A program that cannot be parsed is a finding. `input` and `origin` of the request do not matter.
    ///
    /// # Errors
    ///
    /// [`ProgramError`], when the request is wrong, was cancelled, or its time limit has passed before it was read and checked.
    pub(crate) async fn examine(
        &self,
        request: ExecuteRequest,
        mode: Mode,
        cancel: &CancellationToken,
    ) -> Result<Examination, ProgramError> {
        request.check(&self.broker.live_catalog)?;
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(messages::cancelled()),
            examined = self.examined(&request, mode) => examined,
        }
    }

    async fn examined(
        &self,
        request: &ExecuteRequest,
        mode: Mode,
    ) -> Result<Examination, ProgramError> {
        let _place = self
            .admission
            .enter(&request.principal)
            .await
            .map_err(messages::busy)?;
        let mut language = request.language;
        let mut warning = None;
        let mut read = self.read_as(request, language, mode).await?;
        if let Read::WrittenIn(other) = read {
            warning = Some(messages::other_language(language, other, "checked"));
            language = other;
            read = self.read_as(request, language, mode).await?;
        }
        let sites = match read {
            Read::Sites(sites) => sites,
            Read::Refused(error) => return Ok(unreadable(error)),
            Read::WrittenIn(_) => return Ok(unreadable(messages::unreadable(request.language))),
        };
        // It waits for the turns of its principal, and for servers that have to be listed.
        let (limits, _) = request.limits(self.wall_ms, self.wall_ms_max, self.cpu_ms);
        let judged = self.judged(request, sites, language, mode);
        let judged = timeout(Duration::from_millis(limits.wall_ms), judged).await;
        let (mut findings, plan) = judged.map_err(|_| {
            let waiting = "the check of its calls".to_owned();
            messages::out_of_time(limits.wall_ms, Some(waiting))
        })??;
        findings.warnings.extend(warning.map(|message| Finding {
            line: 1,
            column: 1,
            kind: FindingKind::Syntax,
            message,
            hint: None,
            edit: None,
        }));
        Ok(Examination {
            ok: findings.errors.is_empty(),
            findings,
            plan,
        })
    }

    /// Findings about the calls of a program, and what it may call when that was asked for.
    async fn judged(
        &self,
        request: &ExecuteRequest,
        sites: Option<String>,
        language: Language,
        mode: Mode,
    ) -> Result<(Findings, Option<Plan>), ProgramError> {
        let scope = Arc::new(request.scope.clone());
        let check = ProgramCheck {
            live_catalog: &self.broker.live_catalog,
            computing: &self.broker.computing,
            principal: &request.principal,
            scope: &scope,
            language,
            mode,
        };
        let failed =
            |error: ComputingError| ProgramError::new(ErrorKind::Gateway, error.to_string());
        let sites = match sites {
            Some(text) => {
                let parsed = check.parsed(text).await.map_err(failed)?;
                let malformed =
                    |error: SitesError| ProgramError::new(ErrorKind::WorkerLost, error.to_string());
                parsed.map_err(malformed)?
            }
            // The guest accepts what the analysis cannot read: any tool may be called.
            None => Sites {
                dynamic: vec![DynamicSite {
                    line: 1,
                    column: 1,
                    server: None,
                }],
                ..Sites::default()
            },
        };
        let sites = Arc::new(sites);
        let findings = check.findings(&sites).await.map_err(failed)?;
        let plan = match mode {
            Mode::Plan => Some(check.plan(&sites).await.map_err(failed)?),
            Mode::Check | Mode::Run => None,
        };
        Ok((findings, plan))
    }
}

impl Executor {
    async fn read_as(
        &self,
        request: &ExecuteRequest,
        language: Language,
        mode: Mode,
    ) -> Result<Read, ProgramError> {
        let worker = self.workers.take(language).await;
        let worker = worker.map_err(|error| messages::no_worker(&error))?;
        let (limits, _) = request.limits(self.wall_ms, self.wall_ms_max, self.cpu_ms);
        let mut start = request.start(&self.broker.listings, limits, mode)?;
        start.language = language;
        read(worker, start).await
    }
}

/// Has a worker parse the program. The worker is killed.
async fn read(mut worker: Worker, start: ProgramStart) -> Result<Read, ProgramError> {
    let (limits, language) = (start.limits, start.language);
    let deadline = Instant::now() + Duration::from_millis(limits.wall_ms);
    let conversation = async {
        worker
            .send(&ToWorker::Start(Box::new(start.into())), &limits)
            .await?;
        worker.receive().await
    };
    let frame = match timeout_at(deadline, conversation).await {
        Ok(Ok(frame)) => frame,
        Ok(Err(error)) => return Err(messages::lost(&error)),
        Err(_) => return Err(messages::out_of_time(limits.wall_ms, None)),
    };
    tokio::spawn(worker.kill());
    if let FromWorker::Done(done) = &frame
        && let Some(language) = done.written_in
    {
        return Ok(Read::WrittenIn(language));
    }
    match frame {
        FromWorker::Check(check) => Ok(Read::Sites(Some(check.sites))),
        FromWorker::Done(done) => match done.result.map_err(ProgramError::from) {
            Err(error) if error.kind == ErrorKind::Syntax => Ok(Read::Refused(error)),
            Err(error) => Err(error),
            // The analysis cannot read the program, and the guest's compiler accepts it.
            Ok(_) if language == Language::Python => Ok(Read::Sites(None)),
            Ok(_) => Err(messages::lost(&WorkerError::Gone)),
        },
        // The program does not run, so these frames are violations.
        FromWorker::Erased(_)
        | FromWorker::Call(_)
        | FromWorker::Log(_)
        | FromWorker::Idle(_)
        | FromWorker::Ready(_) => Err(messages::lost(&WorkerError::Gone)),
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
