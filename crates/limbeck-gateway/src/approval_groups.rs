//! Questions of one execution that are one question to a person: equal tool, definition, class and place in the program.
//!
//! A person decides about each member or some of them together. A question of another execution is never in the group, and
//! neither is one whose place in the program is not known.

use limbeck_domain::{Approval, ApprovalState, ApprovalTerms};

/// Whether two questions are members of one group.
pub fn are_one_question(one: &Approval, other: &Approval) -> bool {
    let asks_alike = |one: &Approval| (one.rule.clone(), one.preset.clone(), terms(one));
    one.execution == other.execution
        && one.tool == other.tool
        && one.pin == other.pin
        && one.class == other.class
        && one.line.is_some()
        && one.line == other.line
        && asks_alike(one) == asks_alike(other)
}

/// Who may decide and how, without what a choice to remember would be for: that differs with the arguments.
fn terms(approval: &Approval) -> ApprovalTerms {
    ApprovalTerms {
        offer: None,
        ..approval.terms.clone()
    }
}

/// The questions that are pending, in groups: each in the order of its first member, the members in the order of `approvals`.
pub fn groups<'a>(approvals: impl IntoIterator<Item = &'a Approval>) -> Vec<Vec<&'a Approval>> {
    let mut groups: Vec<Vec<&Approval>> = Vec::new();
    let pending = approvals.into_iter();
    for approval in pending.filter(|it| it.state == ApprovalState::Pending) {
        let is_its = |group: &&mut Vec<&Approval>| {
            let first = group.first();
            first.is_some_and(|first| are_one_question(first, approval))
        };
        match groups.iter_mut().find(is_its) {
            Some(group) => group.push(approval),
            None => groups.push(vec![approval]),
        }
    }
    groups
}

/// The members that a text such as `1-3,7` names, as places from 0; `None` when it is not such a text or names one that is not
/// there.
pub fn members(text: &str, count: usize) -> Option<Vec<usize>> {
    let number = |text: &str| -> Option<usize> {
        let text = text.trim();
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let number: usize = is_number.then(|| text.parse().ok()).flatten()?;
        (1..=count).contains(&number).then(|| number - 1)
    };
    let mut members = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return None;
        }
        members.extend(first..=last);
    }
    members.sort_unstable();
    members.dedup();
    Some(members)
}

#[cfg(test)]
mod tests {
    use limbeck_domain::{ApprovalId, CallId, EffectClass, ExecutionId, ToolId};

    use super::*;

    fn approval(number: u32, execution: &str, line: Option<u32>) -> Approval {
        Approval {
            changed: Vec::new(),
            id: ApprovalId::new(format!("ap_{number:032x}")),
            execution: ExecutionId::new(execution),
            call: CallId(number),
            principal: "local".to_owned(),
            origin: "run".to_owned(),
            tool: ToolId::new("mail", "send"),
            pin: Some("pin".to_owned()),
            arguments: format!("{{\"n\":{number}}}"),
            sha256: format!("{number:064x}"),
            class: EffectClass::Write,
            class_from: "operator".to_owned(),
            rule: Some("r".to_owned()),
            preset: None,
            reason: None,
            line,
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
            expires_us: 1,
            state: ApprovalState::Pending,
            decisions: Vec::new(),
        }
    }

    #[test]
    fn equal_questions_of_one_execution_are_one_and_those_of_another_never_join() {
        let at = |number, execution| approval(number, execution, Some(3));
        let mut all = vec![at(1, "ex_1"), at(2, "ex_2"), at(3, "ex_1"), at(4, "ex_1")];
        all.push(approval(5, "ex_1", Some(4)));
        all.push(approval(6, "ex_1", None));
        all.push(approval(7, "ex_1", None));
        all[3].state = ApprovalState::Approved;
        let numbers = |all: &[Approval]| -> Vec<Vec<u32>> {
            let groups = groups(all);
            let group = |group: &Vec<&Approval>| group.iter().map(|it| it.call.0).collect();
            groups.iter().map(group).collect()
        };
        let apart = vec![vec![1, 3], vec![2], vec![5], vec![6], vec![7]];
        assert_eq!(numbers(&all), apart);
        let changes: [fn(&mut Approval); 5] = [
            |it| it.pin = None,
            |it| it.class = EffectClass::Unknown,
            |it| it.tool = ToolId::new("mail", "list"),
            |it| it.rule = None,
            |it| it.terms.quorum = 2,
        ];
        for change in changes {
            let mut other = all[2].clone();
            assert!(are_one_question(&all[0], &other));
            change(&mut other);
            assert!(!are_one_question(&all[0], &other));
        }
    }

    #[test]
    fn members_are_named_by_numbers_and_ranges_that_are_there() {
        assert_eq!(members("1-3,7", 7), Some(vec![0, 1, 2, 6]));
        assert_eq!(members(" 2 , 2-3", 3), Some(vec![1, 2]));
        for wrong in [
            "", "0", "4", "3-1", "1-4", "1-", "-1", "1,,2", "a", "+1", "1-2-3",
        ] {
            assert_eq!(members(wrong, 3), None, "{wrong}");
        }
    }
}
