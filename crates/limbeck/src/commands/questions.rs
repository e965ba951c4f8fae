//! Questions about calls, asked on the terminal of the person who runs the command, and decisions about them.

mod always;
mod reply;
mod screen;

use std::time::Duration;

use anyhow::{Context as _, anyhow};
use limbeck_domain::{
    Approval, ApprovalChannel, ApprovalState, Envelope, ExecutionId, ExecutionStatus, Remember,
    RememberChoice,
};
use limbeck_gateway::approval_groups::groups;
use limbeck_gateway::approval_view::{decision_reason, earlier_outcome};
use limbeck_gateway::{
    AnswerForm, ChosenLines, Decider, DecisionError, DecisionReport, DecisionRequest, Gateway,
    GroupText, LOCAL_PRINCIPAL, OnAsk, ResumeError, Shown, StoppedBy,
};
use limbeck_policy::Requester;
use limbeck_setup::World;
use limbeck_upstream::CallContext;

use self::always::NotWritten;
use self::reply::{Reply, reply, reply_to_plan};
use self::screen::Read;
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

/// An execution and the parts of the program that ask about its calls.
pub(super) struct TerminalQuestions<'a> {
    pub(super) gateway: &'a Gateway,
    pub(super) printer: &'a Printer,
    /// Whose own file gets the rules that a person lets an answer write.
    pub(super) world: &'a World,
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
                    let stopped = self.gateway.stop(id.as_str(), None, StoppedBy::User).await;
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
        let groups = groups(open);
        let count = groups.len();
        for (index, group) in groups.into_iter().enumerate() {
            if count > 1 {
                self.show_note(&format!("\nquestion {} of {count}", index + 1))?;
            }
            match self.ask_group(group).await? {
                Asked::Answered | Asked::NoneWaited => {}
                Asked::LeftOpen => asked = Asked::LeftOpen,
                Asked::Stop => return Ok(Asked::Stop),
            }
        }
        Ok(asked)
    }

    /// Asks about the members of a group, together, until each is decided or the rest is left open.
    async fn ask_group(&self, mut group: Vec<&Approval>) -> Result<Asked, CommandError> {
        let mut asked = Asked::Answered;
        while !group.is_empty() {
            let (answer, decided) = self.ask(&group).await?;
            match answer {
                Asked::Answered | Asked::NoneWaited => {}
                Asked::LeftOpen => asked = Asked::LeftOpen,
                Asked::Stop => return Ok(Asked::Stop),
            }
            if decided.is_empty() {
                break;
            }
            let mut place = 0..;
            group.retain(|_| !place.next().is_some_and(|at| decided.contains(&at)));
            // A choice for calls like it may have decided the others too.
            let mut open = Vec::new();
            for approval in group {
                let now = self.gateway.approval(&approval.id).await?;
                if now.is_some_and(|now| now.state == ApprovalState::Pending) {
                    open.push(approval);
                }
            }
            group = open;
        }
        Ok(asked)
    }

    /// Shows one question, or several of a group as one, and records the decision. Returns also which members it was about.
    async fn ask(&self, group: &[&Approval]) -> Result<(Asked, Vec<usize>), CommandError> {
        let printer = self.printer;
        let GroupText {
            text,
            count,
            is_whole,
        } = self.gateway.group_text(group).await;
        let all: Vec<usize> = (0..count).collect();
        let Some(first) = group.first() else {
            return Ok((Asked::NoneWaited, all));
        };
        let is_whole = match self.show_question(&text, first).await? {
            Read::Whole => is_whole,
            Read::InPart => false,
            Read::Answered => return Ok((Asked::Answered, vec![0])),
        };
        for _ in 0..UNCLEAR_MAX {
            self.discard_typed()?;
            self.show(&prompt(first, count, is_whole))?;
            let Some(line) = self.line_while_open(first).await? else {
                return Ok((Asked::Answered, vec![0]));
            };
            let said = match first.is_plan() {
                true => reply_to_plan(&line),
                false => reply(&line, count),
            };
            let allows = matches!(
                said,
                Reply::Approve(_) | Reply::ApproveSome(_) | Reply::Lines(_)
            );
            if allows && !is_whole {
                let (id, execution) = (&first.id, &first.execution);
                self.show_note(&format!(
                    "not all of it was shown, so it cannot be allowed here: `limbeck approvals {id} --json` has all of it, and `limbeck resume {execution} --approve` allows it"
                ))?;
                continue;
            }
            let mut lines = None;
            let (approve, members, remember) = match said {
                Reply::Unclear => continue,
                Reply::Later => return Ok((Asked::LeftOpen, Vec::new())),
                Reply::Stop => return Ok((Asked::Stop, Vec::new())),
                Reply::Approve(remember) => (true, all, remember),
                Reply::ApproveSome(members) => (true, members, None),
                Reply::Lines(numbers) => {
                    lines = Some(ChosenLines {
                        numbers: Some(numbers),
                        many: None,
                    });
                    (true, all, None)
                }
                Reply::Deny => (false, all, None),
                Reply::DenySome(members) => (false, members, None),
            };
            let reason = if approve { None } else { self.reason().await? };
            let decision = PersonsDecision {
                approve,
                reason,
                edited: None,
                lines,
                remember,
            };
            let chosen: Vec<&Approval> = members
                .iter()
                .filter_map(|at| group.get(*at).copied())
                .collect();
            let decisions = chosen.iter().map(|one| (*one, decision.clone()));
            let place = DecisionPlace {
                gateway: self.gateway,
                printer,
                world: self.world,
            };
            let mut asked = Asked::Answered;
            let decided = decide(&place, decisions.collect()).await?;
            for (one, decided) in chosen.into_iter().zip(decided) {
                match note(printer, one, decided) {
                    Noted::Answered => {}
                    Noted::StillPending | Noted::Refused => asked = Asked::LeftOpen,
                }
            }
            return Ok((asked, members));
        }
        self.show_note("neither yes nor no: the question is left open")?;
        Ok((Asked::LeftOpen, Vec::new()))
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
                        self.show_note(&format!("\nthis question is {}", earlier_outcome(&now)))?;
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// Why the person denies; an empty line is no reason.
    async fn reason(&self) -> Result<Option<String>, CommandError> {
        self.show("reason, for the program and the model (Enter: none) ")?;
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

/// The person in front of this terminal: the user who runs the gateway.
pub(super) fn decider() -> Decider {
    let requester = Requester::of_principal(LOCAL_PRINCIPAL);
    Decider {
        who: requester.names().map(str::to_owned).into(),
        principal: LOCAL_PRINCIPAL.to_owned(),
        channel: ApprovalChannel::Cli,
    }
}

/// Where decisions are recorded and reported.
pub(super) struct DecisionPlace<'a> {
    pub(super) gateway: &'a Gateway,
    pub(super) printer: &'a Printer,
    pub(super) world: &'a World,
}

/// What the person in front of this terminal decided about one question.
#[derive(Clone, Debug)]
pub(super) struct PersonsDecision {
    pub(super) approve: bool,
    pub(super) reason: Option<String>,
    pub(super) edited: Option<String>,
    /// What is accepted of a plan.
    pub(super) lines: Option<ChosenLines>,
    pub(super) remember: Option<RememberChoice>,
}

/// Records decisions of the person in front of this terminal, as one act. The reports are in the order of the decisions.
///
/// # Errors
///
/// An error of the store, or arguments that cannot be sent. What the person may not decide is in the report.
pub(super) async fn decide(
    place: &DecisionPlace<'_>,
    decisions: Vec<(&Approval, PersonsDecision)>,
) -> Result<Vec<Result<DecisionReport, DecisionError>>, CommandError> {
    let is_for_good = |decision: &PersonsDecision| {
        decision.remember.map(|choice| choice.until) == Some(Remember::Always)
    };
    let (mut requests, mut rules) = (Vec::new(), Vec::new());
    for (approval, decision) in &decisions {
        let is_for_good = is_for_good(decision);
        // The definition that the person saw is compared with the one of now before anything is recorded.
        let rule = match is_for_good && decision.approve {
            true => Some(always::rule(place.gateway, approval).await),
            false => None,
        };
        let remember = match &rule {
            // The call is asked about again, and so are those like it.
            Some(Err(NotWritten::Changed)) => None,
            // The rule is for later runs; in this one the others like it wait already.
            _ if is_for_good => Some(Remember::Run.into()),
            _ => decision.remember,
        };
        requests.push(DecisionRequest {
            approval: approval.id.clone(),
            approve: decision.approve,
            decider: decider(),
            reason: decision.reason.clone(),
            edited: decision.edited.clone(),
            lines: decision.lines.clone(),
            stop: false,
            remember,
        });
        rules.push(rule);
    }
    let reports = place.gateway.decide_together(requests).await;
    let mut decided = Vec::new();
    for (((approval, _), rule), report) in decisions.into_iter().zip(rules).zip(reports) {
        let is_approved = matches!(
            report,
            Ok(DecisionReport::Decided(_) | DecisionReport::Same(_))
        );
        if let Some(rule) = rule.filter(|_| is_approved) {
            always::write(place.world, place.printer, rule);
        }
        decided.push(reported(approval, report)?);
    }
    Ok(decided)
}

/// The report, unless it is an error of the command.
fn reported(
    approval: &Approval,
    report: Result<DecisionReport, DecisionError>,
) -> Result<Result<DecisionReport, DecisionError>, CommandError> {
    match report {
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

/// What a person may type, in the last line of a question.
fn prompt(approval: &Approval, count: usize, is_whole: bool) -> String {
    if !is_whole {
        return "not all of it was shown. n: no, s: stop the program, Enter: decide later "
            .to_owned();
    }
    if let Some(plan) = approval.plan() {
        let all = match plan.accepted_together().len() == plan.lines.len() {
            true => "all lines",
            false => "all lines but the destructive ones",
        };
        return format!(
            "allow? y: {all}, 1,3: these lines, n: no, s: stop the program, Enter: decide later "
        );
    }
    let mut prompt = if count > 1 {
        format!("allow? y: all {count}, y 1-3,5: these, n: none of them, n 4: not this one, ")
    } else {
        "allow? y: yes, n: no, ".to_owned()
    };
    if let Some(offer) = &approval.terms.offer {
        let and_more = match offer.at_most {
            Remember::None | Remember::Run => String::new(),
            longest => format!(" (or up to `y {longest}`)"),
        };
        prompt.push_str(&format!("y run: also those like it{and_more}, "));
    }
    prompt + "s: stop the program, Enter: decide later "
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
        Err(DecisionError::NotAllowed { why, hint } | DecisionError::Overruled { why, hint }) => {
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
        | ResumeError::Guest(_)
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
    fn the_person_at_a_terminal_is_the_user_of_the_gateway() {
        let decider = decider();
        assert_eq!(decider.who, ["user:local"]);
        assert_eq!(decider.channel, ApprovalChannel::Cli);
    }
}
