//! The question about the plan of a program: asked before its first line runs.
//!
//! The plan is the calls in the program's text that may write and that the preset asks about together (`broker::plan`). A person
//! accepts lines of it, or the program does not start.

use std::collections::BTreeMap;

use limbeck_domain::{
    AcceptedLines, Approval, ApprovalId, ApprovalPlan, ApprovalState, EffectClass, ErrorKind,
    PLAN_CALL, ProgramError, text,
};
use limbeck_policy::rules::Preset;
use limbeck_store::StoreError;

use super::ask::{REASON_BYTES_MAX, mint_id, terms_of};
use super::asks::OnAsk;
use super::question;
use crate::broker::Broker;
use crate::clock::now_us;
use crate::live_catalog::FIRST_LIST_TIMEOUT;
use crate::sha256::sha256_hex;

/// Bytes of a person's name in an error.
const NAME_BYTES_MAX: usize = 128;
const HINT_DENIED: &str = "do not run it again in another way: ask the user what to do instead";
const HINT_LATER: &str = "run the program again when a person can answer";

/// Where a program of one call comes from that a person wrote on the command line: `limbeck call`.
pub const ONE_CALL_ORIGIN: &str = "call";

impl Broker {
    /// Whether a person may have to be asked about the plan, or was.
    pub(crate) fn may_ask_plan(&self) -> bool {
        let is_recorded = self.plan.record().approval.is_some();
        // The question about the one call shows its arguments, and the plan would not.
        let is_one_call = self.program().origin == ONE_CALL_ORIGIN;
        is_recorded || !is_one_call && self.context().policy.newest().policy().asks_by_plan()
    }

    /// Asks about the plan of a program that was checked, and returns once it may start. `input` is its input as JSON text.
    ///
    /// # Errors
    ///
    /// The end of a program that may not start.
    pub(crate) async fn settle_plan(&self, input: &str) -> Result<(), ProgramError> {
        let record = self.plan.record();
        let approval = match (&record.approval, &record.lines) {
            (Some(id), Some(lines)) => return self.accepted_before(id, lines, input).await,
            (Some(id), None) => self.recorded_plan(id).await?,
            // It began when no plan was asked about: what it does from now on is asked about when it is done.
            (None, _) if record.has_gone_on => return Ok(()),
            (None, _) => match self.ask_plan(input).await? {
                Some(approval) => approval,
                None => return Ok(()),
            },
        };
        let approval = self.decided_plan(approval).await?;
        self.start_by(&approval, input).await
    }

    /// The question that the journal has.
    async fn recorded_plan(&self, id: &ApprovalId) -> Result<Approval, ProgramError> {
        let found = self.context().store.approval(id).await;
        found
            .and_then(|approval| approval.ok_or(StoreError::Closed))
            .map_err(|error| not_asked(&error))
    }

    /// Puts in force what was accepted before the execution was continued.
    async fn accepted_before(
        &self,
        id: &ApprovalId,
        lines: &[u32],
        input: &str,
    ) -> Result<(), ProgramError> {
        let approval = self.recorded_plan(id).await?;
        let plan = self.plan_of(&approval, input)?;
        self.refresh_lists(&plan).await;
        let many = accepted_of(&approval).and_then(|accepted| accepted.many);
        self.plan.accept(&plan, lines, many);
        Ok(())
    }

    /// Makes and records the question. `None` where nothing is asked.
    async fn ask_plan(&self, input: &str) -> Result<Option<Approval>, ProgramError> {
        let on_ask = self.asks.on_ask();
        // Each call is denied when it is made.
        if on_ask == OnAsk::Deny {
            return Ok(None);
        }
        let Some(plan) = self.planned(input).await else {
            return Ok(None);
        };
        let (Some(execution), Some(first)) = (self.journal().execution(), plan.lines.first())
        else {
            return Ok(None);
        };
        if on_ask == OnAsk::Fail {
            return Err(nobody_to_ask(&plan));
        }
        let preset = self.context().policy.newest().policy().rules.preset();
        let class = most_harmful(&plan);
        let options = Preset::ask_options(preset, class);
        let arguments = serde_json::to_string(&plan).unwrap_or_default();
        let now = now_us();
        let approval = Approval {
            changed: Vec::new(),
            id: mint_id().map_err(|error| {
                let message = format!("the system gave no random id for a question: {error}");
                ProgramError::new(ErrorKind::Gateway, message)
            })?,
            execution: execution.clone(),
            call: PLAN_CALL,
            principal: self.principal().to_owned(),
            origin: self.origin().to_owned(),
            tool: first.tool.clone(),
            pin: None,
            sha256: sha256_hex(arguments.as_bytes()),
            arguments,
            class,
            class_from: first.class_from.clone(),
            rule: None,
            preset: Some(preset.as_str().to_owned()),
            reason: None,
            line: Some(first.line),
            origins: BTreeMap::new(),
            terms: terms_of(&options, self.default_channels(), None),
            created_us: now,
            expires_us: now.saturating_add(u64::from(options.expires_s) * 1_000_000),
            state: ApprovalState::Pending,
            decisions: Vec::new(),
        };
        // What a person accepts is shown whole; calls of a larger plan are asked about when they are made.
        if !question::has_room_for_plan(&approval, self.program()) {
            return Ok(None);
        }
        loop {
            match self.journal().ask_plan(approval.clone()).await {
                Ok(()) => return Ok(Some(approval)),
                Err(StoreError::TooManyPending { .. }) => {
                    let _waiting = self.asks.wait_unasked(PLAN_CALL);
                    self.context().approvals.changed_or_later().await;
                }
                Err(error) => return Err(not_asked(&error)),
            }
        }
    }

