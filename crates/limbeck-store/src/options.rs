//! What the program that opens a store chooses.

use std::path::PathBuf;

use crate::audit::Checkpoints;

/// Records of the audit trail that are kept without another choice. A record has some 400 bytes.
const RECORDS_DEFAULT: u64 = 500_000;

/// Takes secrets out of a line of JSON, which stays one.
pub type LineRedactor = Box<dyn Fn(&str) -> String + Send + Sync>;

/// Options of a store.
pub struct StoreOptions {
    /// Takes secrets out of each record of the audit trail before it is hashed.
    pub redact: Option<LineRedactor>,
    /// Signs checkpoints of the audit trail; `None` signs nothing.
    pub checkpoints: Option<Checkpoints>,
    /// Records of the audit trail that are kept; older ones go.
    pub audit_records: u64,
    /// Directory into which records are written before they go; `None` keeps nothing of them.
    pub audit_segments: Option<PathBuf>,
    /// Whether nothing runs and no call is sent where its record is not on disk.
    pub fail_closed: bool,
    /// Executions of one principal that are kept and called no tool; `None` is
    /// [`EXECUTIONS_KEPT_PER_PRINCIPAL`](limbeck_domain::limits::EXECUTIONS_KEPT_PER_PRINCIPAL).
    pub executions: Option<u64>,
    /// Days for which an execution is kept; `None` is [`EXECUTION_KEPT_MS`](limbeck_domain::limits::EXECUTION_KEPT_MS).
    pub days: Option<u64>,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            redact: None,
            checkpoints: None,
            audit_records: RECORDS_DEFAULT,
            audit_segments: None,
            fail_closed: false,
            executions: None,
            days: None,
        }
    }
}
