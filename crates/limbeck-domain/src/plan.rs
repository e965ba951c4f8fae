//! Plan of a program as one question shows it: the calls in its text that may write.
//!
//! A person accepts lines of it before the first line of the program runs. The plan is the [`arguments`](Approval::arguments)
//! of such a question, byte for byte, so that its hash is the hash of all that was shown.

use serde::{Deserialize, Serialize};

use crate::{Approval, CallId, EffectClass, ToolId};

/// Number of the call in a question about a plan: no call of a program has it.
pub const PLAN_CALL: CallId = CallId(0);

/// Most calls that a person lets a line cover which is repeated many times.
pub const PLAN_MANY_MAX: u32 = 10_000;

/// Calls of a program that one question is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalPlan {
    /// The calls, in the order of the text. The first is number 1.
    pub lines: Vec<PlanSite>,
    /// SHA-256 of the program's text, in hexadecimal.
    pub program_sha256: String,
    /// SHA-256 of the input's JSON text, in hexadecimal.
    pub input_sha256: String,
    /// Further places of the text whose calls are asked about when they are made.
    pub asked_singly: u32,
    /// Those of them whose tool is known only when they run.
    #[serde(default)]
    pub unresolved: u32,
}

/// What a person accepted of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AcceptedLines {
    /// Numbers of the lines, from 1. A destructive line is among them only when the person chose it by its number.
    pub numbers: Vec<u32>,
    /// How many calls each line covers that is [repeated many times](PlanCount::Many), where the person said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub many: Option<u32>,
}

/// One call in the text of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanSite {
    /// The tool.
    pub tool: ToolId,
    /// SHA-256 of the tool's definition, in hexadecimal.
    pub pin: Option<String>,
    /// Class of the tool.
    pub class: EffectClass,
    /// Whose word the class is.
    pub class_from: String,
    /// Line in the program, from 1.
    pub line: u32,
    /// How often the call may be made.
    pub count: PlanCount,
    /// Arguments that are constants of the program. A call has every one of them.
    pub constants: Vec<PlanConstant>,
    /// Names of arguments that the program computes. They may have any value, or be left out.
    pub open: Vec<String>,
    /// Whether there are no other arguments than those of `constants` and `open`.
    pub complete: bool,
    /// Calls whose results the arguments may have parts of.
    pub from: Vec<PlanSource>,
}

impl PlanSite {
    /// Whether each call of the line has exactly the arguments that a person is shown.
    pub fn is_exact(&self) -> bool {
        self.complete && self.open.is_empty()
    }

    /// Whether one call may be of this line and of `other`.
    fn may_be(&self, other: &Self) -> bool {
        let constant = |of: &Self, name: &str| -> Option<String> {
            let mut constants = of.constants.iter();
            let found = constants.find(|constant| constant.name == name);
            found.map(|constant| constant.json.clone())
        };
        let may_have = |of: &Self, name: &str| {
            let is_open = of.open.iter().any(|open| open == name);
            !of.complete || is_open || constant(of, name).is_some()
        };
        let fits = |one: &Self, other: &Self| {
            one.constants.iter().all(|one| {
                may_have(other, &one.name)
                    && constant(other, &one.name).is_none_or(|json| json == one.json)
            })
        };
        self.tool == other.tool && fits(self, other) && fits(other, self)
    }
}

/// An argument with a constant value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanConstant {
    /// Its name.
    pub name: String,
    /// Its value as JSON text.
    pub json: String,
}

/// A call whose result is used in the arguments of another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanSource {
    /// Its tool, as the program names it.
    pub tool: String,
    /// Its line in the program, from 1.
    pub line: u32,
}

/// How often a line of a plan covers a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanCount {
    /// Once.
    Once,
    /// As often as a loop over constants runs.
    AtMost(u32),
    /// As often as is allowed for a loop whose end is not known.
    Many(u32),
}

impl PlanCount {
    /// The count with the cap of the person who accepts the line.
    #[must_use]
    pub fn capped(self, many: Option<u32>) -> Self {
        match (self, many) {
            (Self::Many(_), Some(many)) => Self::Many(many),
            (count, _) => count,
        }
    }

    /// Most calls.
    pub fn most(self) -> u32 {
        match self {
            Self::Once => 1,
            Self::AtMost(most) | Self::Many(most) => most,
        }
    }
}

impl ApprovalPlan {
    /// Whether an accepted line lets its calls out. A call does not say of which place of the text it is: a line with computed
    /// arguments would let out calls of a line that was not accepted, or of a place whose tool is not known.
    pub fn covers(&self, number: u32, accepted: &[u32]) -> bool {
        let Some(line) = self.line(number) else {
            return false;
        };
        let is_other =
            |(other, site): (u32, &PlanSite)| accepted.contains(&other) || !line.may_be(site);
        line.is_exact() || self.unresolved == 0 && (1..).zip(&self.lines).all(is_other)
    }

    /// Numbers of the lines that an approval without a choice accepts: all but the destructive ones.
    pub fn accepted_together(&self) -> Vec<u32> {
        let numbered = (1..).zip(&self.lines);
        let together = numbered.filter(|(_, line)| line.class != EffectClass::Destructive);
        together.map(|(number, _)| number).collect()
    }

    /// The line with this number, from 1.
    pub fn line(&self, number: u32) -> Option<&PlanSite> {
        self.lines
            .get(usize::try_from(number).ok()?.checked_sub(1)?)
    }
}

impl Approval {
    /// Whether the question is about the plan of a program and not about one call.
    pub fn is_plan(&self) -> bool {
        self.call == PLAN_CALL
    }

    /// The plan that the question is about; `None` for a question about one call, and where retention has removed it.
    pub fn plan(&self) -> Option<ApprovalPlan> {
        if !self.is_plan() {
            return None;
        }
        serde_json::from_str(&self.arguments).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(class: EffectClass) -> PlanSite {
        PlanSite {
            tool: ToolId::new("mail", "send"),
            pin: None,
            class,
            class_from: "operator".to_owned(),
            line: 1,
            count: PlanCount::AtMost(3),
            constants: vec![PlanConstant {
                name: "n".to_owned(),
                json: "9007199254740993".to_owned(),
            }],
            open: vec!["text".to_owned()],
            complete: true,
            from: Vec::new(),
        }
    }

    #[test]
    fn a_destructive_line_is_not_accepted_together_with_others() {
        let plan = ApprovalPlan {
            lines: [
                EffectClass::Write,
                EffectClass::Destructive,
                EffectClass::Unknown,
            ]
            .map(site)
            .to_vec(),
            program_sha256: String::new(),
            input_sha256: String::new(),
            asked_singly: 0,
            unresolved: 0,
        };
        assert_eq!(plan.accepted_together(), [1, 3]);
        assert_eq!(plan.line(2).unwrap().class, EffectClass::Destructive);
        assert_eq!(PlanCount::Many(25).capped(Some(40)), PlanCount::Many(40));
        assert_eq!(PlanCount::AtMost(3).capped(Some(40)), PlanCount::AtMost(3));
        assert_eq!((plan.line(0), plan.line(4)), (None, None));
        let text = serde_json::to_string(&plan).unwrap();
        assert_eq!(serde_json::from_str::<ApprovalPlan>(&text).unwrap(), plan);
    }
}
