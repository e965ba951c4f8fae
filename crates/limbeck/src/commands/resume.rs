//! `limbeck resume`: decisions about the calls of a paused execution, and its continuation.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::anyhow;
use limbeck_domain::text::clean_line;
use limbeck_domain::{Approval, ApprovalId, ApprovalState, Envelope, ExecutionId, ExecutionStatus};
use limbeck_gateway::approval_view::decision_reason;
use limbeck_gateway::{AnswerForm, OnAsk};
use limbeck_store::{ExecutionRecord, StoreError};
use limbeck_upstream::CallContext;
use serde_json::Value;

use super::approvals::named;
use super::questions::{Noted, TerminalQuestions, decide, note, shown};
use super::run::whole;
use super::signals::{EndSignal, EndSignals};
use crate::cli::ResumeArgs;
use crate::exit::{CommandError, ExitStatus};
use crate::invocation::Invocation;
use crate::report::{ProgramSource, print_envelope};
use crate::terminal::Terminal;
use crate::wiring::{GatewayLifetime, GatewaySession};

/// How often `--wait` looks whether the questions were decided.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Longest id in a message, in bytes.
const ID_BYTES_MAX: usize = 80;

/// Decisions that the arguments ask for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Wanted {
    /// `None`: nothing is approved. Without ids: all that wait.
    approve: Option<Vec<String>>,
    deny: Option<Vec<String>>,
    /// Ids with the arguments to send instead.
    edited: Vec<(String, String)>,
    reason: Option<String>,
}

/// A decision about one question.
#[derive(Debug)]
struct Choice<'a> {
    approval: &'a Approval,
    approve: bool,
    edited: Option<String>,
}

/// Decides, goes on with the execution, and prints its envelope.
pub(super) async fn resume(
    invocation: &Invocation,
    arguments: &ResumeArgs,
) -> Result<ExitStatus, CommandError> {
    let wanted = Wanted::of(arguments)?;
    let mut signals = EndSignals::listen()?;
    let session = GatewaySession::open(invocation, GatewayLifetime::Command).await?;
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
            let stopped = shown(self.session.gateway.stop(id.as_str(), None).await)?;
            let is_stopped = stopped.envelope.status == ExecutionStatus::Cancelled;
            let exit = self.print(stopped.envelope, &record).await?;
            // What was asked for happened, although the execution has an error.
            return Ok(if is_stopped {
                ExitStatus::Completed
            } else {
                exit
            });
        }
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
        // Decided ones as well: the same decision again is no mistake, and who decides otherwise learns whose decision counts.
        let all = gateway.pending_approvals(None, Some(id), false).await?;
        let choices = wanted.choices(&all)?;
        if choices.is_empty() {
            printer.note(&format!("no question of execution `{id}` waits"));
        }
        let mut all_allowed = true;
        for choice in choices {
            let Choice {
                approval,
                approve,
                edited,
            } = choice;
            let reason = wanted.reason.clone();
            let decided = decide(gateway, approval, approve, reason, edited).await?;
            all_allowed &= note(printer, approval, decided) != Noted::Refused;
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
        print_envelope(
            printer,
            &whole(&self.session.gateway, envelope).await,
            source,
        );
        Ok(exit)
    }
}

impl Wanted {
    fn of(arguments: &ResumeArgs) -> Result<Self, CommandError> {
        let reason = arguments.reason.as_deref().unwrap_or_default();
        let reason = decision_reason(reason).map_err(CommandError::usage)?;
        let edited: Result<Vec<_>, _> = arguments
            .edit
            .iter()
            .map(|edit| parsed_edit(edit))
            .collect();
        let wanted = Self {
            approve: arguments.approve.clone(),
            deny: arguments.deny.clone(),
            edited: edited?,
            reason,
        };
        let decides =
            wanted.approve.is_some() || wanted.deny.is_some() || !wanted.edited.is_empty();
        if wanted.reason.is_some() && !decides {
            let error = anyhow!("`--reason` is without a decision");
            return Err(CommandError::usage(error).with_hint("add `--approve` or `--deny`"));
        }
        let is_of_all = |ids: &Option<Vec<String>>| ids.as_ref().is_some_and(Vec::is_empty);
        if is_of_all(&wanted.approve) && is_of_all(&wanted.deny) {
            let error = anyhow!("`--approve` and `--deny` are both without a question");
            return Err(CommandError::usage(error)
                .with_hint("name the questions of one of them: `--deny AP`"));
        }
        Ok(wanted)
    }

