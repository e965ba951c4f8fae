//! Table `remembered`: choices of people to let an approval count for calls that are alike.
//!
//! A choice is found by its key, which is a hash of what the calls have in common: a change of any part makes another key.

use std::collections::BTreeMap;

use limbeck_domain::{
    Approval, ApprovalState, ExecutionId, JournalEntry, Remember, RememberChoice, Remembered,
};
use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, params};
use serde_json::value::RawValue;

use super::approvals;
use super::journal::{self, CallMarks};
use super::timestamp::to_stored;
use crate::error::StoreError;
use crate::journal_operation::encode;
use crate::reader::Reader;
use crate::records::REMEMBERED_MAX;

/// Bytes of the arguments that a choice shows; longer ones are left out, and count all the same by their hash.
const SHOWN_BYTES_MAX: usize = 8 << 10;
/// The longest time that any choice counts, in microseconds.
const LONGEST_US: u64 = limbeck_domain::remember::REMEMBER_S_MAX as u64 * 1_000_000;
const COLUMNS: &str = "row, uses, body";
/// What a choice needs to count for a call: `?1` is the key, `?2` the principal, `?3` the execution's row, `?4` the session,
/// `?5` the time.
const COUNTS: &str = "key = ?1 AND principal = ?2 AND (execution IS NULL OR execution = ?3)
    AND (session IS NULL OR session = ?4) AND (uses IS NULL OR uses > 0) AND expires_us > ?5";

/// A row, its body not decoded.
pub(crate) struct EncodedRemembered {
    row: i64,
    uses: Option<u32>,
    body: String,
}

impl EncodedRemembered {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            row: row.get(0)?,
            uses: row.get(1)?,
            body: row.get(2)?,
        })
    }

    pub(crate) fn decode(&self, reader: &Reader<'_>) -> Result<Remembered, StoreError> {
        let remembered: Remembered = reader.decode("remembered", &self.body)?;
        Ok(Remembered {
            left: self.uses,
            ..remembered
        })
    }
}

/// What the people who approved chose together; `None` where one of them chose nothing, or changed the arguments.
pub(crate) fn chosen(approval: &Approval) -> Option<RememberChoice> {
    let offer = approval.terms.offer.as_ref()?;
    let approvals = approval.decisions.iter().filter(|it| it.approve);
    let choices = approvals.map(|it| it.remember.filter(|_| it.edited.is_none()));
    let together = choices.reduce(|one, other| Some(one?.narrowed(other?)))??;
    let is_kept = matches!(
        together.until,
        Remember::Run | Remember::Session | Remember::For(_)
    );
    (is_kept && together.until <= offer.at_most).then_some(together)
}

