//! Table `catalogue`: the latest tool list of each server, by the hash of its configuration entry.

use limbeck_domain::limits::SERVERS_MAX;
use rusqlite::{Connection, OptionalExtension as _, Transaction, params};

use super::timestamp::to_stored;
use crate::records::CachedTools;

/// Lists kept: twice the servers one gateway may have, so that two projects do not evict each other.
const LISTS_MAX: u32 = 2 * SERVERS_MAX as u32;
/// One list as JSON; the largest known has 3 MB.
pub(crate) const LIST_BYTES_MAX: usize = 32 << 20;

/// The list of one server. One that does not decode counts as absent: the server is listed again.
pub(crate) fn get(
    connection: &Connection,
    spec_hash: &str,
) -> rusqlite::Result<Option<CachedTools>> {
    let body: Option<String> = connection
        .prepare_cached("SELECT body FROM catalogue WHERE spec_hash = ?1")?
        .query_row([spec_hash], |row| row.get(0))
        .optional()?;
    Ok(body.and_then(|body| serde_json::from_str(&body).ok()))
}

/// Stores a list (`body` is a [`CachedTools`] as JSON) and evicts the oldest above [`LISTS_MAX`].
pub(crate) fn put(
    transaction: &Transaction<'_>,
    spec_hash: &str,
    listed_us: u64,
    body: &str,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "INSERT INTO catalogue (spec_hash, listed_us, body) VALUES (?1, ?2, ?3)
             ON CONFLICT (spec_hash) DO UPDATE SET listed_us = ?2, body = ?3",
        )?
        .execute(params![spec_hash, to_stored(listed_us), body])?;
    let newest_surplus: Option<i64> = transaction
        .prepare_cached(
            "SELECT listed_us FROM catalogue ORDER BY listed_us DESC LIMIT 1 OFFSET ?1",
        )?
        .query_row([LISTS_MAX], |row| row.get(0))
        .optional()?;
    if let Some(newest_surplus) = newest_surplus {
        transaction
            .prepare_cached("DELETE FROM catalogue WHERE listed_us <= ?1")?
            .execute([newest_surplus])?;
    }
    Ok(())
}
