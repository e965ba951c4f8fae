//! Tables `ledger` and `listing`: sizes of each execution, its token usage once counted, and the tool
//! definitions that the rows refer to.
//!
//! Rows outlive their executions: a row has some hundred bytes, a journal may have megabytes. The texts that
//! wait to be counted are removed earlier, together with the journal they are counted with.

use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, params};

use super::timestamp::{from_stored, to_stored};
use crate::records::LedgerRow;

/// Rows kept: years of daily use, some 20 MB.
const ROWS_MAX: i64 = 20_000;
/// Rows that keep their texts: as many as there are executions.
const ROWS_WITH_TEXTS_MAX: i64 = 1_000;
/// Listings kept.
const LISTINGS_MAX: u32 = 512;
/// One listing: the definitions of a server, or what the gateway itself lists. A longer one is not stored.
pub(crate) const LISTING_BYTES_MAX: usize = 4 << 20;

/// A ledger row whose parts are encoded as JSON.
pub(crate) struct EncodedLedgerRow {
    pub(crate) id: String,
    pub(crate) created_us: u64,
    pub(crate) origin: String,
    pub(crate) sizes: String,
    pub(crate) texts: String,
}

/// Adds a row; an execution that has one keeps it.
pub(crate) fn add(transaction: &Transaction<'_>, row: &EncodedLedgerRow) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "INSERT OR IGNORE INTO ledger (id, created_us, origin, note, texts)
             VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![
            row.id,
            to_stored(row.created_us),
            row.origin,
            row.sizes,
            row.texts,
        ])?;
    Ok(())
}

/// Stores the token usage of a row and removes its texts, which are not needed any more.
pub(crate) fn set_token_usage(
    transaction: &Transaction<'_>,
    id: &str,
    usage: &str,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached("UPDATE ledger SET account = ?2, texts = NULL WHERE id = ?1")?
        .execute([id, usage])?;
    Ok(())
}

/// Stores a listing under its hash, or marks it as seen again, and evicts the oldest above the bound.
pub(crate) fn put_listing(
    transaction: &Transaction<'_>,
    hash: &str,
    body: &str,
    seen_us: u64,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "INSERT INTO listing (hash, seen_us, body) VALUES (?1, ?2, ?3)
             ON CONFLICT (hash) DO UPDATE SET seen_us = ?2",
        )?
        .execute(params![hash, to_stored(seen_us), body])?;
    transaction
        .prepare_cached(
            "DELETE FROM listing WHERE hash NOT IN
                 (SELECT hash FROM listing ORDER BY seen_us DESC, hash LIMIT ?1)",
        )?
        .execute([LISTINGS_MAX])?;
    Ok(())
}

/// Removes the oldest rows, and the texts of old rows, above the bounds.
pub(crate) fn prune(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    transaction
        .prepare_cached("DELETE FROM ledger WHERE row <= (SELECT max(row) FROM ledger) - ?1")?
        .execute([ROWS_MAX])?;
    transaction
        .prepare_cached(
            "UPDATE ledger SET texts = NULL
             WHERE texts IS NOT NULL AND row <= (SELECT max(row) FROM ledger) - ?1",
        )?
        .execute([ROWS_WITH_TEXTS_MAX])?;
    Ok(())
}

const COLUMNS: &str = "id, created_us, origin, note, texts, account";

/// Rows since `since_us`, newest first. A row that does not decode is skipped: it is only statistics.
pub(crate) fn since(connection: &Connection, since_us: u64) -> rusqlite::Result<Vec<LedgerRow>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM ledger WHERE created_us >= ?1 ORDER BY created_us DESC, row DESC"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map([to_stored(since_us)], decode)?;
    rows.filter_map(Result::transpose).collect()
}

pub(crate) fn get(connection: &Connection, id: &str) -> rusqlite::Result<Option<LedgerRow>> {
    let sql = format!("SELECT {COLUMNS} FROM ledger WHERE id = ?1");
    let mut statement = connection.prepare_cached(&sql)?;
    let row = statement.query_row([id], decode).optional()?;
    Ok(row.flatten())
}

pub(crate) fn listing(connection: &Connection, hash: &str) -> rusqlite::Result<Option<String>> {
    connection
        .prepare_cached("SELECT body FROM listing WHERE hash = ?1")?
        .query_row([hash], |row| row.get(0))
        .optional()
}

fn decode(row: &Row<'_>) -> rusqlite::Result<Option<LedgerRow>> {
    let Ok(sizes) = serde_json::from_str(row.get_ref(3)?.as_str()?) else {
        return Ok(None);
    };
    let texts: Option<String> = row.get(4)?;
    let usage: Option<String> = row.get(5)?;
    Ok(Some(LedgerRow {
        id: row.get(0)?,
        created_us: from_stored(row.get(1)?),
        origin: row.get(2)?,
        sizes,
        texts: texts.and_then(|texts| serde_json::from_str(&texts).ok()),
        usage: usage.and_then(|usage| serde_json::from_str(&usage).ok()),
    }))
}
