//! End of a process: its exit code, or what killed it.

use serde::{Deserialize, Serialize};

/// Exit code of a worker that could not be set up.
pub(crate) const SETUP_FAILED: u8 = 70;
/// Time to wait for a worker's exit status after its channel has closed.
pub(crate) const EXIT_WAIT_MS: u64 = 1_000;

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Exit {
    /// It exited with this code.
    Code(i32),
    /// This signal ended it. Never on Windows, where a process that is ended from outside has the code
    /// that the other process chose.
    Signal(i32),
    /// The kernel ended it for want of memory; only on Linux, and where workers have a memory control group.
    OutOfMemory,
}

impl std::fmt::Display for Exit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => write!(f, "signal {signal}"),
            Self::OutOfMemory => f.write_str("killed by the kernel for want of memory"),
        }
    }
}
