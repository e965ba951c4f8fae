//! What is left of budgets, for programs, for `policy budgets` and `policy explain`, and for `doctor`.

use std::sync::Arc;

use limbeck_domain::ToolId;
use limbeck_policy::Scope;
use limbeck_policy::budget::{Bound, Budget, Rate, Unit};
use limbeck_store::BudgetUse;
use serde_json::{Map, Value, json};

use super::texts::second_of;

/// What is left of one counter.
#[derive(Clone, Debug)]
pub struct BudgetLeft {
    /// The budget.
    pub budget: Arc<Budget>,
    /// What is counted; `None` for a rate, of which calls are left.
    pub unit: Option<Unit>,
    /// What the counter is about, such as `principal` and `server`.
    pub subject: Map<String, Value>,
    /// The run that it is about.
    pub execution: Option<String>,
    /// The most that may be used; of a rate its burst.
    pub limit: u64,
    /// What is left.
    pub left: u64,
    /// When there is more again, in microseconds since 1970; `None` for one run, and for a rate that is full.
    pub resets_us: Option<u64>,
}

impl BudgetLeft {
    /// Time at which there is more again.
    pub fn resets(&self) -> Option<String> {
        self.resets_us.and_then(second_of)
    }

    /// Name of what is counted.
    pub fn unit_name(&self) -> &'static str {
        self.unit.map_or("rate", Unit::as_str)
    }

    /// The counter as JSON: `{id, per | rate, unit, limit, left, resets?, principal?, server?, tool?, class?, execution_id?}`.
    pub fn json(&self) -> Value {
        let mut json = json!({ "id": self.budget.id });
        match &self.budget.bound {
            Bound::Rate(_) => json["rate"] = json!(self.budget.phrase()),
            Bound::Total { per, .. } => json["per"] = json!(per.as_str()),
        }
        json["unit"] = json!(self.unit_name());
        json["limit"] = json!(self.limit);
        json["left"] = json!(self.left);
        if let Some(resets) = self.resets() {
            json["resets"] = json!(resets);
        }
        for (dimension, name) in &self.subject {
            json[dimension] = name.clone();
        }
        if let Some(execution) = &self.execution {
            json["execution_id"] = json!(execution);
        }
        json
    }

    /// Whether it is about what `principal` does with tools within `scope`.
    pub(crate) fn is_of(&self, principal: &str, scope: &Scope) -> bool {
        self.subject.iter().all(|(dimension, name)| {
            let name = name.as_str().unwrap_or_default();
            match dimension.as_str() {
                "principal" => name == principal,
                "server" => scope.reaches(name),
                "tool" => name
                    .split_once('.')
                    .is_some_and(|(server, tool)| scope.covers(&ToolId::new(server, tool))),
                _ => true,
            }
        })
    }
}

/// What is left of `budgets`, given what was used of their counters. A budget of which nothing was used has one counter, with all of
/// it left; `principal` is whose it is. `now_us` is the time, in microseconds since 1970.
pub fn left_of(
    budgets: &[Arc<Budget>],
    uses: &[BudgetUse],
    principal: &str,
    now_us: u64,
) -> Vec<BudgetLeft> {
    let mut left = Vec::new();
    for budget in budgets {
        let of_budget = || uses.iter().filter(|used| used.budget == budget.counter);
        match &budget.bound {
            Bound::Rate(rate) => {
                let used = of_budget().filter(|used| used.unit == "rate" && used.used > now_us);
                let before = left.len();
                left.extend(used.map(|used| of_rate(budget, *rate, Some(used), principal, now_us)));
                if left.len() == before {
                    left.push(of_rate(budget, *rate, None, principal, now_us));
                }
            }
            Bound::Total { per, limits } => {
                let period = per.end_us(now_us).map(|_| per.start_us(now_us));
                for (unit, limit) in limits {
                    let used = of_budget()
                        .filter(|used| used.unit == unit.as_str() && used.period_us == period);
                    let of = |used: Option<&BudgetUse>| BudgetLeft {
                        budget: Arc::clone(budget),
                        unit: Some(*unit),
                        subject: subject(budget, used, principal),
                        execution: used.and_then(|used| used.execution.clone()),
                        limit: *limit,
                        left: limit.saturating_sub(used.map_or(0, |used| used.used)),
                        resets_us: per.end_us(now_us),
                    };
                    let before = left.len();
                    left.extend(used.map(|used| of(Some(used))));
                    if left.len() == before {
                        left.push(of(None));
                    }
                }
            }
        }
    }
    left
}

