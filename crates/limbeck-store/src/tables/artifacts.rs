//! Tables `content` and `artifact`: contents stored once, and the principals that own them.
//!
//! A row of `content` has the bytes; a row of `artifact` is one principal's right to them until it expires.
//! An id that a principal does not own gives the same answer as an unknown id. Expired artifacts are
//! removed, and the oldest ones above the bounds of one principal or of the whole file.

use limbeck_domain::{ArtifactId, ExecutionId, limits};
use rusqlite::{Connection, OptionalExtension as _, Transaction, params};

use super::timestamp::{from_stored, to_stored};
use crate::records::{ArtifactInfo, NewArtifact};

/// Expired artifacts removed in one step, so that a waiting write is not held up.
const EXPIRED_STEP: u32 = 64;
/// Artifacts above a bound removed in one step of retention, of some MiB each.
const EVICTED_STEP: u32 = 4;

/// Bounds on stored artifacts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArtifactBounds {
    /// Artifacts of one principal.
    pub(crate) count: u32,
    /// Bytes of one principal's artifacts; shared content counts in full for each owner.
    pub(crate) bytes: u64,
    /// Bytes of the artifacts of all principals.
    pub(crate) bytes_in_all: u64,
}

impl ArtifactBounds {
    pub(crate) const FILE: Self = Self {
        count: limits::ARTIFACTS_PER_PRINCIPAL_MAX,
        bytes: limits::ARTIFACTS_PER_PRINCIPAL_BYTES_MAX,
        bytes_in_all: limits::ARTIFACTS_BYTES_MAX,
    };
    pub(crate) const MEMORY: Self = Self {
        bytes_in_all: limits::ARTIFACTS_PER_PRINCIPAL_BYTES_MAX,
        ..Self::FILE
    };
}

/// Stores `new` for `principal` and evicts what is then above a bound.
pub(crate) fn put(
    transaction: &Transaction<'_>,
    principal: &str,
    new: &NewArtifact,
    bounds: ArtifactBounds,
) -> rusqlite::Result<()> {
    // Ids are hashes of the content, so an equal id means equal bytes.
    transaction
        .prepare_cached("INSERT OR IGNORE INTO content (id, content) VALUES (?1, ?2)")?
        .execute(params![new.id.as_str(), new.content])?;
    transaction
        .prepare_cached(
            "INSERT INTO artifact (principal, id, media_type, name, bytes, created_us, expires_us)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
             ON CONFLICT (principal, id) DO UPDATE SET
                 name = coalesce(?4, name), created_us = ?6, expires_us = max(expires_us, ?7)",
        )?
        .execute(params![
            principal,
            new.id.as_str(),
            new.media_type,
            new.name,
            new.content.len() as i64,
            to_stored(new.created_us),
            to_stored(new.expires_us),
        ])?;
    expire(transaction, to_stored(new.created_us))?;
    evict(
        transaction,
        Some(principal),
        bounds.count,
        bounds.bytes,
        u32::MAX,
    )?;
    evict(transaction, None, u32::MAX, bounds.bytes_in_all, u32::MAX)?;
    forget_content(transaction)
}

/// Removes up to [`EVICTED_STEP`] artifacts of a principal above the bounds, oldest first; returns how many. Their content is
/// removed by [`forget_content`].
pub(crate) fn evict_step(
    transaction: &Transaction<'_>,
    principal: &str,
    bounds: ArtifactBounds,
) -> rusqlite::Result<usize> {
    evict(
        transaction,
        Some(principal),
        bounds.count,
        bounds.bytes,
        EVICTED_STEP,
    )
}

/// Removes up to [`EXPIRED_STEP`] expired artifacts, oldest first; returns how many.
pub(crate) fn expire(connection: &Connection, now_us: i64) -> rusqlite::Result<usize> {
    connection
        .prepare_cached(
            "DELETE FROM artifact WHERE row IN (
                 SELECT row FROM artifact WHERE expires_us <= ?1 ORDER BY expires_us LIMIT ?2)",
        )?
        .execute(params![now_us, EXPIRED_STEP])
}

