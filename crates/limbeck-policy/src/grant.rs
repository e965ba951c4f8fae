//! Plan grants: one approval for the writes of a program, as its plan showed them.
//!
//! A person accepts lines of a plan: a tool with its pin, constant arguments, the names of those that are computed, and a
//! count. A call is covered by a line that shows it, and each line only as often as it says. Everything else is asked about
//! as if there were no grant, and what the policy denies stays denied: only a [`Question`] of it can be [covered](Question::covered).
//!
//! Never covered are a tool, an argument or a constant that no line shows, a destructive line that was not accepted on its own,
//! a tool whose pin or class changed, a call that a rule asks about, and a line with a computed argument that a rule's
//! condition names.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};

use limbeck_domain::{EffectClass, PlanConstant, PlanCount, PlanSite, ToolId};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::rules::{CallFacts, DecidedBy, Effect, Preset};
use crate::{Decided, Facts, Policy, Question, Subject, ToolCall, ToolClass};

/// Calls that a line covers which is repeated without a known end, where the approver names no number.
pub const MANY_DEFAULT: u32 = 25;
/// Lines of one grant.
pub const GRANT_LINES_MAX: usize = 1000;

/// One line of a plan, as the approver saw and accepted it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanLine {
    /// The tool.
    pub tool: ToolId,
    /// Pin of the tool's definition, where it has one.
    pub pin: Option<String>,
    /// Arguments that are constants of the program. A call has every one of them.
    pub constants: Vec<PlanConstant>,
    /// Names of arguments that the program computes. They may have any value, or be left out.
    pub open: Vec<String>,
    /// Whether there are no other arguments than those of `constants` and `open`.
    pub complete: bool,
    /// How often the call may be made.
    pub count: PlanCount,
    /// Class of the tool.
    pub class: EffectClass,
    /// Line in the program, from 1.
    pub line: u32,
    /// Whether the approver accepted this line on its own and not with others. A destructive line needs it.
    pub ticked_singly: bool,
}

/// Why lines make no grant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GrantError {
    /// There are too many lines.
    #[error("{lines} lines in a plan; at most {GRANT_LINES_MAX} can be approved together")]
    TooManyLines {
        /// Their number.
        lines: usize,
    },
    /// The counts are those of another grant.
    #[error("{counts} counts for {lines} lines")]
    OtherCounts {
        /// Number of counts.
        counts: usize,
        /// Number of lines.
        lines: usize,
    },
}

/// Lines of a plan that a person accepted, for one execution. The counts are shared by all calls of it, whichever are made at
/// the same time.
#[derive(Debug)]
pub struct Grant {
    lines: Vec<PlanLine>,
    used: Vec<AtomicU32>,
}

impl Grant {
    /// A grant of `lines`, of which nothing is used.
    ///
    /// # Errors
    ///
    /// [`GrantError::TooManyLines`].
    pub fn new(lines: Vec<PlanLine>) -> Result<Self, GrantError> {
        let used = vec![0; lines.len()];
        Self::resumed(lines, &used)
    }

    /// A grant of `lines` of which so many calls were made before.
    ///
    /// # Errors
    ///
    /// [`GrantError`].
    pub fn resumed(lines: Vec<PlanLine>, used: &[u32]) -> Result<Self, GrantError> {
        if lines.len() > GRANT_LINES_MAX {
            return Err(GrantError::TooManyLines { lines: lines.len() });
        }
        if lines.len() != used.len() {
            return Err(GrantError::OtherCounts {
                counts: used.len(),
                lines: lines.len(),
            });
        }
        let used = used.iter().copied().map(AtomicU32::new).collect();
        Ok(Self { lines, used })
    }

    /// The lines.
    pub fn lines(&self) -> &[PlanLine] {
        &self.lines
    }

    /// Calls made by each line.
    pub fn used(&self) -> Vec<u32> {
        self.used.iter().map(load).collect()
    }

    /// Counts `call` on a line that covers it, and returns the line. `conditioned` are the arguments that conditions of
    /// rules name. A call that was counted before, on the line `counted`, is covered by that one alone.
    fn take(
        &self,
        call: &ToolCall,
        class: EffectClass,
        pin: Option<&str>,
        conditioned: &[&str],
        counted: Option<usize>,
    ) -> Option<usize> {
        let showing = self.showing(call, class, pin);
        showing.into_iter().find(|line| {
            let is_open = |name: &&str| self.lines[*line].leaves_open(name);
            let is_counted = || match counted {
                Some(counted) => counted == *line,
                None => self.count(*line),
            };
            !conditioned.iter().any(is_open) && is_counted()
        })
    }

    /// The lines that show the call, the one with the most constants first: it says the most about the call.
    fn showing(&self, call: &ToolCall, class: EffectClass, pin: Option<&str>) -> Vec<usize> {
        let Ok(arguments) = serde_json::from_str(call.arguments.as_str()) else {
            return Vec::new();
        };
        let lines = self.lines.iter().enumerate();
        let showing = lines.filter(|(_, line)| line.shows(&call.tool, &arguments, class, pin));
        let mut showing: Vec<usize> = showing.map(|(at, _)| at).collect();
        showing.sort_by_key(|at| std::cmp::Reverse(self.lines[*at].constants.len()));
        showing
    }

