//! Starts, watches and kills workers.
//!
//! A worker is this program's own executable under another name. It is cloned from a *zygote*, which
//! the gateway starts once and which never reads a byte of a guest, and gives up everything it does not
//! need before it reads one. What the operating system takes away from it, and in which order, is
//! decided in [`inside`] and nowhere else.
//!
//! All that is Linux. Elsewhere a worker is a child process with an empty environment and its channel,
//! which says of itself that it is of tier `wasm` (`origin/children.rs`, `inside/alone.rs`).
//!
//! Four things hold here, the last one on Linux only:
//! - A worker says which layers it saw to hold. Fewer than the minimum tier asks for, and it is not used.
//! - A worker serves one execution. [`Worker`] is dropped after it, and dropping kills.
//! - The pool has every worker locked and initialised before a program is known, and refills in the
//!   background.
//! - No limit is left to the worker: the gateway looks at its memory and processor time from outside,
//!   and kills by a descriptor that cannot come to mean another process.
//!
//! Start reading at [`Pools::take`] for the gateway's side, at [`inside::main`] for the worker's.

#![warn(clippy::undocumented_unsafe_blocks)]

#[cfg(target_os = "linux")]
mod control;
mod exit;
pub mod inside;
mod origin;
mod pool;
mod pools;
pub mod probe;
pub mod process;
mod usage;
mod worker;
#[cfg(target_os = "linux")]
mod zygote;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

pub use exit::Exit;
pub use pool::{Pool, PoolSize};
pub use pools::Pools;
pub use probe::{ProbeOutcome, ProbeReport};
pub use usage::Usage;
pub use worker::{Launcher, Worker};

use limbeck_wire::WireError;
use limbeck_wire::domain::{Sandbox, Tier};
use limbeck_wire::protocol::ProtocolError;

/// Which executable serves as worker.
#[derive(Clone, Debug)]
pub struct WorkerProgram {
    /// Absolute path of a `limbeck` executable.
    pub path: PathBuf,
    /// Layers that are not put up, to prove what each is worth.
    #[cfg(feature = "assume-escape")]
    pub without: Vec<limbeck_wire::domain::Layer>,
}

impl WorkerProgram {
    /// The executable at `path`, an absolute one.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            #[cfg(feature = "assume-escape")]
            without: Vec::new(),
        }
    }

    #[cfg(feature = "assume-escape")]
    fn without(&self, command: &mut tokio::process::Command) {
        use limbeck_wire::domain::Layer;
        if self.without.contains(&Layer::Environment) {
            command.env("CANARY", "sings");
        }
        if !self.without.is_empty() {
            let names: Vec<&str> = self.without.iter().map(|layer| layer.as_str()).collect();
            command.arg(names.join(","));
        }
    }
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
    /// The process that workers are cloned from does not work; only on Linux.
    #[error("no worker can be made: {reason}")]
    Zygote {
        /// What it or the system said.
        reason: String,
    },
    /// The gateway is ending.
    #[error("the pool of workers was closed")]
    Closed,
    /// Workers do not start, and the last attempt ended so.
    #[error(transparent)]
    Failing(Arc<WorkerError>),
    /// Fewer layers hold around the worker than were asked for.
    #[error("the sandbox is of tier `{}`, the minimum is `{minimum}`", sandbox.tier)]
    Tier {
        /// What holds and what does not.
        sandbox: Box<Sandbox>,
        /// What was asked for.
        minimum: Tier,
    },
    /// The channel failed.
    #[error("channel to the worker failed")]
    Channel(#[source] io::Error),
    /// The worker ended without a last frame.
    #[error("worker ended without an answer ({exit})")]
    Ended {
        /// How.
        exit: Exit,
    },
    /// The worker closed its channel without a last frame, and of its end nothing was heard.
    #[error("worker closed its channel without an answer")]
    Gone,
    /// The worker sent bytes that are no frame.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The worker spoke out of turn.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
}
