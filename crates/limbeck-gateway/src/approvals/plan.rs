//! What people accepted of the plan of a program, and what the journal has of it.
//!
//! The answer to the question about the plan (`ask_plan`) is spent when the program starts, in the transaction that writes this into
//! the journal; each call that a line covers has the line in its intent. So the journal alone says, after a restart, which
//! lines are accepted and how often each was used.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use limbeck_domain::{ApprovalId, ApprovalPlan, PlanSite};
use limbeck_policy::{Grant, PlanLine};

/// What the journal of an execution has of its plan.
#[derive(Clone, Debug, Default)]
pub(crate) struct PlanRecord {
    /// The question.
    pub(super) approval: Option<ApprovalId>,
    /// Numbers of the accepted lines, once the program started.
    pub(super) lines: Option<Vec<u32>>,
    /// How many calls each line allowed, by its number.
    used: BTreeMap<u32, u32>,
    /// Whether the program has made calls or received results.
    pub(super) has_gone_on: bool,
}

impl PlanRecord {
    /// Notes the question.
    pub(crate) fn asked(&mut self, approval: ApprovalId) {
        self.approval = Some(approval);
    }

    /// Notes the start of the program.
    pub(crate) fn settled(&mut self, approval: ApprovalId, lines: Vec<u32>) {
        self.approval = Some(approval);
        self.lines = Some(lines);
    }

    /// Notes a call, which a line allowed or not.
    pub(crate) fn counted(&mut self, plan_line: Option<u32>) {
        if let Some(line) = plan_line {
            let used = self.used.entry(line).or_default();
            *used = used.saturating_add(1);
        }
    }

    /// Notes whether the program has made calls or received results.
    pub(crate) fn gone_on(self, has_gone_on: bool) -> Self {
        Self {
            has_gone_on,
            ..self
        }
    }

    /// Whether the program has not started, because its plan was not accepted.
    pub(crate) fn is_open(&self) -> bool {
        self.approval.is_some() && self.lines.is_none()
    }
}

/// The plan of one run, as far as people accepted it.
#[derive(Debug, Default)]
pub(crate) struct ProgramPlan {
    record: PlanRecord,
    accepted: OnceLock<AcceptedPlan>,
}

/// Lines that people accepted.
#[derive(Debug)]
struct AcceptedPlan {
    grant: Grant,
    /// The number of each line of the grant in the plan.
    numbers: Vec<u32>,
}

impl ProgramPlan {
    /// What the journal has of it.
    pub(super) fn record(&self) -> &PlanRecord {
        &self.record
    }

    pub(crate) fn new(record: PlanRecord) -> Self {
        Self {
            record,
            accepted: OnceLock::new(),
        }
    }

    /// The accepted lines; `None` where no plan was accepted.
    pub(crate) fn grant(&self) -> Option<&Grant> {
        self.accepted.get().map(|accepted| &accepted.grant)
    }

    /// The number in the plan of a line of the grant.
    pub(crate) fn number_of(&self, line: usize) -> Option<u32> {
        self.accepted.get()?.numbers.get(line).copied()
    }

    /// Puts the lines `numbers` of `plan` in force, as often as they were not used before. `many` is the person's cap of a
    /// line that is repeated many times.
    pub(super) fn accept(&self, plan: &ApprovalPlan, numbers: &[u32], many: Option<u32>) {
        let mut accepted: Vec<(u32, &PlanSite)> = Vec::new();
        for number in numbers {
            let is_known = accepted.iter().any(|(known, _)| known == number);
            let covers = plan.covers(*number, numbers);
            if let Some(site) = plan.line(*number).filter(|_| !is_known && covers) {
                accepted.push((*number, site));
            }
        }
        let used = |(number, _): &(u32, _)| self.record.used.get(number).copied().unwrap_or(0);
        let used: Vec<u32> = accepted.iter().map(used).collect();
        // A destructive line is among them only when the person chose it by its number.
        let lines = accepted.iter().map(|(_, site)| PlanLine {
            count: site.count.capped(many),
            ..PlanLine::of(site, true)
        });
        let Ok(grant) = Grant::resumed(lines.collect(), &used) else {
            return;
        };
        let numbers = accepted.into_iter().map(|(number, _)| number).collect();
        // A program starts once.
        let _ = self.accepted.set(AcceptedPlan { grant, numbers });
    }
}

#[cfg(test)]
mod tests {
    use limbeck_domain::{EffectClass, PlanCount, ToolId};

    use super::*;

    fn plan(counts: &[u32]) -> ApprovalPlan {
        let line = |most: &u32| PlanSite {
            tool: ToolId::new("mail", "send"),
            pin: None,
            class: EffectClass::Write,
            class_from: "operator".to_owned(),
            line: 1,
            count: PlanCount::AtMost(*most),
            constants: Vec::new(),
            open: Vec::new(),
            complete: true,
            from: Vec::new(),
        };
        ApprovalPlan {
            lines: counts.iter().map(line).collect(),
            program_sha256: String::new(),
            input_sha256: String::new(),
            asked_singly: 0,
            unresolved: 0,
        }
    }

    #[test]
    fn lines_keep_their_numbers_and_what_was_used_of_them_before() {
        let mut record = PlanRecord::default();
        for line in [None, Some(3), Some(3), Some(2), Some(9)] {
            record.counted(line);
        }
        let accepted = ProgramPlan::new(record);
        accepted.accept(&plan(&[5, 5, 5]), &[1, 3, 3, 0, 4], None);
        let grant = accepted.grant().unwrap();
        assert_eq!((grant.lines().len(), grant.used()), (2, vec![0, 2]));
        assert_eq!(
            [0, 1, 2].map(|line| accepted.number_of(line)),
            [Some(1), Some(3), None]
        );
    }

    #[test]
    fn a_question_without_a_start_is_open() {
        let mut record = PlanRecord::default();
        assert!(!record.is_open());
        record.asked(ApprovalId::new("ap_1"));
        assert!(record.is_open());
        record.settled(ApprovalId::new("ap_1"), Vec::new());
        assert!(!record.is_open());
    }
}