    /// The decision about each question of an execution, of which `all` are the questions.
    fn choices<'a>(&self, all: &'a [Approval]) -> Result<Vec<Choice<'a>>, CommandError> {
        let mut choices: Vec<Choice<'a>> = Vec::new();
        let mut add = |id: &str, approve: bool, edited: Option<String>| {
            let approval = named(all, id)?;
            let known = choices
                .iter_mut()
                .find(|choice| choice.approval.id == approval.id);
            match known {
                None => choices.push(Choice {
                    approval,
                    approve,
                    edited,
                }),
                Some(known) if known.approve == approve && known.edited.is_none() => {
                    known.edited = edited;
                }
                Some(_) => {
                    let id = clean_line(id, ID_BYTES_MAX);
                    return Err(CommandError::usage(anyhow!(
                        "`{id}` is given two decisions"
                    )));
                }
            }
            Ok(())
        };
        let ids = |ids: &Option<Vec<String>>| ids.clone().unwrap_or_default();
        for id in ids(&self.approve) {
            add(&id, true, None)?;
        }
        for (id, edited) in &self.edited {
            add(id, true, Some(edited.clone()))?;
        }
        for id in ids(&self.deny) {
            add(&id, false, None)?;
        }
        let rest = match (&self.approve, &self.deny) {
            (Some(ids), _) if ids.is_empty() => Some(true),
            (_, Some(ids)) if ids.is_empty() => Some(false),
            _ => None,
        };
        let Some(approve) = rest else {
            return Ok(choices);
        };
        let waiting = all
            .iter()
            .filter(|approval| approval.state == ApprovalState::Pending);
        for approval in waiting {
            let is_chosen = |choice: &Choice<'_>| choice.approval.id == approval.id;
            if !choices.iter().any(is_chosen) {
                choices.push(Choice {
                    approval,
                    approve,
                    edited: None,
                });
            }
        }
        Ok(choices)
    }
}

/// Id and arguments of `AP=JSON`. The arguments stay as they are written.
fn parsed_edit(edit: &str) -> Result<(String, String), CommandError> {
    let hint = "write the id and all arguments of the call: `--edit 'ap_12={\"to\": \"anna\"}'`";
    let Some((id, json)) = edit.split_once('=').filter(|(id, _)| !id.is_empty()) else {
        let error = anyhow!("`--edit` has no id");
        return Err(CommandError::usage(error).with_hint(hint));
    };
    match serde_json::from_str::<Value>(json) {
        Ok(Value::Object(_)) => Ok((id.to_owned(), json.to_owned())),
        Ok(_) => {
            let error = anyhow!("the arguments of `--edit` are not a JSON object");
            Err(CommandError::usage(error).with_hint(hint))
        }
        Err(error) => {
            let error = anyhow::Error::new(error).context("the arguments of `--edit` are not JSON");
            Err(CommandError::usage(error).with_hint(hint))
        }
    }
}

#[cfg(test)]
mod tests {
    use limbeck_domain::{ApprovalTerms, CallId, EffectClass, ToolId};

    use super::*;

    fn approval(id: &str, state: ApprovalState) -> Approval {
        Approval {
            id: ApprovalId::new(id),
            execution: ExecutionId::new("ex_1"),
            call: CallId(1),
            principal: "local".to_owned(),
            origin: "run".to_owned(),
            tool: ToolId::new("mail", "send"),
            pin: None,
            arguments: "{}".to_owned(),
            sha256: String::new(),
            class: EffectClass::Write,
            class_from: "operator".to_owned(),
            rule: None,
            preset: None,
            reason: None,
            line: None,
            origins: Default::default(),
            terms: ApprovalTerms {
                channels: Vec::new(),
                approvers: Vec::new(),
                quorum: 1,
                not_requester: false,
                edit: Vec::new(),
                remember: false,
                deny_on_expiry: false,
            },
            created_us: 0,
            expires_us: 0,
            state,
            decisions: Vec::new(),
        }
    }

