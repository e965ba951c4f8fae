//! Table `budget_use`: what budgets have used.
//!
//! A counter is one row. `period` is when its day or month began, 0 without one; `execution` is the row of the run that it is
//! about, 0 without one. Of a rate, `used` is the time up to which its calls are spaced out, in microseconds since 1970: a bucket
//! that is full again has a time in the past, and needs no row.

use limbeck_domain::ExecutionId;
use rusqlite::{Connection, OptionalExtension as _, Transaction, params};

use super::timestamp::{from_stored, to_stored};

/// Name of the unit of rates.
const RATE: &str = "rate";
/// Time after the beginning of its period for which a counter is kept: of the month before, too.
const KEPT_US: u64 = 70 * 86_400 * 1_000_000;
/// Counters that are removed with each new one, so that what was used once does not stay.
const REMOVED_AT_ONCE: u32 = 16;
/// Counters that are listed.
const LISTED_MAX: u32 = 10_000;

/// An amount to be counted on one counter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Charge {
    /// Name of the counters of the budget.
    pub budget: String,
    /// What the counter is about, a JSON object.
    pub subject: String,
    /// What is counted.
    pub unit: &'static str,
    /// Beginning of the period in microseconds since 1970; `None` for a budget of one run.
    pub period_us: Option<u64>,
    /// How much. 0 for what is known later: then there has to be some room left.
    pub amount: u64,
    /// The most that may be used; `None` counts in any case.
    pub limit: Option<u64>,
}

impl Charge {
    /// Whether its counter, of which this much is used, has room for it.
    pub fn has_room(&self, used: u64) -> bool {
        let after = used.saturating_add(self.amount.max(1));
        self.limit.is_none_or(|limit| after <= limit)
    }

    fn bytes(&self) -> usize {
        self.budget.len() + self.subject.len() + size_of::<Self>()
    }
}

/// One call out of a bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateCharge {
    /// Name of the counters of the budget.
    pub budget: String,
    /// What the bucket is about, a JSON object.
    pub subject: String,
    /// Time in which one call flows back, in microseconds.
    pub interval_us: u64,
    /// Calls that the bucket has room for.
    pub burst: u64,
    /// Whether a call is taken although the bucket is empty: a person allowed it.
    pub forced: bool,
}

impl RateCharge {
    pub(crate) fn bytes(&self) -> usize {
        self.budget.len() + self.subject.len() + size_of::<Self>()
    }
}

/// Whether something was counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Counted {
    /// It was.
    Now,
    /// A counter has no room for it, and nothing was counted.
    Over(OverBudget),
}

/// The counter that has no room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OverBudget {
    /// Position of the charge in the list.
    pub at: usize,
    /// What is used of it.
    pub used: u64,
    /// Of a rate, when it has room, in microseconds since 1970.
    pub until_us: Option<u64>,
}

/// What was used of one counter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BudgetUse {
    /// Name of the counters of the budget.
    pub budget: String,
    /// What the counter is about, a JSON object.
    pub subject: String,
    /// What is counted; `rate` for a bucket.
    pub unit: String,
    /// Beginning of its period in microseconds since 1970; `None` without one.
    pub period_us: Option<u64>,
    /// The run that it is about.
    pub execution: Option<String>,
    /// How much; of a bucket, the time up to which its calls are spaced out.
    pub used: u64,
}

/// Bytes of the texts of charges.
pub(crate) fn bytes(charges: &[Charge]) -> usize {
    charges.iter().map(Charge::bytes).sum()
}

/// The row of an execution; 0 without one.
pub(crate) fn row_of(
    connection: &Connection,
    execution: Option<&ExecutionId>,
) -> rusqlite::Result<i64> {
    let Some(id) = execution else {
        return Ok(0);
    };
    let row = connection
        .prepare_cached("SELECT row FROM execution WHERE id = ?1")?
        .query_row([id.as_str()], |row| row.get(0))
        .optional()?;
    Ok(row.unwrap_or(0))
}

/// Counts all charges, or none where a counter has no room for one of them.
pub(crate) fn count(
    transaction: &Transaction<'_>,
    execution: i64,
    charges: &[Charge],
) -> rusqlite::Result<Counted> {
    let checked = check(transaction, execution, charges)?;
    if checked == Counted::Now {
        add(transaction, execution, charges)?;
    }
    Ok(checked)
}

/// The first charge that its counter has no room for.
pub(crate) fn check(
    connection: &Connection,
    execution: i64,
    charges: &[Charge],
) -> rusqlite::Result<Counted> {
    for (at, charge) in charges.iter().enumerate() {
        if charge.limit.is_none() {
            continue;
        }
        let used = used_of(connection, &key(charge, execution))?.unwrap_or(0);
        if !charge.has_room(used) {
            return Ok(Counted::Over(OverBudget {
                at,
                used,
                until_us: None,
            }));
        }
    }
    Ok(Counted::Now)
}

/// Adds all charges without regard to their limits.
pub(crate) fn add(
    transaction: &Transaction<'_>,
    execution: i64,
    charges: &[Charge],
) -> rusqlite::Result<()> {
    for charge in charges.iter().filter(|charge| charge.amount > 0) {
        let key = key(charge, execution);
        // A run that has no record keeps no counter either.
        if charge.period_us.is_none() && execution == 0 {
            continue;
        }
        let used = used_of(transaction, &key)?;
        let sum = used.unwrap_or(0).saturating_add(charge.amount);
        put(transaction, &key, used.is_some(), sum)?;
    }
    Ok(())
}