/// Keeps the choice of an approval that was just given, and approves with it what waits in the same execution and is alike.
/// The approval is written already, so nothing here fails but SQLite: a question that cannot be read stays pending.
pub(crate) fn choose(
    transaction: &Transaction<'_>,
    reader: &Reader<'_>,
    execution: i64,
    approval: &Approval,
    choice: RememberChoice,
) -> rusqlite::Result<()> {
    let Some(offer) = &approval.terms.offer else {
        return Ok(());
    };
    let (until, session) = (choice.until, offer.session.as_deref());
    if until == Remember::Session && session.is_none() {
        return Ok(());
    }
    let now_us = approval.decisions.iter().map(|it| it.at_us).max();
    let now_us = now_us.unwrap_or(approval.created_us);
    let lasts_us = match until {
        Remember::For(seconds) => u64::from(seconds) * 1_000_000,
        Remember::None | Remember::Run | Remember::Session | Remember::Always => LONGEST_US,
    };
    let remembered = Remembered {
        id: approval.id.as_str().replacen("ap_", "rm_", 1),
        choice,
        approval: Box::new(Approval {
            arguments: shown_arguments(approval, &offer.same),
            origins: BTreeMap::new(),
            ..approval.clone()
        }),
        created_us: now_us,
        expires_us: now_us.saturating_add(lasts_us),
        left: choice.count,
    };
    let Ok(body) = encode(&remembered) else {
        return Ok(());
    };
    make_room(transaction, &approval.principal, now_us)?;
    transaction
        .prepare_cached(
            "INSERT OR REPLACE INTO remembered
                 (id, key, principal, execution, session, uses, created_us, expires_us, body)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?
        .execute(params![
            remembered.id,
            offer.key,
            approval.principal,
            (until == Remember::Run).then_some(execution),
            session.filter(|_| until == Remember::Session),
            choice.count,
            to_stored(now_us),
            to_stored(remembered.expires_us),
            body,
        ])?;
    for found in approvals::pending_of(transaction, execution)? {
        let Ok(waiting) = found.decode(reader) else {
            continue;
        };
        let is_alike = waiting
            .terms
            .offer
            .as_ref()
            .is_some_and(|of| of.key == offer.key);
        if !is_alike || waiting.expires_us <= now_us {
            continue;
        }
        let Some(by) = take(transaction, reader, execution, &waiting, None, now_us)? else {
            break;
        };
        let made = approved(waiting, &by, now_us);
        let made = made.and_then(|(one, entries)| Ok((approvals::body(&one)?, entries)));
        let Ok((body, entries)) = made else {
            continue;
        };
        approvals::replace(transaction, found.row, ApprovalState::Approved, &body)?;
        for entry in entries {
            journal::add_beside(transaction, execution, CallMarks::default(), &entry)?;
        }
    }
    Ok(())
}

/// The question as a remembered choice answers it, and the entries of its decisions.
pub(crate) fn approved(
    mut approval: Approval,
    by: &Remembered,
    now_us: u64,
) -> Result<(Approval, Vec<String>), StoreError> {
    let mut entries = Vec::new();
    approval.decisions = by.decisions(now_us).collect();
    for decision in &approval.decisions {
        entries.push(encode(&JournalEntry::Decided {
            approval: approval.id.clone(),
            decision: decision.clone(),
        })?);
    }
    approval.state = ApprovalState::Approved;
    Ok((approval, entries))
}

/// Counts a use of a choice that counts for `approval` now: of the one called `id`, or of the oldest. `None` when there is no
/// such choice any more.
pub(crate) fn take(
    transaction: &Transaction<'_>,
    reader: &Reader<'_>,
    execution: i64,
    approval: &Approval,
    id: Option<&str>,
    now_us: u64,
) -> rusqlite::Result<Option<Remembered>> {
    let Some(offer) = &approval.terms.offer else {
        return Ok(None);
    };
    let found = transaction
        .prepare_cached(&format!(
            "SELECT {COLUMNS} FROM remembered
             WHERE {COUNTS} AND (?6 IS NULL OR id = ?6) ORDER BY row LIMIT 1"
        ))?
        .query_row(
            params![
                offer.key,
                approval.principal,
                execution,
                offer.session,
                to_stored(now_us),
                id
            ],
            EncodedRemembered::read,
        )
        .optional()?;
    // One that cannot be read counts for nothing.
    let Some((found, remembered)) = found.and_then(|found| {
        let remembered = found.decode(reader).ok()?;
        Some((found, remembered))
    }) else {
        return Ok(None);
    };
    transaction
        .prepare_cached("UPDATE remembered SET uses = uses - 1 WHERE row = ?1")?
        .execute([found.row])?;
    Ok(Some(remembered))
}

/// Choices that count for a call of `approval` now, oldest first.
pub(crate) fn counting(
    connection: &Connection,
    approval: &Approval,
    now_us: u64,
) -> rusqlite::Result<Vec<EncodedRemembered>> {
    let Some(offer) = &approval.terms.offer else {
        return Ok(Vec::new());
    };
    let execution: Option<i64> = connection
        .prepare_cached("SELECT row FROM execution WHERE id = ?1")?
        .query_row([approval.execution.as_str()], |row| row.get(0))
        .optional()?;
    connection
        .prepare_cached(&format!(
            "SELECT {COLUMNS} FROM remembered WHERE {COUNTS} ORDER BY row LIMIT 16"
        ))?
        .query_map(
            params![
                offer.key,
                approval.principal,
                execution,
                offer.session,
                to_stored(now_us)
            ],
            EncodedRemembered::read,
        )?
        .collect()
}

/// Choices that have not ended, of one principal or of all, oldest first.
pub(crate) fn list(
    connection: &Connection,
    principal: Option<&str>,
    now_us: u64,
) -> rusqlite::Result<Vec<EncodedRemembered>> {
    connection
        .prepare_cached(&format!(
            "SELECT {COLUMNS} FROM remembered
             WHERE (?1 IS NULL OR principal = ?1) AND expires_us > ?2 AND (uses IS NULL OR uses > 0)
             ORDER BY row LIMIT {REMEMBERED_MAX}"
        ))?
        .query_map(
            params![principal, to_stored(now_us)],
            EncodedRemembered::read,
        )?
        .collect()
}

/// Forgets a choice; returns whether there was one.
pub(crate) fn forget(transaction: &Transaction<'_>, id: &str) -> rusqlite::Result<bool> {
    let forgotten = transaction
        .prepare_cached("DELETE FROM remembered WHERE id = ?1")?
        .execute([id])?;
    Ok(forgotten > 0)
}

/// Forgets the choices for an execution that ends.
pub(crate) fn forget_of(
    transaction: &Transaction<'_>,
    execution: &ExecutionId,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "DELETE FROM remembered
             WHERE execution = (SELECT row FROM execution WHERE id = ?1)",
        )?
        .execute([execution.as_str()])?;
    Ok(())
}

/// Forgets choices that have ended, and the oldest of the principal where there are as many as it may have.
fn make_room(transaction: &Transaction<'_>, principal: &str, now_us: u64) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "DELETE FROM remembered WHERE principal = ?1 AND (expires_us <= ?2 OR uses <= 0)",
        )?
        .execute(params![principal, to_stored(now_us)])?;
    transaction
        .prepare_cached(
            "DELETE FROM remembered WHERE row IN (
                 SELECT row FROM remembered WHERE principal = ?1 ORDER BY row DESC
                 LIMIT -1 OFFSET ?2)",
        )?
        .execute(params![principal, REMEMBERED_MAX - 1])?;
    Ok(())
}

/// The arguments that the calls of a choice have in common, byte for byte.
fn shown_arguments(approval: &Approval, same: &[String]) -> String {
    let members: BTreeMap<String, &RawValue> =
        serde_json::from_str(&approval.arguments).unwrap_or_default();
    let kept: BTreeMap<&String, &&RawValue> = members
        .iter()
        .filter(|(name, _)| same.contains(name))
        .collect();
    let text = serde_json::to_string(&kept).unwrap_or_default();
    if text.len() <= SHOWN_BYTES_MAX {
        text
    } else {
        String::new()
    }
}
