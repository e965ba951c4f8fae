//! Questions about calls, asked on the terminal of the person who runs the command, and decisions about them.

use std::time::Duration;

use anyhow::{Context as _, anyhow};
use limbeck_domain::{
    Approval, ApprovalChannel, ApprovalState, Envelope, ExecutionId, ExecutionStatus,
};
use limbeck_gateway::approval_view::{decision_reason, earlier_outcome, line_numbers};
use limbeck_gateway::{
    AnswerForm, Decider, DecisionError, DecisionReport, DecisionRequest, Gateway, LOCAL_PRINCIPAL,
    OnAsk, ResumeError, Shown,
};
use limbeck_policy::Requester;
use limbeck_upstream::CallContext;

use super::signals::{EndSignal, EndSignals};
use crate::exit::{CommandError, ExitStatus};
use crate::printer::Printer;
use crate::terminal::Terminal;

/// How often an open question is looked up: another person may have decided about it.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Answers that are neither yes nor no before a question is left open.
const UNCLEAR_MAX: u32 = 3;

/// What was done about the questions of an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    /// Each was answered, here or elsewhere.
    Answered,
    /// None waited: each was decided elsewhere, or the execution was interrupted.
    NoneWaited,
    /// At least one is left open.
    LeftOpen,
    /// The person wants the program to end.
    Stop,
}

/// What a decision led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Noted {
    /// The question is answered, by this decision or an earlier one.
    Answered,
    /// Other people have to approve too.
    StillPending,
    /// The person may not decide this.
    Refused,
}

/// What a person said to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Reply {
    Approve,
    /// These lines of a plan.
    Lines(Vec<u32>),
    Deny,
    Stop,
    Later,
    Unclear,
}

/// An execution and the parts of the program that ask about its calls.
pub(super) struct TerminalQuestions<'a> {
    pub(super) gateway: &'a Gateway,
    pub(super) printer: &'a Printer,
    pub(super) terminal: Terminal,
    /// Form of the answers.
    pub(super) answer: AnswerForm,
}

