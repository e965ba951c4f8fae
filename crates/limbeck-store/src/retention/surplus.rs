//! What is above the bounds: executions that a step removes or makes smaller, and principals that begin no more.

use std::collections::BTreeMap;

use rusqlite::{Connection, Transaction, params};

use super::Retention;
use super::smaller::Thinned;

/// Executions removed in one transaction, so that a write behind it waits for milliseconds at most.
const STEP_EXECUTIONS: i64 = 8;

/// Bytes of the recorded run of a skill that is kept as long as the skill: a principal has a thousand skills.
const SKILL_RUN_BYTES_MAX: i64 = 256 << 10;

/// An execution that retention removes, or whose journal it makes smaller.
pub(super) struct Surplus {
    pub(super) row: i64,
    pub(super) principal: String,
    pub(super) created_us: i64,
    pub(super) bytes: i64,
    /// How far its journal is to be made smaller; `None` removes it with its journal.
    pub(super) thinned: Option<Thinned>,
}

/// Principals whose journals of executions that may have changed something are above their last bound, and their bytes.
pub(crate) fn full(
    connection: &Connection,
    retention: &Retention,
) -> rusqlite::Result<BTreeMap<String, u64>> {
    connection
        .prepare_cached(&format!(
            "SELECT principal, sum(bytes) AS total FROM execution
             WHERE status <> 'running' AND {WRITING} GROUP BY principal HAVING total > ?1"
        ))?
        .query_map([signed(retention.writing.records)], |row| {
            Ok((
                row.get(0)?,
                u64::try_from(row.get::<_, i64>(1)?).unwrap_or(0),
            ))
        })?
        .collect()
}

/// Bytes of each principal's executions that do not run and of its artifacts. A content counts once for a principal, although its
/// executions that refer to it each have it in their `bytes` and it may be an artifact too.
pub(crate) fn held(connection: &Connection) -> rusqlite::Result<BTreeMap<String, u64>> {
    connection
        .prepare_cached(
            "SELECT principal, sum(bytes) FROM (
                 SELECT principal, bytes FROM execution WHERE status <> 'running'
                 UNION ALL
                 SELECT execution.principal, -octet_length(content.content)
                 FROM held JOIN execution ON execution.row = held.execution
                      JOIN content ON content.id = held.id
                 WHERE execution.status <> 'running'
                 UNION ALL
                 SELECT own.principal, octet_length(content.content)
                 FROM (SELECT execution.principal AS principal, held.id AS id
                       FROM held JOIN execution ON execution.row = held.execution
                       WHERE execution.status <> 'running'
                       UNION SELECT artifact.principal, artifact.id FROM artifact) AS own
                      JOIN content ON content.id = own.id)
             GROUP BY principal",
        )?
        .query_map([], |row| {
            let bytes: i64 = row.get(1)?;
            Ok((row.get(0)?, u64::try_from(bytes).unwrap_or(0)))
        })?
        .collect()
}

/// Whether an execution may have changed something, as an expression in statements about its row. Column `reads` counts
/// calls of tools that only read by the hint of their own server, which decides nothing here.
const WRITING: &str = "(reads > 0 OR writes > 0 OR status = 'needs_reconciliation')";

/// The next executions that are above a bound, at most [`STEP_EXECUTIONS`]: those to remove and those of which only results of
/// reads go first, those that lose arguments last.
pub(super) fn surplus(
    transaction: &Transaction<'_>,
    retention: &Retention,
    now_us: i64,
    principal: Option<&str>,
) -> rusqlite::Result<Vec<Surplus>> {
    transaction
        .prepare_cached(&format!(
            "WITH ended AS (
                 SELECT row, principal, created_us, bytes, thinned, {WRITING} AS writing,
                        -- Its age counts from its end: it may have been paused for weeks.
                        created_us + coalesce(took_us, 0) AS ended_us,
                        status = 'needs_reconciliation' AS in_doubt
                 FROM execution WHERE status NOT IN ('running', 'paused')
                     -- The recorded run of a skill is its test, and stays with it.
                     AND NOT (bytes <= {SKILL_RUN_BYTES_MAX}
                         AND id IN (SELECT execution FROM skill WHERE execution IS NOT NULL))
             ), waiting AS MATERIALIZED (
                 -- Those that are paused stay, however old they are: the others have what these leave.
                 SELECT principal AS whose, {WRITING} AS writes, sum(bytes) AS bytes
                 FROM execution WHERE status = 'paused' GROUP BY principal, writes
             ), waiting_in_all AS MATERIALIZED (
                 SELECT writes, sum(bytes) AS bytes FROM waiting GROUP BY writes
             ), kept AS (
                 SELECT *,
                        count(*) OVER own AS place,
                        sum(bytes) OVER own + coalesce((
                            SELECT waiting.bytes FROM waiting
                            WHERE waiting.whose = principal AND waiting.writes = writing), 0) AS total,
                        count(*) OVER every AS place_in_all,
                        sum(bytes) OVER every + coalesce((
                            SELECT waiting_in_all.bytes FROM waiting_in_all
                            WHERE waiting_in_all.writes = writing), 0) AS total_in_all
                 FROM ended
                 WINDOW own AS (PARTITION BY writing, principal ORDER BY created_us DESC, row DESC),
                        every AS (PARTITION BY writing ORDER BY created_us DESC, row DESC)
             ), surplus AS (
                 -- One with a call in doubt waits for a person, however old it is.
                 SELECT *, ended_us < ?7 - ?4 AND NOT in_doubt AS old FROM kept
             )
             SELECT row, principal, created_us, bytes, NOT old AND writing, thinned FROM surplus
             WHERE (?9 IS NULL OR principal = ?9) AND (old
                OR (NOT writing AND (place > ?1 OR total > ?2) AND place > 1)
                OR (NOT writing AND total_in_all > ?3 AND place_in_all > 1)
                OR (writing AND thinned = 0 AND total > ?5)
                OR (writing AND thinned = 1 AND total > ?8)
                OR (writing AND thinned = 2 AND NOT in_doubt AND total > ?10))
             -- Results of reads go before those of writes, and these before arguments.
             ORDER BY CASE WHEN NOT old AND writing THEN thinned ELSE 0 END, created_us, row LIMIT ?6"
        ))?
        .query_map(
            params![
                signed(retention.executions),
                signed(retention.bytes),
                signed(retention.bytes_in_all),
                signed(retention.age_us),
                signed(retention.writing.reads),
                STEP_EXECUTIONS,
                now_us,
                signed(retention.writing.results),
                principal,
                signed(retention.writing.arguments),
            ],
            |row| {
                Ok(Surplus {
                    row: row.get(0)?,
                    principal: row.get(1)?,
                    created_us: row.get(2)?,
                    bytes: row.get(3)?,
                    thinned: match (row.get::<_, bool>(4)?, row.get::<_, i64>(5)?) {
                        (false, _) => None,
                        (true, 0) => Some(Thinned::Reads),
                        (true, 1) => Some(Thinned::Results),
                        (true, _) => Some(Thinned::Arguments),
                    },
                })
            },
        )?
        .collect()
}

pub(super) fn signed(bound: u64) -> i64 {
    i64::try_from(bound).unwrap_or(i64::MAX)
}