    /// The question with its answer, once there is one.
    async fn decided_plan(&self, approval: Approval) -> Result<Approval, ProgramError> {
        if approval.state != ApprovalState::Pending {
            return Ok(approval);
        }
        let _waiting = self.asks.wait(PLAN_CALL, &approval.id);
        self.ask_client(&approval);
        let decided = self.context().approvals.decided(&approval.id).await;
        decided.map_err(|error| not_asked(&error))
    }

    /// Lets the program start with the lines that were accepted, or ends it.
    async fn start_by(&self, approval: &Approval, input: &str) -> Result<(), ProgramError> {
        if approval.state != ApprovalState::Approved {
            return Err(not_started(approval, approval.state));
        }
        let plan = self.plan_of(approval, input)?;
        let AcceptedLines { numbers, many } = accepted_of(approval).cloned().unwrap_or_default();
        let settled = self.journal().settle_plan(&approval.id, numbers.clone());
        match settled.await {
            Ok(None) => {}
            Ok(Some(state)) => return Err(not_started(approval, state)),
            Err(error) => return Err(not_asked(&error)),
        }
        self.refresh_lists(&plan).await;
        self.plan.accept(&plan, &numbers, many);
        Ok(())
    }

    /// The plan of a question, when it is that of this program with this input.
    fn plan_of(&self, approval: &Approval, input: &str) -> Result<ApprovalPlan, ProgramError> {
        let plan = approval.plan().filter(|plan| {
            let program = self.program().text.as_bytes();
            plan.program_sha256 == sha256_hex(program)
                && plan.input_sha256 == sha256_hex(input.as_bytes())
                && self.journal().execution() == Some(&approval.execution)
                && approval.principal == self.principal()
        });
        plan.ok_or_else(|| {
            let message = "the plan that a person was asked about is that of another program, so this one was not started";
            ProgramError::new(ErrorKind::Diverged, message).with_hint("run the program again")
        })
    }

    /// Asks servers that were started meanwhile for their lists: the definitions that the person was shown may be gone.
    async fn refresh_lists(&self, plan: &ApprovalPlan) {
        let mut servers: Vec<_> = plan
            .lines
            .iter()
            .map(|line| line.tool.server.clone())
            .collect();
        servers.sort();
        servers.dedup();
        let live_catalog = &self.context().live_catalog;
        live_catalog.refresh_all(&servers, FIRST_LIST_TIMEOUT).await;
    }
}

/// What the people who approved accepted: all of them the same.
fn accepted_of(approval: &Approval) -> Option<&AcceptedLines> {
    let decision = approval.decisions.iter().rev().find(|it| it.approve)?;
    decision.lines.as_ref()
}

fn most_harmful(plan: &ApprovalPlan) -> EffectClass {
    let mut classes = plan.lines.iter().map(|line| line.class);
    let is_destructive = classes.any(|class| class == EffectClass::Destructive);
    match (is_destructive, plan.lines.first()) {
        (false, Some(first)) => first.class,
        (true, _) | (false, None) => EffectClass::Destructive,
    }
}

/// The end of a program whose plan was not accepted.
fn not_started(approval: &Approval, state: ApprovalState) -> ProgramError {
    match state {
        ApprovalState::Denied => {
            let denial = approval.decisions.iter().rev().find(|it| !it.approve);
            let by = denial.map_or("a person", |it| it.by.as_str());
            let by = text::clean_line(by, NAME_BYTES_MAX);
            let mut message =
                format!("{by} did not allow the writes of this program, so it was not started");
            if let Some(reason) = denial.and_then(|it| it.reason.as_deref()) {
                message.push_str(": ");
                message.push_str(&text::clean_line(reason, REASON_BYTES_MAX));
            }
            ProgramError::new(ErrorKind::Cancelled, message).with_hint(HINT_DENIED)
        }
        ApprovalState::Expired => ProgramError::new(
            ErrorKind::ApprovalExpired,
            "no person decided in time whether this program may write, so it was not started",
        )
        .with_hint(HINT_LATER),
        ApprovalState::Pending
        | ApprovalState::Approved
        | ApprovalState::Withdrawn
        | ApprovalState::Spent => ProgramError::new(
            ErrorKind::Cancelled,
            "the question about the writes of this program was withdrawn, so it was not started",
        )
        .with_hint("run the program again"),
    }
}

fn nobody_to_ask(plan: &ApprovalPlan) -> ProgramError {
    let count = plan.lines.len();
    let calls = if count == 1 { "call" } else { "calls" };
    ProgramError::new(
        ErrorKind::ApprovalNeeded,
        format!("{count} {calls} of this program have to be approved by a person, and no person can be asked here; it was not started"),
    )
    .with_hint("run it where a person can be asked, or let the policy allow the calls")
}

fn not_asked(error: &StoreError) -> ProgramError {
    tracing::error!(
        error = error as &dyn std::error::Error,
        "the question about a program's plan could not be recorded or read"
    );
    let callers = error.for_callers();
    let message = format!(
        "the question about the writes of this program could not be recorded or read, so it was not started: {}",
        callers.message
    );
    let error = ProgramError::new(ErrorKind::Gateway, message);
    match callers.hint {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}
