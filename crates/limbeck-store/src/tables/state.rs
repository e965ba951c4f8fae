//! Table `kv`: the key-value state of each principal.
//!
//! A key is used when it is read or set. "Now" is the time of the newest execution, as for retention.

use limbeck_domain::limits::{STORE_BYTES_MAX, STORE_KEPT_MS, STORE_KEYS_MAX};
use rusqlite::{Connection, OptionalExtension as _, Transaction, params};

use crate::apply::Applied;
use crate::error::StoreError;

/// Expired keys removed in one step, so that a waiting write is not held up.
const EXPIRED_STEP: u32 = 64;
/// Time after which a use is written again: a key that is read all the time is written once a day.
const USE_WRITTEN_US: i64 = 24 * 3_600 * 1_000_000;

/// Time of the newest execution; 0 without any.
const NOW: &str = "coalesce((SELECT max(created_us) FROM execution), 0)";

/// A value, and whether its use has to be written.
pub(crate) struct Found {
    pub(crate) value: String,
    pub(crate) is_use_due: bool,
}

pub(crate) fn get(
    connection: &Connection,
    principal: &str,
    key: &str,
) -> rusqlite::Result<Option<Found>> {
    connection
        .prepare_cached(&format!(
            "SELECT value, used_us + ?3 < {NOW} FROM kv WHERE principal = ?1 AND key = ?2"
        ))?
        .query_row(params![principal, key, USE_WRITTEN_US], |row| {
            Ok(Found {
                value: row.get(0)?,
                is_use_due: row.get(1)?,
            })
        })
        .optional()
}

/// Keys that begin with `prefix`, with the bytes of their values.
pub(crate) fn list(
    connection: &Connection,
    principal: &str,
    prefix: &str,
    limit: usize,
) -> rusqlite::Result<Vec<(String, u64)>> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    connection
        .prepare_cached(
            "SELECT key, octet_length(value) FROM kv
             WHERE principal = ?1 AND key >= ?2 AND substr(key, 1, length(?2)) = ?2 ORDER BY key LIMIT ?3",
        )?
        .query_map(params![principal, prefix, limit], |row| {
            let bytes: i64 = row.get(1)?;
            Ok((row.get(0)?, u64::try_from(bytes).unwrap_or(0)))
        })?
        .collect()
}

/// Notes that a key was used.
pub(crate) fn touch(connection: &Connection, principal: &str, key: &str) -> rusqlite::Result<()> {
    connection
        .prepare_cached(&format!(
            "UPDATE kv SET used_us = {NOW} WHERE principal = ?1 AND key = ?2"
        ))?
        .execute([principal, key])?;
    Ok(())
}

/// Sets a key, or deletes it when `value` is absent.
pub(crate) fn set(
    transaction: &Transaction<'_>,
    principal: &str,
    key: &str,
    value: Option<&str>,
) -> Applied {
    let Some(value) = value else {
        transaction
            .prepare_cached("DELETE FROM kv WHERE principal = ?1 AND key = ?2")?
            .execute([principal, key])?;
        return Ok(Ok(()));
    };
    // Counted in the transaction that writes, so that concurrent gateways cannot exceed a bound.
    let replaced: Option<i64> = transaction
        .prepare_cached("SELECT octet_length(value) FROM kv WHERE principal = ?1 AND key = ?2")?
        .query_row([principal, key], |row| row.get(0))
        .optional()?;
    let total: Option<i64> = transaction
        .prepare_cached("SELECT bytes FROM kv_total WHERE principal = ?1")?
        .query_row([principal], |row| row.get(0))
        .optional()?;
    let key_bytes = if replaced.is_none() { key.len() } else { 0 };
    let added = signed(value.len() + key_bytes) - replaced.unwrap_or(0);
    let total = total.unwrap_or(0);
    // A principal above the bound, as older versions let it be, may still set smaller values.
    if added > 0 && total.saturating_add(added) > i64::try_from(STORE_BYTES_MAX).unwrap_or(i64::MAX)
    {
        return Ok(Err(StoreError::StateFull {
            bytes: u64::try_from(total).unwrap_or(0),
        }));
    }
    if replaced.is_none() {
        let keys: u32 = transaction
            .prepare_cached("SELECT count(*) FROM kv WHERE principal = ?1")?
            .query_row([principal], |row| row.get(0))?;
        if keys as usize >= STORE_KEYS_MAX {
            return Ok(Err(StoreError::TooManyKeys));
        }
    }
    transaction
        .prepare_cached(&format!(
            "INSERT INTO kv (principal, key, value, used_us) VALUES (?1, ?2, ?3, {NOW})
             ON CONFLICT (principal, key) DO UPDATE SET value = ?3, used_us = {NOW}"
        ))?
        .execute([principal, key, value])?;
    Ok(Ok(()))
}

/// Removes up to [`EXPIRED_STEP`] keys that were not used for [`STORE_KEPT_MS`] before `now_us`; returns how many.
pub(crate) fn expire(connection: &Connection, now_us: i64) -> rusqlite::Result<usize> {
    connection
        .prepare_cached("UPDATE kv SET used_us = ?1 WHERE used_us = 0")?
        .execute([now_us])?;
    let kept_us = i64::try_from(STORE_KEPT_MS * 1_000).unwrap_or(i64::MAX);
    connection
        .prepare_cached(
            "DELETE FROM kv WHERE rowid IN (
                 SELECT rowid FROM kv WHERE used_us < ?1 ORDER BY used_us LIMIT ?2)",
        )?
        .execute(params![now_us.saturating_sub(kept_us), EXPIRED_STEP])
}

fn signed(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