    /// Counts one more call, unless the count is used up. Calls that are decided at the same time do not share the last one.
    fn count(&self, line: usize) -> bool {
        let most = self.lines[line].count.most();
        let more = |used: u32| (used < most).then_some(used.saturating_add(1));
        let counted = self.used[line].fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        counted.is_ok()
    }
}

fn load(count: &AtomicU32) -> u32 {
    count.load(Ordering::Relaxed)
}

impl PlanLine {
    /// A line of a plan as the approver saw it, and whether it was accepted on its own.
    pub fn of(site: &PlanSite, ticked_singly: bool) -> Self {
        Self {
            tool: site.tool.clone(),
            pin: site.pin.clone(),
            constants: site.constants.clone(),
            open: site.open.clone(),
            complete: site.complete,
            count: site.count,
            class: site.class,
            line: site.line,
            ticked_singly,
        }
    }

    /// Whether a call is what the approver saw, however often.
    fn shows(
        &self,
        tool: &ToolId,
        arguments: &HashMap<String, &RawValue>,
        class: EffectClass,
        pin: Option<&str>,
    ) -> bool {
        let is_same_tool = self.tool == *tool && self.pin.as_deref() == pin && self.class == class;
        let is_accepted = class != EffectClass::Destructive || self.ticked_singly;
        let is_constant = |constant: &PlanConstant| {
            let value = arguments.get(&constant.name);
            value.is_some_and(|value| is_same_json(value.get(), &constant.json))
        };
        let is_shown = |name: &String| {
            !self.complete || self.constant(name).is_some() || self.open.contains(name)
        };
        is_same_tool
            && is_accepted
            && self.constants.iter().all(is_constant)
            && arguments.keys().all(is_shown)
    }

    /// Whether a call that the line shows may have any value for the argument `name`.
    fn leaves_open(&self, name: &str) -> bool {
        let is_open = !self.complete || self.open.iter().any(|open| open == name);
        is_open && self.constant(name).is_none()
    }

    fn constant(&self, name: &str) -> Option<&PlanConstant> {
        self.constants
            .iter()
            .find(|constant| constant.name == *name)
    }
}

/// Whether two JSON texts have the same value. Numbers with a fraction or out of the range of 64 bits are the same only
/// where their digits are: two of them may be read as one.
fn is_same_json(value: &str, constant: &str) -> bool {
    if value == constant {
        return true;
    }
    let read = |text| serde_json::from_str::<Value>(text).ok();
    match (read(value), read(constant)) {
        (Some(value), Some(constant)) => value == constant && is_exact(&value),
        _ => false,
    }
}

fn is_exact(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::String(_) => true,
        Value::Number(number) => !number.is_f64(),
        Value::Array(elements) => elements.iter().all(is_exact),
        Value::Object(members) => members.values().all(is_exact),
    }
}

impl Question {
    /// The permit, when the preset asks about the program's plan and a line of `grant` covers the call, and the question again
    /// otherwise: what a rule asks about is asked. The call is counted, unless it was before, on the line `counted`:
    /// [`Permit::plan_line`](crate::Permit::plan_line) names the line. `pin` is that of the tool's definition now.
    pub fn covered(
        self: Box<Self>,
        facts: &Facts<'_>,
        grant: &Grant,
        pin: Option<&str>,
        counted: Option<usize>,
    ) -> Decided {
        match line_of(&self, facts, grant, pin, counted) {
            Some(line) => Decided::Permit(self.granted(line)),
            None => Decided::Ask(self),
        }
    }
}

fn line_of(
    question: &Question,
    facts: &Facts<'_>,
    grant: &Grant,
    pin: Option<&str>,
    counted: Option<usize>,
) -> Option<usize> {
    if !question.asked_by().is_some_and(Preset::asks_by_plan) {
        return None;
    }
    let class = question.class().class;
    let rules = &facts.policy.rules;
    let conditioned = rules.conditioned_arguments(question.tool(), class, facts.who, Subject::Tool);
    grant.take(question.call(), class, pin, &conditioned, counted)
}

impl Facts<'_> {
    /// Whether one approval of the program's plan may answer for the calls that `line` shows: the preset asks about them, no
    /// rule does, and no condition of a rule names an argument that the program computes. What a plan cannot answer is not a
    /// line of it.
    pub fn plans(&self, line: &PlanLine, class: ToolClass) -> bool {
        let Policy { rules, .. } = self.policy;
        if !self.scope.covers(&line.tool) || self.policy.fault_that_stops(class).is_some() {
            return false;
        }
        let conditioned =
            rules.conditioned_arguments(&line.tool, class.class, self.who, Subject::Tool);
        if conditioned.iter().any(|name| line.leaves_open(name)) {
            return false;
        }
        // The rules read no other arguments of such a call than these.
        let constants = line.constants.iter().filter_map(|constant| {
            let value = serde_json::from_str(&constant.json).ok()?;
            Some((constant.name.clone(), value))
        });
        let decision = rules.decide(&CallFacts {
            tool: &line.tool,
            subject: Subject::Tool,
            class: class.class,
            class_by_operator: class.source.is_operators(),
            arguments: &Value::Object(constants.collect::<Map<_, _>>()),
            who: self.who,
        });
        let by_plan = match decision.by {
            DecidedBy::Preset { preset, .. } => preset.asks_by_plan(),
            DecidedBy::Rule(_) => false,
        };
        by_plan && decision.effect == Effect::Ask
    }
}

#[cfg(test)]
mod tests;
