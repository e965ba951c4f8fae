//! Executions that wait: paused, taken, expired, and ended without a process of their own.

use limbeck_domain::{
    Approval, ApprovalState, Effects, Envelope, ErrorKind, ExecutionId, ExecutionStatus,
    JournalEntry, ProgramError,
};
use rusqlite::{Connection, OptionalExtension as _, Transaction, params};

use super::approvals::{self, EncodedApproval};
use super::direct_calls;
use super::executions::decode_word;
use super::journal::{self, BYTES, COUNTED, CallMarks};
use super::timestamp::{from_stored, to_stored};
use crate::error::StoreError;
use crate::records::{NO_GUEST, PAUSED_MAX, PausedExecution, Taken, WAKES_MAX};

/// Time for which an execution is paused when its gateway did not say until when, as after its end: a day.
const PAUSED_US: i64 = 24 * 3_600 * 1_000_000;

/// Moves an execution that `owner` runs to `paused`.
pub(crate) fn pause(
    transaction: &Transaction<'_>,
    owner: &str,
    id: &ExecutionId,
    paused: &PausedExecution,
) -> rusqlite::Result<Result<(), StoreError>> {
    let row = match journal::running_row(transaction, owner, id)? {
        Ok(row) => row,
        Err(error) => return Ok(Err(error)),
    };
    let others: u32 = transaction
        .prepare_cached(
            "SELECT count(*) FROM execution INDEXED BY execution_paused WHERE status = 'paused'
             AND principal = (SELECT principal FROM execution WHERE row = ?1)",
        )?
        .query_row([row], |row| row.get(0))?;
    if others >= PAUSED_MAX {
        return Ok(Err(StoreError::TooManyPaused { paused: others }));
    }
    transaction
        .prepare_cached(
            "UPDATE execution SET wall_left_ms = ?2, wake_us = ?3, expires_us = ?4 WHERE row = ?1",
        )?
        .execute(params![
            row,
            to_stored(paused.wall_left_ms),
            paused.wake_us.map(to_stored),
            paused.expires_us.map(to_stored),
        ])?;
    release(transaction, row)?;
    Ok(Ok(()))
}

/// Makes an execution that no process has and without a call in doubt `paused`; ends one with which no process can go on.
/// Returns the status.
pub(crate) fn hand_on(
    transaction: &Transaction<'_>,
    row: i64,
    id: &ExecutionId,
) -> rusqlite::Result<ExecutionStatus> {
    let (guest_hash, is_thinned): (String, bool) = transaction
        .prepare_cached("SELECT guest_hash, thinned > 0 FROM execution WHERE row = ?1")?
        .query_row([row], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let error = if guest_hash == NO_GUEST {
        match direct_calls::ended_by(transaction, row)? {
            Some(error) => error,
            None => {
                release(transaction, row)?;
                return Ok(ExecutionStatus::Paused);
            }
        }
    } else if is_thinned {
        ProgramError::new(
            ErrorKind::Gateway,
            "the gateway ended before the program did, and results that the program received were removed to save space",
        )
        .with_hint("no call is in doubt, so you can run the program again")
    } else {
        release(transaction, row)?;
        return Ok(ExecutionStatus::Paused);
    };
    let status = ExecutionStatus::Failed;
    end(transaction, row, id.clone(), status, error)?;
    approvals::withdraw_of(transaction, id)?;
    Ok(status)
}

/// Makes an execution `paused` and owned by no process. The owner is empty from now on, so that entries of the earlier one
/// are refused.
fn release(transaction: &Transaction<'_>, row: i64) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(&format!(
            "UPDATE execution SET status = 'paused', owner = '', error = NULL, bytes = {BYTES}, {COUNTED}
             WHERE row = ?1"
        ))?
        .execute([row])?;
    Ok(())
}

/// A paused execution that was taken, or why not.
pub(crate) struct TakenExecution {
    pub(crate) taken: Taken,
    /// Its principal and bytes, when it was taken.
    pub(crate) held: Option<(String, usize)>,
}

