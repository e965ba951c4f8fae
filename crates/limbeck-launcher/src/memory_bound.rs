//! Bound of the memory of all workers of one language together, as people read it.

use std::fmt;

use serde::Serialize;

/// Whether a memory control group of the system bounds the workers of one language together, besides
/// the limits of each process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum MemoryBound {
    /// All of them are in this group.
    Group {
        /// Its directory.
        path: String,
    },
    /// There is no such group.
    Absent {
        /// Why.
        reason: String,
    },
}

impl fmt::Display for MemoryBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Group { path } => write!(f, "all workers of a language share {path}"),
            Self::Absent { reason } => write!(f, "none: {reason}"),
        }
    }
}
