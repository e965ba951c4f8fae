//! Budgets: how much calls and runs may use in a run, a day or a month, and how fast calls may be made.
//!
//! A budget only limits, so all that are about a call count beside each other, whichever file they are from: the strictest
//! decides, and a repository's file can only tighten. This module says which budgets are about a call and under which name its
//! use is counted; `store` counts, in the transaction that writes the intent of the call.

mod period;
mod unit;

use std::collections::HashSet;
use std::sync::Arc;

use limbeck_domain::{EffectClass, ToolId};
use serde_json::{Map, Value};

pub use period::Period;
pub use unit::{Unit, UnitKind};

use crate::Scope;
use crate::index::ScopeIndex;
use crate::rules::Layer;

/// Budgets of all files together.
pub const BUDGETS_MAX: usize = 1_000;
/// Bytes of a budget's id: it is shown in errors, and it is a part of the name of its counters.
const ID_BYTES_MAX: usize = 128;
/// Bytes of its reason.
const REASON_BYTES_MAX: usize = 1_024;
/// Entries of `who`.
const WHO_MAX: usize = 64;
/// The largest limit: sums of it fit into the numbers of the store.
pub const LIMIT_MAX: u64 = 1 << 53;
/// Calls of a rate, and its burst.
pub const RATE_MAX: u64 = 1_000_000;

/// One budget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Its name, unique among all budgets, as errors and questions show it.
    pub id: String,
    /// Tools whose calls it is about.
    pub tools: Scope,
    /// Tools of `tools` that it is not about.
    pub except: Option<Scope>,
    /// Classes of the tools.
    pub classes: Option<Vec<EffectClass>>,
    /// Who asks: `user:NAME`; one has to fit.
    pub who: Option<Vec<String>>,
    /// What has a counter of its own. Empty: all share one.
    pub each: Vec<Dimension>,
    /// What is limited.
    pub bound: Bound,
    /// What happens to a call that it has no room for.
    pub on_exceed: OnExceed,
    /// Why, for the program that is refused.
    pub reason: Option<String>,
    /// Whose file it comes from.
    pub layer: Layer,
    /// Name of its counters: the id, and of a repository's budget its file, so that two repositories share none.
    pub counter: String,
    /// File and line, for messages.
    pub origin: String,
}

/// What a budget limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bound {
    /// How fast calls are made.
    Rate(Rate),
    /// How much is used within a period.
    Total {
        /// The period.
        per: Period,
        /// The most of each unit.
        limits: Vec<(Unit, u64)>,
    },
}

/// Calls in a time: a bucket with room for `burst` calls, into which calls flow back at an even pace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Calls in `per_s`.
    pub calls: u64,
    /// The time, in seconds.
    pub per_s: u64,
    /// Calls that may be made at once after a pause.
    pub burst: u64,
}

impl Rate {
    /// Time in which one call flows back, in microseconds.
    pub fn interval_us(&self) -> u64 {
        (self.per_s.saturating_mul(1_000_000) / self.calls.max(1)).max(1)
    }
}

/// What counters are kept apart by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dimension {
    /// Who asks.
    Principal,
    /// The server of the tool.
    Server,
    /// The tool.
    Tool,
    /// The class of the tool.
    Class,
}

impl Dimension {
    /// All of them, in the order in which a counter names them.
    pub const ALL: [Self; 4] = [Self::Principal, Self::Server, Self::Tool, Self::Class];

    /// The dimension of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == name)
    }

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Principal => "principal",
            Self::Server => "server",
            Self::Tool => "tool",
            Self::Class => "class",
        }
    }
}

/// What happens to a call that a budget has no room for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnExceed {
    /// It waits its turn. For rates alone.
    Queue,
    /// A person is asked about it.
    Ask,
    /// It is refused.
    #[default]
    Deny,
}

