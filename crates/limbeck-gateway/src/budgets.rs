//! Budgets: what calls and runs are counted on, and what a caller reads that one of them refuses.
//!
//! A call takes its place in a rate before it waits for its server, and is counted on its other budgets in the transaction that
//! writes its intent. What is known only later, such as the bytes of its result, is counted with that; while such a budget is used
//! up, no further call is sent.

mod left;
mod rate_queues;
mod runs;
mod sampling;
mod texts;

use std::sync::Arc;

use limbeck_domain::{CallError, EffectClass, ToolId};
use limbeck_policy::Requester;
use limbeck_policy::budget::{Bound, Budget, OnExceed, Period, Unit, UnitKind};
use limbeck_store::{Charge, OverBudget, RateCharge};

pub use left::{BudgetLeft, left_of};
pub(crate) use rate_queues::RateQueues;
pub(crate) use sampling::SamplingGate;

use crate::policy_in_force::PolicyVersion;

/// What one call is counted on.
#[derive(Clone, Debug)]
pub(crate) struct CallBudgets {
    tool: ToolId,
    totals: Vec<Total>,
    rates: Vec<(Arc<Budget>, RateCharge)>,
    now_us: u64,
}

/// A counter of one budget, and what is counted on it.
#[derive(Clone, Debug)]
struct Total {
    budget: Arc<Budget>,
    unit: Unit,
    period: Period,
    charge: Charge,
}

/// Who makes a call of which tool, and how many bytes of arguments it has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BudgetedCall<'a> {
    pub(crate) principal: &'a str,
    pub(crate) tool: &'a ToolId,
    pub(crate) class: EffectClass,
    pub(crate) bytes_sent: usize,
}

impl CallBudgets {
    /// The budgets of `by` about a call. `now_us` is the time, in microseconds since 1970.
    pub(crate) fn of(by: &PolicyVersion, call: BudgetedCall<'_>, now_us: u64) -> Self {
        let BudgetedCall {
            principal,
            tool,
            class,
            bytes_sent,
        } = call;
        let mut budgets = Self {
            tool: tool.clone(),
            totals: Vec::new(),
            rates: Vec::new(),
            now_us,
        };
        let requester = Requester::of_principal(principal);
        for budget in by.budgets_about(tool, class, &requester) {
            let subject = budget.subject(principal, Some((tool, class)));
            if let Bound::Rate(rate) = &budget.bound {
                let charge = RateCharge {
                    budget: budget.counter.clone(),
                    subject: subject.clone(),
                    interval_us: rate.interval_us(),
                    burst: rate.burst,
                    forced: false,
                };
                budgets.rates.push((Arc::clone(&budget), charge));
            }
            for (period, unit, limit) in budget.limits_of(UnitKind::Call) {
                let amount = match unit {
                    Unit::Calls => 1,
                    Unit::Writes if class.may_write() => 1,
                    Unit::BytesSent => bytes_sent as u64,
                    // Counted with the result.
                    Unit::BytesReceived => 0,
                    Unit::Writes
                    | Unit::Tokens
                    | Unit::Cpu
                    | Unit::Sampling
                    | Unit::SamplingTokens => continue,
                };
                budgets.totals.push(Total {
                    charge: charge_of(&budget, &subject, (period, unit), amount, limit, now_us),
                    budget: Arc::clone(&budget),
                    unit,
                    period,
                });
            }
        }
        budgets
    }

    /// Whether nothing is counted with the intent of the call.
    pub(crate) fn counts_nothing(&self) -> bool {
        self.totals.is_empty()
    }

    /// What is counted with the intent, in the order of [`Self::over`]. `is_allowed` of a call that a person let out: then it is
    /// counted on budgets that ask without regard to their limit.
    pub(crate) fn charges(&self, is_allowed: bool) -> Vec<Charge> {
        let charge = |total: &Total| {
            let mut charge = total.charge.clone();
            if is_allowed && total.budget.on_exceed == OnExceed::Ask {
                charge.limit = None;
            }
            charge
        };
        self.totals.iter().map(charge).collect()
    }

