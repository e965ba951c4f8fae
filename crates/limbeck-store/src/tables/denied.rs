//! Table `denied`: calls that people denied lately, so that another run does not ask about the same bytes at once.

use limbeck_domain::{Approval, ApprovalDecision, ToolId};
use rusqlite::{Connection, OptionalExtension as _, Transaction, params};

use super::timestamp::to_stored;
use crate::journal_operation::encode;
use crate::records::DENIED_US;

/// Notes a denial, and removes those that are too old to count.
pub(crate) fn note(
    transaction: &Transaction<'_>,
    approval: &Approval,
    denial: &ApprovalDecision,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached("DELETE FROM denied WHERE at_us <= ?1")?
        .execute([to_stored(denial.at_us.saturating_sub(DENIED_US))])?;
    // A denial that cannot be written here counts in its own run all the same.
    let Ok(body) = encode(denial) else {
        return Ok(());
    };
    transaction
        .prepare_cached(
            "INSERT OR REPLACE INTO denied (approval, principal, server, tool, sha256, at_us, body)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![
            approval.id.as_str(),
            approval.principal,
            approval.tool.server.as_str(),
            &*approval.tool.tool,
            approval.sha256,
            to_stored(denial.at_us),
            body,
        ])?;
    Ok(())
}

/// The newest denial of the same call of a principal that still counts: the question's id and the decision, encoded.
pub(crate) fn find(
    connection: &Connection,
    principal: &str,
    tool: &ToolId,
    sha256: &str,
    now_us: u64,
) -> rusqlite::Result<Option<(String, String)>> {
    connection
        .prepare_cached(
            "SELECT approval, body FROM denied
             WHERE principal = ?1 AND sha256 = ?2 AND server = ?3 AND tool = ?4 AND at_us > ?5
             ORDER BY row DESC LIMIT 1",
        )?
        .query_row(
            params![
                principal,
                sha256,
                tool.server.as_str(),
                &*tool.tool,
                to_stored(now_us.saturating_sub(DENIED_US))
            ],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .optional()
}

/// Forgets a denial; returns whether there was one.
pub(crate) fn forget(transaction: &Transaction<'_>, approval: &str) -> rusqlite::Result<bool> {
    let forgotten = transaction
        .prepare_cached("DELETE FROM denied WHERE approval = ?1")?
        .execute([approval])?;
    Ok(forgotten > 0)
}
