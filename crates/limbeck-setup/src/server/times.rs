//! How long a server may take, from whichever keys the file's program has for it.

use super::{Dialect, Reader};
use crate::document::Place;
use crate::entry::ServerEntry;
use crate::error::Fault;

/// Longest time for one call that an entry may ask for: an hour.
const CALL_MS_MAX: u64 = 3_600_000;
/// Longest time for a start that an entry may ask for: ten minutes, which a package runner may need once.
const START_MS_MAX: u64 = 600_000;
/// Longest time a server may stay idle before it is stopped: a day.
const IDLE_MS_MAX: u64 = 86_400_000;

/// A key of another program: what it counts in, in milliseconds.
type Foreign = (&'static str, u64);

/// Other programs' times for a call, the first that is there counts.
const CALL: &[Foreign] = &[("tool_timeout_sec", 1_000), ("request_timeout_ms", 1)];
/// Other programs' times for a start.
const START: &[Foreign] = &[("startup_timeout_sec", 1_000), ("startup_timeout_ms", 1)];

impl Reader<'_> {
    /// Reads the deadlines of the entry at `place` into it.
    ///
    /// A number of ours, or `timeout`, which everybody has, must be right. One under a key of another program
    /// that makes no sense here is a warning, and the default holds: that program may think otherwise.
    pub(super) fn times(
        &self,
        place: &Place<'_>,
        entry: &mut ServerEntry,
        warnings: &mut Vec<Fault>,
    ) -> Result<(), Fault> {
        entry.idle_timeout_ms = match place.get("idle_timeout_ms")? {
            Some(found) => Some(found.number(0, IDLE_MS_MAX)?),
            None => None,
        };
        entry.start_timeout_ms = match place.get("start_timeout_ms")? {
            Some(found) => Some(found.number(1, START_MS_MAX)?),
            None => self.foreign(place, START, START_MS_MAX, warnings)?,
        };
        entry.timeout_ms = match (place.get("timeout_ms")?, self.dialect) {
            (Some(found), _) => Some(found.number(1, CALL_MS_MAX)?),
            (None, Dialect::Client) => match place.get("timeout")? {
                Some(found) => Some(seconds_or_more(found.number(1, CALL_MS_MAX)?)),
                None => self.foreign(place, CALL, CALL_MS_MAX, warnings)?,
            },
            (None, Dialect::Codex | Dialect::Ours) => {
                self.foreign(place, CALL, CALL_MS_MAX, warnings)?
            }
        };
        Ok(())
    }

    fn foreign(
        &self,
        place: &Place<'_>,
        keys: &[Foreign],
        ms_max: u64,
        warnings: &mut Vec<Fault>,
    ) -> Result<Option<u64>, Fault> {
        if self.dialect == Dialect::Ours {
            return Ok(None);
        }
        for (key, unit_ms) in keys {
            let Some(found) = place.get(key)? else {
                continue;
            };
            match found.milliseconds(*unit_ms, ms_max) {
                Ok(ms) => return Ok(Some(ms)),
                Err(fault) => warnings.push(Fault {
                    at: found.at,
                    problem: format!("{}; the default holds", fault.problem),
                    ..fault
                }),
            }
        }
        Ok(None)
    }
}

/// `timeout` means milliseconds to some clients (Claude Code, Gemini) and seconds to others (Cline,
/// Roo). Nobody means less than a second or more than a quarter of an hour, so the size tells.
fn seconds_or_more(number: u64) -> u64 {
    if number < 1_000 {
        number * 1_000
    } else {
        number
    }
}
