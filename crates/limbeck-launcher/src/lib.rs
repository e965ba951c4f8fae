//! Starts, watches and kills workers.
//!
//! A worker is this program's own executable under another name, with an empty environment and one
//! descriptor that leads anywhere: its frame channel, a socket in the place of standard input. What
//! the operating system takes away from it is decided here and nowhere else, in [`Launcher::launch`].
//!
//! Two things hold here:
//! - A worker serves one execution. [`Worker`] is dropped after it, and dropping kills.
//! - The pool has every worker initialised before a program is known, and refills in the background.
//!
//! Start reading at [`Pool::take`].

#![forbid(unsafe_code)]

mod pool;
mod worker;

use std::io;
use std::path::PathBuf;

pub use pool::{Pool, PoolSize};
pub use worker::{Launcher, Worker};

use limbeck_wire::WireError;
use limbeck_wire::protocol::ProtocolError;

/// Which executable serves as worker.
#[derive(Clone, Debug)]
pub struct WorkerProgram {
    /// Absolute path of a `limbeck` executable.
    pub path: PathBuf,
}

/// Why there is no worker, or no longer one.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// The process could not be started.
    #[error("worker `{}` could not be started", path.display())]
    Spawn {
        /// The executable.
        path: PathBuf,
        /// What the system said.
        #[source]
        error: io::Error,
    },
    /// The worker did not get ready in time.
    #[error("worker was not ready within {limit_ms} ms")]
    NotReady {
        /// The bound.
        limit_ms: u64,
    },
    /// The worker speaks another version of the protocol: the executable was replaced.
    #[error(
        "worker speaks protocol {got}, the gateway speaks {expected}; was the executable replaced?"
    )]
    Version {
        /// What it said.
        got: u32,
        /// What was needed.
        expected: u32,
    },
    /// The channel failed.
    #[error("channel to the worker failed")]
    Channel(#[source] io::Error),
    /// The worker ended without a last frame.
    #[error("worker ended without an answer")]
    Gone,
    /// The worker sent bytes that are no frame.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The worker spoke out of turn.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
}