/// Takes the amounts back.
pub(crate) fn take_back(
    transaction: &Transaction<'_>,
    execution: i64,
    charges: &[Charge],
) -> rusqlite::Result<()> {
    for charge in charges.iter().filter(|charge| charge.amount > 0) {
        let key = key(charge, execution);
        if let Some(used) = used_of(transaction, &key)? {
            put(transaction, &key, true, used.saturating_sub(charge.amount))?;
        }
    }
    Ok(())
}

/// What is used of the counter of each charge.
pub(crate) fn used(
    connection: &Connection,
    execution: i64,
    charges: &[Charge],
) -> rusqlite::Result<Vec<u64>> {
    let used = |charge| Ok(used_of(connection, &key(charge, execution))?.unwrap_or(0));
    charges.iter().map(used).collect()
}

/// Takes one call out of each bucket, or none where one is empty.
pub(crate) fn take_rates(
    transaction: &Transaction<'_>,
    rates: &[RateCharge],
    now_us: u64,
) -> rusqlite::Result<Counted> {
    let mut taken = Vec::with_capacity(rates.len());
    for (at, rate) in rates.iter().enumerate() {
        let key = Key {
            budget: &rate.budget,
            subject: &rate.subject,
            unit: RATE,
            period_us: 0,
            execution: 0,
        };
        let found = used_of(transaction, &key)?;
        // A clock that was set back must not close a bucket for longer than it takes to fill.
        let whole_us = rate.interval_us.saturating_mul(rate.burst.max(1));
        let latest = now_us.saturating_add(whole_us);
        let paid = found.unwrap_or(0).clamp(now_us, latest);
        let room_us = whole_us - rate.interval_us;
        if !rate.forced && paid - now_us > room_us {
            return Ok(Counted::Over(OverBudget {
                at,
                used: rate.burst,
                until_us: Some(paid - room_us),
            }));
        }
        taken.push((key, found.is_some(), paid.saturating_add(rate.interval_us)));
    }
    for (key, is_there, paid) in &taken {
        put(transaction, key, *is_there, *paid)?;
    }
    if taken.iter().any(|(_, is_there, _)| !is_there) {
        transaction
            .prepare_cached(
                "DELETE FROM budget_use WHERE row IN (
                     SELECT row FROM budget_use
                     WHERE unit = 'rate' AND used < ?1 ORDER BY used LIMIT ?2)",
            )?
            .execute(params![to_stored(now_us), REMOVED_AT_ONCE])?;
    }
    Ok(Counted::Now)
}

/// What was used, the counters of budgets in the order of their names.
pub(crate) fn uses(
    connection: &Connection,
    execution: Option<&ExecutionId>,
) -> rusqlite::Result<Vec<BudgetUse>> {
    let of_run = row_of(connection, execution)?;
    let mut statement = connection.prepare_cached(
        "SELECT budget, subject, unit, period, execution.id, used
         FROM budget_use LEFT JOIN execution ON execution.row = budget_use.execution
         WHERE budget_use.execution = 0 OR ?1 OR budget_use.execution = ?2
         ORDER BY budget, subject, unit, period DESC LIMIT ?3",
    )?;
    let rows = statement.query_map(params![execution.is_none(), of_run, LISTED_MAX], |row| {
        let period: i64 = row.get(3)?;
        let used: i64 = row.get(5)?;
        Ok(BudgetUse {
            budget: row.get(0)?,
            subject: row.get(1)?,
            unit: row.get(2)?,
            period_us: Some(from_stored(period)).filter(|period| *period > 0),
            execution: row.get(4)?,
            used: from_stored(used),
        })
    })?;
    rows.collect()
}

/// The name of a counter.
struct Key<'a> {
    budget: &'a str,
    subject: &'a str,
    unit: &'static str,
    period_us: u64,
    execution: i64,
}

fn key(charge: &Charge, execution: i64) -> Key<'_> {
    Key {
        budget: &charge.budget,
        subject: &charge.subject,
        unit: charge.unit,
        period_us: charge.period_us.unwrap_or(0),
        execution: match charge.period_us {
            Some(_) => 0,
            None => execution,
        },
    }
}

fn used_of(connection: &Connection, key: &Key<'_>) -> rusqlite::Result<Option<u64>> {
    let used: Option<i64> = connection
        .prepare_cached(
            "SELECT used FROM budget_use
             WHERE budget = ?1 AND subject = ?2 AND unit = ?3 AND period = ?4 AND execution = ?5",
        )?
        .query_row(
            params![
                key.budget,
                key.subject,
                key.unit,
                to_stored(key.period_us),
                key.execution
            ],
            |row| row.get(0),
        )
        .optional()?;
    Ok(used.map(from_stored))
}

fn put(
    transaction: &Transaction<'_>,
    key: &Key<'_>,
    is_there: bool,
    used: u64,
) -> rusqlite::Result<()> {
    let sql = if is_there {
        "UPDATE budget_use SET used = ?6
         WHERE budget = ?1 AND subject = ?2 AND unit = ?3 AND period = ?4 AND execution = ?5"
    } else {
        "INSERT INTO budget_use (budget, subject, unit, period, execution, used)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)"
    };
    transaction.prepare_cached(sql)?.execute(params![
        key.budget,
        key.subject,
        key.unit,
        to_stored(key.period_us),
        key.execution,
        to_stored(used)
    ])?;
    if !is_there && key.period_us > 0 {
        let oldest = key.period_us.saturating_sub(KEPT_US);
        transaction
            .prepare_cached(
                "DELETE FROM budget_use WHERE row IN (
                     SELECT row FROM budget_use
                     WHERE period > 0 AND period < ?1 ORDER BY period LIMIT ?2)",
            )?
            .execute(params![to_stored(oldest), REMOVED_AT_ONCE])?;
    }
    Ok(())
}