/// Why an execution is taken.
#[derive(Clone, Copy)]
pub(crate) enum TakenFor {
    /// To go on with what people have decided.
    Decisions,
    /// Because a timer of its program is due at this time. It stays as it is when none is, and ends when its timers have
    /// woken it too often.
    Timer(u64),
}

/// Takes a paused execution for `owner`.
pub(crate) fn take(
    transaction: &Transaction<'_>,
    owner: &str,
    id: &ExecutionId,
    why: TakenFor,
) -> rusqlite::Result<Result<TakenExecution, StoreError>> {
    let found = transaction
        .prepare_cached(
            "SELECT row, status, epoch, principal, bytes, wall_left_ms, wake_us, expires_us, wakes
             FROM execution WHERE id = ?1",
        )?
        .query_row([id.as_str()], |row| {
            let wall_left_ms: Option<i64> = row.get(5)?;
            let wake_us: Option<i64> = row.get(6)?;
            let expires_us: Option<i64> = row.get(7)?;
            let paused = wall_left_ms.map(|wall_left_ms| PausedExecution {
                wall_left_ms: from_stored(wall_left_ms),
                wake_us: wake_us.map(from_stored),
                expires_us: expires_us.map(from_stored),
            });
            let held = (row.get(3)?, row.get::<_, i64>(4)?);
            Ok((
                row.get::<_, i64>(0)?,
                decode_word::<ExecutionStatus>(1, &row.get::<_, String>(1)?)?,
                row.get::<_, i64>(2)?,
                held,
                paused,
                row.get::<_, u32>(8)?,
            ))
        })
        .optional()?;
    let not_taken = |taken| Ok(Ok(TakenExecution { taken, held: None }));
    let Some((row, status, epoch, (principal, bytes), paused, wakes)) = found else {
        return not_taken(Taken::Unknown);
    };
    if status != ExecutionStatus::Paused {
        return not_taken(Taken::Not(status));
    }
    if let TakenFor::Timer(now_us) = why {
        let wake_us = paused.and_then(|paused| paused.wake_us);
        if wake_us.is_none_or(|wake_us| wake_us > now_us) {
            return not_taken(Taken::Not(status));
        }
        if wakes >= WAKES_MAX {
            end_woken(transaction, row, id, now_us)?;
            return not_taken(Taken::Not(ExecutionStatus::Failed));
        }
        transaction
            .prepare_cached("UPDATE execution SET wakes = wakes + 1 WHERE row = ?1")?
            .execute([row])?;
    }
    let epoch = epoch.saturating_add(1);
    let entry = encode(&JournalEntry::Took {
        owner: owner.to_owned(),
        epoch: from_stored(epoch),
    })?;
    transaction
        .prepare_cached(
            "UPDATE execution SET status = 'running', owner = ?2, epoch = ?3,
                 wall_left_ms = NULL, wake_us = NULL, expires_us = NULL
             WHERE row = ?1 AND status = 'paused' AND epoch = ?3 - 1",
        )?
        .execute(params![row, owner, epoch])?;
    journal::add(transaction, row, CallMarks::default(), &entry)?;
    let held = Some((principal, usize::try_from(bytes).unwrap_or(0)));
    let taken = Taken::Lease {
        epoch: from_stored(epoch),
        paused,
    };
    Ok(Ok(TakenExecution { taken, held }))
}

/// The next timers of paused executions, at most `limit`, in the order in which they are due.
pub(crate) fn next_wakes(
    connection: &Connection,
    limit: u32,
) -> rusqlite::Result<Vec<(ExecutionId, u64)>> {
    connection
        .prepare_cached(
            "SELECT id, wake_us FROM execution INDEXED BY execution_wake
             WHERE status = 'paused' AND wake_us IS NOT NULL ORDER BY wake_us, row LIMIT ?1",
        )?
        .query_map([limit], |row| {
            let id = ExecutionId::new(row.get::<_, String>(0)?);
            Ok((id, from_stored(row.get(1)?)))
        })?
        .collect()
}

