//! Attempts at what a worker must not be able to do, made in native code as by a guest that owns its
//! worker. `limbeck doctor --sandbox` makes them in real workers, one worker for each.
//!
//! Nothing here does harm where it succeeds: files are opened and not read, children exit at once,
//! signal 0 is sent. So the same attempts serve as controls without lockdown.

use std::io;
use std::os::fd::OwnedFd;
use std::process::ExitCode;

use limbeck_wire::domain::Layer;
use serde::{Deserialize, Serialize};

mod attempts;

/// Numbers from here on are raw system calls, for the tests of the filter.
#[cfg(feature = "assume-escape")]
pub(crate) const RAW: u16 = 1000;

/// One attempt.
#[derive(Clone, Copy, Debug)]
pub struct Probe {
    /// Short name, for tests and JSON.
    pub name: &'static str,
    /// What is attempted, for people.
    pub what: &'static str,
    /// Layers each of which denies it alone.
    pub layers: &'static [Layer],
    attempt: fn() -> io::Result<String>,
}

/// What came of an attempt, as the worker tells it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Told {
    Denied { errno: i32 },
    Reached { detail: String },
}

/// What came of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProbeOutcome {
    /// The kernel refused.
    Denied {
        /// Error number.
        errno: i32,
        /// Its text.
        error: String,
    },
    /// The kernel ended the worker.
    Killed {
        /// With this signal; 31 is the system call filter.
        signal: i32,
    },
    /// It worked.
    Reached {
        /// What was reached.
        detail: String,
    },
}

/// One probe and what came of it.
#[derive(Clone, Debug)]
pub struct ProbeReport {
    /// [`Probe::name`].
    pub name: &'static str,
    /// [`Probe::what`].
    pub what: &'static str,
    /// [`Probe::layers`].
    pub layers: &'static [Layer],
    /// What came of it.
    pub outcome: ProbeOutcome,
}

/// Every probe.
pub const ALL: &[Probe] = attempts::ALL;

/// Makes an attempt and tells of it on the channel. A worker that is killed tells by that.
pub(crate) fn run(number: u16, channel: OwnedFd) -> ExitCode {
    let result = match ALL.get(usize::from(number)) {
        Some(probe) => (probe.attempt)(),
        #[cfg(feature = "assume-escape")]
        None if number >= RAW => attempts::raw(number - RAW),
        None => return ExitCode::FAILURE,
    };
    let told = match result {
        Ok(detail) => Told::Reached { detail },
        Err(error) => Told::Denied {
            errno: error.raw_os_error().unwrap_or(0),
        },
    };
    let Ok(bytes) = postcard::to_extend(&told, Vec::new()) else {
        return ExitCode::FAILURE;
    };
    match rustix::io::write(&channel, &bytes) {
        Ok(_) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
