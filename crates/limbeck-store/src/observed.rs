//! What results of tools look like, as other crates write it: the store keeps texts and joins them by a function
//! that it is given.

use rusqlite::{Connection, OptionalExtension as _, Transaction, params};

use crate::work::time;

/// Definitions kept: more than anybody calls tools in all their projects.
const ROWS_MAX: u32 = 4_096;
/// Their bodies together; most have one KiB. Looked at once in [`ROWS_PER_LOOK`] new rows, since it takes reading
/// all of them.
const BYTES_MAX: i64 = 32 << 20;
const ROWS_PER_LOOK: u32 = 32;
/// One body. A larger one is not kept; what was kept of the definition stays.
pub(crate) const BODY_BYTES_MAX: usize = 512 << 10;

/// Joins what is kept with what was learnt; `None` to keep nothing. It depends on its arguments alone.
pub type Join = fn(kept: &str, learnt: &str) -> Option<String>;

/// What the results of one tool under one definition taught.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// Hash of the entry of its server.
    pub spec_hash: String,
    /// Hash of its definition. Another definition starts anew.
    pub tool_hash: String,
    /// Its name, verbatim.
    pub tool: String,
    /// When its last result was seen, in microseconds since 1970.
    pub seen_us: u64,
    /// What was learnt, in whatever form [`Join`] takes.
    pub body: String,
}

/// The observations of one server, those seen longest ago first.
pub(crate) fn of(connection: &Connection, spec_hash: &str) -> rusqlite::Result<Vec<Observation>> {
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
                seen_us: u64::try_from(row.get::<_, i64>(2)?).unwrap_or(0),
                body: row.get(3)?,
            })
        })?
        .collect()
}

/// Reads, joins and writes.
pub(crate) fn join(
    transaction: &Transaction<'_>,
    learnt: &Observation,
    join: Join,
) -> rusqlite::Result<()> {
    let key = [&learnt.spec_hash, &learnt.tool_hash];
    let kept: Option<String> = transaction
        .prepare_cached("SELECT body FROM observed WHERE spec_hash = ?1 AND tool_hash = ?2")?
        .query_row(key, |row| row.get(0))
        .optional()?;
    let joined = match &kept {
        Some(kept) => join(kept, &learnt.body),
        None => Some(learnt.body.clone()),
    };
    let Some(body) = joined.filter(|body| body.len() <= BODY_BYTES_MAX) else {
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
            time(learnt.seen_us),
            body
        ])?;
    if kept.is_none() {
        let rows: u32 = transaction
            .prepare_cached("SELECT count(*) FROM observed")?
            .query_row([], |row| row.get(0))?;
        if rows > ROWS_MAX || rows.is_multiple_of(ROWS_PER_LOOK) {
            forget(transaction, ROWS_MAX, BYTES_MAX)?;
        }
    }
    Ok(())
}

/// Removes what was seen longest ago and is over a bound; the newest stays.
fn forget(transaction: &Transaction<'_>, rows_max: u32, bytes_max: i64) -> rusqlite::Result<()> {
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

    fn concatenate(kept: &str, learnt: &str) -> Option<String> {
        Some(format!("{kept}{learnt}"))
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

    /// What is left of ten rows of ten bytes.
    fn left(rows_max: u32, bytes_max: i64) -> Vec<u64> {
        let mut connection = Connection::open_in_memory().unwrap();
        schema::migrate(&mut connection, Path::new(":memory:")).unwrap();
        let transaction = connection.transaction().unwrap();
        for tool in [3, 1, 2, 0, 4, 5, 9, 7, 8, 6] {
            join(&transaction, &seen(tool), concatenate).unwrap();
        }
        forget(&transaction, rows_max, bytes_max).unwrap();
        transaction.commit().unwrap();
        let left = of(&connection, "spec").unwrap();
        left.iter().map(|observation| observation.seen_us).collect()
    }

    #[test]
    fn what_was_seen_longest_ago_goes_when_there_is_too_much_and_the_newest_stays() {
        assert_eq!(left(10, 100), (0..10).collect::<Vec<_>>());
        assert_eq!(left(3, 100), [7, 8, 9]);
        assert_eq!(left(10, 29), [8, 9]);
        assert_eq!(left(10, 5), [9]);
    }

    #[test]
    fn a_body_that_grew_too_large_is_not_kept_and_the_one_before_stays() {
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
            join(&transaction, &learnt, concatenate).unwrap();
            assert_eq!(of(&transaction, "spec").unwrap()[0].body.len(), bytes);
        }
        assert_eq!(of(&transaction, "other").unwrap(), []);
    }
}