fn of_rate(
    budget: &Arc<Budget>,
    rate: Rate,
    used: Option<&BudgetUse>,
    principal: &str,
    now_us: u64,
) -> BudgetLeft {
    let interval_us = rate.interval_us();
    let whole_us = interval_us.saturating_mul(rate.burst);
    let latest = now_us.saturating_add(whole_us);
    let paid = used.map_or(now_us, |used| used.used.clamp(now_us, latest));
    let free_us = whole_us - (paid - now_us);
    let left = free_us / interval_us;
    // The next call flows back when the bucket has room for a whole one more.
    let next = now_us.saturating_add(interval_us - free_us % interval_us);
    BudgetLeft {
        budget: Arc::clone(budget),
        unit: None,
        subject: subject(budget, used, principal),
        execution: None,
        limit: rate.burst,
        left,
        resets_us: (left < rate.burst).then_some(next),
    }
}

fn subject(budget: &Budget, used: Option<&BudgetUse>, principal: &str) -> Map<String, Value> {
    let text = match used {
        Some(used) => used.subject.clone(),
        None => budget.subject(principal, None),
    };
    serde_json::from_str(&text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use limbeck_policy::budget::{Dimension, OnExceed, Period};
    use limbeck_policy::rules::Layer;

    use super::*;

    fn budget(bound: Bound) -> Arc<Budget> {
        Arc::new(Budget {
            id: "mail".to_owned(),
            tools: Scope::parse(["mail.*"]).unwrap(),
            except: None,
            classes: None,
            who: None,
            each: vec![Dimension::Principal, Dimension::Tool],
            bound,
            on_exceed: OnExceed::Deny,
            reason: None,
            layer: Layer::User,
            counter: "mail".to_owned(),
            origin: "limbeck.toml:1".to_owned(),
        })
    }

    fn used(unit: &str, subject: &str, period_us: Option<u64>, used: u64) -> BudgetUse {
        BudgetUse {
            budget: "mail".to_owned(),
            subject: subject.to_owned(),
            unit: unit.to_owned(),
            period_us,
            execution: None,
            used,
        }
    }

    #[test]
    fn what_is_left_is_that_of_the_period_that_is_now() {
        let day_us = 86_400_000_000;
        let limits = vec![(Unit::Calls, 10)];
        let per = Period::Day;
        let budgets = [budget(Bound::Total { per, limits })];
        let send = r#"{"principal":"anna","tool":"mail.send"}"#;
        let uses = [
            used("calls", send, Some(day_us), 12),
            used("calls", send, Some(2 * day_us), 3),
        ];
        let at = |now_us| left_of(&budgets, &uses, "anna", now_us);
        let [second] = &*at(2 * day_us + 5) else {
            panic!("one counter")
        };
        assert_eq!((second.left, second.resets_us), (7, Some(3 * day_us)));
        assert_eq!(second.json()["tool"], "mail.send");
        assert_eq!(at(day_us)[0].left, 0);
        // Nothing was used of the next day.
        let next = at(3 * day_us);
        assert_eq!((next.len(), next[0].left), (1, 10));
        assert_eq!(next[0].subject.len(), 1);
        let mail = Scope::parse(["mail.*"]).unwrap();
        assert!(second.is_of("anna", &mail) && !second.is_of("ben", &mail));
        assert!(!second.is_of("anna", &Scope::parse(["shop.*"]).unwrap()));
    }

    #[test]
    fn a_bucket_says_how_many_calls_it_lets_out_now() {
        let rate = Rate {
            calls: 10,
            per_s: 1,
            burst: 3,
        };
        let budgets = [budget(Bound::Rate(rate))];
        let now_us = 1_000_000;
        let of = |paid| {
            let uses = [used("rate", "{}", None, paid)];
            let left = left_of(&budgets, &uses, "anna", now_us);
            (left[0].left, left[0].resets_us)
        };
        assert_eq!(of(0), (3, None));
        assert_eq!(of(now_us + 100_000), (2, Some(now_us + 100_000)));
        assert_eq!(of(now_us + 250_000), (0, Some(now_us + 50_000)));
        assert_eq!(of(now_us + 300_000), (0, Some(now_us + 100_000)));
    }
}
