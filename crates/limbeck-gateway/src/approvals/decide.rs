//! Decisions: who may give them, and what they result in.

use limbeck_domain::{
    AcceptedLines, Approval, ApprovalChannel, ApprovalDecision, ApprovalId, CallCode, CallError,
    CompactArguments, EffectClass, Language, PLAN_MANY_MAX, RememberChoice,
};
use limbeck_store::{Decided, StoreError};
use serde_json::{Map, Value};

use super::remember::may_remember;
use crate::approval_view::is_visible_to;
use crate::broker::{BrokerContext, asked_about};
use crate::clock::now_us;

/// Bytes of a reason that is kept.
const REASON_BYTES_MAX: usize = 4 << 10;

/// Who decides, by the credential of the channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decider {
    /// `user:NAME` and each `group:NAME`; the first names the person.
    pub who: Vec<String>,
    /// Principal of the person. Only questions of its own executions exist for it, unless a question names it as approver
    /// or the person uses the command line.
    pub principal: String,
    /// Way by which the decision comes.
    pub channel: ApprovalChannel,
}

/// A decision about one question.
#[derive(Clone, Debug)]
pub struct DecisionRequest {
    /// The question.
    pub approval: ApprovalId,
    /// Whether the call may be sent.
    pub approve: bool,
    /// Who decides.
    pub decider: Decider,
    /// Why, for the program and the model.
    pub reason: Option<String>,
    /// JSON text of the arguments to send instead.
    pub edited: Option<String>,
    /// What is accepted of a plan; absent for all lines but the destructive ones.
    pub lines: Option<ChosenLines>,
    /// Whether a denial ends the program too.
    pub stop: bool,
    /// For how long the approval counts for calls that are alike.
    pub remember: Option<RememberChoice>,
}

/// What a person chose of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChosenLines {
    /// Numbers of the lines, from 1; absent for all but the destructive ones.
    pub numbers: Option<Vec<u32>>,
    /// How many calls each line covers that is repeated many times; absent for what the plan says.
    pub many: Option<u32>,
}

/// What resulted from a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DecisionReport {
    /// It counts. The question may still be pending, where several people have to approve.
    Decided(Box<Approval>),
    /// The same person had decided the same.
    Same(Box<Approval>),
    /// It was decided, expired or withdrawn before.
    TooLate(Box<Approval>),
}

/// Why a decision does not count.
#[derive(Clone, Debug, thiserror::Error)]
pub enum DecisionError {
    /// There is no such question for this person.
    #[error("there is no such question")]
    Unknown,
    /// This person, or this channel, may not decide so.
    #[error("{why}")]
    NotAllowed {
        /// The rule that forbids it.
        why: String,
        /// The next step.
        hint: String,
    },
    /// The rules deny the call now, with these arguments, so that no approval counts.
    #[error("{why}")]
    Overruled {
        /// The rule that denies it.
        why: String,
        /// The next step.
        hint: String,
    },
    /// The arguments cannot be sent instead.
    #[error("the arguments cannot be sent: {0}")]
    InvalidEdit(CallError),
    /// The store failed; nothing was decided.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl BrokerContext {
    /// Records a decision, once the right of who gives it was checked.
    ///
    /// # Errors
    ///
    /// [`DecisionError`]; then nothing was decided.
    pub(crate) async fn decide(
        &self,
        request: DecisionRequest,
    ) -> Result<DecisionReport, DecisionError> {
        self.decide_at(request, now_us()).await
    }

    /// [`Self::decide`] at a time that the caller read: decisions of one time by one person are one act.
    ///
    /// # Errors
    ///
    /// [`DecisionError`]; then nothing was decided.
    pub(crate) async fn decide_at(
        &self,
        request: DecisionRequest,
        at_us: u64,
    ) -> Result<DecisionReport, DecisionError> {
        let DecisionRequest {
            approval: id,
            approve,
            decider,
            reason,
            edited,
            lines,
            stop,
            remember,
        } = request;
        let approval = self.store.approval(&id).await?;
        let approval = approval.filter(|it| is_visible_to(it, &decider));
        let approval = approval.ok_or(DecisionError::Unknown)?;
        may_decide(&approval, &decider, approve)?;
        if let Some(choice) = remember {
            may_remember(&approval, &decider, approve && edited.is_none(), choice)?;
        }
        let edited = match edited {
            Some(edited) if approve => Some(self.edited(&approval, &edited)?),
            Some(_) | None => None,
        };
        if approve {
            let arguments = edited.as_ref().unwrap_or(&approval.arguments);
            self.may_decide_now(&approval, &decider, arguments)?;
        }
        let lines = accepted_lines(&approval, approve, lines)?;
        let decision = ApprovalDecision {
            approve,
            by: decider.who.first().cloned().unwrap_or_default(),
            channel: decider.channel,
            reason: reason
                .map(|reason| limbeck_domain::text::cut(&reason, REASON_BYTES_MAX).to_owned()),
            edited,
            lines,
            stop: stop && !approve,
            remember,
            remembered: None,
            at_us,
        };
        let decided = self.store.decide(&id, decision).await?;
        self.approvals.note_change();
        match decided {
            Decided::Counted(approval) => Ok(DecisionReport::Decided(approval)),
            Decided::Same(approval) => Ok(DecisionReport::Same(approval)),
            Decided::TooLate(approval) => Ok(DecisionReport::TooLate(approval)),
            Decided::Unknown => Err(DecisionError::Unknown),
        }
    }

