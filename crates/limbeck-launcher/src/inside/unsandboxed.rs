//! A worker on a system whose layers Limbeck does not put up: a process of its own and WebAssembly.

use std::fs::File;
use std::io;
use std::process::ExitCode;

use limbeck_domain::Sandbox;
use limbeck_wire::WorkerChannel;

use super::{WorkerMain, WorkerMainError};
use crate::exit::SETUP_FAILED;

/// Main function of the worker: serves one program, and reports that no layer holds.
pub(super) fn main<T: WorkerMain>(
    prepare: impl FnOnce() -> Result<T, WorkerMainError>,
) -> ExitCode {
    let armed = prepare().and_then(T::arm);
    let (Ok(armed), Ok(channel)) = (armed, channel()) else {
        return ExitCode::from(SETUP_FAILED);
    };
    let reason = format!("Limbeck has no such layer on {}", std::env::consts::OS);
    T::serve(armed, channel, Sandbox::wasm_only(&reason))
}

/// Standard input and output, without the buffers of the standard library: output is binary.
#[cfg(unix)]
fn channel() -> io::Result<WorkerChannel> {
    use std::os::fd::AsFd as _;
    Ok(WorkerChannel {
        input: File::from(io::stdin().as_fd().try_clone_to_owned()?),
        output: File::from(io::stdout().as_fd().try_clone_to_owned()?),
    })
}

/// Standard input and output, without the buffers of the standard library: output is binary.
#[cfg(windows)]
fn channel() -> io::Result<WorkerChannel> {
    use std::os::windows::io::AsHandle as _;
    Ok(WorkerChannel {
        input: File::from(io::stdin().as_handle().try_clone_to_owned()?),
        output: File::from(io::stdout().as_handle().try_clone_to_owned()?),
    })
}
