//! Timeouts of an entry, under the keys of each program.

use super::{EntryDialect, EntryReader};
use crate::diagnostic::ValueError;
use crate::document::ConfigPlace;
use crate::entry::ServerEntry;

/// Maximum timeout of a call: an hour.
const CALL_MS_MAX: u64 = 3_600_000;
/// Maximum timeout of a start: ten minutes, which a package runner may need the first time.
const START_MS_MAX: u64 = 600_000;
/// Maximum time after which an idle server is stopped: a day.
const IDLE_MS_MAX: u64 = 86_400_000;

/// Key of another program and its unit in milliseconds.
type ClientKey = (&'static str, u64);

/// Keys for the timeout of a call; the first one present counts.
const CALL: &[ClientKey] = &[("tool_timeout_sec", 1_000), ("request_timeout_ms", 1)];
/// Keys for the timeout of a start; the first one present counts.
const START: &[ClientKey] = &[("startup_timeout_sec", 1_000), ("startup_timeout_ms", 1)];

impl EntryReader<'_> {
    /// Reads the timeouts of the entry at `place`.
    ///
    /// A wrong value of Limbeck's own keys, or of `timeout`, which most clients have, is an error. A wrong value
    /// under the key of one other program is a warning, and the default applies: the value may be right there.
    pub(super) fn times(
        &self,
        place: &ConfigPlace<'_>,
        entry: &mut ServerEntry,
        warnings: &mut Vec<ValueError>,
    ) -> Result<(), ValueError> {
        entry.idle_timeout_ms = match place.get("idle_timeout_ms")? {
            Some(found) => Some(found.number(0, IDLE_MS_MAX)?),
            None => None,
        };
        entry.start_timeout_ms = match place.get("start_timeout_ms")? {
            Some(found) => Some(found.number(1, START_MS_MAX)?),
            None => self.client_timeout(place, START, START_MS_MAX, warnings)?,
        };
        entry.timeout_ms = match (place.get("timeout_ms")?, self.dialect) {
            (Some(found), _) => Some(found.number(1, CALL_MS_MAX)?),
            (None, EntryDialect::Client) => match place.get("timeout")? {
                Some(found) => Some(milliseconds_of_timeout(found.number(1, CALL_MS_MAX)?)),
                None => self.client_timeout(place, CALL, CALL_MS_MAX, warnings)?,
            },
            (None, EntryDialect::Codex | EntryDialect::Limbeck) => {
                self.client_timeout(place, CALL, CALL_MS_MAX, warnings)?
            }
        };
        Ok(())
    }

    fn client_timeout(
        &self,
        place: &ConfigPlace<'_>,
        keys: &[ClientKey],
        ms_max: u64,
        warnings: &mut Vec<ValueError>,
    ) -> Result<Option<u64>, ValueError> {
        if self.dialect == EntryDialect::Limbeck {
            return Ok(None);
        }
        for (key, unit_ms) in keys {
            let Some(found) = place.get(key)? else {
                continue;
            };
            match found.milliseconds(*unit_ms, ms_max) {
                Ok(ms) => return Ok(Some(ms)),
                Err(error) => warnings.push(ValueError {
                    at: found.at,
                    problem: format!("{}; the default applies", error.problem),
                    ..error
                }),
            }
        }
        Ok(None)
    }
}

/// Converts `timeout`, which is in milliseconds for some clients (Claude Code, Gemini) and in seconds for
/// others (Cline, Roo). Timeouts are between a second and a quarter of an hour, so the number decides.
fn milliseconds_of_timeout(number: u64) -> u64 {
    if number < 1_000 {
        number * 1_000
    } else {
        number
    }
}
