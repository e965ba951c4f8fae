//! Direct calls whose gateway ended: no program makes them again, so the journal says how each goes on.

use limbeck_domain::{ErrorKind, ProgramError};
use rusqlite::{Connection, params};

/// Why a direct call that no process has and that is not in doubt has ended. `None` when it waits for a person, or for the
/// process that acts on what a person said: then any process can go on with it.
pub(crate) fn ended_by(
    connection: &Connection,
    execution: i64,
) -> rusqlite::Result<Option<ProgramError>> {
    let (has_outcome, is_asked): (bool, bool) = connection
        .prepare_cached(
            // A person's word about a call in doubt has the mark of an outcome, and is not one.
            "SELECT EXISTS (SELECT 1 FROM journal WHERE execution = ?1 AND outcome IS NOT NULL
                              AND substr(entry, 1, 11) = '{\"outcome\":'),
                    EXISTS (SELECT 1 FROM approval
                            WHERE execution = ?1 AND state NOT IN ('spent', 'withdrawn'))",
        )?
        .query_row(params![execution], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(match (has_outcome, is_asked) {
        (true, _) => Some(
            ProgramError::new(
                ErrorKind::Gateway,
                "the gateway ended before its client had the answer of the call",
            )
            .with_hint("check what the call did before you call the tool again"),
        ),
        (false, true) => None,
        (false, false) => Some(
            ProgramError::new(ErrorKind::Gateway, "the gateway ended before the call did")
                .with_hint("no call is in doubt, so you can call the tool again"),
        ),
    })
}