/// When the next timer of a paused execution is due.
pub(crate) fn wake_us(connection: &Connection, id: &ExecutionId) -> rusqlite::Result<Option<u64>> {
    let wake_us: Option<Option<i64>> = connection
        .prepare_cached("SELECT wake_us FROM execution WHERE id = ?1 AND status = 'paused'")?
        .query_row([id.as_str()], |row| row.get(0))
        .optional()?;
    Ok(wake_us.flatten().map(from_stored))
}

/// Guests of paused executions, at most `limit`: the hash of each, the start of the newest execution, and how many there are.
pub(crate) fn guests(
    connection: &Connection,
    limit: u32,
) -> rusqlite::Result<Vec<(String, String, i64)>> {
    connection
        .prepare_cached(
            "SELECT guest_hash, (SELECT start FROM start WHERE execution = newest), executions FROM (
                 SELECT guest_hash, max(row) AS newest, count(*) AS executions
                 FROM execution INDEXED BY execution_paused WHERE status = 'paused'
                 GROUP BY guest_hash)
             ORDER BY newest DESC LIMIT ?1",
        )?
        .query_map([limit], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect()
}

/// Gives every paused execution that ends at no time one: a day after `now_us`.
fn set_missing_expiry(transaction: &Transaction<'_>, now_us: u64) -> rusqlite::Result<()> {
    // Questions may have longer.
    transaction
        .prepare_cached(
            "UPDATE execution INDEXED BY execution_expiry SET expires_us = max(?1, coalesce((
                 SELECT max(expires_us) FROM approval
                 WHERE approval.execution = execution.row AND state IN ('pending', 'approved')), 0))
             WHERE status = 'paused' AND expires_us IS NULL",
        )?
        .execute([to_stored(now_us).saturating_add(PAUSED_US)])?;
    Ok(())
}

/// Whether [`expire`] has something to do.
pub(crate) fn is_expiry_due(connection: &Connection, now_us: u64) -> rusqlite::Result<bool> {
    connection
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM approval INDEXED BY approval_expiry
                            WHERE state = 'pending' AND expires_us <= ?1)
                 OR EXISTS (SELECT 1 FROM execution INDEXED BY execution_expiry
                            WHERE status = 'paused' AND expires_us <= ?1)
                 OR EXISTS (SELECT 1 FROM execution INDEXED BY execution_expiry
                            WHERE status = 'paused' AND expires_us IS NULL)",
        )?
        .query_row([to_stored(now_us)], |row| row.get(0))
}

/// Executions and questions that one step of [`expire`] ends.
const EXPIRED_STEP: usize = 64;

/// Ends paused executions and pending questions whose time has passed, some of them in one step; returns the questions. An
/// execution is paused for another day when all of its questions are to be denied: a process has to take it and give the
/// program the denials.
pub(crate) fn expire(
    transaction: &Transaction<'_>,
    now_us: u64,
) -> rusqlite::Result<Vec<EncodedApproval>> {
    set_missing_expiry(transaction, now_us)?;
    let mut expired = Vec::new();
    let mut bytes = 0;
    let due: Vec<i64> = transaction
        .prepare_cached(
            "SELECT row FROM execution INDEXED BY execution_expiry
             WHERE status = 'paused' AND expires_us <= ?1 ORDER BY expires_us, row LIMIT ?2",
        )?
        .query_map(params![to_stored(now_us), EXPIRED_STEP as i64], |row| {
            row.get(0)
        })?
        .collect::<rusqlite::Result<_>>()?;
    for row in due {
        if bytes >= approvals::LISTED_BYTES_MAX {
            return Ok(expired);
        }
        let pending = approvals::pending_of(transaction, row)?;
        for approval in &pending {
            bytes += approval.body.len();
            approvals::set_state(transaction, approval.row, ApprovalState::Expired)?;
        }
        if !pending.is_empty() && pending.iter().all(is_denied) {
            outlive(transaction, row, now_us)?;
        } else {
            end_expired(transaction, row, now_us)?;
        }
        expired.extend(pending);
    }
    while expired.len() < EXPIRED_STEP && bytes < approvals::LISTED_BYTES_MAX {
        let Some(late) = approvals::first_late(transaction, now_us)? else {
            break;
        };
        bytes += late.body.len();
        approvals::set_state(transaction, late.row, ApprovalState::Expired)?;
        if is_denied(&late) {
            outlive(transaction, late.execution, now_us)?;
        }
        expired.push(late);
    }
    Ok(expired)
}