    /// The changed arguments as they will be sent.
    fn edited(&self, approval: &Approval, edited: &str) -> Result<String, DecisionError> {
        let invalid = |message: String| {
            DecisionError::InvalidEdit(
                CallError::new(CallCode::InvalidArguments, message)
                    .with_hint("give the whole arguments as one JSON object"),
            )
        };
        let (asked, given) = (members(&approval.arguments), members(edited));
        let (Some(asked), Some(given)) = (asked, given) else {
            return Err(invalid("they are not a JSON object".to_owned()));
        };
        let changed = changed_names(&asked, &given);
        let is_listed = |name: &str| {
            let mut edit = approval.terms.edit.iter();
            edit.any(|listed| listed == "*" || listed == name)
        };
        if let Some(name) = changed.iter().find(|name| !is_listed(name)) {
            let name = limbeck_domain::text::clean_line(name, 128);
            return Err(DecisionError::NotAllowed {
                why: format!(
                    "the policy does not let any person change the argument `{name}` of this call"
                ),
                hint: "deny the call with a reason, so that the program can be written again"
                    .to_owned(),
            });
        }
        let catalog = self.live_catalog.snapshot();
        let read = asked_about(approval);
        let Some(tool) = read.as_ref().or_else(|| catalog.tool(&approval.tool)) else {
            return Err(invalid(format!(
                "`{}` is not listed any more",
                approval.tool
            )));
        };
        let accepted = tool
            .accept(edited, Language::Typescript)
            .map_err(DecisionError::InvalidEdit)?;
        Ok(CompactArguments::as_str(&accepted.arguments).to_owned())
    }
}

/// The lines that an approval accepts, in their order; `None` where no plan is approved.
fn accepted_lines(
    approval: &Approval,
    approve: bool,
    lines: Option<ChosenLines>,
) -> Result<Option<AcceptedLines>, DecisionError> {
    let refuse = |why: String, hint: &str| {
        let hint = hint.to_owned();
        Err(DecisionError::NotAllowed { why, hint })
    };
    let Some(plan) = approval.plan().filter(|_| approve) else {
        return match lines {
            None => Ok(None),
            Some(_) => refuse(
                "lines belong to the approval of a plan".to_owned(),
                "leave the lines out",
            ),
        };
    };
    let ChosenLines { numbers, many } = lines.unwrap_or_default();
    if many.is_some_and(|many| !(1..=PLAN_MANY_MAX).contains(&many)) {
        return refuse(
            format!("a line covers from 1 to {PLAN_MANY_MAX} calls"),
            "give a smaller number of calls",
        );
    }
    let Some(mut numbers) = numbers else {
        let numbers = plan.accepted_together();
        return Ok(Some(AcceptedLines { numbers, many }));
    };
    numbers.sort_unstable();
    numbers.dedup();
    let unknown = numbers.iter().find(|number| plan.line(**number).is_none());
    match unknown {
        Some(number) => refuse(
            format!("the plan has no line {number}, it has {}", plan.lines.len()),
            "name the lines by their numbers, such as 1,3",
        ),
        None if numbers.is_empty() => refuse(
            "no line is chosen".to_owned(),
            "name at least one line, or deny the plan",
        ),
        None => Ok(Some(AcceptedLines { numbers, many })),
    }
}

fn members(json: &str) -> Option<Map<String, Value>> {
    serde_json::from_str(json).ok()
}

/// Names of the top-level arguments that differ.
fn changed_names<'a>(asked: &'a Map<String, Value>, given: &'a Map<String, Value>) -> Vec<&'a str> {
    let changed = given
        .iter()
        .filter(|(name, value)| asked.get(*name) != Some(value));
    let removed = asked.iter().filter(|(name, _)| !given.contains_key(*name));
    let names = changed.chain(removed);
    names.map(|(name, _)| name.as_str()).collect()
}

fn is_approver(approval: &Approval, decider: &Decider) -> bool {
    let lists = &approval.terms.approvers;
    !lists.is_empty() && lists.iter().all(|list| has(list, decider))
}

/// The lists in one sentence.
fn names(lists: &[Vec<String>]) -> String {
    let lists: Vec<String> = lists.iter().map(|list| list.join(" or ")).collect();
    lists.join(", who is also ")
}

fn has(approvers: &[String], decider: &Decider) -> bool {
    approvers
        .iter()
        .any(|approver| decider.who.contains(approver))
}

