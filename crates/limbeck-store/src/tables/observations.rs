//! Table `observed`: types learnt from tool results.
//!
//! The store does not interpret them: it merges two texts with a function of the caller.

use rusqlite::{Connection, OptionalExtension as _, Transaction, params};

use super::timestamp::{from_stored, to_stored};
use crate::records::{MergeObservation, Observation};

/// Definitions: more than the tools one user calls in all projects.
const ROWS_MAX: u32 = 4_096;
/// Bodies together; most have 1 KiB. Checked once in [`ROWS_PER_CHECK`] new rows, because the check reads all
/// of them.
const BYTES_MAX: i64 = 32 << 20;
const ROWS_PER_CHECK: u32 = 32;
/// One body. A larger one is not stored, and the previous body stays.
const BODY_BYTES_MAX: usize = 512 << 10;

/// Observations of one server, least recently seen first.
pub(crate) fn list(connection: &Connection, spec_hash: &str) -> rusqlite::Result<Vec<Observation>> {
    connection
        .prepare_cached(
            "SELECT tool_hash, tool, seen_us, body FROM observed WHERE spec_hash = ?1
             ORDER BY seen_us, tool_hash",
        )?
        .query_map([spec_hash], |row| {
            Ok(Observation {
                spec_hash: spec_hash.to_owned(),
                tool_hash: row.get(0)?,
                tool: row.get(1)?,
                seen_us: from_stored(row.get(2)?),
                body: row.get(3)?,
            })
        })?
        .collect()
}

/// Merges an observation with the stored one of the same definition. Reading and writing are one transaction, so
/// that no process undoes what another learnt.
pub(crate) fn merge(
    transaction: &Transaction<'_>,
    learnt: &Observation,
    merge: MergeObservation,
) -> rusqlite::Result<()> {
    let key = [&learnt.spec_hash, &learnt.tool_hash];
    let stored: Option<String> = transaction
        .prepare_cached("SELECT body FROM observed WHERE spec_hash = ?1 AND tool_hash = ?2")?
        .query_row(key, |row| row.get(0))
        .optional()?;
    let merged = match &stored {
        Some(stored) => merge(stored, &learnt.body),
        None => Some(learnt.body.clone()),
    };
    let Some(body) = merged.filter(|body| body.len() <= BODY_BYTES_MAX) else {
        return Ok(());
    };
    transaction
        .prepare_cached(
            "INSERT INTO observed (spec_hash, tool_hash, tool, seen_us, body)
             VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (spec_hash, tool_hash)
             DO UPDATE SET seen_us = max(seen_us, ?4), body = ?5",
        )?
        .execute(params![
            learnt.spec_hash,
            learnt.tool_hash,
            learnt.tool,
            to_stored(learnt.seen_us),
            body
        ])?;
    if stored.is_none() {
        let rows: u32 = transaction
            .prepare_cached("SELECT count(*) FROM observed")?
            .query_row([], |row| row.get(0))?;
        if rows > ROWS_MAX || rows.is_multiple_of(ROWS_PER_CHECK) {
            evict(transaction, ROWS_MAX, BYTES_MAX)?;
        }
    }
    Ok(())
}

/// Removes the least recently seen observations above a bound; the newest stays.
fn evict(transaction: &Transaction<'_>, rows_max: u32, bytes_max: i64) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "DELETE FROM observed WHERE rowid IN (
                 SELECT place_row FROM (
                     SELECT rowid AS place_row,
                            count(*) OVER newest AS place,
                            sum(octet_length(body)) OVER newest AS total
                     FROM observed
                     WINDOW newest AS (ORDER BY seen_us DESC, rowid DESC)
                 ) WHERE (place > ?1 OR total > ?2) AND place > 1)",
        )?
        .execute(params![rows_max, bytes_max])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::schema;

    fn concatenate(stored: &str, learnt: &str) -> Option<String> {
        Some(format!("{stored}{learnt}"))
    }

    fn seen(tool: u64) -> Observation {
        Observation {
            spec_hash: "spec".to_owned(),
            tool_hash: format!("hash {tool}"),
            tool: format!("tool {tool}"),
            seen_us: tool,
            body: "0123456789".to_owned(),
        }
    }

    /// Times of the rows that remain of ten rows of ten bytes.
    fn left(rows_max: u32, bytes_max: i64) -> Vec<u64> {
        let mut connection = Connection::open_in_memory().unwrap();
        schema::migrate(&mut connection, Path::new(":memory:")).unwrap();
        let transaction = connection.transaction().unwrap();
        for tool in [3, 1, 2, 0, 4, 5, 9, 7, 8, 6] {
            merge(&transaction, &seen(tool), concatenate).unwrap();
        }
        evict(&transaction, rows_max, bytes_max).unwrap();
        transaction.commit().unwrap();
        let left = list(&connection, "spec").unwrap();
        left.iter().map(|observation| observation.seen_us).collect()
    }

    #[test]
    fn the_least_recently_seen_are_evicted_above_a_bound_and_the_newest_stays() {
        assert_eq!(left(10, 100), (0..10).collect::<Vec<_>>());
        assert_eq!(left(3, 100), [7, 8, 9]);
        assert_eq!(left(10, 29), [8, 9]);
        assert_eq!(left(10, 5), [9]);
    }

    #[test]
    fn a_merged_body_that_is_too_large_is_dropped_and_the_previous_one_stays() {
        let mut connection = Connection::open_in_memory().unwrap();
        schema::migrate(&mut connection, Path::new(":memory:")).unwrap();
        let transaction = connection.transaction().unwrap();
        let large = Observation {
            body: "x".repeat(BODY_BYTES_MAX - 10),
            ..seen(1)
        };
        for (learnt, bytes) in [
            (seen(1), 10),
            (large, BODY_BYTES_MAX),
            (seen(1), BODY_BYTES_MAX),
        ] {
            merge(&transaction, &learnt, concatenate).unwrap();
            assert_eq!(list(&transaction, "spec").unwrap()[0].body.len(), bytes);
        }
        assert_eq!(list(&transaction, "other").unwrap(), []);
    }
}
