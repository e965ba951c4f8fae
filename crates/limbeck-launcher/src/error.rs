//! Errors of starting a worker and of talking to one.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use limbeck_domain::Sandbox;
use limbeck_wire::WireError;
use limbeck_wire::protocol::ProtocolError;

use crate::{Exit, SandboxFloor};

/// Error of starting a worker, or of the channel to one.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// The process could not be started.
    #[error("worker `{}` could not be started", path.display())]
    Spawn {
        /// The executable.
        path: PathBuf,
        /// Error of the system call.
        #[source]
        error: io::Error,
    },
    /// The worker did not get ready in time.
    #[error("worker was not ready within {limit_ms} ms")]
    NotReady {
        /// The bound.
        limit_ms: u64,
    },
    /// The worker uses another version of the protocol: the executable was replaced.
    #[error(
        "worker speaks protocol {got}, the gateway speaks {expected}; was the executable replaced?"
    )]
    Version {
        /// Version that the worker sent.
        got: u32,
        /// Version of the gateway.
        expected: u32,
    },
    /// The process that workers are cloned from does not work; only on Linux.
    #[error("no worker can be created: {reason}")]
    Zygote {
        /// Error of the zygote or of the system.
        reason: String,
    },
    /// The gateway is ending.
    #[error("the pool of workers was closed")]
    Closed,
    /// Workers do not start; the error of the last attempt.
    #[error(transparent)]
    Failing(Arc<WorkerError>),
    /// Fewer layers hold around the worker than the minimum tier needs.
    #[error("the sandbox is of tier `{}`, the minimum is `{minimum}`", sandbox.tier)]
    Tier {
        /// What holds and what does not.
        sandbox: Box<Sandbox>,
        /// What was asked for.
        minimum: SandboxFloor,
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
    /// The worker closed its channel without a last frame, and its exit status did not arrive.
    #[error("worker closed its channel without an answer")]
    Gone,
    /// The worker sent bytes that are not a frame.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The worker sent a frame out of order.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
}
