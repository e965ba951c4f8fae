//! Probes: attempts at what a worker must not be able to do, made in native code as by a guest that owns its
//! worker. `limbeck doctor --sandbox` makes them in real workers, one worker for each.
//!
//! Nothing here does harm where it succeeds: files are opened and not read, children exit at once,
//! signal 0 is sent. So the same attempts serve as controls without lockdown.
//!
//! Only Linux has layers to try; elsewhere there is no attempt.

#[cfg(target_os = "linux")]
mod attempts;
#[cfg(target_os = "linux")]
mod gateway_side;
#[cfg(target_os = "linux")]
mod worker_side;

use limbeck_domain::Layer;
#[cfg(target_os = "linux")]
pub use worker_side::{ALL, Probe};

#[cfg(target_os = "linux")]
pub(crate) use worker_side::run;

/// Outcome of an attempt.
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

/// One probe and its outcome.
#[derive(Clone, Debug)]
pub struct ProbeReport {
    /// Short name, for tests and JSON.
    pub name: &'static str,
    /// What was attempted, for people.
    pub what: &'static str,
    /// Layers each of which denies it alone.
    pub layers: &'static [Layer],
    /// Its outcome.
    pub outcome: ProbeOutcome,
}

#[cfg(not(target_os = "linux"))]
impl crate::Launcher {
    /// Makes no attempt: no layer holds here that one could be denied by.
    ///
    /// # Errors
    ///
    /// None here.
    pub async fn probe(&self) -> Result<Vec<ProbeReport>, crate::WorkerError> {
        Ok(Vec::new())
    }
}
