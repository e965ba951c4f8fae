//! Artifacts: content that is kept once, and who has it until when.
//!
//! A row of `content` is the bytes; a row of `artifact` is one principal's right to them. Whoever asks for
//! an id that it does not own is answered as if nobody did. Nothing is kept for ever: what has expired goes,
//! and of what one principal, or all together, keep above the bound, the oldest.

use limbeck_domain::{ArtifactId, limits};
use rusqlite::{Connection, OptionalExtension as _, Transaction, params};

use crate::work::time;

/// Rights removed because they expired in one go, so that nobody waits for long.
const EXPIRED_STEP: u32 = 64;

/// Content to keep.
#[derive(Clone, Debug)]
pub struct NewArtifact {
    /// Id of this media type and content.
    pub id: ArtifactId,
    /// Such as `application/json`.
    pub media_type: String,
    /// What a person or program calls it.
    pub name: Option<String>,
    /// The bytes.
    pub content: Vec<u8>,
    /// Now, in microseconds since 1970.
    pub created_us: u64,
    /// When it may be forgotten, in microseconds since 1970. Keeping it again moves this on.
    pub expires_us: u64,
}

/// What is known of an artifact besides its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArtifactInfo {
    /// Its id.
    pub id: ArtifactId,
    /// Such as `application/json`.
    pub media_type: String,
    /// What a person or program calls it.
    pub name: Option<String>,
    /// Bytes of its content.
    pub bytes: usize,
    /// When it was kept the last time, in microseconds since 1970.
    pub created_us: u64,
    /// When it may be forgotten.
    pub expires_us: u64,
}

/// Bounds on what is kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Artifacts of one principal.
    pub(crate) count: u32,
    /// Bytes of one principal's, each counted whole.
    pub(crate) bytes: u64,
    /// Bytes of all principals' together.
    pub(crate) bytes_in_all: u64,
}

impl Bounds {
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

/// Keeps `new` for `principal` and lets go of what is over a bound because of it.
pub(crate) fn put(
    transaction: &Transaction<'_>,
    principal: &str,
    new: &NewArtifact,
    bounds: &Bounds,
) -> rusqlite::Result<()> {
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
            time(new.created_us),
            time(new.expires_us),
        ])?;
    expire(transaction, time(new.created_us))?;
    evict(transaction, Some(principal), bounds.count, bounds.bytes)?;
    evict(transaction, None, u32::MAX, bounds.bytes_in_all)?;
    forget_content(transaction)
}

/// Removes some of what has expired, the oldest first; returns how many.
pub(crate) fn expire(connection: &Connection, now_us: i64) -> rusqlite::Result<usize> {
    connection
        .prepare_cached(
            "DELETE FROM artifact WHERE row IN (
                 SELECT row FROM artifact WHERE expires_us <= ?1 ORDER BY expires_us LIMIT ?2)",
        )?
        .execute(params![now_us, EXPIRED_STEP])
}

/// Removes the oldest of a principal, or of all, until the rest holds the bounds. The newest stays.
fn evict(
    transaction: &Transaction<'_>,
    principal: Option<&str>,
    count: u32,
    bytes: u64,
) -> rusqlite::Result<usize> {
    transaction
        .prepare_cached(
            "DELETE FROM artifact WHERE row IN (
                 SELECT row FROM (
                     SELECT row, count(*) OVER newest AS place, sum(bytes) OVER newest AS total
                     FROM artifact WHERE ?1 IS NULL OR principal = ?1
                     WINDOW newest AS (ORDER BY created_us DESC, row DESC))
                 WHERE place > 1 AND (place > ?2 OR total > ?3))",
        )?
        .execute(params![
            principal,
            count,
            i64::try_from(bytes).unwrap_or(i64::MAX)
        ])
}

/// Removes content that nobody has a right to any more.
pub(crate) fn forget_content(connection: &Connection) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "DELETE FROM content WHERE NOT EXISTS (
                 SELECT 1 FROM artifact WHERE artifact.id = content.id)",
        )?
        .execute([])?;
    Ok(())
}

const COLUMNS: &str = "artifact.id, media_type, name, bytes, created_us, expires_us";

/// An artifact that `principal` has and that has not expired, with its content.
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
        .query_row(params![principal, id.as_str(), time(now_us)], |row| {
            Ok((info(row)?, row.get(6)?))
        })
        .optional()
}

/// What `principal` has, newest first.
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
        .query_map(params![principal, time(now_us), limit], info)?
        .collect()
}

fn info(row: &rusqlite::Row<'_>) -> rusqlite::Result<ArtifactInfo> {
    let id: String = row.get(0)?;
    let whole = |stored: i64| u64::try_from(stored).unwrap_or(0);
    Ok(ArtifactInfo {
        id: ArtifactId::parse(&id).ok_or(rusqlite::Error::InvalidQuery)?,
        media_type: row.get(1)?,
        name: row.get(2)?,
        bytes: usize::try_from(row.get::<_, i64>(3)?).unwrap_or(0),
        created_us: whole(row.get(4)?),
        expires_us: whole(row.get(5)?),
    })
}
