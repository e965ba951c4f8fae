//! What one person's decision changes about a question.

use limbeck_domain::{Approval, ApprovalDecision, ApprovalState};

/// Whether a decision counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DecisionEffect {
    /// It counts.
    Counts,
    /// The same person had decided the same.
    Same,
    /// The question does not wait any more.
    TooLate,
    /// Its time had passed when it was decided: it is expired from now on.
    Expires,
}

/// Adds `decision` to a question, and moves it to its next state.
///
/// The person's earlier decision is replaced: each person has one. A denial ends the question. An approval does when
/// `terms.quorum` people approve the same arguments, or the same lines of a plan: those that one of them edited are not those that
/// another one read.
pub(crate) fn add(approval: &mut Approval, decision: ApprovalDecision) -> DecisionEffect {
    let is_same = |earlier: &ApprovalDecision| {
        earlier.by == decision.by
            && earlier.approve == decision.approve
            && is_of_the_same(earlier, &decision)
    };
    let is_repeated = approval.decisions.iter().any(is_same);
    match approval.state {
        ApprovalState::Pending => {}
        ApprovalState::Approved | ApprovalState::Denied | ApprovalState::Spent if is_repeated => {
            return DecisionEffect::Same;
        }
        ApprovalState::Approved
        | ApprovalState::Denied
        | ApprovalState::Expired
        | ApprovalState::Withdrawn
        | ApprovalState::Spent => return DecisionEffect::TooLate,
    }
    if decision.at_us >= approval.expires_us {
        approval.state = ApprovalState::Expired;
        return DecisionEffect::Expires;
    }
    if is_repeated {
        return DecisionEffect::Same;
    }
    let approvals = approval.decisions.iter().filter(|earlier| {
        earlier.by != decision.by && earlier.approve && is_of_the_same(earlier, &decision)
    });
    let approvals = approvals.count() + 1;
    approval.state = match decision.approve {
        false => ApprovalState::Denied,
        true if approvals >= approval.terms.quorum as usize => ApprovalState::Approved,
        true => ApprovalState::Pending,
    };
    approval
        .decisions
        .retain(|earlier| earlier.by != decision.by);
    approval.decisions.push(decision);
    DecisionEffect::Counts
}

/// Whether two approvals are of the same arguments, or of the same lines of a plan.
fn is_of_the_same(one: &ApprovalDecision, other: &ApprovalDecision) -> bool {
    one.edited == other.edited && one.lines == other.lines
}

#[cfg(test)]
mod tests {
    use limbeck_domain::{
        ApprovalChannel, ApprovalId, ApprovalTerms, CallId, EffectClass, ExecutionId, ToolId,
    };

    use super::*;

    fn question(quorum: u32) -> Approval {
        Approval {
            changed: Vec::new(),
            id: ApprovalId::new("ap_1"),
            execution: ExecutionId::new("ex_1"),
            call: CallId(1),
            principal: "local".to_owned(),
            origin: String::new(),
            tool: ToolId::new("github", "create_issue"),
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
                channels: vec![ApprovalChannel::Cli],
                approvers: Vec::new(),
                quorum,
                not_requester: false,
                edit: Vec::new(),
                offer: None,
                view_arguments: Vec::new(),
                deny_on_expiry: false,
            },
            created_us: 0,
            expires_us: 100,
            state: ApprovalState::Pending,
            decisions: Vec::new(),
        }
    }

    fn decide(
        approval: &mut Approval,
        by: &str,
        approve: bool,
        edited: Option<&str>,
    ) -> DecisionEffect {
        let decision = ApprovalDecision {
            approve,
            by: by.to_owned(),
            channel: ApprovalChannel::Cli,
            reason: None,
            edited: edited.map(str::to_owned),
            lines: None,
            stop: false,
            remember: None,
            remembered: None,
            at_us: 1,
        };
        add(approval, decision)
    }

    #[test]
    fn a_quorum_of_two_is_two_people_and_one_who_repeats_it_is_one() {
        let mut approval = question(2);
        assert_eq!(
            decide(&mut approval, "user:a", true, None),
            DecisionEffect::Counts
        );
        assert_eq!(
            decide(&mut approval, "user:a", true, None),
            DecisionEffect::Same
        );
        assert_eq!(approval.state, ApprovalState::Pending);
        assert_eq!(
            decide(&mut approval, "user:b", true, None),
            DecisionEffect::Counts
        );
        assert_eq!(approval.state, ApprovalState::Approved);
        assert_eq!(
            decide(&mut approval, "user:a", true, None),
            DecisionEffect::Same
        );
        assert_eq!(
            decide(&mut approval, "user:c", true, None),
            DecisionEffect::TooLate
        );
        assert_eq!(
            decide(&mut approval, "user:a", false, None),
            DecisionEffect::TooLate
        );
        assert_eq!(approval.decisions.len(), 2);
    }

    #[test]
    fn a_quorum_is_of_people_who_approve_the_same_arguments() {
        let mut approval = question(2);
        decide(&mut approval, "user:a", true, None);
        decide(&mut approval, "user:b", true, Some("{\"to\":1}"));
        assert_eq!(approval.state, ApprovalState::Pending);
        // One who changes his mind has one decision.
        decide(&mut approval, "user:a", true, Some("{\"to\":1}"));
        assert_eq!(approval.state, ApprovalState::Approved);
        assert_eq!(approval.decisions.len(), 2);
    }

    #[test]
    fn a_denial_by_any_person_ends_a_question_that_others_approved() {
        let mut approval = question(3);
        decide(&mut approval, "user:a", true, None);
        assert_eq!(
            decide(&mut approval, "user:a", false, None),
            DecisionEffect::Counts
        );
        assert_eq!(approval.state, ApprovalState::Denied);
    }
}
