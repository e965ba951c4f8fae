//! `limbeck resume`: decisions about the calls of a paused execution, and its continuation.

mod choices;

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::anyhow;
use limbeck_domain::{Approval, ApprovalId, Envelope, ExecutionId, ExecutionStatus};
use limbeck_gateway::{AnswerForm, OnAsk, StoppedBy};
use limbeck_store::{ExecutionRecord, StoreError};
use limbeck_upstream::CallContext;

use self::choices::{Wanted, acts};
use super::questions::{
    DecisionPlace, Noted, PersonsDecision, TerminalQuestions, decide, note, resume_failure, shown,
};
use super::run::whole;
use super::signals::{EndSignal, EndSignals};
use crate::cli::ResumeArgs;
use crate::exit::{CommandError, ExitStatus};
use crate::invocation::Invocation;
use crate::report::{ProgramSource, print_envelope, print_pending};
use crate::terminal::{Terminal, is_typed};
use crate::wiring::{GatewayLifetime, GatewaySession, WayIn};

/// How often `--wait` looks whether the questions were decided.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Decides, goes on with the execution, and prints its envelope.
pub(super) async fn resume(
    invocation: &Invocation,
    arguments: &ResumeArgs,
) -> Result<ExitStatus, CommandError> {
    let wanted = Wanted::of(arguments)?;
    let mut signals = EndSignals::listen()?;
    let way_in = match is_typed() {
        true => WayIn::Terminal,
        false => WayIn::Command,
    };
    let session =
        GatewaySession::open_serving(invocation, GatewayLifetime::Command, way_in).await?;
    let mut command = Resumption {
        invocation,
        session: &session,
        arguments,
        signals: &mut signals,
    };
    let done = command.run(&wanted).await;
    session.close().await;
    done
}

struct Resumption<'a> {
    invocation: &'a Invocation,
    session: &'a GatewaySession,
    arguments: &'a ResumeArgs,
    signals: &'a mut EndSignals,
}

