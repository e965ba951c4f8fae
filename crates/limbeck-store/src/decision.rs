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
/// `terms.quorum` people approve the same arguments: those that one of them edited are not those that another one read.
pub(crate) fn add(approval: &mut Approval, decision: ApprovalDecision) -> DecisionEffect {
    let is_same = |earlier: &ApprovalDecision| {
        earlier.by == decision.by
            && earlier.approve == decision.approve
            && earlier.edited == decision.edited
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
        earlier.by != decision.by && earlier.approve && earlier.edited == decision.edited
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
