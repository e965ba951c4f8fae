//! What goes into the store and what comes out of it: plain data.

use std::collections::BTreeMap;

use limbeck_domain::{
    Effects, Envelope, ErrorKind, ExecutionId, ExecutionStatus, ProgramStart, Sandbox,
    ToolDefinition, text,
};
use serde::{Deserialize, Serialize};

/// Bytes kept of the line that stands for a program in listings.
const TITLE_BYTES_MAX: usize = 160;

/// An execution about to run.
#[derive(Clone, Debug)]
pub struct NewExecution {
    /// Its id, minted by the gateway.
    pub id: ExecutionId,
    /// Who asked.
    pub principal: String,
    /// What determines the guest besides the journal.
    pub start: ProgramStart,
    /// Hash of the guest module; replay needs the same one.
    pub guest_hash: String,
    /// What its worker found of its confinement.
    pub sandbox: Sandbox,
    /// When it was asked for, in microseconds since 1970.
    pub created_us: u64,
    /// Where it came from, such as the client's name.
    pub origin: String,
}

/// What the gateway counted during an execution and the envelope does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExecutionSummary {
    /// Host calls the program made, of every kind.
    pub calls: u32,
    /// Wall clock from request to envelope, in microseconds.
    pub took_us: u64,
}

/// One line of `limbeck executions`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExecutionRow {
    /// Its id.
    pub id: ExecutionId,
    /// When it was asked for, in microseconds since 1970.
    pub created_us: u64,
    /// Where it stands.
    pub status: ExecutionStatus,
    /// How long it took; absent while it runs and when its gateway died.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub took_us: Option<u64>,
    /// First line of the program that is not empty, cut and cleaned for a terminal.
    pub title: String,
    /// Host calls the program made, of every kind; 0 while it runs.
    pub calls: u32,
    /// Calls that reached an upstream; zeroes while it runs.
    pub effects: Effects,
    /// Why it did not complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorKind>,
    /// Who asked.
    pub principal: String,
    /// Where it came from.
    pub origin: String,
}

/// One execution with what it started from and what came back; its calls are in the journal.
#[derive(Clone, Debug, Serialize)]
pub struct ExecutionRecord {
    /// The line of the listing.
    #[serde(flatten)]
    pub row: ExecutionRow,
    /// Hash of the guest module it ran in.
    pub guest_hash: String,
    /// What its worker found of its confinement; absent for executions of versions that did not look.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<Sandbox>,
    /// What determines the guest besides the journal.
    pub start: ProgramStart,
    /// What came back; absent while it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub envelope: Option<Envelope>,
}

/// What a tool was when it was first seen, and whether it still is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pin {
    /// SHA-256 of its latest definition, in hexadecimal.
    pub sha256: String,
    /// When it was first seen, in microseconds since 1970.
    pub first_us: u64,
    /// When its definition was last seen to differ from the one before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_us: Option<u64>,
}

/// What one server listed the last time, kept under the hash of its configuration entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CachedTools {
    /// Its tools, in the server's order.
    pub tools: Vec<ToolDefinition>,
    /// Its `instructions`, when it gave some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// When it listed them, in microseconds since 1970.
    pub listed_us: u64,
    /// What its tools were before, by their names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub pins: BTreeMap<String, Pin>,
}

/// What the writer has done since the store was opened; for benchmarks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreStats {
    /// Transactions committed.
    pub commits: u64,
    /// Those of them that were synced to disk before anybody was answered.
    pub synced: u64,
    /// Journal entries written.
    pub entries: u64,
}

/// The line that stands for `program` in listings.
pub(crate) fn title(program: &str) -> String {
    let line = program
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or_default();
    text::clean_line(line, TITLE_BYTES_MAX)
}
