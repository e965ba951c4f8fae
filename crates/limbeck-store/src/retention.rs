//! Retention: removes the oldest executions and artifacts above the bounds.
//!
//! Only executions that ended are removed, oldest first. The bounds are those of one principal, so that no principal
//! removes what belongs to another; a bound on all of them comes after. An execution that called a tool of a server may have
//! changed something, also if the server calls the tool one that only reads. It is removed by age alone: above a bound its journal loses the results of its reads, then all other large texts but the arguments of
//! its calls, and then these, unless a call is in doubt ([`smaller`]). A principal whose journals are above their bound after
//! that begins no more executions ([`full`]). Where the disk has little room for what a principal leaves, its bounds are lower
//! ([`Retention::within`]), and its oldest artifacts go too. One with a call in doubt stays until a person has said what happened. A running one is never removed or made smaller, and neither is
//! a paused one, whose replay needs each result; its bytes count as those of the others. What was removed is counted in table
//! `removed`.
//!
//! "Now" is the time at which the newest execution was requested: the store reads no clock.

mod bounds;
mod smaller;
mod surplus;
#[cfg(test)]
mod tests;

use rusqlite::{Connection, Transaction, TransactionBehavior, params};

pub use bounds::JournalBounds;
pub(crate) use bounds::Retention;
use smaller::Thinned;
pub(crate) use surplus::{full, held};
use surplus::{signed, surplus};

use crate::tables::{artifacts, ledger, removed, state};

/// Free pages returned to the file system after a step: 4 MiB of 4 KiB pages. As many stay for the next writes.
const STEP_PAGES: u32 = 1_024;

/// Does one bounded step: removes some executions above a bound, expired artifacts and keys, and returns free pages. Returns
/// whether another step has more to do. With `principal`, of its executions alone, and its artifacts above the bounds go too.
///
/// `requested_us` is when the newest execution was requested that this process knows of: one that was refused is in no
/// table, and time passes for the others all the same.
pub(crate) fn prune(
    connection: &mut Connection,
    retention: &Retention,
    requested_us: u64,
    principal: Option<&str>,
) -> rusqlite::Result<bool> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let now_us: Option<i64> =
        transaction.query_row("SELECT max(created_us) FROM execution", [], |row| {
            row.get(0)
        })?;
    let now_us = now_us.unwrap_or(0).max(signed(requested_us));
    let surplus = surplus(&transaction, retention, now_us, principal)?;
    for one in &surplus {
        let left = match one.thinned {
            Some(to) => match smaller::step(&transaction, one.row, to)? {
                Some(left) => left,
                // The next step goes on with it.
                None => break,
            },
            None => {
                remove(&transaction, one.row)?;
                0
            }
        };
        let removal = removed::Removal {
            principal: &one.principal,
            created_us: one.created_us,
            bytes: one.bytes.saturating_sub(left),
            kind: match one.thinned {
                None => removed::RemovalKind::Execution,
                Some(Thinned::Reads) => removed::RemovalKind::Results,
                Some(Thinned::Results | Thinned::Arguments) => removed::RemovalKind::MoreTexts,
            },
        };
        removed::add(&transaction, now_us, &removal)?;
    }
    ledger::prune(&transaction)?;
    let expired = artifacts::expire(&transaction, now_us)? + state::expire(&transaction, now_us)?;
    let evicted = match principal {
        Some(principal) => artifacts::evict_step(&transaction, principal, retention.artifacts)?,
        None => 0,
    };
    artifacts::forget_content(&transaction)?;
    transaction.commit()?;
    Ok(give_back(connection)? || surplus.len() + expired + evicted > 0)
}

fn remove(transaction: &Transaction<'_>, row: i64) -> rusqlite::Result<()> {
    for sql in [
        "DELETE FROM journal WHERE execution = ?1",
        "DELETE FROM held WHERE execution = ?1",
        "DELETE FROM start WHERE execution = ?1",
        "DELETE FROM approval WHERE execution = ?1",
        "DELETE FROM execution WHERE row = ?1",
    ] {
        transaction.prepare_cached(sql)?.execute([row])?;
    }
    Ok(())
}

/// Returns free pages to the file system; returns whether there are more.
fn give_back(connection: &Connection) -> rusqlite::Result<bool> {
    let free = |connection: &Connection| {
        connection.query_row("PRAGMA freelist_count", [], |row| row.get::<_, u32>(0))
    };
    if free(connection)? <= STEP_PAGES {
        return Ok(false);
    }
    // Each step of the statement frees one page, so it has to be run to its end.
    let mut statement = connection.prepare(&format!("PRAGMA incremental_vacuum({STEP_PAGES})"))?;
    let mut steps = statement.query(params![])?;
    while steps.next()?.is_some() {}
    drop(steps);
    Ok(free(connection)? > STEP_PAGES)
}