impl OnExceed {
    /// The choice of that name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Queue, Self::Ask, Self::Deny]
            .into_iter()
            .find(|it| it.as_str() == name)
    }

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// Why budgets cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BudgetError {
    /// More budgets than [`BUDGETS_MAX`].
    #[error("{budgets} budgets; at most {BUDGETS_MAX} are allowed")]
    TooMany {
        /// Their number.
        budgets: usize,
    },
    /// Two budgets have the same id.
    #[error("two budgets have the id `{id}`")]
    DuplicateId {
        /// The id.
        id: String,
    },
    /// The id is empty, too long, or has other characters than ASCII letters, digits, `-`, `_` and `.`.
    #[error("the id of a budget has 1 to {ID_BYTES_MAX} letters, digits and characters of `-_.`")]
    InvalidId,
    /// Something else about one budget.
    #[error("budget `{id}` {problem}")]
    Unusable {
        /// The budget.
        id: String,
        /// What is wrong with it, a fragment that follows its name.
        problem: &'static str,
    },
}

impl Budget {
    /// Checks what is in the budget itself.
    ///
    /// # Errors
    ///
    /// [`BudgetError`], but for those about several budgets.
    pub fn check(&self) -> Result<(), BudgetError> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        if self.id.is_empty() || self.id.len() > ID_BYTES_MAX || !self.id.bytes().all(is_plain) {
            return Err(BudgetError::InvalidId);
        }
        match self.problem() {
            Some(problem) => Err(BudgetError::Unusable {
                id: self.id.clone(),
                problem,
            }),
            None => Ok(()),
        }
    }

    fn problem(&self) -> Option<&'static str> {
        if self.reason.as_ref().map_or(0, String::len) > REASON_BYTES_MAX {
            return Some("has a reason of more than 1024 bytes");
        }
        if self.who.as_ref().map_or(0, Vec::len) > WHO_MAX {
            return Some("has more than 64 entries in `who`");
        }
        match &self.bound {
            Bound::Rate(rate) => {
                let is_known = |number: u64| (1..=RATE_MAX).contains(&number);
                if !is_known(rate.calls) || !is_known(rate.burst) || rate.per_s == 0 {
                    return Some("has a rate out of bounds");
                }
            }
            Bound::Total { per, limits } => {
                if limits.is_empty() {
                    return Some(
                        "limits nothing: it needs a `rate`, or `per` and a limit such as `calls`",
                    );
                }
                if limits.iter().any(|(_, limit)| *limit > LIMIT_MAX) {
                    return Some("has a limit that is too large");
                }
                if self.on_exceed == OnExceed::Queue {
                    return Some(
                        "has `on_exceed = \"queue\"`, which is for rates: what is used up comes back with the next period",
                    );
                }
                let is_of = |kind: UnitKind| limits.iter().any(|(unit, _)| unit.kind() == kind);
                if is_of(UnitKind::Run) && !self.is_about_runs() {
                    return Some(
                        "limits `tokens` or `cpu`, which a whole run uses: it cannot have `tools`, `except` or `class`, nor `each` of them",
                    );
                }
                let is_of_tokens = limits.iter().any(|(unit, _)| *unit == Unit::Tokens);
                if *per == Period::Run && is_of_tokens {
                    return Some(
                        "limits `tokens` of one run: its answer ends it, so use `max_output_tokens`",
                    );
                }
                let is_only_of_calls = limits.iter().all(|(unit, _)| unit.kind() == UnitKind::Call);
                if self.on_exceed == OnExceed::Ask && !is_only_of_calls {
                    return Some(
                        "has `on_exceed = \"ask\"`, which is for calls: it cannot limit `tokens`, `cpu` or sampling",
                    );
                }
            }
        }
        None
    }

    fn is_about_runs(&self) -> bool {
        let is_whole = |dimension: &Dimension| *dimension == Dimension::Principal;
        self.tools.is_everything()
            && self.except.is_none()
            && self.classes.is_none()
            && self.each.iter().all(is_whole)
    }

    /// Whether it is about calls of `tool` by any requester.
    pub fn covers(&self, tool: &ToolId, class: EffectClass) -> bool {
        let is_excepted = self.except.as_ref().is_some_and(|it| it.covers(tool));
        let is_class = self.classes.as_ref().is_none_or(|it| it.contains(&class));
        self.tools.covers(tool) && !is_excepted && is_class
    }

    /// Whether it is about what this requester does.
    pub fn is_for(&self, who: &[&str]) -> bool {
        let is_named = |name: &String| who.contains(&name.as_str());
        self.who
            .as_ref()
            .is_none_or(|names| names.iter().any(is_named))
    }

    /// Its limits of one kind, with their period; none of a rate.
    pub fn limits_of(&self, kind: UnitKind) -> impl Iterator<Item = (Period, Unit, u64)> + '_ {
        let (per, limits) = match &self.bound {
            Bound::Total { per, limits } => (*per, limits.as_slice()),
            Bound::Rate(_) => (Period::Run, [].as_slice()),
        };
        let of_kind = move |(unit, _): &&(Unit, u64)| unit.kind() == kind;
        let with_period = move |(unit, limit): &(Unit, u64)| (per, *unit, *limit);
        limits.iter().filter(of_kind).map(with_period)
    }

    /// The counter of what `principal` does with a tool of this class: a JSON object with what counters are kept apart by. A
    /// dimension that is not known is left out.
    pub fn subject(&self, principal: &str, call: Option<(&ToolId, EffectClass)>) -> String {
        let mut names = Map::new();
        for dimension in Dimension::ALL {
            if !self.each.contains(&dimension) {
                continue;
            }
            let value = match (dimension, call) {
                (Dimension::Principal, _) => Some(principal.to_owned()),
                (Dimension::Server, Some((tool, _))) => Some(tool.server.to_string()),
                (Dimension::Tool, Some((tool, _))) => Some(tool.to_string()),
                (Dimension::Class, Some((_, class))) => Some(class.as_str().to_owned()),
                (Dimension::Server | Dimension::Tool | Dimension::Class, None) => None,
            };
            if let Some(value) = value {
                names.insert(dimension.as_str().to_owned(), Value::String(value));
            }
        }
        Value::Object(names).to_string()
    }

    /// What it allows, as a phrase such as "10 calls a day" or "60 calls a minute".
    pub fn phrase(&self) -> String {
        match &self.bound {
            Bound::Rate(rate) => {
                let time = match rate.per_s {
                    1 => "a second".to_owned(),
                    60 => "a minute".to_owned(),
                    3_600 => "an hour".to_owned(),
                    86_400 => "a day".to_owned(),
                    seconds => format!("in {seconds} seconds"),
                };
                format!("{} {time}", Unit::Calls.amount(rate.calls))
            }
            Bound::Total { per, limits } => {
                let amounts = limits.iter().map(|(unit, limit)| unit.amount(*limit));
                format!("{} {}", amounts.collect::<Vec<_>>().join(", "), per.each())
            }
        }
    }
}

