//! Decisions that the arguments of `limbeck resume` ask for, as decisions about single questions.

use anyhow::anyhow;
use limbeck_domain::text::clean_line;
use limbeck_domain::{Approval, ApprovalState, RememberChoice};
use limbeck_gateway::ChosenLines;
use limbeck_gateway::approval_groups::are_one_question;
use limbeck_gateway::approval_view::{decision_reason, line_numbers};
use serde_json::Value;

use super::super::approvals::named;
use crate::cli::ResumeArgs;
use crate::exit::CommandError;

/// Longest id in a message, in bytes.
const ID_BYTES_MAX: usize = 80;

/// Decisions that the arguments ask for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Wanted {
    /// `None`: nothing is approved. Without ids: all that wait.
    pub(super) approve: Option<Vec<String>>,
    pub(super) deny: Option<Vec<String>>,
    /// Ids with the arguments to send instead.
    pub(super) edited: Vec<(String, String)>,
    pub(super) reason: Option<String>,
    /// What is accepted of a plan.
    pub(super) lines: Option<ChosenLines>,
    /// How long the approvals count for other calls.
    pub(super) remember: Option<RememberChoice>,
}

/// A decision about one question.
#[derive(Debug)]
pub(super) struct Choice<'a> {
    pub(super) approval: &'a Approval,
    pub(super) approve: bool,
    pub(super) edited: Option<String>,
    /// What is accepted, where the question is about a plan.
    pub(super) lines: Option<ChosenLines>,
}

impl Wanted {
    /// Reads the arguments.
    ///
    /// # Errors
    ///
    /// Arguments that contradict each other or are not of their form.
    pub(super) fn of(arguments: &ResumeArgs) -> Result<Self, CommandError> {
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
            lines: lines_of(arguments)?,
            remember: arguments.remember,
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
    pub(super) fn choices<'a>(&self, all: &'a [Approval]) -> Result<Vec<Choice<'a>>, CommandError> {
        let mut choices = self.decisions(all)?;
        let plans = choices
            .iter_mut()
            .filter(|choice| choice.approve && choice.approval.is_plan());
        let mut is_used = self.lines.is_none();
        for plan in plans {
            plan.lines.clone_from(&self.lines);
            is_used = true;
        }
        if !is_used {
            let error = anyhow!("`--lines` and `--many` are without a plan that is approved");
            return Err(CommandError::usage(error)
                .with_hint("`limbeck approvals` shows what each question is about"));
        }
        Ok(choices)
    }

    fn decisions<'a>(&self, all: &'a [Approval]) -> Result<Vec<Choice<'a>>, CommandError> {
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
                    lines: None,
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
                    lines: None,
                });
            }
        }
        Ok(choices)
    }
}

/// What `--lines` and `--many` choose.
fn lines_of(arguments: &ResumeArgs) -> Result<Option<ChosenLines>, CommandError> {
    let ResumeArgs { lines, many, .. } = arguments;
    let hint = "write the numbers of the lines that the question shows: `--lines 1,3`";
    let numbers = line_numbers(lines.as_deref().unwrap_or_default());
    let numbers = numbers.map_err(|error| CommandError::usage(error).with_hint(hint))?;
    if lines.is_some() && numbers.is_none() {
        let error = anyhow!("`--lines` names no line");
        return Err(CommandError::usage(error).with_hint(hint));
    }
    let chosen = ChosenLines {
        numbers,
        many: *many,
    };
    Ok((chosen != ChosenLines::default()).then_some(chosen))
}

/// The choices in acts: those about members of one group that say the same are one.
pub(super) fn acts(choices: Vec<Choice<'_>>) -> Vec<Vec<Choice<'_>>> {
    let mut acts: Vec<Vec<Choice<'_>>> = Vec::new();
    for choice in choices {
        let is_its = |act: &&mut Vec<Choice<'_>>| {
            act.first().is_some_and(|first| {
                first.approve == choice.approve && are_one_question(first.approval, choice.approval)
            })
        };
        match acts.iter_mut().find(is_its) {
            Some(act) => act.push(choice),
            None => acts.push(vec![choice]),
        }
    }
    acts
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
    use limbeck_domain::{ApprovalId, ApprovalTerms, CallId, EffectClass, ExecutionId, ToolId};

    use super::*;

    fn approval(id: &str, state: ApprovalState) -> Approval {
        Approval {
            changed: Vec::new(),
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
                offer: None,
                view_arguments: Vec::new(),
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
    fn lines_go_to_the_plan_and_to_no_other_question() {
        let plan = Approval {
            call: limbeck_domain::PLAN_CALL,
            ..approval("ap_1a", ApprovalState::Pending)
        };
        let call = approval("ap_2b", ApprovalState::Pending);
        let first_and_third = ChosenLines {
            numbers: Some(vec![1, 3]),
            many: None,
        };
        let wanted = Wanted {
            approve: ids(&[]),
            lines: Some(first_and_third.clone()),
            ..Wanted::default()
        };
        let all = [plan.clone(), call.clone()];
        let choices = wanted.choices(&all).unwrap();
        let lines: Vec<_> = choices.into_iter().map(|choice| choice.lines).collect();
        assert_eq!(lines, [Some(first_and_third), None]);
        assert!(wanted.choices(&[call]).is_err());
        let denied = Wanted {
            approve: None,
            deny: ids(&[]),
            ..wanted
        };
        assert!(denied.choices(&[plan]).is_err());
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