    /// What is counted with a result of `bytes`.
    pub(crate) fn received(&self, bytes: usize) -> Vec<Charge> {
        let received = |total: &&Total| total.unit == Unit::BytesReceived;
        let charge = |total: &Total| Charge {
            amount: bytes as u64,
            limit: None,
            ..total.charge.clone()
        };
        self.totals.iter().filter(received).map(charge).collect()
    }

    /// The first counter that has no room, given what is used of each, and what is used of it.
    pub(crate) fn first_over(&self, used: &[u64], is_allowed: bool) -> Option<OverBudget> {
        let charges = self.charges(is_allowed);
        let mut counters = charges.iter().zip(used).enumerate();
        let (at, (_, used)) = counters.find(|(_, (charge, used))| !charge.has_room(**used))?;
        Some(OverBudget {
            at,
            used: *used,
            until_us: None,
        })
    }

    /// The budget that has no room, when a person may be asked about the call.
    pub(crate) fn asks(&self, over: &OverBudget) -> Option<&Arc<Budget>> {
        let total = self.totals.get(over.at)?;
        Some(&total.budget).filter(|budget| budget.on_exceed == OnExceed::Ask)
    }

    /// What is used up, for a person or a program.
    pub(crate) fn reason(&self, over: &OverBudget) -> String {
        match self.totals.get(over.at) {
            Some(total) => texts::used_up(&total.budget, total.unit, &total.charge, over.used),
            None => String::new(),
        }
    }

    /// The error of the call.
    pub(crate) fn refusal(&self, over: &OverBudget) -> CallError {
        match self.totals.get(over.at) {
            Some(total) => {
                let text = self.reason(over);
                texts::refusal(&total.budget, total.period, text, &self.tool, self.now_us)
            }
            None => texts::unknown(&self.tool),
        }
    }

    /// The rates of the call, in the order of [`Self::rate`]. A person who let the call out lets it out of rates that ask.
    pub(crate) fn rate_charges(&self, is_allowed: bool) -> Vec<RateCharge> {
        let charge = |(budget, charge): &(Arc<Budget>, RateCharge)| RateCharge {
            forced: is_allowed && budget.on_exceed == OnExceed::Ask,
            ..charge.clone()
        };
        self.rates.iter().map(charge).collect()
    }

    /// Whether the call may have to wait its turn in a rate.
    pub(crate) fn may_wait(&self) -> bool {
        let queues = |(budget, _): &(Arc<Budget>, RateCharge)| budget.on_exceed == OnExceed::Queue;
        self.rates.iter().any(queues)
    }

    /// Buckets in which calls wait, each by its name.
    pub(crate) fn queues(&self) -> Vec<(String, String)> {
        let queues = self.rates.iter();
        let queues = queues.filter(|(budget, _)| budget.on_exceed == OnExceed::Queue);
        let mut names: Vec<_> = queues
            .map(|(_, charge)| (charge.budget.clone(), charge.subject.clone()))
            .collect();
        // In one order, so that no two calls wait for each other.
        names.sort_unstable();
        names
    }

    /// The rate whose bucket is empty.
    pub(crate) fn rate(&self, over: &OverBudget) -> Option<&Arc<Budget>> {
        self.rates.get(over.at).map(|(budget, _)| budget)
    }

    /// The error of a call whose rate is used up.
    pub(crate) fn rate_refusal(&self, over: &OverBudget, now_us: u64) -> CallError {
        match self.rate(over) {
            Some(budget) => texts::rate_refusal(budget, over.until_us, &self.tool, now_us),
            None => texts::unknown(&self.tool),
        }
    }
}

fn charge_of(
    budget: &Budget,
    subject: &str,
    (period, unit): (Period, Unit),
    amount: u64,
    limit: u64,
    now_us: u64,
) -> Charge {
    Charge {
        budget: budget.counter.clone(),
        subject: subject.to_owned(),
        unit: unit.as_str(),
        period_us: period.end_us(now_us).map(|_| period.start_us(now_us)),
        amount,
        limit: Some(limit),
    }
}
