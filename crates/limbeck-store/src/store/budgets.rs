//! What budgets have used: counted in the transaction that writes the intent of a call, so that no crash resets a counter and
//! no two calls share its last unit.
//!
//! Where the state file cannot be used, nothing is counted and so no call with a budget is sent: counters in memory would end
//! with the process.

use limbeck_domain::{ApprovalId, ExecutionId, JournalEntry};

use super::Store;
use crate::error::StoreError;
use crate::journal_operation::{JournalStep, encode, marks};
use crate::operation::{Durability, Write};
use crate::records::Spent;
use crate::tables::budgets::{self, BudgetUse, Charge, Counted, RateCharge};
use crate::tables::{approvals, journal};

impl Store {
    /// Adds the intent of a call and counts it, in one transaction: both or, where a budget has no room, neither. With
    /// `durable` it is on disk when this returns, otherwise it is committed and survives the end of this process.
    ///
    /// # Errors
    ///
    /// The reason why nothing was written; the call must not be sent then.
    pub async fn append_counted(
        &self,
        id: &ExecutionId,
        entry: JournalEntry,
        charges: Vec<Charge>,
        durable: bool,
    ) -> Result<Counted, StoreError> {
        self.check_durable()?;
        let marks = marks(&entry);
        let entry = encode(&entry)?;
        let of = id.clone();
        let durability = durability(durable);
        let size = (1, entry.len() + budgets::bytes(&charges));
        let step = (JournalStep::Change, durability);
        self.change(id, step, size, move |transaction, owner| {
            let execution = match journal::running_row(transaction, owner, &of)? {
                Ok(execution) => execution,
                Err(error) => return Ok(Err(error)),
            };
            let counted = budgets::count(transaction, execution, &charges)?;
            if counted == Counted::Now {
                journal::add(transaction, execution, marks, &entry)?;
            }
            Ok(Ok(counted))
        })
        .await
    }

    /// [`Self::spend`], with the call counted in the same transaction. Where a budget has no room, nothing is written.
    ///
    /// # Errors
    ///
    /// The reason why nothing was written; the call must not be sent then.
    pub async fn spend_counted(
        &self,
        id: &ExecutionId,
        approval: &ApprovalId,
        intent: JournalEntry,
        now_us: u64,
        charges: Vec<Charge>,
    ) -> Result<(Spent, Counted), StoreError> {
        self.check_durable()?;
        let marks = marks(&intent);
        let entry = encode(&intent)?;
        let (of, approval) = (id.clone(), approval.clone());
        let size = (1, entry.len() + budgets::bytes(&charges));
        let step = (JournalStep::Change, Durability::Synced);
        self.change(id, step, size, move |transaction, owner| {
            let execution = match journal::running_row(transaction, owner, &of)? {
                Ok(execution) => execution,
                Err(error) => return Ok(Err(error)),
            };
            if let Counted::Over(over) = budgets::check(transaction, execution, &charges)? {
                return Ok(Ok((Spent::Now, Counted::Over(over))));
            }
            let intent = (marks, entry.as_str());
            let spent = approvals::spend(transaction, owner, &of, &approval, now_us, intent)?;
            if let Ok(Spent::Now) = spent {
                budgets::add(transaction, execution, &charges)?;
            }
            Ok(spent.map(|spent| (spent, Counted::Now)))
        })
        .await
    }

    /// Counts without an entry: for a call outside of any execution, and for what is known later than the intent. `execution`
    /// is the one whose own budgets count it. Committed when this returns.
    ///
    /// # Errors
    ///
    /// An error of SQLite; then nothing was counted.
    pub async fn charge(
        &self,
        execution: Option<&ExecutionId>,
        charges: Vec<Charge>,
    ) -> Result<Counted, StoreError> {
        self.check_durable()?;
        let execution = execution.cloned();
        let text_bytes = budgets::bytes(&charges);
        self.write_returning(text_bytes, Durability::Committed, move |transaction| {
            let execution = budgets::row_of(transaction, execution.as_ref())?;
            budgets::count(transaction, execution, &charges).map(Ok)
        })
        .await
    }

    /// Counts what was used without regard to limits; returns once it is queued, in front of what is queued later.
    ///
    /// # Errors
    ///
    /// [`StoreError::Closed`].
    pub async fn charge_later(
        &self,
        execution: Option<&ExecutionId>,
        charges: Vec<Charge>,
    ) -> Result<(), StoreError> {
        let execution = execution.cloned();
        let write = Write::new(budgets::bytes(&charges), move |transaction| {
            let execution = budgets::row_of(transaction, execution.as_ref())?;
            budgets::add(transaction, execution, &charges)
        });
        self.write(write, Durability::Queued).await
    }

    /// Takes back what was counted too much, such as tokens that a request asked for and did not use; returns once it is queued.
    ///
    /// # Errors
    ///
    /// [`StoreError::Closed`].
    pub async fn uncharge_later(
        &self,
        execution: Option<&ExecutionId>,
        charges: Vec<Charge>,
    ) -> Result<(), StoreError> {
        let execution = execution.cloned();
        let write = Write::new(budgets::bytes(&charges), move |transaction| {
            let execution = budgets::row_of(transaction, execution.as_ref())?;
            budgets::take_back(transaction, execution, &charges)
        });
        self.write(write, Durability::Queued).await
    }

    /// What is used of the counter of each charge now, in their order. Nothing is counted.
    ///
    /// # Errors
    ///
    /// An error of SQLite.
    pub async fn used_of(
        &self,
        execution: Option<&ExecutionId>,
        charges: Vec<Charge>,
    ) -> Result<Vec<u64>, StoreError> {
        let execution = execution.cloned();
        self.barrier().await?;
        self.query(move |connection| {
            let execution = budgets::row_of(connection, execution.as_ref())?;
            budgets::used(connection, execution, &charges)
        })
        .await
    }

    /// Takes one call out of each bucket, or none where one of them is empty. Committed when this returns. `now_us` is the
    /// time, in microseconds since 1970.
    ///
    /// # Errors
    ///
    /// An error of SQLite; then nothing was taken.
    pub async fn take_rates(
        &self,
        rates: Vec<RateCharge>,
        now_us: u64,
    ) -> Result<Counted, StoreError> {
        self.check_durable()?;
        let text_bytes = rates.iter().map(RateCharge::bytes).sum();
        self.write_returning(text_bytes, Durability::Committed, move |transaction| {
            budgets::take_rates(transaction, &rates, now_us).map(Ok)
        })
        .await
    }

    /// What was used of the counters of these budgets: at most 10,000, those of running executions among them. `execution`
    /// adds the counters of that run, and `None` those of all.
    ///
    /// # Errors
    ///
    /// An error of SQLite.
    pub async fn budget_uses(
        &self,
        execution: Option<&ExecutionId>,
    ) -> Result<Vec<BudgetUse>, StoreError> {
        let execution = execution.cloned();
        self.barrier().await?;
        self.query(move |connection| budgets::uses(connection, execution.as_ref()))
            .await
    }
}

fn durability(durable: bool) -> Durability {
    if durable {
        Durability::Synced
    } else {
        Durability::Committed
    }
}
