//! Worker side of a probe.

use std::io;
use std::os::fd::OwnedFd;
use std::process::ExitCode;

use limbeck_domain::Layer;
use serde::{Deserialize, Serialize};

use super::attempts;

/// Numbers from here on are raw system calls, for the tests of the filter.
#[cfg(feature = "assume-escape")]
pub(super) const RAW: u16 = 1000;

/// Numbers from here on are files in memory of so many MiB, for the tests of the memory control group.
#[cfg(feature = "assume-escape")]
pub(super) const FILL: u16 = 20_000;

/// One attempt.
#[derive(Clone, Copy, Debug)]
pub struct Probe {
    /// Short name, for tests and JSON.
    pub name: &'static str,
    /// What is attempted, for people.
    pub what: &'static str,
    /// Layers each of which denies it alone.
    pub layers: &'static [Layer],
    pub(super) attempt: fn() -> io::Result<String>,
}

/// Every probe.
pub const ALL: &[Probe] = attempts::ALL;

/// Report of an attempt, as the worker sends it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum ProbeMessage {
    Denied { errno: i32 },
    Reached { detail: String },
}

/// Makes an attempt and reports it on the channel. The signal of a killed worker is its report.
pub(crate) fn run(number: u16, channel: OwnedFd) -> ExitCode {
    let result = match ALL.get(usize::from(number)) {
        Some(probe) => (probe.attempt)(),
        #[cfg(feature = "assume-escape")]
        None if number >= FILL => attempts::fill_memory_file(number - FILL),
        #[cfg(feature = "assume-escape")]
        None if number >= RAW => attempts::raw(number - RAW),
        None => return ExitCode::FAILURE,
    };
    let message = match result {
        Ok(detail) => ProbeMessage::Reached { detail },
        Err(error) => ProbeMessage::Denied {
            errno: error.raw_os_error().unwrap_or(0),
        },
    };
    let Ok(bytes) = postcard::to_extend(&message, Vec::new()) else {
        return ExitCode::FAILURE;
    };
    match rustix::io::write(&channel, &bytes) {
        Ok(_) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