    fn ids(ids: &[&str]) -> Option<Vec<String>> {
        Some(ids.iter().map(|id| (*id).to_owned()).collect())
    }

    fn chosen(wanted: &Wanted) -> Vec<(String, bool)> {
        let all = [
            approval("ap_1a", ApprovalState::Pending),
            approval("ap_1b", ApprovalState::Pending),
            approval("ap_2c", ApprovalState::Denied),
        ];
        let choices = wanted.choices(&all).unwrap();
        let choices = choices.into_iter();
        choices
            .map(|choice| (choice.approval.id.to_string(), choice.approve))
            .collect()
    }

    #[test]
    fn a_decision_without_ids_is_about_all_that_wait_and_have_no_other() {
        let yes = |id: &str| (id.to_owned(), true);
        let no = |id: &str| (id.to_owned(), false);
        let all = Wanted {
            approve: ids(&[]),
            ..Wanted::default()
        };
        assert_eq!(chosen(&all), [yes("ap_1a"), yes("ap_1b")]);
        let but_one = Wanted {
            approve: ids(&[]),
            deny: ids(&["ap_1b"]),
            ..Wanted::default()
        };
        assert_eq!(chosen(&but_one), [no("ap_1b"), yes("ap_1a")]);
        // A decided one is named again, so that the answer can say whose decision counts.
        let decided = Wanted {
            deny: ids(&["ap_2"]),
            ..Wanted::default()
        };
        assert_eq!(chosen(&decided), [no("ap_2c")]);
        let edited = Wanted {
            approve: ids(&["ap_1a"]),
            edited: vec![("ap_1a".to_owned(), "{}".to_owned())],
            ..Wanted::default()
        };
        assert_eq!(chosen(&edited), [yes("ap_1a")]);
    }

    #[test]
    fn an_id_of_several_questions_or_with_two_decisions_is_refused() {
        let all = [
            approval("ap_1a", ApprovalState::Pending),
            approval("ap_1b", ApprovalState::Pending),
        ];
        let refused = |wanted: Wanted| wanted.choices(&all).unwrap_err().error.to_string();
        let several = Wanted {
            approve: ids(&["ap_1"]),
            ..Wanted::default()
        };
        assert_eq!(
            refused(several),
            "`ap_1` is the beginning of several questions"
        );
        let unknown = Wanted {
            approve: ids(&["ap_9"]),
            ..Wanted::default()
        };
        assert_eq!(refused(unknown), "no question has the id `ap_9`");
        let both = Wanted {
            approve: ids(&["ap_1a"]),
            deny: ids(&["ap_1a"]),
            ..Wanted::default()
        };
        assert_eq!(refused(both), "`ap_1a` is given two decisions");
        let edited = Wanted {
            deny: ids(&["ap_1b"]),
            edited: vec![("ap_1b".to_owned(), "{}".to_owned())],
            ..Wanted::default()
        };
        assert_eq!(refused(edited), "`ap_1b` is given two decisions");
    }

    #[test]
    fn edited_arguments_are_an_object_and_keep_their_text() {
        let edit = parsed_edit("ap_1={\"a\": 1.10, \"b\": \"x=y\"}").unwrap();
        assert_eq!(
            edit,
            (
                "ap_1".to_owned(),
                "{\"a\": 1.10, \"b\": \"x=y\"}".to_owned()
            )
        );
        for wrong in ["", "{}", "={}", "ap_1", "ap_1=", "ap_1=[]", "ap_1={"] {
            assert!(parsed_edit(wrong).is_err(), "{wrong}");
        }
    }
}