/// Whether this person may decide so by this channel.
pub(super) fn may_decide(
    approval: &Approval,
    decider: &Decider,
    approve: bool,
) -> Result<(), DecisionError> {
    let terms = &approval.terms;
    let refuse = |why: &str, hint: &str| {
        Err(DecisionError::NotAllowed {
            why: why.to_owned(),
            hint: hint.to_owned(),
        })
    };
    // Anyone involved may deny.
    if !approve {
        return Ok(());
    }
    let is_model = decider.channel == ApprovalChannel::Model;
    let is_listed = terms.channels.contains(&ApprovalChannel::Model);
    if is_model && (!is_listed || approval.class == EffectClass::Destructive) {
        return refuse(
            "a model cannot approve this call",
            "ask the user to decide, and wait with `resume`",
        );
    }
    if !terms.channels.contains(&decider.channel) {
        let channels: Vec<&str> = terms.channels.iter().map(|it| it.as_str()).collect();
        return refuse(
            &format!(
                "the policy does not let this call be approved by `{}`",
                decider.channel.as_str()
            ),
            &format!("approve it by {}", channels.join(" or ")),
        );
    }
    if !terms.approvers.is_empty() && !is_approver(approval, decider) {
        return refuse(
            &format!("only {} may approve this call", names(&terms.approvers)),
            "ask one of them",
        );
    }
    if terms.not_requester && approval.principal == decider.principal {
        return refuse(
            "who asked for this call may not approve it",
            "ask another person to approve it",
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use limbeck_domain::{ApprovalState, ApprovalTerms, CallId, ExecutionId, ToolId};

    use super::*;

    fn approval(class: EffectClass, channels: &[ApprovalChannel]) -> Approval {
        Approval {
            changed: Vec::new(),
            id: ApprovalId::new("ap_1"),
            execution: ExecutionId::new("ex_1"),
            call: CallId(1),
            principal: "anna".to_owned(),
            origin: "mcp".to_owned(),
            tool: ToolId::new("mail", "send"),
            pin: None,
            arguments: r#"{"to":"a","text":"b"}"#.to_owned(),
            sha256: String::new(),
            class,
            class_from: "operator".to_owned(),
            rule: Some("r".to_owned()),
            preset: None,
            reason: None,
            line: None,
            origins: Default::default(),
            terms: ApprovalTerms {
                channels: channels.to_vec(),
                approvers: Vec::new(),
                quorum: 1,
                not_requester: false,
                edit: Vec::new(),
                offer: None,
                view_arguments: Vec::new(),
                deny_on_expiry: false,
            },
            created_us: 0,
            expires_us: 1,
            state: ApprovalState::Pending,
            decisions: Vec::new(),
        }
    }

    fn by(name: &str, groups: &[&str], channel: ApprovalChannel) -> Decider {
        let groups = groups.iter().map(|group| format!("group:{group}"));
        Decider {
            who: std::iter::once(format!("user:{name}"))
                .chain(groups)
                .collect(),
            principal: name.to_owned(),
            channel,
        }
    }

    #[test]
    fn a_model_approves_only_where_a_rule_lists_it_and_never_a_destructive_call() {
        use ApprovalChannel::{Cli, Model};
        let anna = by("anna", &[], Model);
        let plain = approval(EffectClass::Write, &[Cli]);
        assert!(may_decide(&plain, &anna, true).is_err());
        assert!(may_decide(&plain, &anna, false).is_ok());
        let listed = approval(EffectClass::Write, &[Cli, Model]);
        assert!(may_decide(&listed, &anna, true).is_ok());
        let destructive = approval(EffectClass::Destructive, &[Cli, Model]);
        assert!(may_decide(&destructive, &anna, true).is_err());
        assert!(may_decide(&destructive, &by("anna", &[], Cli), true).is_ok());
    }

    #[test]
    fn approvers_channels_and_the_requester_are_held_to_the_rule_and_anyone_involved_denies() {
        use ApprovalChannel::{Browser, Cli};
        let mut question = approval(EffectClass::Write, &[Browser]);
        assert!(may_decide(&question, &by("anna", &[], Cli), true).is_err());
        assert!(may_decide(&question, &by("anna", &[], Cli), false).is_ok());
        assert!(may_decide(&question, &by("anna", &[], Browser), true).is_ok());
        question.terms.approvers = vec![vec!["group:leads".to_owned()]];
        assert!(may_decide(&question, &by("anna", &[], Browser), true).is_err());
        let lead = by("bert", &["leads"], Browser);
        assert!(may_decide(&question, &lead, true).is_ok());
        assert!(is_visible_to(&question, &lead));
        assert!(!is_visible_to(&question, &by("carl", &["sales"], Browser)));
        assert!(is_visible_to(&question, &by("local", &[], Cli)));
        question.terms.not_requester = true;
        assert!(may_decide(&question, &by("anna", &["leads"], Browser), true).is_err());
    }

    #[test]
    fn changed_arguments_are_those_that_differ_are_new_or_are_gone() {
        let asked = members(r#"{"to":"a","text":"b","n":1}"#).unwrap();
        let given = members(r#"{"to":"a","text":"c","cc":"d"}"#).unwrap();
        let mut changed = changed_names(&asked, &given);
        changed.sort_unstable();
        assert_eq!(changed, ["cc", "n", "text"]);
    }
}
