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
//! Elsewhere than on Linux there is no zygote and no lockdown: the worker is started for one execution
//! and serves it.
//!
//! Start reading at [`main`].

#[cfg(not(target_os = "linux"))]
mod alone;
#[cfg(target_os = "linux")]
mod lockdown;
#[cfg(target_os = "linux")]
mod namespaces;
#[cfg(target_os = "linux")]
mod seccomp;
#[cfg(target_os = "linux")]
mod steps;
#[cfg(target_os = "linux")]
mod verify;
#[cfg(target_os = "linux")]
mod zygote;

use std::env::ArgsOs;
use std::error::Error;
use std::process::ExitCode;

use limbeck_wire::domain::{Language, Sandbox};
use limbeck_wire::{WORKER_ARGV0, WorkerChannel};

#[cfg(not(target_os = "linux"))]
use alone as system;
#[cfg(target_os = "linux")]
pub(crate) use steps::Steps;
#[cfg(target_os = "linux")]
use zygote as system;

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
    fn serve(armed: Self::Armed, channel: WorkerChannel, sandbox: Sandbox) -> ExitCode;
}

/// Whether this process was started by a launcher, as [`WORKER_ARGV0`]; its life is then [`main`].
pub fn is_worker() -> bool {
    arguments().is_some()
}

/// What a worker was given besides its name; `None` when this is no worker.
fn arguments() -> Option<ArgsOs> {
    let mut arguments = std::env::args_os();
    if cfg!(windows) {
        // The path of the executable.
        arguments.next();
    }
    (arguments.next()? == WORKER_ARGV0).then_some(arguments)
}

/// The whole process behind [`WORKER_ARGV0`].
///
/// `prepare` loads what all workers of one language share. It must start no thread.
pub fn main<T: Tenant>(prepare: impl FnOnce(Language) -> Result<T, TenantError>) -> ExitCode {
    system::main(|| {
        let name = arguments().and_then(|mut arguments| arguments.next());
        let name = name.unwrap_or_default();
        let language = name.to_str().and_then(Language::from_name);
        let language =
            language.ok_or_else(|| format!("there are no workers for `{}`", name.display()))?;
        prepare(language)
    })
}