impl TerminalQuestions<'_> {
    /// Asks what a paused execution asks and goes on with it, until it has ended or a question is left open. Returns the last
    /// answer, and the signal that ended the command while the program ran.
    ///
    /// # Errors
    ///
    /// A signal while a question was shown: the execution stays paused. Otherwise the reason why it did not go on.
    pub(super) async fn until_answered(
        &self,
        mut envelope: Envelope,
        signals: &mut EndSignals,
    ) -> Result<(Envelope, Option<EndSignal>), CommandError> {
        let mut went_on_unasked = false;
        while envelope.status == ExecutionStatus::Paused {
            let asked = signals
                .interrupting(self.ask_all(&envelope.execution_id))
                .await;
            let asked = asked.map_err(|interrupted| {
                let id = &envelope.execution_id;
                interrupted.with_hint(format!(
                    "the execution stays paused: `limbeck resume {id}` asks again"
                ))
            })?;
            let id = envelope.execution_id.clone();
            match asked? {
                Asked::Answered => went_on_unasked = false,
                // It would pause again, and again.
                Asked::NoneWaited if went_on_unasked => break,
                Asked::NoneWaited => went_on_unasked = true,
                Asked::LeftOpen => break,
                Asked::Stop => {
                    let stopped = self.gateway.stop(id.as_str(), None).await;
                    return Ok((shown(stopped)?.envelope, None));
                }
            }
            let (resumed, signal) = signals
                .cancelling(async |cancel| {
                    let context = CallContext::new(cancel);
                    let resumed =
                        self.gateway
                            .resume(id.as_str(), None, self.answer, OnAsk::Pause, context);
                    resumed.await
                })
                .await;
            envelope = shown(resumed)?.envelope;
            if signal.is_some() {
                return Ok((envelope, signal));
            }
        }
        Ok((envelope, None))
    }

    async fn ask_all(&self, execution: &ExecutionId) -> Result<Asked, CommandError> {
        let pending = self
            .gateway
            .pending_approvals(None, Some(execution), true)
            .await?;
        let who = decider().who;
        // Where several people have to approve, this person has done so.
        let is_decided = |approval: &&Approval| {
            let mut decisions = approval.decisions.iter();
            decisions.any(|decision| who.contains(&decision.by))
        };
        let open: Vec<&Approval> = pending.iter().filter(|a| !is_decided(a)).collect();
        let mut asked = match (pending.is_empty(), open.is_empty()) {
            (true, _) => Asked::NoneWaited,
            // Other people have to approve too.
            (false, true) => Asked::LeftOpen,
            (false, false) => Asked::Answered,
        };
        let count = open.len();
        for (index, approval) in open.into_iter().enumerate() {
            if count > 1 {
                self.printer
                    .note(&format!("\nquestion {} of {count}", index + 1));
            }
            match self.ask(approval).await? {
                Asked::Answered | Asked::NoneWaited => {}
                Asked::LeftOpen => asked = Asked::LeftOpen,
                Asked::Stop => return Ok(Asked::Stop),
            }
        }
        Ok(asked)
    }

    /// Shows one question and records the decision.
    async fn ask(&self, approval: &Approval) -> Result<Asked, CommandError> {
        let printer = self.printer;
        printer.question(&self.gateway.question_text(approval).await);
        for _ in 0..UNCLEAR_MAX {
            self.terminal
                .discard_typed_input()
                .context("what was typed before the question cannot be discarded")
                .map_err(CommandError::usage)?;
            printer.prompt(prompt(approval));
            let Some(line) = self.line_while_open(approval).await? else {
                return Ok(Asked::Answered);
            };
            let (approve, lines) = match reply(&line, approval.is_plan()) {
                Reply::Unclear => continue,
                Reply::Later => return Ok(Asked::LeftOpen),
                Reply::Stop => return Ok(Asked::Stop),
                Reply::Approve => (true, None),
                Reply::Lines(lines) => (true, Some(lines)),
                Reply::Deny => (false, None),
            };
            let content = DecisionContent {
                reason: if approve { None } else { self.reason().await? },
                lines,
                ..DecisionContent::default()
            };
            let decided = decide(self.gateway, approval, approve, content).await?;
            return Ok(match note(printer, approval, decided) {
                Noted::Answered => Asked::Answered,
                Noted::StillPending | Noted::Refused => Asked::LeftOpen,
            });
        }
        printer.note("neither yes nor no: the question is left open");
        Ok(Asked::LeftOpen)
    }

    /// The next line of the terminal; `None` when the question was decided elsewhere or expired meanwhile.
    async fn line_while_open(&self, approval: &Approval) -> Result<Option<String>, CommandError> {
        let mut line = std::pin::pin!(self.terminal.line());
        loop {
            tokio::select! {
                line = &mut line => {
                    let line = line.context("the answer cannot be read").map_err(CommandError::usage)?;
                    // Ctrl-D leaves a question open, as an empty line does.
                    return Ok(Some(line.unwrap_or_default()));
                }
                () = tokio::time::sleep(LOOK_EVERY) => {
                    let now = self.gateway.approval(&approval.id).await?;
                    if let Some(now) = now.filter(|now| now.state != ApprovalState::Pending) {
                        self.printer.note(&format!("\nthis question is {}", earlier_outcome(&now)));
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// Why the person denies; an empty line is no reason.
    async fn reason(&self) -> Result<Option<String>, CommandError> {
        self.printer
            .prompt("reason, for the program and the model (Enter: none) ");
        let line = self.terminal.line().await;
        let line = line
            .context("the reason cannot be read")
            .map_err(CommandError::usage)?;
        // A denial counts also when its reason is too long to be passed on.
        let reason = decision_reason(line.as_deref().unwrap_or_default());
        Ok(reason.unwrap_or_else(|error| {
            self.printer
                .warning(&format!("{error}; the denial has none"));
            None
        }))
    }
}

/// What a person can type.
fn prompt(approval: &Approval) -> &'static str {
    let Some(plan) = approval.plan() else {
        return "allow? y: yes, n: no, s: stop the program, Enter: decide later ";
    };
    if plan.accepted_together().len() == plan.lines.len() {
        "allow? y: all lines, 1,3: these lines, n: no, s: stop the program, Enter: decide later "
    } else {
        "allow? y: all lines but the destructive ones, 1,3: these lines, n: no, s: stop the program, Enter: decide later "
    }
}

/// What a line means. Numbers of lines answer a question about a plan alone.
fn reply(line: &str, is_plan: bool) -> Reply {
    if is_plan && let Ok(Some(lines)) = line_numbers(line) {
        return Reply::Lines(lines);
    }
    match line.trim().to_ascii_lowercase().as_str() {
        "" => Reply::Later,
        "y" | "yes" => Reply::Approve,
        "n" | "no" => Reply::Deny,
        "s" | "stop" => Reply::Stop,
        _ => Reply::Unclear,
    }
}

/// The person in front of this terminal: the user who runs the gateway.
pub(super) fn decider() -> Decider {
    let requester = Requester::of_principal(LOCAL_PRINCIPAL);
    Decider {
        who: requester.names().map(str::to_owned).into(),
        principal: LOCAL_PRINCIPAL.to_owned(),
        channel: ApprovalChannel::Cli,
    }
}

/// What a decision has beside its yes or no.
#[derive(Debug, Default)]
pub(super) struct DecisionContent {
    pub(super) reason: Option<String>,
    /// JSON text of the arguments to send instead.
    pub(super) edited: Option<String>,
    /// Numbers of the accepted lines of a plan.
    pub(super) lines: Option<Vec<u32>>,
}

/// Records a decision of the person in front of this terminal.
///
/// # Errors
///
/// An error of the store, or arguments that cannot be sent. What the person may not decide is in the report.
pub(super) async fn decide(
    gateway: &Gateway,
    approval: &Approval,
    approve: bool,
    content: DecisionContent,
) -> Result<Result<DecisionReport, DecisionError>, CommandError> {
    let DecisionContent {
        reason,
        edited,
        lines,
    } = content;
    let request = DecisionRequest {
        approval: approval.id.clone(),
        approve,
        decider: decider(),
        reason,
        edited,
        lines,
    };
    match gateway.decide(request).await {
        Err(DecisionError::Store(error)) => Err(error.into()),
        Err(DecisionError::InvalidEdit(error)) => {
            let failure = anyhow!(
                "the arguments for `{}` cannot be sent: {}",
                approval.id,
                error.message
            );
            let failure = CommandError::usage(failure);
            Err(match error.hint {
                Some(hint) => failure.with_hint(hint),
                None => failure,
            })
        }
        other => Ok(other),
    }
}

/// Prints what a decision led to, where that is not what the person expects.
pub(super) fn note(
    printer: &Printer,
    asked: &Approval,
    decided: Result<DecisionReport, DecisionError>,
) -> Noted {
    match decided {
        Ok(DecisionReport::Decided(now) | DecisionReport::Same(now)) => {
            if now.state == ApprovalState::Pending {
                let given = now.decisions.iter().filter(|d| d.approve).count();
                let quorum = now.terms.quorum;
                printer.note(&format!("`{}` has {given} of {quorum} approvals", now.id));
                return Noted::StillPending;
            }
            Noted::Answered
        }
        Ok(DecisionReport::TooLate(now)) => {
            printer.warning(&format!("`{}` is {}", now.id, earlier_outcome(&now)));
            Noted::Answered
        }
        Err(DecisionError::NotAllowed { why, hint }) => {
            printer.error(&format!("`{}` is not decided: {why}", asked.id));
            printer.hint(&hint);
            Noted::Refused
        }
        Err(error) => {
            printer.error(&format!("`{}` is not decided: {error}", asked.id));
            Noted::Refused
        }
    }
}

/// The answer of an execution that was gone on with, also of one that had ended before.
///
/// # Errors
///
/// The reason why it did not go on.
pub(super) fn shown(resumed: Result<Shown, ResumeError>) -> Result<Shown, CommandError> {
    match resumed {
        Ok(shown) => Ok(shown),
        Err(ResumeError::Ended(shown)) => Ok(*shown),
        Err(error) => Err(resume_failure(error)),
    }
}

/// The error of a command whose execution did not go on.
pub(super) fn resume_failure(error: ResumeError) -> CommandError {
    let hint = error.hint();
    let exit = match &error {
        ResumeError::Store(error) => return error.clone().into(),
        ResumeError::Unknown
        | ResumeError::NotInDoubt { .. }
        | ResumeError::Guest { .. }
        | ResumeError::Incomplete => ExitStatus::Usage,
        ResumeError::InDoubt { .. } | ResumeError::Ended(_) => ExitStatus::Failed,
        ResumeError::Refused(error) => ExitStatus::of_error(error),
        ResumeError::Running { .. } | ResumeError::Worker(_) => ExitStatus::Fault,
    };
    let failure = CommandError::new(exit, error);
    match hint {
        Some(hint) => failure.with_hint(hint),
        None => failure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_yes_approves() {
        for line in ["y", "Y", " yes ", "YES"] {
            assert_eq!(reply(line, false), Reply::Approve, "{line}");
        }
        for line in ["n", "No"] {
            assert_eq!(reply(line, false), Reply::Deny, "{line}");
        }
        for line in ["s", "Stop"] {
            assert_eq!(reply(line, false), Reply::Stop, "{line}");
        }
        for line in ["", "  "] {
            assert_eq!(reply(line, false), Reply::Later, "{line}");
        }
        for line in ["yy", "yes please", "ja", "1", "allow", "y n"] {
            assert_eq!(reply(line, false), Reply::Unclear, "{line}");
        }
        assert_eq!(reply("1, 3", true), Reply::Lines(vec![1, 3]));
        for line in ["1-3", "0", "all", "yes 1"] {
            assert_eq!(reply(line, true), Reply::Unclear, "{line}");
        }
        assert_eq!(reply("", true), Reply::Later);
    }

    #[test]
    fn the_person_at_a_terminal_is_the_user_of_the_gateway() {
        let decider = decider();
        assert_eq!(decider.who, ["user:local"]);
        assert_eq!(decider.channel, ApprovalChannel::Cli);
    }
}
