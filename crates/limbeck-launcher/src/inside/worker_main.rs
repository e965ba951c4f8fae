//! Entry point of a worker process, and the trait for what runs inside it.

use std::env::ArgsOs;
use std::error::Error;
use std::process::ExitCode;

use limbeck_domain::{Language, Sandbox};
use limbeck_wire::{WORKER_ARGV0, WorkerChannel};

#[cfg(not(target_os = "linux"))]
use super::unsandboxed as system;
#[cfg(target_os = "linux")]
use super::zygote as system;

/// Error of preparing or arming a worker.
pub type WorkerMainError = Box<dyn Error + Send + Sync>;

/// The program inside of a worker process: the engine, or a fake in tests.
pub trait WorkerMain: Sized {
    /// The same program after its threads have started.
    type Armed;

    /// Starts threads and takes memory: the last moment for either. Returns when every thread has
    /// begun to run: what the C library does first in a new thread the filter refuses.
    ///
    /// # Errors
    ///
    /// Any error that keeps it from serving; the worker then ends.
    fn arm(self) -> Result<Self::Armed, WorkerMainError>;

    /// Sends `Ready` with the verified sandbox on the channel, and serves one program.
    fn serve(armed: Self::Armed, channel: WorkerChannel, sandbox: Sandbox) -> ExitCode;
}

/// Whether this process was started by a launcher, as [`WORKER_ARGV0`]; its life is then [`main`].
pub fn is_worker() -> bool {
    arguments().is_some()
}

/// Arguments of a worker after its name; `None` when this process is not a worker.
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
pub fn main<T: WorkerMain>(
    prepare: impl FnOnce(Language) -> Result<T, WorkerMainError>,
) -> ExitCode {
    system::main(|| {
        let name = arguments().and_then(|mut arguments| arguments.next());
        let name = name.unwrap_or_default();
        let language = name.to_str().and_then(Language::from_name);
        let language =
            language.ok_or_else(|| format!("there are no workers for `{}`", name.display()))?;
        prepare(language)
    })
}
