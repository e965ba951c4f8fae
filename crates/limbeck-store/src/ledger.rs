//! The ledger's rows: what was noted of an execution, and its account once it was counted.
//!
//! They outlive their executions: a row has some hundred bytes, a journal may have megabytes. The texts that
//! wait to be counted go earlier, with the journal they are counted with.

use limbeck_domain::{Account, LedgerNote, LedgerTexts};
use rusqlite::{Connection, OptionalExtension as _, Row, Transaction, params};

use crate::work::time;

/// Rows kept: years of daily use, some 20 MB.
const ROWS_MAX: i64 = 20_000;
/// Rows that keep their texts: as many as executions are kept.
const ROWS_WITH_TEXTS_MAX: i64 = 1_000;
/// Listings kept, and how much one may have: definitions of a server, or what we list ourselves.
const LISTINGS_MAX: u32 = 512;
pub(crate) const LISTING_BYTES_MAX: usize = 4 << 20;

/// What is noted of an execution that ended, or of searches that no program followed.
#[derive(Clone, Debug)]
pub struct NewLedgerRow {
    /// The execution, or an id of its own that begins with `se_`.
    pub id: String,
    /// When it was asked for, in microseconds since 1970.
    pub created_us: u64,
    /// Where it came from.
    pub origin: String,
    /// Sizes.
    pub note: LedgerNote,
    /// Texts that are in no journal.
    pub texts: LedgerTexts,
}

/// One row.
#[derive(Clone, Debug)]
pub struct LedgerRow {
    /// As in [`NewLedgerRow`].
    pub id: String,
    /// As in [`NewLedgerRow`].
    pub created_us: u64,
    /// As in [`NewLedgerRow`].
    pub origin: String,
    /// Sizes.
    pub note: LedgerNote,
    /// Texts, for as long as they are not counted.
    pub texts: Option<LedgerTexts>,
    /// Its tokens, once they were counted.
    pub account: Option<Account>,
}

impl LedgerRow {
    /// Its tokens: counted, or estimated as long as they are not.
    pub fn reckoned(&self) -> Account {
        self.account
            .clone()
            .unwrap_or_else(|| Account::from(&self.note))
    }
}

pub(crate) fn note(
    transaction: &Transaction<'_>,
    row: &NewLedgerRow,
    note: &str,
    texts: &str,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "INSERT OR IGNORE INTO ledger (id, created_us, origin, note, texts)
             VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![
            row.id,
            time(row.created_us),
            row.origin,
            note,
            texts
        ])?;
    Ok(())
}

pub(crate) fn keep_account(
    transaction: &Transaction<'_>,
    id: &str,
    account: &str,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached("UPDATE ledger SET account = ?2, texts = NULL WHERE id = ?1")?
        .execute([id, account])?;
    Ok(())
}

pub(crate) fn keep_listing(
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
        .execute(params![hash, time(seen_us), body])?;
    transaction
        .prepare_cached(
            "DELETE FROM listing WHERE hash NOT IN
                 (SELECT hash FROM listing ORDER BY seen_us DESC, hash LIMIT ?1)",
        )?
        .execute([LISTINGS_MAX])?;
    Ok(())
}

/// Removes what is too old, rows and texts.
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

/// Rows since `since_us`, newest first. One that does not decode is left out: it is a line of statistics.
pub(crate) fn since(connection: &Connection, since_us: u64) -> rusqlite::Result<Vec<LedgerRow>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM ledger WHERE created_us >= ?1 ORDER BY created_us DESC, row DESC"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map([time(since_us)], decoded)?;
    rows.filter_map(Result::transpose).collect()
}

pub(crate) fn of(connection: &Connection, id: &str) -> rusqlite::Result<Option<LedgerRow>> {
    let sql = format!("SELECT {COLUMNS} FROM ledger WHERE id = ?1");
    let mut statement = connection.prepare_cached(&sql)?;
    let row = statement.query_row([id], decoded).optional()?;
    Ok(row.flatten())
}

pub(crate) fn listing(connection: &Connection, hash: &str) -> rusqlite::Result<Option<String>> {
    connection
        .prepare_cached("SELECT body FROM listing WHERE hash = ?1")?
        .query_row([hash], |row| row.get(0))
        .optional()
}

fn decoded(row: &Row<'_>) -> rusqlite::Result<Option<LedgerRow>> {
    let Ok(note) = serde_json::from_str(row.get_ref(3)?.as_str()?) else {
        return Ok(None);
    };
    let texts: Option<String> = row.get(4)?;
    let account: Option<String> = row.get(5)?;
    Ok(Some(LedgerRow {
        id: row.get(0)?,
        created_us: u64::try_from(row.get::<_, i64>(1)?).unwrap_or(0),
        origin: row.get(2)?,
        note,
        texts: texts.and_then(|texts| serde_json::from_str(&texts).ok()),
        account: account.and_then(|account| serde_json::from_str(&account).ok()),
    }))
}