impl Resumption<'_> {
    async fn run(&mut self, wanted: &Wanted) -> Result<ExitStatus, CommandError> {
        let id = &self.arguments.execution;
        let record = self.session.gateway.store().execution(id).await?;
        let record = record.ok_or_else(|| StoreError::UnknownExecution { id: id.clone() })?;
        let id = record.row.id.clone();
        if self.arguments.stop {
            let stopped = shown(
                self.session
                    .gateway
                    .stop(id.as_str(), None, StoppedBy::User)
                    .await,
            )?;
            let is_stopped = stopped.envelope.status == ExecutionStatus::Cancelled;
            let exit = self.print(stopped.envelope, &record).await?;
            // What was asked for happened, although the execution has an error.
            return Ok(if is_stopped {
                ExitStatus::Completed
            } else {
                exit
            });
        }
        let gateway = &self.session.gateway;
        let questions = gateway.pending_approvals(None, Some(&id), false).await?;
        self.session.take_default_of(&questions).await;
        if !self.decide(&id, wanted).await? {
            return Ok(ExitStatus::Failed);
        }
        let (mut envelope, mut signal) = self.go_on(&id).await?;
        if signal.is_none() && self.asks_here(wanted) {
            (envelope, signal) = self.ask(envelope).await?;
        }
        if signal.is_none() && self.arguments.wait {
            (envelope, signal) = self.until_ended(envelope).await?;
        }
        let exit = self.print(envelope, &record).await?;
        Ok(signal.map_or(exit, EndSignal::exit))
    }

    /// Whether the person at the terminal is asked: not when the arguments have the answers.
    fn asks_here(&self, wanted: &Wanted) -> bool {
        *wanted == Wanted::default() && !self.arguments.json && !self.arguments.wait
    }

    /// Records the wanted decisions. Returns whether each may be made.
    async fn decide(&self, id: &ExecutionId, wanted: &Wanted) -> Result<bool, CommandError> {
        if *wanted == Wanted::default() {
            return Ok(true);
        }
        let gateway = &self.session.gateway;
        let printer = &self.invocation.printer;
        // An approval that is recorded counts for the next `resume`, so it is not recorded where this one would be refused.
        if wanted.approve.is_some() || !wanted.edited.is_empty() {
            gateway.check_resumable(id).await.map_err(resume_failure)?;
        }
        // Decided ones as well: the same decision again is no mistake, and who decides otherwise learns whose decision counts.
        let all = gateway.pending_approvals(None, Some(id), false).await?;
        let choices = wanted.choices(&all)?;
        // Who denies does not want the calls that were approved before to be sent now.
        if wanted.deny.is_some() && choices.iter().all(|choice| choice.approve) {
            let error = anyhow!("no question of execution `{id}` waits that could be denied");
            return Err(CommandError::usage(error).with_hint(format!(
                "`{limbeck} resume {id}` goes on as it was decided, `{limbeck} resume {id} --stop` ends it",
                limbeck = self.invocation.same_configuration()
            )));
        }
        if choices.is_empty() {
            printer.note(&format!("no question of execution `{id}` waits"));
        }
        let place = DecisionPlace {
            gateway,
            printer,
            world: &self.invocation.world,
        };
        let mut all_allowed = true;
        // The denials of members of one group are one act.
        for together in acts(choices) {
            let decisions = together.into_iter().map(|choice| {
                let decision = PersonsDecision {
                    approve: choice.approve,
                    reason: wanted.reason.clone(),
                    edited: choice.edited,
                    lines: choice.lines,
                    remember: wanted.remember.filter(|_| choice.approve),
                };
                (choice.approval, decision)
            });
            let decisions: Vec<_> = decisions.collect();
            let asked: Vec<&Approval> = decisions.iter().map(|(asked, _)| *asked).collect();
            let decided = decide(&place, decisions).await?;
            for (asked, decided) in asked.into_iter().zip(decided) {
                all_allowed &= note(printer, asked, decided) != Noted::Refused;
            }
        }
        Ok(all_allowed)
    }

    async fn go_on(
        &mut self,
        id: &ExecutionId,
    ) -> Result<(Envelope, Option<EndSignal>), CommandError> {
        let gateway = &self.session.gateway;
        let form = AnswerForm::default();
        let (resumed, signal) = self
            .signals
            .cancelling(async |cancel| {
                let context = CallContext::new(cancel);
                gateway
                    .resume(id.as_str(), None, form, OnAsk::Pause, context)
                    .await
            })
            .await;
        Ok((shown(resumed)?.envelope, signal))
    }

    /// Asks on the terminal what is left to decide, where there is one.
    async fn ask(
        &mut self,
        envelope: Envelope,
    ) -> Result<(Envelope, Option<EndSignal>), CommandError> {
        if envelope.status != ExecutionStatus::Paused {
            return Ok((envelope, None));
        }
        let Some(terminal) = Terminal::open() else {
            return Ok((envelope, None));
        };
        let questions = TerminalQuestions {
            gateway: &self.session.gateway,
            printer: &self.invocation.printer,
            world: &self.invocation.world,
            terminal,
            answer: AnswerForm::default(),
        };
        questions.until_answered(envelope, self.signals).await
    }

    /// Waits for the decisions of other people, and goes on after each of them, until the execution has ended.
    async fn until_ended(
        &mut self,
        mut envelope: Envelope,
    ) -> Result<(Envelope, Option<EndSignal>), CommandError> {
        while envelope.status == ExecutionStatus::Paused {
            let id = envelope.execution_id.clone();
            let decided = self.next_decision(&id);
            let decided = decided.await.map_err(|failure| match failure.hint {
                Some(_) => failure,
                None => failure.with_hint(format!("`limbeck resume {id}` goes on with it")),
            });
            decided?;
            let signal;
            (envelope, signal) = self.go_on(&id).await?;
            if signal.is_some() {
                return Ok((envelope, signal));
            }
        }
        Ok((envelope, None))
    }

    /// Returns when another question of the execution was decided, or none waits.
    async fn next_decision(&mut self, id: &ExecutionId) -> Result<(), CommandError> {
        let gateway = &self.session.gateway;
        let waiting = async || -> Result<BTreeSet<ApprovalId>, CommandError> {
            let pending = gateway.pending_approvals(None, Some(id), true).await?;
            Ok(pending.into_iter().map(|approval| approval.id).collect())
        };
        let changed = async {
            let before = waiting().await?;
            loop {
                tokio::time::sleep(LOOK_EVERY).await;
                if before.is_empty() || waiting().await? != before {
                    return Ok(());
                }
            }
        };
        let printer = &self.invocation.printer;
        let changed = printer.reporting("waiting for a decision", changed);
        self.signals.interrupting(changed).await?
    }

    async fn print(
        &self,
        envelope: Envelope,
        record: &ExecutionRecord,
    ) -> Result<ExitStatus, CommandError> {
        let exit = ExitStatus::of(&envelope);
        let printer = &self.invocation.printer;
        if self.arguments.json {
            printer.json(&envelope)?;
            return Ok(exit);
        }
        let source = ProgramSource {
            name: "program",
            text: &record.start.program,
        };
        let envelope = whole(&self.session.gateway, envelope).await;
        print_envelope(printer, &envelope, source);
        let limbeck = self.invocation.same_configuration();
        print_pending(printer, &envelope, &limbeck);
        Ok(exit)
    }
}
