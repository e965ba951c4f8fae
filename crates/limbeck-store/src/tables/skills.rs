//! Table `skill`: functions and programs that are kept for later programs.
//!
//! A version is compared and replaced in one transaction, so two writers that started from the same one cannot undo each
//! other. What waits for the word of a person is a row of its own: the version in use stays as it is until then.

use limbeck_domain::Skill;
use limbeck_domain::skill::SKILLS_MAX;
use rusqlite::{Connection, OptionalExtension as _, Transaction, params};

use crate::error::StoreError;
use crate::journal_operation::encode;
use crate::reader::Reader;

/// A skill to be kept.
#[derive(Clone, Debug)]
pub struct NewSkill {
    /// The skill; its version is chosen when it is written.
    pub skill: Skill,
    /// Whether it waits for the word of a person.
    pub is_proposed: bool,
    /// The version that it is to replace, 0 for none; absent replaces any.
    pub if_version: Option<u32>,
}

/// Outcome of keeping a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SavedSkill {
    /// It is kept as this version.
    Kept(u32),
    /// The version that is there does and says the same.
    Unchanged(u32),
    /// Another version is there than the one it was to replace; 0 for none.
    Conflict(u32),
    /// The principal has as many skills as it may have.
    Full,
}

/// A skill of a principal.
#[derive(Clone, Debug)]
pub struct StoredSkill {
    /// Whose it is.
    pub principal: String,
    /// Whether it waits for the word of a person.
    pub is_proposed: bool,
    /// The skill.
    pub skill: Skill,
}

/// A row, its body not decoded.
pub(crate) struct EncodedSkill {
    principal: String,
    is_proposed: bool,
    version: u32,
    body: String,
}

impl EncodedSkill {
    pub(crate) fn decode(&self, reader: &Reader<'_>) -> Result<StoredSkill, StoreError> {
        let skill: Skill = reader.decode("skill", &self.body)?;
        Ok(StoredSkill {
            principal: self.principal.clone(),
            is_proposed: self.is_proposed,
            skill: Skill {
                version: self.version,
                ..skill
            },
        })
    }
}

const COLUMNS: &str = "principal, proposed, version, body";

fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<EncodedSkill> {
    Ok(EncodedSkill {
        principal: row.get(0)?,
        is_proposed: row.get(1)?,
        version: row.get(2)?,
        body: row.get(3)?,
    })
}

/// Skills of one principal or of all, by name; of each name the one in use first.
pub(crate) fn list(
    connection: &Connection,
    principal: Option<&str>,
) -> rusqlite::Result<Vec<EncodedSkill>> {
    connection
        .prepare_cached(&format!(
            "SELECT {COLUMNS} FROM skill WHERE ?1 IS NULL OR principal = ?1
             ORDER BY principal, name, proposed"
        ))?
        .query_map([principal], read)?
        .collect()
}

/// One skill: what is in use, or what waits for a person.
pub(crate) fn get(
    connection: &Connection,
    principal: &str,
    name: &str,
    is_proposed: bool,
) -> rusqlite::Result<Option<EncodedSkill>> {
    connection
        .prepare_cached(&format!(
            "SELECT {COLUMNS} FROM skill WHERE principal = ?1 AND name = ?2 AND proposed = ?3"
        ))?
        .query_row(params![principal, name, is_proposed], read)
        .optional()
}

/// Keeps a skill, unless another version is there than the one that it is to replace.
pub(crate) fn put(
    transaction: &Transaction<'_>,
    reader: &Reader<'_>,
    principal: &str,
    new: NewSkill,
) -> rusqlite::Result<Result<SavedSkill, StoreError>> {
    let NewSkill {
        mut skill,
        is_proposed,
        if_version,
    } = new;
    let in_use = get(transaction, principal, &skill.name, false)?;
    let version = in_use.as_ref().map_or(0, |found| found.version);
    if if_version.is_some_and(|expected| expected != version) {
        return Ok(Ok(SavedSkill::Conflict(version)));
    }
    let same = in_use
        .as_ref()
        .and_then(|found| found.decode(reader).ok())
        .is_some_and(|found| found.skill.is_same_as(&skill));
    if same {
        return Ok(Ok(SavedSkill::Unchanged(version)));
    }
    if in_use.is_none() {
        let count: u32 = transaction
            .prepare_cached("SELECT count(*) FROM skill WHERE principal = ?1")?
            .query_row([principal], |row| row.get(0))?;
        if count as usize >= SKILLS_MAX {
            return Ok(Ok(SavedSkill::Full));
        }
    }
    skill.version = version + 1;
    let body = match encode(&skill) {
        Ok(body) => body,
        Err(error) => return Ok(Err(error)),
    };
    transaction
        .prepare_cached(
            "INSERT OR REPLACE INTO skill (principal, name, proposed, version, execution, body)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![
            principal,
            skill.name,
            is_proposed,
            skill.version,
            skill.execution,
            body
        ])?;
    if !is_proposed {
        // What waited was to replace another version.
        remove_one(transaction, principal, &skill.name, true)?;
    }
    Ok(Ok(SavedSkill::Kept(skill.version)))
}

/// Puts what waits for a person in use. Returns its version; `None` when nothing waits.
pub(crate) fn accept(
    transaction: &Transaction<'_>,
    principal: &str,
    name: &str,
) -> rusqlite::Result<Option<u32>> {
    let version: Option<u32> = transaction
        .prepare_cached(
            "SELECT version FROM skill WHERE principal = ?1 AND name = ?2 AND proposed = 1",
        )?
        .query_row([principal, name], |row| row.get(0))
        .optional()?;
    let Some(version) = version else {
        return Ok(None);
    };
    let in_use: u32 = transaction
        .prepare_cached(
            "SELECT coalesce(max(version), 0) FROM skill
             WHERE principal = ?1 AND name = ?2 AND proposed = 0",
        )?
        .query_row([principal, name], |row| row.get(0))?;
    let version = version.max(in_use + 1);
    remove_one(transaction, principal, name, false)?;
    transaction
        .prepare_cached(
            "UPDATE skill SET proposed = 0, version = ?3
             WHERE principal = ?1 AND name = ?2 AND proposed = 1",
        )?
        .execute(params![principal, name, version])?;
    Ok(Some(version))
}

/// Removes a skill and what waits under its name. Returns the version that was in use, 0 when only something waited;
/// `None` when there was nothing. With `if_version`, only that version is removed.
pub(crate) fn remove(
    transaction: &Transaction<'_>,
    principal: &str,
    name: &str,
    if_version: Option<u32>,
) -> rusqlite::Result<Result<Option<u32>, u32>> {
    let found: Option<(u32, u32)> = transaction
        .prepare_cached(
            "SELECT count(*), coalesce(max(CASE WHEN proposed = 0 THEN version END), 0)
             FROM skill WHERE principal = ?1 AND name = ?2",
        )?
        .query_row([principal, name], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((1.., version)) = found else {
        return Ok(Ok(None));
    };
    if if_version.is_some_and(|expected| expected != version) {
        return Ok(Err(version));
    }
    for is_proposed in [false, true] {
        remove_one(transaction, principal, name, is_proposed)?;
    }
    Ok(Ok(Some(version)))
}

fn remove_one(
    transaction: &Transaction<'_>,
    principal: &str,
    name: &str,
    is_proposed: bool,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached("DELETE FROM skill WHERE principal = ?1 AND name = ?2 AND proposed = ?3")?
        .execute(params![principal, name, is_proposed])?;
    Ok(())
}