/// Whether the program gets a denial when no person decides about this question.
fn is_denied(approval: &EncodedApproval) -> bool {
    serde_json::from_str::<Approval>(&approval.body)
        .is_ok_and(|approval| approval.terms.deny_on_expiry)
}

/// Lets a paused execution wait for another day at least.
fn outlive(transaction: &Transaction<'_>, row: i64, now_us: u64) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "UPDATE execution SET expires_us = max(coalesce(expires_us, 0), ?2)
             WHERE row = ?1 AND status = 'paused'",
        )?
        .execute([row, to_stored(now_us).saturating_add(PAUSED_US)])?;
    Ok(())
}

fn end_expired(transaction: &Transaction<'_>, row: i64, now_us: u64) -> rusqlite::Result<()> {
    let id: String = transaction
        .prepare_cached("SELECT id FROM execution WHERE row = ?1")?
        .query_row([row], |row| row.get(0))?;
    let id = ExecutionId::new(id);
    let error = ProgramError::new(
        ErrorKind::ApprovalExpired,
        "the program was paused, and no decision continued it in time",
    )
    .with_hint(
        "calls that waited for a decision were not sent; run the program again to be asked again",
    );
    end_paused(
        transaction,
        row,
        &id,
        ExecutionStatus::Cancelled,
        error,
        now_us,
    )
}

/// Ends an execution whose timers woke it as often as they may.
fn end_woken(
    transaction: &Transaction<'_>,
    row: i64,
    id: &ExecutionId,
    now_us: u64,
) -> rusqlite::Result<()> {
    let error = ProgramError::new(
        ErrorKind::Timeout,
        format!(
            "timers of the program woke it {WAKES_MAX} times while it waited for a person, so it was ended"
        ),
    )
    .with_hint(
        "calls that waited for a decision were not sent; wait for the decision without a timer, or with a longer one",
    );
    end_paused(transaction, row, id, ExecutionStatus::Failed, error, now_us)
}

/// Ends a paused execution, and withdraws its questions.
fn end_paused(
    transaction: &Transaction<'_>,
    row: i64,
    id: &ExecutionId,
    status: ExecutionStatus,
    error: ProgramError,
    now_us: u64,
) -> rusqlite::Result<()> {
    approvals::withdraw_of(transaction, id)?;
    end(transaction, row, id.clone(), status, error)?;
    transaction
        .prepare_cached(
            "UPDATE execution SET took_us = max(?2 - created_us, 0),
                 wall_left_ms = NULL, wake_us = NULL, expires_us = NULL
             WHERE row = ?1",
        )?
        .execute([row, to_stored(now_us)])?;
    Ok(())
}

/// Ends an execution that no process runs: sets the status and adds the last entry.
pub(crate) fn end(
    transaction: &Transaction<'_>,
    row: i64,
    id: ExecutionId,
    status: ExecutionStatus,
    error: ProgramError,
) -> rusqlite::Result<()> {
    let effects = transaction
        .prepare_cached(&format!(
            "UPDATE execution SET status = ?2, error = ?3, {COUNTED} WHERE row = ?1
             RETURNING reads, writes"
        ))?
        .query_row(params![row, status.as_str(), error.kind.as_str()], |row| {
            Ok(Effects {
                reads: row.get(0)?,
                writes: row.get(1)?,
            })
        })?;
    let envelope = Envelope {
        error: Some(error),
        effects: (effects != Effects::default()).then_some(effects),
        ..Envelope::new(id, status)
    };
    let entry = encode(&JournalEntry::Ended {
        envelope: Box::new(envelope),
        is_cut: false,
    })?;
    journal::add(transaction, row, CallMarks::default(), &entry)?;
    transaction
        .prepare_cached(&format!(
            "UPDATE execution SET bytes = {BYTES} WHERE row = ?1"
        ))?
        .execute([row])?;
    Ok(())
}

fn encode(entry: &JournalEntry) -> rusqlite::Result<String> {
    serde_json::to_string(entry)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}
