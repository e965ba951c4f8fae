//! Launcher of workers: starts, watches and kills them.
//!
//! A worker is this program's own executable under another name. It is cloned from a *zygote*, which
//! the gateway starts once and which never reads a byte of a guest, and gives up everything it does not
//! need before it reads one. What the operating system takes away from it, and in which order, is
//! decided in [`inside`] and nowhere else.
//!
//! All that is Linux. Elsewhere a worker is a child process with an empty environment and its channel,
//! which reports tier `wasm` (`process_source/children.rs`, `inside/unsandboxed.rs`).
//!
//! Four things hold here, the last one on Linux only:
//! - A worker reports which layers it verified. One with fewer than the minimum tier needs is not used.
//! - A worker serves one execution. [`Worker`] is dropped after it, and dropping kills.
//! - The pool has every worker locked and initialised before a program is known, and refills in the
//!   background.
//! - No limit is left to the worker: the gateway looks at its memory and processor time from outside,
//!   and kills by a descriptor that cannot come to mean another process. Where the system has a place for
//!   it, a memory control group bounds what the workers of a language hold together.
//!
//! Start reading at [`Pools::take`] for the gateway's side, at [`inside::main`] for the worker's.

#![warn(clippy::undocumented_unsafe_blocks)]

#[cfg(target_os = "linux")]
mod control;
mod error;
mod exit;
mod floor;
pub mod inside;
mod launcher;
mod memory_bound;
#[cfg(target_os = "linux")]
mod memory_group;
mod pool;
mod pools;
pub mod probe;
pub mod process;
mod process_source;
mod program;
mod usage;
mod worker;
#[cfg(target_os = "linux")]
mod zygote_client;

pub use error::WorkerError;
pub use exit::Exit;
pub use floor::SandboxFloor;
pub use launcher::Launcher;
pub use memory_bound::MemoryBound;
pub use pool::{Pool, PoolSize};
pub use pools::Pools;
pub use probe::{ProbeOutcome, ProbeReport};
pub use program::WorkerProgram;
pub use usage::Usage;
pub use worker::Worker;