/// The budgets of all files.
#[derive(Debug, Default)]
pub struct Budgets {
    budgets: Vec<Arc<Budget>>,
    index: ScopeIndex,
}

impl Budgets {
    /// Compiles `budgets`.
    ///
    /// # Errors
    ///
    /// [`BudgetError`] when there are too many, two have one id, or one of them cannot be used.
    pub fn new(budgets: Vec<Budget>) -> Result<Self, BudgetError> {
        if budgets.len() > BUDGETS_MAX {
            return Err(BudgetError::TooMany {
                budgets: budgets.len(),
            });
        }
        let mut ids = HashSet::new();
        for budget in &budgets {
            budget.check()?;
            if !ids.insert(&*budget.id) {
                return Err(BudgetError::DuplicateId {
                    id: budget.id.clone(),
                });
            }
        }
        Ok(Self {
            index: ScopeIndex::of(budgets.iter().map(|budget| &budget.tools)),
            budgets: budgets.into_iter().map(Arc::new).collect(),
        })
    }

    /// All of them, in the order in which they were given.
    pub fn all(&self) -> &[Arc<Budget>] {
        &self.budgets
    }

    /// Those that are about a call of `tool` with this class by this requester, in the order in which they were given.
    pub fn about(&self, tool: &ToolId, class: EffectClass, who: &[&str]) -> Vec<&Arc<Budget>> {
        let mut candidates = self.index.candidates(tool);
        candidates.sort_unstable();
        candidates.dedup();
        let budgets = candidates.into_iter().map(|at| &self.budgets[at]);
        let about = budgets.filter(|budget| budget.covers(tool, class) && budget.is_for(who));
        about.collect()
    }
}

#[cfg(test)]
mod tests;
