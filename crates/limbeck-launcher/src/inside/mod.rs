//! The worker's side of its own confinement: the process tree below the gateway.
//!
//! ```text
//! gateway ──exec──▶ zygote ──clone──▶ worker
//!                   one a gateway,     one an execution,
//!                   never reads a      locked down before it
//!                   guest's byte       reads a byte
//! ```
//!
//! The zygote is started once: an empty environment, a single thread, namespaces of its own, an empty
//! root. It loads the engine and waits. For every execution it clones a worker, which shares the
//! loaded pages and needs no `exec`; what a worker then does to itself is [`lockdown`], in the order
//! of the list there, and nothing is read from its channel before the last step.
//!
//! Start reading at [`main`].

mod lockdown;
mod namespaces;
mod seccomp;
mod steps;
mod verify;
mod zygote;

use std::error::Error;
use std::os::fd::OwnedFd;
use std::process::ExitCode;

use limbeck_wire::domain::Sandbox;

pub(crate) use steps::Steps;

/// Why a tenant is not ready.
pub type TenantError = Box<dyn Error + Send + Sync>;

/// What lives in a worker, besides its confinement: the engine.
pub trait Tenant: Sized {
    /// The tenant with its threads.
    type Armed;

    /// Starts threads and takes memory: the last moment for either. Returns when every thread has
    /// begun to run: what the C library does first in a new thread the filter refuses.
    ///
    /// # Errors
    ///
    /// Whatever keeps it from serving; the worker then ends.
    fn arm(self) -> Result<Self::Armed, TenantError>;

    /// Says `Ready` on the channel, with the sandbox as it was found, and serves one program.
    fn serve(armed: Self::Armed, channel: OwnedFd, sandbox: Sandbox) -> ExitCode;
}

/// The whole process behind [`limbeck_wire::WORKER_ARGV0`].
///
/// `prepare` loads what all workers share. It must start no thread.
pub fn main<T: Tenant>(prepare: impl FnOnce() -> Result<T, TenantError>) -> ExitCode {
    zygote::main(prepare)
}
