//! Records of what changes no execution: refused requests, searches, changed configuration, trust.
//!
//! They become notes of table `audit_note` like those of triggers. An outsider can cause them, so of each principal a bounded
//! number a second is recorded; the next record says how many were left out.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use rusqlite::Transaction;
use serde::{Deserialize, Serialize};

/// Records of one principal in [`WINDOW`].
const RECORDS_MAX: u32 = 50;
/// Time over which records are counted.
const WINDOW: Duration = Duration::from_secs(1);
/// Principals that are counted apart. The others share a count.
const PRINCIPALS_MAX: usize = 1_024;

/// Kind of a record that belongs to no execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuditEventKind {
    /// A request was refused before anything ran: malformed, unknown, too many at once, without a token.
    Refuse,
    /// A client searched for tools.
    Search,
    /// A changed configuration was taken up.
    Reload,
    /// A server of a repository was trusted, or is not any more.
    Trust,
    /// Salts and texts of records were erased.
    Erase,
    /// What could not be stored before this record, by number.
    Gap,
}

impl AuditEventKind {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Refuse => "refuse",
            Self::Search => "search",
            Self::Reload => "reload",
            Self::Trust => "trust",
            Self::Erase => "erase",
            Self::Gap => "gap",
        }
    }
}

/// A record that belongs to no execution. Texts are cut to some hundred bytes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AuditEvent {
    /// What happened.
    pub event: AuditEventKind,
    /// Whose request it was; empty for a request whose sender is not known.
    pub principal: String,
    /// How it came in, such as `mcp` or `http`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// What was requested: a method, a tool of the gateway, an HTTP path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// The server that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The tool of that server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Code of the refusal or of the failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// What changed, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Text of the request, which the record commits to without showing it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<String>,
    /// What was left out before this record: records of this principal above the bound, or what could not be stored.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub dropped: u64,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl AuditEvent {
    /// A record without details.
    pub fn new(event: AuditEventKind, principal: impl Into<String>) -> Self {
        Self {
            event,
            principal: principal.into(),
            client: None,
            operation: None,
            server: None,
            tool: None,
            code: None,
            status: None,
            arguments: None,
            dropped: 0,
        }
    }

    /// Notes it for the records of this transaction.
    pub(crate) fn note(&self, transaction: &Transaction<'_>) -> rusqlite::Result<()> {
        let event = serde_json::to_string(self)
            .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
        transaction
            .prepare_cached(
                "INSERT INTO audit_note (kind, subject, detail) VALUES ('event', 0, ?1)",
            )?
            .execute([event])?;
        Ok(())
    }

    /// Bytes of its texts.
    pub(crate) fn bytes(&self) -> usize {
        let texts = [
            &self.client,
            &self.operation,
            &self.server,
            &self.tool,
            &self.code,
            &self.status,
            &self.arguments,
        ];
        let texts = texts.into_iter().flatten().map(String::len);
        self.principal.len() + texts.sum::<usize>()
    }
}

/// Counts records of each principal.
#[derive(Debug, Default)]
pub(crate) struct RecordRate {
    principals: HashMap<String, Count>,
}

#[derive(Debug)]
struct Count {
    since: Instant,
    records: u32,
    dropped: u64,
}

impl RecordRate {
    /// Counts a record of `principal`. Returns how many were left out before it, or `None` when it is left out.
    pub(crate) fn admit(&mut self, principal: &str, now: Instant) -> Option<u64> {
        let name = match self.principals.contains_key(principal) {
            true => principal,
            false if self.principals.len() < PRINCIPALS_MAX => principal,
            false => "",
        };
        let count = self.principals.entry(name.to_owned());
        let count = count.or_insert(Count {
            since: now,
            records: 0,
            dropped: 0,
        });
        if now.saturating_duration_since(count.since) >= WINDOW {
            (count.since, count.records) = (now, 0);
        }
        if count.records >= RECORDS_MAX {
            count.dropped += 1;
            return None;
        }
        count.records += 1;
        Some(std::mem::take(&mut count.dropped))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_one_principal_is_counted_and_leaves_the_records_of_others() {
        let mut rate = RecordRate::default();
        let begun = Instant::now();
        let admitted = (0..200).filter(|_| rate.admit("a", begun).is_some());
        assert_eq!(admitted.count(), RECORDS_MAX as usize);
        assert_eq!(rate.admit("b", begun), Some(0));
        assert_eq!(rate.admit("a", begun + WINDOW), Some(150));
        assert_eq!(rate.admit("a", begun + WINDOW), Some(0));
    }
}
