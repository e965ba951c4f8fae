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

#[cfg(target_os = "linux")]
mod layers;
#[cfg(target_os = "linux")]
mod lockdown;
#[cfg(target_os = "linux")]
mod namespaces;
#[cfg(target_os = "linux")]
mod seccomp;
#[cfg(not(target_os = "linux"))]
mod unsandboxed;
#[cfg(target_os = "linux")]
mod verify;
mod worker_main;
#[cfg(target_os = "linux")]
mod zygote;

#[cfg(target_os = "linux")]
pub(crate) use layers::ActiveLayers;
pub use worker_main::{WorkerMain, WorkerMainError, is_worker, main};
