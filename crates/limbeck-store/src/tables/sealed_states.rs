//! Tables `sealing_key` and `used_state`: what seals the states that clients keep, and which of them were used.

use rusqlite::{OptionalExtension as _, Transaction, params};

use super::timestamp::to_stored;

/// The key of the state file; `candidate` becomes it when there is no key yet.
pub(crate) fn key(transaction: &Transaction<'_>, candidate: &[u8]) -> rusqlite::Result<Vec<u8>> {
    let found = transaction
        .prepare_cached("SELECT key FROM sealing_key WHERE row = 1")?
        .query_row([], |row| row.get(0))
        .optional()?;
    if let Some(key) = found {
        return Ok(key);
    }
    transaction
        .prepare_cached("INSERT INTO sealing_key (row, key) VALUES (1, ?1)")?
        .execute([candidate])?;
    Ok(candidate.to_vec())
}

/// Notes that the state `id` was used. Returns whether it was not used before. States that have expired by `now_us` are
/// forgotten: no process takes one any more.
pub(crate) fn spend(
    transaction: &Transaction<'_>,
    id: &str,
    expires_us: u64,
    now_us: u64,
) -> rusqlite::Result<bool> {
    transaction
        .prepare_cached("DELETE FROM used_state WHERE expires_us <= ?1")?
        .execute([to_stored(now_us)])?;
    let added = transaction
        .prepare_cached("INSERT OR IGNORE INTO used_state (id, expires_us) VALUES (?1, ?2)")?
        .execute(params![id, to_stored(expires_us)])?;
    Ok(added == 1)
}
