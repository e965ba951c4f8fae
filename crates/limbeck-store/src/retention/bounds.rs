//! Bounds of retention: for a file, for a store in memory, and on a disk with little space.

use limbeck_domain::limits;

use crate::tables::artifacts::ArtifactBounds;

/// Bounds on the journals and programs of one principal's executions that may have changed something, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct JournalBounds {
    /// Above it, the oldest lose the results of their reads.
    pub reads: u64,
    /// Above it, the oldest lose every large result, returned value and printed text.
    pub results: u64,
    /// Above it, the oldest that have no call in doubt lose the large arguments of their calls.
    pub arguments: u64,
    /// Above it, the principal begins no more executions.
    pub records: u64,
}

/// Bounds on stored executions and artifacts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Retention {
    /// Executions of one principal that ended and called no tool.
    pub(crate) executions: u64,
    /// Their journals and programs together.
    pub(crate) bytes: u64,
    /// Those of all principals.
    pub(crate) bytes_in_all: u64,
    /// Bounds on executions that may have changed something.
    pub(crate) writing: JournalBounds,
    /// Time between an execution and the newest one, in microseconds.
    pub(crate) age_us: u64,
    /// Bounds on artifacts.
    pub(crate) artifacts: ArtifactBounds,
}

impl Retention {
    /// For a file: a month of daily use.
    pub(crate) const FILE: Self = Self {
        executions: limits::EXECUTIONS_KEPT_PER_PRINCIPAL,
        bytes: limits::JOURNALS_PER_PRINCIPAL_BYTES_MAX,
        bytes_in_all: limits::JOURNALS_BYTES_MAX,
        writing: JournalBounds {
            reads: 2 * limits::JOURNALS_PER_PRINCIPAL_BYTES_MAX,
            results: 3 * limits::JOURNALS_PER_PRINCIPAL_BYTES_MAX,
            arguments: 7 * limits::JOURNALS_PER_PRINCIPAL_BYTES_MAX / 2,
            records: 4 * limits::JOURNALS_PER_PRINCIPAL_BYTES_MAX,
        },
        age_us: limits::EXECUTION_KEPT_MS * 1_000,
        artifacts: ArtifactBounds::FILE,
    };
    /// For a store in memory, which serves one session.
    pub(crate) const MEMORY: Self = Self {
        executions: 100,
        bytes: 128 << 20,
        bytes_in_all: 256 << 20,
        writing: JournalBounds {
            reads: 128 << 20,
            results: 192 << 20,
            arguments: 256 << 20,
            records: 512 << 20,
        },
        age_us: Self::FILE.age_us,
        artifacts: ArtifactBounds::MEMORY,
    };

    /// With what the operator chose in the place of the defaults.
    pub(crate) fn chosen(self, executions: Option<u64>, days: Option<u64>) -> Self {
        let day_us = 24 * 3_600 * 1_000_000;
        Self {
            executions: executions.unwrap_or(self.executions),
            age_us: days.map_or(self.age_us, |days| days.saturating_mul(day_us)),
            ..self
        }
    }

    /// The bounds for a principal on a disk with `free` bytes left for what programs leave: what it may lose of each kind gets a
    /// quarter of them.
    pub(crate) fn within(self, free: Option<u64>) -> Self {
        let share = free.map_or(u64::MAX, |free| free / 4);
        Self {
            bytes: self.bytes.min(share),
            writing: JournalBounds {
                reads: self.writing.reads.min(share),
                results: self.writing.results.min(share),
                arguments: self.writing.arguments.min(share),
                ..self.writing
            },
            artifacts: ArtifactBounds {
                bytes: self.artifacts.bytes.min(share),
                ..self.artifacts
            },
            ..self
        }
    }
}