/// Removes the oldest artifacts of a principal, or of all, until the rest is within the bounds or `limit` are removed. The
/// newest artifact stays, however large it is.
fn evict(
    transaction: &Transaction<'_>,
    principal: Option<&str>,
    count: u32,
    bytes: u64,
    limit: u32,
) -> rusqlite::Result<usize> {
    transaction
        .prepare_cached(
            "DELETE FROM artifact WHERE row IN (
                 SELECT row FROM (
                     SELECT row, count(*) OVER newest AS place, sum(bytes) OVER newest AS total
                     FROM artifact WHERE ?1 IS NULL OR principal = ?1
                     WINDOW newest AS (ORDER BY created_us DESC, row DESC))
                 WHERE place > 1 AND (place > ?2 OR total > ?3)
                 ORDER BY place DESC LIMIT ?4)",
        )?
        .execute(params![
            principal,
            count,
            i64::try_from(bytes).unwrap_or(i64::MAX),
            limit
        ])
}

/// Removes content without an owner and without a journal that refers to it.
pub(crate) fn forget_content(connection: &Connection) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "DELETE FROM content WHERE NOT EXISTS (
                 SELECT 1 FROM artifact WHERE artifact.id = content.id)
             AND NOT EXISTS (SELECT 1 FROM held WHERE held.id = content.id)",
        )?
        .execute([])?;
    Ok(())
}

const COLUMNS: &str = "artifact.id, media_type, name, bytes, created_us, expires_us";

/// An artifact of `principal` that has not expired, without its content.
pub(crate) fn get_info(
    connection: &Connection,
    principal: &str,
    id: &ArtifactId,
    now_us: u64,
) -> rusqlite::Result<Option<ArtifactInfo>> {
    connection
        .prepare_cached(&format!(
            "SELECT {COLUMNS} FROM artifact
             WHERE principal = ?1 AND artifact.id = ?2 AND expires_us > ?3"
        ))?
        .query_row(params![principal, id.as_str(), to_stored(now_us)], info)
        .optional()
}

/// An artifact of `principal` that has not expired, with its content.
pub(crate) fn get(
    connection: &Connection,
    principal: &str,
    id: &ArtifactId,
    now_us: u64,
) -> rusqlite::Result<Option<(ArtifactInfo, Vec<u8>)>> {
    connection
        .prepare_cached(&format!(
            "SELECT {COLUMNS}, content FROM artifact JOIN content USING (id)
             WHERE principal = ?1 AND artifact.id = ?2 AND expires_us > ?3"
        ))?
        .query_row(params![principal, id.as_str(), to_stored(now_us)], |row| {
            Ok((info(row)?, row.get(6)?))
        })
        .optional()
}

/// Media type and content of an artifact that the journal of an execution refers to.
pub(crate) fn held(
    connection: &Connection,
    execution: &ExecutionId,
    id: &ArtifactId,
) -> rusqlite::Result<Option<(String, Vec<u8>)>> {
    connection
        .prepare_cached(
            "SELECT media_type, content FROM held JOIN content USING (id)
             WHERE execution = (SELECT row FROM execution WHERE id = ?1) AND held.id = ?2",
        )?
        .query_row([execution.as_str(), id.as_str()], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()
}

/// Artifacts of `principal`, newest first.
pub(crate) fn list(
    connection: &Connection,
    principal: &str,
    now_us: u64,
    limit: u32,
) -> rusqlite::Result<Vec<ArtifactInfo>> {
    connection
        .prepare_cached(&format!(
            "SELECT {COLUMNS} FROM artifact WHERE principal = ?1 AND expires_us > ?2
             ORDER BY created_us DESC, row DESC LIMIT ?3"
        ))?
        .query_map(params![principal, to_stored(now_us), limit], info)?
        .collect()
}

fn info(row: &rusqlite::Row<'_>) -> rusqlite::Result<ArtifactInfo> {
    let id: String = row.get(0)?;
    Ok(ArtifactInfo {
        id: ArtifactId::parse(&id).ok_or(rusqlite::Error::InvalidQuery)?,
        media_type: row.get(1)?,
        name: row.get(2)?,
        bytes: usize::try_from(row.get::<_, i64>(3)?).unwrap_or(0),
        created_us: from_stored(row.get(4)?),
        expires_us: from_stored(row.get(5)?),
    })
}
